//! Reads everything that decides about one Gslb. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::contest::Wants;
use gslb_core::health::{Health, HealthPolicy, service_health};
use gslb_core::name::DomainName;
use gslb_core::publication::{Exposed, Observation, Resolution, Server, ServiceName, servable_hosts};
use gslb_core::target::{LastAddresses, Shown, Targets, hold_addresses};
use gslb_core::zone::Zone;
use gslb_crds::Gslb;
use gslb_crds::gslb::ResourceRef;
use jiff::Timestamp;
use kube::ResourceExt;

use super::live::{EndpointFacts, raw_strategy};
use crate::controller::cache::Key;
use crate::controller::context::{Context, signed};
use crate::controller::registry::Dependency;
use crate::controller::slices::service_key;

/// What one pass saw, and when it should look again by itself.
pub(crate) struct Seen<'a> {
    pub(crate) observation: Observation<'a>,
    pub(crate) endpoint: Option<EndpointFacts>,
    pub(crate) look_again: Option<Timestamp>,
    /// Other Gslbs whose hosts changed hands.
    pub(crate) affected: Vec<Key>,
}

/// The referenced object as far as this product reads it.
struct Referenced {
    resolution: Resolution,
    shown: Shown,
    /// For sentences: `Ingress web/shop`.
    what: String,
}

/// Observes one Gslb.
pub(crate) fn observe<'a>(context: &'a Context, gslb: &Gslb, zones: &'a [Zone], now: Timestamp) -> Seen<'a> {
    let key = Key::of(gslb);
    let mut dependencies = BTreeSet::new();
    let referenced = resolve(context, &key, gslb.spec.resource_ref.as_ref(), &mut dependencies);
    let known = known_servers(gslb);
    let services = health_of(context, &key, &referenced.resolution, &known, &mut dependencies);
    let external_names = external_names(context, &services);
    context.registry.depend_only(&key, &dependencies);
    let endpoint = context.endpoints.get(&key);
    let raw = raw_strategy(&gslb.spec.strategy);
    let changed = want(context, gslb, &referenced.resolution, &known, zones);
    if changed.is_some() {
        // The list of all hosts is long: a pass that changes nothing does not make it.
        context.book.watch(|| context.registry.hosts(), context.now());
    }
    let affected = changed.unwrap_or_default();
    let (exposed, held_until) = exposed(context, &key, gslb, &referenced, now);
    let mut seen = Seen {
        observation: Observation {
            raw,
            policy: HealthPolicy::from_spec(gslb.spec.service_health_policy.as_deref()),
            in_force: endpoint.as_ref().and_then(EndpointFacts::in_force),
            resolution: referenced.resolution,
            known,
            services,
            external_names,
            exposed,
            zones,
            taken: BTreeMap::new(),
            peers: BTreeMap::new(),
            waiting: BTreeSet::new(),
            standing: endpoint.as_ref().map(|facts| facts.standing.clone()).unwrap_or_default(),
            standing_down: endpoint.as_ref().map(|facts| facts.down.clone()).unwrap_or_default(),
            own: context.settings.geo_tag.clone(),
            members: &context.members,
            last_resort: signed(context.settings.periods.last_resort),
        },
        endpoint,
        look_again: held_until,
        affected,
    };
    look_at_hosts(context, &key, &mut seen, now);
    seen
}

/// Records the hosts that a Gslb wants, before any Gslb is published: at start, all of them first.
pub(crate) fn register(context: &Context, gslb: &Gslb, zones: &[Zone]) {
    let key = Key::of(gslb);
    let referenced = resolve(context, &key, gslb.spec.resource_ref.as_ref(), &mut BTreeSet::new());
    want(context, gslb, &referenced.resolution, &known_servers(gslb), zones);
}

