//! Keeps the Gslbs that annotated Ingresses ask for (contract §2.8). No Ingress is ever written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use gslb_core::annotated::{Standing, Step, Wanted, step};
use gslb_core::group::Group;
use gslb_crds::{Gslb, marks};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::cache::{Chain, Key};
use super::facts::annotated::Annotated;
use super::gslb::group::Id;
use super::room::Room;
use super::write::{Live, Need, Write};
use super::{Pass, gslb, unless_gone};
use crate::kube_call::{in_time, is_end_of_namespace};

/// Name of this kind of write, and of what was told about annotations.
pub(crate) const WHAT: &str = "Gslb of an Ingress";

/// Ingresses in work at once, half of them of one namespace. No outside reference.
const PASSES: usize = 4;

/// Makes the passes that are asked for, until the daemon ends.
pub(crate) async fn run(pass: Arc<Pass>, mut asked: mpsc::UnboundedReceiver<Key>) {
    let mut due: BTreeMap<Key, Instant> = BTreeMap::new();
    let (mut running, mut work) = (BTreeSet::new(), FuturesUnordered::new());
    loop {
        let now = Instant::now();
        while let Some(key) = first(&due, &running, now) {
            due.remove(&key);
            running.insert(key.clone());
            work.push(look_after(&pass, key));
        }
        // What is due and has no room begins at the end of another one.
        let next = due.values().filter(|at| **at > now).min().copied();
        tokio::select! {
            Some(key) = asked.recv() => drop(due.insert(key, Instant::now())),
            Some((key, pause)) = work.next() => {
                running.remove(&key);
                let again = pause.map(|pause| Instant::now() + pause);
                due.extend(again.filter(|_| !due.contains_key(&key)).map(|again| (key, again)));
            }
            () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
        }
    }
}

/// Whose turn it is.
fn first(due: &BTreeMap<Key, Instant>, running: &BTreeSet<Key>, now: Instant) -> Option<Key> {
    let room = Room::beside(running.iter().map(|key| key.namespace.as_str()), PASSES);
    let can_begin =
        |(key, at): &(&Key, &Instant)| **at <= now && !running.contains(*key) && room.is_for(&key.namespace);
    let ready = due.iter().filter(can_begin).min_by_key(|(_, at)| **at);
    ready.filter(|_| running.len() < PASSES).map(|(key, _)| key.clone())
}

/// One pass, and after how long the next one has to follow by itself.
async fn look_after(pass: &Pass, key: Key) -> (Key, Option<Duration>) {
    let name = format!("{WHAT} {key}");
    match reconcile(pass, &key).await {
        Ok(again) => {
            pass.failures.reset(&name);
            (key, again)
        }
        // The Ingress is about to go, too.
        Err(error) if is_end_of_namespace(&error) => (key, None),
        Err(error) => {
            tracing::warn!(ingress = %key, error = %Chain(&error), "The Gslb of an Ingress could not be brought up to date; it is tried again.");
            (key, Some(pass.failures.pause(&name)))
        }
    }
}

async fn reconcile(pass: &Pass, key: &Key) -> kube::Result<Option<Duration>> {
    let context = &pass.context;
    // Without its Ingress the Gslb goes by itself, through its owner.
    let Some(facts) = context.ingresses.get(key) else { return Ok(None) };
    let ingress = *facts.annotated;
    if ingress.out_of_question {
        return Ok(None);
    }
    let seen = pass.triggers.gslb(&Id { key: key.clone(), group: Group::Canonical });
    let note = match step(&ingress.annotations, standing(seen.as_deref(), key, &ingress.uid)) {
        Step::Nothing => None,
        Step::Apply(wanted) => return apply(pass, key, &ingress, seen.as_deref(), &wanted).await,
        Step::Remove => {
            remove(pass, key, seen.as_deref()).await?;
            None
        }
        Step::Correct(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Some(("AnnotationsInvalid", problems.join("; ")))
        }
        Step::LeaveAlone => Some((
            "GslbForeign",
            format!(
                "Gslb {key} exists and does not belong to this Ingress, so it is left alone; remove the annotation {} here, or delete that Gslb to have one made",
                marks::STRATEGY
            ),
        )),
    };
    tell(pass, key, &ingress, note).await;
    Ok(None)
}

/// Tells the user what to do, once; what he has done may be told anew.
async fn tell(pass: &Pass, key: &Key, ingress: &Annotated, note: Option<(&str, String)>) {
    let announcer = &pass.context.announcer;
    match note {
        None => announcer.forget(WHAT, key),
        Some((reason, note)) => {
            let object = ObjectReference {
                api_version: Some(Ingress::api_version(&()).into_owned()),
                kind: Some(Ingress::kind(&()).into_owned()),
                namespace: Some(key.namespace.clone()),
                name: Some(key.name.clone()),
                uid: Some(ingress.uid.clone()),
                ..ObjectReference::default()
            };
            announcer.warn((WHAT, key.clone()), reason, note, &object);
        }
    }
}

