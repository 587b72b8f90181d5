//! From a plan to an approved plan: what must never happen to the records of a host, whatever the plan says.
//!
//! Nothing here trusts [`plan`](fn@super::plan::plan): each rule is checked again on the change itself.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::Serialize;

use super::challenge::Challenges;
use super::change::RecordChange;
use super::desired::{DesiredHost, HostWish};
use super::evidence::{Evidence, Reaping};
use super::finding::RecordFinding;
use super::plan::{PlannedChange, RecordPlan};
use super::record::{HostRecord, ObservedHost};
use crate::edit::{Edit, content_id};
use crate::name::DomainName;

/// Changes of one host in one plan. A host has a few addresses in each cluster, each of which comes, goes or is asked
/// for. No outside reference.
const MOST_CHANGES: usize = 64;

/// What a plan is checked against: the same observation, the same evidence, and the wish that it was made for.
#[derive(Debug, Clone, Copy)]
pub struct RecordLimits<'a> {
    /// What this cluster wants; its claim is the only one that may be written.
    pub desired: &'a DesiredHost,
    /// What stands there.
    pub observed: &'a ObservedHost,
    /// What is known of the others.
    pub evidence: &'a Evidence,
    /// Since when our challenges stand.
    pub challenges: &'a Challenges,
    /// When the plan was made.
    pub now: Timestamp,
}

/// Why a whole plan is stopped. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordRefusal {
    /// More changes than allowed.
    #[error("plan for {host} is refused: it has {changes} changes, the limit is {limit}; review it first")]
    TooManyChanges {
        /// The host.
        host: DomainName,
        /// Changes in the plan.
        changes: usize,
        /// How many may be.
        limit: usize,
    },
    /// Not a host of this zone.
    #[error("plan for {host} is refused: it is not in zone {zone}")]
    OutOfScope {
        /// The host.
        host: DomainName,
        /// The zone that may be written.
        zone: DomainName,
    },
    /// A record that this cluster may not change like this.
    #[error("plan for {host} is refused: {change}, which is not ours to do")]
    NotOurs {
        /// The host.
        host: DomainName,
        /// The change in words.
        change: String,
    },
    /// Nobody would be left.
    #[error("plan for {host} is refused: it would remove the last record of the fleet")]
    LastRecord {
        /// The host.
        host: DomainName,
    },
    /// A record that is not as the plan says.
    #[error("plan for {host} is refused: it was not made for what stands there")]
    OtherHost {
        /// The host.
        host: DomainName,
    },
}

impl RecordRefusal {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooManyChanges { .. } => "TooManyChanges",
            Self::OutOfScope { .. } => "OutOfScope",
            Self::NotOurs { .. } => "NotOurs",
            Self::LastRecord { .. } => "LastRecord",
            Self::OtherHost { .. } => "OtherHost",
        }
    }
}

/// A plan that may be carried out. Only [`RecordPlan::approve`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedRecordPlan {
    host: DomainName,
    changes: Vec<ApprovedRecordChange>,
    #[serde(skip)]
    findings: Vec<RecordFinding>,
    #[serde(skip)]
    look_again: Option<Timestamp>,
}

/// A change that may be made. Only [`RecordPlan::approve`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ApprovedRecordChange(PlannedChange);

impl ApprovedRecordChange {
    /// The change.
    pub fn change(&self) -> &RecordChange {
        &self.0.change
    }

    /// What led to it.
    pub fn why(&self) -> &str {
        &self.0.why
    }
}

impl ApprovedRecordPlan {
    /// The host.
    pub fn host(&self) -> &DomainName {
        &self.host
    }

    /// Name of this plan by its content.
    pub fn id(&self) -> String {
        content_id(self)
    }

    /// In the order in which they are made.
    pub fn changes(&self) -> &[ApprovedRecordChange] {
        &self.changes
    }

    /// What the user should know.
    pub fn findings(&self) -> &[RecordFinding] {
        &self.findings
    }

    /// When the host is to be judged again although nothing changed.
    pub fn look_again(&self) -> Option<Timestamp> {
        self.look_again
    }
}

