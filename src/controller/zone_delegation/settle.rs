//! Changes whose outcome nobody saw: a read of the provider tells it.

use gslb_core::change::Change;
use gslb_core::changelog::{ChangeResult, Settlement, Unsettled, Verdict};
use gslb_core::delegation::Presence;
use gslb_provider_contract::{Held, ProviderError};
use jiff::Timestamp;

use super::approval::Waiting;
use super::desk::Open;
use super::memory::{Memory, takes_out};
use super::provide::{Stop, Visit, change_of, complete};

/// A change whose outcome a read told.
struct Over {
    open: Open,
    result: ChangeResult,
    change: Option<Change>,
}

/// The task that a change became whose reply was lost: it does not show, and waits for approval all the same.
async fn own_task(visit: &Visit<'_>, over: &[Over]) -> Result<Option<Held>, ProviderError> {
    if over.iter().all(|over| over.result != ChangeResult::NotApplied) {
        return Ok(None);
    }
    let held = visit.provider.held(visit.desired.claimant().zone().name()).await?;
    Ok(held.filter(|held| held.ours))
}

/// Gives changes their outcome that nobody was there to see: a read of the provider tells, begun at `read_at`. Gives
/// until when nothing may be written, if the request of one may still be under way.
pub(super) async fn settle(
    visit: &Visit<'_>,
    memory: &mut Memory,
    observed: &Presence,
    read_at: Timestamp,
) -> Result<Option<Timestamp>, Stop> {
    let zone = visit.desired.claimant().zone().name();
    let bound = visit.provider.longest_aftermath();
    let mut over = Vec::new();
    let mut wait = None;
    // All are judged before the first is logged: a log that fails then must not make those that wait begin anew.
    for Open { pending, since } in visit.desk.take_unsettled(zone, visit.outlet) {
        let change = change_of(pending.intent());
        let waits = |waiting: &Waiting| Some(&waiting.change) == change.as_ref();
        let awaits_approval = memory.waiting.as_ref().is_some_and(waits);
        let since = since.min(read_at);
        let unsettled = Unsettled { change: change.as_ref(), awaits_approval, since, bound };
        match unsettled.settle(observed, read_at) {
            Settlement::Settled(result) => over.push(Over { open: Open { pending, since }, result, change }),
            Settlement::Wait { until } => {
                visit.desk.leave_unsettled(zone.clone(), Open { pending, since });
                wait = wait.max(Some(until));
            }
        }
    }
    let held = match own_task(visit, &over).await {
        Ok(held) => held,
        Err(error) => {
            over.into_iter().for_each(|over| visit.desk.leave_unsettled(zone.clone(), over.open));
            return Err(error.into());
        }
    };
    for Over { open: Open { pending, .. }, mut result, change } in over {
        // Its reply was lost, and it is a task that waits.
        if let (ChangeResult::NotApplied, Some(held), Some(change)) = (result, &held, &change) {
            memory.waiting = Some(Waiting::new(change.clone(), held.reference.clone()));
            result = ChangeResult::AwaitingApproval;
        }
        match (result, &change) {
            (ChangeResult::NotApplied, _) => memory.tried(visit.desired, read_at),
            (ChangeResult::Applied, Some(change)) => {
                memory.left = takes_out(change, visit.desired.claimant().ns_name());
            }
            _ => {}
        }
        let waiting = memory.waiting.as_ref().filter(|waiting| Some(&waiting.change) == change.as_ref());
        let reference = waiting.map(|waiting| waiting.reference.clone());
        tracing::info!(%zone, result = result.as_str(), "Settled a change by reading the provider.");
        let verdict = Verdict {
            result,
            reference,
            error: None,
            duration_millis: 0,
            settled_by_reading: true,
            amends: vec![],
        };
        complete(visit, pending, verdict).await?;
    }
    Ok(wait)
}
