//! Looks beneath a name before it is delegated: what the parent zone holds there would disappear from DNS.

use gslb_core::plan::Plan;
use gslb_crds::ZoneDelegation;
use gslb_crds::marks::{ADOPT_HIDDEN_RECORDS, TRUE};
use gslb_provider_contract::{ProviderError, Scope};
use kube::ResourceExt;

use super::memory::Memory;
use super::provide::Visit;

/// Whether the zone asks to be delegated whatever that hides.
pub(super) fn adopts(object: &ZoneDelegation) -> bool {
    object.annotations().get(ADOPT_HIDDEN_RECORDS).is_some_and(|value| value == TRUE)
}

/// The plan without a new delegation that would hide something. While a change waits for approval nothing is made, so
/// there is nothing to look for.
///
/// # Errors
/// What is beneath could not be read: that is not "nothing there".
pub(super) async fn spare(visit: &Visit<'_>, memory: &Memory, plan: Plan) -> Result<Plan, ProviderError> {
    if !plan.creates() || memory.waiting.is_some() {
        return Ok(plan);
    }
    let found = visit.provider.beneath(&Scope::from(visit.desired.claimant().zone())).await;
    match (found, adopts(visit.object)) {
        (Ok(beneath), false) => Ok(plan.sparing(&beneath)),
        (Ok(beneath), true) if beneath.is_empty() => Ok(plan),
        (Ok(beneath), true) => Ok(plan.hiding(&beneath.to_string())),
        // Who adopts what there is need not see it, but nothing can be written where nobody answers.
        (Err(error @ (ProviderError::Refused { .. } | ProviderError::Unexpected { .. })), true) => {
            Ok(plan.hiding(&format!("what could not be read ({error})")))
        }
        (Err(error), _) => Err(error),
    }
}
