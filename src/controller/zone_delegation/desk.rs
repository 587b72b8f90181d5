//! What is remembered of each zone between passes, and which changes nobody saw the end of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use gslb_core::changelog::Proposal;
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_core::restart::{Due, Restarts};
use jiff::Timestamp;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::discover::Schedule;
use super::memory::Memory;
use crate::audit::{AuditError, ChangeLog, Pending};
use crate::controller::context::Clock;

/// A change whose outcome nobody saw.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) pending: Pending,
    /// Since when nobody waits for its reply any more.
    pub(crate) since: Timestamp,
}

/// Which ZoneDelegation something is about: another one of its name starts anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) uid: Option<String>,
}

/// Memory of one zone.
#[derive(Debug, Default)]
struct ZoneMemory {
    uid: Option<String>,
    schedule: Schedule,
    /// By the number of the place.
    places: BTreeMap<usize, Memory>,
    /// Places that somebody works on; their memory is in his hands.
    in_work: BTreeSet<usize>,
}

/// Memories by name of the ZoneDelegation, and changes whose outcome is not known yet.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    memories: Mutex<BTreeMap<String, ZoneMemory>>,
    unsettled: Mutex<BTreeMap<DomainName, Vec<Open>>>,
    /// By name of the provider.
    restarts: Mutex<BTreeMap<String, Restarts>>,
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

    /// Waits until no change is under way; none begins while what this gives lives. What is cut off between a write and
    /// its outcome would hold up the next start, until it is certain that the write cannot come any more.
    pub(crate) async fn close(&self, patience: Duration) -> Option<RwLockWriteGuard<'_, ()>> {
        let closed = tokio::time::timeout(patience, self.changes.write()).await.ok();
        if closed.is_none() {
            tracing::warn!("A change at the provider is cut off by the stop; the next start settles it.");
        }
        closed
    }

    /// What is remembered of one place of this very object; nothing of an earlier one of its name.
    pub(crate) fn memory(&self, about: &About, place: usize) -> Memory {
        self.with(about, |zone| zone.places.get(&place).cloned().unwrap_or_default())
    }

    pub(crate) fn keep(&self, about: &About, place: usize, memory: Memory) {
        self.with(about, |zone| _ = zone.places.insert(place, memory));
    }

    /// When the members of the zone's fleet are looked for.
    pub(crate) fn schedule(&self, about: &About) -> Schedule {
        self.with(about, |zone| zone.schedule.clone())
    }

    pub(crate) fn keep_schedule(&self, about: &About, schedule: Schedule) {
        self.with(about, |zone| zone.schedule = schedule);
    }

    /// Takes a place into work. Nothing if somebody works on it already.
    pub(crate) fn begin(&self, about: &About, place: usize) -> bool {
        self.with(about, |zone| zone.in_work.insert(place))
    }

    /// The work on a place is over.
    pub(crate) fn end(&self, about: &About, place: usize) {
        self.with(about, |zone| _ = zone.in_work.remove(&place));
    }

    pub(crate) fn is_in_work(&self, about: &About, place: usize) -> bool {
        self.with(about, |zone| zone.in_work.contains(&place))
    }

    fn with<T>(&self, about: &About, work: impl FnOnce(&mut ZoneMemory) -> T) -> T {
        let mut memories = self.memories.lock().expect("no panic while the desk is locked");
        let zone = memories.entry(about.name.clone()).or_default();
        if zone.uid != about.uid {
            *zone = ZoneMemory { uid: about.uid.clone(), ..ZoneMemory::default() };
        }
        work(zone)
    }

    pub(crate) fn forget(&self, name: &str) {
        self.memories.lock().expect("no panic while the desk is locked").remove(name);
    }

    /// Reads which changes nobody saw the end of: those of an earlier run, and after a failure of the log our own.
    /// What was made where nothing is published any more keeps no outcome, because nobody can look there.
    pub(crate) async fn read_log(
        &self,
        log: &ChangeLog,
        clock: &Clock,
        is_known: &(dyn Fn(&DomainName, &Proposal) -> bool + Send + Sync),
    ) -> Result<(), AuditError> {
        let mut read = self.log_read.lock().await;
        if !self.log_doubted.swap(false, Ordering::Relaxed) && *read {
            return Ok(());
        }
        *read = false;
        let found = log.unsettled().await?;
        let since = clock();
        for pending in found {
            let change = &pending.intent().change;
            match DomainName::parse(&change.zone) {
                Ok(zone) if is_known(&zone, change) => self.leave_unsettled(zone, Open { pending, since }),
                Ok(zone) => {
                    let (provider, view, sequence) =
                        (&change.provider, change.view.as_deref(), pending.intent().sequence);
                    tracing::warn!(%zone, provider, view, sequence, "A change without outcome was made where the zone is published no more; it stays without one.");
                }
                Err(error) => tracing::warn!(%error, "A change of the log names no zone."),
            }
        }
        *read = true;
        Ok(())
    }

    /// Services of a provider wait for a restart: when it is due.
    pub(crate) fn restart_needed(&self, provider: &str, now: Timestamp) -> Due {
        self.restarts().entry(provider.to_owned()).or_default().needed(now)
    }

    /// No services of a provider wait for a restart.
    pub(crate) fn restart_served(&self, provider: &str) {
        self.restarts().entry(provider.to_owned()).or_default().served();
    }

    fn restarts(&self) -> MutexGuard<'_, BTreeMap<String, Restarts>> {
        self.restarts.lock().expect("no panic while the desk is locked")
    }

    /// Has the log read again: an outcome may be missing in it.
    pub(crate) fn doubt_log(&self) {
        self.log_doubted.store(true, Ordering::Relaxed);
    }

    /// Leaves a change to be settled by reading its zone, where it was made.
    pub(crate) fn leave_unsettled(&self, zone: DomainName, open: Open) {
        let mut unsettled = self.unsettled.lock().expect("no panic while the desk is locked");
        unsettled.entry(zone).or_default().push(open);
    }

    /// Takes the changes of a zone that were made at this place and are to be settled; those of its other places stay.
    /// What has not come to its time is to be left again.
    pub(crate) fn take_unsettled(&self, zone: &DomainName, outlet: &Outlet) -> Vec<Open> {
        let mut unsettled = self.unsettled.lock().expect("no panic while the desk is locked");
        let Some(open) = unsettled.get_mut(zone) else { return Vec::new() };
        open.extract_if(.., |open| outlet.holds(&open.pending.intent().change)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed_once() -> Memory {
        Memory::default().failed(1)
    }

    fn about(uid: &str) -> About {
        About { name: "cloud-example-com".to_owned(), uid: Some(uid.to_owned()) }
    }

    #[test]
    fn an_object_that_was_made_anew_inherits_nothing_from_the_one_before_it() {
        let desk = Desk::default();
        desk.keep(&about("first"), 0, failed_once());
        assert_eq!(desk.memory(&about("first"), 0).failures, 1);
        assert_eq!(desk.memory(&about("second"), 0).failures, 0);
    }

    #[test]
    fn each_place_of_a_zone_has_a_memory_of_its_own_and_is_worked_on_by_one_at_a_time() {
        let (desk, about) = (Desk::default(), about("only"));
        desk.keep(&about, 0, failed_once());
        assert_eq!((desk.memory(&about, 0).failures, desk.memory(&about, 1).failures), (1, 0));
        assert!(desk.begin(&about, 0) && desk.begin(&about, 1) && !desk.begin(&about, 0));
        desk.end(&about, 0);
        assert_eq!((desk.is_in_work(&about, 0), desk.is_in_work(&about, 1)), (false, true));
    }

    #[test]
    fn a_restart_of_one_provider_waits_for_no_other() {
        let desk = Desk::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(desk.restart_needed("core", at(0)), Due::At(at(60)));
        assert_eq!(desk.restart_needed("dmz", at(30)), Due::At(at(90)));
        desk.restart_served("dmz");
        assert_eq!(desk.restart_needed("core", at(60)), Due::Now);
    }
}
