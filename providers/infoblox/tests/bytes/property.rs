//! Any bytes at all, and bytes that are nearly a reply.

use std::time::Duration;

use gslb_core::delegation::Presence;
use gslb_provider_contract::battery::scope;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::runtime::{Builder, Runtime};

use crate::http::{ByteServer, Script, reply};
use crate::stage::{FOUND, assert_presentable, change, grid_but, provider};

/// Each with a handshake of its own. Five hundred were run when this was written.
const CASES: u32 = 40;
const TIMEOUT: Duration = Duration::from_secs(2);

/// Replies of a grid, of what stands before it, and JSON of other shapes.
const BODIES: [&str; 18] = [
    FOUND,
    "[]",
    "{}",
    "null",
    "0",
    "\"\"",
    "\"zone_delegated\"",
    "\"record:a/x:y/z\"",
    "[[], \"zone_delegated/x:y/default\"]",
    "[[{}], 7, {}]",
    "[1, [null], {\"_ref\": 3}]",
    "[{\"fqdn\": \"cloud.example.com\"}]",
    "[{\"_ref\": \"r\", \"fqdn\": \"other.example.com\", \"view\": \"default\"}]",
    "{\"Error\": 1, \"code\": [], \"text\": {}}",
    "{\"Error\": \"e\", \"code\": \"Client.Ibap.Data.Conflict\", \"text\": \"Duplicate object\"}",
    "<html>502</html>",
    "<META HTTP-EQUIV=\"REFRESH\" CONTENT=\"0; URL=",
    "Version 9 not supported",
];

/// Bodies as they are, cut off, or with some bytes changed.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let known = (0..BODIES.len()).prop_map(|index| BODIES[index].as_bytes().to_vec());
    let altered =
        (0..BODIES.len(), any::<prop::sample::Index>(), any::<Vec<u8>>()).prop_map(|(index, at, bytes)| {
            let mut body = BODIES[index].as_bytes().to_vec();
            let at = at.index(body.len());
            let end = (at + bytes.len()).min(body.len());
            body.splice(at..end, bytes);
            body
        });
    let cut = (0..BODIES.len(), any::<prop::sample::Index>())
        .prop_map(|(index, at)| BODIES[index].as_bytes()[..at.index(BODIES[index].len())].to_vec());
    prop_oneof![known, altered, cut, any::<Vec<u8>>()]
}

fn kind() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["application/json", "text/html", "text/plain", "image/png", "", "\u{1}"])
}

/// A reply in the form of HTTP with any status, a reply that is cut off, or no HTTP at all.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![
        3 => prop::sample::select(vec![200_u16, 201, 204, 302, 303, 400, 401, 403, 404, 429, 500, 502, 503, 504]),
        1 => 101..=999_u16
    ];
    let whole = (status, kind(), body()).prop_map(|(status, kind, body)| reply(status, kind, &body));
    let whole = whole.boxed();
    let cut = (whole.clone(), any::<prop::sample::Index>()).prop_map(|(mut bytes, at)| {
        bytes.truncate(at.index(bytes.len()));
        bytes
    });
    prop_oneof![4 => whole, 1 => cut, 1 => any::<Vec<u8>>()]
}

/// Status of what is a reply at all.
fn status(bytes: &[u8]) -> Option<u16> {
    std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn check(case: impl Fn(Vec<u8>) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    runner.run(&bytes(), case).unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn whatever_a_read_is_answered_an_absence_or_another_zone_is_never_concluded_from_it() {
    let (runtime, server) = (runtime(), ByteServer::start());
    check(|bytes| {
        let sent = Script::Bytes(bytes);
        server.answer(move |_| sent.clone());
        let outcome = runtime.block_on(async {
            let provider = provider(&server, TIMEOUT);
            tokio::time::timeout(TIMEOUT * 4, provider.observe(&scope())).await
        });
        match outcome.expect("it ends in time") {
            Err(failed) => assert_presentable(&failed),
            Ok(Presence::Absent) => panic!("the same reply cannot be an absence and a parent"),
            Ok(Presence::Present(found)) => assert_eq!(found.delegation.zone, scope().zone),
        }
        Ok(())
    });
}

/// What a write ended with, given what stands there before and after it.
fn written(
    runtime: &Runtime,
    server: &ByteServer,
    found: bool,
    bytes: &[u8],
) -> Result<Receipt, ProviderError> {
    server.answer(grid_but(found, Script::Bytes(bytes.to_vec())));
    runtime.block_on(async {
        let provider = provider(server, TIMEOUT);
        let change = change(&provider.observe(&scope()).await.unwrap());
        let outcome = tokio::time::timeout(TIMEOUT * 4, provider.apply(&change)).await;
        outcome.expect("it ends in time")
    })
}

/// A grid that says no has not written; whoever else speaks may stand between us and one that has.
fn says_no(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match status(bytes) {
        Some(301 | 302 | 307 | 308 | 400..=499) => true,
        Some(200..=299) => text.to_lowercase().contains("http-equiv=\"refresh\""),
        _ => false,
    }
}

#[test]
fn whatever_a_write_is_answered_it_is_unknown_unless_the_reply_says_that_it_was_not_made() {
    let (runtime, server) = (runtime(), ByteServer::start());
    check(|bytes| {
        for found in [false, true] {
            match written(&runtime, &server, found, &bytes) {
                Err(failed) => {
                    assert_presentable(&failed);
                    let unknown = matches!(failed, ProviderError::Uncertain { .. });
                    prop_assert!(
                        unknown || says_no(&bytes),
                        "{failed:?} of {:?}",
                        String::from_utf8_lossy(&bytes)
                    );
                }
                Ok(receipt) => {
                    // Only a grid's own reference makes it done, and only in a whole reply.
                    let text = String::from_utf8_lossy(&bytes);
                    let made = matches!(status(&bytes), Some(200..=299)) && text.contains("zone_delegated/");
                    prop_assert!(made, "{receipt:?} of {text:?}");
                    prop_assert!(receipt.reference.len() < 2_000);
                }
            }
        }
        Ok(())
    });
}
