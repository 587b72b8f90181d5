//! Changes at a provider, whatever they are about: the intent is stored before, the outcome after, and what nobody saw
//! the end of is settled by reading.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gslb_core::changelog::{ChangeResult, Intent, Proposal, Settlement, Unsettled, Verdict};
use gslb_core::edit::Traced;
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_core::records::HostRecord;
use gslb_core::sets::{SetChange, SetKey};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use gslb_provider_contract::{Disposition, Provider, ProviderError, ProviderId, Receipt, Retry};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::time::Instant;

use crate::audit::{AuditError, ChangeLog, Pending, read};
use crate::clock::Clock;

/// How soon a changed secret is noticed: by asking, while the provider itself holds back the log-in.
const SECRET_PAUSE: Duration = Duration::from_secs(5);

/// What stops a visit to a provider.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Audit(#[from] AuditError),
    #[error("{0}")]
    Refused(String, &'static str),
}

/// What the log says of a change that the provider acknowledged and does not show.
const NOT_KEPT: &str = "the provider acknowledged the change, and a read right after it does not show it";

/// What the log calls a set of records.
pub(crate) const RECORD_SET: &str = "RecordSet";

/// What a change is about, as far as a read tells how it ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// The delegation of a zone.
    Delegation(DomainName),
    /// The records of a host.
    Host(DomainName),
    /// A set of records that somebody else asked for.
    Set(SetKey),
}

/// A change whose outcome nobody saw.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) pending: Pending,
    /// Since when nobody waits for its reply any more.
    pub(crate) since: Timestamp,
}

/// Changes whose outcome is not known yet, and those that are under way.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    unsettled: Mutex<BTreeMap<Subject, Vec<Open>>>,
    /// Whether the changes without outcome have been read from the log.
    log_read: tokio::sync::Mutex<bool>,
    log_doubted: AtomicBool,
    /// Held for reading by each change from its intent to its outcome, and for writing from the stop on.
    changes: RwLock<()>,
}

impl Ledger {
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
                Ok(zone) if is_known(&zone, change) => {
                    self.leave_unsettled(subject_of(zone, change), Open { pending, since });
                }
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

    /// Has the log read again: an outcome may be missing in it.
    pub(crate) fn doubt_log(&self) {
        self.log_doubted.store(true, Ordering::Relaxed);
    }

    /// Leaves a change to be settled by reading what it is about, where it was made.
    pub(crate) fn leave_unsettled(&self, subject: Subject, open: Open) {
        let mut unsettled = self.unsettled.lock().expect("no panic while the ledger is locked");
        unsettled.entry(subject).or_default().push(open);
    }

    /// The hosts in a zone whose records have changes to be settled.
    pub(crate) fn unsettled_hosts(&self, zone: &DomainName) -> Vec<DomainName> {
        let unsettled = self.unsettled.lock().expect("no panic while the ledger is locked");
        let host = |subject: &Subject| match subject {
            Subject::Host(host) if host.is_within(zone) => Some(host.clone()),
            Subject::Host(_) | Subject::Delegation(_) | Subject::Set(_) => None,
        };
        unsettled.keys().filter_map(host).collect()
    }

    /// The sets that have changes to be settled.
    pub(crate) fn unsettled_sets(&self) -> Vec<SetKey> {
        let unsettled = self.unsettled.lock().expect("no panic while the ledger is locked");
        let set = |subject: &Subject| match subject {
            Subject::Set(set) => Some(set.clone()),
            Subject::Host(_) | Subject::Delegation(_) => None,
        };
        unsettled.keys().filter_map(set).collect()
    }

    /// Takes the changes that were made at this place and are to be settled; those of other places stay. What has not
    /// come to its time is to be left again.
    fn take_unsettled(&self, subject: &Subject, outlet: &Outlet) -> Vec<Open> {
        let mut unsettled = self.unsettled.lock().expect("no panic while the ledger is locked");
        let Some(open) = unsettled.get_mut(subject) else { return Vec::new() };
        let taken = open.extract_if(.., |open| outlet.holds(&open.pending.intent().change)).collect();
        if open.is_empty() {
            unsettled.remove(subject);
        }
        taken
    }
}