fn standing(gslb: Option<&gslb::Guarded>, key: &Key, ingress: &str) -> Standing {
    let Some(gslb) = gslb else { return Standing::Absent };
    let owner = gslb.owner_references().iter().find(|owner| owner.controller == Some(true));
    let of_the_name = owner.filter(|owner| owner.kind == Ingress::kind(&()) && owner.name == key.name);
    match of_the_name {
        Some(_) if gslb.meta().deletion_timestamp.is_some() => Standing::Leaving,
        Some(owner) if owner.uid == ingress => Standing::Own,
        Some(_) => Standing::Leaving,
        None => Standing::Foreign,
    }
}

async fn apply(
    pass: &Pass,
    key: &Key,
    ingress: &Annotated,
    seen: Option<&gslb::Guarded>,
    wanted: &Wanted,
) -> kube::Result<Option<Duration>> {
    let context = &pass.context;
    let now = context.now();
    let live =
        seen.and_then(gslb::Guarded::read).map(|gslb| Live::new(gslb.resource_version(), &view(&gslb)));
    let body = body(key, ingress, seen, wanted);
    let desired = view_of_body(&body);
    let writer = &context.writer;
    match writer.need(WHAT, key, &desired, live.as_ref(), now) {
        Need::Nothing => {
            tell(pass, key, ingress, None).await;
            return Ok(None);
        }
        Need::Wait(until) => return Ok(Some(left(until, now))),
        Need::Write => {}
    }
    let api: Api<Gslb> = Api::namespaced(context.client.clone(), &key.namespace);
    if seen.is_none() && in_time(api.get_metadata_opt(&key.name)).await?.is_some() {
        // The watch is behind; an apply would take over whatever is there. Its event wakes us.
        return Ok(None);
    }
    let write = Write { what: WHAT, key, status: None, desired, live: live.as_ref(), now };
    match writer.apply(write, &api, &body, view).await {
        Ok(_) => {
            tracing::info!(ingress = %key, "Wrote the Gslb of an Ingress.");
            tell(pass, key, ingress, None).await;
            Ok(None)
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422) => {
            let note = format!(
                "the API server does not take Gslb {key} for this Ingress: {}; correct the annotations, or permit it",
                status.message
            );
            tell(pass, key, ingress, Some(("GslbRefused", note))).await;
            Err(kube::Error::Api(status))
        }
        Err(error) => Err(error),
    }
}

fn left(until: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(now)).unwrap_or_default()
}

/// Deletes the Gslb that was seen, and no other of its name.
async fn remove(pass: &Pass, key: &Key, seen: Option<&gslb::Guarded>) -> kube::Result<()> {
    let uid = seen.and_then(ResourceExt::uid);
    let api: Api<Gslb> = Api::namespaced(pass.context.client.clone(), &key.namespace);
    let only = Preconditions { uid, resource_version: None };
    let deleted = in_time(api.delete(&key.name, &DeleteParams::default().preconditions(only))).await;
    if unless_gone(deleted)?.is_some() {
        tracing::info!(ingress = %key, "Deleted the Gslb of an Ingress that asks for none any more.");
    }
    Ok(())
}

/// Only the fields that the annotations decide about: what others have set in the Gslb stays (F-91).
fn body(key: &Key, ingress: &Annotated, seen: Option<&gslb::Guarded>, wanted: &Wanted) -> Value {
    let Wanted { strategy, primary_geo_tag, ttl, exposed_ip_addresses } = wanted;
    let mut metadata = json!({
        "name": key.name, "namespace": key.namespace,
        "ownerReferences": [{
            "apiVersion": Ingress::api_version(&()), "kind": Ingress::kind(&()), "name": key.name,
            "uid": ingress.uid, "controller": true, "blockOwnerDeletion": true,
        }],
    });
    if let Some(exposed) = exposed_ip_addresses {
        metadata["annotations"] = json!({marks::EXPOSED_IP_ADDRESSES: exposed});
    }
    if let Some(uid) = seen.and_then(ResourceExt::uid) {
        metadata["uid"] = json!(uid);
    }
    let mut strategy = json!({"type": strategy, "dnsTtlSeconds": ttl.as_secs()});
    if let Some(tag) = primary_geo_tag {
        strategy["primaryGeoTag"] = json!(tag.as_str());
    }
    let reference = json!({
        "apiVersion": Ingress::api_version(&()), "kind": Ingress::kind(&()), "name": key.name,
    });
    json!({
        "apiVersion": Gslb::api_version(&()), "kind": Gslb::kind(&()), "metadata": metadata,
        "spec": {"resourceRef": reference, "strategy": strategy},
    })
}

/// The part of a Gslb that the annotations decide about.
fn view(gslb: &Gslb) -> Value {
    view_of_body(&json!(gslb))
}

fn view_of_body(gslb: &Value) -> Value {
    let (metadata, spec) = (&gslb["metadata"], &gslb["spec"]);
    let owners = metadata["ownerReferences"].as_array();
    let owner = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
    json!({
        "owner": owner.map(|owner| &owner["uid"]),
        "exposed": metadata["annotations"].get(marks::EXPOSED_IP_ADDRESSES),
        "reference": spec["resourceRef"],
        "strategy": [
            &spec["strategy"]["type"], &spec["strategy"]["dnsTtlSeconds"],
            &spec["strategy"]["primaryGeoTag"],
        ],
    })
}
