//! Brings one delegation at the provider up to date: observe, plan, approve, log, apply, log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::change::Change;
use gslb_core::changelog::{ChangeResult, Intent, ObjectRef, Proposal, Who};
use gslb_core::claim::Claimant;
use gslb_core::delegation::{DesiredDelegation, Wish};
use gslb_core::fleet::Sighting;
use gslb_core::limits::{ApprovedChange, ApprovedPlan, Limits};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::outlet::Outlet;
use gslb_core::plan::{Skip, plan};
use gslb_crds::ZoneDelegation;
use gslb_provider_contract::{Disposition, Provider, ProviderError, Receipt, Scope};
use kube::{Client, Resource, ResourceExt};
use serde_json::json;

use super::approval::{self, Look, Waiting};
use super::memory::{Memory, Standing};
use super::settle::settle;
use super::standing::{fail, open_until, other_writer, standing};
use super::{amends, members, preflight};
use crate::audit::{AuditError, ChangeLog};
use crate::clock::Clock;
use crate::controller::ledger::{Ledger, Notary, Stop, Subject};
use crate::metrics::Metrics;

/// How often records in the way of a new delegation are looked for: somebody may just be moving them. No outside
/// reference.
const HIDDEN_PAUSE: Duration = Duration::from_secs(60);
/// Passes that start anew because somebody else wrote in between.
const STALE_TRIES: u32 = 3;

/// Everything that one visit to the provider needs.
pub(crate) struct Visit<'a> {
    pub(crate) provider: &'a Arc<dyn Provider>,
    /// Where the provider publishes.
    pub(crate) outlet: &'a Outlet,
    pub(crate) log: &'a ChangeLog,
    /// Reads what the log holds.
    pub(crate) client: &'a Client,
    pub(crate) ledger: &'a Ledger,
    pub(crate) metrics: &'a Metrics,
    /// Who makes the changes.
    pub(crate) who: &'a Who,
    pub(crate) object: &'a ZoneDelegation,
    pub(crate) desired: &'a DesiredDelegation,
    /// What may be written at all, from other sources than the plan.
    pub(crate) scope: Vec<Claimant>,
    /// Clusters that may be taken out, because somebody asked for it.
    pub(crate) evicted: BTreeSet<GeoTag>,
    /// The safety net; `None`: only on changes.
    pub(crate) period: Option<Duration>,
    /// For calendars.
    pub(crate) clock: &'a Clock,
    /// For the log.
    pub(crate) wall: &'a Clock,
    /// Whether a change of a zone was made where that zone is published now.
    pub(crate) is_known: &'a (dyn Fn(&DomainName, &Proposal) -> bool + Send + Sync),
}

impl Visit<'_> {
    pub(super) fn notary(&self) -> Notary<'_> {
        let Self { ledger, log, provider, outlet, metrics, clock, wall, .. } = *self;
        Notary {
            ledger,
            log,
            provider,
            outlet,
            metrics,
            clock,
            wall,
            zone_delegation: self.object.metadata.name.as_deref(),
        }
    }
}

/// What stops a visit that may owe something to others.
#[derive(Debug, thiserror::Error)]
pub(super) enum Halt {
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// Others lost something by a write of ours, and it is not back.
    #[error("{0}")]
    Owed(String),
}

impl From<ProviderError> for Halt {
    fn from(error: ProviderError) -> Self {
        Self::Stopped(error.into())
    }
}

impl From<AuditError> for Halt {
    fn from(error: AuditError) -> Self {
        Self::Stopped(error.into())
    }
}

/// Visits the provider and remembers how things stand.
pub(crate) async fn visit(visit: &Visit<'_>, memory: &mut Memory) {
    let mut stale = 0;
    memory.next_provider = None;
    let result = loop {
        match round(visit, memory).await {
            Err(Halt::Stopped(Stop::Provider(ProviderError::Stale { .. }))) if stale < STALE_TRIES => {
                stale += 1
            }
            Ok(true) if stale < STALE_TRIES => stale += 1,
            result => break result.map(|_| ()),
        }
    };
    let now = (visit.clock)();
    match result {
        Ok(()) => {
            memory.failures = 0;
            memory.read_backs.retain(|at| *at > now);
            let regular = visit.period.and_then(|period| now.checked_add(period).ok());
            let next = memory.next_provider.or(regular);
            let calm = memory.contended_until(visit.desired, now);
            let read_back = memory.read_backs.first().copied();
            memory.next_provider = read_back.into_iter().chain(next).chain(calm).min();
        }
        Err(halt) => fail(visit, memory, &halt, now),
    }
}

