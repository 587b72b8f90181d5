//! Recordings are played in order, and what does not fit is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the failed test")]

use gslb_mocks::recording::{Player, RecordingError};
use gslb_mocks::wapi::SimulatorTls;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

const GET: &str = "/wapi/v2.12.3/zone_delegated?fqdn=gslb.example.com&_return_fields%2B=comment";

fn get() -> Value {
    json!({
        "source": "simulator",
        "request": {"method": "GET", "uri": GET, "headers": {"accept": "application/json"}},
        "response": {"status": 200, "headers": {"Content-Type": "application/json"}, "body": "[]"},
    })
}

fn post() -> Value {
    json!({
        "source": "simulator",
        "request": {"method": "POST", "uri": "/wapi/v2.12.3/zone_delegated", "body": "{\"fqdn\": \"x\", \"view\": \"y\"}"},
        "response": {"status": 201, "body": "\"ref\""},
    })
}

/// A folder with a GET and then a POST; the numbers, not the letters, give the order.
fn recording() -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("9-get-zone.json"), get().to_string()).unwrap();
    std::fs::write(folder.path().join("10-create-zone.json"), post().to_string()).unwrap();
    std::fs::write(folder.path().join("README.md"), "not an exchange").unwrap();
    folder
}

fn client(tls: Option<&SimulatorTls>) -> reqwest::Client {
    // Another test of this process may have been first.
    rustls::crypto::ring::default_provider().install_default().ok();
    let ca = tls.map(|tls| reqwest::Certificate::from_pem(tls.ca_pem().as_bytes()).unwrap());
    reqwest::Client::builder().tls_certs_only(ca).no_proxy().build().unwrap()
}

#[tokio::test]
async fn a_recording_is_played_in_order_and_json_bodies_are_compared_as_values() {
    let folder = recording();
    let player = Player::load(folder.path()).unwrap();
    let client = client(None);
    let reply = client.get(player.url() + GET).header("accept", "application/json").send().await.unwrap();
    assert_eq!(reply.headers()["content-type"], "application/json");
    assert_eq!((reply.status().as_u16(), reply.text().await.unwrap()), (200, "[]".to_owned()));
    let body = json!({"view": "y", "fqdn": "x"});
    let reply = client.post(player.url() + "/wapi/v2.12.3/zone_delegated").json(&body).send().await.unwrap();
    assert_eq!((reply.status().as_u16(), reply.text().await.unwrap()), (201, "\"ref\"".to_owned()));
    player.finish().unwrap();
}

#[tokio::test]
async fn a_request_out_of_order_and_unused_recordings_are_listed() {
    let folder = recording();
    let player = Player::load(folder.path()).unwrap();
    let body = json!({"fqdn": "x"});
    let url = player.url() + "/wapi/v2.12.3/zone_delegated";
    assert_eq!(client(None).post(url).json(&body).send().await.unwrap().status(), 599);
    let mismatch = player.finish().unwrap_err();
    assert_eq!(
        mismatch.unmatched,
        [format!(
            "POST /wapi/v2.12.3/zone_delegated: next is 9-get-zone.json; method: recorded GET, came POST; uri: recorded \
         {GET}, came /wapi/v2.12.3/zone_delegated; header accept: recorded application/json, came */*; body: \
         recorded none, came {{\"fqdn\":\"x\"}}"
        )]
    );
    let unused = [
        format!("9-get-zone.json: GET {GET}"),
        "10-create-zone.json: POST /wapi/v2.12.3/zone_delegated".into(),
    ];
    assert_eq!(mismatch.unused, unused);
}

#[tokio::test]
async fn exchanges_with_the_same_number_come_in_any_order_but_each_only_once() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("10-a.json"), get().to_string()).unwrap();
    std::fs::write(folder.path().join("10-b.json"), post().to_string()).unwrap();
    let player = Player::load(folder.path()).unwrap();
    let post = || {
        let url = player.url() + "/wapi/v2.12.3/zone_delegated";
        client(None).post(url).json(&json!({"fqdn": "x", "view": "y"})).send()
    };
    assert_eq!(post().await.unwrap().status(), 201);
    assert_eq!(post().await.unwrap().status(), 599);
    let get = client(None).get(player.url() + GET).header("accept", "application/json");
    assert_eq!(get.send().await.unwrap().status(), 200);
    assert_eq!(player.finish().unwrap_err().unused, Vec::<String>::new());
}

#[tokio::test]
async fn an_exchange_without_a_reply_ends_the_connection() {
    let folder = TempDir::new().unwrap();
    let mut lost = get();
    lost["response"] = Value::Null;
    std::fs::write(folder.path().join("10-get-zone-lost.json"), lost.to_string()).unwrap();
    let player = Player::load(folder.path()).unwrap();
    let get = client(None).get(player.url() + GET).header("accept", "application/json");
    assert!(get.send().await.unwrap_err().is_request());
    player.finish().unwrap();
}

#[tokio::test]
async fn a_text_that_differs_with_every_run_may_be_any_text_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let mut exchange = post();
    exchange["request"]["body"] = json!({"fqdn": "x", "view": gslb_mocks::recording::ANY});
    for name in ["10-a.json", "20-b.json"] {
        std::fs::write(folder.path().join(name), exchange.to_string()).unwrap();
    }
    let player = Player::load(folder.path()).unwrap();
    let url = player.url() + "/wapi/v2.12.3/zone_delegated";
    for (view, status) in [(json!("what it is"), 201), (json!(7), 599)] {
        let body = json!({"fqdn": "x", "view": view});
        assert_eq!(client(None).post(&url).json(&body).send().await.unwrap().status(), status);
    }
    assert_eq!(player.finish().unwrap_err().unmatched.len(), 1);
}

#[tokio::test]
async fn a_recording_can_be_played_over_https() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("10-get-zone.json"), get().to_string()).unwrap();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let player = Player::load_https(folder.path(), &tls).unwrap();
    let request = client(Some(&tls)).get(player.url() + GET).header("accept", "application/json");
    assert_eq!(request.send().await.unwrap().status(), 200);
    player.finish().unwrap();
}

#[test]
fn a_folder_without_exchanges_or_with_a_misspelt_or_missing_member_is_no_recording() {
    assert!(matches!(gslb_mocks::recording::load(Path::new("src")), Err(RecordingError::Empty { .. })));
    let folder = TempDir::new().unwrap();
    let mut exchange = get();
    exchange["request"]["url"] = json!("/");
    for member in ["source", "response"] {
        let mut without = get();
        without.as_object_mut().unwrap().remove(member);
        std::fs::write(folder.path().join("10-x.json"), without.to_string()).unwrap();
        assert!(matches!(gslb_mocks::recording::load(folder.path()), Err(RecordingError::Format { .. })));
    }
    std::fs::write(folder.path().join("10-x.json"), exchange.to_string()).unwrap();
    assert!(matches!(gslb_mocks::recording::load(folder.path()), Err(RecordingError::Format { .. })));
}
