//! `gslb-bridge evict SITE`: asks the controller of this cluster to take a lost cluster out of the delegation, and waits
//! for what comes of it. Only the controller writes at the provider, so that the change log keeps one writer.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::zone::NsPrefix;
use gslb_crds::{ZoneDelegation, marks};
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DeserializeGuard;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Connection, Ending, Output};
use crate::controller::zone_delegation::{EVICTED, NOT_EVICTED};
use crate::kube_call::in_time;

/// How often it is looked whether something came of it. No outside reference.
const LOOK: Duration = Duration::from_millis(500);
/// Events of objects without a namespace are stored there.
const EVENTS_NAMESPACE: &str = "default";

/// What whoever looks for a zone in records mode has to know.
const RECORDS_MODE: &str = "A zone in records mode has none: there the other clusters take the records of a lost one away by themselves, after a challenge";

/// Arguments of `evict`.
#[derive(Debug, Args)]
pub(super) struct EvictArgs {
    #[command(flatten)]
    connection: Connection,
    /// Geo tag of the cluster that is gone for good
    #[arg(value_name = "SITE", value_parser = GeoTag::parse)]
    site: GeoTag,
    /// Only this zone [default: every zone of this cluster]
    #[arg(long, value_parser = DomainName::parse)]
    zone: Option<DomainName>,
    /// How long to wait for each zone
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// How to print
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
}

/// What came of it in one zone.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    zone_delegation: String,
    /// Whether the cluster's entry was taken out.
    evicted: bool,
    note: String,
}

pub(super) async fn run(arguments: EvictArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let EvictArgs { connection, site, zone, timeout, output } = arguments;
    let client = connection.client().await?;
    let objects = zone_delegations(&client, zone.as_ref()).await?;
    let mut outcomes = Vec::new();
    for object in objects {
        let deadline = Instant::now() + Duration::from_secs(timeout);
        let name = object.name_any();
        let outcome = evict(&client, &object, &site, deadline).await;
        let outcome = outcome.with_context(|| format!("cannot evict {site} from ZoneDelegation {name}"))?;
        outcomes.push(outcome);
    }
    match output {
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, &outcomes)?;
            writeln!(out)?;
        }
        Output::Table => {
            for Outcome { zone_delegation, note, .. } in &outcomes {
                writeln!(out, "{zone_delegation}: {note}")?;
            }
        }
    }
    let refused = outcomes.iter().any(|outcome| !outcome.evicted);
    Ok(if refused { Ending::Findings } else { Ending::Fine })
}

/// The objects in question; one that cannot be read is about no zone that could be named.
async fn zone_delegations(client: &Client, zone: Option<&DomainName>) -> anyhow::Result<Vec<ZoneDelegation>> {
    let api: Api<DeserializeGuard<ZoneDelegation>> = Api::all(client.clone());
    let listed = in_time(api.list(&ListParams::default())).await.context("cannot list zonedelegations")?;
    let objects = listed.items.into_iter().filter_map(|object| object.0.ok());
    let about = |object: &ZoneDelegation| {
        let named = object.spec.zone().ok().map(|(zone, _)| zone.name().clone());
        zone.is_none_or(|zone| named.as_ref() == Some(zone))
    };
    let objects: Vec<_> = objects.filter(about).collect();
    match (objects.is_empty(), zone) {
        (true, Some(zone)) => {
            bail!(
                "no ZoneDelegation is about {zone}; `kubectl get zonedelegations` lists them. {RECORDS_MODE}"
            )
        }
        (true, None) => bail!("this cluster has no ZoneDelegation that can be read. {RECORDS_MODE}"),
        (false, _) => Ok(objects),
    }
}

