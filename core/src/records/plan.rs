//! What to change at a host: only what is ours to write, and only if it differs. What answers is added before anything
//! goes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::Serialize;

use super::challenge::Challenges;
use super::change::RecordChange;
use super::desired::{DesiredHost, HostWish};
use super::evidence::{Evidence, Reaping};
use super::finding::RecordFinding;
use super::record::{Challenge, HostObstacle, HostRecord, ObservedHost};
use crate::edit::Edit;
use crate::name::{DomainName, GeoTag};
use crate::peer::ToldState;

/// What should change at one host, and what the user should know. Not yet approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPlan {
    /// The host.
    pub host: DomainName,
    /// In the order in which they are made.
    pub changes: Vec<PlannedChange>,
    /// What keeps the host from being as it is wanted, or should be known.
    pub findings: Vec<RecordFinding>,
    /// When the host is to be judged again although nothing changed.
    pub look_again: Option<Timestamp>,
}

/// A change and what led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedChange {
    /// The change.
    pub change: RecordChange,
    /// The sentence for the change log.
    pub why: String,
}

/// Compares what we want with what was observed. Total: every input gives a plan, and equal inputs equal plans.
///
/// `challenges` should have [`seen`](Challenges::seen) the same observation.
pub fn plan(
    desired: &DesiredHost,
    observed: &ObservedHost,
    evidence: &Evidence,
    challenges: &Challenges,
    now: Timestamp,
) -> RecordPlan {
    let planner = Planner { desired, observed, evidence, challenges, now };
    let mut plan =
        RecordPlan { host: desired.host.clone(), changes: vec![], findings: vec![], look_again: None };
    if let Some(conflict) = planner.obstacle() {
        plan.findings.push(conflict);
    } else {
        planner.add(&mut plan);
    }
    planner.tend(&mut plan);
    planner.judge_peers(&mut plan);
    planner.leave(&mut plan);
    planner.report_foreign(&mut plan);
    plan.findings.sort();
    // Whoever comes goes before whoever leaves, and what is ours before what is a peer's.
    plan.changes.sort_by_key(|planned| planner.order(&planned.change));
    plan
}

struct Planner<'a> {
    desired: &'a DesiredHost,
    observed: &'a ObservedHost,
    evidence: &'a Evidence,
    challenges: &'a Challenges,
    now: Timestamp,
}

