//! From objects to inputs: one bad entry never takes another one with it.
//!
//! Everything here is pure; what is left out is returned as sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::str::FromStr;
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;
use gslb_core::zone::{Zone, announced_host, local_targets_name};
use gslb_crds::{DnsEndpoint, Endpoint, ZoneDelegation, marks};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::input::{HostInput, Inputs, SetData, SetInput, ZoneInput};
use super::order::Order;
use super::settings::DnsSettings;

/// TTL of an endpoint without `recordTTL`, as k8gb's plugin answers it (contract §8.4).
const FALLBACK_TTL: i64 = 60;

/// Who was first: the oldest object keeps a name that two objects have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// The object only holds places: one of a Gslb that was never accepted. It stands behind all others.
    holds_places: bool,
    created: Timestamp,
    /// `namespace/name`, or the name of an object without namespace.
    object: String,
}

/// What one DNSEndpoint publishes.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    claim: Claim,
    hosts: Vec<Arc<HostInput>>,
    /// A controller of ours wrote it.
    ours: bool,
    problems: Vec<String>,
}

/// What one ZoneDelegation says.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegated {
    claim: Claim,
    zone: Option<Zone>,
    ns_names: BTreeSet<DomainName>,
    problems: Vec<String>,
}

impl Published {
    /// Reads an object.
    pub fn read(object: &DnsEndpoint) -> Self {
        let mut hosts = BTreeMap::new();
        let (unanswered, mut problems) = object.unanswered_hosts();
        for endpoint in &object.spec.endpoints {
            if let Err(problem) = add_endpoint(&mut hosts, endpoint, &mut problems) {
                problems.push(format!("endpoint {:?} is left out: {problem}", endpoint.dns_name));
            }
        }
        for (owner_name, entry) in unanswered.0 {
            hosts.entry(owner_name.clone()).or_insert_with(|| empty(owner_name, entry.answer, entry.ttl));
        }
        add_counterparts(&mut hosts);
        let holds_places = object.spec.endpoints.is_empty() && matches!(object.accepted_strategy(), Ok(None));
        let claim = Claim { holds_places, ..claim(object) };
        for problem in &mut problems {
            *problem = format!("DNSEndpoint {}: {problem}", claim.object);
        }
        let ours = marks::OURS.iter().any(|mark| object.annotations().contains_key(*mark));
        Self { claim, hosts: hosts.into_values().map(Arc::new).collect(), ours, problems }
    }

    /// Whether a controller of ours wrote the object: it names a host as long as there is one.
    pub fn is_ours(&self) -> bool {
        self.ours
    }

    /// The hosts that a later reading of the object does not name.
    pub fn hosts_without(&self, later: Option<&Self>) -> impl Iterator<Item = &Arc<HostInput>> {
        let named: BTreeSet<&DomainName> =
            later.iter().flat_map(|later| &later.hosts).map(|host| &host.owner_name).collect();
        self.hosts.iter().filter(move |host| !named.contains(&host.owner_name))
    }

    /// Takes over the hosts that are equal in an earlier reading of the object, so that what was built from them
    /// is kept.
    pub fn keep_unchanged(mut self, earlier: &Self) -> Self {
        let known: BTreeMap<&DomainName, &Arc<HostInput>> =
            earlier.hosts.iter().map(|host| (&host.owner_name, host)).collect();
        for host in &mut self.hosts {
            match known.get(&host.owner_name) {
                Some(same) if **same == *host => *host = Arc::clone(same),
                Some(_) | None => {}
            }
        }
        self
    }
}

impl Delegated {
    /// Reads an object. If it names no zone, that of the earlier reading is served on: an invalid edit never stops
    /// what is served.
    pub fn read(object: &ZoneDelegation, earlier: Option<&Self>) -> Self {
        let claim = claim(object);
        let mut problems = Vec::new();
        let mut ns_names = BTreeSet::new();
        for server in object.status.iter().flat_map(|status| &status.dns_servers) {
            match DomainName::parse(&server.name) {
                Ok(name) => _ = ns_names.insert(name),
                Err(problem) => {
                    problems.push(format!("name server {:?} is left out: {problem}", server.name))
                }
            }
        }
        let zone = match object.spec.zone() {
            Ok((zone, problem)) => {
                problems.extend(problem);
                Some(zone)
            }
            Err(problem) => {
                let earlier = earlier.and_then(|earlier| earlier.zone.clone());
                let what = match earlier {
                    Some(_) => "it keeps its last valid form",
                    None => "the zone is not served",
                };
                problems.push(format!("{what}: {problem}"));
                earlier
            }
        };
        for problem in &mut problems {
            *problem = format!("ZoneDelegation {}: {problem}", claim.object);
        }
        Self { claim, zone, ns_names, problems }
    }
}

