//! Moves a Gslb from the legacy group to the canonical one (contract §6): carries out the steps that core names.
//!
//! Each write is conditional on the object that was read (F-80): whoever writes in between makes it fail, and the next
//! pass starts from what is there then.

use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::group::Group;
use gslb_core::migration::{Belonging, Legacy, Retirement, Step, Word};
use gslb_crds::{DnsEndpoint, Gslb, LegacyGslb, marks};
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::events::EventType;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::group::{Guarded, Served};
use super::{deprecate, embedded, report};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::facts::embedded::desired;
use crate::controller::statuses::Whose;
use crate::controller::write::FIELD_MANAGER;
use crate::controller::{Pass, Trigger, unless_gone};
use crate::kube_call::in_time;

/// Name under which what was told of a migration is remembered.
pub(crate) const WHAT: &str = "migration";

/// Does what is to be done for a legacy Gslb, and tells whether it is served by itself.
pub(crate) async fn migrate(pass: &Pass, guarded: &Guarded, gslb: Served<'_>) -> kube::Result<bool> {
    let context = &pass.context;
    let seen = from_watches(pass, gslb);
    let steps = seen.steps();
    if seen.is_served() {
        context.announcer.forget(WHAT, &gslb.key());
        deprecate(pass, guarded);
    }
    // At rest nothing is asked.
    if steps.iter().any(|step| !matches!(step, Step::Tell(_))) {
        // No write of its own undoes a step.
        context.ingress_writes.rest(&gslb.id()).await;
        // Nor makes a version that a step does not know.
        context.statuses.rest(&Whose::Gslb(gslb.id())).await;
        let done = run(pass, gslb).await;
        if let Err(kube::Error::Api(status)) = &done
            && matches!(status.code, 400 | 403 | 422)
        {
            let note = format!("the migration cannot go on, and is tried again: {}", status.message);
            let told = (WHAT, gslb.key());
            context.announcer.warn(told, "MigrationRefused", note, &gslb.object_reference());
        }
        done?;
    }
    if !seen.is_served() {
        retire(pass, &seen, gslb).await?;
    }
    Ok(seen.is_served())
}

/// A legacy Gslb that is not served any more wakes for nothing but itself. Its hosts and numbers are its twin's, which
/// takes them over in its first pass, or nobody's.
async fn retire(pass: &Pass, seen: &Legacy, gslb: Served<'_>) -> kube::Result<()> {
    let (context, key) = (&pass.context, gslb.key());
    context.registry.forget(&gslb.id());
    if seen.leaves_its_name() {
        for other in context.registry.release(&key) {
            pass.triggers.send(Trigger::Named(other));
        }
        // One that is being deleted serves until it is gone.
        if pass.triggers.gslb(&gslb.id().twin()).is_none() {
            context.metrics.forget(&key.namespace, &key.name);
        }
    }
    let Some(retirement) = seen.retirement() else { return Ok(()) };
    if retirement == Retirement::Abandoned && !is_told(context, gslb) {
        // The watch may be behind, and what is told as an event cannot be taken back.
        if in_time(api::<Gslb>(context, &key).get_metadata_opt(&key.name)).await?.is_some() {
            return Ok(());
        }
    }
    report::retired(context, gslb, ready(retirement, &key), retirement == Retirement::Abandoned);
    Ok(())
}

/// Whether its status says already that nobody serves it.
fn is_told(context: &Context, gslb: Served<'_>) -> bool {
    let told = report::told(context, gslb);
    let mut reasons =
        told.iter().flat_map(|status| &status.conditions).map(|condition| condition.reason.as_str());
    reasons.any(|reason| reason == Retirement::Abandoned.reason())
}

fn ready(retirement: Retirement, key: &Key) -> Condition {
    let group = Group::Canonical.as_str();
    let sentence = match retirement {
        Retirement::Migrated => {
            format!(
                "Gslb {key} of group {group} serves in place of this one; delete this one when that one is Ready"
            )
        }
        Retirement::Abandoned => format!(
            "this Gslb is labelled as migrated and no Gslb {key} of group {group} exists, so nobody serves it; set {migrated}=false and {requested}=true to have it migrated, or remove both labels to have this one served",
            migrated = marks::MIGRATED,
            requested = marks::MIGRATION_REQUESTED
        ),
    };
    Condition::bad(ConditionKind::Ready, retirement.reason(), sentence)
}

/// Whether the canonical Gslb of the name was made by a migration, and is not known to be gone.
fn made(context: &Context, key: &Key) -> bool {
    context.migrations.lock().expect("no panic while the migrations are locked").contains(key)
}

