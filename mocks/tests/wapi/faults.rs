//! Faults injected by value.

use crate::harness::{bench, delegation};
use gslb_mocks::wapi::Fault;
use std::time::Duration;

/// §10.1 11 [code].
#[tokio::test]
async fn error_pages_come_in_the_form_of_the_grid_and_end_when_cleared() {
    let bench = bench();
    for (fault, status, content_type, text) in [
        (Fault::Unauthorized, 401, "text/html; charset=iso-8859-1", "401 Authorization Required"),
        (Fault::Forbidden, 403, "text/html; charset=iso-8859-1", "403 Forbidden"),
        (Fault::Unavailable, 503, "text/plain", "Temporary Unavailable"),
        (Fault::BadGateway, 502, "text/html", "502 Bad Gateway"),
        (Fault::LoginPage, 200, "text/html", "<title>Log in</title>"),
        (Fault::MetaRefresh, 200, "text/html", "URL=https://gm.example.com"),
    ] {
        bench.grid.faults().inject(fault);
        let reply = bench.get("grid").await;
        assert_eq!((reply.status.as_u16(), reply.content_type.as_str()), (status, content_type));
        assert!(reply.text.contains(text), "{}", reply.text);
        bench.grid.faults().clear();
        assert_eq!(bench.get("grid").await.status, 200);
    }
    assert_eq!(bench.grid.bad_logins(), 1, "a rejected password is a bad log-in");
}

/// §10.1 11 [code].
#[tokio::test]
async fn a_reset_before_the_commit_leaves_no_trace_and_one_after_it_loses_only_the_reply() {
    let bench = bench();
    for (fault, exists) in [(Fault::ResetBeforeCommit, false), (Fault::ResetAfterCommit, true)] {
        bench.grid.faults().inject(fault.on_method("POST").times(1));
        let url = format!("{}/zone_delegated", bench.base);
        let request = bench.client.post(url).basic_auth(crate::harness::USER, Some(crate::harness::PASSWORD));
        assert!(request.json(&delegation("gslb.example.com")).send().await.is_err());
        assert_eq!(bench.grid.delegation("gslb.example.com", "default").is_some(), exists);
    }
    let entries = bench.grid.journal().entries();
    assert_eq!(
        entries.iter().map(|entry| (entry.status, entry.effective)).collect::<Vec<_>>(),
        [(None, false), (None, true)]
    );
}

/// §10.1 11 [code].
#[tokio::test]
async fn a_fault_hits_only_the_requests_that_it_names() {
    let bench = bench();
    bench.grid.faults().inject(Fault::Unavailable.on_path("zone_delegated").times(1));
    assert_eq!(bench.get("grid").await.status, 200);
    assert_eq!(bench.get("zone_delegated").await.status, 503);
    assert_eq!(bench.get("zone_delegated").await.status, 200);
}

/// §10.1 11 [code].
#[tokio::test]
async fn a_slow_grid_answers_after_the_client_gave_up_and_does_the_work_all_the_same() {
    let bench = bench();
    bench.grid.faults().inject(Fault::Slow(Duration::from_secs(3600)).times(1));
    let request = bench.client.get(format!("{}/grid", bench.base)).timeout(Duration::from_millis(50));
    assert!(request.send().await.unwrap_err().is_timeout());
    assert_eq!(bench.get("grid").await.status, 200);
}
