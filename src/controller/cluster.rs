//! This cluster's own name server addresses: its glue (contract §2.7).

use gslb_core::target::Targets;

use super::cache::Key;
use super::context::Context;
use super::facts::{LoadBalancerEntry, usable};
use crate::config::DnsService;

/// Why there is no address. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoGlue {
    /// The Service that was named does not exist.
    #[error("DNS Service {0} does not exist; create it or correct DNS_SERVICE")]
    ServiceNotFound(Key),
    /// Not exactly one Service carries the labels.
    #[error(
        "{found} Services in namespace {namespace} are labelled app.kubernetes.io/name=coredns; exactly one is needed, or DNS_SERVICE must name one"
    )]
    NotOneService {
        /// How many.
        found: usize,
        /// Where.
        namespace: String,
    },
    /// Nothing is labelled as the source.
    #[error(
        "no Ingress in namespace {0} is labelled k8gb.io/ip-source=true; label one, set COREDNS_SERVICE_TYPE=LoadBalancer or DNS_SERVICE, or list addresses in CLUSTER_EXPOSED_IPS"
    )]
    NoSource(String),
    /// The source has no address yet.
    #[error("{0} has no load balancer address yet; check what should assign it, or set CLUSTER_EXPOSED_IPS")]
    NoAddress(String),
}

impl NoGlue {
    /// Stable reason for conditions.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::ServiceNotFound(_) => "DnsServiceNotFound",
            Self::NotOneService { .. } => "DnsServiceAmbiguous",
            Self::NoSource(_) => "NoGlueSource",
            Self::NoAddress(_) => "NoGlueAddress",
        }
    }
}

/// The addresses at which peers and resolvers reach this cluster's DNS.
pub(crate) fn glue(context: &Context) -> Result<Targets, NoGlue> {
    if let Some(addresses) = context.configured_addresses() {
        return Ok(addresses);
    }
    let own = &context.settings.namespace;
    match &context.settings.dns_service {
        DnsService::Named { namespace, name } => {
            let key = Key::new(namespace.clone(), name.clone());
            let facts = context.services.get(&key).ok_or_else(|| NoGlue::ServiceNotFound(key.clone()))?;
            of_service(&key, &facts.kind, &facts.cluster_ips, &facts.load_balancer)
        }
        DnsService::CoreDnsLoadBalancer => {
            let found = context.services.select(|key, facts| key.namespace == *own && facts.dns_server);
            match found.as_slice() {
                [(key, facts)] => of_service(key, &facts.kind, &facts.cluster_ips, &facts.load_balancer),
                _ => Err(NoGlue::NotOneService { found: found.len(), namespace: own.clone() }),
            }
        }
        DnsService::LabelledIngress => {
            // Only the own namespace: whoever may label an Ingress elsewhere must not move our glue (F-74).
            let found = context.ingresses.select(|key, facts| key.namespace == *own && facts.ip_source);
            let (key, facts) = found.first().ok_or_else(|| NoGlue::NoSource(own.clone()))?;
            non_empty(addresses(&facts.load_balancer), || format!("Ingress {key}"))
        }
    }
}

fn of_service(
    key: &Key,
    kind: &str,
    cluster_ips: &[String],
    entries: &[LoadBalancerEntry],
) -> Result<Targets, NoGlue> {
    let found = match kind {
        "ClusterIP" => cluster_ips.iter().filter_map(|ip| usable(ip)).collect(),
        _ => addresses(entries),
    };
    non_empty(found, || format!("DNS Service {key}"))
}

fn addresses(entries: &[LoadBalancerEntry]) -> Targets {
    entries.iter().filter_map(|entry| usable(entry.ip.as_deref()?)).collect()
}

fn non_empty(found: Targets, what: impl Fn() -> String) -> Result<Targets, NoGlue> {
    if found.is_empty() { Err(NoGlue::NoAddress(what())) } else { Ok(found) }
}
