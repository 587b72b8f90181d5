//! This cluster's own name server addresses: its glue (contract §2.7).

use gslb_core::target::{Shown, Targets};

use super::cache::Key;
use super::context::Context;
use crate::config::DnsService;

/// This cluster's name server addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glue {
    /// Never empty.
    pub(crate) targets: Targets,
    /// Addresses of the source that are left out, as a sentence.
    pub(crate) notice: Option<String>,
}

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
    /// The source has none that can be published.
    #[error(
        "{what} has no address that can be published: {ignored}; give it an IPv4 address, or set CLUSTER_EXPOSED_IPS"
    )]
    OnlyIgnored {
        /// The source.
        what: String,
        /// The addresses and why.
        ignored: String,
    },
}

impl NoGlue {
    /// Stable reason for conditions.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::ServiceNotFound(_) => "DnsServiceNotFound",
            Self::NotOneService { .. } => "DnsServiceAmbiguous",
            Self::NoSource(_) => "NoGlueSource",
            Self::NoAddress(_) => "NoGlueAddress",
            Self::OnlyIgnored { .. } => "GlueAddressIgnored",
        }
    }
}

/// The addresses at which peers and resolvers reach this cluster's DNS.
pub(crate) fn glue(context: &Context) -> Result<Glue, NoGlue> {
    if let Some(targets) = context.configured_addresses() {
        return Ok(Glue { targets, notice: None });
    }
    let own = &context.settings.namespace;
    match &context.settings.dns_service {
        DnsService::Named { namespace, name } => {
            let key = Key::new(namespace.clone(), name.clone());
            let facts = context.services.get(&key).ok_or_else(|| NoGlue::ServiceNotFound(key.clone()))?;
            of_source(&format!("DNS Service {key}"), facts.shown)
        }
        DnsService::CoreDnsLoadBalancer => {
            let found = context.services.select(|key, facts| key.namespace == *own && facts.dns_server);
            match found.as_slice() {
                [(key, facts)] => of_source(&format!("DNS Service {key}"), facts.shown.clone()),
                _ => Err(NoGlue::NotOneService { found: found.len(), namespace: own.clone() }),
            }
        }
        DnsService::LabelledIngress => {
            // Only the own namespace: whoever may label an Ingress elsewhere must not move our glue (F-74).
            let found = context.ingresses.select(|key, facts| key.namespace == *own && facts.ip_source);
            let (key, facts) = found.first().ok_or_else(|| NoGlue::NoSource(own.clone()))?;
            of_source(&format!("Ingress {key}"), facts.shown.clone())
        }
    }
}

fn of_source(what: &str, shown: Shown) -> Result<Glue, NoGlue> {
    let ignored = shown.ignored();
    if !shown.targets.is_empty() {
        let notice = ignored.map(|ignored| {
            format!("{what} has addresses that can be published, and {ignored}; nothing is to be done while resolvers have IPv4")
        });
        return Ok(Glue { targets: shown.targets, notice });
    }
    Err(match ignored {
        Some(ignored) => NoGlue::OnlyIgnored { what: what.to_owned(), ignored },
        None => NoGlue::NoAddress(what.to_owned()),
    })
}
