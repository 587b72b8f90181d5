//! Replies that are no success: the error as the user reads it, and that nothing else was sent.

use std::time::Duration;

use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{ProviderError, Retry};

use crate::stage::on_recording;

/// The error of a read.
async fn read(scenario: &str) -> ProviderError {
    let on = on_recording(scenario);
    let failed = on.observe().await.unwrap_err();
    on.finish().await;
    failed
}

/// The error of a pass that was to write.
async fn write(scenario: &str) -> ProviderError {
    let on = on_recording(scenario);
    let failed = on.pass().await.unwrap_err();
    on.finish().await;
    failed
}

fn told(error: &ProviderError) -> (&'static str, String, Retry) {
    (error.reason(), error.to_string(), error.retry())
}

fn at_least(seconds: u64) -> Retry {
    Retry::Backoff { at_least: Duration::from_secs(seconds) }
}

#[tokio::test]
async fn each_reply_to_a_read_that_is_none_of_wapi_is_an_error_of_its_own() {
    let cases = [
        (
            "http-401",
            "Unauthenticated",
            "Infoblox at 127.0.0.1 rejected the user name or the password (HTTP 401); correct the credentials, changed ones are tried at once",
            Retry::AfterChange,
        ),
        (
            "http-403",
            "Forbidden",
            "Infoblox at 127.0.0.1 refuses this account or this client's address (HTTP 403); allow the account's group to use the API, or wait until the grid's block after bad log-ins ends",
            at_least(300),
        ),
        (
            "http-200-candidate",
            "Misconfigured",
            "Infoblox at 127.0.0.1 is not the Grid Master, it refers to https://gm.example.com; set INFOBLOX_GRID_HOST to the Grid Master",
            at_least(15),
        ),
        (
            "http-200-page",
            "UnexpectedAnswer",
            "Infoblox at 127.0.0.1 answered with an HTML page instead of JSON; check that INFOBLOX_GRID_HOST is a Grid Master and that no proxy answers in its place",
            at_least(0),
        ),
        (
            "http-502",
            "ProviderUnavailable",
            "Infoblox at 127.0.0.1 is unavailable (HTTP 502); it is tried again by itself",
            at_least(0),
        ),
        (
            "http-503-retry-after",
            "ProviderUnavailable",
            "Infoblox at 127.0.0.1 is unavailable (HTTP 503); it is tried again by itself",
            at_least(120),
        ),
        (
            "version-not-supported",
            "Misconfigured",
            "Infoblox at 127.0.0.1 says: Version 2.12.3 not supported; set INFOBLOX_WAPI_VERSION to a version that the grid supports",
            at_least(15),
        ),
        (
            "two-views-in-one-answer",
            "UnexpectedAnswer",
            "Infoblox at 127.0.0.1 gave other zones than the one asked for, cloud.example.com in view default; nothing is changed",
            at_least(0),
        ),
    ];
    for (scenario, reason, text, retry) in cases {
        assert_eq!(told(&read(scenario).await), (reason, text.to_owned(), retry), "{scenario}");
    }
}

#[tokio::test]
async fn a_busy_grid_that_names_no_time_is_read_again_and_believed_then() {
    let on = on_recording("http-503");
    let found = on.observe().await.unwrap();
    assert_eq!(crate::stage::planned(&found).changes, []);
    on.finish().await;
}

/// Conflict is three things, and more: what follows depends on the words.
#[tokio::test]
async fn each_meaning_of_a_refused_create_is_told_apart() {
    let cases = [
        (
            "conflict-duplicate-delegation",
            "Stale",
            "what stands at cloud.example.com changed since it was observed",
            Retry::AtOnce,
        ),
        (
            "conflict-duplicate-zone",
            "Refused",
            "cloud.example.com cannot be delegated in view default: an authoritative zone of that name exists, and it is left as it is; remove it or choose another zone (Infoblox at 127.0.0.1 says: Duplicate object 'cloud.example.com' of type zone exists in the database)",
            at_least(30),
        ),
        (
            "conflict-parent-not-found",
            "Misconfigured",
            "Infoblox at 127.0.0.1 says: The action is not allowed. A parent was not found; there must be an authoritative parent zone in the view of INFOBLOX_DNS_VIEW, and the account must see it",
            at_least(15),
        ),
        (
            "conflict-permission",
            "Refused",
            "Infoblox at 127.0.0.1 says: Write permission for the zone 'example.com' is required for this operation",
            at_least(30),
        ),
        ("conflict-rule", "Refused", "Infoblox at 127.0.0.1 says: Invalid domain name", at_least(30)),
        (
            "view-not-found",
            "Misconfigured",
            "Infoblox at 127.0.0.1 says: View default not found; set INFOBLOX_DNS_VIEW to the name of a DNS view that the account may see",
            at_least(15),
        ),
    ];
    for (scenario, reason, text, retry) in cases {
        assert_eq!(told(&write(scenario).await), (reason, text.to_owned(), retry), "{scenario}");
    }
}

#[tokio::test]
async fn a_create_whose_outcome_is_unclear_is_settled_by_reading_and_not_sent_again() {
    let unclear = |cause: &str| {
        format!(
            "it is not known whether the last change of delegation cloud.example.com was made ({cause}); it is read again before the next one"
        )
    };
    let cases = [
        (
            "lost-reply-before-create",
            unclear(
                "Infoblox at 127.0.0.1 is unavailable: the connection was closed before the reply was complete; it is tried again by itself",
            ),
        ),
        (
            "http-502-after-create",
            unclear("Infoblox at 127.0.0.1 is unavailable (HTTP 502); it is tried again by itself"),
        ),
        (
            "http-503-at-create",
            unclear("Infoblox at 127.0.0.1 is unavailable (HTTP 503); it is tried again by itself"),
        ),
        (
            "http-200-page-after-create",
            unclear(
                "Infoblox at 127.0.0.1 answered with an HTML page instead of JSON; check that INFOBLOX_GRID_HOST is a Grid Master and that no proxy answers in its place",
            ),
        ),
    ];
    for (scenario, text) in cases {
        assert_eq!(told(&write(scenario).await), ("OutcomeUnknown", text, at_least(0)), "{scenario}");
    }
}
