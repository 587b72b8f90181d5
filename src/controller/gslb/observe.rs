//! Reads everything that decides about one Gslb. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::contest::Wants;
use gslb_core::fleet::Members;
use gslb_core::health::{Health, HealthPolicy, service_health};
use gslb_core::name::DomainName;
use gslb_core::publication::{Observation, Resolution, Server, ServiceName, servable_hosts};
use gslb_core::zone::Zone;
use gslb_crds::{Gslb, GslbStatus, marks};
use jiff::Timestamp;

use super::embedded;
use super::group::{Id, Served};
use super::live::{EndpointFacts, raw_strategy};
use super::reference::{self, Reader};
use super::report;
use super::twin::Twins;
use crate::controller::cache::Key;
use crate::controller::context::{Context, signed};
use crate::controller::registry::Dependency;
use crate::controller::slices::service_key;

/// What one pass saw, and when it should look again by itself.
pub(crate) struct Seen<'a> {
    pub(crate) observation: Observation<'a>,
    pub(crate) endpoint: Option<EndpointFacts>,
    pub(crate) look_again: Option<Timestamp>,
    /// Names of other Gslbs whose hosts changed hands.
    pub(crate) affected: Vec<Key>,
}

/// Observes one Gslb. `ingress`: whether its embedded Ingress is as wanted.
///
/// # Errors
/// Something is being read for the first time, and what was told stands meanwhile; then the time until which that
/// is worth waiting for.
pub(crate) fn observe<'a>(
    context: &'a Context,
    gslb: Served<'_>,
    twins: &Twins,
    ingress: embedded::Applied,
    zones: &'a [Zone],
    members: &'a Members,
    now: Timestamp,
) -> Result<Seen<'a>, Timestamp> {
    let id = gslb.id();
    let mut dependencies = BTreeSet::new();
    let mut reader = Reader::new(context, &id, zones, &mut dependencies, now);
    let known = known_servers(context, gslb);
    let tenancy = reader.tenancy(&known)?;
    let mut referenced = reader.resolve(gslb, ingress)?;
    let (exposed, held_until) = reader.addresses(&gslb, &tenancy, &mut referenced)?;
    let (refused, look_again) = (reader.refused, reader.look_again);
    let services = health_of(context, &id, &referenced.resolution, &known, &mut dependencies);
    let external_names = external_names(context, &services);
    context.registry.depend_only(&id, &dependencies);
    let endpoint = context.endpoints.get(&id.key);
    let raw = raw_strategy(&gslb.spec.strategy);
    let hosts = servable_hosts(referenced.resolution.servers(&known), zones, &tenancy);
    let changed = want(context, &gslb, twins, hosts, &referenced.resolution);
    if changed.is_some() {
        // The list of all hosts is long: a pass that changes nothing does not make it.
        context.book.watch(|| context.registry.hosts(), context.now());
    }
    let affected = changed.unwrap_or_default();
    let mut seen = Seen {
        observation: Observation {
            raw,
            policy: HealthPolicy::from_spec(gslb.spec.service_health_policy.as_deref()),
            in_force: endpoint.as_ref().and_then(EndpointFacts::in_force),
            resolution: referenced.resolution,
            known,
            services,
            external_names,
            refused,
            ignored: referenced.ignored,
            exposed,
            zones,
            tenancy,
            other_group: twins.rival.as_ref().map(|rival| rival.group),
            taken: BTreeMap::new(),
            peers: BTreeMap::new(),
            waiting: BTreeSet::new(),
            standing: endpoint.iter().flat_map(|facts| facts.standing.iter().cloned()).collect(),
            standing_down: endpoint.as_ref().map(|facts| facts.down.clone()).unwrap_or_default(),
            own: context.settings.geo_tag.clone(),
            members,
            last_resort: signed(context.settings.periods.last_resort),
        },
        endpoint,
        look_again: held_until.into_iter().chain(look_again).min(),
        affected,
    };
    if twins.rival.is_none() {
        look_at_hosts(context, &id.key, &mut seen, now);
    }
    Ok(seen)
}

/// Records the hosts that a Gslb wants, before any Gslb is published: at start, all of them first.
pub(crate) fn register(context: &Context, gslb: Served<'_>, twins: &Twins, zones: &[Zone]) {
    let id = gslb.id();
    let now = context.now();
    let mut dependencies = BTreeSet::new();
    let mut reader = Reader::new(context, &id, zones, &mut dependencies, now);
    let known = known_servers(context, gslb);
    let tenancy = reader.tenancy_so_far(&known);
    let resolution = match reader.resolve(gslb, Ok(())) {
        Ok(referenced) => referenced.resolution,
        // Its kind is not read yet: it wants what it wanted.
        Err(_) => Resolution::Found(known.clone()),
    };
    let hosts = servable_hosts(resolution.servers(&known), zones, &tenancy);
    want(context, &gslb, twins, hosts, &resolution);
}

