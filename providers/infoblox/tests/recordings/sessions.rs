//! Session cookies, which no recording on disk has.

use gslb_provider_contract::Observe;
use gslb_provider_contract::Provider;
use gslb_provider_contract::battery::{Stage, scope};
use serde_json::json;

use crate::stage::{OnRecording, on_folder};

const LOOK_UP: &str = "/wapi/v2.12.3/zone_delegated?fqdn=cloud.example.com&view=default&_return_fields=fqdn,view,delegate_to,delegated_ttl,use_delegated_ttl,comment,disable,locked,locked_by,ns_group,extattrs&_max_results=2";
const FOUND: &str = r#"[{"_ref": "zone_delegated/x:cloud.example.com/default", "fqdn": "cloud.example.com", "view": "default"}]"#;

/// Plays exchanges, each of which sets a session cookie: method, target, status, body.
fn that_sets_cookies(exchanges: &[(&str, &str, u16, &str)]) -> OnRecording {
    let folder = tempfile::tempdir().unwrap();
    for (index, (method, uri, status, body)) in exchanges.iter().enumerate() {
        let exchange = json!({
            "source": "inferred",
            "request": {"method": method, "uri": uri},
            "response": {"status": status, "body": body,
                "headers": {"Set-Cookie": format!("ibapauth=\"{index}\"; httponly; secure; path=/")}},
        });
        std::fs::write(folder.path().join(format!("{index}0-exchange.json")), exchange.to_string()).unwrap();
    }
    on_folder(folder.path())
}

#[tokio::test]
async fn a_cookie_that_comes_with_a_rejection_is_no_session() {
    let on = that_sets_cookies(&[("GET", LOOK_UP, 401, "<html></html>")]);
    assert_eq!(on.provider.observe(&scope()).await.unwrap_err().reason(), "Unauthenticated");
    // In a session this would be sent.
    assert_eq!(on.provider.observe(&scope()).await.unwrap_err().reason(), "LoginHeld");
    on.finish().await;
}

#[tokio::test]
async fn a_cookie_that_comes_with_the_end_of_a_session_begins_none() {
    let on = that_sets_cookies(&[("GET", LOOK_UP, 200, FOUND), ("POST", "/wapi/v2.12.3/logout", 200, "{}")]);
    on.provider.observe(&scope()).await.unwrap();
    on.provider.close().await.unwrap();
    on.finish().await;
}
