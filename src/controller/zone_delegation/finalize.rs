//! The end of a ZoneDelegation: this cluster's part is withdrawn if the spec asks for it, then the object may go.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::outlet::summary;
use gslb_crds::{ZoneDelegation, marks};
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::desk::About;
use super::errand::{self, Aim, Errand};
use super::memory::{Asking, Memory};
use super::standing::{IN_SYNC, told};
use super::{ZONE_TAKEN, accept, next, report, servers};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::statuses::Whose;
use crate::controller::write::FIELD_MANAGER;
use crate::controller::{Pass, PassError};
use crate::kube_call::in_time;
use crate::providers::Place;

/// How often a withdrawal that is not done is looked at again. No outside reference.
const PERIOD: Duration = Duration::from_secs(10);

/// What helps if the provider never lets it be done.
const WAY_OUT: &str = "; the object is deleted, and stays until this cluster's part is withdrawn; to let it go without, set spec.doFinalize to false";

/// Withdraws this cluster's part if the spec asks for it, then lets the object go. Needs no address of our own.
pub(super) async fn finalize(pass: &Arc<Pass>, object: &Arc<ZoneDelegation>) -> Result<Action, PassError> {
    let context = &pass.context;
    if !object.finalizers().iter().any(|finalizer| finalizer == marks::ZONE_DELEGATION_FINALIZER) {
        return Ok(Action::await_change());
    }
    let accepted = accept(context, object);
    let places = match &accepted {
        Ok((claimant, _)) => pass.providers.places(&context.settings, claimant.zone().name()),
        Err(_) => Vec::new(),
    };
    let about = About { name: object.name_any(), uid: object.metadata.uid.clone() };
    // Whoever still works on a place asks for another pass when he is done.
    if !object.spec.do_finalize && places.iter().any(|place| pass.zones.is_in_work(&about, place.number)) {
        return Ok(Action::await_change());
    }
    let publishes = pass.providers.are_any();
    let left = match (object.spec.do_finalize, publishes, accepted) {
        (true, true, Ok(_)) if places.is_empty() => {
            Some("it is published nowhere, as no provider is named for its zone".to_owned())
        }
        (true, true, Ok((claimant, _))) => {
            if let Some(again) = withdraw(pass, object, &claimant, &places).await? {
                return Ok(again);
            }
            tell_withdrawn(context, object, &claimant);
            None
        }
        // The older object stands for the zone, and keeps the entry.
        (_, _, Err(refused)) if refused.reason == ZONE_TAKEN => None,
        (true, true, Err(refused)) => Some(format!("its zone is not accepted ({})", refused.message)),
        (true, false, _) => Some("no provider is configured".to_owned()),
        (false, true, _) => Some("doFinalize is false".to_owned()),
        (false, false, _) => None,
    };
    if let Some(reason) = left {
        let note = format!(
            "deleted, but {reason}, so this cluster's name server stays in the delegation if it is there; remove it by hand if the cluster goes"
        );
        let what = (report::WHAT, Key::of(&**object));
        context.announcer.warn(what, "DelegationLeft", note, &object.object_ref(&()));
    }
    if release(context, object).await? {
        pass.zones.forget(&object.name_any());
    }
    Ok(Action::await_change())
}

