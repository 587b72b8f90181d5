//! What is remembered of each zone between passes: when the provider and the parent were last asked, and what
//! came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{RwLock, RwLockReadGuard};

use gslb_core::change::Change;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::delegation_proof::DelegationProof;
use gslb_core::doubling::Doubling;
use gslb_core::fleet::Sighting;
use gslb_core::history::History;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::restart::Restarts;
use gslb_core::rivalry::Rivalry;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::approval::Waiting;
use super::discover::Schedule;
use crate::audit::{AuditError, ChangeLog, Pending};
use crate::controller::context::Clock;

/// Pauses before the parent is asked again whether it serves the delegation; the period if that is shorter. No outside
/// reference.
const PROOF: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// When a change is read back (design §2.5).
const READ_BACKS: [SignedDuration; 2] = [SignedDuration::from_secs(2), SignedDuration::from_secs(10)];

/// Shortest pause before a pass looks again by itself: whatever goes wrong, one zone costs ten passes a second at
/// most. No outside reference.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);

/// Whom the passes of a zone ask as things are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asking {
    pub(crate) provider: bool,
    pub(crate) parent: bool,
    /// Whether the fleet's members are looked for, which needs no address of our own.
    pub(crate) members: bool,
}

/// What was asked of the provider. Something else is asked at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) addresses: BTreeSet<IpAddr>,
    pub(crate) generation: Option<i64>,
    /// Whether the zone may hide records of its parent.
    pub(crate) adopts: bool,
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

/// Memory of one zone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    /// The object that this is about: another one of its name starts anew.
    uid: Option<String>,
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
    /// When to look again which of them are silent.
    pub(crate) next_stale: Option<Timestamp>,
    /// What the last read at the provider showed, until it is taken in.
    pub(crate) sighting: Option<Sighting>,
    pub(crate) discovery: Schedule,
}

impl Memory {
    /// Whether the provider has to be asked now.
    pub(crate) fn provider_is_due(&self, asked: &Asked, now: Timestamp) -> bool {
        self.asked.as_ref() != Some(asked) || self.next_provider.is_some_and(|at| at <= now)
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

    /// When the pass should look again by itself. A time of something that is not going to be asked says
    /// nothing, and one that has passed is no reason to start again at once.
    pub(crate) fn next_look(&self, asking: Asking, now: Timestamp) -> Option<Duration> {
        let provider = self.next_provider.filter(|_| asking.provider);
        let proof = self.next_proof.filter(|_| asking.parent);
        let members = self.discovery.next().filter(|_| asking.members);
        let times = [provider, proof, members, self.next_stale];
        let next = times.into_iter().flatten().min()?;
        Some(Duration::try_from(next.duration_since(now)).unwrap_or_default().max(SHORTEST_LOOK))
    }
}

/// Whether a delegation does not have the name any more after this change.
pub(crate) fn takes_out(change: &Change, ns_name: &DomainName) -> bool {
    !change.after().is_some_and(|after| after.servers.contains_key(ns_name))
}

/// A change whose outcome nobody saw.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) pending: Pending,
    /// Since when nobody waits for its reply any more.
    pub(crate) since: Timestamp,
}

/// Memories by name of the ZoneDelegation, and changes whose outcome is not known yet.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    memories: Mutex<BTreeMap<String, Memory>>,
    unsettled: Mutex<BTreeMap<DomainName, Vec<Open>>>,
    restarts: Mutex<Restarts>,
    /// Whether the changes without outcome have been read from the log.
    log_read: tokio::sync::Mutex<bool>,
    log_doubted: AtomicBool,
    /// Held for reading by each change from its intent to its outcome, and for writing from the stop on.
    changes: RwLock<()>,
}

