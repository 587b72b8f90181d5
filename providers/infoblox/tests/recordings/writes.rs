//! Writes, and what may come in between.

use std::collections::BTreeSet;

use gslb_core::beneath::Beneath;
use gslb_core::plan::Skip;
use gslb_provider_contract::battery::{Stage, eu, scope};
use gslb_provider_contract::{Disposition, Observe, Provider, ProviderError, Receipt};

use crate::stage::{change, entries, on_recording, pass, planned};

const REF: &str = "zone_delegated/ZG5zLnpvbmUkLl9kZWZhdWx0LmNvbS5leGFtcGxlLmNsb3Vk:cloud.example.com/default";
const OURS: (&str, &str) = ("gslb-ns-eu-cloud.example.com", "192.0.2.53");
const US: (&str, &str) = ("gslb-ns-us-cloud.example.com", "198.51.100.53");

fn names(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, address)| ((*name).to_owned(), (*address).to_owned())).collect()
}

/// Applied, under this reference, and these entries stood there afterwards.
fn assert_applied(receipt: &Receipt, reference: &str, servers: &[(&str, &str)]) {
    assert_eq!((receipt.reference.as_str(), &receipt.disposition), (reference, &Disposition::Applied));
    assert_eq!(entries(receipt.read_back.as_ref().unwrap()), names(servers));
}

fn is_stale(outcome: Result<Receipt, ProviderError>) -> bool {
    matches!(outcome, Err(ProviderError::Stale { zone }) if zone == *eu().zone().name())
}

#[tokio::test]
async fn where_all_is_as_it_should_be_one_read_is_all_that_is_sent() {
    let on = on_recording("no-change");
    let plan = planned(&on.observe().await.unwrap());
    assert_eq!((plan.changes, plan.skipped, plan.findings), (vec![], vec![], vec![]));
    on.finish().await;
}

#[tokio::test]
async fn each_view_has_a_delegation_of_its_own_and_a_write_names_its_view() {
    let on = on_recording("two-views");
    let external = on.in_view("external");
    assert_eq!(planned(&on.observe().await.unwrap()).changes, []);
    let receipt = pass(&external).await.unwrap();
    let reference = "zone_delegated/ZG5zLnpvbmUkLjcuY29tLmV4YW1wbGUuY2xvdWQ:cloud.example.com/external";
    assert_applied(&receipt, reference, &[OURS, ("ns-us.example.net", US.1)]);
    assert_eq!(planned(&on.observe().await.unwrap()).changes, []);
    on.finish().await;
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_is_found_by_reading() {
    let on = on_recording("lost-reply-after-create");
    assert_applied(&on.pass().await.unwrap(), REF, &[OURS]);
    on.finish().await;
}

#[tokio::test]
async fn a_reference_that_is_gone_means_that_the_zone_changed() {
    let on = on_recording("stale-ref");
    assert!(is_stale(on.pass().await));
    on.finish().await;
}

#[tokio::test]
async fn a_write_leaves_a_new_revision_and_needs_the_one_that_was_seen() {
    let on = on_recording("compare-and-set");
    assert_applied(&on.pass().await.unwrap(), REF, &[OURS, US]);
    on.finish().await;
}

#[tokio::test]
async fn a_lost_compare_and_set_writes_nothing_and_is_planned_anew() {
    let on = on_recording("compare-and-set-lost");
    assert!(is_stale(on.pass().await));
    on.finish().await;
}

#[tokio::test]
async fn a_write_that_becomes_a_task_is_asked_after_and_never_sent_twice() {
    let on = on_recording("approval-task");
    let change = change(&on.observe().await.unwrap());
    let receipt = on.provider.apply(&change).await.unwrap();
    let awaited = Receipt {
        reference: "scheduledtask/b25lLnF1ZXVlZF90YXNrJDEy:12/PENDING".to_owned(),
        disposition: Disposition::AwaitingApproval { task: "12".to_owned() },
        read_back: None,
        amends: vec![],
    };
    assert_eq!(receipt, awaited);
    assert_eq!(on.provider.apply(&change).await.unwrap(), awaited);
    assert_applied(&on.provider.apply(&change).await.unwrap(), REF, &[OURS]);
    on.finish().await;
}

#[tokio::test]
async fn a_rejected_task_is_not_sent_again() {
    let on = on_recording("approval-task-rejected");
    let change = change(&on.observe().await.unwrap());
    on.provider.apply(&change).await.unwrap();
    let refused = on.provider.apply(&change).await.unwrap_err();
    assert_eq!(
        (refused.reason(), refused.to_string().as_str()),
        (
            "Refused",
            "the change of delegation cloud.example.com was rejected in the grid's approval workflow; have it approved, or restart gslb-bridge to ask again"
        )
    );
    on.finish().await;
}

#[tokio::test]
async fn a_locked_delegation_is_not_written_and_the_locker_is_named() {
    let on = on_recording("locked");
    let plan = planned(&on.observe().await.unwrap());
    let locked = Skip::Locked { zone: eu().zone().name().clone(), by: "admin".to_owned() };
    assert_eq!((plan.changes, plan.skipped), (vec![], vec![locked]));
    on.finish().await;
}

#[tokio::test]
async fn a_lock_that_comes_after_the_plan_is_seen_before_the_write() {
    let on = on_recording("locked-after-the-plan");
    assert!(is_stale(on.pass().await));
    on.finish().await;
}

#[tokio::test]
async fn what_a_delegation_would_hide_is_read_to_the_last_page() {
    let on = on_recording("paging");
    let hidden = ["record:a app.cloud.example.com", "record:a web.cloud.example.com"];
    let hidden: BTreeSet<_> = hidden.map(str::to_owned).into();
    assert_eq!(on.provider.beneath(&scope()).await.unwrap(), Beneath::new(hidden, false));
    on.finish().await;
}