/// Withdraws this cluster's part from all places. Gives when to look again if that is not done yet.
async fn withdraw(
    pass: &Arc<Pass>,
    object: &Arc<ZoneDelegation>,
    claimant: &Claimant,
    places: &[Place],
) -> Result<Option<Action>, PassError> {
    let context = &pass.context;
    let about = About { name: object.name_any(), uid: object.metadata.uid.clone() };
    context.glue.hurry(claimant.zone().name(), context.now());
    let servers = servers(context, claimant.zone(), claimant, &BTreeSet::new());
    let errand = |place: &Place| Errand {
        pass: Arc::clone(pass),
        object: Arc::clone(object),
        claimant: claimant.clone(),
        place: place.clone(),
        aim: Aim::Withdrawn { period: PERIOD },
        looks_for_members: false,
    };
    errand::run_all(pass, places.iter().map(errand).collect()).await;
    let memories: Vec<_> =
        places.iter().map(|place| (place, pass.zones.memory(&about, place.number))).collect();
    let is_idle = |place: &Place| !pass.zones.is_in_work(&about, place.number);
    let is_over = |(place, memory): &(&Place, Memory)| {
        is_idle(place) && memory.withdrawal().is_some_and(|standing| standing.withdrawn)
    };
    let parts: Vec<_> = memories
        .iter()
        .map(|(place, memory)| (&place.outlet, Some(told(&place.outlet, memory.withdrawal()))))
        .collect();
    let mut in_sync = summary(ConditionKind::InSync, &parts);
    if memories.iter().all(is_over) {
        // No condition will tell any more what stays there.
        if in_sync.reason != IN_SYNC {
            let what = (report::WHAT, Key::of(&**object));
            context.announcer.warn(what, in_sync.reason, in_sync.message, &object.object_ref(&()));
        }
        return Ok(None);
    }
    in_sync.message.push_str(WAY_OUT);
    // What is known of the peers must outlive this process: it decides when the object may go.
    report::report(context, object, servers, vec![in_sync], context.now());
    let looks = memories.iter().filter(|(place, _)| is_idle(place));
    let asking = Asking { provider: true, parent: false };
    let looks = looks.filter_map(|(_, memory)| memory.next_look(asking));
    Ok(Some(next(context, looks)))
}

/// Tells that this cluster's part is over, where finalizers of others hold the object on: what its status said before
/// is not true any more, and nobody would correct it.
fn tell_withdrawn(context: &Context, object: &ZoneDelegation, claimant: &Claimant) {
    let others = foreign_finalizers(object).map(String::as_str).collect::<Vec<_>>().join(", ");
    if others.is_empty() {
        return;
    }
    let message = format!(
        "this cluster has left the delegation and looks at it no more; the object stays until its other finalizers are removed ({others})"
    );
    let withdrawn = Condition::bad(ConditionKind::InSync, "Withdrawn", message);
    let servers = servers(context, claimant.zone(), claimant, &BTreeSet::new());
    report::report(context, object, servers, vec![withdrawn], context.now());
}

fn foreign_finalizers(object: &impl ResourceExt) -> impl Iterator<Item = &String> {
    object.finalizers().iter().filter(|finalizer| *finalizer != marks::ZONE_DELEGATION_FINALIZER)
}

/// Has the object wait for us before it goes.
pub(super) async fn ensure_finalizer(context: &Context, object: &ZoneDelegation) -> Result<(), PassError> {
    if object.finalizers().iter().any(|finalizer| finalizer == marks::ZONE_DELEGATION_FINALIZER) {
        return Ok(());
    }
    let api: Api<ZoneDelegation> = Api::all(context.client.clone());
    let body = json!({
        "apiVersion": ZoneDelegation::api_version(&()), "kind": ZoneDelegation::kind(&()),
        "metadata": {
            "name": object.name_any(), "uid": object.uid(),
            "finalizers": [marks::ZONE_DELEGATION_FINALIZER],
        },
    });
    // A manager of its own: an apply under the name that writes the status would give up the finalizer.
    let params = PatchParams::apply(&format!("{FIELD_MANAGER}-finalizer")).force();
    in_time(api.patch(&object.name_any(), &params, &Patch::Apply(&body))).await?;
    Ok(())
}

/// Takes our finalizer away, and nothing that came or went meanwhile. What was edited meanwhile has the end decided anew:
/// its event wakes us. Gives whether it is done.
async fn release(context: &Context, object: &ZoneDelegation) -> Result<bool, PassError> {
    let api: Api<ZoneDelegation> = Api::all(context.client.clone());
    // A status makes a version, too, which the watch may not have shown.
    context.statuses.rest(&Whose::ZoneDelegation(Key::of(object))).await;
    let Some(found) = in_time(api.get_metadata_opt(&object.name_any())).await? else { return Ok(true) };
    if found.uid() != object.uid() {
        return Ok(true);
    }
    if found.metadata.generation != object.metadata.generation {
        return Ok(false);
    }
    let rest: Vec<&String> = foreign_finalizers(&found).collect();
    let body = json!({"metadata": {"resourceVersion": found.resource_version(), "finalizers": rest}});
    match in_time(api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body))).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        Err(error) => Err(error.into()),
    }
}