/// Settles which object has which name, and adds what the configuration says. The same objects in any order give
/// the same result.
pub fn compose(
    settings: &DnsSettings,
    delegated: &[Arc<Delegated>],
    published: &[Arc<Published>],
) -> (Inputs, Vec<String>) {
    let mut problems = Vec::new();
    let zones = compose_zones(settings, delegated, &mut problems);
    let mut published: Vec<&Published> = published.iter().map(AsRef::as_ref).collect();
    published.sort_by(|left, right| left.claim.cmp(&right.claim));
    let mut holders: BTreeMap<&DomainName, &Claim> = BTreeMap::new();
    let mut hosts = Vec::new();
    for object in published {
        problems.extend_from_slice(&object.problems);
        for host in &object.hosts {
            let name = &host.owner_name;
            let refused = if let Some(holder) = holders.get(name) {
                Some(format!("the older DNSEndpoint {} publishes it", holder.object))
            } else if zones.contains_key(name) {
                Some("it is the apex of a zone, which holds SOA and NS only".to_owned())
            } else if !zones.keys().any(|apex| name.is_within(apex)) {
                Some("it lies in no zone that is served here".to_owned())
            } else {
                None
            };
            match refused {
                None => {
                    holders.insert(name, &object.claim);
                    hosts.push(Arc::clone(host));
                }
                // A name that only follows from another one is not worth a second sentence.
                Some(_) if host.sets.is_empty() => {}
                Some(reason) => {
                    problems
                        .push(format!("DNSEndpoint {}: {name} is left out: {reason}", object.claim.object));
                }
            }
        }
    }
    (Inputs { zones: zones.into_values().collect(), hosts }, problems)
}

fn compose_zones(
    settings: &DnsSettings,
    delegated: &[Arc<Delegated>],
    problems: &mut Vec<String>,
) -> BTreeMap<DomainName, ZoneInput> {
    let mut delegated: Vec<&Delegated> = delegated.iter().map(AsRef::as_ref).collect();
    delegated.sort_by(|left, right| left.claim.cmp(&right.claim));
    let mut zones = BTreeMap::new();
    for object in delegated {
        problems.extend_from_slice(&object.problems);
        let Some(zone) = &object.zone else { continue };
        let input = zones.entry(zone.name().clone()).or_insert_with(|| zone_input(settings, zone, problems));
        input.ns_names.extend(object.ns_names.iter().cloned());
    }
    // An object for a zone wins over the configuration (contract §5.2).
    for zone in &settings.zones {
        zones.entry(zone.name().clone()).or_insert_with(|| zone_input(settings, zone, problems));
    }
    zones
}

/// A zone with the name server names that follow from the configuration: they stay whatever a look-up says.
fn zone_input(settings: &DnsSettings, zone: &Zone, problems: &mut Vec<String>) -> ZoneInput {
    let mut ns_name = |tag| {
        zone.ns_name(&settings.ns_prefix, tag)
            .map_err(|problem| {
                problems
                    .push(format!("zone {}: the name server of {tag} is left out: {problem}", zone.name()));
            })
            .ok()
    };
    let own_ns_name = settings.own_tag.as_ref().and_then(&mut ns_name);
    let mut ns_names: BTreeSet<DomainName> = settings.peer_tags.iter().filter_map(ns_name).collect();
    ns_names.extend(own_ns_name.clone());
    ZoneInput { apex: zone.name().clone(), ns_names, own_ns_name, negative_ttl: zone.negative_ttl() }
}

