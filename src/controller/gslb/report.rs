//! Tells the user: status, conditions, events. From values that were decided, never from what was read back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::group::Group;
use gslb_core::name::GeoTag;
use gslb_core::peer::Tier;
use gslb_core::publication::{HostReport, Publication};
use gslb_crds::gslb::{LoadBalancer, NamespacedName, PeerStatus, Server, Serving, ServingHost};
use gslb_crds::{DnsEndpoint, Gslb, GslbStatus, LegacyGslb};
use jiff::Timestamp;
use kube::runtime::events::Event;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use super::apply::Applied;
use super::group::{Id, Served};
use super::observe::Seen;
use crate::controller::context::Context;
use crate::controller::records;
use crate::controller::statuses::{Whose, Wish};
use crate::controller::unless_gone;
use crate::controller::write::{Live, Need, Write, own_status};
use crate::peer::book::Told;

/// Name of this kind in memories and of its status as a kind of write.
pub(crate) fn what(group: Group) -> &'static str {
    match group {
        Group::Canonical => "Gslb",
        Group::Legacy => "legacy Gslb",
    }
}

/// Has the status written if it says something new, and one event per transition stored.
pub(crate) fn report(
    context: &Context,
    gslb: Served<'_>,
    seen: &Seen<'_>,
    publication: &Publication,
    applied: &Applied,
    now: Timestamp,
) {
    let what = what(gslb.group);
    let unheard = publication.hosts.iter().any(|host| host.decision.is_none());
    let told = told(context, gslb);
    if is_told(told.as_deref(), &gslb) && (unheard || records::is_unasked(&publication.conditions)) {
        // A restart, or a new host: what was told stands for the seconds until peers and provider have been heard.
        return;
    }
    let conditions = with_outcome(&publication.conditions, applied, seen, &gslb.id());
    let live_conditions = gslb.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = gslb.metadata.generation;
    let (conditions, events) =
        context.announcer.settle(what, &gslb.metadata, &conditions, live_conditions, context.wall_now());
    let mut status = status(context, seen, publication);
    keep_times(&mut status.peers, told.as_deref().map_or(&[], |told| &told.peers));
    status.conditions = conditions;
    status.observed_generation = generation;
    tell(context, gslb, &status, events, now);
}

/// Says of a legacy Gslb that it is not served any more; what its status said of health and answers is over. An event
/// only if `news`: nothing else has told it. Also for a Gslb of any group whose end has come.
pub(crate) fn retired(context: &Context, gslb: Served<'_>, ready: Condition, news: bool) {
    let now = context.now();
    let before = told(context, gslb).map(Cow::into_owned).unwrap_or_default();
    let generation = gslb.metadata.generation;
    let (conditions, mut events) = context.announcer.settle(
        what(gslb.group),
        &gslb.metadata,
        &[ready],
        &before.conditions,
        context.wall_now(),
    );
    events.retain(|_| news);
    let status = GslbStatus {
        geo_tag: context.settings.geo_tag.to_string(),
        // What it would serve again.
        hosts: before.hosts,
        servers: before.servers,
        conditions,
        observed_generation: generation,
        ..GslbStatus::default()
    };
    tell(context, gslb, &status, events, now);
}

/// Has the status written if it says something new, and tells the events.
fn tell(context: &Context, gslb: Served<'_>, status: &GslbStatus, events: Vec<Event>, now: Timestamp) {
    let live = Live::new(gslb.resource_version(), &own_status(&gslb.status));
    let wish = Wish { uid: gslb.uid(), status: json!(status) };
    let need = context.writer.need(what(gslb.group), &gslb.key(), &wish.status, Some(&live), now);
    context.statuses.tell(Whose::Gslb(gslb.id()), wish, need);
    context.announcer.publish(events, &gslb.object_reference());
}

