//! The tests that every provider passes. [`contract_tests!`](crate::contract_tests) makes them of a stage.
//!
//! All cases use zone `cloud.example.com` below `example.com`; we are `eu` with `192.0.2.53`. The names below are
//! the case names that a stage is given, so that recordings can be kept apart.

use std::collections::BTreeSet;
use std::net::IpAddr;

use async_trait::async_trait;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{Delegation, DesiredDelegation, ObservedDelegation, Presence, Servers};
use gslb_core::history::History;
use gslb_core::limits::{ApprovedPlan, Limits};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::plan::plan;
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use jiff::Timestamp;

use crate::error::ProviderError;
use crate::provider::{Disposition, Provider, Scope};

/// A provider with a backend that a test can prepare.
#[async_trait]
pub trait Stage: Send + Sync {
    /// The provider under test.
    fn provider(&self) -> &dyn Provider;

    /// Another writer makes the delegation look like this. A recording, whose backend looks as it was recorded,
    /// does nothing here.
    async fn another_writer(&self, presence: Presence);

    /// From now on reads fail, until [`heal`](Self::heal). A recording does nothing here.
    async fn break_reads(&self);

    /// Reads work again. A recording does nothing here.
    async fn heal(&self);

    /// The parent zone goes away, with all that is below it, or is hidden from the account. A recording does nothing
    /// here.
    async fn hide_parent(&self);

    /// The case is over: a strict stage checks that nothing is left over.
    async fn finish(&self);
}

/// Makes one `#[tokio::test]` of every case, in a module of the given name. The second argument is a function
/// from the case's name to a [`Stage`](crate::battery::Stage).
///
/// ```text
/// contract_tests!(memory, |_case| MemoryStage::new());
/// ```
#[macro_export]
macro_rules! contract_tests {
    ($provider:ident, $stage:expr) => {
        mod $provider {
            #[allow(unused_imports, reason = "the stage is named from outside or in here")]
            use super::*;
            $crate::contract_tests!(@cases $stage;
                create_and_second_plan_is_empty
                neighbours_survive
                foreign_entries_survive_a_withdrawal
                the_last_entry_takes_the_delegation_with_it
                a_stale_edit_is_refused
                a_failed_read_is_no_absence
                a_missing_parent_is_an_error
                absent_on_delete_is_done
            );
        }
    };
    (@cases $stage:expr; $($case:ident)+) => {
        $(
            #[tokio::test]
            async fn $case() {
                let stage = ($stage)(stringify!($case));
                $crate::battery::$case(&stage).await;
                $crate::battery::Stage::finish(&stage).await;
            }
        )+
    };
}

/// An absent delegation is created with our entry, and then there is nothing to do.
/// Conformance 70, 71.
pub async fn create_and_second_plan_is_empty(stage: &impl Stage) {
    let approved = approved(stage, &published()).await;
    assert_eq!(approved.changes().len(), 1, "an absent delegation needs one change");
    apply(stage, &approved).await;
    assert_eq!(observed(stage).await.delegation().map(|found| &found.servers), Some(&servers(&[OURS])));
    assert_eq!(self::approved(stage, &published()).await.changes(), [], "second plan");
}

/// Our entry joins those of a fleet member and of a stranger, and theirs stay.
/// Conformance 71.
pub async fn neighbours_survive(stage: &impl Stage) {
    stage.another_writer(present(&[FLEET, FOREIGN])).await;
    let approved = approved(stage, &published()).await;
    apply(stage, &approved).await;
    let found = observed(stage).await;
    assert_eq!(found.delegation().map(|found| &found.servers), Some(&servers(&[OURS, FLEET, FOREIGN])));
    assert_eq!(self::approved(stage, &published()).await.changes(), [], "second plan");
}

/// Our entry leaves, the others stay.
pub async fn foreign_entries_survive_a_withdrawal(stage: &impl Stage) {
    stage.another_writer(present(&[OURS, FLEET, FOREIGN])).await;
    let approved = approved(stage, &DesiredDelegation::withdrawn(eu())).await;
    apply(stage, &approved).await;
    let found = observed(stage).await;
    assert_eq!(found.delegation().map(|found| &found.servers), Some(&servers(&[FLEET, FOREIGN])));
}

/// With nobody left the delegation goes; its name server list is never emptied.
/// F-62.
pub async fn the_last_entry_takes_the_delegation_with_it(stage: &impl Stage) {
    stage.another_writer(present(&[OURS])).await;
    let approved = approved(stage, &DesiredDelegation::withdrawn(eu())).await;
    apply(stage, &approved).await;
    assert_eq!(observed(stage).await, Presence::Absent);
}

