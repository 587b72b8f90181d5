//! What others lost by a write of ours, because they wrote at the same moment: the provider puts it back at once and tells
//! so. What it could not put back is owed: it is put back before anything else is changed, and nobody leaves before.

use gslb_core::changelog::{Action, Amends, ChangeResult, Proposal, Verdict};
use gslb_core::delegation::Presence;
use gslb_crds::ProviderChange;
use serde_json::Value;
use tokio::time::Instant;

use super::memory::Memory;
use super::provide::{Halt, Visit, object_ref};

/// Reason of the event about what was put back.
const PUT_BACK: &str = "OthersPutBack";
/// Why a change that was made is not the end of it.
pub(super) const UNPAID: &str = "it is tried again soon";

/// Remembers what a write took from others, to tell it and to put it back.
pub(super) fn take_in(visit: &Visit<'_>, memory: &mut Memory, amends: &[Amends]) {
    let zone = visit.desired.claimant().zone().name();
    for Amends { lost, error } in amends {
        match error {
            Some(_) => memory.owed.push(lost.clone()),
            None => memory.warnings.push((PUT_BACK, put_back(&zone.to_string(), lost))),
        }
    }
}

/// What an entry of the log says that others are still without.
pub(super) fn owed(last: &ProviderChange) -> Vec<Value> {
    let amends = last.status.iter().flat_map(|status| &status.outcome.verdict.amends);
    amends.filter(|amends| amends.error.is_some()).map(|amends| amends.lost.clone()).collect()
}

/// Puts back what is owed, each as a change of its own in the log. Gives whether there was anything, so that what was
/// observed before is old.
pub(super) async fn pay(visit: &Visit<'_>, memory: &mut Memory, observed: &Presence) -> Result<bool, Halt> {
    let mut paid = false;
    while let Some(lost) = memory.owed.first().cloned() {
        let zone = visit.desired.claimant().zone().name();
        let _under_way = visit.ledger.begin_change().await;
        let pending = visit.log.intend(proposal(visit, &lost, observed), (visit.wall)()).await?;
        let started = Instant::now();
        let outcome = visit.provider.amend(zone, &lost).await;
        let duration_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (result, reference, error) = match &outcome {
            Ok(reference) => (ChangeResult::Applied, Some(reference.clone()), None),
            Err(error) => (ChangeResult::Failed, None, Some(error.to_string())),
        };
        let amends = vec![Amends { lost: lost.clone(), error: error.clone() }];
        let settled_by_reading = false;
        let verdict = Verdict { result, reference, error, duration_millis, settled_by_reading, amends };
        visit.notary().complete(pending, verdict).await?;
        outcome.map_err(|error| Halt::Owed(error.to_string()))?;
        memory.owed.remove(0);
        memory.warnings.push((PUT_BACK, put_back(&zone.to_string(), &lost)));
        paid = true;
    }
    Ok(paid)
}

fn proposal(visit: &Visit<'_>, lost: &Value, observed: &Presence) -> Proposal {
    let zone = visit.desired.claimant().zone().name();
    let id = Amends::id(zone, lost);
    Proposal {
        change_id: id.clone(),
        plan_id: id,
        who: visit.who.clone(),
        object: object_ref(visit.object),
        why: format!("others lost this by a write of this cluster to delegation {zone} at the same moment"),
        provider: visit.provider.id().to_string(),
        view: visit.outlet.view().map(str::to_owned),
        zone: zone.to_string(),
        action: if observed.delegation().is_some() { Action::Replace } else { Action::Create },
        before: None,
        after: Some(lost.clone()),
    }
}

fn put_back(zone: &str, lost: &Value) -> String {
    format!(
        "others wrote delegation {zone} at the same moment as this cluster, and what its write took from them was put back: {lost}; look whether it is as they want it"
    )
}
