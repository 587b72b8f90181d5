//! The objects of a test, as a user would write them.

use gslb_mocks::kube::ApiServer;
use serde_json::{Value, json};

pub(crate) const HOST: &str = "app.cloud.example.com";
pub(crate) const OWN: &str = "192.0.2.10";

/// A Gslb in namespace `web` that refers to an Ingress of its name.
pub(crate) fn gslb(name: &str, strategy: Value) -> Value {
    json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"name": name, "namespace": "web"},
        "spec": {
            "strategy": strategy,
            "resourceRef": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": name},
        },
    })
}

/// A Gslb in namespace `web` that refers to an object of its name.
pub(crate) fn gslb_to(name: &str, api_version: &str, kind: &str) -> Value {
    let mut object = gslb(name, round_robin());
    object["spec"]["resourceRef"] = json!({"apiVersion": api_version, "kind": kind, "name": name});
    object
}

/// The object with this annotation.
pub(crate) fn annotated(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["annotations"][key] = json!(value);
    object
}

/// The object with this label.
pub(crate) fn labelled(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = json!(value);
    object
}

/// The object in another namespace.
pub(crate) fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// A Service `name` with a ready endpoint.
pub(crate) fn backend(api: &ApiServer, name: &str) {
    for object in [service(name), slice(name, true)] {
        api.apply_object(object).unwrap();
    }
}

/// A Service of type LoadBalancer.
pub(crate) fn load_balancer_service(name: &str, addresses: &[&str]) -> Value {
    let mut object = service(name);
    object["spec"]["type"] = json!("LoadBalancer");
    object["status"] = load_balancer(addresses);
    object
}

/// An Ingress as [`ingress`], whose load balancer has only this host name.
pub(crate) fn ingress_at(name: &str, host: &str, load_balancer: &str) -> Value {
    let mut object = ingress(name, &[host], &[]);
    object["status"]["loadBalancer"]["ingress"] = json!([{"hostname": load_balancer}]);
    object
}

pub(crate) fn round_robin() -> Value {
    json!({"type": "roundRobin"})
}

/// An Ingress with one rule per host, each with a Service of the Ingress's name.
pub(crate) fn ingress(name: &str, hosts: &[&str], addresses: &[&str]) -> Value {
    let path = json!({"path": "/", "pathType": "Prefix",
        "backend": {"service": {"name": name, "port": {"number": 80}}}});
    let rules: Vec<Value> =
        hosts.iter().map(|host| json!({"host": host, "http": {"paths": [&path]}})).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "web"},
        "spec": {"rules": rules}, "status": load_balancer(addresses),
    })
}

fn load_balancer(addresses: &[&str]) -> Value {
    let entries: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    json!({"loadBalancer": {"ingress": entries}})
}

pub(crate) fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "web"},
        "spec": {"ports": [{"port": 80}]},
    })
}

pub(crate) fn slice(name: &str, ready: bool) -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": "web", "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
    })
}

/// Ingress, Service and a ready EndpointSlice.
pub(crate) fn application(api: &ApiServer, name: &str, hosts: &[&str]) {
    for object in [ingress(name, hosts, &[OWN]), service(name), slice(name, true)] {
        api.apply_object(object).unwrap();
    }
}

/// The cluster's namespaces and its DNS Service.
pub(crate) fn cluster(api: &ApiServer) {
    for name in ["web", "gslb"] {
        api.apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .unwrap();
    }
    api.apply_object(dns_service(&["192.0.2.53"])).unwrap();
}

pub(crate) fn dns_service(addresses: &[&str]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns", "namespace": "gslb"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 53}]}, "status": load_balancer(addresses),
    })
}
