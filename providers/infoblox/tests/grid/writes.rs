//! Writes are sent once; what is unclear is settled by reading.

use std::time::Duration;

use gslb_core::delegation::DesiredDelegation;
use gslb_core::history::History;
use gslb_core::limits::Limits;
use gslb_core::plan::plan;
use gslb_core::ttl::Ttl;
use gslb_mocks::wapi::{Account, Fault};
use gslb_provider_contract::{Approval, Disposition, Observe, Provider, ProviderError, Retry};
use gslb_provider_infoblox::{Credentials, Infoblox, Operation};
use jiff::Timestamp;
use serde_json::json;

use crate::stage::{EU, OnGrid, US, USER, Wanted, builder, cluster, scope, wants, withdraws};

#[tokio::test]
async fn a_create_whose_reply_is_lost_is_found_and_not_sent_again() {
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::ResetAfterCommit.on_method("POST").times(1));
    let receipt = on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    assert_eq!(receipt.disposition, Disposition::Applied);
    assert!(receipt.reference.starts_with("zone_delegated/"));
    assert_eq!(on.writes(), ["POST"]);
}

#[tokio::test]
async fn an_update_and_a_delete_whose_replies_are_lost_are_found_done() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    on.grid.faults().inject(Fault::ResetAfterCommit.on_method("PUT").times(1));
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    on.edit_zone(json!({"delegate_to": [{"name": EU, "address": "192.0.2.53"}]}));
    on.grid.faults().inject(Fault::ResetAfterCommit.on_method("DELETE").times(1));
    on.pass(&withdraws()).await.unwrap();
    assert_eq!((on.zone(), on.writes()), (None, vec!["PUT".into(), "DELETE".into()]));
}

#[tokio::test]
async fn a_write_whose_connection_or_proxy_fails_has_an_unknown_outcome_and_is_not_sent_again_by_itself() {
    for (fault, words) in [(Fault::ResetBeforeCommit, "the connection was"), (Fault::BadGateway, "HTTP 502")]
    {
        let on = OnGrid::new();
        on.grid.faults().inject(fault.on_method("POST").times(1));
        let failed = on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
        assert_eq!(failed.reason(), "OutcomeUnknown", "{fault:?}");
        assert!(failed.to_string().contains(words), "{failed}");
        let last = on.grid.journal().entries().pop().unwrap();
        assert_eq!((on.zone(), on.writes(), last.method), (None, vec!["POST".into()], "GET".to_owned()));
        on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    }
}

#[tokio::test]
async fn a_write_that_a_page_answered_is_settled_by_reading_whatever_its_status_and_not_sent_again() {
    for status in [403, 404, 408, 418, 500, 502, 503, 504] {
        let on = OnGrid::new();
        // In a session, which a 403 may be the end of.
        let create = on.change(&wants(&["192.0.2.53"])).await;
        on.grid.faults().inject(Fault::Replaced(status).on_method("POST").times(1));
        let receipt = on.provider.apply(&create).await.unwrap();
        assert_eq!(receipt.disposition, Disposition::Applied, "{status}");
        let update = on.change(&wants(&["192.0.2.54"])).await;
        on.grid.faults().inject(Fault::Replaced(status).on_method("PUT").times(1));
        on.provider.apply(&update).await.unwrap();
        assert_eq!(on.writes(), ["POST", "PUT"], "{status}");
        assert_eq!(on.servers(), [(EU.to_owned(), "192.0.2.54".to_owned())], "{status}");
    }
}

#[tokio::test]
async fn a_write_that_was_answered_with_a_page_and_does_not_show_has_an_unknown_outcome() {
    for fault in [Fault::Unavailable, Fault::Forbidden, Fault::LoginPage] {
        let on = OnGrid::new();
        let create = on.change(&wants(&["192.0.2.53"])).await;
        on.grid.faults().inject(fault.on_method("POST").times(1));
        let failed = on.provider.apply(&create).await.unwrap_err();
        assert_eq!((failed.reason(), on.writes()), ("OutcomeUnknown", vec!["POST".into()]), "{fault:?}");
        on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    }
}

