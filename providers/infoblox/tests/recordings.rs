//! The contract battery on recordings in `mocks/infoblox/`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::delegation::Presence;
use gslb_mocks::recording::Player;
use gslb_mocks::wapi::SimulatorTls;
use gslb_provider_contract::battery::{Stage, scope};
use gslb_provider_contract::{Observe, Provider, contract_tests};
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use jiff::Timestamp;
use serde_json::json;

/// A provider in front of a recording, whose other writers have been recorded too.
struct OnRecording {
    player: Mutex<Option<Player>>,
    provider: Infoblox,
}

fn on_recording(case: &str) -> OnRecording {
    let scenario = case.replace('_', "-");
    on_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mocks/infoblox").join(scenario))
}

fn on_folder(folder: &Path) -> OnRecording {
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let player = Player::load_https(folder, &tls).unwrap();
    let port = player.url().rsplit(':').next().unwrap().parse().unwrap();
    let settings = Settings {
        grids: vec![GridAddress::new("127.0.0.1", port, "v2.12.3").unwrap()],
        client_certificate: None,
        view: "default".to_owned(),
        credentials: Credentials::Values { username: "svc-dns".to_owned(), password: "s3cret".into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        restarts: false,
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    };
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    OnRecording { player: Mutex::new(Some(player)), provider }
}

#[async_trait]
impl Stage for OnRecording {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn another_writer(&self, _: Presence) {}

    async fn break_reads(&self) {}

    async fn heal(&self) {}

    async fn hide_parent(&self) {}

    async fn finish(&self) {
        self.provider.close().await.unwrap();
        self.player.lock().unwrap().take().unwrap().finish().unwrap();
    }
}

contract_tests!(infoblox, on_recording);

const LOOK_UP: &str = "/wapi/v2.12.3/zone_delegated?fqdn=cloud.example.com&view=default&_return_fields=fqdn,view,delegate_to,delegated_ttl,use_delegated_ttl,comment,disable,locked,locked_by,ns_group,extattrs&_max_results=2";
const FOUND: &str = r#"[{"_ref": "zone_delegated/x:cloud.example.com/default", "fqdn": "cloud.example.com", "view": "default", "delegated_ttl": 30, "use_delegated_ttl": true}]"#;

/// Plays exchanges, each of which sets a session cookie: method, target, status, body.
fn that_sets_cookies(exchanges: &[(&str, &str, u16, &str)]) -> OnRecording {
    let folder = tempfile::tempdir().unwrap();
    for (index, (method, uri, status, body)) in exchanges.iter().enumerate() {
        let exchange = json!({
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
