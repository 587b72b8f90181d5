//! Sees to it that a change which the provider holds is served: asks whether services wait for a restart, tells so, and
//! restarts them where the settings allow it.

use gslb_core::changelog::{Action, ChangeResult, Proposal, Verdict};
use gslb_core::claim::Claimant;
use gslb_core::delegation_proof::DelegationProof;
use gslb_core::outlet::Outlet;
use gslb_core::restart::Due;
use gslb_crds::ZoneDelegation;
use gslb_provider_contract::{Provider, ProviderError, Service};
use tokio::time::Instant;

use super::memory::Memory;
use super::provide::object_ref;
use crate::audit::AuditError;
use crate::controller::Pass;
use crate::providers::Place;

/// Called after each proof. Nothing is asked of the provider while the delegation is served.
pub(super) async fn see_to_it(
    pass: &Pass,
    object: &ZoneDelegation,
    claimant: &Claimant,
    place: &Place,
    memory: &mut Memory,
) {
    memory.unserved = None;
    let Some(provider) = place.provider.as_ref().filter(|_| waits(memory)) else { return };
    let zone = claimant.zone().name();
    let text = match provider.service().await {
        Ok(Service::NeedsRestart { text }) => text,
        Ok(Service::Current) => return pass.zones.restart_served(place.outlet.provider()),
        Ok(Service::Untold) => return,
        Err(error) => {
            tracing::warn!(%zone, %error, "The provider does not say whether it serves what it holds.");
            return;
        }
    };
    memory.unserved = Some(text);
    if !provider.capabilities().restarts {
        return;
    }
    match pass.zones.restart_needed(place.outlet.provider(), pass.context.now()) {
        Due::At(at) => memory.next_proof = memory.next_proof.into_iter().chain([at]).min(),
        Due::Now => {
            if let Err(error) = restart(pass, (&**provider, &place.outlet), object, claimant, memory).await {
                pass.ledger.doubt_log();
                tracing::warn!(%zone, %error, "The change log failed at a restart of the provider's services.");
            }
        }
    }
}

/// The provider holds what we want, and the parent's servers do not show it.
fn waits(memory: &Memory) -> bool {
    let written = memory.standing.as_ref().is_some_and(|standing| standing.in_sync.is_good());
    let proof = memory.proof.as_ref();
    let unserved = proof.is_some_and(|proof| {
        matches!(proof, DelegationProof::WaitingForRestart { .. } | DelegationProof::GlueNotServed { .. })
    });
    written && unserved
}

/// Logs the intent, restarts, logs the outcome.
async fn restart(
    pass: &Pass,
    (provider, outlet): (&dyn Provider, &Outlet),
    object: &ZoneDelegation,
    claimant: &Claimant,
    memory: &Memory,
) -> Result<(), AuditError> {
    let context = &pass.context;
    let zone = claimant.zone().name();
    let why = format!(
        "delegation {zone} is not served: {}",
        memory.unserved.as_deref().unwrap_or("its services wait for a restart")
    );
    let id = gslb_core::restart::id(zone, &why);
    let proposal = Proposal {
        change_id: id.clone(),
        plan_id: id,
        who: pass.who.clone(),
        object: object_ref(object),
        why,
        provider: provider.id().to_string(),
        view: outlet.view().map(str::to_owned),
        zone: zone.to_string(),
        action: Action::Restart,
        before: None,
        after: None,
    };
    let _under_way = pass.ledger.begin_change().await;
    let pending = pass.log.intend(proposal, context.wall_now()).await?;
    let started = Instant::now();
    let (result, error) = match provider.restart().await {
        Ok(()) => {
            tracing::info!(%zone, provider = %provider.id(), "Restarted the provider's services.");
            (ChangeResult::Applied, None)
        }
        Err(error) => {
            tracing::warn!(%zone, provider = %provider.id(), %error, "The provider's services could not be restarted.");
            let uncertain = matches!(error, ProviderError::Uncertain { .. });
            let result = if uncertain { ChangeResult::Unknown } else { ChangeResult::Failed };
            (result, Some(error.to_string()))
        }
    };
    let duration_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let verdict = Verdict {
        result,
        reference: None,
        error,
        duration_millis,
        settled_by_reading: false,
        amends: vec![],
    };
    pass.log.complete(pending, verdict, context.wall_now()).await
}