fn subject_of(zone: DomainName, change: &Proposal) -> Subject {
    if let Some(change) = SetChange::of(change) {
        return Subject::Set(change.key().clone());
    }
    if change.object.kind == RECORD_SET
        && let Ok(key) = change.object.name.parse()
    {
        // Of another version: it is over when its time is, and its set waits until then.
        return Subject::Set(key);
    }
    let record = change.after.as_ref().or(change.before.as_ref());
    let record = record.and_then(|value| serde_json::from_value::<HostRecord>(value.clone()).ok());
    record.map_or(Subject::Delegation(zone), |record| Subject::Host(record.host))
}

/// Counts changes as they end.
pub(crate) trait CountChanges: Send + Sync {
    /// A change ended; of which ZoneDelegation, if it is about one.
    fn change_made(
        &self,
        provider: &ProviderId,
        zone_delegation: Option<&str>,
        action: &'static str,
        result: ChangeResult,
    );
}

/// Makes changes at one place of a provider, and keeps the books.
#[derive(Clone, Copy)]
pub(crate) struct Notary<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) log: &'a ChangeLog,
    pub(crate) provider: &'a Arc<dyn Provider>,
    /// Where the provider publishes.
    pub(crate) outlet: &'a Outlet,
    pub(crate) metrics: &'a dyn CountChanges,
    /// For calendars.
    pub(crate) clock: &'a Clock,
    /// For the log.
    pub(crate) wall: &'a Clock,
    /// The ZoneDelegation that its changes are counted for, if there is one.
    pub(crate) zone_delegation: Option<&'a str>,
}

/// A change whose outcome a read told.
pub(crate) struct Over<C> {
    open: Open,
    pub(crate) result: ChangeResult,
    /// Nothing if another version logged it in a form that is not ours.
    pub(crate) change: Option<C>,
    /// Its task, if it waits for approval.
    pub(crate) reference: Option<String>,
}

/// The outcome of a change that the provider took, as far as its answer tells.
pub(crate) fn result_of(disposition: &Disposition) -> ChangeResult {
    match disposition {
        Disposition::Applied => ChangeResult::Applied,
        Disposition::AwaitingApproval { .. } => ChangeResult::AwaitingApproval,
    }
}

