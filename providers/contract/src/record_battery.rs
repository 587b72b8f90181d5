//! The tests that every provider passes which holds the records of hosts.
//! [`record_contract_tests!`](crate::record_contract_tests) makes them of a stage.
//!
//! All cases use host `app.cloud.example.com` of zone `cloud.example.com` below `example.com`; we are `eu` with
//! `192.0.2.80`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use async_trait::async_trait;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::ToldState;
use gslb_core::records::{
    ApprovedRecordChange, Challenges, DesiredHost, Evidence, HostObstacle, HostRecord, HostWish,
    ObservedHost, PeerStanding, RecordClaim, RecordLimits, plan,
};
use gslb_core::ttl::Ttl;
use jiff::{SignedDuration, Timestamp};

use crate::error::ProviderError;
use crate::provider::{Disposition, Provider, Scope};

/// A provider with a backend that a test can prepare.
#[async_trait]
pub trait RecordStage: Send + Sync {
    /// The provider under test.
    fn provider(&self) -> &dyn Provider;

    /// Other writers make the host look like this. What stands there and is in `wanted` too is left as it is.
    async fn other_writers(&self, wanted: ObservedHost);

    /// From now on reads fail, until [`heal`](Self::heal).
    async fn break_reads(&self);

    /// Reads work again.
    async fn heal(&self);

    /// The zone that holds the host goes away, with all that is in it, or is hidden from the account.
    async fn hide_zone(&self);

    /// The case is over.
    async fn finish(&self);
}

/// Makes one `#[tokio::test]` of every case, in a module of the given name. The second argument makes a
/// [`RecordStage`](crate::record_battery::RecordStage).
#[macro_export]
macro_rules! record_contract_tests {
    ($provider:ident, $stage:expr) => {
        mod $provider {
            #[allow(unused_imports, reason = "the stage is named from outside or in here")]
            use super::*;
            $crate::record_contract_tests!(@cases $stage;
                a_record_has_claim_and_ttl_and_then_nothing_is_left_to_do
                a_record_of_the_other_family_is_one_too
                records_of_others_are_seen_as_they_are_and_stay
                a_ttl_is_set_right_and_nothing_else
                a_challenge_stands_until_its_owner_takes_it_away
                a_record_goes_while_another_one_answers
                a_refuted_challenge_saves_the_record
                the_last_record_stays_although_another_one_stood_there
                what_is_made_twice_is_made_once
                absent_on_delete_is_done
                what_excludes_addresses_is_seen_and_refuses_a_record
                a_failed_read_is_no_absence
                a_missing_zone_is_an_error
            );
        }
    };
    (@cases $stage:expr; $($case:ident)+) => {
        $(
            #[tokio::test]
            async fn $case() {
                let stage = $stage;
                $crate::record_battery::$case(&stage).await;
                $crate::record_battery::RecordStage::finish(&stage).await;
            }
        )+
    };
}

/// A record is made as it was planned.
pub async fn a_record_has_claim_and_ttl_and_then_nothing_is_left_to_do(stage: &impl RecordStage) {
    apply(stage, &planned(stage, &answers(&["eu"], &[OURS])).await).await;
    assert_eq!(observed(stage).await, of([ours()]));
    assert_eq!(planned(stage, &answers(&["eu"], &[OURS])).await, [], "second plan");
}

/// IPv6 as well as IPv4.
pub async fn a_record_of_the_other_family_is_one_too(stage: &impl RecordStage) {
    let both = answers(&["eu"], &[OURS, OURS_V6]);
    apply(stage, &planned(stage, &both).await).await;
    assert_eq!(observed(stage).await, of([ours(), record(Some("eu"), OURS_V6)]));
    assert_eq!(planned(stage, &both).await, [], "second plan");
    apply(stage, &planned(stage, &answers(&["eu"], &[OURS])).await).await;
    assert_eq!(observed(stage).await, of([ours()]));
}

/// Claims, challenges, TTLs and switches of others are read, and survive what we do.
pub async fn records_of_others_are_seen_as_they_are_and_stay(stage: &impl RecordStage) {
    let disabled = HostRecord { disabled: true, ttl: None, ..record(None, "203.0.113.9") };
    let others = [peers(), challenged(record(Some("za"), "203.0.113.80")), disabled];
    stage.other_writers(of(others.clone())).await;
    assert_eq!(observed(stage).await, of(others.clone()));
    apply(stage, &planned(stage, &answers(&["eu", "us"], &[OURS])).await).await;
    let [a, b, c] = others.clone();
    assert_eq!(observed(stage).await, of([ours(), a, b, c]));
    apply(stage, &planned(stage, &withdrawn()).await).await;
    assert_eq!(observed(stage).await, of(others));
}

