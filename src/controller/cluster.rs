//! This cluster's own name server addresses: its glue (contract §2.7).

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::publication::Looked;
use gslb_core::target::{Shown, Targets};
use jiff::Timestamp;

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
    /// The source has a host name whose addresses are not known.
    #[error("{0}; check EDGE_DNS_SERVERS, or set CLUSTER_EXPOSED_IPS")]
    NameNotResolved(String),
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
            Self::NameNotResolved(_) => "GlueNameNotResolved",
            Self::OnlyIgnored { .. } => "GlueAddressIgnored",
        }
    }
}

/// The addresses at which peers and resolvers reach this cluster's DNS.
pub(crate) fn glue(context: &Context, now: Timestamp) -> Result<Glue, NoGlue> {
    if let Some(targets) = context.configured_addresses() {
        return Ok(Glue { targets, notice: None });
    }
    let (what, shown) = source(context)?;
    of_source(&what, &Looked::new(shown, |name| context.names.read(name, now).0))
}

/// Until when the first word about a host name of the source is worth waiting for.
pub(crate) fn awaited_until(context: &Context, now: Timestamp) -> Option<Timestamp> {
    let first_words = names(context).into_iter().map(|name| context.names.read(&name, now));
    let awaited = first_words.filter(|(known, until)| known.is_awaited() && *until > now);
    awaited.map(|(_, until)| until).max()
}

/// The host names that the addresses come from.
pub(crate) fn names(context: &Context) -> BTreeSet<DomainName> {
    if context.configured_addresses().is_some() {
        return BTreeSet::new();
    }
    let shown = source(context).map(|(_, shown)| shown).unwrap_or_default();
    shown.host_names.iter().filter_map(|name| DomainName::parse(name).ok()).collect()
}

/// The object that shows the addresses, for sentences, with what it shows.
fn source(context: &Context) -> Result<(String, Shown), NoGlue> {
    let own = &context.settings.namespace;
    match &context.settings.dns_service {
        DnsService::Named { namespace, name } => {
            let key = Key::new(namespace.clone(), name.clone());
            let facts = context.services.get(&key).ok_or_else(|| NoGlue::ServiceNotFound(key.clone()))?;
            Ok((format!("DNS Service {key}"), facts.shown))
        }
        DnsService::CoreDnsLoadBalancer => {
            let found = context.services.select(|key, facts| key.namespace == *own && facts.dns_server);
            match found.as_slice() {
                [(key, facts)] => Ok((format!("DNS Service {key}"), facts.shown.clone())),
                _ => Err(NoGlue::NotOneService { found: found.len(), namespace: own.clone() }),
            }
        }
        DnsService::LabelledIngress => {
            // Only the own namespace: whoever may label an Ingress elsewhere must not move our glue (F-74).
            let found = context.ingresses.select(|key, facts| key.namespace == *own && facts.ip_source);
            let (key, facts) = found.first().ok_or_else(|| NoGlue::NoSource(own.clone()))?;
            Ok((format!("Ingress {key}"), facts.shown.clone()))
        }
    }
}

fn of_source(what: &str, looked: &Looked) -> Result<Glue, NoGlue> {
    let trouble = looked.trouble(what, true);
    if !looked.is_complete() {
        // A part of the addresses would take the others out of the delegation.
        let why = trouble.unwrap_or_else(|| format!("the host names of {what} are being looked up"));
        return Err(NoGlue::NameNotResolved(why));
    }
    let ignored = looked.ignored();
    if !looked.targets.is_empty() {
        let ignored = ignored.map(|ignored| {
            format!("{what} has addresses that can be published, and {ignored}; nothing is to be done while resolvers have IPv4")
        });
        let notices: Vec<String> = trouble.into_iter().chain(ignored).collect();
        let notice = (!notices.is_empty()).then(|| notices.join("; "));
        return Ok(Glue { targets: looked.targets.clone(), notice });
    }
    Err(match (trouble, ignored) {
        (Some(trouble), _) => NoGlue::NameNotResolved(trouble),
        (None, Some(ignored)) => NoGlue::OnlyIgnored { what: what.to_owned(), ignored },
        (None, None) => NoGlue::NoAddress(what.to_owned()),
    })
}
