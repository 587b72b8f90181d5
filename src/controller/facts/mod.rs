//! From Kubernetes objects to the facts that a pass needs. Pure.

pub(crate) mod annotated;
pub(crate) mod embedded;
pub(crate) mod gateway;
pub(crate) mod istio;
pub(crate) mod referent;

use std::collections::BTreeMap;

use gslb_core::publication::{Server, ServiceName};
use gslb_core::target::Shown;
use gslb_crds::marks;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::ResourceExt;

use annotated::Annotated;
use embedded::Embedded;

/// Label by which a slice names its Service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// What counts of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IngressFacts {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) servers: Vec<Server>,
    /// The addresses of its load balancer.
    pub(crate) shown: Shown,
    /// Labelled as the source of the cluster's DNS addresses.
    pub(crate) ip_source: bool,
    /// What a Gslb wrote, if it belongs to one.
    pub(crate) embedded: Option<Box<Embedded>>,
    /// What it asks of a Gslb of its own.
    pub(crate) annotated: Box<Annotated>,
}

/// What counts of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceFacts {
    pub(crate) labels: BTreeMap<String, String>,
    /// The addresses of its load balancer, or those inside the cluster if that is its type.
    pub(crate) shown: Shown,
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
        let embedded = Embedded::read(&ingress).map(Box::new);
        let annotated = Box::new(Annotated::read(&ingress));
        let labels = ingress.labels().clone();
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
        let shown = shown(entries.map(|entry| (entry.ip, entry.hostname)));
        Self { labels, servers: servers.collect(), shown, ip_source, embedded, annotated }
    }
}

impl From<Service> for ServiceFacts {
    fn from(service: Service) -> Self {
        let label = |key: &str, value: &str| service.labels().get(key).is_some_and(|found| found == value);
        let dns_server = label(marks::APP_NAME, marks::APP_NAME_COREDNS)
            && !label(marks::APP_COMPONENT, marks::APP_COMPONENT_METRICS);
        let labels = service.labels().clone();
        let spec = service.spec.unwrap_or_default();
        let entries = service.status.and_then(|status| status.load_balancer).and_then(|lb| lb.ingress);
        let entries = entries.unwrap_or_default().into_iter();
        let kind = spec.type_.unwrap_or_else(|| "ClusterIP".to_owned());
        let shown = match kind.as_str() {
            // A headless Service says so in the place of an address.
            "ClusterIP" => {
                Shown::read(spec.cluster_ips.iter().flatten().map(String::as_str).filter(|ip| *ip != "None"))
            }
            _ => shown(entries.map(|entry| (entry.ip, entry.hostname))),
        };
        Self { labels, shown, kind, dns_server }
    }
}

/// What the entries of a load balancer's status show: an address, a host name or both each.
fn shown(entries: impl Iterator<Item = (Option<String>, Option<String>)>) -> Shown {
    let (ips, names): (Vec<_>, Vec<_>) = entries.unzip();
    Shown {
        host_names: names.into_iter().flatten().collect(),
        ..Shown::read(ips.iter().flatten().map(String::as_str))
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

    fn service(kind: &str) -> ServiceFacts {
        let service = json!({
            "metadata": {"name": "dns", "namespace": "web"},
            "spec": {"type": kind, "clusterIPs": ["10.0.0.1", "None"]},
            "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example.net"}]}},
        });
        serde_json::from_value::<Service>(service).unwrap().into()
    }

    /// Conformance 28.
    #[test]
    fn a_service_shows_the_addresses_of_its_type() {
        let host_names = ["lb.example.net".to_owned()].into();
        assert_eq!(service("LoadBalancer").shown, Shown { host_names, ..Shown::read(["192.0.2.1"]) });
        assert_eq!(service("ClusterIP").shown, Shown::read(["10.0.0.1"]));
    }

    /// Conformance 24.
    #[test]
    fn an_ingress_has_a_server_for_each_rule_with_the_services_in_the_order_of_its_paths() {
        let path =
            |name: &str| json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": name}}});
        let ingress = json!({
            "metadata": {"name": "a", "namespace": "web"},
            "spec": {"rules": [
                {"host": "b.example.com", "http": {"paths": [path("two")]}},
                {"host": "a.example.com", "http": {"paths": [path("two"), path("one")]}},
            ]},
        });
        let service = |name: &str| ServiceName { namespace: "web".into(), name: name.into() };
        let server = |host: &str, services| Server { host: host.into(), services };
        assert_eq!(
            IngressFacts::from(serde_json::from_value::<Ingress>(ingress).unwrap()).servers,
            [
                server("b.example.com", vec![service("two")]),
                server("a.example.com", vec![service("two"), service("one")]),
            ]
        );
    }

    /// F-19.
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
