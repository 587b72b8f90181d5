//! References to routes of the Gateway API.

use serde_json::{Value, json};

use crate::kinds::install_gateway_api;
use crate::objects::{HOST, OWN, annotated, backend, gslb_to, in_namespace, service, slice};
use crate::world::Cluster;

const V1: &str = "gateway.networking.k8s.io/v1";
const LOCAL: &str = "localtargets-app.cloud.example.com";

pub(crate) fn gateway(name: &str, addresses: &[&str]) -> Value {
    let addresses: Vec<Value> =
        addresses.iter().map(|address| json!({"type": "IPAddress", "value": address})).collect();
    json!({
        "apiVersion": V1, "kind": "Gateway", "metadata": {"name": name, "namespace": "web"},
        "spec": {"gatewayClassName": "any", "listeners": []}, "status": {"addresses": addresses},
    })
}

fn route(api_version: &str, kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "web"},
        "spec": {"parentRefs": [{"name": "edge"}], "rules": [{"backendRefs": [{"name": "app", "port": 80}]}]},
    })
}

pub(crate) fn http_route(name: &str, hosts: &[&str], gateway: &str, service: &str) -> Value {
    let mut object = route(V1, "HTTPRoute", name);
    object["spec"]["hostnames"] = json!(hosts);
    object["spec"]["parentRefs"] = json!([{"name": gateway}]);
    object["spec"]["rules"] = json!([{"backendRefs": [{"name": service, "port": 80}]}]);
    object
}

/// A cluster with the Gateway API, a Gateway `edge` with our address, and a Service `app`.
fn cluster() -> Cluster {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(gateway("edge", &[OWN])).unwrap();
    cluster
}

