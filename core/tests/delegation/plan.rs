use gslb_core::change::Change;
use gslb_core::claim::Claim;
use gslb_core::delegation::{Delegation, DesiredDelegation, ObservedDelegation, Obstacle, Presence};
use gslb_core::history::History;
use gslb_core::name::GeoTag;
use gslb_core::plan::{Finding, Plan, Skip, plan};
use gslb_core::ttl::Ttl;

use crate::given::{
    EU, FOREIGN, US, ZA, ZONE, addresses, at, delegation, eu, name, seen, seen_with, wants, withdraws,
};

fn planned(desired: &DesiredDelegation, observed: &Presence) -> Plan {
    plan(desired, observed, &History::default(), at(0))
}

/// Conformance 71.
#[test]
fn an_absent_delegation_is_created_with_our_entry_only() {
    let after = delegation(&[(EU, &["192.0.2.53"])]);
    assert_eq!(planned(&wants(&["192.0.2.53"]), &Presence::Absent).changes, [Change::Create { after }]);
}

/// Conformance 71.
#[test]
fn our_entry_joins_the_others_and_they_stay_as_they_are() {
    let others: [(&str, &[&str]); 2] = [(FOREIGN, &["203.0.113.1"]), (US, &["198.51.100.53"])];
    let plan = planned(&wants(&["192.0.2.53"]), &seen(&others));
    let before = delegation(&others);
    let after = delegation(&[(EU, &["192.0.2.53"]), others[0], others[1]]);
    assert_eq!(plan.changes, [Change::Replace { before, after }]);
    let claims: Vec<_> = plan.claims.into_iter().map(|ns| ns.claim).collect();
    assert_eq!(claims, [Claim::Fleet(GeoTag::parse("us").unwrap()), Claim::Foreign]);
}

/// Conformance 71; F-54, F-62.
#[test]
fn equal_sets_need_no_change() {
    let observed = seen(&[(US, &["198.51.100.53"]), (EU, &["192.0.2.54", "192.0.2.53"])]);
    let plan = planned(&wants(&["192.0.2.53", "192.0.2.54"]), &observed);
    assert_eq!((plan.changes, plan.skipped, plan.findings), (vec![], vec![], vec![]));
}

#[test]
fn a_cluster_is_taken_out_when_somebody_asks_for_it_and_nobody_else_with_it() {
    let evicting = |desired: DesiredDelegation| desired.evicting([GeoTag::parse("us").unwrap()].into());
    let all: [(&str, &[&str]); 4] =
        [(EU, &["192.0.2.53"]), (US, &["198.51.100.53"]), (ZA, &["203.0.113.53"]), (FOREIGN, &[])];
    let plan = planned(&evicting(wants(&["192.0.2.53"])), &seen(&all));
    let after = delegation(&[all[0], all[2], all[3]]);
    assert_eq!(plan.changes, [Change::Replace { before: delegation(&all), after }]);
    assert_eq!(
        plan.findings.last().unwrap().to_string(),
        "gslb-ns-us-cloud.example.com is taken out of delegation cloud.example.com, as the annotation gslb-bridge.io/evict of the ZoneDelegation asks for"
    );
    let leaves = planned(&evicting(withdraws()), &seen(&all[..2]));
    let after = delegation(&all[1..2]);
    assert_eq!(leaves.changes, [Change::Replace { before: delegation(&all[..2]), after }], "who leaves");
    let own = evicting(wants(&["192.0.2.53"])).with_peers([name(US)].into(), [].into());
    assert_eq!(planned(&own, &seen(&[all[0], (US, &[])])).changes, [], "an object of our own");
}

#[test]
fn a_foreign_name_server_is_named_and_kept() {
    let plan = planned(&wants(&["192.0.2.53"]), &seen(&[(EU, &["192.0.2.53"]), (FOREIGN, &["203.0.113.1"])]));
    assert_eq!(plan.changes, []);
    assert_eq!(
        plan.findings[0].to_string(),
        "delegation cloud.example.com also lists ns1.isp.example, which no cluster of this fleet uses; they are left as they are, remove them by hand if they no longer serve the zone"
    );
}

