//! One pass over one Gslb: everything observed goes in, everything to be published and told comes out.
//!
//! What could be observed decides; what is wrong with one host never stops the others, and nothing that was
//! serving stops because of an invalid edit.

mod conditions;
mod exposed;
mod figures;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::condition::Condition;
use crate::decision::{Answer, Decision, Inputs, Own, Sight, decide};
use crate::endpoint::{Endpoint, host_endpoints};
use crate::fleet::Members;
use crate::group::Group;
use crate::health::{Health, HealthPolicy};
use crate::name::{DomainName, GeoTag};
use crate::peer::ToldState;
use crate::published::{EmptyAnswer, UnansweredHost, UnansweredHosts};
use crate::reference::KindUnread;
use crate::strategy::{Accepted, RawStrategy};
use crate::tenancy::Tenancy;
use crate::ttl::Ttl;
use crate::zone::{HostProblem, Zone, zone_of};

pub use self::conditions::{NO_HOSTS, WITH_WARNINGS};
pub use self::figures::{ByHealth, Figures, StrategyFigures};
pub use exposed::{Exposed, Looked};

/// A Service by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServiceName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// A host as the referenced object names it, with the Services behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// As written by the user.
    pub host: String,
    /// In the order of the object, each once.
    pub services: Vec<ServiceName>,
}

/// What became of the Gslb's reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The object names these hosts.
    Found(Vec<Server>),
    /// The spec refers to nothing that could be followed: an invalid edit. The hosts that were known go on.
    Invalid {
        /// Stable reason.
        reason: &'static str,
        /// The sentence for the user.
        message: String,
    },
    /// It names none or does not exist. Definite: what it announced is withdrawn.
    Failed {
        /// Stable reason.
        reason: &'static str,
        /// The sentence for the user.
        message: String,
    },
}

impl Resolution {
    /// The hosts that the reference names, or `known`: those that it named when it last worked.
    pub fn servers<'a>(&'a self, known: &'a [Server]) -> &'a [Server] {
        match self {
            Self::Found(servers) => servers,
            Self::Invalid { .. } | Self::Failed { .. } => known,
        }
    }

    /// As [`Self::servers`], without those whose Services say nothing: what certainly is not there has no health.
    pub fn living<'a>(&'a self, known: &'a [Server]) -> &'a [Server] {
        match self {
            Self::Found(_) | Self::Invalid { .. } => self.servers(known),
            Self::Failed { .. } => &[],
        }
    }
}

/// What the live DNSEndpoint says about one host, to stand while the peers have not given their first verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The host's record.
    pub endpoint: Endpoint,
}

/// Everything that one pass needs.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    /// `spec.strategy`.
    pub raw: RawStrategy,
    /// `spec.serviceHealthPolicy`.
    pub policy: HealthPolicy,
    /// The strategy that is in force already, from the live DNSEndpoint.
    pub in_force: Option<Accepted>,
    /// The reference.
    pub resolution: Resolution,
    /// The hosts that the last pass knew, for a reference that fails now.
    pub known: Vec<Server>,
    /// Health of every Service that a host names.
    pub services: BTreeMap<ServiceName, Health>,
    /// Services that are only another name for something outside and so never have endpoints.
    pub external_names: BTreeSet<ServiceName>,
    /// Kinds that were read before and cannot be read any more: what was read of them stands.
    pub refused: Vec<KindUnread>,
    /// What the referenced object names and nothing comes of, as sentences.
    pub ignored: Vec<String>,
    /// This cluster's addresses.
    pub exposed: Exposed,
    /// The zones that this cluster serves.
    pub zones: &'a [Zone],
    /// What the Gslb's namespace may do.
    pub tenancy: Tenancy,
    /// The group of the Gslb of the same name, if that one is served instead.
    pub other_group: Option<Group>,
    /// Hosts that an older Gslb serves, with its `namespace/name`.
    pub taken: BTreeMap<DomainName, String>,
    /// The peers' views, by host and peer.
    pub peers: BTreeMap<DomainName, BTreeMap<GeoTag, PeerSight>>,
    /// Hosts whose peers have not all given a first verdict in time.
    pub waiting: BTreeSet<DomainName>,
    /// Live records of those hosts.
    pub standing: BTreeMap<DomainName, Standing>,
    /// Those of them that are told to be down everywhere.
    pub standing_down: BTreeSet<DomainName>,
    /// This cluster.
    pub own: GeoTag,
    /// The fleet, this cluster included.
    pub members: &'a Members,
    /// `LAST_RESORT_SECONDS`.
    pub last_resort: SignedDuration,
}

/// A peer's view of a host with the words for the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerSight {
    /// What it is worth and names.
    pub sight: Sight,
    /// The state as users are told it.
    pub state: ToldState,
    /// What led to it.
    pub cause: &'static str,
}

