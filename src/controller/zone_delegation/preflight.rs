//! Looks beneath a name before it is delegated: what the parent zone holds there would disappear from DNS.

use gslb_core::beneath::Adoption;
use gslb_core::name::DomainName;
use gslb_core::plan::Plan;
use gslb_crds::ZoneDelegation;
use gslb_crds::marks::{ADOPT_HIDDEN_RECORDS, TRUE};
use gslb_provider_contract::{ProviderError, Scope};
use kube::ResourceExt;

use super::memory::Memory;
use super::provide::Visit;
use crate::config::Settings;

/// What its annotation says about being delegated whatever that hides; nothing if it has none. Only `true` is a yes.
pub(crate) fn annotated(object: &ZoneDelegation) -> Option<bool> {
    object.annotations().get(ADOPT_HIDDEN_RECORDS).map(|value| value == TRUE)
}

/// Who asks that this zone be delegated whatever that hides, if anybody does.
pub(crate) fn adopts(object: &ZoneDelegation, zone: &DomainName, settings: &Settings) -> Option<Adoption> {
    Adoption::of(annotated(object), settings.adopting_zones.contains(zone))
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
    match (found, memory.asked.as_ref().and_then(|asked| asked.adopts)) {
        (Ok(beneath), None) => Ok(plan.sparing(&beneath)),
        (Ok(beneath), Some(_)) if beneath.is_empty() => Ok(plan),
        (Ok(beneath), Some(by)) => Ok(plan.hiding(&beneath.to_string(), by)),
        // Who adopts what there is need not see it, but nothing can be written where nobody answers.
        (Err(error @ (ProviderError::Refused { .. } | ProviderError::Unexpected { .. })), Some(by)) => {
            Ok(plan.hiding(&format!("what could not be read ({error})"), by))
        }
        (Err(error), _) => Err(error),
    }
}