fn legacy(context: &Context, gslb: &Gslb) -> Legacy {
    let labelled = |key| gslb.labels().get(key).is_some_and(|value| value == marks::TRUE);
    Legacy {
        deleting: gslb.metadata.deletion_timestamp.is_some(),
        requested: labelled(marks::MIGRATION_REQUESTED),
        migrated: labelled(marks::MIGRATED),
        protected: gslb.finalizers().iter().any(|finalizer| finalizer == marks::LEGACY_FINALIZER),
        embeds: embedded::wanted(gslb).is_some(),
        made: made(context, &Key::of(gslb)),
        ..Legacy::default()
    }
}

/// The state as the watches show it, at no cost.
fn from_watches(pass: &Pass, gslb: Served<'_>) -> Legacy {
    let (context, id) = (&pass.context, gslb.id());
    let uid = gslb.uid().unwrap_or_default();
    let belongs = |there: bool, owner: Option<&String>| match (there, owner) {
        (false, _) => Belonging::Absent,
        (true, Some(owner)) if *owner == uid => Belonging::Legacy,
        (true, _) => Belonging::Other,
    };
    let ingress = context.ingresses.get(&id.key);
    let owner = ingress.as_ref().and_then(|facts| facts.embedded.as_ref()?.owner.as_ref());
    let endpoint = context.endpoints.get(&id.key);
    let publisher = endpoint.as_ref().and_then(|facts| facts.owner.as_ref());
    Legacy {
        canonical: pass
            .triggers
            .gslb(&id.twin())
            .is_some_and(|twin| twin.meta().deletion_timestamp.is_none()),
        ingress: belongs(ingress.is_some(), owner),
        endpoint: belongs(endpoint.is_some(), publisher.map(|owner| &owner.uid)),
        ..legacy(context, &gslb)
    }
}

/// The objects as the API server holds them.
struct Found {
    gslb: LegacyGslb,
    canonical: Option<Gslb>,
    ingress: Option<PartialObjectMeta<Ingress>>,
    endpoint: Option<PartialObjectMeta<DnsEndpoint>>,
}

async fn run(pass: &Pass, seen: Served<'_>) -> kube::Result<()> {
    let context = &pass.context;
    let key = seen.key();
    let Some(mut found) = find(context, &key).await? else { return Ok(()) };
    if found.gslb.uid() != seen.uid() {
        // Another one of the same name; its event wakes us.
        return Ok(());
    }
    for step in state(context, &found).steps() {
        make(pass, &key, &mut found, step).await?;
    }
    Ok(())
}

async fn find(context: &Context, key: &Key) -> kube::Result<Option<Found>> {
    let Some(gslb) = in_time(api::<LegacyGslb>(context, key).get_opt(&key.name)).await? else {
        return Ok(None);
    };
    let canonical = in_time(api::<Gslb>(context, key).get_opt(&key.name)).await?;
    let canonical = canonical.filter(|canonical| canonical.metadata.deletion_timestamp.is_none());
    let ingress = in_time(api::<Ingress>(context, key).get_metadata_opt(&key.name)).await?;
    let endpoint = in_time(api::<DnsEndpoint>(context, key).get_metadata_opt(&key.name)).await?;
    Ok(Some(Found { gslb, canonical, ingress, endpoint }))
}

fn state(context: &Context, found: &Found) -> Legacy {
    let Found { gslb: LegacyGslb(gslb), canonical, ingress, endpoint } = found;
    let uid = gslb.uid();
    let belongs = |owners: Option<&[OwnerReference]>| match owners {
        None => Belonging::Absent,
        Some(owners) if owners.iter().any(|owner| Some(&owner.uid) == uid.as_ref()) => Belonging::Legacy,
        Some(_) => Belonging::Other,
    };
    Legacy {
        canonical: canonical.is_some(),
        ingress: belongs(ingress.as_ref().map(|object| object.owner_references())),
        endpoint: belongs(endpoint.as_ref().map(|object| object.owner_references())),
        ..legacy(context, gslb)
    }
}

