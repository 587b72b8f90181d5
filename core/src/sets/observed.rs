//! What stands at a name, and whose it is.

use std::collections::{BTreeMap, BTreeSet};

use super::record_set::{Datum, Glue, RecordSet, SetKey};
use super::rtype::RecordType;
use crate::name::DomainName;
use crate::records::RecordClaim;
use crate::ttl::Ttl;

/// One record as the backend has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedRecord {
    /// `None`: what the zone passes down.
    pub ttl: Option<Ttl>,
    /// `None`: nobody's that could be read, so it is foreign.
    pub claim: Option<RecordClaim>,
}

/// All records of one name and type as the backend has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedSet {
    /// By what they say; never empty.
    pub records: BTreeMap<Datum, ObservedRecord>,
    /// Of NS only.
    pub glue: Glue,
    /// Why nobody may change it, whoever's it is: it is locked, or its content stands elsewhere.
    pub held: Option<String>,
}

/// All sets of one name.
pub type ObservedName = BTreeMap<RecordType, ObservedSet>;

/// All names that have any: of a complete read, or of a read of some names.
pub type ObservedSets = BTreeMap<DomainName, ObservedName>;

impl ObservedSet {
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

    /// Whether each record has this claim.
    pub fn is_claimed_by(&self, claim: &RecordClaim) -> bool {
        self.records.values().all(|record| record.claim.as_ref() == Some(claim))
    }

    /// Whether no record has a claim.
    pub fn is_unclaimed(&self) -> bool {
        self.records.values().all(|record| record.claim.is_none())
    }
}
