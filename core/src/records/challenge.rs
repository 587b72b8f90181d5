//! Since when our own challenges stand, and how often they were refuted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;

use super::change::RecordChange;
use super::record::{Challenge, HostRecord, ZoneRecords};
use crate::doubling::Doubling;
use crate::name::{DomainName, GeoTag};

/// Pauses before a cluster that has refuted a challenge is challenged again. The first is short, so that one that dies
/// just then is not mourned for long; a link between two living clusters that stays cut costs a few writes an hour. No
/// outside reference.
const REFUTED: Doubling = Doubling { first: Duration::from_secs(60), longest: Duration::from_secs(600) };

/// What this process saw of its challenges, by record.
///
/// The time in a challenge is not trusted for its age: only reads of this process count, so a restart begins anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenges(BTreeMap<(DomainName, IpAddr), Course>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Course {
    standing: Option<(Challenge, Timestamp)>,
    refuted: u32,
    not_before: Option<Timestamp>,
}

impl Challenges {
    /// Takes in a complete read of a zone, which began at `now`.
    #[must_use]
    pub fn seen(mut self, own: &GeoTag, records: &ZoneRecords, now: Timestamp) -> Self {
        let found = |(host, address): &(DomainName, IpAddr)| records.get(host)?.records.get(address);
        self.0.retain(|place, course| {
            let Some(record) = found(place) else { return false };
            if course
                .standing
                .as_ref()
                .is_some_and(|(standing, _)| record.challenge.as_ref() != Some(standing))
            {
                course.standing = None;
                course.not_before = now.checked_add(REFUTED.next(&mut course.refuted)).ok();
            }
            true
        });
        for record in records.values().flat_map(|host| host.records.values()) {
            self.stands(own, record, now);
        }
        self
    }

    /// Takes in a change that was made: a challenge may be refuted before it is ever read.
    #[must_use]
    pub fn wrote(mut self, own: &GeoTag, change: &RecordChange, now: Timestamp) -> Self {
        if let Some(after) = change.edit.after() {
            self.stands(own, after, now);
        }
        self
    }

    fn stands(&mut self, own: &GeoTag, record: &HostRecord, now: Timestamp) {
        if let Some(challenge) = record.challenge.as_ref().filter(|challenge| challenge.by == *own) {
            let fresh = || Course { standing: None, refuted: 0, not_before: None };
            let course = self.0.entry(place(record)).or_insert_with(fresh);
            course.standing.get_or_insert_with(|| (challenge.clone(), now));
        }
    }

    /// Since when the challenge that stands at a record was seen there without a refutation; nothing if it is not ours
    /// or was not seen yet.
    pub fn standing_since(&self, record: &HostRecord) -> Option<Timestamp> {
        let (challenge, since) = self.0.get(&place(record))?.standing.as_ref()?;
        (record.challenge.as_ref() == Some(challenge)).then_some(*since)
    }

    /// Before when a record is not to be challenged again, because its owner refuted the last one.
    pub fn not_before(&self, record: &HostRecord) -> Option<Timestamp> {
        self.0.get(&place(record))?.not_before
    }
}

fn place(record: &HostRecord) -> (DomainName, IpAddr) {
    (record.host.clone(), record.address)
}