#[test]
fn a_locked_delegation_is_skipped_and_says_by_whom() {
    let locked = Obstacle::Locked { by: Some("admin".into()) };
    let observed = seen_with(&[(US, &["198.51.100.53"])], locked);
    for desired in [wants(&["192.0.2.53"]), wants(&["192.0.2.54"])] {
        let plan = planned(&desired, &observed);
        assert_eq!(plan.changes, []);
        assert_eq!(plan.skipped, [Skip::Locked { zone: name(ZONE), by: "admin".into() }]);
        assert_eq!(plan.skipped[0].reason(), "Locked");
    }
}

#[test]
fn a_delegation_that_is_somebody_elses_is_skipped_and_says_whose() {
    let why = "the TXT record ns-cloud.example.com names the owner other".to_owned();
    let observed = seen_with(&[(EU, &["192.0.2.53"])], Obstacle::ForeignClaim { why: why.clone() });
    for desired in [wants(&["192.0.2.54"]), withdraws()] {
        let plan = planned(&desired, &observed);
        let skip = Skip::ForeignClaim { zone: name(ZONE), why: why.clone() };
        assert_eq!((plan.changes, plan.skipped[0].reason()), (vec![], "ForeignClaim"));
        assert_eq!(plan.skipped, [skip]);
    }
    assert_eq!(planned(&wants(&["192.0.2.53"]), &observed).skipped, []);
}

#[test]
fn a_lock_is_no_matter_while_nothing_has_to_change() {
    let observed = seen_with(&[(EU, &["192.0.2.53"])], Obstacle::Locked { by: None });
    assert_eq!(planned(&wants(&["192.0.2.53"]), &observed).skipped, []);
}

#[test]
fn a_delegation_by_a_name_server_group_is_skipped_and_never_deleted() {
    let observed = seen_with(&[], Obstacle::NsGroup { name: "dmz".into() });
    let plan = planned(&wants(&["192.0.2.53"]), &observed);
    let skip = Skip::NsGroup { zone: name(ZONE), group: "dmz".into(), ns_name: name(EU) };
    assert_eq!((plan.changes, plan.skipped), (vec![], vec![skip]));
    let plan = planned(&withdraws(), &observed);
    assert_eq!((plan.changes, plan.skipped), (vec![], vec![]));
}

#[test]
fn a_disabled_delegation_is_reported_and_our_entry_still_merged() {
    let observed = seen_with(&[(US, &["198.51.100.53"])], Obstacle::Disabled);
    let plan = planned(&wants(&["192.0.2.53"]), &observed);
    assert_eq!(plan.findings, [Finding::Disabled { zone: name(ZONE) }]);
    assert_eq!(plan.changes.len(), 1);
}

fn ttl_differs(observed: &str) -> Finding {
    Finding::TtlDiffers { zone: name(ZONE), observed: observed.to_owned(), desired: Ttl::DEFAULT.as_secs() }
}

fn with_ttl(ttl: Option<i64>, entries: &[(&str, &[&str])]) -> ObservedDelegation {
    let ttl = ttl.map(|seconds| Ttl::from_secs(seconds).unwrap());
    ObservedDelegation::plain(Delegation { ttl, ..delegation(entries) })
}

#[test]
fn a_delegation_of_the_fleet_alone_gets_its_first_ttl_with_the_entry_or_without() {
    let fleet: [(&str, &[&str]); 2] = [(EU, &["192.0.2.53"]), (US, &["198.51.100.53"])];
    for entries in [&fleet[..1], &fleet[1..], &fleet[..]] {
        let found = with_ttl(None, entries);
        let before = found.delegation.clone();
        let mut after = Delegation { ttl: Some(Ttl::DEFAULT), ..before.clone() };
        after.servers.insert(name(EU), addresses(&["192.0.2.53"]));
        let plan = planned(&wants(&["192.0.2.53"]), &Presence::Present(found));
        let inherited = Finding::TtlInherited { zone: name(ZONE), desired: Ttl::DEFAULT.as_secs() };
        assert_eq!((plan.changes, plan.findings), (vec![Change::Replace { before, after }], vec![inherited]));
    }
}

#[test]
fn a_ttl_that_another_cluster_or_an_earlier_run_gave_first_is_not_given_again() {
    let found = ObservedDelegation { takes_first_ttl: false, ..with_ttl(None, &[(EU, &["192.0.2.53"])]) };
    let plan = planned(&wants(&["192.0.2.53"]), &Presence::Present(found));
    assert_eq!((plan.changes, plan.findings), (vec![], vec![ttl_differs("inherited from its provider")]));
}