fn add_endpoint(
    hosts: &mut BTreeMap<DomainName, HostInput>,
    endpoint: &Endpoint,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let owner_name = DomainName::parse(&endpoint.dns_name).map_err(|problem| problem.to_string())?;
    let ttl = Ttl::from_secs(endpoint.record_ttl.unwrap_or(FALLBACK_TTL)).unwrap_or_else(|problem| {
        problems.push(format!("the TTL of {owner_name} is read as {}: {problem}", Ttl::DEFAULT.as_secs()));
        Ttl::DEFAULT
    });
    let data = read_targets(endpoint, &owner_name, problems)?;
    let order = match &data {
        SetData::A(targets) => Order::from_labels(&endpoint.labels, targets),
        SetData::Aaaa(_) | SetData::Txt(_) => Order::Fixed,
    };
    let host = hosts.entry(owner_name.clone()).or_insert_with(|| empty(owner_name, EmptyAnswer::NoData, ttl));
    let same_type = |set: &SetInput| std::mem::discriminant(&set.data) == std::mem::discriminant(&data);
    if host.sets.iter().any(same_type) {
        return Err(format!("{} records of this name are listed before", endpoint.record_type));
    }
    host.ttl = host.ttl.min(ttl);
    host.sets.push(SetInput { ttl, data, order });
    Ok(())
}

fn read_targets(
    endpoint: &Endpoint,
    owner_name: &DomainName,
    problems: &mut Vec<String>,
) -> Result<SetData, String> {
    // k8gb's plugin does not look at the type, so one that is left out means A (contract §8.2).
    match endpoint.record_type.to_ascii_uppercase().as_str() {
        "A" | "" => addresses(endpoint, owner_name, "an IPv4", problems).map(SetData::A),
        "AAAA" => addresses(endpoint, owner_name, "an IPv6", problems).map(SetData::Aaaa),
        "TXT" if endpoint.targets.is_empty() => Err("it has no target".to_owned()),
        "TXT" => Ok(SetData::Txt(endpoint.targets.clone())),
        other => Err(format!("records of type {other} are not served; A, AAAA and TXT are")),
    }
}

/// The valid addresses in their order, each once.
fn addresses<T: FromStr + Eq + Hash + Copy>(
    endpoint: &Endpoint,
    owner_name: &DomainName,
    kind: &str,
    problems: &mut Vec<String>,
) -> Result<Vec<T>, String> {
    let mut valid = Vec::with_capacity(endpoint.targets.len());
    for target in &endpoint.targets {
        match target.parse() {
            Ok(address) if valid.contains(&address) => {}
            Ok(address) => valid.push(address),
            Err(_) => {
                problems.push(format!("target {target:?} of {owner_name} is left out: not {kind} address"));
            }
        }
    }
    if valid.is_empty() { Err(format!("none of its targets is {kind} address")) } else { Ok(valid) }
}

/// A host and its `localtargets-` name exist together: the one without records is empty, not unknown.
fn add_counterparts(hosts: &mut BTreeMap<DomainName, HostInput>) {
    let text_only = |host: &HostInput| {
        !host.sets.is_empty() && host.sets.iter().all(|set| matches!(set.data, SetData::Txt(_)))
    };
    let counterparts: Vec<HostInput> = hosts
        .values()
        .filter(|host| !text_only(host))
        .filter_map(|host| {
            let name =
                announced_host(&host.owner_name).or_else(|| local_targets_name(&host.owner_name).ok())?;
            Some(empty(name, EmptyAnswer::NoData, host.ttl))
        })
        .collect();
    for host in counterparts {
        hosts.entry(host.owner_name.clone()).or_insert(host);
    }
}

fn empty(owner_name: DomainName, empty: EmptyAnswer, ttl: Ttl) -> HostInput {
    HostInput { owner_name, sets: Vec::new(), empty, ttl }
}

fn claim<K: Resource>(object: &K) -> Claim {
    let meta = object.meta();
    // The API server sets the time at creation; an object without it cannot have come first.
    let created = meta.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0);
    Claim { holds_places: false, created, object: object_name(meta) }
}

/// `namespace/name`, or the name alone.
pub(super) fn object_name(meta: &kube::api::ObjectMeta) -> String {
    let name = meta.name.as_deref().unwrap_or_default();
    meta.namespace.as_ref().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests;
