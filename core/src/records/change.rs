//! One edit of one record.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::record::{HostRecord, ObservedHost};
use crate::edit::{Edit, Traced, content_id};
use crate::name::DomainName;

/// One edit of one record. One that replaces gives it another TTL or another challenge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordChange {
    /// The edit.
    pub edit: Edit<HostRecord>,
    /// Where the record is deleted: addresses of the host that answer in its place, of which one at least must still do
    /// so when it goes. Empty: it goes whatever stands beside it.
    pub instead: BTreeSet<IpAddr>,
}

/// The host is no longer what the change was made for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the records of {host} changed since they were observed")]
pub struct StaleRecord {
    /// The host.
    pub host: DomainName,
}

impl RecordChange {
    /// A record for an address that has none.
    pub fn create(after: HostRecord) -> Self {
        Self { edit: Edit::Create { after }, instead: BTreeSet::new() }
    }

    /// The same record with another TTL or challenge.
    pub fn replace(before: HostRecord, after: HostRecord) -> Self {
        Self { edit: Edit::Replace { before, after }, instead: BTreeSet::new() }
    }

    /// No record.
    pub fn delete(before: HostRecord, instead: BTreeSet<IpAddr>) -> Self {
        Self { edit: Edit::Delete { before }, instead }
    }

    /// Name of this change by its content.
    pub fn id(&self) -> String {
        content_id(self)
    }

    /// The record that it is about, as it was or, where nothing was, as it becomes.
    pub fn record(&self) -> &HostRecord {
        self.edit.subject()
    }

    /// The record's owner name.
    pub fn host(&self) -> &DomainName {
        &self.record().host
    }

    /// The host after the change, as every provider must leave it.
    ///
    /// # Errors
    /// The host is not as the change was planned for. Deleting what is absent is done.
    pub fn apply_to(&self, observed: &ObservedHost) -> Result<ObservedHost, StaleRecord> {
        let address = self.record().address;
        let gone = matches!(self.edit, Edit::Delete { .. }) && !observed.records.contains_key(&address);
        if !gone && !self.matches(observed) {
            return Err(StaleRecord { host: self.host().clone() });
        }
        let mut host = observed.clone();
        match self.edit.after() {
            Some(after) => host.records.insert(address, after.clone()),
            None => host.records.remove(&address),
        };
        Ok(host)
    }
}

impl Traced for RecordChange {
    type Observed = ObservedHost;

    /// Whether the host still is what the change was planned for.
    fn matches(&self, observed: &ObservedHost) -> bool {
        let found = observed.records.get(&self.record().address);
        let answers = |address: &IpAddr| observed.records.get(address).is_some_and(|record| !record.disabled);
        match &self.edit {
            Edit::Create { .. } => found.is_none() && observed.obstacles.is_empty(),
            Edit::Replace { before, .. } => found == Some(before),
            Edit::Delete { before } => {
                found == Some(before) && (self.instead.is_empty() || self.instead.iter().any(answers))
            }
        }
    }

    /// Whether the host shows this change, also if others have changed something else since.
    fn shows_in(&self, observed: &ObservedHost) -> bool {
        let found = observed.records.get(&self.record().address);
        match &self.edit {
            Edit::Create { after } => found.is_some_and(|found| found.claim == after.claim),
            Edit::Replace { after, .. } => found.is_some_and(|found| {
                (&found.claim, found.ttl, &found.challenge) == (&after.claim, after.ttl, &after.challenge)
            }),
            Edit::Delete { .. } => found.is_none(),
        }
    }
}

impl fmt::Display for RecordChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostRecord { host, address, claim, .. } = self.record();
        let verb = self.edit.verb();
        write!(f, "{verb} {} record {host} {address}", self.record().rtype())?;
        match claim {
            Some(claim) => write!(f, " of {claim}"),
            None => Ok(()),
        }
    }
}
