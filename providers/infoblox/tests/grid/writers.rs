//! Several writers of one delegation at once: what one of them lost is there again, or was never lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use gslb_core::delegation::DesiredDelegation;
use gslb_core::history::History;
use gslb_core::limits::Limits;
use gslb_core::plan::plan;
use gslb_core::ttl::Ttl;
use gslb_mocks::wapi::Account;
use gslb_provider_contract::{Disposition, Observe, Provider, ProviderError};
use gslb_provider_infoblox::{Credentials, Infoblox};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::stage::{EU, OnGrid, US, USER, Wanted, ZONE, builder, cluster, scope, wants, withdraws};

const REVISION: &str = "GslbBridgeRevision";
/// Interleavings that a run tries: `INTERLEAVINGS=1000` is what docs/benchmarks.md tells of.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("INTERLEAVINGS").ok().and_then(|count| count.parse().ok()).unwrap_or(50)
}

/// Two clusters with an account each at one grid.
struct Pair {
    on: OnGrid,
    eu: Arc<Infoblox>,
    us: Arc<Infoblox>,
}

impl Pair {
    async fn new(revisions: bool) -> Self {
        let accounts = builder().account(Account::new("svc-eu", "x")).account(Account::new("svc-us", "x"));
        let accounts = if revisions { accounts.attribute(REVISION) } else { accounts };
        let on = OnGrid::with(accounts, Wanted::default());
        let provider = |name: &str| {
            let credentials = Credentials::Values { username: name.to_owned(), password: "x".into() };
            Arc::new(on.another(Wanted { credentials, ..Wanted::default() }))
        };
        let (eu, us) = (provider("svc-eu"), provider("svc-us"));
        // Both have a session, by which they are told apart.
        eu.observe(&scope()).await.unwrap();
        us.observe(&scope()).await.unwrap();
        Self { on, eu, us }
    }

    /// Both converge, their requests in the order that the seed draws.
    async fn interleave(&self, seed: u64) {
        self.on.grid.turns().begin(seed, &["svc-eu", "svc-us"]);
        let run = |name: &'static str, provider: Arc<Infoblox>, tag: &'static str, address: &'static str| {
            let grid = self.on.grid.clone();
            async move {
                converge(&provider, tag, address).await;
                grid.turns().leave(name);
            }
        };
        tokio::join!(
            run("svc-eu", Arc::clone(&self.eu), "eu", "192.0.2.53"),
            run("svc-us", Arc::clone(&self.us), "us", "198.51.100.53")
        );
    }

    fn reset(&self, servers: &[(&str, &str)]) {
        if self.on.zone().is_some() {
            self.on.delete_zone();
        }
        if !servers.is_empty() {
            self.on.add_zone(servers, json!({}));
        }
    }

    fn entries(&self) -> BTreeSet<(String, String)> {
        self.on.servers().into_iter().collect()
    }
}

/// Passes until there is nothing left to do; a lost race is no error.
async fn converge(provider: &Infoblox, tag: &str, address: &str) {
    for _ in 0..20 {
        if !pass(provider, tag, address).await {
            return;
        }
    }
    panic!("{tag} is not in sync after twenty passes");
}

