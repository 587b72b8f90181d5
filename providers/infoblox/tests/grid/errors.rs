//! Every failure of a grid is a typed error with a sentence.

use std::sync::Arc;

use gslb_mocks::wapi::{Account, Fault};
use gslb_provider_contract::{Observe, ProviderError, Retry};
use serde_json::json;

use crate::stage::{OnGrid, Wanted, builder, credentials, wants};

/// Conformance 71, 107; F-57.
#[tokio::test]
async fn a_failing_grid_is_told_in_its_own_words_and_recovers_by_itself() {
    let cases = [
        (Fault::Unavailable, "ProviderUnavailable", "HTTP 503"),
        (Fault::BadGateway, "ProviderUnavailable", "HTTP 502"),
        (Fault::ResetBeforeCommit, "ProviderUnavailable", "connection was"),
        (Fault::LoginPage, "UnexpectedAnswer", "HTML page instead of JSON"),
        (Fault::MetaRefresh, "Misconfigured", "not the Grid Master"),
        (Fault::Forbidden, "Forbidden", "HTTP 403"),
    ];
    for (fault, reason, words) in cases {
        let on = OnGrid::new();
        on.grid.faults().inject(fault);
        let failed = on.observe().await.unwrap_err();
        assert_eq!(failed.reason(), reason, "{fault:?}");
        assert!(failed.to_string().contains(words), "{failed}");
        on.grid.faults().clear();
        if matches!(fault, Fault::BadGateway | Fault::ResetBeforeCommit) {
            // The grid may have counted the log-in.
            assert_eq!(on.observe().await.unwrap_err().reason(), "LoginHeld", "{fault:?}");
            on.advance(60);
        }
        on.observe().await.unwrap();
    }
}