impl RecordPlan {
    /// The only way to an [`ApprovedRecordPlan`], and so the only way to a provider.
    ///
    /// # Errors
    /// The first broken rule; then nothing of the plan is carried out.
    pub fn approve(self, limits: &RecordLimits<'_>) -> Result<ApprovedRecordPlan, RecordRefusal> {
        let Self { host, changes, findings, look_again } = self;
        if changes.len() > MOST_CHANGES {
            let (changes, limit) = (changes.len(), MOST_CHANGES);
            return Err(RecordRefusal::TooManyChanges { host, changes, limit });
        }
        let mut stands = limits.observed.clone();
        for planned in &changes {
            let change = &planned.change;
            limits.check_scope(&host, change)?;
            if !limits.is_ours_to_make(change, &stands) {
                return Err(RecordRefusal::NotOurs { host, change: change.to_string() });
            }
            stands = change.apply_to(&stands).map_err(|_| RecordRefusal::OtherHost { host: host.clone() })?;
        }
        let answers = |observed: &ObservedHost| observed.answering(limits.fleet()).next().is_some();
        if limits.desired.wish != HostWish::Withdrawn && answers(limits.observed) && !answers(&stands) {
            return Err(RecordRefusal::LastRecord { host });
        }
        let changes = changes.into_iter().map(ApprovedRecordChange).collect();
        Ok(ApprovedRecordPlan { host, changes, findings, look_again })
    }
}

impl<'a> RecordLimits<'a> {
    fn fleet(&self) -> &'a DomainName {
        &self.desired.claim.fleet
    }

    fn check_scope(&self, host: &DomainName, change: &RecordChange) -> Result<(), RecordRefusal> {
        let zone = self.fleet();
        let records = change.edit.before().into_iter().chain(change.edit.after());
        let same = records.into_iter().all(|record| record.host == self.desired.host);
        if *host == self.desired.host && same && host.is_within(zone) {
            return Ok(());
        }
        Err(RecordRefusal::OutOfScope { host: change.host().clone(), zone: zone.clone() })
    }

    fn is_ours_to_make(&self, change: &RecordChange, stands: &ObservedHost) -> bool {
        let own = Some(&self.desired.claim);
        let may = |record: &HostRecord| {
            let holder = record.holder(self.fleet())?;
            let own = &self.desired.claim.tag;
            Some(self.evidence.judge(own, holder, record, self.challenges, self.now))
        };
        match &change.edit {
            Edit::Create { after } => {
                after.claim.as_ref() == own && after.challenge.is_none() && !after.disabled
            }
            Edit::Replace { before, after } if before.claim.as_ref() == own => {
                *after == HostRecord { ttl: after.ttl, challenge: None, ..before.clone() }
            }
            Edit::Replace { before, after } => {
                let asks = after.challenge.as_ref().is_some_and(|asked| asked.by == self.desired.claim.tag);
                let only_asks = *after == HostRecord { challenge: after.challenge.clone(), ..before.clone() };
                asks && only_asks && may(before) == Some(Reaping::Challenge)
            }
            Edit::Delete { before } if before.claim.as_ref() == own => {
                self.desired.wish == HostWish::Withdrawn || self.answers(&change.instead, before, stands)
            }
            Edit::Delete { before } => {
                may(before) == Some(Reaping::Reap)
                    && !self.is_answered_by(before)
                    && self.answers(&change.instead, before, stands)
            }
        }
    }

    /// Whether one of the addresses answers for the fleet beside the record that goes.
    fn answers(&self, instead: &BTreeSet<IpAddr>, gone: &HostRecord, stands: &ObservedHost) -> bool {
        let mut answering = stands.answering(self.fleet()).map(|(_, record)| record.address);
        !instead.contains(&gone.address) && answering.any(|address| instead.contains(&address))
    }

    /// Whether the host is to be answered by the record's cluster.
    fn is_answered_by(&self, record: &HostRecord) -> bool {
        match &self.desired.wish {
            HostWish::Answered { sites, .. } => {
                record.holder(self.fleet()).is_some_and(|holder| sites.contains(holder))
            }
            HostWish::Down | HostWish::Unsure | HostWish::Withdrawn => true,
        }
    }
}