#[test]
fn a_ttl_that_somebody_set_or_took_away_again_is_reported_and_left() {
    let own: (&str, &[&str]) = (EU, &["192.0.2.53"]);
    let desired = wants(&["192.0.2.53"]);
    let set = planned(&desired, &Presence::Present(with_ttl(Some(60), &[own])));
    assert_eq!((set.changes, set.findings), (vec![], vec![ttl_differs("60")]));

    let inherited = Presence::Present(with_ttl(None, &[own]));
    let first = planned(&desired, &inherited);
    let history = History::default().wrote(&eu(), &first.changes[0], at(0));
    let again = plan(&desired, &inherited, &history, at(1));
    assert_eq!((again.changes, again.findings), (vec![], vec![ttl_differs("inherited from its provider")]));
}

#[test]
fn a_ttl_is_not_set_for_others_nor_where_somebody_holds_the_object() {
    let own: (&str, &[&str]) = (EU, &["192.0.2.53"]);
    let desired = wants(&["192.0.2.53"]);
    let others = planned(&desired, &Presence::Present(with_ttl(None, &[own, (FOREIGN, &["203.0.113.53"])])));
    assert_eq!(
        (others.changes, others.findings[1].clone()),
        (vec![], ttl_differs("inherited from its provider"))
    );
    for obstacle in [Obstacle::Locked { by: None }, Obstacle::NsGroup { name: "dmz".into() }] {
        let mut found = with_ttl(None, &[own]);
        found.obstacles.insert(obstacle);
        let held = planned(&desired, &Presence::Present(found));
        assert_eq!((held.changes, held.skipped), (vec![], vec![]));
    }
    let withdrawn = planned(&withdraws(), &Presence::Present(with_ttl(None, &[(US, &["198.51.100.53"])])));
    assert_eq!(withdrawn.changes, []);
}

/// F-45, F-62.
#[test]
fn withdrawing_leaves_the_others_and_takes_the_zone_with_the_last() {
    let both = delegation(&[(EU, &["192.0.2.53"]), (US, &["198.51.100.53"])]);
    let (only_eu, only_us) = (delegation(&[(EU, &["192.0.2.53"])]), delegation(&[(US, &["198.51.100.53"])]));
    let foreign = delegation(&[(EU, &["192.0.2.53"]), (FOREIGN, &[])]);
    let cases = [
        (both.clone(), vec![Change::Replace { before: both, after: only_us.clone() }]),
        (only_eu.clone(), vec![Change::Delete { before: only_eu }]),
        (only_us, vec![]),
        (foreign.clone(), vec![Change::Replace { before: foreign, after: delegation(&[(FOREIGN, &[])]) }]),
    ];
    for (found, changes) in cases {
        let observed = Presence::Present(ObservedDelegation::plain(found));
        assert_eq!(planned(&withdraws(), &observed).changes, changes);
    }
    assert_eq!(planned(&withdraws(), &Presence::Absent).changes, []);
}

#[test]
fn a_foreign_address_under_our_name_is_replaced_once_and_then_left_as_a_conflict() {
    let desired = wants(&["192.0.2.53"]);
    let theirs = seen(&[(EU, &["203.0.113.9"])]);
    let first = planned(&desired, &theirs);
    assert_eq!(first.findings[0].reason(), "ForeignAddress");
    let history = History::default().wrote(&eu(), &first.changes[0], at(0));

    let again = plan(&desired, &theirs, &history.clone().seen(&eu(), &theirs, at(599)), at(599));
    assert_eq!(again.changes, []);
    let addresses = "203.0.113.9".to_owned();
    let conflict = Skip::GeoTagConflict { zone: name(ZONE), ns_name: name(EU), addresses };
    assert_eq!(again.skipped, [conflict]);
    assert_eq!(again.skipped[0].reason(), "GeoTagConflict");
}