/// One host of the Gslb after the pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReport {
    /// As written by the user.
    pub written: String,
    /// The name that is served.
    pub host: DomainName,
    /// Services behind it.
    pub services: Vec<ServiceName>,
    /// Its health here.
    pub health: Health,
    /// What was decided; `None` while the peers' first verdicts are awaited.
    pub decision: Option<Decision>,
    /// The addresses that are published for it.
    pub targets: Vec<std::net::Ipv4Addr>,
}

/// What one pass wants published and told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The records, hosts in the order of names.
    pub endpoints: Vec<Endpoint>,
    /// Hosts of this Gslb without a record.
    pub unanswered: UnansweredHosts,
    /// The strategy that is in force now; `None`: none was ever accepted, so there is no record.
    pub accepted: Option<Accepted>,
    /// The hosts that are served, in the order of the referenced object.
    pub hosts: Vec<HostReport>,
    /// `Accepted`, `Resolved`, `Serving`, `PeersReachable`, `Ready`.
    pub conditions: Vec<Condition>,
}

/// Decides one Gslb.
pub fn publish(seen: &Observation<'_>, now: Timestamp) -> Publication {
    let (accepted, spec_problems) = match seen.raw.accept() {
        Ok(accepted) => (Some(accepted), Vec::new()),
        Err(problems) => (seen.in_force.clone(), problems),
    };
    let (hosts, host_problems) = served_hosts(seen);
    let mut publication = Publication {
        endpoints: Vec::new(),
        unanswered: UnansweredHosts::default(),
        accepted,
        hosts: Vec::new(),
        conditions: Vec::new(),
    };
    if let Some(accepted) = publication.accepted.clone() {
        for server in &hosts {
            publish_host(seen, &accepted, server, &mut publication, now);
        }
        publication.endpoints.sort_by_key(order);
    } else {
        publication.unanswered = never_accepted(seen, &hosts);
    }
    publication.conditions = conditions::conditions(seen, &publication, &spec_problems, &host_problems);
    publication
}

/// The hosts of a Gslb of which no spec was ever accepted: they exist, and here they have no target. The other
/// clusters are not asked about them, so what those would say is not known.
fn never_accepted(seen: &Observation<'_>, hosts: &[Served]) -> UnansweredHosts {
    let answer = |host: &DomainName| {
        let alone = seen.members.are_known(host) && seen.members.of(host).all(|member| *member == seen.own);
        if alone { EmptyAnswer::NoData } else { EmptyAnswer::ServFail }
    };
    let entry = |Served { host, .. }: &Served| {
        (host.clone(), UnansweredHost { answer: answer(host), ttl: Ttl::DEFAULT })
    };
    UnansweredHosts(hosts.iter().map(entry).collect())
}

/// Hosts by name, the local record of a host before its own.
fn order(endpoint: &Endpoint) -> (DomainName, bool) {
    match crate::zone::announced_host(&endpoint.owner_name) {
        Some(host) => (host, false),
        None => (endpoint.owner_name.clone(), true),
    }
}

struct Served {
    written: String,
    host: DomainName,
    services: Vec<ServiceName>,
}

/// The hosts of the servers that a cluster with these zones can serve and their namespace may use, whoever else wants
/// them.
pub fn servable_hosts(servers: &[Server], zones: &[Zone], tenancy: &Tenancy) -> BTreeSet<DomainName> {
    servers.iter().filter_map(|server| servable(zones, tenancy, &server.host).ok()).collect()
}

/// The hosts that are served, duplicates merged with their Services, and the problems of the others.
fn served_hosts(seen: &Observation<'_>) -> (Vec<Served>, Vec<HostProblem>) {
    if let Some(group) = seen.other_group {
        return (Vec::new(), vec![HostProblem::OtherGroup { group }]);
    }
    let mut hosts: Vec<Served> = Vec::new();
    let mut problems = Vec::new();
    for server in seen.resolution.servers(&seen.known).iter().filter(|server| !server.host.is_empty()) {
        match check(seen, &server.host) {
            Ok(host) => match hosts.iter_mut().find(|known| known.host == host) {
                Some(known) => known.services.extend(server.services.iter().cloned()),
                None => {
                    hosts.push(Served {
                        written: server.host.clone(),
                        host,
                        services: server.services.clone(),
                    });
                }
            },
            Err(problem) => problems.push(problem),
        }
    }
    for host in &mut hosts {
        let mut once = BTreeSet::new();
        host.services.retain(|service| once.insert(service.clone()));
    }
    problems.sort();
    problems.dedup();
    (hosts, problems)
}

fn check(seen: &Observation<'_>, written: &str) -> Result<DomainName, HostProblem> {
    let host = servable(seen.zones, &seen.tenancy, written)?;
    match seen.taken.get(&host) {
        Some(winner) => Err(HostProblem::Taken { host, winner: winner.clone() }),
        None => Ok(host),
    }
}

