use gslb_core::change::Change;
use gslb_core::delegation::{Delegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::{Limits, Refusal};
use gslb_core::name::GeoTag;
use gslb_core::plan::{Plan, plan};
use gslb_core::ttl::Ttl;

use crate::given::{EU, FOREIGN, US, ZA, ZONE, at, delegation, eu, name, wants};

fn limits() -> Limits {
    Limits::for_zones(vec![eu()])
}

fn of(changes: Vec<Change>) -> Plan {
    Plan { zone: name(ZONE), changes, skipped: vec![], findings: vec![], claims: vec![] }
}

fn refused(change: Change) -> &'static str {
    of(vec![change]).approve(&limits()).unwrap_err().reason()
}

#[test]
fn what_plan_makes_is_approved_unchanged() {
    let plan = plan(&wants(&["192.0.2.53"]), &Presence::Absent, &History::default(), at(0));
    let changes = plan.changes.clone();
    let approved = plan.approve(&limits()).unwrap();
    assert_eq!(approved.changes().iter().map(|c| c.change().clone()).collect::<Vec<_>>(), changes);
}

#[test]
fn a_change_that_touches_somebody_elses_entry_is_refused() {
    let both = delegation(&[(EU, &["192.0.2.53"]), (US, &["198.51.100.53"])]);
    let ours = delegation(&[(EU, &["192.0.2.53"])]);
    let moved = delegation(&[(EU, &["192.0.2.53"]), (US, &["198.51.100.99"])]);
    let foreign = delegation(&[(EU, &["192.0.2.53"]), (FOREIGN, &[])]);
    for change in [
        Change::Replace { before: both.clone(), after: ours.clone() },
        Change::Replace { before: both.clone(), after: moved },
        Change::Replace { before: ours, after: foreign.clone() },
        Change::Create { after: both.clone() },
        Change::Delete { before: both },
        Change::Delete { before: foreign },
    ] {
        assert_eq!(refused(change), "NotOurs");
    }
}

#[test]
fn the_entry_of_an_evicted_cluster_may_go_as_a_whole_while_ours_stays() {
    let (ours, us): (_, (&str, &[&str])) =
        ((EU, ["192.0.2.53"].as_slice()), (US, &["198.51.100.53", "198.51.100.54"]));
    let za: (&str, &[&str]) = (ZA, &["203.0.113.53"]);
    let refusal = |before: &[_], after: &[_]| {
        let limits = limits().evicting([GeoTag::parse("us").unwrap()].into());
        let change = Change::Replace { before: delegation(before), after: delegation(after) };
        of(vec![change]).approve(&limits).err().map(|refusal| refusal.reason())
    };
    assert_eq!(refusal(&[ours, us, za], &[ours, za]), None);
    assert_eq!(refusal(&[us, za], &[ours, za]), None, "with our own entry it may come");
    assert_eq!(refusal(&[ours, us, za], &[ours, us]), Some("NotOurs"), "somebody else");
    assert_eq!(refusal(&[ours, us], &[ours, (US, &["198.51.100.53"])]), Some("NotOurs"), "a part");
    assert_eq!(refusal(&[ours, us, za], &[za]), Some("NotOurs"), "and we leave too");
    let others = [za, (FOREIGN, &[]), ("gslb-ns-us-cloud.example.com", us.1)];
    assert_eq!(refusal(&[&others[..], &[ours]].concat(), &[ours, za, others[1]]), None);
}

#[test]
fn a_delegation_is_never_left_without_a_name_server() {
    let ours = delegation(&[(EU, &["192.0.2.53"])]);
    assert_eq!(refused(Change::Replace { before: ours.clone(), after: delegation(&[]) }), "LastServer");
    assert_eq!(refused(Change::Replace { before: ours, after: delegation(&[(EU, &[])]) }), "LastServer");
    assert_eq!(refused(Change::Create { after: delegation(&[]) }), "LastServer");
    assert_eq!(refused(Change::Delete { before: delegation(&[]) }), "LastServer");
    let peers_only = of(vec![Change::Create { after: delegation(&[(US, &[])]) }]);
    assert_eq!(peers_only.approve(&limits().of_own_object()).unwrap_err().reason(), "LastServer");
}