/// Who else wants the hosts, and what the peers say about them.
fn look_at_hosts(context: &Context, key: &Key, seen: &mut Seen<'_>, now: Timestamp) {
    let servers = seen.observation.resolution.servers(&seen.observation.known);
    for host in servable_hosts(servers, seen.observation.zones, &seen.observation.tenancy) {
        if let Some(winner) = context.registry.winner_over(key, &host) {
            seen.observation.taken.insert(host, winner.to_string());
            continue;
        }
        seen.observation.peers.insert(host.clone(), context.book.sights(&host));
        if let Some(until) = context.book.waits_until(&host, now) {
            seen.look_again = Some(seen.look_again.map_or(until, |earlier| earlier.min(until)));
            seen.observation.waiting.insert(host);
        }
    }
}

fn want(
    context: &Context,
    gslb: &Gslb,
    twins: &Twins,
    hosts: BTreeSet<DomainName>,
    resolution: &Resolution,
) -> Option<Vec<Key>> {
    if twins.rival.is_some() {
        return None;
    }
    let accepted = raw_strategy(&gslb.spec.strategy).accept().ok();
    let hold = accepted.as_ref().and_then(|accepted| accepted.hold);
    let hold = hold.map_or_else(|| context.default_hold(), signed);
    let accepted = accepted.is_some()
        || context.endpoints.get(&Key::of(gslb)).is_some_and(|facts| facts.in_force().is_some());
    // What certainly is not there serves nothing either: its hosts are kept, behind whoever can serve them.
    let referent_gone = matches!(resolution, Resolution::Failed { .. });
    let hosts: BTreeMap<DomainName, _> = hosts.into_iter().map(|host| (host, hold)).collect();
    context.registry.want(&Key::of(gslb), Wants { hosts, created: twins.created, accepted, referent_gone })
}

fn health_of(
    context: &Context,
    gslb: &Id,
    resolution: &Resolution,
    known: &[Server],
    dependencies: &mut BTreeSet<Dependency>,
) -> BTreeMap<ServiceName, Health> {
    let services: BTreeSet<&ServiceName> =
        resolution.living(known).iter().flat_map(|server| &server.services).collect();
    let watched: Vec<Dependency> = services.iter().map(|service| Dependency::service(service)).collect();
    context.registry.depend(gslb, watched.iter().cloned());
    dependencies.extend(watched);
    let health = |service: &ServiceName| {
        service_health(context.services.contains(&service_key(service)), context.slices.ready(service))
    };
    services.into_iter().map(|service| (service.clone(), health(service))).collect()
}

fn external_names(context: &Context, services: &BTreeMap<ServiceName, Health>) -> BTreeSet<ServiceName> {
    let external = |service: &&ServiceName| {
        context.services.get(&service_key(service)).is_some_and(|facts| facts.kind == "ExternalName")
    };
    services.keys().filter(external).cloned().collect()
}

/// The hosts that the last pass knew, as far as it was told; those of which there are records were known, too.
fn known_servers(context: &Context, gslb: Served<'_>) -> Vec<Server> {
    let mut known = report::told(context, gslb).map(|status| told_servers(&status)).unwrap_or_default();
    let uid = gslb.metadata.uid.as_deref().unwrap_or_default();
    let published = context.endpoints.get(&gslb.key()).filter(|facts| facts.is_for(uid));
    for host in published.iter().flat_map(EndpointFacts::hosts) {
        if known.iter().all(|server| DomainName::parse(&server.host).as_ref() != Ok(host)) {
            known.push(Server { host: host.to_string(), services: Vec::new() });
        }
    }
    if !known.is_empty() {
        return known;
    }
    // Some hosts stand in the Gslb itself, whatever becomes of the object that it refers to.
    let reference = gslb.spec.resource_ref.as_ref().map(reference::raw);
    let reference =
        reference.and_then(|raw| raw.accept(gslb.metadata.namespace.as_deref().unwrap_or_default()).ok());
    let host = reference.filter(|reference| reference.kind.is_without_hosts());
    let host = host.and_then(|_| marks::annotation(gslb.gslb, marks::HOSTNAME));
    host.map(|host| Server { host: host.trim().to_owned(), services: Vec::new() }).into_iter().collect()
}

fn told_servers(status: &GslbStatus) -> Vec<Server> {
    let servers = status.servers.iter();
    servers
        .filter_map(|server| {
            let services = server.services.iter().map(|service| ServiceName {
                namespace: service.namespace.clone(),
                name: service.name.clone(),
            });
            Some(Server { host: server.host.clone()?, services: services.collect() })
        })
        .collect()
}
