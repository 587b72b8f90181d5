//! A change that somebody has to approve at the provider: made once, looked at until it is over, then logged. A change
//! of the same object that somebody else submitted is waited for in the same way.

use std::time::Duration;

use gslb_core::change::Change;
use gslb_core::changelog::{ChangeResult, Verdict};
use gslb_core::delegation::Presence;
use gslb_core::limits::ApprovedPlan;
use gslb_crds::{ProviderChange, ZoneDelegation};
use gslb_provider_contract::{Approval, Held, ProviderError, Scope};
use kube::{Api, ResourceExt};

use super::amends;
use super::memory::{Memory, takes_out};
use super::provide::{Visit, change_of, proposal};
use crate::audit::{AuditError, read};
use crate::controller::ledger::Stop;

/// How often a change that waits for approval is looked at.
pub(super) const PAUSE: Duration = Duration::from_secs(30);
/// The same, while the provider does not show the task. No outside reference.
const UNSEEN_PAUSE: Duration = Duration::from_secs(300);

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
    /// A task waits, so nothing may be changed: the sentence for the user, and when to look again.
    Waits(String, Duration),
    /// A task is over: what was observed and planned before is old.
    Over,
}

impl Waiting {
    pub(super) fn new(change: Change, reference: String) -> Self {
        Self { change, reference, rejected: None }
    }
}

/// Reads once from the log what an earlier run left: a change that waits, and what others lost by one.
pub(super) async fn recall_once(visit: &Visit<'_>, memory: &mut Memory) -> Result<(), AuditError> {
    if !memory.log_recalled {
        let Last { entry, change } = recall(visit).await?;
        // One that was asked for by an earlier object of this name is not waited for blindly: whoever made the object
        // anew asks anew. A task that the provider shows is found all the same.
        let own = change.as_ref().filter(|object| is_asked_for_by(visit.object, object));
        memory.waiting = own.and_then(waiting_of);
        let made = change.as_ref().filter(|object| is_made(object));
        memory.left = made
            .and_then(|object| change_of(&object.spec.intent))
            .is_some_and(|change| takes_out(&change, visit.desired.claimant().ns_name()));
        memory.owed = entry.as_ref().map(amends::owed).unwrap_or_default();
        memory.log_recalled = true;
    }
    Ok(())
}

/// Asks how the task of this zone stands, if there is one.
pub(super) async fn look(
    visit: &Visit<'_>,
    memory: &mut Memory,
    approved: &ApprovedPlan,
    observed: &Presence,
) -> Result<Look, Stop> {
    let Some(waiting) = memory.waiting.clone() else { return others(visit, approved).await };
    if waiting.change.shows_in(observed) {
        return made(visit, memory, approved, &waiting).await;
    }
    let rejected = match &waiting.rejected {
        Some(text) => text.clone(),
        None => match visit.provider.approval(waiting.change.zone(), &waiting.reference).await? {
            Approval::Pending { task } => return Ok(Look::Waits(pending(visit, &task), PAUSE)),
            Approval::Unseen { text } => return Ok(Look::Waits(text, UNSEEN_PAUSE)),
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

/// Nothing of ours waits, but perhaps a change by somebody else.
async fn others(visit: &Visit<'_>, approved: &ApprovedPlan) -> Result<Look, Stop> {
    let zone = visit.desired.claimant().zone().name();
    if approved.changes().is_empty() {
        return Ok(Look::Free);
    }
    let Some(Held { task, by, .. }) = visit.provider.held(zone).await? else { return Ok(Look::Free) };
    let (provider, by) = (visit.provider.id(), by.as_deref().unwrap_or("somebody"));
    let text = format!(
        "nothing is changed at delegation {zone}: a change by {by} waits for approval there as {task} at {provider}; have it approved or rejected"
    );
    Ok(Look::Waits(text, PAUSE))
}

/// The sentence about a change that waits.
pub(super) fn pending(visit: &Visit<'_>, task: &str) -> String {
    format!("the change is pending: it waits for approval as {task} at {}", visit.provider.id())
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
    let pending = visit.log.intend(proposal, (visit.wall)()).await?;
    // From here on the log knows of it, and what it misses is settled by reading.
    memory.waiting = None;
    let reference = Some(waiting.reference.clone());
    let verdict =
        Verdict { result, reference, error, duration_millis: 0, settled_by_reading: true, amends: vec![] };
    visit.notary().complete(pending, verdict).await
}

/// The last entries of the log about a place of a zone: an earlier run may have made them.
#[derive(Default)]
struct Last {
    entry: Option<ProviderChange>,
    /// The last that is a change of the delegation, and not a restart or what others got back.
    change: Option<ProviderChange>,
}

async fn recall(visit: &Visit<'_>) -> Result<Last, AuditError> {
    let zone = visit.desired.claimant().zone().name().as_str();
    let last = |last: &mut Last, object: Result<ProviderChange, _>| {
        if let Ok(object) = object
            && object.spec.intent.change.zone == zone
            && visit.outlet.holds(&object.spec.intent.change)
        {
            if change_of(&object.spec.intent).is_some() {
                last.change = Some(object.clone());
            }
            last.entry = Some(object);
        }
    };
    let listing = Api::all(visit.client.clone());
    read::fold(&listing, Last::default, last).await.map_err(|source| AuditError::Unavailable {
        name: "providerchanges".to_owned(),
        source: Box::new(source),
    })
}

fn is_asked_for_by(zone: &ZoneDelegation, object: &ProviderChange) -> bool {
    object.spec.intent.change.object.uid == zone.uid().unwrap_or_default()
}

fn is_made(object: &ProviderChange) -> bool {
    object.status.as_ref().is_some_and(|status| status.outcome.verdict.result == ChangeResult::Applied)
}

fn waiting_of(object: &ProviderChange) -> Option<Waiting> {
    let verdict = &object.status.as_ref()?.outcome.verdict;
    if verdict.result != ChangeResult::AwaitingApproval {
        return None;
    }
    Some(Waiting::new(change_of(&object.spec.intent)?, verdict.reference.clone()?))
}