#[test]
fn a_zone_that_is_not_configured_and_the_parent_itself_are_refused() {
    let of_zone = |zone: &str| Delegation { zone: name(zone), ..delegation(&[(EU, &["192.0.2.53"])]) };
    assert_eq!(refused(Change::Create { after: of_zone("other.example.com") }), "OutOfScope");
    assert_eq!(refused(Change::Create { after: of_zone("example.com") }), "ParentApex");
    assert_eq!(refused(Change::Create { after: of_zone("com") }), "ParentApex");
    let (before, after) = (of_zone("other.example.com"), of_zone(ZONE));
    assert_eq!(refused(Change::Replace { before, after }), "OutOfScope");
}

#[test]
fn an_update_changes_no_ttl_that_is_set_or_not_the_fleets_alone() {
    let before = delegation(&[(US, &["198.51.100.53"])]);
    let mut after = delegation(&[(US, &["198.51.100.53"]), (EU, &["192.0.2.53"])]);
    after.ttl = Some(Ttl::from_secs(60).unwrap());
    let change = |before: &Delegation| Change::Replace { before: before.clone(), after: after.clone() };
    assert_eq!(refused(change(&before)), "TtlChange");
    let inherited = Delegation { ttl: None, ..before };
    assert!(of(vec![change(&inherited)]).approve(&limits()).is_ok());
    let foreign = delegation(&[(FOREIGN, &["203.0.113.53"]), (EU, &["192.0.2.53"])]);
    let inherited = Delegation { ttl: None, ..foreign.clone() };
    assert_eq!(refused(Change::Replace { before: inherited, after: foreign }), "TtlChange");
}

#[test]
fn counts_and_shares_are_limited() {
    let create = Change::Create { after: delegation(&[(EU, &["192.0.2.53"])]) };
    let refusal = of(vec![create; 5]).approve(&limits()).unwrap_err();
    assert_eq!(refusal, Refusal::TooManyChanges { zone: name(ZONE), changes: 5, limit: 4 });

    let four: [(&str, &[&str]); 4] =
        [(EU, &["192.0.2.53"]), (US, &[]), (FOREIGN, &[]), ("ns2.isp.example", &[])];
    let (before, after) = (delegation(&four), delegation(&four[1..]));
    let strict = Limits { max_removed_percent: 20, ..limits() };
    let refusal = of(vec![Change::Replace { before, after }]).approve(&strict).unwrap_err();
    assert_eq!(refusal, Refusal::TooLargeShare { zone: name(ZONE), removed: 1, total: 4, limit: 20 });
}

#[test]
fn in_an_object_of_our_own_names_of_the_fleet_come_and_go_but_never_with_an_address() {
    let approves = |before: &[(&str, &[&str])], after: &[(&str, &[&str])]| {
        let change = Change::Replace { before: delegation(before), after: delegation(after) };
        let refusal = of(vec![change]).approve(&limits().of_own_object()).err();
        refusal.map(|refusal| refusal.reason())
    };
    let ours: (&str, &[&str]) = (EU, &["192.0.2.53"]);
    assert_eq!(approves(&[ours], &[ours, (US, &[])]), None);
    assert_eq!(approves(&[ours, (US, &["198.51.100.53"])], &[ours]), None);
    assert_eq!(approves(&[ours], &[ours, (US, &["198.51.100.53"])]), Some("NotOurs"));
    assert_eq!(approves(&[ours], &[ours, (FOREIGN, &[])]), Some("NotOurs"));
    assert_eq!(approves(&[ours, (FOREIGN, &[])], &[ours]), Some("NotOurs"));
}

/// Names of the fleet stand in an object of our own only while DNS shows them, so any number of them may go at once.
#[test]
fn in_an_object_of_our_own_the_peers_that_dns_lost_go_however_many_they_are() {
    let peers: Vec<String> = (1..=4).map(|n| format!("gslb-ns-c{n}-{ZONE}")).collect();
    let mut five: Vec<(&str, &[&str])> = vec![(EU, &["192.0.2.53"])];
    five.extend(peers.iter().map(|peer| (peer.as_str(), [].as_slice())));
    let own = limits().of_own_object();
    let (before, after) = (delegation(&five), delegation(&five[..2]));
    assert!(of(vec![Change::Replace { before, after }]).approve(&own).is_ok());
    assert!(of(vec![Change::Delete { before: delegation(&five[..4]) }]).approve(&own).is_ok());
}