impl<'a> Planner<'a> {
    fn own(&self) -> &'a GeoTag {
        &self.desired.claim.tag
    }

    fn fleet(&self) -> &'a DomainName {
        &self.desired.claim.fleet
    }

    fn host(&self) -> DomainName {
        self.desired.host.clone()
    }

    /// The addresses that this cluster wants here.
    fn wanted(&self) -> BTreeSet<IpAddr> {
        match &self.desired.wish {
            HostWish::Answered { own, .. } => own.clone(),
            HostWish::Down | HostWish::Unsure | HostWish::Withdrawn => BTreeSet::new(),
        }
    }

    fn order(&self, change: &RecordChange) -> (u8, bool, IpAddr) {
        let stage = match change.edit {
            Edit::Create { .. } => 0,
            Edit::Replace { .. } => 1,
            Edit::Delete { .. } => 2,
        };
        let peers = change.record().holder(self.fleet()) != Some(self.own());
        (stage, peers, change.record().address)
    }

    fn obstacle(&self) -> Option<RecordFinding> {
        if self.wanted().is_empty() {
            return None;
        }
        self.observed.obstacles.first().map(|obstacle| match obstacle {
            HostObstacle::Cname { target } => {
                RecordFinding::CnameConflict { host: self.host(), target: target.clone() }
            }
            HostObstacle::HostRecord => RecordFinding::HostRecordConflict { host: self.host() },
        })
    }

    /// What is wanted and not there.
    fn add(&self, plan: &mut RecordPlan) {
        let HostWish::Answered { own, ttl, .. } = &self.desired.wish else { return };
        for address in own {
            let Some(found) = self.observed.records.get(address) else {
                let after = HostRecord {
                    host: self.host(),
                    address: *address,
                    ttl: Some(*ttl),
                    claim: Some(self.desired.claim.clone()),
                    challenge: None,
                    disabled: false,
                };
                let why = format!("cluster {} answers {}", self.own(), self.desired.host);
                plan.changes.push(PlannedChange { change: RecordChange::create(after), why });
                continue;
            };
            match found.holder(self.fleet()) {
                Some(holder) if holder == self.own() => {}
                Some(holder) => {
                    let (host, holder) = (self.host(), holder.clone());
                    plan.findings.push(RecordFinding::AddressOfPeer { host, address: *address, holder });
                }
                None => {
                    let host = self.host();
                    plan.findings.push(RecordFinding::AddressNotOurs { host, address: *address });
                }
            }
        }
    }

    /// Own records that stay: nobody's challenge stands at them, and their TTL is the Gslb's.
    fn tend(&self, plan: &mut RecordPlan) {
        let ttl = match &self.desired.wish {
            HostWish::Answered { ttl, .. } => Some(*ttl),
            HostWish::Down | HostWish::Unsure | HostWish::Withdrawn => None,
        };
        let leaving = self.leaving(plan);
        for record in self.own_records().filter(|record| !leaving.contains(&record.address)) {
            let after = HostRecord { ttl: ttl.or(record.ttl), challenge: None, ..record.clone() };
            if after != *record {
                let why = match &record.challenge {
                    Some(challenge) => format!("cluster {} lives: {} asked", self.own(), challenge.by),
                    None => "the record has another TTL than the Gslb's dnsTtlSeconds".to_owned(),
                };
                let change = RecordChange::replace(record.clone(), after);
                plan.changes.push(PlannedChange { change, why });
            }
            if record.disabled && self.wanted().contains(&record.address) {
                let (host, address) = (self.host(), record.address);
                plan.findings.push(RecordFinding::Disabled { host, address });
            }
        }
    }

    fn own_records(&self) -> impl Iterator<Item = &'a HostRecord> {
        let (fleet, own) = (self.fleet(), self.own());
        self.observed.records.values().filter(move |record| record.holder(fleet) == Some(own))
    }

    /// Own records that are not wanted and may go, as [`Self::leave`] has it.
    fn leaving(&self, plan: &RecordPlan) -> BTreeSet<IpAddr> {
        let wanted = self.wanted();
        let unwanted =
            self.own_records().map(|record| record.address).filter(|address| !wanted.contains(address));
        match self.replacement(plan) {
            Replacement::NotNeeded => unwanted.collect(),
            Replacement::Stands(addresses) if !addresses.is_empty() => unwanted.collect(),
            Replacement::Stands(_) | Replacement::Unsure => BTreeSet::new(),
        }
    }

    /// What answers in place of own records that go.
    fn replacement(&self, plan: &RecordPlan) -> Replacement {
        match &self.desired.wish {
            HostWish::Withdrawn => Replacement::NotNeeded,
            HostWish::Unsure => Replacement::Unsure,
            HostWish::Answered { sites, .. } => Replacement::Stands(self.answered_by(sites, plan)),
            HostWish::Down => {
                // Of those that all are down, the lowest keeps its record: all see the same lowest.
                let lower = self.observed.answering(self.fleet()).filter(|(tag, _)| *tag < self.own());
                Replacement::Stands(lower.map(|(_, record)| record.address).collect())
            }
        }
    }

    /// Addresses that answer for one of these clusters, also once our own changes are made.
    fn answered_by(&self, sites: &BTreeSet<GeoTag>, plan: &RecordPlan) -> BTreeSet<IpAddr> {
        let wanted = self.wanted();
        let answering = self.observed.answering(self.fleet()).filter(|(tag, record)| {
            sites.contains(*tag) && (*tag != self.own() || wanted.contains(&record.address))
        });
        let created = plan.changes.iter().filter_map(|planned| match &planned.change.edit {
            Edit::Create { after } => Some(after.address),
            Edit::Replace { .. } | Edit::Delete { .. } => None,
        });
        answering.map(|(_, record)| record.address).chain(created).collect()
    }

    /// What is ours and not wanted.
    fn leave(&self, plan: &mut RecordPlan) {
        let leaving = self.leaving(plan);
        let wanted = self.wanted();
        let kept = self
            .own_records()
            .any(|record| !wanted.contains(&record.address) && !leaving.contains(&record.address));
        let host = self.host();
        let instead = match (&self.desired.wish, self.replacement(plan)) {
            (_, Replacement::Stands(addresses)) => addresses,
            (_, Replacement::NotNeeded | Replacement::Unsure) => BTreeSet::new(),
        };
        match &self.desired.wish {
            HostWish::Answered { sites, .. } if kept => {
                plan.findings.push(RecordFinding::WaitsForSite { host, sites: list(sites) });
            }
            HostWish::Down if kept => plan.findings.push(RecordFinding::LastRecordKept { host }),
            HostWish::Answered { .. } | HostWish::Down | HostWish::Unsure | HostWish::Withdrawn => {}
        }
        for record in self.own_records().filter(|record| leaving.contains(&record.address)) {
            let why = match &self.desired.wish {
                HostWish::Withdrawn => {
                    format!("no Gslb of cluster {} serves {} any more", self.own(), self.desired.host)
                }
                HostWish::Answered { own, .. } if !own.is_empty() => {
                    format!("cluster {} does not have that address any more", self.own())
                }
                HostWish::Answered { sites, .. } => {
                    format!(
                        "{} is answered by {}, not by cluster {}",
                        self.desired.host,
                        list(sites),
                        self.own()
                    )
                }
                HostWish::Down | HostWish::Unsure => {
                    format!("cluster {} cannot serve {}", self.own(), self.desired.host)
                }
            };
            let change = RecordChange::delete(record.clone(), instead.clone());
            plan.changes.push(PlannedChange { change, why });
        }
    }

    /// Records of clusters that are gone.
    fn judge_peers(&self, plan: &mut RecordPlan) {
        let HostWish::Answered { sites, .. } = &self.desired.wish else { return };
        let instead = self.answered_by(sites, plan);
        let mut unknown: Vec<(&GeoTag, &HostRecord)> = Vec::new();
        for record in self.observed.records.values() {
            let Some(holder) = record.holder(self.fleet()).filter(|holder| *holder != self.own()) else {
                continue;
            };
            if !self.evidence.peers.contains_key(holder) {
                unknown.push((holder, record));
                continue;
            }
            if !sites.contains(holder) {
                self.judge_peer(holder, record, &instead, plan);
            }
        }
        let holders: BTreeSet<&GeoTag> = unknown.iter().map(|(holder, _)| *holder).collect();
        for holder in holders {
            let its = unknown.iter().filter(|(other, _)| *other == holder);
            let addresses = list(&its.map(|(_, record)| record.address).collect());
            let (host, holder) = (self.host(), holder.clone());
            plan.findings.push(RecordFinding::UnknownHolder { host, holder, addresses });
        }
    }

    fn judge_peer(
        &self,
        holder: &GeoTag,
        record: &HostRecord,
        instead: &BTreeSet<IpAddr>,
        plan: &mut RecordPlan,
    ) {
        let before = record.clone();
        match self.evidence.judge(self.own(), holder, record, self.challenges, self.now) {
            Reaping::Leave => {}
            Reaping::Wait { until } => {
                plan.look_again = plan.look_again.into_iter().chain([until]).min();
            }
            Reaping::Challenge => {
                let challenge = Challenge { by: self.own().clone(), at: self.now };
                let after = HostRecord { challenge: Some(challenge), ..record.clone() };
                let why = format!(
                    "cluster {holder} {}; whether it lives is asked before its record of {} may go",
                    self.word_of(holder),
                    self.desired.host
                );
                plan.changes.push(PlannedChange { change: RecordChange::replace(before, after), why });
            }
            Reaping::Reap if instead.is_empty() => {
                let (host, holder) = (self.host(), holder.clone());
                plan.findings.push(RecordFinding::KeptForWant { host, holder });
            }
            Reaping::Reap => {
                let asked = record.challenge.as_ref().map(ToString::to_string).unwrap_or_default();
                let why = format!(
                    "cluster {holder} {} and has not answered the challenge of {asked}; {} is the lowest living cluster",
                    self.word_of(holder),
                    self.own()
                );
                let change = RecordChange::delete(before, instead.clone());
                plan.changes.push(PlannedChange { change, why });
            }
        }
    }

    /// What a cluster that is gone said last.
    fn word_of(&self, holder: &GeoTag) -> &'static str {
        match self.evidence.peers.get(holder).map(|peer| peer.state) {
            Some(ToldState::NoTargets) => "says that it has no target",
            Some(_) | None => "is silent",
        }
    }

    /// What nobody of the fleet made, our own addresses aside, which are told of already.
    fn report_foreign(&self, plan: &mut RecordPlan) {
        if self.desired.wish == HostWish::Withdrawn {
            return;
        }
        let wanted = self.wanted();
        let foreign = self
            .observed
            .records
            .values()
            .filter(|record| record.holder(self.fleet()).is_none() && !wanted.contains(&record.address));
        let foreign: BTreeSet<IpAddr> = foreign.map(|record| record.address).collect();
        if !foreign.is_empty() {
            let (host, addresses) = (self.host(), list(&foreign));
            plan.findings.push(RecordFinding::ForeignRecords { host, addresses });
        }
    }
}

enum Replacement {
    /// They go whatever stands beside them.
    NotNeeded,
    /// These addresses answer.
    Stands(BTreeSet<IpAddr>),
    /// Nothing is known, so nothing goes.
    Unsure,
}

fn list<T: ToString>(items: &BTreeSet<T>) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
