//! One edit of one record: data that can be compared, stored, reviewed and replayed.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::record::{HostRecord, ObservedHost};
use crate::change::{Traced, content_id};
use crate::name::DomainName;

/// One edit of one record. `before` is what was observed, so that a provider can refuse a stale edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum RecordChange {
    /// There is no record with that address; make this.
    Create {
        /// The whole new record.
        after: HostRecord,
    },
    /// The record is `before`; make it `after`: another TTL or another challenge.
    Replace {
        /// As observed.
        before: HostRecord,
        /// Of the same host, address and claim.
        after: HostRecord,
    },
    /// The record is `before`; remove it.
    Delete {
        /// As observed.
        before: HostRecord,
        /// Addresses of the host that answer in its place: one of them at least must still do so when it goes.
        /// Empty: it goes whatever stands beside it.
        instead: BTreeSet<IpAddr>,
    },
}

/// The host is no longer what the change was made for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the records of {host} changed since they were observed")]
pub struct StaleRecord {
    /// The host.
    pub host: DomainName,
}

impl RecordChange {
    /// `Create`, `Replace` or `Delete`: closed set for metrics and the change log.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "Create",
            Self::Replace { .. } => "Replace",
            Self::Delete { .. } => "Delete",
        }
    }

    /// Name of this change by its content.
    pub fn id(&self) -> String {
        content_id(self)
    }

    /// The record that it is about, as it was or, where nothing was, as it becomes.
    pub fn record(&self) -> &HostRecord {
        match self {
            Self::Create { after } => after,
            Self::Replace { before, .. } | Self::Delete { before, .. } => before,
        }
    }

    /// The record's owner name.
    pub fn host(&self) -> &DomainName {
        &self.record().host
    }

    /// What was observed.
    pub fn before(&self) -> Option<&HostRecord> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { before, .. } | Self::Delete { before, .. } => Some(before),
        }
    }

    /// What is to be written.
    pub fn after(&self) -> Option<&HostRecord> {
        match self {
            Self::Create { after } | Self::Replace { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }

    /// The host after the change, as every provider must leave it.
    ///
    /// # Errors
    /// The host is not as the change was planned for. Deleting what is absent is done.
    pub fn apply_to(&self, observed: &ObservedHost) -> Result<ObservedHost, StaleRecord> {
        let address = self.record().address;
        let gone = matches!(self, Self::Delete { .. }) && !observed.records.contains_key(&address);
        if !gone && !self.matches(observed) {
            return Err(StaleRecord { host: self.host().clone() });
        }
        let mut host = observed.clone();
        match self.after() {
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
        match self {
            Self::Create { .. } => found.is_none() && observed.obstacles.is_empty(),
            Self::Replace { before, .. } => found == Some(before),
            Self::Delete { before, instead } => {
                found == Some(before) && (instead.is_empty() || instead.iter().any(answers))
            }
        }
    }

    /// Whether the host shows this change, also if others have changed something else since.
    fn shows_in(&self, observed: &ObservedHost) -> bool {
        let found = observed.records.get(&self.record().address);
        match self {
            Self::Create { after } => found.is_some_and(|found| found.claim == after.claim),
            Self::Replace { after, .. } => found.is_some_and(|found| {
                (&found.claim, found.ttl, &found.challenge) == (&after.claim, after.ttl, &after.challenge)
            }),
            Self::Delete { .. } => found.is_none(),
        }
    }
}

impl fmt::Display for RecordChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostRecord { host, address, claim, .. } = self.record();
        let verb = match self {
            Self::Create { .. } => "create",
            Self::Replace { .. } => "change",
            Self::Delete { .. } => "delete",
        };
        write!(f, "{verb} {} record {host} {address}", self.record().rtype())?;
        match claim {
            Some(claim) => write!(f, " of {claim}"),
            None => Ok(()),
        }
    }
}