impl Notary<'_> {
    /// Logs the intent, makes the change, logs the outcome. Without a stored intent there is no change. `taken` is told
    /// as soon as the provider has it, whatever becomes of the log, and says what came of it.
    pub(crate) async fn make<R>(
        &self,
        subject: Subject,
        proposal: Proposal,
        apply: impl Future<Output = Result<Receipt<R>, ProviderError>>,
        taken: impl FnOnce(&Receipt<R>) -> ChangeResult,
    ) -> Result<Receipt<R>, Stop> {
        let (zone, action) = (proposal.zone.clone(), proposal.action.as_str());
        let _under_way = self.ledger.begin_change().await;
        let pending = self.log.intend(proposal, (self.wall)()).await?;
        let started = Instant::now();
        let result = apply.await;
        let duration_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let verdict = |result, reference, error, amends| Verdict {
            result,
            reference,
            error,
            duration_millis,
            settled_by_reading: false,
            amends,
        };
        match result {
            Ok(receipt) => {
                let result = taken(&receipt);
                let not_kept = (result == ChangeResult::NotApplied).then(|| NOT_KEPT.to_owned());
                let (reference, amends) = (Some(receipt.reference.clone()), receipt.amends.clone());
                self.complete(pending, verdict(result, reference, not_kept, amends)).await?;
                let (provider, view, result) = (self.provider.id(), self.outlet.view(), result.as_str());
                tracing::info!(%zone, %provider, view, action, result, "Made a change at the provider.");
                Ok(receipt)
            }
            Err(error @ ProviderError::Uncertain { .. }) => {
                let since = (self.clock)();
                self.ledger.leave_unsettled(subject, Open { pending, since });
                Err(error.into())
            }
            Err(error) => {
                let verdict = verdict(ChangeResult::Failed, None, Some(error.to_string()), vec![]);
                self.complete(pending, verdict).await?;
                Err(error.into())
            }
        }
    }

    /// Logs an outcome.
    pub(crate) async fn complete(&self, pending: Pending, verdict: Verdict) -> Result<(), AuditError> {
        let action = pending.intent().change.action.as_str();
        self.metrics.change_made(self.provider.id(), self.zone_delegation, action, verdict.result);
        self.log.complete(pending, verdict, (self.wall)()).await
    }

    /// Gives changes their outcome that nobody was there to see: a read of the provider tells, begun at `read_at`. Gives
    /// until when nothing may be written, if the request of one may still be under way.
    pub(crate) async fn settle<C: Traced>(
        &self,
        subject: &Subject,
        change_of: impl Fn(&Intent) -> Option<C>,
        observed: &C::Observed,
        read_at: Timestamp,
    ) -> Result<Option<Timestamp>, AuditError> {
        let (over, wait) = self.judge(subject, change_of, |_| false, observed, read_at);
        self.close_books(over).await?;
        Ok(wait)
    }

    /// Judges those changes; those that are not over are left again. `awaits`: whether one is known to wait for approval.
    pub(crate) fn judge<C: Traced>(
        &self,
        subject: &Subject,
        change_of: impl Fn(&Intent) -> Option<C>,
        awaits: impl Fn(&C) -> bool,
        observed: &C::Observed,
        read_at: Timestamp,
    ) -> (Vec<Over<C>>, Option<Timestamp>) {
        let bound = self.provider.longest_aftermath();
        let mut over = Vec::new();
        let mut wait = None;
        // All are judged before the first is logged: a log that fails then must not make those that wait begin anew.
        for Open { pending, since } in self.ledger.take_unsettled(subject, self.outlet) {
            let change = change_of(pending.intent());
            let awaits_approval = change.as_ref().is_some_and(&awaits);
            let since = since.min(read_at);
            let unsettled = Unsettled { change: change.as_ref(), awaits_approval, since, bound };
            match unsettled.settle(observed, read_at) {
                Settlement::Settled(result) => {
                    over.push(Over { open: Open { pending, since }, result, change, reference: None });
                }
                Settlement::Wait { until } => {
                    self.ledger.leave_unsettled(subject.clone(), Open { pending, since });
                    wait = wait.max(Some(until));
                }
            }
        }
        (over, wait)
    }

    /// Leaves changes again that were judged, because something else is not known.
    pub(crate) fn leave<C>(&self, subject: &Subject, over: Vec<Over<C>>) {
        over.into_iter().for_each(|over| self.ledger.leave_unsettled(subject.clone(), over.open));
    }

    /// Logs what came of changes that were judged.
    pub(crate) async fn close_books<C>(&self, over: Vec<Over<C>>) -> Result<(), AuditError> {
        for Over { open: Open { pending, .. }, result, reference, .. } in over {
            let (zone, view) = (&pending.intent().change.zone, self.outlet.view());
            tracing::info!(%zone, view, result = result.as_str(), "Settled a change by reading the provider.");
            let verdict = Verdict {
                result,
                reference,
                error: None,
                duration_millis: 0,
                settled_by_reading: true,
                amends: vec![],
            };
            self.complete(pending, verdict).await?;
        }
        Ok(())
    }
}

/// The last entry of the log that `about` picks, if it left its change waiting for approval: an earlier run may have
/// made it.
pub(crate) async fn last_waiting(
    client: &Client,
    log: &LogName,
    about: impl Fn(&Intent) -> bool,
) -> Result<Option<ProviderChange>, AuditError> {
    let last = |last: &mut Option<ProviderChange>, object: Result<ProviderChange, _>| {
        if let Ok(object) = object
            && log.number_of(&object.name_any()).is_some()
            && about(&object.spec.intent)
        {
            *last = Some(object);
        }
    };
    let listing = Api::all(client.clone());
    let last = read::fold(&listing, || None, last).await.map_err(|source| AuditError::Unavailable {
        name: "providerchanges".to_owned(),
        source: Box::new(source),
    })?;
    let waits = |object: &ProviderChange| {
        let verdict = object.status.as_ref().map(|status| status.outcome.verdict.result);
        verdict == Some(ChangeResult::AwaitingApproval)
    };
    Ok(last.filter(waits))
}

/// How long a provider that failed is left alone. `backoff`: the pause that grows with each failure.
pub(crate) fn pause_after(error: &ProviderError, backoff: Duration, now: Timestamp) -> Duration {
    match error.retry() {
        Retry::AtOnce => backoff,
        Retry::Backoff { at_least } => backoff.max(at_least),
        Retry::Until(at) => Duration::try_from(at.duration_since(now)).unwrap_or_default().min(SECRET_PAUSE),
        Retry::AfterChange => SECRET_PAUSE,
    }
}
