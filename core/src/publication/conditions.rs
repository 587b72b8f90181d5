//! What a pass tells about a Gslb: its conditions, each with the sentence for the user.

use std::collections::{BTreeMap, BTreeSet};

use super::{Observation, Publication, Resolution, ServiceName};
use crate::condition::{Condition, ConditionKind, Truth};
use crate::decision::{Answer, Basis};
use crate::health::Health;
use crate::name::{DomainName, GeoTag};
use crate::reference::KindUnread;
use crate::strategy::SpecProblem;
use crate::zone::HostProblem;

/// Hosts that one sentence names. No outside reference.
const MOST_NAMED: usize = 10;

/// Stable reason of `Serving`: what is wrong with the hosts is told by `Accepted` and `Resolved`.
pub const NO_HOSTS: &str = "NoHosts";
/// Stable reason of `Accepted`: what is served is not all that the spec says.
pub const WITH_WARNINGS: &str = "AcceptedWithWarnings";

/// `Accepted`, `Resolved`, `Serving`, `PeersReachable`, `Ready`.
pub(super) fn conditions(
    seen: &Observation<'_>,
    publication: &Publication,
    spec: &[SpecProblem],
    hosts: &[HostProblem],
) -> Vec<Condition> {
    let accepted = accepted_condition(seen, publication, spec, hosts);
    let resolved = resolved_condition(seen, publication);
    let serving = serving_condition(publication);
    let peers = peers_condition(seen, publication);
    let mut needed = vec![&accepted, &resolved];
    if serving.status == Truth::Unknown {
        // Not published yet.
        needed.push(&serving);
    }
    let ready = crate::condition::ready(&needed, "the records are published");
    vec![accepted, resolved, serving, peers, ready]
}

fn accepted_condition(
    seen: &Observation<'_>,
    publication: &Publication,
    spec: &[SpecProblem],
    hosts: &[HostProblem],
) -> Condition {
    let kind = ConditionKind::Accepted;
    if let Some(other_group @ HostProblem::OtherGroup { .. }) = hosts.first() {
        return Condition::bad(kind, other_group.reason(), other_group.to_string());
    }
    if !spec.is_empty() {
        let after = match &publication.accepted {
            Some(accepted) => format!("the last accepted strategy ({}) goes on", accepted.strategy.label()),
            None => "no record is published".to_owned(),
        };
        return Condition::bad(kind, "SpecInvalid", format!("{}; {after}", join(spec)));
    }
    if let Some(first) = hosts.first() {
        return Condition::bad(kind, first.reason(), join(hosts));
    }
    let warnings = match &publication.accepted {
        // Before the fleet is known every tag is.
        Some(accepted) if unread(seen, publication).next().is_none() => {
            accepted.warnings(&seen.members.all().into_iter().collect::<Vec<_>>())
        }
        Some(_) | None => Vec::new(),
    };
    let of_spec = warnings.into_iter().chain(seen.raw.ignored()).map(|warning| warning.to_string());
    let warnings: Vec<String> = seen.tenancy.warning().into_iter().chain(of_spec).collect();
    if warnings.is_empty() {
        Condition::good(kind, "Accepted", "the spec is accepted")
    } else {
        Condition::good(kind, WITH_WARNINGS, join(&warnings))
    }
}

fn resolved_condition(seen: &Observation<'_>, publication: &Publication) -> Condition {
    let kind = ConditionKind::Resolved;
    match &seen.resolution {
        Resolution::Found(_) => {}
        Resolution::Failed { reason, message } => return Condition::bad(kind, reason, message.clone()),
        Resolution::Invalid { reason, message } if publication.hosts.is_empty() => {
            return Condition::bad(kind, reason, message.clone());
        }
        Resolution::Invalid { reason, message } => {
            return Condition::bad(kind, reason, format!("{message}; the hosts that were known go on"));
        }
    }
    let service = service_problem(seen, publication);
    // Whatever is seen of them may be old.
    let refused = seen.refused.first().map(|first| {
        let sentences = seen.refused.iter().map(KindUnread::sentence_after_reading).collect::<Vec<_>>();
        (first.reason(), sentences.join("; "))
    });
    if let Some((reason, message)) = service.or(refused) {
        return Condition::bad(kind, reason, message);
    }
    match &seen.exposed.notice {
        Some((reason, message)) if seen.exposed.targets.is_empty() || seen.exposed.faulty => {
            Condition::bad(kind, reason, message.clone())
        }
        Some((reason, message)) => Condition::good(kind, reason, message.clone()),
        None if !seen.ignored.is_empty() => Condition::good(kind, "BackendIgnored", seen.ignored.join("; ")),
        None => Condition::good(kind, "Resolved", "hosts, Services and addresses were found"),
    }
}