/// Conformance 107; F-57.
#[tokio::test]
async fn a_failed_read_after_the_plan_writes_nothing() {
    let on = OnGrid::new();
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.grid.faults().inject(Fault::Unavailable.on_method("GET"));
    gslb_provider_contract::Provider::apply(&on.provider, &change).await.unwrap_err();
    assert_eq!(on.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn an_unknown_view_a_missing_parent_and_a_missing_version_are_settings() {
    let cases = [
        (builder(), Wanted { view: "nosuchview", ..Wanted::default() }, "nosuchview"),
        (
            gslb_mocks::wapi::Grid::builder().username("svc-dns").password(crate::stage::PASSWORD),
            Wanted::default(),
            "the parent zone example.com of cloud.example.com was not found in view default",
        ),
        (builder().version("2.9.7"), Wanted::default(), "Version 2.12.3 not supported"),
    ];
    for (builder, wanted, words) in cases {
        let error = OnGrid::with(builder, wanted).observe().await.unwrap_err();
        assert_eq!(error.reason(), "Misconfigured", "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_parent_that_is_no_zone_of_its_own_lies_in_one_around_it() {
    let grid = gslb_mocks::wapi::Grid::builder().username("svc-dns").password(crate::stage::PASSWORD);
    let on = OnGrid::with(grid.zone_auth("com", "default"), Wanted::default());
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    assert_eq!(on.writes(), ["POST"]);
}

#[tokio::test]
async fn a_parent_that_is_in_another_view_only_is_missing() {
    let builder = builder().view("internal");
    let on = OnGrid::with(builder, Wanted { view: "internal", ..Wanted::default() });
    let failed = on.observe().await.unwrap_err();
    assert!(failed.to_string().contains("was not found in view internal"), "{failed}");
}

#[tokio::test]
async fn a_missing_permission_quotes_the_grid() {
    let reader = Account::new("reader", "s3cret").read_only();
    let reading =
        gslb_provider_infoblox::Credentials::Values { username: "reader".into(), password: "s3cret".into() };
    let on = OnGrid::with(builder().account(reader), Wanted { credentials: reading, ..Wanted::default() });
    let refused = on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
    assert_eq!(refused.reason(), "Refused");
    assert!(refused.to_string().contains("permission"), "{refused}");
    assert!(matches!(refused.retry(), Retry::Backoff { at_least } if !at_least.is_zero()));
    assert_eq!(on.writes(), ["POST"]);
}

#[tokio::test]
async fn an_authoritative_zone_of_that_name_is_left_and_named() {
    let on = OnGrid::with(builder().zone_auth("cloud.example.com", "default"), Wanted::default());
    let refused = on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
    assert_eq!(refused.reason(), "Refused");
    assert!(refused.to_string().contains("an authoritative zone of that name exists"), "{refused}");
    assert_eq!(on.writes(), ["POST"]);
}

/// Conformance 107; F-60.
#[tokio::test]
async fn a_delegation_that_another_cluster_made_meanwhile_is_stale() {
    let on = OnGrid::new();
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.add_zone(&[(crate::stage::US, "198.51.100.53")], json!({}));
    let stale = gslb_provider_contract::Provider::apply(&on.provider, &change).await.unwrap_err();
    assert!(matches!(stale, ProviderError::Stale { .. }), "{stale:?}");
}

#[tokio::test]
async fn a_grid_that_stays_down_is_left_alone_for_a_while() {
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::Unavailable);
    for _ in 0..10 {
        let failed = on.observe().await.unwrap_err();
        assert!(failed.to_string().contains("HTTP 503"), "{failed}");
    }
    assert_eq!(on.grid.journal().entries().len(), 5);
    on.grid.faults().clear();
    on.observe().await.unwrap_err();
    on.advance(2);
    on.observe().await.unwrap();
}

#[tokio::test]
async fn no_error_holds_the_password() {
    let on = OnGrid::with(
        builder(),
        Wanted {
            credentials: credentials("hunter2"),
            memory: Arc::<gslb_provider_infoblox::ForgetfulMemory>::default(),
            ..Wanted::default()
        },
    );
    let failed = on.provider.observe(&crate::stage::scope()).await.unwrap_err();
    assert!(!format!("{failed:?} {failed}").contains("hunter2"));
}

#[tokio::test]
async fn a_reply_that_shows_what_was_sent_is_not_quoted_with_it() {
    let on = OnGrid::new();
    // With the password at first, then with the cookie of a session.
    for in_session in [false, true] {
        on.grid.faults().clear();
        if in_session {
            on.observe().await.unwrap();
        }
        on.grid.faults().inject(Fault::Echo);
        let failed = on.observe().await.unwrap_err();
        let text = format!("{failed} {failed:?}");
        let header = if in_session { "cookie: ibapauth=" } else { "authorization: Basic ***" };
        assert!(text.contains(header) && text.contains("***"), "{text}");
        let secrets = ["c3ZjLWRuczpwOmFAcyNzJSbDvA==", "client=API", crate::stage::PASSWORD];
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
    }
}

#[tokio::test]
async fn a_reply_of_very_many_values_is_not_read() {
    let on = OnGrid::new();
    for item in [r#"{"a":{}}"#, "[]", "1"] {
        on.grid.faults().inject(Fault::Flood(item, 50_000));
        let failed = on.observe().await.unwrap_err();
        assert_eq!(failed.to_string(), "Infoblox at 127.0.0.1 gave an answer of more than 20000 values");
        on.grid.faults().clear();
    }
    on.grid.faults().inject(Fault::Flood("                    ", 50_000));
    let failed = on.observe().await.unwrap_err();
    assert_eq!(failed.to_string(), "Infoblox at 127.0.0.1 gave an answer of more than 1 MiB");
}

#[tokio::test]
async fn json_of_another_shape_is_quoted_in_part() {
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::Flood(concat!("\"", "x\\n\\u001b", "\""), 1));
    let failed = on.observe().await.unwrap_err().to_string();
    assert!(failed.contains("another shape") && !failed.contains(['\n', '\u{1b}']), "{failed:?}");
}

#[tokio::test]
async fn a_grid_that_says_when_to_come_again_is_left_alone_until_then() {
    for (said, seconds) in [("40", 40), ("86400", 300)] {
        let on = OnGrid::new();
        on.grid.faults().inject(Fault::Busy(said));
        let failed = on.observe().await.unwrap_err();
        let at_least = std::time::Duration::from_secs(seconds);
        assert_eq!(failed.retry(), Retry::Backoff { at_least });
        on.grid.faults().clear();
        on.advance(i64::try_from(seconds).unwrap() - 1);
        assert_eq!(on.observe().await.unwrap_err().reason(), "ProviderUnavailable");
        assert_eq!(on.grid.journal().entries().len(), 1, "nothing is sent before");
        on.advance(1);
        on.observe().await.unwrap();
    }
}