/// The TTL of our own record follows the wish.
pub async fn a_ttl_is_set_right_and_nothing_else(stage: &impl RecordStage) {
    stage.other_writers(of([HostRecord { ttl: None, ..ours() }, peers()])).await;
    apply(stage, &planned(stage, &answers(&["eu", "us"], &[OURS])).await).await;
    assert_eq!(observed(stage).await, of([ours(), peers()]));
}

/// A challenge can be put to a peer's record, and taken from ours.
pub async fn a_challenge_stands_until_its_owner_takes_it_away(stage: &impl RecordStage) {
    let asked_us = HostRecord { challenge: Some(challenge("us")), ..ours() };
    stage.other_writers(of([asked_us, peers()])).await;
    apply(stage, &planned(stage, &answers(&["eu"], &[OURS])).await).await;
    let asked = HostRecord { challenge: Some(challenge("eu")), ..peers() };
    assert_eq!(observed(stage).await, of([ours(), asked]));
}

/// A record of a cluster that is gone goes.
pub async fn a_record_goes_while_another_one_answers(stage: &impl RecordStage) {
    stage.other_writers(of([ours(), challenged(peers())])).await;
    apply(stage, &planned(stage, &answers(&["eu"], &[OURS])).await).await;
    assert_eq!(observed(stage).await, of([ours()]));
}

/// Its owner was faster: the plan to take the record away is old.
pub async fn a_refuted_challenge_saves_the_record(stage: &impl RecordStage) {
    stage.other_writers(of([ours(), challenged(peers())])).await;
    let changes = planned(stage, &answers(&["eu"], &[OURS])).await;
    stage.other_writers(of([ours(), peers()])).await;
    stale(stage, &changes).await;
    assert_eq!(observed(stage).await, of([ours(), peers()]));
}

/// What was to answer in its place is gone meanwhile.
pub async fn the_last_record_stays_although_another_one_stood_there(stage: &impl RecordStage) {
    stage.other_writers(of([ours(), peers()])).await;
    let changes = planned(stage, &answers(&["us"], &[])).await;
    stage.other_writers(of([ours()])).await;
    stale(stage, &changes).await;
    assert_eq!(observed(stage).await, of([ours()]));
}

/// A second time changes nothing and is no error.
pub async fn what_is_made_twice_is_made_once(stage: &impl RecordStage) {
    let changes = planned(stage, &answers(&["eu"], &[OURS])).await;
    apply(stage, &changes).await;
    apply(stage, &changes).await;
    assert_eq!(observed(stage).await, of([ours()]));
}

/// Somebody was faster, and that is what was wanted.
pub async fn absent_on_delete_is_done(stage: &impl RecordStage) {
    stage.other_writers(of([ours(), peers()])).await;
    let changes = planned(stage, &answers(&["us"], &[])).await;
    stage.other_writers(of([peers()])).await;
    apply(stage, &changes).await;
    assert_eq!(observed(stage).await, of([peers()]));
}

/// An alias is seen, and a record that was planned before it came is not made.
pub async fn what_excludes_addresses_is_seen_and_refuses_a_record(stage: &impl RecordStage) {
    let changes = planned(stage, &answers(&["eu"], &[OURS])).await;
    let target = "cdn.example.net".to_owned();
    let alias =
        ObservedHost { obstacles: [HostObstacle::Cname { target }].into(), ..ObservedHost::default() };
    stage.other_writers(alias.clone()).await;
    assert_eq!(observed(stage).await, alias);
    stale(stage, &changes).await;
    let object = ObservedHost { obstacles: [HostObstacle::HostRecord].into(), ..ObservedHost::default() };
    stage.other_writers(object.clone()).await;
    assert_eq!(observed(stage).await, object);
}

/// A read that fails is an error.
pub async fn a_failed_read_is_no_absence(stage: &impl RecordStage) {
    stage.other_writers(of([ours()])).await;
    stage.break_reads().await;
    let failed = stage.provider().records(&scope()).await;
    assert!(failed.is_err(), "{failed:?}");
    stage.heal().await;
    assert_eq!(observed(stage).await, of([ours()]));
}

