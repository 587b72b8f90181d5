//! The objects that each cluster starts with: a small application, and the Service of our own DNS.

use serde_json::{Value, json};

use super::topology::{HOST, NAMESPACE, OWN_NAMESPACE, Site};

/// Name of the sample's Gslb, Ingress and Service.
pub(super) const APPLICATION: &str = "app";
/// Its only EndpointSlice.
pub(super) const SLICE: &str = "app-1";

/// How the sample's host is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// All sites that are healthy.
    RoundRobin,
    /// The primary while it is healthy.
    Failover(Site),
}

/// Everything, in the order in which it is made.
pub(super) fn all(site: Site, strategy: Strategy) -> Vec<Value> {
    vec![
        namespace(NAMESPACE),
        namespace(OWN_NAMESPACE),
        dns_service(site),
        service(),
        endpoint_slice(site, true),
        ingress(site),
        gslb(strategy),
    ]
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Its addresses become the cluster's glue (contract §2.7).
fn dns_service(site: Site) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "gslb-bridge-dns", "namespace": OWN_NAMESPACE,
            "labels": {"app.kubernetes.io/name": "coredns"},
        },
        "spec": {
            "type": "LoadBalancer", "selector": {"app.kubernetes.io/name": "coredns"},
            "ports": [
                {"name": "dns-udp", "port": 53, "protocol": "UDP"},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
            ],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": site.dns()}]}},
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": APPLICATION, "namespace": NAMESPACE},
        "spec": {"selector": {"app": APPLICATION}, "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
    })
}

/// The Service's one endpoint, ready or not.
pub(super) fn endpoint_slice(site: Site, ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "name": SLICE, "namespace": NAMESPACE,
            "labels": {"kubernetes.io/service-name": APPLICATION},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [site.target()], "conditions": {"ready": ready}}],
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    })
}

fn ingress(site: Site) -> Value {
    let backend = json!({"service": {"name": APPLICATION, "port": {"name": "http"}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": APPLICATION, "namespace": NAMESPACE},
        "spec": {
            "ingressClassName": "sandbox",
            "rules": [{"host": HOST, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": site.target()}]}},
    })
}

/// The Gslb. Its TTL is short, so that resolvers follow what happens.
pub(super) fn gslb(strategy: Strategy) -> Value {
    let mut spec = json!({"dnsTtlSeconds": 5});
    match strategy {
        Strategy::RoundRobin => spec["type"] = json!("roundRobin"),
        Strategy::Failover(primary) => {
            spec["type"] = json!("failover");
            spec["primaryGeoTag"] = json!(primary);
        }
    }
    json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
        "metadata": {"name": APPLICATION, "namespace": NAMESPACE},
        "spec": {
            "resourceRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": APPLICATION},
            "strategy": spec,
        },
    })
}