/// The host as a cluster with these zones can serve it and its namespace may use it.
fn servable(zones: &[Zone], tenancy: &Tenancy, written: &str) -> Result<DomainName, HostProblem> {
    let host = host_in(zones, written)?;
    tenancy.host(&host)?;
    Ok(host)
}

/// The host as a cluster with these zones can serve it.
pub(crate) fn host_in(zones: &[Zone], written: &str) -> Result<DomainName, HostProblem> {
    let host = DomainName::parse(written)
        .map_err(|error| HostProblem::Invalid { host: written.to_owned(), problem: error.to_string() })?;
    let Some(zone) = zone_of(zones, &host) else {
        let zones = zones.iter().map(|zone| zone.name().as_str()).collect::<Vec<_>>().join(", ");
        return Err(HostProblem::OutsideZones { host, zones });
    };
    zone.check_host(&host)?;
    Ok(host)
}

fn publish_host(
    seen: &Observation<'_>,
    accepted: &Accepted,
    served: &Served,
    publication: &mut Publication,
    now: Timestamp,
) {
    let health = health_of(seen, served);
    let decision = decision_of(seen, accepted, served, health, now);
    let waiting = seen.waiting.contains(&served.host);
    let endpoints = endpoints_of(seen, accepted, served, &decision);
    let own = endpoints.iter().find(|endpoint| endpoint.owner_name == served.host);
    let targets = own.map(|endpoint| endpoint.targets.clone()).unwrap_or_default();
    if targets.is_empty() {
        let answer = match &decision.answer {
            // What was told before the peers have been heard anew stands.
            _ if waiting && seen.standing_down.contains(&served.host) => EmptyAnswer::NoData,
            Answer::AllDown if !waiting => EmptyAnswer::NoData,
            Answer::AllDown | Answer::Unsure | Answer::Targets { .. } => EmptyAnswer::ServFail,
        };
        let unanswered = UnansweredHost { answer, ttl: accepted.ttl };
        publication.unanswered.0.insert(served.host.clone(), unanswered);
    }
    publication.endpoints.extend(endpoints);
    publication.hosts.push(HostReport {
        written: served.written.clone(),
        host: served.host.clone(),
        services: served.services.clone(),
        health,
        decision: (!waiting).then_some(decision),
        targets,
    });
}

fn health_of(seen: &Observation<'_>, served: &Served) -> Health {
    match &seen.resolution {
        Resolution::Found(_) | Resolution::Invalid { .. } => {
            let health = |name| seen.services.get(name).copied().unwrap_or(Health::NotFound);
            seen.policy.judge(served.services.iter().map(health))
        }
        Resolution::Failed { .. } => Health::NotFound,
    }
}

fn decision_of(
    seen: &Observation<'_>,
    accepted: &Accepted,
    served: &Served,
    health: Health,
    now: Timestamp,
) -> Decision {
    let peers = seen.peers.get(&served.host).into_iter().flatten();
    let inputs = Inputs {
        strategy: accepted.strategy.clone(),
        own: Own { tag: seen.own.clone(), health, targets: seen.exposed.targets.clone() },
        peers: peers.map(|(tag, peer)| (tag.clone(), peer.sight.clone())).collect(),
        last_resort: seen.last_resort,
    };
    let mut decision = decide(&inputs, now);
    if decision.answer == Answer::AllDown && !seen.members.are_known(&served.host) {
        // A cluster that nobody has told of yet may be serving.
        decision.answer = Answer::Unsure;
    }
    decision
}

/// The records of a host: what was decided, or what stands as long as that is not certain.
fn endpoints_of(
    seen: &Observation<'_>,
    accepted: &Accepted,
    served: &Served,
    decision: &Decision,
) -> Vec<Endpoint> {
    // `served_hosts` has checked the limits already.
    let mut endpoints = host_endpoints(&served.host, decision, accepted).unwrap_or_default();
    if seen.waiting.contains(&served.host) {
        endpoints.retain(|endpoint| endpoint.owner_name != served.host);
        endpoints.extend(seen.standing.get(&served.host).map(|standing| standing.endpoint.clone()));
    } else if decision.answer == Answer::Unsure && !seen.members.are_known(&served.host) {
        // Who could be asked is not known, which is no word about those who were answered.
        endpoints.extend(standing_of_others(seen, &served.host));
    }
    endpoints
}

/// The live record of a host without this cluster's own addresses.
fn standing_of_others(seen: &Observation<'_>, host: &DomainName) -> Option<Endpoint> {
    let mut endpoint = seen.standing.get(host)?.endpoint.clone();
    endpoint.targets.retain(|target| !seen.exposed.targets.contains(target));
    (!endpoint.targets.is_empty()).then_some(endpoint)
}

#[cfg(test)]
mod tests;
