//! What holds whatever stands there and whatever is asked for.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::edit::Traced;
use crate::name::DomainName;
use crate::records::RecordClaim;

fn claim(text: &str) -> RecordClaim {
    text.parse().unwrap()
}

fn ours() -> RecordClaim {
    claim("webhook/eu")
}

fn any_set() -> impl Strategy<Value = RecordSet> {
    let name = prop::sample::select(vec!["a", "b", "c", "ns1", "ns1.a"]);
    let rtype = prop::sample::select(RecordType::ALL.to_vec());
    let picks = prop::collection::btree_set(0..3usize, 1..3);
    (name, rtype, prop::sample::select(vec![0, 30, 300]), picks).prop_map(|(name, rtype, ttl, picks)| {
        let data: &[&str] = match rtype {
            RecordType::A => &["192.0.2.1", "192.0.2.2", "192.0.2.3"],
            RecordType::Aaaa => &["2001:db8::1", "2001:db8::2", "2001:db8::3"],
            RecordType::Cname => &["ns1.example.com", "a.example.com", "x.example.net"],
            RecordType::Ns => &["ns1.example.com", "a.example.com", "ns1.a.example.com"],
            RecordType::Txt => &["one", "two", "three"],
        };
        let most = if rtype == RecordType::Cname { 1 } else { 3 };
        let data: Vec<_> = picks.into_iter().take(most).map(|pick| data[pick].to_owned()).collect();
        RecordSet::parse(&format!("{name}.example.com"), rtype.as_str(), ttl, &data).unwrap()
    })
}

fn any_claim() -> impl Strategy<Value = Option<RecordClaim>> {
    prop::sample::select(vec![None, Some(ours()), Some(ours()), Some(claim("webhook/us"))])
}

/// Whole states of a backend: an alias stands alone.
fn any_state() -> impl Strategy<Value = ObservedSets> {
    prop::collection::vec((any_set(), any_claim()), 0..8).prop_map(|sets| {
        let mut observed = ObservedSets::new();
        for (set, claim) in sets {
            let name = observed.entry(set.key.name.clone()).or_default();
            let alias = set.key.rtype == RecordType::Cname;
            if name.keys().any(|other| (*other == RecordType::Cname) || alias) {
                continue;
            }
            let at = name.entry(set.key.rtype).or_default();
            at.records.extend(
                set.data
                    .into_iter()
                    .map(|datum| (datum, ObservedRecord { ttl: set.ttl, claim: claim.clone() })),
            );
        }
        observed
    })
}

/// What external-dns asks for: sets of its own, and now and then what really stands there.
#[derive(Debug, Clone)]
struct Asked {
    creates: Vec<RecordSet>,
    deletes: Vec<RecordSet>,
    /// Which of those that stand, what with, and whether it is altered.
    real: Vec<(prop::sample::Index, RecordSet, bool)>,
}

fn any_request() -> impl Strategy<Value = Asked> {
    let real = (any::<prop::sample::Index>(), any_set(), any::<bool>());
    let all = (
        prop::collection::vec(any_set(), 0..4),
        prop::collection::vec(any_set(), 0..2),
        prop::collection::vec(real, 0..5),
    );
    all.prop_map(|(creates, deletes, real)| Asked { creates, deletes, real })
}

fn request(asked: Asked, state: &ObservedSets) -> SetRequest {
    let Asked { creates, mut deletes, real } = asked;
    let standing: Vec<RecordSet> = state
        .iter()
        .flat_map(|(name, sets)| {
            sets.iter().map(|(rtype, set)| set.to_set(SetKey::new(name.clone(), *rtype)))
        })
        .collect();
    let mut updates = Vec::new();
    for (index, wanted, updated) in real {
        let Some(before) = (!standing.is_empty()).then(|| index.get(&standing).clone()) else { continue };
        match updated {
            true => {
                updates.push((before.clone(), RecordSet { key: before.key, data: before.data, ..wanted }))
            }
            false => deletes.push(before),
        }
    }
    SetRequest { creates, updates, deletes }
}

fn policy(state: &ObservedSets) -> SetPolicy {
    let own_sets = state.values().flatten().filter(|(_, set)| set.is_claimed_by(&ours())).count();
    SetPolicy {
        domains: vec![DomainName::parse("example.com").unwrap()],
        claim: ours(),
        adopted: BTreeSet::new(),
        own_sets,
        max_deleted_percent: 100,
    }
}

/// A backend that does what it is told, and looks at nothing but the change.
fn make(approved: &ApprovedSetChange, state: &mut ObservedSets) {
    let SetKey { name, rtype } = approved.change().key().clone();
    let at = state.entry(name).or_default();
    let before = at.remove(&rtype).unwrap_or_default();
    if let Some(after) = approved.change().after() {
        let record = |datum: &Datum| {
            let kept = before.records.get(datum).filter(|record| record.ttl == after.ttl).cloned();
            kept.unwrap_or(ObservedRecord { ttl: after.ttl, claim: Some(approved.claim().clone()) })
        };
        let records = after.data.iter().map(|datum| (datum.clone(), record(datum))).collect();
        at.insert(rtype, ObservedSet { records, glue: after.glue.clone(), held: None });
    }
}

/// Everything without our claim, in words.
fn foreign(state: &ObservedSets) -> BTreeSet<String> {
    let sets = state.iter().flat_map(|(name, sets)| sets.iter().map(move |(rtype, set)| (name, rtype, set)));
    let records = sets.flat_map(|(name, rtype, set)| {
        let records = set.records.iter().filter(|(_, record)| record.claim != Some(ours()));
        records.map(move |(datum, record)| format!("{rtype} {name} {datum} {record:?}"))
    });
    records.collect()
}

proptest! {
    #[test]
    fn nothing_foreign_changes_and_a_plan_that_was_carried_out_is_empty(state in any_state(), asked in any_request()) {
        let request = request(asked, &state);
        let mut after = state.clone();
        let (wishes, _) = request.into_wishes();
        let first = plan(wishes.clone(), vec![], &state, &policy(&state));
        for (_, approved) in &first.changes {
            let key = approved.change().key();
            let name = after.get(&key.name).cloned().unwrap_or_default();
            prop_assert!(approved.is_allowed_at(&name), "{} at {name:?}", approved.change());
            make(approved, &mut after);
            prop_assert!(approved.change().shows_in(&after[&key.name]));
        }
        prop_assert_eq!(foreign(&after), foreign(&state));
        for name in after.values() {
            prop_assert!(!name.contains_key(&RecordType::Cname) || name.len() == 1);
        }
        for (_, approved) in &first.changes {
            let key = approved.change().key();
            let is_new = approved.change().before().is_none() && key.rtype == RecordType::Ns;
            let beneath = |other: &SetKey| other.name.is_within(&key.name) && other.name != key.name;
            let mut others = first.changes.iter().filter(|(_, other)| other.change().after().is_some());
            prop_assert!(!is_new || !others.any(|(_, other)| beneath(other.change().key())));
        }
        let again = plan(wishes, vec![], &after, &policy(&state));
        prop_assert_eq!(again.changes, []);
    }

    #[test]
    fn each_set_is_made_refused_or_as_wanted(state in any_state(), asked in any_request()) {
        let (wishes, _) = request(asked, &state).into_wishes();
        let count = wishes.len();
        let plan = plan(wishes, vec![], &state, &policy(&state));
        prop_assert_eq!(plan.changes.len() + plan.refusals.len() + plan.as_wanted, count);
    }
}
