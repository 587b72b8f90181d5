//! What comes of an answer that is none, and of one that is hard to believe.

use std::time::Duration;

use gslb_core::delegation::Presence;
use gslb_mocks::hook::{Call, Fault};
use gslb_provider_contract::{Provider, ProviderError, Retry};
use serde_json::json;

use crate::stage::{AtHook, EU, US, ZONE, ours, withdrawn};

fn text(text: &str) -> String {
    text.to_owned()
}

/// C039.
#[tokio::test]
async fn every_answer_that_is_none_is_an_error_with_a_reason_and_never_an_absence() {
    let v2 = "application/external.dns.webhook+json;version=2";
    let cases = [
        (Call::Negotiate, Fault::Media(text("application/json")), "Misconfigured", "application/json"),
        (Call::Negotiate, Fault::Media(text(v2)), "Misconfigured", v2),
        (Call::Negotiate, Fault::Html, "Misconfigured", "text/html"),
        (Call::Negotiate, Fault::Half, "UnexpectedAnswer", "none of the protocol"),
        (Call::Negotiate, Fault::Status(404, text("no page")), "Misconfigured", "HTTP 404: no page"),
        (Call::Negotiate, Fault::Status(406, String::new()), "Misconfigured", "does not speak"),
        (Call::Negotiate, Fault::Status(500, text("boom")), "ProviderUnavailable", "HTTP 500: boom"),
        (Call::Negotiate, Fault::Cut, "ProviderUnavailable", "closed before the reply was complete"),
        (Call::Records, Fault::Html, "UnexpectedAnswer", "<html><body>Welcome</body></html>"),
        (Call::Records, Fault::Half, "UnexpectedAnswer", "none of the protocol"),
        (Call::Records, Fault::Shape(text("{\"items\": []}")), "UnexpectedAnswer", "{\"items\": []}"),
        (Call::Records, Fault::Media(text(v2)), "Misconfigured", v2),
        (
            Call::Records,
            Fault::Status(500, text("boom")),
            "ProviderUnavailable",
            "GET /records with HTTP 500",
        ),
        (Call::Records, Fault::Status(400, text("what?")), "Refused", "HTTP 400: what?"),
        (Call::Records, Fault::Status(403, String::new()), "Forbidden", "HTTP 403"),
        (Call::Records, Fault::Status(204, String::new()), "UnexpectedAnswer", "HTTP 204"),
        (Call::Records, Fault::Cut, "ProviderUnavailable", "closed before the reply was complete"),
    ];
    for (call, fault, reason, said) in cases {
        let stage = AtHook::new();
        stage.hook.put(&format!("NS {ZONE} 30 {EU} {US}"));
        stage.hook.fail(call, fault.clone());
        let error = stage.observe().await.unwrap_err();
        assert_eq!(error.reason(), reason, "{call:?} {fault:?}: {error}");
        assert!(error.to_string().contains(said), "{call:?} {fault:?}: {error}");
        stage.hook.heal();
        assert!(matches!(stage.observe().await.unwrap(), Presence::Present(_)), "{fault:?}");
        assert_eq!(stage.applies(), 0);
    }
}

#[tokio::test]
async fn a_hint_of_when_to_come_again_is_kept() {
    let stage = AtHook::new();
    stage.hook.fail(Call::Records, Fault::Busy(7));
    let error = stage.observe().await.unwrap_err();
    assert_eq!(error.retry(), Retry::Backoff { at_least: Duration::from_secs(7) });
}

#[tokio::test]
async fn a_webhook_that_does_not_answer_is_waited_for_no_longer_than_the_setting_says() {
    let stage = AtHook::with(Duration::from_millis(100));
    stage.hook.fail(Call::Records, Fault::Hang);
    let error = stage.observe().await.unwrap_err();
    assert!(error.to_string().contains("no reply within WEBHOOK_PROVIDER_TIMEOUT_SECONDS"), "{error}");
}

#[tokio::test]
async fn nobody_at_the_url_is_told_as_that() {
    let mut stage = AtHook::new();
    let url = stage.server.url();
    let (hook, other) = (stage.hook.clone(), AtHook::new());
    stage.server = other.server;
    let error = stage.observe().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the webhook at {url} is unavailable: it cannot be connected to; it is tried again by itself"
        )
    );
    assert_eq!(hook.requests(), []);
}

#[tokio::test]
async fn a_zone_outside_the_domains_is_a_setting_to_correct_and_is_seen_after_a_restart_of_the_webhook() {
    let stage = AtHook::new();
    stage.pass(&ours()).await.unwrap();
    stage.hook.take_only(json!({"include": ["example.org"], "exclude": ["x.example.org"]}));
    let error = stage.observe().await.unwrap_err();
    assert!(matches!(error, ProviderError::Misconfigured { .. }), "{error:?}");
    let said = "cloud.example.com lies outside the domains that the webhook at ";
    assert!(error.to_string().starts_with(said), "{error}");
    assert!(
        error.to_string().contains(r#"{"include":["example.org"],"exclude":["x.example.org"]}"#),
        "{error}"
    );
    stage.hook.take_only(json!({"regexInclude": r"example\.com$"}));
    assert_eq!(stage.planned(&ours()).await.changes, []);
}

/// C066.
#[tokio::test]
async fn an_empty_listing_after_a_full_one_is_not_believed_for_ten_minutes_and_nothing_is_written_for_it() {
    let stage = AtHook::new();
    stage.pass(&ours()).await.unwrap();
    let change = stage.change(&withdrawn()).await;
    stage.hook.fail(Call::Records, Fault::Empty);
    for seconds in [0, 300, 299] {
        stage.advance(seconds);
        let error = stage.observe().await.unwrap_err();
        assert_eq!(error.reason(), "UnexpectedAnswer");
        assert!(error.to_string().contains("5 of the 5 sets of records that were listed before"), "{error}");
        // A removal that the listing would take for done is not done, either.
        assert_eq!(stage.provider.apply(&change).await.unwrap_err().reason(), "UnexpectedAnswer");
    }
    stage.hook.heal();
    assert_eq!(stage.planned(&ours()).await.changes, []);
    assert_eq!((stage.applies(), stage.name_servers()), (1, vec![EU.to_owned()]));
    stage.hook.fail(Call::Records, Fault::Empty);
    stage.observe().await.unwrap_err();
    stage.advance(600);
    assert_eq!(stage.observe().await.unwrap(), Presence::Absent);
}

#[tokio::test]
async fn every_exchange_is_counted_by_whether_it_was_of_use() {
    let stage = AtHook::new();
    stage.observe().await.unwrap();
    stage.hook.fail(Call::Records, Fault::Html);
    stage.observe().await.unwrap_err();
    assert_eq!(*stage.calls.0.lock().unwrap(), [true, true, true, false]);
}
