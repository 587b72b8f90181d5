//! What is remembered of one place of a zone between passes: when the provider and the parent were last asked, and what
//! came of it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use gslb_core::beneath::Adoption;
use gslb_core::change::Change;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::delegation_proof::DelegationProof;
use gslb_core::doubling::Doubling;
use gslb_core::fleet::Sighting;
use gslb_core::history::History;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::rivalry::Rivalry;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::approval::Waiting;

/// Pauses before the parent is asked again whether it serves the delegation; the period if that is shorter. No outside
/// reference.
const PROOF: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// When a change is read back (design §2.5).
const READ_BACKS: [SignedDuration; 2] = [SignedDuration::from_secs(2), SignedDuration::from_secs(10)];

/// Whom the passes ask about a place as things are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asking {
    pub(crate) provider: bool,
    pub(crate) parent: bool,
}

/// What was asked of the provider. Something else is asked at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) addresses: BTreeSet<IpAddr>,
    pub(crate) generation: Option<i64>,
    /// Who asks that the zone may hide records of its parent, if anybody does.
    pub(crate) adopts: Option<Adoption>,
    pub(crate) withdrawn: bool,
    /// Whom somebody wants taken out, as it is written.
    pub(crate) evict: Option<String>,
    /// The clusters of them that are taken out.
    pub(crate) evicted: BTreeSet<GeoTag>,
    /// Name servers of the other clusters, where the provider keeps them for this cluster.
    pub(crate) peers: BTreeSet<DomainName>,
    /// Those of which nothing definite is known.
    pub(crate) undecided: BTreeSet<DomainName>,
    /// Version of the object that the provider keeps in this cluster's API: an edit of it is looked at at once.
    pub(crate) object_version: Option<String>,
}

/// How the provider stands to what we want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) in_sync: Condition,
    /// Only to be True when the provider has no entry of ours any more.
    pub(crate) withdrawn: bool,
}

impl Standing {
    pub(crate) fn new(in_sync: Condition) -> Self {
        Self { in_sync, withdrawn: false }
    }
}

/// Memory of one place of a zone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) history: History,
    pub(crate) asked: Option<Asked>,
    pub(crate) standing: Option<Standing>,
    /// When the provider is asked again although nothing changed.
    pub(crate) next_provider: Option<Timestamp>,
    /// When a change is read back, the next time first: what another writer lost or took is put right then.
    pub(crate) read_backs: Vec<Timestamp>,
    /// The change that waits for approval at the provider.
    pub(crate) waiting: Option<Waiting>,
    /// Whether the log was asked for a change that an earlier run left waiting.
    pub(crate) log_recalled: bool,
    /// Whether the provider took a change whose outcome could not be logged. The log is read again, and the
    /// change is settled then.
    pub(crate) unlogged: bool,
    /// Whether the last read at the provider found no delegation at all.
    pub(crate) absent: bool,
    /// Whether the last read that found one, or the last write, showed our name in it.
    pub(crate) listed_us: bool,
    /// Whether a write of our own took our name out of the delegation, or the whole of it away.
    pub(crate) left: bool,
    /// What our writes took from others and what is not back yet.
    pub(crate) owed: Vec<Value>,
    /// Warnings that no condition tells, as reason and sentence, until they are told.
    pub(crate) warnings: Vec<(&'static str, String)>,
    /// What was written last, and who undoes it.
    written: Option<DesiredDelegation>,
    rivalry: Rivalry,
    /// Failures of the provider in a row.
    pub(crate) failures: u32,
    pub(crate) proof: Option<DelegationProof>,
    pub(crate) next_proof: Option<Timestamp>,
    /// What the provider says of a change that it holds and does not serve.
    pub(crate) unserved: Option<String>,
    /// Proofs in a row that were not good.
    bad_proofs: u32,
    /// The other clusters that the delegation lists, as it was last read or written at the provider.
    pub(crate) listed: Option<BTreeSet<GeoTag>>,
    /// What the last read at the provider showed, until it is taken in.
    pub(crate) sighting: Option<Sighting>,
}

impl Memory {
    /// Whether the provider has to be asked now.
    pub(crate) fn provider_is_due(&self, asked: &Asked, now: Timestamp) -> bool {
        self.asked.as_ref() != Some(asked) || self.next_provider.is_some_and(|at| at <= now)
    }

    /// How far a withdrawal is; nothing before the first visit for it.
    pub(crate) fn withdrawal(&self) -> Option<&Standing> {
        self.standing.as_ref().filter(|_| self.asked.as_ref().is_some_and(|asked| asked.withdrawn))
    }

    /// Whether the parent has to be asked now.
    pub(crate) fn proof_is_due(&self, now: Timestamp) -> bool {
        self.proof.is_none() || self.next_proof.is_some_and(|at| at <= now)
    }

    /// Takes in a proof; asks again soon while it is not good, and with the provider's period when it is.
    pub(crate) fn proved(&mut self, proof: DelegationProof, period: Option<Duration>, now: Timestamp) {
        let delegated = matches!(proof, DelegationProof::Delegated { .. });
        let pause = (!delegated).then(|| PROOF.next(&mut self.bad_proofs));
        if delegated {
            self.bad_proofs = 0;
        }
        let pause = pause.into_iter().chain(period).min();
        self.next_proof = pause.and_then(|pause| now.checked_add(pause).ok());
        self.proof = Some(proof);
    }

