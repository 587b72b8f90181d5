//! What stands at a name, and whose it is.

use std::collections::{BTreeMap, BTreeSet};

use super::record_set::{Datum, Glue, RecordSet, SetKey};
use super::rtype::RecordType;
use crate::name::DomainName;
use crate::records::RecordClaim;
use crate::ttl::Ttl;

/// One record as the backend has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObservedRecord {
    /// `None`: what the zone passes down.
    pub ttl: Option<Ttl>,
    /// `None`: nobody's that could be read, so it is foreign.
    pub claim: Option<RecordClaim>,
}

/// All records of one name and type as the backend has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedSet {
    /// By what they say. Empty only in a set that is held, because none of them can be read or is in force.
    pub records: BTreeMap<Datum, ObservedRecord>,
    /// Of NS only.
    pub glue: Glue,
    /// Why nobody may change it, whoever's it is: it is locked or disabled, its content stands elsewhere, or it cannot be
    /// told whose it is.
    pub held: Option<String>,
}

/// All sets of one name.
pub type ObservedName = BTreeMap<RecordType, ObservedSet>;

/// All names that have any: of a complete read, or of a read of some names.
pub type ObservedSets = BTreeMap<DomainName, ObservedName>;

impl ObservedSet {
    /// Takes in a record that was found. One text may stand in two objects, differently cut: unless they are alike in
    /// everything else, nobody knows which of them a change of the set is about.
    pub fn add(&mut self, datum: Datum, record: ObservedRecord) {
        let Some(known) = self.records.remove(&datum) else {
            drop(self.records.insert(datum, record));
            return;
        };
        if known != record {
            self.hold(format!(
                "it has {} twice, and not with the same claim and TTL; delete one of them by hand",
                crate::text::quoted(&datum.to_string())
            ));
        }
        // In whatever order they came.
        self.records.insert(datum, known.min(record));
    }

    /// Holds it for this reason. Of several the same one is told, in whatever order they came.
    pub fn hold(&mut self, why: String) {
        self.held = self.held.take().into_iter().chain([why]).min();
    }

    /// Adds what another search found of the same set.
    pub fn merge(&mut self, other: Self) {
        let Self { records, glue, held } = other;
        records.into_iter().for_each(|(datum, record)| self.add(datum, record));
        self.glue.extend(glue);
        held.into_iter().for_each(|why| self.hold(why));
    }

    /// The TTL of the set: that of its records or, if they differ, the shortest that one of them has of its own.
    pub fn ttl(&self) -> Option<Ttl> {
        self.records.values().filter_map(|record| record.ttl).min()
    }

    /// What its records say.
    pub fn data(&self) -> BTreeSet<Datum> {
        self.records.keys().cloned().collect()
    }

    /// Whether it is exactly this, each record with its TTL.
    pub fn is(&self, set: &RecordSet) -> bool {
        self.records.keys().eq(&set.data)
            && self.records.values().all(|record| record.ttl == set.ttl)
            && (set.glue.is_empty() || self.glue == set.glue)
    }

    /// The set without claims.
    pub fn to_set(&self, key: SetKey) -> RecordSet {
        RecordSet { key, ttl: self.ttl(), data: self.data(), glue: self.glue.clone() }
    }

    /// Whether each record has this claim, and there is one.
    pub fn is_claimed_by(&self, claim: &RecordClaim) -> bool {
        !self.records.is_empty() && self.records.values().all(|record| record.claim.as_ref() == Some(claim))
    }

    /// Whether no record has a claim.
    pub fn is_unclaimed(&self) -> bool {
        self.records.values().all(|record| record.claim.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::Text;

    #[test]
    fn a_text_that_stands_twice_is_held_unless_both_are_alike_in_whatever_order_they_come() {
        let record = |claim: Option<&str>, ttl: Option<i64>| ObservedRecord {
            claim: claim.map(|claim| claim.parse().unwrap()),
            ttl: ttl.map(|ttl| Ttl::from_secs(ttl).unwrap()),
        };
        let datum = || Datum::Text(Text::of_strings("y"));
        let (ours, nobodys) = (record(Some("webhook/eu"), None), record(None, None));
        let cases = [
            (&ours, &ours, false),
            (&ours, &nobodys, true),
            (&ours, &record(Some("webhook/us"), None), true),
            (&ours, &record(Some("webhook/eu"), Some(30)), true),
            (&nobodys, &nobodys, false),
        ];
        for (one, other, held) in cases {
            let both = |first: &ObservedRecord, second: &ObservedRecord| {
                let (mut set, mut rest) = (ObservedSet::default(), ObservedSet::default());
                set.add(datum(), first.clone());
                rest.add(datum(), second.clone());
                set.merge(rest);
                set
            };
            let set = both(one, other);
            assert_eq!(set, both(other, one));
            let why = r#"it has "y" twice, and not with the same claim and TTL; delete one of them by hand"#;
            assert_eq!(set.held.as_deref(), held.then_some(why), "{one:?} {other:?}");
            assert_eq!(set.records.len(), 1);
        }
    }

    #[test]
    fn a_set_of_which_nothing_can_be_read_is_nobodys() {
        let set = ObservedSet { held: Some("it is locked".to_owned()), ..ObservedSet::default() };
        assert!(!set.is_claimed_by(&"webhook/eu".parse().unwrap()));
    }
}
