//! A change that somebody has to approve at the provider: made once, looked at until it is over, then logged.

use gslb_core::change::Change;
use gslb_core::changelog::{ChangeResult, Intent, Verdict};
use gslb_core::delegation::Presence;
use gslb_core::limits::ApprovedPlan;
use gslb_crds::ProviderChange;
use gslb_provider_contract::{Approval, ProviderError, Scope};

use super::memory::Memory;
use super::provide::{Visit, change_of, proposal};
use crate::audit::AuditError;
use crate::controller::ledger::{HeldBack, Stop, last_waiting};

/// A change that became a task of the provider's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) change: Change,
    /// The provider's reference to the task.
    pub(crate) reference: String,
    /// Why it will not be made, once that is known and logged.
    rejected: Option<String>,
}

/// What a task means for the round.
pub(super) enum Look {
    /// Nothing waits: changes may be made.
    Free,
    /// This task waits, so nothing may be changed.
    Waits(String),
    /// A task is over: what was observed and planned before is old.
    Over,
}

impl Waiting {
    pub(super) fn new(change: Change, reference: String) -> Self {
        Self { change, reference, rejected: None }
    }

    pub(super) fn held_back(&self) -> HeldBack<'_, Change> {
        HeldBack { change: &self.change, reference: &self.reference }
    }
}

/// Asks how the task of this zone stands, if there is one.
pub(super) async fn look(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    observed: &Presence,
) -> Result<Look, Stop> {
    if !memory.log_recalled {
        memory.waiting = recall(visit).await?;
        memory.log_recalled = true;
    }
    let Some(waiting) = memory.waiting.clone() else { return Ok(Look::Free) };
    if waiting.change.shows_in(observed) {
        return made(visit, memory, approved, &waiting).await;
    }
    let rejected = match &waiting.rejected {
        Some(text) => text.clone(),
        None => match visit.provider.approval(waiting.change.zone(), &waiting.reference).await? {
            Approval::Pending { task } => return Ok(Look::Waits(task)),
            Approval::Over => return gone(visit, memory, approved, &waiting).await,
            Approval::Rejected { text } => {
                over(visit, memory, approved, &waiting, ChangeResult::Failed, Some(text.clone())).await?;
                text
            }
        },
    };
    if approved.changes().iter().any(|planned| *planned.change() == waiting.change) {
        // Remembered, so that the same change is neither asked for nor logged again.
        memory.waiting = Some(Waiting { rejected: Some(rejected.clone()), ..waiting });
        return Err(ProviderError::Refused { text: rejected }.into());
    }
    memory.waiting = None;
    // What is planned now was planned while nothing could be made.
    Ok(Look::Over)
}

/// There is no task any more: another read tells whether it was carried out.
async fn gone(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    waiting: &Waiting,
) -> Result<Look, Stop> {
    let scope = Scope::from(visit.desired.claimant().zone());
    if waiting.change.shows_in(&visit.provider.observe(&scope).await?) {
        return made(visit, memory, approved, waiting).await;
    }
    over(visit, memory, approved, waiting, ChangeResult::NotApplied, None).await?;
    Ok(Look::Over)
}

/// The change is in force.
async fn made(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    waiting: &Waiting,
) -> Result<Look, Stop> {
    memory.wrote(visit.desired, &waiting.change, (visit.clock)());
    over(visit, memory, approved, waiting, ChangeResult::Applied, None).await?;
    Ok(Look::Over)
}

/// Logs how a task ended. The outcome of its intent says that it waited, and stays; so this is an entry of its own.
async fn over(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    waiting: &Waiting,
    result: ChangeResult,
    error: Option<String>,
) -> Result<(), AuditError> {
    let mut proposal = proposal(visit, approved, &waiting.change);
    proposal.why = format!("the earlier change that waited for approval as {} is over", waiting.reference);
    let pending = visit.log.intend(proposal, (visit.clock)()).await?;
    // From here on the log knows of it, and what it misses is settled by reading.
    memory.waiting = None;
    let reference = Some(waiting.reference.clone());
    let verdict = Verdict { result, reference, error, duration_millis: 0, settled_by_reading: true };
    visit.notary().complete(pending, verdict).await
}

/// The change of this place of the zone that the last entry of the log left waiting: an earlier run may have made it.
async fn recall(visit: &Visit<'_>) -> Result<Option<Waiting>, AuditError> {
    let zone = visit.desired.claimant().zone().name().as_str();
    let is_here = |intent: &Intent| intent.change.zone == zone && visit.outlet.holds(&intent.change);
    let last = last_waiting(visit.client, is_here).await?;
    Ok(last.and_then(|object| waiting_of(&object)))
}

fn waiting_of(object: &ProviderChange) -> Option<Waiting> {
    let verdict = &object.status.as_ref()?.outcome.verdict;
    Some(Waiting::new(change_of(&object.spec.intent)?, verdict.reference.clone()?))
}