/// One pass; gives whether there was something to do.
async fn pass(provider: &Infoblox, tag: &str, address: &str) -> bool {
    let claimant = cluster(tag);
    let addresses = [address.parse().unwrap()].into();
    let desired = DesiredDelegation::published(claimant.clone(), addresses, Ttl::DEFAULT).unwrap();
    let observed = provider.observe(&scope()).await.unwrap();
    let plan = plan(&desired, &observed, &History::default(), Timestamp::UNIX_EPOCH);
    let approved = plan.approve(&Limits::for_zones(vec![claimant])).unwrap();
    let Some(change) = approved.changes().first() else { return false };
    match provider.apply(change).await {
        Ok(_) | Err(ProviderError::Stale { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

fn set(entries: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    entries.iter().map(|(name, address)| ((*name).to_owned(), (*address).to_owned())).collect()
}

const STRANGER: (&str, &str) = ("ns1.isp.example", "203.0.113.53");
const BOTH: [(&str, &str); 3] = [(EU, "192.0.2.53"), (US, "198.51.100.53"), STRANGER];

/// F-60. Conformance 107.
#[tokio::test]
async fn with_the_revision_attribute_no_order_of_two_writers_loses_an_entry() {
    let pair = Pair::new(true).await;
    for seed in seeds() {
        let start: &[_] = if seed % 4 == 0 { &[] } else { &[STRANGER] };
        pair.reset(start);
        pair.interleave(seed).await;
        let expected = if start.is_empty() { set(&BOTH[..2]) } else { set(&BOTH) };
        assert_eq!(pair.entries(), expected, "seed {seed}");
    }
}

/// F-60. Conformance 107.
#[tokio::test]
async fn without_it_no_entry_is_missing_fifteen_seconds_after_the_last_write() {
    let pair = Pair::new(false).await;
    for seed in seeds() {
        let start: &[_] = if seed % 4 == 0 { &[] } else { &[STRANGER] };
        pair.reset(start);
        pair.interleave(seed).await;
        // What is read back after 2 and 10 seconds, as the controller does.
        for pause in [2, 8] {
            pair.on.advance(pause);
            pair.interleave(seed).await;
        }
        pair.on.advance(5);
        let expected = if start.is_empty() { set(&BOTH[..2]) } else { set(&BOTH) };
        assert_eq!(pair.entries(), expected, "seed {seed}");
    }
}

/// The whole object as k8gb sends it (reference.md §3.5), with the servers that it knows.
fn k8gb_body(servers: &[(String, String)]) -> Value {
    let servers = servers.iter().map(|(name, address)| json!({"name": name, "address": address}));
    let mut servers: Vec<_> = servers.collect();
    servers.push(json!({"name": "gslb-ns-za-cloud.example.com", "address": "203.0.113.99"}));
    json!({"comment": "updated by k8gb", "delegate_to": servers, "delegated_ttl": 30, "disable": false,
        "extattrs": {}, "locked": false, "ns_group": null, "use_delegated_ttl": true})
}

/// F-60.
#[tokio::test]
async fn after_a_third_writer_put_the_whole_object_every_entry_of_ours_is_back_within_one_pass() {
    for revisions in [true, false] {
        let pair = Pair::new(revisions).await;
        for seed in 0..50 {
            pair.reset(&[STRANGER]);
            // It has read the zone before either of ours was in it, or between the two.
            let mut stale = pair.on.servers();
            if seed % 2 == 0 {
                converge(&pair.eu, "eu", "192.0.2.53").await;
                stale = pair.on.servers();
            }
            pair.interleave(seed).await;
            pair.on.edit_zone(k8gb_body(&stale));
            pass(&pair.eu, "eu", "192.0.2.53").await;
            pass(&pair.us, "us", "198.51.100.53").await;
            let mut expected = set(&BOTH);
            expected.insert(("gslb-ns-za-cloud.example.com".to_owned(), "203.0.113.99".to_owned()));
            assert_eq!(pair.entries(), expected, "seed {seed}, revisions {revisions}");
        }
    }
}

/// The zone as the grid stores it, without what is ours.
fn not_ours(on: &OnGrid) -> Value {
    let fields = "fqdn,view,delegate_to,delegated_ttl,use_delegated_ttl,comment,disable,locked,ns_group,extattrs,zone_format,prefix,ms_ddns_mode,enable_rfc2317_exclusion";
    let mut zone = on
        .grid
        .edit(|admin| admin.find("zone_delegated", &[("fqdn", ZONE), ("_return_fields", fields)]).unwrap())
        .remove(0);
    zone["extattrs"].as_object_mut().unwrap().remove(REVISION);
    zone["delegate_to"].as_array_mut().unwrap().retain(|entry| entry["name"] != EU);
    zone
}

/// F-61. Conformance 71.
#[tokio::test]
async fn whatever_we_do_every_byte_that_is_not_ours_stays() {
    for seed in 0..60_u64 {
        let attributes = if seed % 2 == 0 { builder().attribute(REVISION) } else { builder() };
        let on = OnGrid::with(attributes.attribute("Owner"), Wanted::default());
        let theirs = json!({"comment": "ticket 4711", "extattrs": {"Owner": {"value": "dns team"}},
            "delegated_ttl": 60, "disable": seed % 3 == 0});
        on.add_zone(&[(US, "198.51.100.53"), STRANGER], theirs);
        on.edit_zone(json!({"delegate_to": [{"name": US, "address": "198.51.100.53", "stealth": true},
            {"name": "NS1.isp.example", "address": "203.0.113.53", "tsig_key_name": "k"}]}));
        let before = not_ours(&on);
        let mut draw = seed;
        for step in 0..6 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (one, other) = ("192.0.2.53", "192.0.2.54");
            let desired = match (draw >> 33) % 4 {
                0 => withdraws(),
                1 => wants(&[one]),
                2 => wants(&[other]),
                _ => wants(&[one, other]),
            };
            let planned = on.planned(&desired).await;
            if planned.changes.is_empty() {
                continue;
            }
            on.pass(&desired).await.unwrap();
            assert_eq!(not_ours(&on), before, "seed {seed}, step {step}");
        }
    }
}

/// Another cluster joins between our look-up and our write. Gives what came of ours.
async fn joined_under_way(on: &OnGrid, look_ups: usize) -> Result<(), ProviderError> {
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.grid.turns().begin(0, &[USER, "nobody"]);
    let join = async {
        on.grid.turns().let_in(USER, look_ups).await;
        let servers = [STRANGER, (US, "198.51.100.53")].map(|(name, a)| json!({"name": name, "address": a}));
        let mut fields = json!({"delegate_to": servers});
        if on.zone().unwrap().extattrs.contains_key(REVISION) {
            fields["extattrs+"] = json!({REVISION: {"value": "theirs"}});
        }
        on.edit_zone(fields);
        on.grid.turns().leave("nobody");
    };
    let (receipt, ()) = tokio::join!(on.provider.apply(&change), join);
    on.grid.turns().leave(USER);
    let found = receipt?.read_back.unwrap();
    assert!(change.change().shows_in(&found));
    Ok(())
}

/// F-60.
#[tokio::test]
async fn what_another_writer_put_there_under_way_is_put_back_at_once() {
    let on = OnGrid::new();
    on.add_zone(&[STRANGER], json!({}));
    joined_under_way(&on, 2).await.unwrap();
    assert_eq!(on.servers().into_iter().collect::<BTreeSet<_>>(), set(&BOTH));
    assert_eq!(on.writes(), ["PUT", "PUT"], "ours, and what it had overwritten");
}

/// F-60. [inferred]: the words of a batch whose first operation found nothing are not known, so none are looked for.
#[tokio::test]
async fn inferred_with_the_revision_attribute_a_writer_who_was_slower_writes_nothing_and_looks_again() {
    let on = OnGrid::with(builder().attribute(REVISION), Wanted::default());
    on.add_zone(&[STRANGER], json!({"extattrs": {REVISION: {"value": "first"}}}));
    let refused = joined_under_way(&on, 2).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Stale { .. }), "{refused:?}");
    assert_eq!(on.servers().into_iter().collect::<BTreeSet<_>>(), set(&[STRANGER, (US, "198.51.100.53")]));
}

#[tokio::test]
async fn our_revision_stands_beside_the_attributes_of_others_and_is_never_the_same_twice() {
    let on = OnGrid::with(builder().attribute(REVISION).attribute("Owner"), Wanted::default());
    let mut seen = BTreeSet::new();
    for addresses in [["192.0.2.53"], ["192.0.2.54"], ["192.0.2.55"]] {
        on.pass(&wants(&addresses)).await.unwrap();
        let attributes = on.zone().unwrap().extattrs;
        assert!(seen.insert(attributes[REVISION].as_str().unwrap().to_owned()), "{attributes:?}");
        if seen.len() == 1 {
            on.edit_zone(json!({"extattrs+": {"Owner": {"value": "dns team"}}}));
        } else {
            assert_eq!(attributes["Owner"], json!("dns team"));
        }
    }
    assert_eq!(on.writes(), ["POST", "PUT", "PUT"]);
}

#[tokio::test]
async fn a_change_of_a_zone_that_becomes_a_task_is_one_task_with_the_attribute_too() {
    for revisions in [true, false] {
        let builder = if revisions { builder().attribute(REVISION) } else { builder() };
        let on = OnGrid::with(builder, Wanted::default());
        on.add_zone(&[(US, "198.51.100.53")], json!({}));
        on.grid.set_needs_approval(USER, true);
        let change = on.change(&wants(&["192.0.2.53"])).await;
        for _ in 0..3 {
            let receipt = on.provider.apply(&change).await.unwrap();
            assert_eq!(receipt.disposition, Disposition::AwaitingApproval { task: "1".into() });
        }
        assert_eq!(on.writes(), ["PUT"]);
        on.grid.edit(|admin| admin.approve(1)).unwrap();
        on.provider.apply(&change).await.unwrap();
        assert_eq!((on.servers().len(), on.writes().len()), (2, 1));
    }
}