#[tokio::test]
async fn a_write_without_a_reply_in_time_has_an_unknown_outcome() {
    let on = OnGrid::with(builder(), Wanted { timeout: Duration::from_millis(1500), ..Wanted::default() });
    on.grid.faults().inject(Fault::Slow(Duration::from_secs(60)).on_method("POST").times(1));
    let failed = on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
    assert_eq!(failed.reason(), "OutcomeUnknown");
    assert!(failed.to_string().contains("no reply within INFOBLOX_HTTP_REQUEST_TIMEOUT"), "{failed}");
    let calls = on.calls.0.lock().unwrap();
    let creates: Vec<_> = calls.iter().filter(|(operation, _)| *operation == Operation::ZoneCreate).collect();
    assert_eq!(creates, [&(Operation::ZoneCreate, false)]);
}

#[tokio::test]
async fn a_zone_that_vanishes_between_plan_and_write_is_stale() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.delete_zone();
    let stale = on.provider.apply(&change).await.unwrap_err();
    assert!(matches!(stale, ProviderError::Stale { .. }));
    assert_eq!(stale.retry(), Retry::AtOnce);
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
}

#[tokio::test]
async fn applying_twice_equals_applying_once() {
    let on = OnGrid::new();
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.provider.apply(&change).await.unwrap();
    on.provider.apply(&change).await.unwrap();
    assert_eq!(on.writes(), ["POST"]);
}

#[tokio::test]
async fn a_write_that_becomes_a_task_is_pending_and_not_sent_again() {
    let on = OnGrid::new();
    on.grid.set_needs_approval("svc-dns", true);
    let change = on.change(&wants(&["192.0.2.53"])).await;
    for _ in 0..3 {
        let receipt = on.provider.apply(&change).await.unwrap();
        assert_eq!(receipt.disposition, Disposition::AwaitingApproval { task: "1".into() });
    }
    assert_eq!((on.zone(), on.writes()), (None, vec!["POST".into()]));
    on.grid.edit(|admin| admin.approve(1)).unwrap();
    let receipt = on.provider.apply(&change).await.unwrap();
    assert_eq!(receipt.disposition, Disposition::Applied);
    assert_eq!(on.servers(), [(EU.to_owned(), "192.0.2.53".to_owned())]);
    assert_eq!(on.writes().len(), 1);
}

#[tokio::test]
async fn a_rejected_task_is_told_and_not_sent_again() {
    let on = OnGrid::new();
    on.grid.set_needs_approval("svc-dns", true);
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.provider.apply(&change).await.unwrap();
    on.grid.edit(|admin| admin.reject(1)).unwrap();
    for _ in 0..2 {
        let refused = on.provider.apply(&change).await.unwrap_err();
        assert!(refused.to_string().contains("rejected"), "{refused}");
        assert_eq!(refused.reason(), "Refused");
    }
    assert_eq!(on.writes().len(), 1);
}

/// [inferred]: tasks are searched for by the name of the object that they are about.
#[tokio::test]
async fn inferred_a_task_about_the_zone_is_found_whoever_submitted_it_while_it_waits() {
    let on = OnGrid::with(builder().account(Account::new("alice", "x").needs_approval()), Wanted::default());
    let zone = scope().zone;
    let credentials = Credentials::Values { username: "alice".into(), password: "x".into() };
    let alice = on.another(Wanted { credentials, ..Wanted::default() });
    assert_eq!(on.provider.held(&zone).await.unwrap(), None);
    alice.apply(&on.change(&wants(&["192.0.2.53"])).await).await.unwrap();
    let held = on.provider.held(&zone).await.unwrap().unwrap();
    assert_eq!((held.task.as_str(), held.by.as_deref(), held.ours), ("1", Some("alice"), false));
    assert!(alice.held(&zone).await.unwrap().unwrap().ours);
    on.grid.edit(|admin| admin.reject(1)).unwrap();
    assert_eq!(on.provider.held(&zone).await.unwrap(), None);
}