/// Writes a status, if it still differs from what the watch shows. Gives what was needed.
pub(crate) async fn write(context: &Context, gslb: Served<'_>, desired: Value) -> kube::Result<Need> {
    let (key, what, now) = (gslb.key(), what(gslb.group), context.now());
    let shown = json!(gslb.status);
    let live = Live::new(gslb.resource_version(), &own_status(&shown));
    let need = context.writer.need(what, &key, &desired, Some(&live), now);
    if need == Need::Write {
        let body = json!({
            "apiVersion": gslb.api_version(), "kind": Gslb::kind(&()),
            "metadata": {"name": key.name, "uid": gslb.uid()}, "status": &desired,
        });
        let write = Write { what, key: &key, status: Some(&shown), desired, live: Some(&live), now };
        unless_gone(write_status(context, gslb.group, write, &body).await)?;
    }
    Ok(need)
}

/// The status as it was told last.
pub(crate) fn told<'a>(context: &Context, gslb: Served<'a>) -> Option<Cow<'a, GslbStatus>> {
    let unwritten = context.statuses.told(&Whose::Gslb(gslb.id()), gslb.metadata.uid.as_deref());
    unwritten.map(Cow::Owned).or_else(|| gslb.gslb.status.as_ref().map(Cow::Borrowed))
}

async fn write_status(context: &Context, group: Group, write: Write<'_>, body: &Value) -> kube::Result<()> {
    let (client, namespace) = (context.client.clone(), &write.key.namespace);
    match group {
        Group::Canonical => {
            let api: Api<Gslb> = Api::namespaced(client, namespace);
            context.writer.apply(write, &api, body, |gslb| json!(gslb.status)).await.map(drop)
        }
        Group::Legacy => {
            let api: Api<LegacyGslb> = Api::namespaced(client, namespace);
            context.writer.apply(write, &api, body, |legacy| json!(legacy.0.status)).await.map(drop)
        }
    }
}

/// Whether the status tells of this generation already.
fn is_told(told: Option<&GslbStatus>, gslb: &Gslb) -> bool {
    let told = told.and_then(|status| status.observed_generation);
    told.is_some() && told == gslb.metadata.generation
}

/// `Ready` is about what was really published, and `Serving` is not true of what nobody answers.
fn with_outcome(conditions: &[Condition], applied: &Applied, seen: &Seen<'_>, gslb: &Id) -> Vec<Condition> {
    let key = &gslb.key;
    let mut conditions = conditions.to_vec();
    let (reason, message) = match applied {
        // That the other group serves is what `Accepted` says.
        Applied::Published | Applied::Nothing | Applied::Twin => return conditions,
        Applied::Foreign => (
            "DNSEndpointForeign",
            format!(
                "DNSEndpoint {key} exists and does not belong to this Gslb, so it is left alone; delete it or rename the Gslb"
            ),
        ),
        Applied::KindMissing => ("DNSEndpointMissing", kind_missing()),
        Applied::Refused { why } => (
            "NotPublished",
            format!(
                "DNSEndpoint {key} could not be written ({why}), so DNS goes on with what it holds; permit gslb-bridge to write it, or mend what refuses it"
            ),
        ),
        Applied::Contested { .. } => (
            "OtherWriter",
            format!(
                "somebody else keeps changing DNSEndpoint {key} back, so it is written less often; find the other writer, for example a k8gb that still runs, and stop it"
            ),
        ),
    };
    let unanswered = match applied {
        Applied::Foreign | Applied::KindMissing => true,
        Applied::Refused { .. } => seen.endpoint.is_none(),
        Applied::Published | Applied::Nothing | Applied::Twin | Applied::Contested { .. } => false,
    };
    let untrue = |kind| kind == ConditionKind::Ready || (unanswered && kind == ConditionKind::Serving);
    for condition in conditions.iter_mut().filter(|condition| untrue(condition.kind)) {
        *condition = Condition::bad(condition.kind, reason, message.clone());
    }
    conditions
}

/// What is said where the API server has no kind DNSEndpoint.
fn kind_missing() -> String {
    format!(
        "the Kubernetes API has no kind DNSEndpoint of {}, so no record can be published; install its definition (gslb-bridge crds prints it), or, where the one that is installed has other versions only, one that serves this version",
        DnsEndpoint::api_version(&())
    )
}