    /// Takes in a change that was made.
    pub(crate) fn wrote(&mut self, desired: &DesiredDelegation, change: &Change, now: Timestamp) {
        self.history = std::mem::take(&mut self.history).wrote(desired.claimant(), change, now);
        self.left = takes_out(change, desired.claimant().ns_name());
        self.listed_us = !self.left;
        self.tried(desired, now);
        self.changed(now);
    }

    /// Takes in what a read at the provider found.
    pub(crate) fn saw(&mut self, observed: &Presence, ns_name: &DomainName) {
        self.absent = *observed == Presence::Absent;
        if let Some(found) = observed.delegation() {
            self.listed_us = found.servers.contains_key(ns_name);
        }
    }

    /// Takes in a write, whether it stays or not: the same one again and again is held up.
    pub(crate) fn tried(&mut self, desired: &DesiredDelegation, now: Timestamp) {
        self.rivalry.wrote(self.written.as_ref() == Some(desired), now);
        self.written = Some(desired.clone());
    }

    /// Until when nothing is written because somebody else keeps undoing it. A new wish waits for nobody.
    pub(crate) fn held_until(&self, desired: &DesiredDelegation, now: Timestamp) -> Option<Timestamp> {
        self.rivalry.held_until(now).filter(|_| self.written.as_ref() == Some(desired))
    }

    /// Until when there is another writer to speak of.
    pub(crate) fn contended_until(&self, desired: &DesiredDelegation, now: Timestamp) -> Option<Timestamp> {
        self.rivalry.lasts_until(now).filter(|_| self.written.as_ref() == Some(desired))
    }

    /// Looks for a new proof after a change, and plans to read the change back.
    fn changed(&mut self, now: Timestamp) {
        self.read_backs = READ_BACKS.iter().map(|pause| now + *pause).collect();
        self.next_proof = None;
        self.proof = None;
        self.bad_proofs = 0;
    }

    /// The condition `Delegated`.
    pub(crate) fn delegated(&self) -> Condition {
        let kind = ConditionKind::Delegated;
        let written = self.standing.as_ref().is_none_or(|standing| standing.in_sync.is_good());
        match &self.proof {
            // Waiting for a restart there would be in vain.
            Some(DelegationProof::WaitingForRestart { zone, ns_name, .. }) if !written => {
                let message = format!(
                    "{zone} is not delegated to {ns_name}: the provider does not hold that entry, see InSync"
                );
                Condition::bad(kind, "NotWritten", message)
            }
            None => Condition::unknown(kind, "NotAsked", "the parent zone has not been asked yet"),
            Some(proof) => match proof.status() {
                "True" => Condition::good(kind, proof.reason(), proof.to_string()),
                "False" => {
                    let unserved = self.unserved.iter().map(|words| format!("; {words}"));
                    let message = std::iter::once(proof.to_string()).chain(unserved).collect::<String>();
                    Condition::bad(kind, proof.reason(), message)
                }
                _ => Condition::unknown(kind, proof.reason(), proof.to_string()),
            },
        }
    }

    /// When a pass should look again by itself. A time of something that is not going to be asked says nothing.
    pub(crate) fn next_look(&self, asking: Asking) -> Option<Timestamp> {
        let provider = self.next_provider.filter(|_| asking.provider);
        let proof = self.next_proof.filter(|_| asking.parent);
        provider.into_iter().chain(proof).min()
    }
}

#[cfg(test)]
impl Memory {
    pub(super) fn failed(self, times: u32) -> Self {
        Self { failures: times, ..self }
    }
}

/// Whether a delegation does not have the name any more after this change.
pub(crate) fn takes_out(change: &Change, ns_name: &DomainName) -> bool {
    !change.after().is_some_and(|after| after.servers.contains_key(ns_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn only_what_is_going_to_be_asked_calls_for_a_look() {
        let memory = Memory { next_provider: Some(at(20)), next_proof: Some(at(30)), ..Memory::default() };
        let look = |provider, parent| memory.next_look(Asking { provider, parent });
        assert_eq!([look(true, true), look(true, false)], [Some(at(20)), Some(at(20))]);
        assert_eq!([look(false, true), look(false, false)], [Some(at(30)), None]);
    }

    #[test]
    fn a_delegation_that_is_not_served_is_asked_for_soon_and_never_less_often_than_the_period_says() {
        let mut memory = Memory::default();
        let period = Some(Duration::from_secs(5));
        let name = |text| DomainName::parse(text).unwrap();
        let (zone, parent) = (name("cloud.example.com"), name("example.com"));
        let proof = |delegated| match delegated {
            true => DelegationProof::Delegated {
                zone: zone.clone(),
                parent: parent.clone(),
                ns_name: name("gslb-ns-eu-cloud.example.com"),
            },
            false => DelegationProof::NoParentServers { zone: zone.clone(), parent: parent.clone() },
        };
        for next in [1, 2, 4, 5, 5] {
            memory.proved(proof(false), period, at(0));
            assert_eq!(memory.next_proof, Some(at(next)));
        }
        memory.proved(proof(true), period, at(0));
        assert_eq!(memory.next_proof, Some(at(5)));
        memory.proved(proof(true), None, at(0));
        assert_eq!(memory.next_proof, None);
    }
}