/// Without the zone nothing is known of its hosts.
pub async fn a_missing_zone_is_an_error(stage: &impl RecordStage) {
    stage.other_writers(of([peers()])).await;
    let changes = planned(stage, &answers(&["eu", "us"], &[OURS])).await;
    stage.hide_zone().await;
    let failed = stage.provider().records(&scope()).await;
    assert!(matches!(failed, Err(ProviderError::Misconfigured { .. })), "{failed:?}");
    let undone = stage.provider().apply_record(&changes[0]).await;
    assert!(matches!(undone, Err(ProviderError::Misconfigured { .. })), "{undone:?}");
}

const OURS: &str = "192.0.2.80";
const OURS_V6: &str = "2001:db8::80";
const PEERS: &str = "198.51.100.80";

/// The zone of every case.
pub fn scope() -> Scope {
    Scope { zone: name("cloud.example.com"), parent: name("example.com") }
}

/// The host of every case.
pub fn host() -> DomainName {
    name("app.cloud.example.com")
}

fn name(text: &str) -> DomainName {
    DomainName::parse(text).expect("a name of the battery")
}

fn tag(text: &str) -> GeoTag {
    GeoTag::parse(text).expect("a tag")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn claim(of: &str) -> RecordClaim {
    RecordClaim { fleet: name("cloud.example.com"), tag: tag(of) }
}

/// When every case happens.
fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time of this century")
}

fn challenge(by: &str) -> gslb_core::records::Challenge {
    gslb_core::records::Challenge { by: tag(by), at: now() }
}

fn record(of: Option<&str>, at: &str) -> HostRecord {
    let ttl = Some(Ttl::DEFAULT);
    let claim = of.map(claim);
    HostRecord { host: host(), address: address(at), ttl, claim, challenge: None, disabled: false }
}

fn ours() -> HostRecord {
    record(Some("eu"), OURS)
}

fn peers() -> HostRecord {
    record(Some("us"), PEERS)
}

fn challenged(record: HostRecord) -> HostRecord {
    HostRecord { challenge: Some(challenge("eu")), ..record }
}

fn of<const N: usize>(records: [HostRecord; N]) -> ObservedHost {
    let records = records.into_iter().map(|record| (record.address, record)).collect();
    ObservedHost { records, obstacles: BTreeSet::new() }
}

fn answers(sites: &[&str], own: &[&str]) -> DesiredHost {
    let sites = sites.iter().map(|site| tag(site)).collect();
    let own = own.iter().map(|own| address(own)).collect();
    let wish = HostWish::Answered { sites, own, ttl: Ttl::DEFAULT };
    DesiredHost { host: host(), claim: claim("eu"), wish }
}

fn withdrawn() -> DesiredHost {
    DesiredHost::withdrawn(host(), claim("eu"))
}

async fn observed(stage: &impl RecordStage) -> ObservedHost {
    let found = stage.provider().records(&scope()).await.expect("a read");
    found.get(&host()).cloned().unwrap_or_default()
}

/// What is to be done when `us` and `za` have been lost for long.
async fn planned(stage: &impl RecordStage, desired: &DesiredHost) -> Vec<ApprovedRecordChange> {
    let observed = observed(stage).await;
    let lost = PeerStanding { state: ToldState::Lost, since: Timestamp::UNIX_EPOCH };
    let evidence = Evidence {
        able: true,
        isolated: false,
        peers: [(tag("us"), lost), (tag("za"), PeerStanding { state: ToldState::Answered, ..lost })].into(),
        interval: SignedDuration::from_secs(30),
    };
    let zone = [(host(), observed.clone())].into();
    let challenges = Challenges::default().seen(&tag("eu"), &zone, now() - SignedDuration::from_secs(60));
    let (observed, evidence, challenges) = (&observed, &evidence, &challenges);
    let limits = RecordLimits { desired, observed, evidence, challenges, now: now() };
    let plan = plan(desired, observed, evidence, challenges, now());
    plan.approve(&limits).expect("plan keeps the rules").changes().to_vec()
}

async fn apply(stage: &impl RecordStage, changes: &[ApprovedRecordChange]) {
    for change in changes {
        let receipt = stage.provider().apply_record(change).await.expect("an applied change");
        assert_eq!(receipt.disposition, Disposition::Applied);
    }
}

async fn stale(stage: &impl RecordStage, changes: &[ApprovedRecordChange]) {
    assert!(!changes.is_empty(), "nothing to refuse");
    for change in changes {
        let refused = stage.provider().apply_record(change).await;
        assert!(matches!(refused, Err(ProviderError::Stale { .. })), "{refused:?}");
    }
}