/// Who else wants the hosts, and what the peers say about them.
fn look_at_hosts(context: &Context, key: &Key, seen: &mut Seen<'_>, now: Timestamp) {
    let servers = match &seen.observation.resolution {
        Resolution::Found(servers) => servers,
        Resolution::Invalid { .. } | Resolution::Failed { .. } => &seen.observation.known,
    };
    for host in servable_hosts(servers, seen.observation.zones) {
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
    resolution: &Resolution,
    known: &[Server],
    zones: &[Zone],
) -> Option<Vec<Key>> {
    let servers = match resolution {
        Resolution::Found(servers) => servers,
        Resolution::Invalid { .. } | Resolution::Failed { .. } => known,
    };
    let hold = raw_strategy(&gslb.spec.strategy).accept().ok().and_then(|accepted| accepted.hold);
    let hold = hold.map_or_else(|| context.default_hold(), signed);
    let accepted = raw_strategy(&gslb.spec.strategy).accept().is_ok()
        || context.endpoints.get(&Key::of(gslb)).is_some_and(|facts| facts.in_force().is_some());
    let hosts: BTreeMap<DomainName, _> =
        servable_hosts(servers, zones).into_iter().map(|host| (host, hold)).collect();
    let created = gslb.creation_timestamp().map(|time| time.0);
    context.registry.want(&Key::of(gslb), Wants { hosts, created, accepted })
}

/// Follows the reference. The dependency is recorded before the object is read, so no change is missed.
fn resolve(
    context: &Context,
    gslb: &Key,
    reference: Option<&ResourceRef>,
    dependencies: &mut BTreeSet<Dependency>,
) -> Referenced {
    let of = |resolution| Referenced { resolution, shown: Shown::default(), what: String::new() };
    let invalid = |reason, message: String| of(Resolution::Invalid { reason, message });
    let failed = |reason, message: String| of(Resolution::Failed { reason, message });
    let Some(reference) = reference else {
        let message = "spec.resourceRef is empty; name the Ingress that serves the hosts (none is made from spec.ingress)";
        return invalid("NoReference", message.to_owned());
    };
    let (api_version, kind) =
        (reference.api_version.as_deref().unwrap_or_default(), reference.kind.as_deref().unwrap_or_default());
    if (api_version, kind) != ("networking.k8s.io/v1", "Ingress") {
        let message = format!(
            "spec.resourceRef has APIVersion:{api_version}, Kind:{kind}, which is not supported; refer to an Ingress of networking.k8s.io/v1"
        );
        return invalid("ReferenceUnsupported", message);
    }
    let Some(name) = reference.name.as_deref() else {
        let message = "spec.resourceRef has no name; write the name of the Ingress";
        return invalid("ReferenceUnnamed", message.to_owned());
    };
    let ingress = Key::new(reference.namespace.clone().unwrap_or_else(|| gslb.namespace.clone()), name);
    let dependency = Dependency::Ingress(ingress.clone());
    context.registry.depend(gslb, [dependency.clone()]);
    dependencies.insert(dependency);
    let what = format!("Ingress {ingress}");
    let Some(facts) = context.ingresses.get(&ingress) else {
        return failed(
            "ReferenceNotFound",
            format!("{what} does not exist; create it or correct spec.resourceRef"),
        );
    };
    if facts.servers.iter().all(|server| server.host.is_empty()) {
        return failed("NoHosts", format!("{what} has no rule with a host; add one"));
    }
    Referenced { resolution: Resolution::Found(facts.servers), shown: facts.shown, what }
}

fn health_of(
    context: &Context,
    gslb: &Key,
    resolution: &Resolution,
    known: &[Server],
    dependencies: &mut BTreeSet<Dependency>,
) -> BTreeMap<ServiceName, Health> {
    let servers = match resolution {
        Resolution::Found(servers) => servers,
        Resolution::Invalid { .. } => known,
        Resolution::Failed { .. } => return BTreeMap::new(),
    };
    let services: BTreeSet<&ServiceName> = servers.iter().flat_map(|server| &server.services).collect();
    let watched: Vec<Dependency> =
        services.iter().map(|service| Dependency::Service((*service).clone())).collect();
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

/// The addresses of the application here: the configured ones, or those of the referenced object, held for a
/// while when a living object shows none.
fn exposed(
    context: &Context,
    key: &Key,
    gslb: &Gslb,
    referenced: &Referenced,
    now: Timestamp,
) -> (Exposed, Option<Timestamp>) {
    let mut remembered = context.addresses.lock().expect("no panic while the addresses are locked");
    if matches!(referenced.resolution, Resolution::Failed { .. }) {
        remembered.insert(key.clone(), None);
        return (Exposed::default(), None);
    }
    if let Some(targets) = context.configured_addresses() {
        return (Exposed::configured(targets), None);
    }
    if matches!(referenced.resolution, Resolution::Invalid { .. }) {
        // Nothing shows addresses, and nothing says that the last ones are gone.
        let last = remembered.get(key).cloned().unwrap_or_else(|| last_addresses(gslb));
        let targets = last.map(|last| last.targets).unwrap_or_default();
        return (Exposed { targets, notice: None }, None);
    }
    // The status speaks for the time before this process only: it lags behind what a pass decided.
    let last = remembered.get(key).cloned().unwrap_or_else(|| last_addresses(gslb));
    let standing = hold_addresses(referenced.shown.targets.clone(), last, now);
    remembered.insert(key.clone(), standing.last);
    (Exposed::of(&referenced.what, &referenced.shown, standing.targets), standing.held_until)
}

/// What the status still tells of the addresses, after a restart.
fn last_addresses(gslb: &Gslb) -> Option<LastAddresses> {
    let exposed = &gslb.status.as_ref()?.load_balancer.as_ref()?.exposed_ips;
    let targets: Targets = exposed.iter().filter_map(|address| address.parse().ok()).collect();
    (!targets.is_empty()).then_some(LastAddresses { targets, missing_since: None })
}

/// The hosts that the last pass knew.
fn known_servers(gslb: &Gslb) -> Vec<Server> {
    let servers = gslb.status.iter().flat_map(|status| &status.servers);
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
