//! What an external-dns does: from the sets that are there and the sets that are wanted. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::registry::{note, note_name, owner_of};
use super::source::Wanted;
use super::zone::{Change, Key, RecordSet, Records};
use crate::dns::name::is_within;

/// `--policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Own sets that nobody wants are deleted.
    Sync,
    /// Nothing is deleted.
    UpsertOnly,
}

/// The arguments of an external-dns that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// `--txt-owner-id`
    pub owner: String,
    /// `--txt-prefix`
    pub prefix: String,
    /// `--managed-record-types`
    pub managed: BTreeSet<String>,
    /// `--policy`
    pub policy: Policy,
    /// `--domain-filter`
    pub domain: String,
}

impl Rules {
    fn manages(&self, name: &str, rtype: &str) -> bool {
        self.managed.contains(rtype) && is_within(name, &self.domain)
    }
}

/// The changes that lead from `records` to what is wanted, each with that of the note of its owner.
pub(super) fn plan(rules: &Rules, records: &Records, wanted: &[Wanted]) -> Vec<Change> {
    let mut names: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for ((name, rtype), set) in records.iter().filter(|((name, rtype), _)| rules.manages(name, rtype)) {
        let is_ours = owner_of(records, &rules.prefix, name, rtype) == Some(rules.owner.as_str());
        names.entry(name).or_default().present.insert(rtype, (set, is_ours));
    }
    for endpoint in wanted.iter().filter(|endpoint| rules.manages(&endpoint.name, &endpoint.rtype)) {
        names.entry(&endpoint.name).or_default().wanted.entry(&endpoint.rtype).or_insert(endpoint);
    }
    names.into_iter().flat_map(|(name, row)| row.changes(rules, records, name)).collect()
}

/// Everything at one name.
#[derive(Debug, Default)]
struct Row<'a> {
    /// By type: the set, and whether it is ours.
    present: BTreeMap<&'a str, (&'a RecordSet, bool)>,
    wanted: BTreeMap<&'a str, &'a Wanted>,
}

impl Row<'_> {
    fn changes(&self, rules: &Rules, records: &Records, name: &str) -> Vec<Change> {
        let all_ours = self.present.values().all(|(_, is_ours)| *is_ours);
        let mut changes = Vec::new();
        let types: BTreeSet<&str> = self.present.keys().chain(self.wanted.keys()).copied().collect();
        for rtype in types {
            let after = self.wanted.get(rtype);
            let may = match (self.present.get(rtype), after) {
                (None, Some(_)) => all_ours,
                (Some((set, is_ours)), Some(wanted)) => *is_ours && **set != set_of(wanted),
                (Some((_, is_ours)), None) => *is_ours && rules.policy == Policy::Sync,
                (None, None) => false,
            };
            if may {
                let key = (name.to_owned(), rtype.to_owned());
                changes.push(change(records, key, after.map(|wanted| set_of(wanted))));
                let key = (note_name(&rules.prefix, name, rtype), "TXT".to_owned());
                let after = after.map(|wanted| note(&rules.owner, &wanted.resource, wanted.ttl));
                changes.push(change(records, key, after));
            }
        }
        changes
    }
}

fn set_of(wanted: &Wanted) -> RecordSet {
    RecordSet { ttl: wanted.ttl, data: wanted.targets.clone() }
}

fn change(records: &Records, key: Key, after: Option<RecordSet>) -> Change {
    Change { before: records.get(&key).cloned(), key, after }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "cloud.example.com";

    fn rules(owner: &str, policy: Policy) -> Rules {
        let managed = ["A", "NS"].map(str::to_owned).into();
        Rules {
            owner: owner.to_owned(),
            prefix: "x-".to_owned(),
            managed,
            policy,
            domain: "example.com".to_owned(),
        }
    }

    fn set(data: &[&str]) -> RecordSet {
        RecordSet { ttl: 30, data: data.iter().map(|text| (*text).to_owned()).collect() }
    }

    fn wanted(data: &[&str]) -> Vec<Wanted> {
        let set = set(data);
        let (name, rtype) = (NAME.to_owned(), "NS".to_owned());
        vec![Wanted { name, rtype, ttl: set.ttl, targets: set.data, resource: "crd/a/b".to_owned() }]
    }

    /// A zone with one NS set and the note of its owner.
    fn owned_by(owner: &str, data: &[&str]) -> Records {
        let noted = ((note_name("x-", NAME, "NS"), "TXT".to_owned()), note(owner, "crd/a/b", 30));
        [((NAME.to_owned(), "NS".to_owned()), set(data)), noted].into()
    }

    /// What becomes of the NS set: nothing if it is left alone.
    fn outcome(rules: &Rules, records: &Records, wanted: &[Wanted]) -> Option<Option<RecordSet>> {
        let changes = plan(rules, records, wanted);
        changes.into_iter().find(|change| change.key.1 == "NS").map(|change| change.after)
    }

    #[test]
    fn who_may_do_what_to_a_set() {
        let (sync, upsert) = (rules("us", Policy::Sync), rules("us", Policy::UpsertOnly));
        let both = || wanted(&["a", "b"]);
        let changed = Some(Some(set(&["a", "b"])));
        let by_hand: Records = [((NAME.to_owned(), "NS".to_owned()), set(&["a"]))].into();
        let table = [
            ("a new set is made", &upsert, Records::new(), both(), changed.clone()),
            ("an own one is altered", &upsert, owned_by("us", &["a"]), both(), changed),
            ("one that is as wanted stays", &sync, owned_by("us", &["a", "b"]), both(), None),
            ("another owner's stays", &sync, owned_by("eu", &["a"]), both(), None),
            ("one without an owner stays", &sync, by_hand, both(), None),
            ("an own one that nobody wants goes", &sync, owned_by("us", &["a"]), vec![], Some(None)),
            ("but not with upsert-only", &upsert, owned_by("us", &["a"]), vec![], None),
            ("another owner's that nobody wants stays", &sync, owned_by("eu", &["a"]), vec![], None),
        ];
        for (case, rules, records, wanted, expected) in table {
            assert_eq!(outcome(rules, &records, &wanted), expected, "{case}");
        }
    }

    #[test]
    fn a_type_that_is_not_managed_and_a_name_outside_the_filter_do_not_exist() {
        let mut only_a = rules("us", Policy::Sync);
        only_a.managed = ["A".to_owned()].into();
        assert_eq!(plan(&only_a, &owned_by("us", &["a"]), &wanted(&["b"])), []);
        let elsewhere = Rules { domain: "example.net".to_owned(), ..rules("us", Policy::Sync) };
        assert_eq!(plan(&elsewhere, &owned_by("us", &["a"]), &wanted(&["b"])), []);
    }
}