/// One round. Gives whether another writer came in between, so that it should be made again.
async fn round(visit: &Visit<'_>, memory: &mut Memory) -> Result<bool, Halt> {
    let claimant = visit.desired.claimant();
    visit.ledger.read_log(visit.log, visit.clock, visit.is_known).await?;
    let read_at = (visit.clock)();
    let observed = visit.provider.observe(&Scope::from(claimant.zone())).await?;
    memory.sighting = Some(Sighting::of_presence(&observed));
    memory.listed = Some(members::listed(claimant, observed.delegation()));
    memory.saw(&observed, claimant.ns_name());
    if let Some(until) = settle(visit, memory, &observed, read_at).await? {
        memory.standing = Some(open_until(visit, until));
        memory.next_provider = Some(until);
        return Ok(false);
    }
    memory.unlogged = false;
    approval::recall_once(visit, memory).await?;
    if amends::pay(visit, memory, &observed).await? {
        return Ok(true);
    }
    let now = (visit.clock)();
    memory.history = std::mem::take(&mut memory.history).seen(claimant, &observed, now);
    let plan = plan(visit.desired, &observed, &memory.history, now);
    let plan = preflight::spare(visit, memory, plan).await?;
    let limits = limits(visit);
    let approved =
        plan.approve(&limits).map_err(|refusal| Stop::Refused(refusal.to_string(), refusal.reason()))?;
    match approval::look(visit, memory, &approved, &observed).await? {
        Look::Free => {}
        Look::Over => return Ok(true),
        Look::Waits(text, pause) => {
            memory.standing = Some(standing(visit, &approved, &observed, Some(&text)));
            memory.next_provider = now.checked_add(pause).ok();
            return Ok(false);
        }
    }
    let held = memory.held_until(visit.desired, now).filter(|_| !approved.changes().is_empty());
    if let Some(until) = held {
        memory.standing = Some(Standing::new(other_writer(visit)));
        memory.next_provider = Some(until);
        return Ok(false);
    }
    let mut again = false;
    let mut waiting = None;
    for change in approved.changes() {
        match make(visit, memory, &approved, change).await? {
            Made::Applied { overtaken } => again |= overtaken,
            Made::Waiting(task) => waiting = Some(approval::pending(visit, &task)),
        }
    }
    let standing = standing(visit, &approved, &observed, waiting.as_deref());
    memory.standing = Some(match memory.contended_until(visit.desired, now) {
        Some(_) => Standing { in_sync: other_writer(visit), ..standing },
        None => standing,
    });
    let hides = approved.skipped().iter().any(|skip| matches!(skip, Skip::RecordsWouldBeHidden { .. }));
    let pause = waiting.is_some().then_some(approval::PAUSE).or(hides.then_some(HIDDEN_PAUSE));
    memory.next_provider = pause.and_then(|pause| now.checked_add(pause).ok());
    Ok(again)
}

/// Taken from the settings and the provider, never from the plan that is checked against it.
fn limits(visit: &Visit<'_>) -> Limits {
    let limits = Limits::for_zones(visit.scope.clone()).evicting(visit.evicted.clone());
    match visit.provider.capabilities().own_object {
        true => limits.of_own_object(),
        false => limits,
    }
}

enum Made {
    Applied { overtaken: bool },
    Waiting(String),
}

/// Makes a change and keeps the books.
async fn make(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    approved_change: &ApprovedChange,
) -> Result<Made, Halt> {
    let change = approved_change.change();
    let subject = Subject::Delegation(change.zone().clone());
    let proposal = proposal(visit, approved, change);
    let apply = visit.provider.apply(approved_change);
    let receipt = visit
        .notary()
        .make(subject, proposal, apply, |receipt| taken(visit, memory, change, receipt))
        .await?;
    memory.unlogged = false;
    if !memory.owed.is_empty() {
        return Err(Halt::Owed(amends::UNPAID.to_owned()));
    }
    Ok(match receipt.disposition {
        Disposition::Applied => {
            Made::Applied { overtaken: receipt.read_back.is_some_and(|found| !change.shows_in(&found)) }
        }
        Disposition::AwaitingApproval { task } => Made::Waiting(task),
    })
}

/// Takes in that the provider took a change. One that a read right after it does not show is not applied, unless that
/// read shows what was put back for others.
fn taken(visit: &Visit<'_>, memory: &mut Memory, change: &Change, receipt: &Receipt) -> ChangeResult {
    // Until its outcome is logged, too.
    memory.unlogged = true;
    amends::take_in(visit, memory, &receipt.amends);
    match &receipt.disposition {
        Disposition::Applied => {
            memory.wrote(visit.desired, change, (visit.clock)());
            memory.listed = Some(members::listed(visit.desired.claimant(), change.after()));
            let overtaken = receipt.read_back.as_ref().is_some_and(|found| !change.shows_in(found));
            let kept = !overtaken || !receipt.amends.is_empty();
            if kept { ChangeResult::Applied } else { ChangeResult::NotApplied }
        }
        Disposition::AwaitingApproval { .. } => {
            memory.waiting = Some(Waiting::new(change.clone(), receipt.reference.clone()));
            ChangeResult::AwaitingApproval
        }
    }
}

/// The change that an intent speaks of; nothing if another version wrote it in a form that is not ours.
pub(super) fn change_of(intent: &Intent) -> Option<Change> {
    Change::of(&intent.change)
}

pub(super) fn proposal(visit: &Visit<'_>, approved: &ApprovedPlan, change: &Change) -> Proposal {
    let object = object_ref(visit.object);
    Proposal {
        change_id: change.id(),
        plan_id: approved.id(),
        who: visit.who.clone(),
        object,
        why: why(visit.desired, approved),
        provider: visit.provider.id().to_string(),
        view: visit.outlet.view().map(str::to_owned),
        zone: change.zone().to_string(),
        action: change.action(),
        before: change.before().map(|before| json!(before)),
        after: change.after().map(|after| json!(after)),
    }
}

/// The object that asks for a change.
pub(super) fn object_ref(object: &ZoneDelegation) -> ObjectRef {
    ObjectRef {
        kind: ZoneDelegation::kind(&()).into_owned(),
        namespace: None,
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        generation: object.metadata.generation.unwrap_or_default(),
    }
}

/// What led to the change, and nothing else that was found.
fn why(desired: &DesiredDelegation, approved: &ApprovedPlan) -> String {
    let ns_name = desired.claimant().ns_name();
    let what = match desired.wish() {
        Wish::Published { addresses, .. } => {
            let addresses = addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("this cluster serves the zone at {ns_name} ({addresses})")
        }
        Wish::Withdrawn => format!("this cluster no longer serves the zone at {ns_name}"),
    };
    let causes = approved.findings().iter().filter(|finding| finding.leads_to_change());
    std::iter::once(what).chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join("; ")
}