#[test]
fn a_conflict_lasts_until_the_other_address_is_gone() {
    let desired = wants(&["192.0.2.53"]);
    let (theirs, ours) = (seen(&[(EU, &["203.0.113.9"])]), seen(&[(EU, &["192.0.2.53"])]));
    let change = planned(&desired, &theirs).changes.remove(0);
    let history = History::default().wrote(&eu(), &change, at(0)).seen(&eu(), &theirs, at(30));
    let later = history.seen(&eu(), &theirs, at(6000));
    assert_eq!(plan(&desired, &theirs, &later, at(6000)).skipped.len(), 1);
    let settled = later.seen(&eu(), &ours, at(6010));
    assert_eq!(plan(&desired, &theirs, &settled, at(6020)).changes.len(), 1);
}

#[test]
fn an_address_that_comes_back_after_ten_minutes_is_replaced_again() {
    let desired = wants(&["192.0.2.53"]);
    let theirs = seen(&[(EU, &["203.0.113.9"])]);
    let change = planned(&desired, &theirs).changes.remove(0);
    let history = History::default().wrote(&eu(), &change, at(0)).seen(&eu(), &theirs, at(600));
    assert_eq!(plan(&desired, &theirs, &history, at(600)).changes.len(), 1);
}

#[test]
fn our_own_old_address_that_another_writer_puts_back_is_no_conflict() {
    let create = planned(&wants(&["192.0.2.53"]), &Presence::Absent).changes.remove(0);
    let old = seen(&[(EU, &["192.0.2.53"])]);
    let moved = planned(&wants(&["192.0.2.54"]), &old).changes.remove(0);
    let history = History::default().wrote(&eu(), &create, at(0)).wrote(&eu(), &moved, at(10));
    let put_back = plan(&wants(&["192.0.2.54"]), &old, &history.seen(&eu(), &old, at(20)), at(20));
    assert_eq!((put_back.changes.len(), put_back.findings), (1, vec![]));
}

#[test]
fn a_change_is_settled_by_its_own_entries_even_if_others_wrote_since() {
    let before = seen(&[(US, &["198.51.100.53"])]);
    let change = planned(&wants(&["192.0.2.53"]), &before).changes.remove(0);
    let since = seen(&[(US, &["198.51.100.54"]), (EU, &["192.0.2.53"])]);
    assert!(change.shows_in(&since) && !change.shows_in(&before) && !change.shows_in(&Presence::Absent));
    assert_eq!(addresses(&["192.0.2.53"]).len(), change.added().len());
}

#[test]
fn the_text_of_a_change_is_derived_from_its_entries() {
    let theirs = seen(&[(EU, &["203.0.113.9"]), (US, &["198.51.100.53"])]);
    let change = planned(&wants(&["192.0.2.53"]), &theirs).changes.remove(0);
    assert_eq!(
        change.to_string(),
        "change delegation cloud.example.com -gslb-ns-eu-cloud.example.com=203.0.113.9 +gslb-ns-eu-cloud.example.com=192.0.2.53"
    );
    let json = serde_json::to_string(&change).unwrap();
    assert_eq!(serde_json::from_str::<Change>(&json).unwrap(), change);
}

/// What `eu` wants in an object of its own, beside these peers.
fn keeps(addresses: &[&str], peers: &[&str]) -> DesiredDelegation {
    wants(addresses).with_peers(peers.iter().map(|peer| name(peer)).collect(), [].into())
}

/// Conformance 60.
#[test]
fn an_object_of_our_own_lists_the_peers_that_dns_shows_without_their_glue() {
    let desired = keeps(&["192.0.2.53"], &[US]);
    let after = delegation(&[(EU, &["192.0.2.53"]), (US, &[])]);
    assert_eq!(planned(&desired, &Presence::Absent).changes, [Change::Create { after: after.clone() }]);
    let before = delegation(&[(EU, &["192.0.2.53"]), (ZA, &[])]);
    let plan = planned(&desired, &Presence::Present(ObservedDelegation::plain(before.clone())));
    assert_eq!(plan.changes, [Change::Replace { before, after: after.clone() }]);
    assert_eq!(planned(&desired, &Presence::Present(ObservedDelegation::plain(after))).changes, []);
}

