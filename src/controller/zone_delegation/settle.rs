//! Changes of a delegation whose outcome nobody saw: a read of the provider tells it.

use gslb_core::change::Change;
use gslb_core::changelog::ChangeResult;
use gslb_core::delegation::Presence;
use gslb_provider_contract::{Held, ProviderError};
use jiff::Timestamp;

use super::approval::Waiting;
use super::memory::{Memory, takes_out};
use super::provide::{Visit, change_of};
use crate::controller::ledger::{Over, Stop, Subject};

/// Gives changes their outcome that nobody was there to see: a read of the provider tells, begun at `read_at`. Gives
/// until when nothing may be written, if the request of one may still be under way.
pub(super) async fn settle(
    visit: &Visit<'_>,
    memory: &mut Memory,
    observed: &Presence,
    read_at: Timestamp,
) -> Result<Option<Timestamp>, Stop> {
    let subject = Subject::Delegation(visit.desired.claimant().zone().name().clone());
    let waiting = memory.waiting.clone();
    let awaits = |change: &Change| waiting.as_ref().is_some_and(|waiting| waiting.change == *change);
    let (mut over, wait) = visit.notary().judge(&subject, change_of, awaits, observed, read_at);
    let held = match own_task(visit, &over).await {
        Ok(held) => held,
        Err(error) => {
            visit.notary().leave(&subject, over);
            return Err(error.into());
        }
    };
    for over in &mut over {
        take_in(visit, memory, over, held.as_ref(), read_at);
    }
    visit.notary().close_books(over).await?;
    Ok(wait)
}

/// The task that a change became whose reply was lost: it does not show, and waits for approval all the same.
async fn own_task(visit: &Visit<'_>, over: &[Over<Change>]) -> Result<Option<Held>, ProviderError> {
    if over.iter().all(|over| over.result != ChangeResult::NotApplied) {
        return Ok(None);
    }
    let held = visit.provider.held(visit.desired.claimant().zone().name()).await?;
    Ok(held.filter(|held| held.ours))
}

/// Remembers what came of a change.
fn take_in(
    visit: &Visit<'_>,
    memory: &mut Memory,
    over: &mut Over<Change>,
    held: Option<&Held>,
    read_at: Timestamp,
) {
    // Its reply was lost, and it is a task that waits.
    if let (ChangeResult::NotApplied, Some(held), Some(change)) = (over.result, held, &over.change) {
        memory.waiting = Some(Waiting::new(change.clone(), held.reference.clone()));
        over.result = ChangeResult::AwaitingApproval;
    }
    match (over.result, &over.change) {
        (ChangeResult::NotApplied, _) => memory.tried(visit.desired, read_at),
        (ChangeResult::Applied, Some(change)) => {
            memory.left = takes_out(change, visit.desired.claimant().ns_name());
        }
        _ => {}
    }
    let waiting = memory.waiting.as_ref().filter(|waiting| Some(&waiting.change) == over.change.as_ref());
    over.reference = waiting.map(|waiting| waiting.reference.clone());
}