async fn evict(
    client: &Client,
    object: &ZoneDelegation,
    site: &GeoTag,
    deadline: Instant,
) -> anyhow::Result<Outcome> {
    let api: Api<ZoneDelegation> = Api::all(client.clone());
    let before: BTreeSet<String> =
        answers(client, object).await?.into_iter().map(|event| event.name_any()).collect();
    let others = without(object, site);
    let listed = others.is_none();
    ask(&api, object, site).await?;
    let zone_delegation = object.name_any();
    loop {
        let live = in_time(api.get(&zone_delegation)).await?;
        if !wishes(&live).contains(site.as_str()) {
            let answers = answers(client, object).await?;
            let new = |event: &Event| !before.contains(&event.name_any()) && is_about(event, site);
            if let Some(event) = answers.into_iter().rfind(new) {
                let gone = event.reason.as_deref() == Some(EVICTED);
                let note = match others.filter(|_| gone) {
                    Some(others) => format!(
                        "nothing was taken out: the delegation has no entry of {site}; its name servers were {others}"
                    ),
                    None => event.note.unwrap_or_default(),
                };
                return Ok(Outcome { zone_delegation, evicted: gone && listed, note });
            }
        }
        if Instant::now() >= deadline {
            bail!("{}", still_waits(&live));
        }
        sleep(LOOK).await;
    }
}

/// The name servers that the status lists, if the cluster's is not among them: its tag may be mistyped.
fn without(object: &ZoneDelegation, site: &GeoTag) -> Option<String> {
    let (zone, _) = object.spec.zone().ok()?;
    // Whatever the fleet's prefix is.
    let ending = zone.ns_name(&NsPrefix::new(""), site).ok()?;
    let names: BTreeSet<&str> = object
        .status
        .iter()
        .flat_map(|status| &status.dns_servers)
        .map(|server| server.name.as_str())
        .collect();
    let listed = names.is_empty() || names.iter().any(|name| name.ends_with(ending.as_str()));
    (!listed).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// Adds the cluster to those that somebody wants taken out already.
async fn ask(api: &Api<ZoneDelegation>, object: &ZoneDelegation, site: &GeoTag) -> anyhow::Result<()> {
    let mut wishes = wishes(object);
    wishes.insert(site.to_string());
    let wish = wishes.into_iter().collect::<Vec<_>>().join(",");
    // The version: another wish that came meanwhile is not to be lost.
    let metadata = json!({"resourceVersion": object.resource_version(), "annotations": {marks::EVICT: wish}});
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    match in_time(api.patch(&object.name_any(), &PatchParams::default(), &patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            bail!("somebody changed it just now; try again")
        }
        Err(error) => Err(error.into()),
    }
}

fn wishes(object: &ZoneDelegation) -> BTreeSet<String> {
    let wish = object.annotations().get(marks::EVICT).map(String::as_str).unwrap_or_default();
    wish.split(',').map(|word| word.trim().to_ascii_lowercase()).filter(|word| !word.is_empty()).collect()
}

/// The controller's answers about an object, the oldest first.
async fn answers(client: &Client, object: &ZoneDelegation) -> anyhow::Result<Vec<Event>> {
    let api: Api<Event> = Api::namespaced(client.clone(), EVENTS_NAMESPACE);
    let listed = in_time(api.list(&ListParams::default())).await.context("cannot list events")?;
    let uid = object.meta().uid.as_deref();
    let ours = |event: &Event| {
        let reason = event.reason.as_deref();
        let regarding = event.regarding.as_ref().and_then(|regarding| regarding.uid.as_deref());
        (reason == Some(EVICTED) || reason == Some(NOT_EVICTED)) && regarding == uid
    };
    let mut events: Vec<Event> = listed.items.into_iter().filter(ours).collect();
    events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
    Ok(events)
}

/// Whether an answer names the cluster.
fn is_about(event: &Event, site: &GeoTag) -> bool {
    let note = event.note.as_deref().unwrap_or_default();
    note.split([' ', ',']).any(|word| word.eq_ignore_ascii_case(site.as_str()))
}

/// Why nothing came of it yet, as far as the object tells.
fn still_waits(live: &ZoneDelegation) -> String {
    let conditions = live.status.iter().flat_map(|status| &status.conditions);
    let bad = conditions.filter(|condition| condition.type_ == "InSync" && condition.status != "True");
    let why = bad.map(|condition| format!(" ({}: {})", condition.reason, condition.message)).next();
    format!(
        "the controller has not done it yet{}; the annotation {} asks for it until it is done or removed",
        why.unwrap_or_default(),
        marks::EVICT
    )
}