async fn is_served(cluster: &Cluster) {
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

/// Conformance 22.
#[tokio::test(start_paused = true)]
async fn routes_with_host_names_are_served_in_every_version() {
    let kinds = [
        (V1, "HTTPRoute"),
        (V1, "GRPCRoute"),
        (V1, "TLSRoute"),
        ("gateway.networking.k8s.io/v1alpha2", "TLSRoute"),
        ("gateway.networking.k8s.io/v1alpha3", "TLSRoute"),
    ];
    for (api_version, kind) in kinds {
        let cluster = cluster();
        let mut object = route(api_version, kind, "app");
        object["spec"]["hostnames"] = json!([HOST]);
        cluster.api.apply_object(object).unwrap();
        cluster.api.apply_object(gslb_to("app", api_version, kind)).unwrap();
        let _running = cluster.run();
        is_served(&cluster).await;
    }
}

/// Conformance 23.
#[tokio::test(start_paused = true)]
async fn a_tlsroute_of_every_version_with_listed_addresses_has_a_dnsendpoint_with_one_owner() {
    for version in ["v1", "v1alpha2", "v1alpha3"] {
        let api_version = format!("gateway.networking.k8s.io/{version}");
        let cluster = cluster();
        let mut object = route(&api_version, "TLSRoute", "app");
        object["spec"]["hostnames"] = json!([HOST]);
        cluster.api.apply_object(object).unwrap();
        let gslb = gslb_to("app", &api_version, "TLSRoute");
        let listed = annotated(gslb, "k8gb.io/exposed-ip-addresses", "192.0.2.1,192.0.2.2");
        cluster.api.apply_object(listed).unwrap();
        let _running = cluster.run();
        let both: &[&str] = &["192.0.2.1", "192.0.2.2"];
        cluster.publishes("app", &[(LOCAL, both), (HOST, both)]).await;
        let endpoint = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
        assert_eq!(endpoint["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    }
}

/// Conformance 22, 26.
#[tokio::test(start_paused = true)]
async fn routes_without_host_names_take_the_one_of_the_annotation() {
    let versions = ["gateway.networking.k8s.io/v1alpha2", V1];
    for (kind, api_version) in
        versions.into_iter().flat_map(|version| [("TCPRoute", version), ("UDPRoute", version)])
    {
        let cluster = cluster();
        cluster.api.apply_object(route(api_version, kind, "app")).unwrap();
        let gslb = gslb_to("app", api_version, kind);
        cluster.api.apply_object(gslb.clone()).unwrap();
        let _running = cluster.run();
        let message = cluster.tells("app", "Resolved", "False", "NoHostname").await;
        let sentence = format!("{kind} web/app requires k8gb.io/hostname annotation");
        assert!(message.starts_with(&sentence), "{message}");
        cluster.api.apply_object(annotated(gslb, "k8gb.io/hostname", HOST)).unwrap();
        is_served(&cluster).await;
    }
}

/// F-09.
#[tokio::test(start_paused = true)]
async fn every_change_of_route_gateway_and_backend_is_seen_without_the_period() {
    let cluster = cluster();
    cluster.api.apply_object(gslb_to("app", V1, "HTTPRoute")).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Resolved", "False", "ReferenceNotFound").await;
    cluster.api.apply_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    is_served(&cluster).await;
    cluster.api.apply_object(gateway("edge", &["192.0.2.12"])).unwrap();
    cluster.publishes("app", &[(LOCAL, &["192.0.2.12"]), (HOST, &["192.0.2.12"])]).await;
    cluster.api.put_object(http_route("app", &["new.cloud.example.com"], "edge", "app")).unwrap();
    let new = [
        ("localtargets-new.cloud.example.com", &["192.0.2.12"][..]),
        ("new.cloud.example.com", &["192.0.2.12"]),
    ];
    cluster.publishes("app", &new).await;
    cluster.api.put_object(http_route("app", &["new.cloud.example.com"], "edge", "other")).unwrap();
    cluster.publishes("app", &[]).await;
    backend(&cluster.api, "other");
    cluster.publishes("app", &new).await;
    cluster.api.delete(V1, "HTTPRoute", "web", "app").unwrap();
    cluster.publishes("app", &[]).await;
}

/// Conformance 25; F-28.
#[tokio::test(start_paused = true)]
async fn a_backend_in_another_namespace_counts() {
    let cluster = cluster();
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    cluster.api.apply_object(namespace).unwrap();
    let mut object = http_route("app", &[HOST], "edge", "remote");
    object["spec"]["rules"][0]["backendRefs"][0]["namespace"] = json!("other");
    cluster.api.apply_object(object).unwrap();
    cluster.api.apply_object(in_namespace(service("remote"), "other")).unwrap();
    cluster.api.apply_object(in_namespace(slice("remote", true), "other")).unwrap();
    cluster.api.apply_object(gslb_to("app", V1, "HTTPRoute")).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    cluster.api.apply_object(in_namespace(slice("remote", false), "other")).unwrap();
    cluster.publishes("app", &[]).await;
}

/// F-20.
#[tokio::test(start_paused = true)]
async fn two_listeners_of_one_gateway_are_one_and_two_gateways_are_told() {
    let cluster = cluster();
    let mut object = http_route("app", &[HOST], "edge", "app");
    object["spec"]["parentRefs"] =
        json!([{"name": "edge", "sectionName": "http"}, {"name": "edge", "sectionName": "https"}]);
    cluster.api.apply_object(object.clone()).unwrap();
    cluster.api.apply_object(gslb_to("app", V1, "HTTPRoute")).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    object["spec"]["parentRefs"] = json!([{"name": "edge"}, {"name": "other"}]);
    cluster.api.put_object(object).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "GatewayAmbiguous").await;
    assert!(
        message.contains("exactly 1 Gateway expected in spec.parentRefs of HTTPRoute web/app but 2"),
        "{message}"
    );
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.put_object(http_route("app", &[HOST], "other", "app")).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "GatewayNotFound").await;
    assert!(message.starts_with("Gateway web/other does not exist"), "{message}");
    cluster.publishes("app", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_route_without_host_names_is_told() {
    let cluster = cluster();
    cluster.api.apply_object(http_route("app", &[], "edge", "app")).unwrap();
    cluster.api.apply_object(gslb_to("app", V1, "HTTPRoute")).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "NoHosts").await;
    assert_eq!(message, "can't find hosts in HTTPRoute web/app; add spec.hostnames");
}

/// F-20.
#[tokio::test(start_paused = true)]
async fn a_backend_that_is_no_service_and_an_address_of_another_type_are_named() {
    let cluster = cluster();
    let mut edge = gateway("edge", &[]);
    edge["status"]["addresses"] = json!([{"value": OWN}, {"type": "NamedAddress", "value": "x"}]);
    cluster.api.apply_object(edge).unwrap();
    let mut object = http_route("app", &[HOST], "edge", "app");
    object["spec"]["rules"][0]["backendRefs"] =
        json!([{"name": "app"}, {"group": "x.example.net", "kind": "Bucket", "name": "store"}]);
    cluster.api.apply_object(object).unwrap();
    cluster.api.apply_object(gslb_to("app", V1, "HTTPRoute")).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "True", "BackendIgnored").await;
    assert!(
        message.contains("Bucket web/store") && message.contains("unsupported address type NamedAddress"),
        "{message}"
    );
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// With explicit addresses nobody looks for a Gateway.
#[tokio::test(start_paused = true)]
async fn explicit_addresses_make_the_gateway_irrelevant() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(http_route("app", &[HOST], "missing", "app")).unwrap();
    let gslb = gslb_to("app", V1, "HTTPRoute");
    cluster.api.apply_object(annotated(gslb, "k8gb.io/exposed-ip-addresses", OWN)).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    assert_eq!(cluster.api.journal().count(|entry| entry.resource == "gateways"), 0);
}