async fn make(pass: &Pass, key: &Key, found: &mut Found, step: Step) -> kube::Result<()> {
    let context = &pass.context;
    let served = Served { group: Group::Legacy, gslb: &found.gslb.0 };
    match step {
        Step::Protect => {
            let mut finalizers = served.finalizers().to_vec();
            finalizers.push(marks::LEGACY_FINALIZER.to_owned());
            let change = json!({"finalizers": finalizers});
            found.gslb = edit(&api(context, key), &found.gslb, change).await?;
        }
        Step::Unprotect => {
            let kept = served.finalizers().iter().filter(|finalizer| *finalizer != marks::LEGACY_FINALIZER);
            let change = json!({"finalizers": kept.collect::<Vec<_>>()});
            let api: Api<LegacyGslb> = api(context, key);
            if let Some(gslb) = unless_gone(edit(&api, &found.gslb, change).await)? {
                found.gslb = gslb;
            }
        }
        Step::Mark => {
            let change = json!({"labels": {marks::MIGRATED: marks::TRUE}});
            found.gslb = edit(&api(context, key), &found.gslb, change).await?;
            tracing::info!(gslb = %key, "Migrated a Gslb from the legacy group.");
        }
        Step::CreateIngress => create_ingress(context, key, served).await?,
        Step::CreateCanonical => {
            let made = in_time(api(context, key).create(&created_by_us(), &found.gslb.canonical())).await?;
            context.migrations.lock().expect("no panic while the migrations are locked").insert(key.clone());
            found.canonical = Some(made);
        }
        Step::DetachIngress => {
            if let Some(ingress) = &found.ingress {
                let kept = others(ingress.owner_references(), &found.gslb);
                let change = json!({"ownerReferences": kept});
                unless_gone(edit(&api::<Ingress>(context, key), ingress, change).await)?;
            }
        }
        Step::HandOver => hand_over(context, key, found).await?,
        Step::Tell(word) => tell(pass, key, served, word),
    }
    Ok(())
}

/// The Ingress that only stood in the spec. It belongs to nobody, as one that was detached.
async fn create_ingress(context: &Context, key: &Key, gslb: Served<'_>) -> kube::Result<()> {
    let Some(spec) = embedded::wanted(&gslb) else { return Ok(()) };
    let mut ingress = desired(gslb, &spec);
    ingress.metadata.owner_references = None;
    match in_time(api(context, key).create(&created_by_us(), &ingress)).await {
        // Somebody was faster: that one is referred to.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop),
    }
}

/// In one patch, so that the DNSEndpoint always has an owner.
async fn hand_over(context: &Context, key: &Key, found: &Found) -> kube::Result<()> {
    let (Some(canonical), Some(endpoint)) = (&found.canonical, &found.endpoint) else { return Ok(()) };
    let mut owners = others(endpoint.owner_references(), &found.gslb);
    let owner = Served { group: Group::Canonical, gslb: canonical }.owner();
    let controlled = owners.iter().any(|other| other.controller == Some(true) || other.uid == owner.uid);
    if !controlled {
        owners.push(owner);
    }
    let api: Api<DnsEndpoint> = api(context, key);
    unless_gone(edit(&api, endpoint, json!({"ownerReferences": owners})).await)?;
    Ok(())
}

fn others(owners: &[OwnerReference], legacy: &LegacyGslb) -> Vec<OwnerReference> {
    owners.iter().filter(|owner| Some(&owner.uid) != legacy.uid().as_ref()).cloned().collect()
}

fn tell(pass: &Pass, key: &Key, gslb: Served<'_>, word: Word) {
    let announcer = &pass.context.announcer;
    let object = gslb.object_reference();
    let (reason, note) = match word {
        // Told beside the passes.
        Word::Deprecated => return,
        Word::Migrated => {
            let note = format!(
                "Gslb {key} of group {} was made and takes over; this one may be deleted once that one is Ready",
                Group::Canonical.as_str()
            );
            announcer.say(EventType::Normal, "LegacyMigrated", note, &object);
            return;
        }
        Word::Ignored => (
            "LegacyIgnored",
            format!(
                "Gslb {key} of group {} exists, so nothing was copied to it; it serves, and this one may be deleted",
                Group::Canonical.as_str()
            ),
        ),
    };
    announcer.warn((WHAT, key.clone()), reason, note, &object);
}

fn created_by_us() -> PostParams {
    PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() }
}

/// Changes metadata of exactly the object that was read.
pub(super) async fn edit<K, R>(api: &Api<K>, read: &R, mut metadata: Value) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
    R: ResourceExt,
{
    metadata["uid"] = json!(read.uid());
    metadata["resourceVersion"] = json!(read.resource_version());
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"metadata": metadata}));
    in_time(api.patch(&read.name_any(), &params, &patch)).await
}

pub(super) fn api<K>(context: &Context, key: &Key) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    Api::namespaced(context.client.clone(), &key.namespace)
}
