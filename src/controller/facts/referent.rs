//! What counts of an object that a Gslb refers to, the same for every kind.

use std::collections::BTreeMap;

use gslb_core::publication::ServiceName;
use gslb_core::reference::Backends;
use gslb_core::target::Shown;

use super::{IngressFacts, ServiceFacts};
use crate::controller::cache::Key;

/// What counts of a referenced object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Referent {
    pub(crate) backends: Backends,
    pub(crate) source: AddressSource,
    /// Parts that nothing comes of, as sentences.
    pub(crate) ignored: Vec<String>,
}

/// Where the addresses of a referenced object are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AddressSource {
    /// In its own load balancer's status.
    Own(Shown),
    /// It is a Service of this other type.
    NotLoadBalancer(String),
    /// In the status of these Gateways of the Gateway API, each once.
    Gateways(Vec<Key>),
    /// At the Service of these Istio Gateways, each once.
    IstioGateways(Vec<Key>),
}

/// What counts of an object of a kind that not every cluster has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionalFacts {
    pub(crate) labels: BTreeMap<String, String>,
    /// What was read, or why it cannot be.
    pub(crate) read: Result<Optional, String>,
}

/// See [`OptionalFacts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Optional {
    Referent(Referent),
    Gateway(super::gateway::GatewayFacts),
    IstioGateway(super::istio::GatewayFacts),
    Namespace(gslb_core::tenancy::Grants),
}

impl IngressFacts {
    pub(crate) fn referent(self) -> Referent {
        let backends = Backends::ByHost(self.servers);
        Referent { backends, source: AddressSource::Own(self.shown), ignored: Vec::new() }
    }
}

impl ServiceFacts {
    pub(crate) fn referent(self, key: &Key) -> Referent {
        let service = ServiceName { namespace: key.namespace.clone(), name: key.name.clone() };
        let source = match self.kind.as_str() {
            "LoadBalancer" => AddressSource::Own(self.shown),
            _ => AddressSource::NotLoadBalancer(self.kind),
        };
        Referent { backends: Backends::Unnamed(vec![service]), source, ignored: Vec::new() }
    }
}

/// Adds what is not there yet, in order.
pub(super) fn push_once<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
