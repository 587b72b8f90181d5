//! What holds for every delegation and every wish.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use gslb_core::delegation::{Delegation, DesiredDelegation, ObservedDelegation, Obstacle, Presence, Servers};
use gslb_core::history::History;
use gslb_core::limits::Limits;
use gslb_core::plan::plan;
use gslb_core::ttl::Ttl;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use crate::given::{EU, FOREIGN, US, ZONE, at, eu, name};

fn address() -> impl Strategy<Value = IpAddr> {
    (1..9u8).prop_map(|last| IpAddr::from(Ipv4Addr::new(192, 0, 2, last)))
}

fn servers() -> impl Strategy<Value = Servers> {
    let ns_name =
        prop::sample::select(vec![EU, US, FOREIGN, "gslb-ns-za-cloud.example.com", "ns2.isp.example"]);
    btree_map(ns_name.prop_map(name), btree_set(address(), 0..3), 0..5)
}

fn obstacles() -> impl Strategy<Value = BTreeSet<Obstacle>> {
    let some = [Obstacle::Disabled, Obstacle::Locked { by: None }, Obstacle::NsGroup { name: "dmz".into() }];
    prop_oneof![3 => Just(BTreeSet::new()), 1 => btree_set(prop::sample::select(some.to_vec()), 0..3)]
}

fn presence() -> impl Strategy<Value = Presence> {
    let present = (servers(), obstacles(), prop::option::of(Just(Ttl::DEFAULT)));
    let present = present.prop_map(|(servers, obstacles, ttl)| {
        let delegation = Delegation { zone: name(ZONE), ttl, servers };
        Presence::Present(ObservedDelegation { obstacles, ..ObservedDelegation::plain(delegation) })
    });
    prop_oneof![1 => Just(Presence::Absent), 6 => present]
}

fn desired() -> impl Strategy<Value = DesiredDelegation> {
    let published = btree_set(address(), 1..4)
        .prop_map(|addresses| DesiredDelegation::published(eu(), addresses, Ttl::DEFAULT).unwrap());
    prop_oneof![3 => published, 1 => Just(DesiredDelegation::withdrawn(eu()))]
}

fn others(presence: &Presence) -> Servers {
    let mut servers = presence.delegation().map(|found| found.servers.clone()).unwrap_or_default();
    servers.remove(&name(EU));
    servers
}

fn applied(desired: &DesiredDelegation, observed: &Presence) -> Presence {
    let approved = plan(desired, observed, &History::default(), at(0));
    let approved = approved.approve(&Limits::for_zones(vec![eu()])).expect("plan keeps every limit");
    approved.changes().iter().fold(observed.clone(), |found, approved| {
        approved.change().apply_to(&found).expect("planned for this observation")
    })
}

proptest! {
    #[test]
    fn a_second_plan_is_empty(desired in desired(), observed in presence()) {
        let after = applied(&desired, &observed);
        prop_assert_eq!(plan(&desired, &after, &History::default(), at(0)).changes, vec![]);
    }

    /// Conformance 71.
    #[test]
    fn entries_of_others_are_untouched(desired in desired(), observed in presence()) {
        prop_assert_eq!(others(&applied(&desired, &observed)), others(&observed));
    }

    /// F-61.
    #[test]
    fn a_ttl_that_is_set_stays(desired in desired(), observed in presence()) {
        let ttl = |presence: &Presence| presence.delegation().and_then(|found| found.ttl);
        let (before, after) = (ttl(&observed), applied(&desired, &observed));
        prop_assert!(before.is_none() || after == Presence::Absent || ttl(&after) == before);
    }

    /// F-62.
    #[test]
    fn a_server_list_is_never_emptied(desired in desired(), observed in presence()) {
        let after = applied(&desired, &observed);
        let emptied = after.delegation().is_some_and(|found| found.servers.is_empty());
        prop_assert!(!emptied || after == observed);
    }

    #[test]
    fn input_order_is_irrelevant(entries in vec((prop::sample::select(vec![EU, US, FOREIGN]), address()), 1..8)) {
        let folded = |entries: &mut dyn Iterator<Item = &(&str, IpAddr)>| {
            let mut servers: Servers = BTreeMap::new();
            entries.for_each(|(ns, address)| { servers.entry(name(ns)).or_default().insert(*address); });
            Presence::Present(ObservedDelegation::plain(Delegation { zone: name(ZONE), ttl: None, servers }))
        };
        let desired = DesiredDelegation::published(eu(), [entries[0].1].into(), Ttl::DEFAULT).unwrap();
        let forward = plan(&desired, &folded(&mut entries.iter()), &History::default(), at(0));
        let backward = plan(&desired, &folded(&mut entries.iter().rev()), &History::default(), at(0));
        prop_assert_eq!(serde_json::to_vec(&forward).unwrap(), serde_json::to_vec(&backward).unwrap());
    }

    #[test]
    fn a_change_shows_in_what_it_leaves(desired in desired(), observed in presence()) {
        for change in plan(&desired, &observed, &History::default(), at(0)).changes {
            let after = change.apply_to(&observed).expect("planned for this observation");
            prop_assert!(change.shows_in(&after) && !change.shows_in(&observed));
        }
    }
}
