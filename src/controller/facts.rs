//! From Kubernetes objects to the facts that a pass needs. Pure.

use std::net::{IpAddr, Ipv4Addr};

use gslb_core::publication::{Server, ServiceName};
use gslb_core::target::is_usable;
use gslb_crds::marks;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;

/// Label by which a slice names its Service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// An address that clients can be sent to: IPv4, also in its IPv6-mapped form, and not one that leads nowhere.
pub(crate) fn usable(text: &str) -> Option<Ipv4Addr> {
    let address = match text.trim().parse().ok()? {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => address.to_ipv4_mapped()?,
    };
    is_usable(address).then_some(address)
}

/// One entry of a load balancer's status.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoadBalancerEntry {
    pub(crate) ip: Option<String>,
    pub(crate) hostname: Option<String>,
}

/// What counts of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IngressFacts {
    pub(crate) servers: Vec<Server>,
    pub(crate) load_balancer: Vec<LoadBalancerEntry>,
    /// Labelled as the source of the cluster's DNS addresses.
    pub(crate) ip_source: bool,
}

/// What counts of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceFacts {
    pub(crate) load_balancer: Vec<LoadBalancerEntry>,
    pub(crate) cluster_ips: Vec<String>,
    pub(crate) kind: String,
    /// Labelled as the cluster's DNS server (contract §2.7).
    pub(crate) dns_server: bool,
}

/// What counts of an EndpointSlice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SliceFacts {
    pub(crate) service: Option<String>,
    /// An endpoint with an address is ready, or does not say (contract §2.5).
    pub(crate) ready: bool,
}

impl From<Ingress> for IngressFacts {
    fn from(ingress: Ingress) -> Self {
        let namespace = ingress.namespace().unwrap_or_default();
        let ip_source = ingress.labels().get(marks::IP_SOURCE).is_some_and(|value| value == marks::TRUE);
        let rules = ingress.spec.and_then(|spec| spec.rules).unwrap_or_default();
        let servers = rules.into_iter().map(|rule| {
            // A rule without `http` is a host without Services (F-19).
            let paths = rule.http.map(|http| http.paths).unwrap_or_default();
            let services =
                paths.into_iter().filter_map(|path| path.backend.service).map(|service| service.name);
            let services = services.map(|name| ServiceName { namespace: namespace.clone(), name }).collect();
            Server { host: rule.host.unwrap_or_default(), services }
        });
        let entries = ingress.status.and_then(|status| status.load_balancer).and_then(|lb| lb.ingress);
        let entries = entries.unwrap_or_default().into_iter();
        Self {
            servers: servers.collect(),
            load_balancer: entries.map(|e| LoadBalancerEntry { ip: e.ip, hostname: e.hostname }).collect(),
            ip_source,
        }
    }
}

impl From<Service> for ServiceFacts {
    fn from(service: Service) -> Self {
        let label = |key: &str, value: &str| service.labels().get(key).is_some_and(|found| found == value);
        let dns_server = label(marks::APP_NAME, marks::APP_NAME_COREDNS)
            && !label(marks::APP_COMPONENT, marks::APP_COMPONENT_METRICS);
        let spec = service.spec.unwrap_or_default();
        let entries = service.status.and_then(|status| status.load_balancer).and_then(|lb| lb.ingress);
        let entries = entries.unwrap_or_default().into_iter();
        Self {
            load_balancer: entries.map(|e| LoadBalancerEntry { ip: e.ip, hostname: e.hostname }).collect(),
            cluster_ips: spec.cluster_ips.unwrap_or_default(),
            kind: spec.type_.unwrap_or_else(|| "ClusterIP".to_owned()),
            dns_server,
        }
    }
}

impl From<EndpointSlice> for SliceFacts {
    fn from(slice: EndpointSlice) -> Self {
        let service = slice.labels().get(SERVICE_NAME).cloned();
        let ready = slice.endpoints.iter().any(|endpoint| {
            let ready = endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true);
            ready && !endpoint.addresses.is_empty()
        });
        Self { service, ready }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slice(endpoints: serde_json::Value) -> SliceFacts {
        let slice = json!({
            "metadata": {"name": "a-1", "namespace": "web", "labels": {"kubernetes.io/service-name": "a"}},
            "addressType": "IPv4", "endpoints": endpoints,
        });
        serde_json::from_value::<EndpointSlice>(slice).unwrap().into()
    }

    #[test]
    fn an_endpoint_that_does_not_say_whether_it_is_ready_is_ready() {
        assert!(slice(json!([{"addresses": ["10.0.0.1"]}])).ready);
        assert!(slice(json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}])).ready);
    }

    #[test]
    fn an_endpoint_that_is_not_ready_or_has_no_address_does_not_count() {
        assert!(!slice(json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": false}}])).ready);
        assert!(!slice(json!([{"addresses": []}])).ready);
        assert!(!slice(json!(null)).ready);
    }

    #[test]
    fn only_addresses_that_clients_can_reach_are_usable() {
        assert_eq!(usable("::ffff:192.0.2.1"), Some(Ipv4Addr::new(192, 0, 2, 1)));
        for bad in ["0.0.0.0", "2001:db8::1", "224.0.0.1", "name", ""] {
            assert_eq!(usable(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_rule_without_http_is_a_host_without_services() {
        let ingress = json!({
            "metadata": {"name": "a", "namespace": "web"},
            "spec": {"rules": [{"host": "a.example.com"}]},
        });
        let facts = IngressFacts::from(serde_json::from_value::<Ingress>(ingress).unwrap());
        assert_eq!(facts.servers, [Server { host: "a.example.com".into(), services: vec![] }]);
    }
}