#[tokio::test]
async fn a_task_that_the_account_may_not_see_is_waited_for_a_day_and_not_submitted_again() {
    let on = OnGrid::new();
    on.grid.set_needs_approval(USER, true);
    on.grid.set_sees_tasks(USER, false);
    let change = on.change(&wants(&["192.0.2.53"])).await;
    let reference = on.provider.apply(&change).await.unwrap().reference;
    let zone = scope().zone;
    let unseen = on.provider.approval(&zone, &reference).await.unwrap();
    let Approval::Unseen { text } = unseen else { panic!("{unseen:?}") };
    assert!(text.contains("as task 1, and this account sees no tasks"), "{text}");
    on.advance(23 * 3600);
    let receipt = on.provider.apply(&change).await.unwrap();
    assert_eq!(receipt.disposition, Disposition::AwaitingApproval { task: "1".into() });
    assert_eq!(on.writes(), ["POST"]);
    on.advance(3600);
    assert_eq!(on.provider.approval(&zone, &reference).await.unwrap(), Approval::Over);
}

#[tokio::test]
async fn a_task_that_was_deleted_is_over_for_an_account_that_sees_tasks() {
    let on = OnGrid::with(builder().account(Account::new("alice", "x").needs_approval()), Wanted::default());
    on.grid.set_needs_approval(USER, true);
    let change = on.change(&wants(&["192.0.2.53"])).await;
    let reference = on.provider.apply(&change).await.unwrap().reference;
    let credentials = Credentials::Values { username: "alice".into(), password: "x".into() };
    on.another(Wanted { credentials, ..Wanted::default() }).apply(&change).await.unwrap();
    on.grid.edit(|admin| admin.delete(&reference)).unwrap();
    assert_eq!(on.provider.approval(&scope().zone, &reference).await.unwrap(), Approval::Over);
}

#[tokio::test]
async fn reads_are_sent_again_and_writes_are_not() {
    let on = OnGrid::new();
    on.grid.faults().inject(Fault::Unavailable.on_method("GET").times(2));
    on.provider.observe(&scope()).await.unwrap();
    let look_ups = on.grid.journal().entries().into_iter();
    assert_eq!(look_ups.filter(|entry| entry.uri.contains("zone_delegated")).count(), 3);
    on.grid.faults().inject(Fault::BadGateway.on_method("POST"));
    on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
    assert_eq!(on.writes(), ["POST"]);
}

/// Passes until there is nothing left to do, as a controller would; a lost race is no error.
async fn converge(provider: &Infoblox, tag: &str, address: &str) {
    let claimant = cluster(tag);
    let addresses = [address.parse().unwrap()].into();
    let desired = DesiredDelegation::published(claimant.clone(), addresses, Ttl::DEFAULT).unwrap();
    for _ in 0..10 {
        let observed = provider.observe(&scope()).await.unwrap();
        let plan = plan(&desired, &observed, &History::default(), Timestamp::UNIX_EPOCH);
        let approved = plan.approve(&Limits::for_zones(vec![claimant.clone()])).unwrap();
        let Some(change) = approved.changes().first() else {
            return;
        };
        match provider.apply(change).await {
            Ok(_) | Err(ProviderError::Stale { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    panic!("{tag} is not in sync after ten passes");
}

/// Conformance 107; F-60.
#[tokio::test]
async fn two_clusters_that_start_at_once_end_with_both_entries() {
    let on = OnGrid::new();
    let other = on.another(Wanted::default());
    for _ in 0..3 {
        tokio::join!(converge(&on.provider, "eu", "192.0.2.53"), converge(&other, "us", "198.51.100.53"));
    }
    let mut servers = on.servers();
    servers.sort();
    let both = [(EU, "192.0.2.53"), (US, "198.51.100.53")];
    assert_eq!(servers, both.map(|(name, address)| (name.to_owned(), address.to_owned())));
}
