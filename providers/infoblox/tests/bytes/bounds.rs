//! Replies that never end, or are larger than anybody wants to keep.

use std::time::{Duration, Instant};

use gslb_provider_contract::battery::scope;
use gslb_provider_contract::{Observe, Provider, ProviderError};

use crate::http::{ByteServer, Script, reply};
use crate::stage::{assert_presentable, change, grid_but, provider};

/// Long enough for a handshake beside other tests.
const TIMEOUT: Duration = Duration::from_millis(800);
/// What a reply may bring before it is given up, and what may be on its way then: buffers of the kernel on both ends.
const MOST_TAKEN: u64 = 24 * 1024 * 1024;
const MIB: usize = 1024 * 1024;

fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n[")
        .into_bytes()
}

fn scripts() -> Vec<(&'static str, Script)> {
    let chunked =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    vec![
        ("100 MB", Script::Endless(head(100 * MIB), vec![b' '; MIB])),
        ("endless", Script::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![b'['; MIB])),
        (
            "endless chunks",
            Script::Endless(
                chunked,
                b"10000\r\n".iter().copied().chain(vec![b'x'; 65_536]).chain(*b"\r\n").collect(),
            ),
        ),
        (
            "endless headers",
            Script::Endless(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-More: of the same\r\n".repeat(1_000)),
        ),
        ("one endless header", Script::Endless(b"HTTP/1.1 200 OK\r\nX-More: ".to_vec(), vec![b'x'; 65_536])),
        ("endless interim replies", Script::Endless(vec![], b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000))),
        ("a trickling body", Script::Trickle(head(MIB), TIMEOUT / 8)),
        ("a trickling head", Script::Trickle(b"HTTP/1.1 200 OK\r\nX-Slow: ".to_vec(), TIMEOUT / 8)),
        ("a trickling nothing", Script::Trickle(vec![], TIMEOUT / 8)),
    ]
}

/// Time for one request, and for what the machine has to do besides.
fn assert_in_time(what: &str, began: Instant, requests: u32) {
    let took = began.elapsed();
    assert!(took < TIMEOUT * requests + Duration::from_secs(3), "{what}: {took:?}");
}

async fn read(what: &str, script: Script) {
    let server = ByteServer::start();
    server.answer(move |_| script.clone());
    let provider = provider(&server, TIMEOUT);
    let began = Instant::now();
    let failed = provider.observe(&scope()).await.unwrap_err();
    // One that ends early is sent three times in all.
    assert_in_time(what, began, 3);
    assert!(server.taken() < MOST_TAKEN * 3, "{what}: {} bytes", server.taken());
    assert_presentable(&failed);
    let expected = ["UnexpectedAnswer", "ProviderUnavailable"];
    assert!(expected.contains(&failed.reason()), "{what}: {failed}");
}

#[tokio::test]
async fn a_read_ends_within_its_deadline_and_a_bounded_memory() {
    for (what, script) in scripts() {
        read(what, script).await;
    }
}

async fn write(what: &str, script: Script, found: bool) {
    let server = ByteServer::start();
    server.answer(grid_but(found, script));
    let provider = provider(&server, TIMEOUT);
    let change = change(&provider.observe(&scope()).await.unwrap());
    let began = Instant::now();
    let failed = provider.apply(&change).await.unwrap_err();
    assert_in_time(what, began, 4);
    assert!(matches!(failed, ProviderError::Uncertain { .. }), "{what}: {failed:?}");
    assert_presentable(&failed);
}

#[tokio::test]
async fn a_write_that_is_answered_like_that_has_an_unknown_outcome_within_the_deadline() {
    for (index, (what, script)) in scripts().into_iter().enumerate() {
        // A create, and an edit by a batch, by turns.
        write(what, script, index % 2 == 1).await;
    }
}

#[tokio::test]
async fn what_is_told_of_a_reply_is_bounded_however_long_its_parts_are() {
    let long = "x".repeat(2 * MIB);
    let zone =
        |more: &str| format!(r#"[{{"_ref": "r", "fqdn": "cloud.example.com", "view": "default", {more}}}]"#);
    let bodies = [
        format!(r#""{long}""#),
        format!(r#"{{"{long}": 1}}"#),
        zone(&format!(r#""delegate_to": [{{"name": "{long}.example", "address": "192.0.2.1"}}]"#)),
        zone(&format!(r#""delegate_to": [{{"name": "ns.example", "address": "{long}"}}]"#)),
        zone(&format!(r#""delegated_ttl": "{long}""#)),
    ];
    let server = ByteServer::start();
    for body in bodies {
        for status in [200, 400] {
            let bytes = reply(status, "application/json", body.as_bytes());
            server.answer(move |_| Script::Bytes(bytes.clone()));
            let failed = provider(&server, Duration::from_secs(5)).observe(&scope()).await.unwrap_err();
            assert_presentable(&failed);
        }
    }
}

#[tokio::test]
async fn texts_of_the_grid_that_reach_a_condition_are_bounded() {
    let long = "x".repeat(MIB / 4);
    let locked = format!(
        r#"[{{"_ref": "r", "fqdn": "cloud.example.com", "view": "default", "locked": true, "locked_by": "{long}", "ns_group": "{long}"}}]"#
    );
    let server = ByteServer::start();
    server.answer(move |_| crate::http::json(&locked));
    let found = provider(&server, Duration::from_secs(5)).observe(&scope()).await.unwrap();
    assert!(format!("{found:?}").len() < 2_000);

    let waits = format!(r#"[{{"needed": "YES", "service": "DNS", "member": "{long}"}}]"#);
    server.answer(move |_| crate::http::json(&waits));
    let service = provider(&server, Duration::from_secs(5)).service().await.unwrap();
    assert!(format!("{service:?}").len() < 2_000);

    let hidden = format!(r#"[[{{"name": "{long}"}}]{}]"#, ",[]".repeat(22));
    server.answer(grid_but(false, crate::http::json(&hidden)));
    let beneath = provider(&server, Duration::from_secs(5)).beneath(&scope()).await.unwrap();
    assert!(beneath.to_string().len() < 2_000);
}