/// What is wrong with the Services behind the hosts, with its reason.
fn service_problem(seen: &Observation<'_>, publication: &Publication) -> Option<(&'static str, String)> {
    missing_services(seen, publication)
        .map(|message| ("ServiceNotFound", message))
        .or_else(|| hosts_without_services(publication).map(|message| ("NoServices", message)))
        .or_else(|| external_names(seen, publication).map(|message| ("ServiceExternalName", message)))
}

fn missing_services(seen: &Observation<'_>, publication: &Publication) -> Option<String> {
    let found = |service| matches!(seen.services.get(service), Some(Health::Healthy | Health::Unhealthy));
    let mut missing = BTreeSet::new();
    for host in &publication.hosts {
        for service in host.services.iter().filter(|service| !found(service)) {
            let ServiceName { namespace, name } = service;
            missing.insert(format!(
                "Service {namespace}/{name} of host {} does not exist; create it or correct the reference",
                host.host
            ));
        }
    }
    (!missing.is_empty()).then(|| missing.into_iter().collect::<Vec<_>>().join("; "))
}

fn hosts_without_services(publication: &Publication) -> Option<String> {
    let bare = publication.hosts.iter().filter(|host| host.services.is_empty());
    let bare = bare.map(|host| host.host.as_str()).collect::<Vec<_>>().join(", ");
    (!bare.is_empty())
        .then(|| format!("no Service stands behind {bare}; give its rule a path with a Service backend"))
}

fn external_names(seen: &Observation<'_>, publication: &Publication) -> Option<String> {
    let services = publication.hosts.iter().flat_map(|host| &host.services);
    let external: BTreeSet<String> = services
        .filter(|service| seen.external_names.contains(service))
        .map(|ServiceName { namespace, name }| format!("{namespace}/{name}"))
        .collect();
    let names = external.into_iter().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "Service {names} is of type ExternalName, which never has endpoints and so is never healthy; use a Service with endpoints"
        )
    })
}

fn serving_condition(publication: &Publication) -> Condition {
    let kind = ConditionKind::Serving;
    if publication.hosts.is_empty() {
        return Condition::bad(
            kind,
            NO_HOSTS,
            "no host of this Gslb can be served; see Accepted and Resolved",
        );
    }
    let with = |wanted: fn(&Answer) -> bool| -> Vec<&str> {
        let hosts = publication.hosts.iter();
        let chosen =
            hosts.filter(|host| host.decision.as_ref().is_some_and(|decision| wanted(&decision.answer)));
        chosen.map(|host| host.host.as_str()).collect()
    };
    let down = with(|answer| matches!(answer, Answer::AllDown));
    let unsure = with(|answer| matches!(answer, Answer::Unsure));
    let resort = with(|answer| matches!(answer, Answer::Targets { basis: Basis::LastResort, .. }));
    let waiting: Vec<&str> = publication
        .hosts
        .iter()
        .filter(|host| host.decision.is_none() && host.targets.is_empty())
        .map(|host| host.host.as_str())
        .collect();
    if !down.is_empty() {
        let message = format!(
            "no cluster has a healthy target for {}; in every cluster check the endpoints of its Services, and Resolved for its addresses",
            down.join(", ")
        );
        return Condition::bad(kind, "NoHealthySite", message);
    }
    if !unsure.is_empty() {
        let message = format!(
            "no cluster is known to have a healthy target for {}, and some cluster does not answer; see PeersReachable",
            unsure.join(", ")
        );
        return Condition::bad(kind, "SiteUnknown", message);
    }
    if !waiting.is_empty() {
        let message = format!("the other clusters have not answered yet for {}", waiting.join(", "));
        return Condition::unknown(kind, "WaitingForPeers", message);
    }
    if !resort.is_empty() {
        let message = format!(
            "no cluster is known to have a healthy target for {}; the targets last heard of a silent cluster are answered; find out why it is silent, see PeersReachable",
            resort.join(", ")
        );
        return Condition::good(kind, "LastResort", message);
    }
    Condition::good(kind, "Strategy", answered_by(publication))
}