impl Desk {
    /// Lets a change begin; it is under way for as long as the guard lives.
    pub(crate) async fn begin_change(&self) -> RwLockReadGuard<'_, ()> {
        self.changes.read().await
    }

    /// Waits until no change is under way; none begins any more. What is cut off between a write and its outcome
    /// would hold up the next start, until it is certain that the write cannot come any more.
    pub(crate) async fn close(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.changes.write()).await.is_err() {
            tracing::warn!("A change at the provider is cut off by the stop; the next start settles it.");
        }
    }

    /// What is remembered of this very object; nothing of an earlier one of its name.
    pub(crate) fn memory(&self, name: &str, uid: Option<&str>) -> Memory {
        let memories = self.memories.lock().expect("no panic while the desk is locked");
        let same = memories.get(name).filter(|memory| memory.uid.as_deref() == uid);
        same.cloned().unwrap_or_else(|| Memory { uid: uid.map(str::to_owned), ..Memory::default() })
    }

    pub(crate) fn keep(&self, name: &str, memory: Memory) {
        self.memories.lock().expect("no panic while the desk is locked").insert(name.to_owned(), memory);
    }

    pub(crate) fn forget(&self, name: &str) {
        self.memories.lock().expect("no panic while the desk is locked").remove(name);
    }

    /// Reads which changes nobody saw the end of: those of an earlier run, and after a failure of the log our own.
    pub(crate) async fn read_log(&self, log: &ChangeLog, clock: &Clock) -> Result<(), AuditError> {
        let mut read = self.log_read.lock().await;
        if !self.log_doubted.swap(false, Ordering::Relaxed) && *read {
            return Ok(());
        }
        *read = false;
        let found = log.unsettled().await?;
        let since = clock();
        for pending in found {
            match DomainName::parse(&pending.intent().change.zone) {
                Ok(zone) => self.leave_unsettled(zone, Open { pending, since }),
                Err(error) => tracing::warn!(%error, "A change of the log names no zone."),
            }
        }
        *read = true;
        Ok(())
    }

    /// What is known of restarts of the provider's services.
    pub(crate) fn restarts(&self) -> MutexGuard<'_, Restarts> {
        self.restarts.lock().expect("no panic while the desk is locked")
    }

    /// Has the log read again: an outcome may be missing in it.
    pub(crate) fn doubt_log(&self) {
        self.log_doubted.store(true, Ordering::Relaxed);
    }

    /// Leaves a change to be settled by reading its zone.
    pub(crate) fn leave_unsettled(&self, zone: DomainName, open: Open) {
        let mut unsettled = self.unsettled.lock().expect("no panic while the desk is locked");
        unsettled.entry(zone).or_default().push(open);
    }

    /// Takes the changes of a zone that are to be settled. Those whose time has not come are to be left again.
    pub(crate) fn take_unsettled(&self, zone: &DomainName) -> Vec<Open> {
        self.unsettled.lock().expect("no panic while the desk is locked").remove(zone).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Asking = Asking { provider: true, parent: true, members: true };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn due(provider: i64, proof: i64) -> Memory {
        Memory { next_provider: Some(at(provider)), next_proof: Some(at(proof)), ..Memory::default() }
    }

    #[test]
    fn only_what_is_going_to_be_asked_calls_for_a_look() {
        let memory = due(20, 30);
        let look = |provider, parent| memory.next_look(Asking { provider, parent, members: true }, at(10));
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!([look(true, true), look(true, false)], [seconds(10), seconds(10)]);
        assert_eq!([look(false, true), look(false, false)], [seconds(20), None]);
    }

    #[test]
    fn a_time_that_has_passed_never_makes_a_busy_loop() {
        assert_eq!(due(5, 30).next_look(BOTH, at(10)), Some(SHORTEST_LOOK));
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

    #[test]
    fn an_object_that_was_made_anew_inherits_nothing_from_the_one_before_it() {
        let desk = Desk::default();
        let mut first = desk.memory("cloud-example-com", Some("first"));
        let asked = Asked {
            addresses: BTreeSet::new(),
            generation: Some(1),
            adopts: false,
            evict: None,
            evicted: BTreeSet::new(),
            withdrawn: false,
            peers: BTreeSet::new(),
            undecided: BTreeSet::new(),
            object_version: None,
        };
        first.asked = Some(asked.clone());
        desk.keep("cloud-example-com", first);
        assert!(!desk.memory("cloud-example-com", Some("first")).provider_is_due(&asked, at(0)));
        assert!(desk.memory("cloud-example-com", Some("second")).provider_is_due(&asked, at(0)));
    }
}