fn status(context: &Context, seen: &Seen<'_>, publication: &Publication) -> GslbStatus {
    let exposed = &seen.observation.exposed.targets;
    let hosts = publication.hosts.iter().map(|host| host.written.as_str()).collect::<Vec<_>>().join(", ");
    let told = worst_told(context, publication);
    let answering = told.values().filter(|(told, _)| told.state.is_answering()).count();
    let with_targets = publication.hosts.iter().filter(|host| !host.targets.is_empty());
    GslbStatus {
        service_health: publication
            .hosts
            .iter()
            .map(|host| (host.written.clone(), host.health.to_string()))
            .collect(),
        healthy_records: with_targets
            .map(|host| (host.host.to_string(), host.targets.iter().map(ToString::to_string).collect()))
            .collect(),
        geo_tag: context.settings.geo_tag.to_string(),
        hosts: (!hosts.is_empty()).then_some(hosts),
        load_balancer: (!exposed.is_empty())
            .then(|| LoadBalancer { exposed_ips: exposed.iter().map(ToString::to_string).collect() }),
        servers: publication.hosts.iter().map(server).collect(),
        conditions: Vec::new(),
        observed_generation: None,
        peers_answering: (!told.is_empty()).then(|| format!("{answering}/{}", told.len())),
        peers: told.into_iter().map(peer).collect(),
        serving: serving(publication),
    }
}

fn server(host: &HostReport) -> Server {
    let services = host.services.iter();
    let services = services
        .map(|service| NamespacedName { namespace: service.namespace.clone(), name: service.name.clone() });
    Server { host: Some(host.written.clone()), services: services.collect() }
}

fn serving(publication: &Publication) -> Option<Serving> {
    let mut sites: BTreeSet<GeoTag> = BTreeSet::new();
    let mut hosts = Vec::new();
    for host in &publication.hosts {
        let Some(decision) = &host.decision else { continue };
        sites.extend(decision.answer.sites().cloned());
        hosts.push(ServingHost {
            host: host.host.to_string(),
            sites: decision.answer.sites().map(ToString::to_string).collect(),
            reason: decision.answer.reason().to_owned().into(),
        });
    }
    let sites = sites.iter().map(GeoTag::as_str).collect::<Vec<_>>().join(",");
    (!hosts.is_empty()).then(|| Serving { sites: Some(sites).filter(|sites| !sites.is_empty()), hosts })
}

/// The peers over all hosts of the Gslb: for each the view that is worth least.
fn worst_told(context: &Context, publication: &Publication) -> BTreeMap<GeoTag, (Told, BTreeSet<String>)> {
    let mut worst = BTreeMap::new();
    for host in &publication.hosts {
        let told = context.book.told(&host.host);
        for (tag, peer) in context.book.sights(&host.host) {
            let Some(told) = told.get(&tag) else { continue };
            let addresses = peer.sight.targets.iter().map(ToString::to_string);
            let entry = worst.entry(tag).or_insert_with(|| (*told, BTreeSet::new()));
            if told.state > entry.0.state {
                entry.0 = *told;
            }
            if peer.sight.tier != Tier::Down {
                entry.1.extend(addresses);
            }
        }
    }
    worst
}

fn peer((tag, (told, addresses)): (GeoTag, (Told, BTreeSet<String>))) -> PeerStatus {
    PeerStatus {
        geo_tag: tag.to_string(),
        state: told.state.to_string(),
        reason: Some(told.cause.to_owned()),
        since: Some(told.since.to_string()),
        addresses: addresses.into_iter().collect(),
    }
}

/// A state that was told before, by an earlier run too, goes on since then.
fn keep_times(peers: &mut [PeerStatus], told: &[PeerStatus]) {
    for peer in peers {
        let same = |told: &&PeerStatus| {
            (&told.geo_tag, &told.state, &told.reason) == (&peer.geo_tag, &peer.state, &peer.reason)
        };
        if let Some(told) = told.iter().find(same) {
            peer.since.clone_from(&told.since);
        }
    }
}