/// What another writer changed after the plan is not overwritten.
/// Conformance 107; F-60.
pub async fn a_stale_edit_is_refused(stage: &impl Stage) {
    stage.another_writer(present(&[FLEET])).await;
    let approved = approved(stage, &published()).await;
    stage.another_writer(present(&[FLEET, FOREIGN])).await;
    let refused = stage.provider().apply(&approved.changes()[0]).await;
    assert!(matches!(refused, Err(ProviderError::Stale { .. })), "{refused:?}");
    let found = observed(stage).await;
    assert_eq!(found.delegation().map(|found| &found.servers), Some(&servers(&[FLEET, FOREIGN])));
}

/// A read that fails is an error, and nothing is written for it.
/// Conformance 107; F-57.
pub async fn a_failed_read_is_no_absence(stage: &impl Stage) {
    stage.another_writer(present(&[OURS, FLEET])).await;
    stage.break_reads().await;
    let failed = stage.provider().observe(&scope()).await;
    assert!(failed.is_err(), "{failed:?}");
    stage.heal().await;
    let found = observed(stage).await;
    assert_eq!(found.delegation().map(|found| &found.servers), Some(&servers(&[OURS, FLEET])));
}

/// Without its parent zone nothing is known of a delegation: it is not absent, and its removal is not done.
pub async fn a_missing_parent_is_an_error(stage: &impl Stage) {
    stage.another_writer(present(&[OURS])).await;
    let approved = approved(stage, &DesiredDelegation::withdrawn(eu())).await;
    stage.hide_parent().await;
    let failed = stage.provider().observe(&scope()).await;
    assert!(matches!(failed, Err(ProviderError::Misconfigured { .. })), "{failed:?}");
    let undone = stage.provider().apply(&approved.changes()[0]).await;
    assert!(matches!(undone, Err(ProviderError::Misconfigured { .. })), "{undone:?}");
}

/// Somebody was faster: the delegation is gone, and that is what was wanted.
/// F-48, F-58.
pub async fn absent_on_delete_is_done(stage: &impl Stage) {
    stage.another_writer(present(&[OURS])).await;
    let approved = approved(stage, &DesiredDelegation::withdrawn(eu())).await;
    stage.another_writer(Presence::Absent).await;
    apply(stage, &approved).await;
}

const OURS: (&str, &str) = ("gslb-ns-eu-cloud.example.com", "192.0.2.53");
const FLEET: (&str, &str) = ("gslb-ns-us-cloud.example.com", "198.51.100.53");
const FOREIGN: (&str, &str) = ("ns1.isp.example", "203.0.113.53");

/// The zone of every case.
pub fn scope() -> Scope {
    Scope::from(eu().zone())
}

fn name(text: &str) -> DomainName {
    DomainName::parse(text).expect("a name of the battery")
}

/// The cluster that we are in every case.
pub fn eu() -> Claimant {
    let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT);
    let tag = GeoTag::parse("eu").expect("a tag");
    Claimant::new(zone.expect("a zone below its parent"), NsPrefix::default(), tag).expect("a short name")
}

fn published() -> DesiredDelegation {
    let addresses = BTreeSet::from([OURS.1.parse().expect("an address")]);
    DesiredDelegation::published(eu(), addresses, Ttl::DEFAULT).expect("one address")
}

fn servers(entries: &[(&str, &str)]) -> Servers {
    let glue = |address: &str| BTreeSet::from([address.parse::<IpAddr>().expect("an address")]);
    entries.iter().map(|(ns_name, address)| (name(ns_name), glue(address))).collect()
}

fn present(entries: &[(&str, &str)]) -> Presence {
    let zone = name("cloud.example.com");
    let delegation = Delegation { zone, ttl: Some(Ttl::DEFAULT), servers: servers(entries) };
    Presence::Present(ObservedDelegation::plain(delegation))
}

async fn observed(stage: &impl Stage) -> Presence {
    stage.provider().observe(&scope()).await.expect("a read")
}

async fn approved(stage: &impl Stage, desired: &DesiredDelegation) -> ApprovedPlan {
    let plan = plan(desired, &observed(stage).await, &History::default(), Timestamp::UNIX_EPOCH);
    plan.approve(&Limits::for_zones(vec![eu()])).expect("plan keeps the limits")
}

async fn apply(stage: &impl Stage, approved: &ApprovedPlan) {
    for change in approved.changes() {
        let receipt = stage.provider().apply(change).await.expect("an applied change");
        assert_eq!(receipt.disposition, Disposition::Applied);
    }
}