#[test]
fn the_ttl_of_an_object_of_our_own_follows_the_settings() {
    let before = Delegation { ttl: Some(Ttl::from_secs(5).unwrap()), ..delegation(&[(EU, &["192.0.2.53"])]) };
    let plan =
        planned(&keeps(&["192.0.2.53"], &[]), &Presence::Present(ObservedDelegation::plain(before.clone())));
    assert_eq!(plan.findings, []);
    let after = delegation(&[(EU, &["192.0.2.53"])]);
    let change = Change::Replace { before: before.clone(), after: after.clone() };
    assert_eq!(plan.changes, std::slice::from_ref(&change));
    let shown = |delegation: &Delegation| {
        change.shows_in(&Presence::Present(ObservedDelegation::plain(delegation.clone())))
    };
    assert_eq!((shown(&before), shown(&after)), (false, true));
}

/// Conformance 60, 61.
#[test]
fn a_cluster_leaves_an_object_of_its_own_to_the_peers_and_deletes_it_with_the_last_one() {
    let leaves =
        |peers: &[&str]| withdraws().with_peers(peers.iter().map(|peer| name(peer)).collect(), [].into());
    let before = delegation(&[(EU, &["192.0.2.53"]), (US, &[])]);
    let after = delegation(&[(US, &[])]);
    let observed = Presence::Present(ObservedDelegation::plain(before.clone()));
    assert_eq!(
        planned(&leaves(&[US]), &observed).changes,
        [Change::Replace { before, after: after.clone() }]
    );
    assert!(!leaves(&[US]).is_withdrawn(Some(&after)));
    let observed = Presence::Present(ObservedDelegation::plain(after.clone()));
    assert_eq!(planned(&leaves(&[]), &observed).changes, [Change::Delete { before: after }]);
    assert!(leaves(&[]).is_withdrawn(None));
    assert_eq!(planned(&leaves(&[US]), &Presence::Absent).changes, []);
}

/// F-95.
#[test]
fn what_a_cluster_that_left_keeps_for_its_peers_follows_them() {
    let leaves = withdraws().with_peers([name(US)].into(), [].into());
    let (before, after) = (delegation(&[(US, &[]), (ZA, &[])]), delegation(&[(US, &[])]));
    let observed = Presence::Present(ObservedDelegation::plain(before.clone()));
    assert_eq!(planned(&leaves, &observed).changes, [Change::Replace { before, after }]);
}

#[test]
fn a_name_that_no_rule_explains_stays_in_an_object_of_our_own_too() {
    let desired = keeps(&["192.0.2.53"], &[]);
    let observed = seen(&[(EU, &["192.0.2.53"]), (FOREIGN, &[])]);
    let plan = planned(&desired, &observed);
    assert_eq!((plan.changes, plan.findings[0].reason()), (vec![], "ForeignServers"));
}

#[test]
fn a_foreign_name_keeps_no_cluster_in_an_object_of_its_own_and_is_named() {
    let leaves = withdraws().with_peers([].into(), [].into());
    let (before, after) =
        (delegation(&[(EU, &["192.0.2.53"]), (US, &[]), (FOREIGN, &[])]), delegation(&[(FOREIGN, &[])]));
    let plan = planned(&leaves, &Presence::Present(ObservedDelegation::plain(before.clone())));
    let finding = Finding::ForeignServers { zone: name(ZONE), names: FOREIGN.to_owned() };
    assert_eq!(
        (plan.changes, plan.findings),
        (vec![Change::Replace { before: before.clone(), after: after.clone() }], vec![finding])
    );
    let held = |entries: &[(&str, &[&str])]| !leaves.is_withdrawn(Some(&delegation(entries)));
    assert_eq!((held(&[(US, &[]), (FOREIGN, &[])]), held(&[(FOREIGN, &[])])), (true, false));
}

/// A restart knows nothing of a peer before its first look-up.
#[test]
fn a_peer_of_whom_nothing_is_known_stays_where_it_stands_and_is_not_added() {
    let leaves = withdraws().with_peers([].into(), [name(US), name(ZA)].into());
    let before = delegation(&[(EU, &["192.0.2.53"]), (US, &[])]);
    let after = delegation(&[(US, &[])]);
    let observed = Presence::Present(ObservedDelegation::plain(before.clone()));
    assert_eq!(planned(&leaves, &observed).changes, [Change::Replace { before, after: after.clone() }]);
    let observed = Presence::Present(ObservedDelegation::plain(after));
    assert_eq!(planned(&leaves, &observed).changes, []);
}
