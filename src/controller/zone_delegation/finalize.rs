//! The end of a ZoneDelegation: this cluster's part is withdrawn if the spec asks for it, then the object may go.

use std::collections::BTreeSet;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::delegation::DesiredDelegation;
use gslb_core::reply::rcode;
use gslb_crds::{ZoneDelegation, marks};
use gslb_provider_contract::Provider;
use kube::api::{Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::desk::{Asked, Asking, Memory, Standing};
use super::prove::{self, Reach};
use super::standing::IN_SYNC;
use super::{ZONE_TAKEN, accept, asked, next, report, servers, shared, visit};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::write::FIELD_MANAGER;
use crate::controller::{Pass, PassError, Provision};
use crate::kube_call::in_time;
use crate::question::Referral;

/// How often a withdrawal that is not done is looked at again. No outside reference.
const PERIOD: Duration = Duration::from_secs(10);

/// Withdraws this cluster's part if the spec asks for it, then lets the object go. Needs no address of our own.
pub(super) async fn finalize(pass: &Pass, object: &ZoneDelegation) -> Result<Action, PassError> {
    let context = &pass.context;
    if !object.finalizers().iter().any(|finalizer| finalizer == marks::ZONE_DELEGATION_FINALIZER) {
        return Ok(Action::await_change());
    }
    let mut version = object.resource_version();
    let left = match (object.spec.do_finalize, &pass.provider, accept(context, object)) {
        (true, Some(provision), Ok((claimant, _))) => {
            if let Some(again) = withdraw(pass, provision, object, claimant.clone()).await? {
                return Ok(again);
            }
            version = tell_withdrawn(context, object, &claimant).await?.or(version);
            None
        }
        // The older object stands for the zone, and keeps the entry.
        (_, _, Err(refused)) if refused.reason == ZONE_TAKEN => None,
        (true, Some(_), Err(refused)) => Some(format!("its zone is not accepted ({})", refused.message)),
        (true, None, _) => Some("no provider is configured".to_owned()),
        (false, Some(_), _) => Some("doFinalize is false".to_owned()),
        (false, None, _) => None,
    };
    if let Some(reason) = left {
        let note = format!(
            "deleted, but {reason}, so this cluster's name server stays in the delegation; remove it by hand if the cluster goes"
        );
        let what = (report::WHAT, Key::of(object));
        context.announcer.warn(what, "DelegationLeft", note, &object.object_ref(&())).await;
    }
    release(context, object, version).await?;
    pass.zones.forget(&object.name_any());
    Ok(Action::await_change())
}

/// Withdraws this cluster's part. Gives when to look again if that is not done yet.
async fn withdraw(
    pass: &Pass,
    (provider, log): &Provision,
    object: &ZoneDelegation,
    claimant: Claimant,
) -> Result<Option<Action>, PassError> {
    let context = &pass.context;
    let mut memory = pass.zones.memory(&object.name_any(), object.metadata.uid.as_deref());
    context.glue.hurry(claimant.zone().name(), context.now());
    let servers = servers(context, claimant.zone(), &claimant, &BTreeSet::new());
    let asked = Asked { withdrawn: true, ..asked(pass, provider, object, &claimant, BTreeSet::new()) };
    if memory.provider_is_due(&asked, context.now()) {
        let desired = shared(provider, DesiredDelegation::withdrawn(claimant.clone()), &asked);
        memory.asked = Some(asked);
        visit(pass, (provider, log), object, &desired, Some(PERIOD), &mut memory).await;
        pass.zones.keep(&object.name_any(), memory.clone());
    }
    let mut standing = memory.standing.clone();
    if standing.as_ref().is_some_and(|standing| standing.withdrawn)
        && let Some(doubt) = doubt(context, &**provider, &claimant, &memory).await
    {
        let still = Condition::bad(ConditionKind::InSync, "StillDelegated", doubt);
        standing = Some(Standing::new(still));
    }
    if let Some(Standing { in_sync, .. }) = standing.as_ref().filter(|standing| standing.withdrawn) {
        // No condition will tell any more what stays there.
        if in_sync.reason != IN_SYNC {
            let (what, note) = ((report::WHAT, Key::of(object)), in_sync.message.clone());
            context.announcer.warn(what, in_sync.reason, note, &object.object_ref(&())).await;
        }
        return Ok(None);
    }
    let conditions = standing.into_iter().map(|standing| standing.in_sync).collect();
    // What is known of the peers must outlive this process: it decides when the object may go.
    report::report(context, object, servers, conditions, context.now()).await?;
    Ok(Some(next(context, &memory, Asking { provider: true, parent: false, members: false })))
}

/// Why it is not believed that the delegation is gone: an account that lost the right to see a zone is told that there is
/// none. What we took away ourselves may be served for a while.
async fn doubt(
    context: &Context,
    provider: &dyn Provider,
    claimant: &Claimant,
    memory: &Memory,
) -> Option<String> {
    if !memory.absent || memory.left || provider.capabilities().own_object {
        return None;
    }
    let words = prove::ask_parent(context, claimant.zone(), Reach::OneResolver).await;
    let refers = |word: &Referral| word.name_servers.contains(claimant.ns_name());
    let is_definite = |word: &Referral| matches!(word.rcode, rcode::NO_ERROR | rcode::NX_DOMAIN);
    let why = if words.values().flatten().any(refers) {
        "the parent zone's servers still refer to"
    } else if !words.values().flatten().any(is_definite) && memory.listed_us {
        "no server of the parent zone says that it is gone, and it had been seen with"
    } else {
        return None;
    };
    let (zone, ns_name, provider) = (claimant.zone().name(), claimant.ns_name(), provider.id());
    Some(format!(
        "{provider} shows no delegation {zone} to this account, but {why} {ns_name}; let the account see the zone, have the provider's services restarted, or set doFinalize to false to let the object go as it is"
    ))
}

/// Tells that this cluster's part is over, where finalizers of others hold the object on: what its status said before
/// is not true any more, and nobody would correct it. Gives the version of the object, if that was written.
async fn tell_withdrawn(
    context: &Context,
    object: &ZoneDelegation,
    claimant: &Claimant,
) -> kube::Result<Option<String>> {
    let others = foreign_finalizers(object).map(String::as_str).collect::<Vec<_>>().join(", ");
    if others.is_empty() {
        return Ok(None);
    }
    let message = format!(
        "this cluster has left the delegation and looks at it no more; the object stays until its other finalizers are removed ({others})"
    );
    let withdrawn = Condition::bad(ConditionKind::InSync, "Withdrawn", message);
    let servers = servers(context, claimant.zone(), claimant, &BTreeSet::new());
    report::report(context, object, servers, vec![withdrawn], context.now()).await
}

fn foreign_finalizers(object: &ZoneDelegation) -> impl Iterator<Item = &String> {
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

/// Takes our finalizer away from this version of the object, and nothing that came or went meanwhile.
async fn release(
    context: &Context,
    object: &ZoneDelegation,
    version: Option<String>,
) -> Result<(), PassError> {
    let api: Api<ZoneDelegation> = Api::all(context.client.clone());
    let rest: Vec<&String> = foreign_finalizers(object).collect();
    let body = json!({"metadata": {"resourceVersion": version, "finalizers": rest}});
    match in_time(api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(&body))).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
