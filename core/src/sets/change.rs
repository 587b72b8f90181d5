//! One edit to one set of records.

use std::fmt;

use super::observed::{ObservedName, ObservedRecord, ObservedSet};
use super::record_set::{Datum, RecordSet, SetKey};
use super::rtype::RecordType;
use crate::edit::{Edit, Traced};
use crate::records::RecordClaim;

/// One edit to one set.
pub type SetChange = Edit<RecordSet>;

impl SetChange {
    /// The set that it is about.
    pub fn key(&self) -> &SetKey {
        &self.subject().key
    }

    fn found<'a>(&self, observed: &'a ObservedName) -> Option<&'a ObservedSet> {
        observed.get(&self.key().rtype)
    }
}

impl Traced for SetChange {
    type Observed = ObservedName;

    /// Whether the set still is what the change was planned for.
    fn matches(&self, observed: &ObservedName) -> bool {
        match (self.before(), self.found(observed)) {
            (None, None) => true,
            (Some(before), Some(found)) => found.data() == before.data && found.ttl() == before.ttl,
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    fn shows_in(&self, observed: &ObservedName) -> bool {
        match (self.after(), self.found(observed)) {
            (None, None) => true,
            (Some(after), Some(found)) => found.is(after),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl fmt::Display for SetChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb(), self.key())
    }
}

/// A change that may be made. Only [`plan`](fn@super::plan::plan) makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedSetChange {
    change: SetChange,
    claim: RecordClaim,
    adopts: bool,
}

impl ApprovedSetChange {
    /// `adopts`: records that nobody claims count as ours.
    pub(super) fn new(change: SetChange, claim: RecordClaim, adopts: bool) -> Self {
        Self { change, claim, adopts }
    }

    /// The change.
    pub fn change(&self) -> &SetChange {
        &self.change
    }

    /// The claim that each record gets which it makes or alters.
    pub fn claim(&self) -> &RecordClaim {
        &self.claim
    }

    /// Whether a record may be altered or removed by it.
    pub fn may_touch(&self, record: &ObservedRecord) -> bool {
        match &record.claim {
            Some(claim) => *claim == self.claim,
            None => self.adopts,
        }
    }

    /// Whether nothing at the name forbids it any more than when it was planned: the set is as it was, what it alters or
    /// removes is ours, and no alias stands beside other records (RFC 1034 §3.6.2).
    pub fn is_allowed_at(&self, observed: &ObservedName) -> bool {
        let key = self.change.key();
        let beside = |rtype: &RecordType| *rtype != key.rtype;
        let excluded = self.change.after().is_some()
            && match key.rtype {
                RecordType::Cname => observed.keys().any(beside),
                RecordType::A | RecordType::Aaaa | RecordType::Ns | RecordType::Txt => {
                    observed.contains_key(&RecordType::Cname)
                }
            };
        let stays = |datum: &Datum, record: &ObservedRecord| {
            let after = self.change.after();
            after.is_some_and(|after| after.data.contains(datum) && record.ttl == after.ttl)
        };
        let found = self.change.found(observed);
        let ours = found.is_none_or(|found| {
            found.held.is_none()
                && found.records.iter().all(|(datum, record)| stays(datum, record) || self.may_touch(record))
        });
        self.change.matches(observed) && ours && !excluded
    }
}
