//! Laws of records mode, over hosts, fleets and histories at random.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::changelog::Action;
use gslb_core::edit::Traced;
use gslb_core::peer::ToldState;
use gslb_core::records::{
    Challenges, DesiredHost, Evidence, HostRecord, HostWish, ObservedHost, RecordChange,
};
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::given::{answered, at, challenged, knows, observed, record, round, saw, tag, wish, zone};

const TAGS: [&str; 4] = ["eu", "jp", "us", "za"];
const HOLDERS: [&str; 6] = ["eu", "jp", "us", "za", "", "other.example.com/eu"];

fn address(number: usize) -> String {
    format!("192.0.2.{}", number + 1)
}

prop_compose! {
    fn any_record(number: usize)(
        holder in 0..HOLDERS.len(),
        by in prop::option::of(0..TAGS.len()),
        disabled in prop::bool::weighted(0.1),
    ) -> HostRecord {
        let found = HostRecord { disabled, ..record(HOLDERS[holder], &address(number)) };
        match by {
            Some(by) if found.claim.is_some() => challenged(found, TAGS[by], 10),
            _ => found,
        }
    }
}

fn any_host() -> impl Strategy<Value = ObservedHost> {
    let records = (0..6).map(|number| prop::option::weighted(0.6, any_record(number))).collect::<Vec<_>>();
    records.prop_map(|records| observed(&records.into_iter().flatten().collect::<Vec<_>>()))
}

fn any_evidence() -> impl Strategy<Value = Evidence> {
    let peers = prop::collection::btree_map(1..TAGS.len(), (0..6usize, -200i64..0), 0..4);
    (peers, prop::bool::weighted(0.8), prop::bool::weighted(0.2)).prop_map(|(peers, able, isolated)| {
        let peers: Vec<_> = peers
            .into_iter()
            .map(|(peer, (state, since))| (TAGS[peer], ToldState::ALL[state], since))
            .collect();
        Evidence { able, isolated, ..knows(&peers) }
    })
}

/// Of cluster eu. Its own addresses are the first two.
fn any_wish() -> impl Strategy<Value = DesiredHost> {
    prop_oneof![
        1 => Just(wish("eu", HostWish::Down)),
        1 => Just(wish("eu", HostWish::Unsure)),
        4 => (prop::collection::btree_set(0..TAGS.len(), 1..4), 1usize..3).prop_map(|(sites, count)| {
            let sites: Vec<&str> = sites.into_iter().map(|site| TAGS[site]).collect();
            let own: Vec<String> = (0..count).filter(|_| sites.contains(&"eu")).map(address).collect();
            answered("eu", &sites, &own.iter().map(String::as_str).collect::<Vec<_>>())
        }),
    ]
}

fn apply(host: &ObservedHost, changes: &[&RecordChange]) -> ObservedHost {
    changes.iter().fold(host.clone(), |host, change| change.apply_to(&host).unwrap())
}

proptest! {
    /// A second round only makes our record where a peer's with our own address went in the first.
    #[test]
    fn every_plan_is_approved_and_once_all_is_made_nothing_is_left_to_do(
        desired in any_wish(), host in any_host(), evidence in any_evidence(), seen in -100i64..0,
    ) {
        let mut challenges = saw("eu", &host, &[seen]);
        let mut host = host;
        for _ in 0..2 {
            let approved = round(&desired, &host, &evidence, &challenges, 0).unwrap();
            let changes: Vec<_> = approved.changes().iter().map(|change| change.change()).collect();
            host = apply(&host, &changes);
            for change in changes {
                prop_assert!(change.shows_in(&host));
            }
            challenges = challenges.seen(&tag("eu"), &zone(&host), at(0));
        }
        let again = round(&desired, &host, &evidence, &challenges, 0).unwrap();
        prop_assert_eq!(again.changes(), []);
    }

    #[test]
    fn no_record_of_a_stranger_changes_and_of_a_peer_only_what_the_reaping_rule_has(
        desired in any_wish(), host in any_host(), evidence in any_evidence(), seen in -100i64..0,
    ) {
        let approved = round(&desired, &host, &evidence, &saw("eu", &host, &[seen]), 0).unwrap();
        for change in approved.changes() {
            let holder = change.change().record().claim.as_ref();
            let holder = holder.filter(|claim| claim.fleet.as_str() == "cloud.example.com").expect("of the fleet");
            if holder.tag.as_str() != "eu" {
                let peer = evidence.peers[&holder.tag];
                prop_assert!(matches!(peer.state, ToldState::Lost | ToldState::NoTargets), "{peer:?}");
                prop_assert!(evidence.able && !evidence.isolated, "judged by one that is cut off or down");
                prop_assert!(evidence.is_lowest_living(&tag("eu")), "judged by another than the lowest");
            }
        }
    }

    #[test]
    fn whatever_comes_comes_before_anything_goes_and_something_is_left(
        desired in any_wish(), host in any_host(), evidence in any_evidence(), seen in -100i64..0,
    ) {
        let approved = round(&desired, &host, &evidence, &saw("eu", &host, &[seen]), 0).unwrap();
        let kinds: Vec<_> = approved.changes().iter().map(|change| change.change().edit.action()).collect();
        let first_gone = kinds.iter().position(|kind| *kind == Action::Delete).unwrap_or(kinds.len());
        prop_assert!(!kinds[first_gone..].contains(&Action::Create), "{kinds:?}");
        let fleet = desired.claim.fleet.clone();
        let mut now = host;
        for change in approved.changes() {
            let answered = now.answering(&fleet).count();
            now = change.change().apply_to(&now).unwrap();
            prop_assert!(answered == 0 || now.answering(&fleet).count() > 0, "nothing answers any more");
        }
    }

    /// Clusters read, decide and write in any order, each on what it read last: the host is never without a record.
    #[test]
    fn a_fleet_that_works_at_the_same_time_never_empties_a_host(
        steps in prop::collection::vec((0..TAGS.len(), any::<bool>(), prop::collection::btree_set(0..TAGS.len(), 0..4)), 1..60),
    ) {
        let mut host = observed(&[record("eu", &address(0))]);
        let fleet = crate::given::claim("eu").fleet;
        let mut read: BTreeMap<usize, ObservedHost> = BTreeMap::new();
        for (cluster, reads, sites) in steps {
            if reads || !read.contains_key(&cluster) {
                read.insert(cluster, host.clone());
                continue;
            }
            let seen = &read[&cluster];
            let sites: BTreeSet<&str> = sites.iter().map(|site| TAGS[*site]).collect();
            let own = TAGS[cluster];
            let own_address = address(cluster);
            let desired = match sites.len() {
                0 => wish(own, HostWish::Down),
                _ => {
                    let addresses: &[&str] = if sites.contains(own) { &[&own_address] } else { &[] };
                    answered(own, &sites.into_iter().collect::<Vec<_>>(), addresses)
                }
            };
            let peers: Vec<_> =
                TAGS.iter().filter(|tag| **tag != own).map(|tag| (*tag, ToldState::NoTargets, -100)).collect();
            let evidence = Evidence { interval: SignedDuration::from_secs(30), ..knows(&peers) };
            let approved = round(&desired, seen, &evidence, &Challenges::default(), 0).unwrap();
            for change in approved.changes() {
                // Stale ones are refused, as by a provider.
                if let Ok(after) = change.change().apply_to(&host) {
                    host = after;
                }
                prop_assert!(host.answering(&fleet).count() > 0);
            }
        }
    }
}