/// Who answers for what, so that each failover is told: hosts with the same answer together.
fn answered_by(publication: &Publication) -> String {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for host in &publication.hosts {
        let sites = match &host.decision {
            Some(decision) => {
                let sites = decision.answer.sites().map(ToString::to_string);
                format!("by {}", sites.collect::<Vec<_>>().join(", "))
            }
            None => "as before, until the other clusters have answered".to_owned(),
        };
        let here = match host.health {
            Health::Healthy => String::new(),
            health @ (Health::Unhealthy | Health::NotFound) => format!(" ({health} here)"),
        };
        groups.entry(format!("{sites}{here}")).or_default().push(host.host.as_str());
    }
    let only = groups.len() == 1;
    let group = |(sites, hosts): (String, Vec<&str>)| {
        let named = hosts.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
        match hosts.len().saturating_sub(MOST_NAMED) {
            _ if only => format!("every host is answered {sites}"),
            0 => format!("{named} {sites}"),
            more => format!("{named} and {more} more {sites}"),
        }
    };
    groups.into_iter().map(group).collect::<Vec<_>>().join("; ")
}

fn peers_condition(seen: &Observation<'_>, publication: &Publication) -> Condition {
    let kind = ConditionKind::PeersReachable;
    let mut silent = BTreeMap::new();
    let mut waiting = BTreeSet::new();
    for host in &publication.hosts {
        let peers = seen.peers.get(&host.host);
        for tag in seen.members.of(&host.host).filter(|tag| **tag != seen.own) {
            if !peers.is_some_and(|peers| peers.contains_key(tag)) {
                silent.insert(tag.clone(), format!("{tag} is Absent (its name server has no address yet)"));
            }
        }
        for (tag, peer) in peers.into_iter().flatten() {
            if !peer.state.is_answering() && host.decision.is_none() {
                waiting.insert(tag.to_string());
            } else if !peer.state.is_answering() {
                // Without the cause, which changes from try to try and is no news: the status has it.
                silent.entry(tag.clone()).or_insert_with(|| format!("{tag} is {}", peer.state));
            }
        }
    }
    if !silent.is_empty() {
        let asked = seen.peers.values().any(|peers| peers.keys().any(|tag| silent.contains_key(tag)));
        let mut sentences: Vec<String> = silent.into_values().collect();
        if asked {
            sentences
                .push("status.peers says why; check the way to the DNS servers of these clusters".to_owned());
        }
        return Condition::bad(kind, "PeerSilent", sentences.join("; "));
    }
    if let Some(host) = unread(seen, publication).next() {
        let message = format!(
            "the other clusters are not known yet: the delegation that {host} lies in could not be read, neither at the parent zone's servers nor at the provider"
        );
        return Condition::unknown(kind, "WaitingForPeers", message);
    }
    if alone(seen, publication) {
        return Condition::good(kind, "NoPeers", "this cluster is the only one of its fleet");
    }
    if !waiting.is_empty() {
        let waiting = waiting.into_iter().collect::<Vec<_>>().join(", ");
        return Condition::unknown(kind, "WaitingForPeers", format!("no answer yet from {waiting}"));
    }
    Condition::good(kind, "AllAnswered", "every other cluster answers")
}

/// Hosts of which it is not known who may serve them.
fn unread<'a>(
    seen: &'a Observation<'_>,
    publication: &'a Publication,
) -> impl Iterator<Item = &'a DomainName> {
    publication.hosts.iter().map(|host| &host.host).filter(|host| !seen.members.are_known(host))
}

/// Whether no other cluster may serve a host of this Gslb.
fn alone(seen: &Observation<'_>, publication: &Publication) -> bool {
    let other = |tag: &GeoTag| *tag != seen.own;
    match publication.hosts.as_slice() {
        [] => !seen.members.all().iter().any(other),
        hosts => !hosts.iter().any(|host| seen.members.of(&host.host).any(other)),
    }
}

fn join<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
