//! Kinds that not every cluster has: not installed, not permitted, malformed. Nobody else waits for them.

use gslb_mocks::kube::{ApiServer, Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::gateway::{gateway, http_route};
use crate::objects::{HOST, OWN, application, backend, gslb, gslb_to, round_robin};
use crate::world::{Cluster, pass};

pub(crate) const GATEWAY_API: &str = "gateway.networking.k8s.io";
pub(crate) const ISTIO: &str = "networking.istio.io";
const LOCAL: &str = "localtargets-app.cloud.example.com";
const BYSTANDER: &str = "other.cloud.example.com";

/// A definition without a schema.
pub(crate) fn definition(group: &str, plural: &str, kind: &str, versions: &[&str]) -> Value {
    let version = |(index, name): (usize, &&str)| {
        json!({"name": name, "served": true, "storage": index == 0, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": versions.iter().enumerate().map(version).collect::<Vec<_>>()},
    })
}

pub(crate) fn install_gateway_api(api: &ApiServer) {
    for (plural, kind, versions) in [
        ("gateways", "Gateway", &["v1"][..]),
        ("httproutes", "HTTPRoute", &["v1"]),
        ("grpcroutes", "GRPCRoute", &["v1"]),
        ("tcproutes", "TCPRoute", &["v1", "v1alpha2"]),
        ("udproutes", "UDPRoute", &["v1", "v1alpha2"]),
        ("tlsroutes", "TLSRoute", &["v1", "v1alpha2", "v1alpha3"]),
    ] {
        api.apply_object(definition(GATEWAY_API, plural, kind, versions)).unwrap();
    }
}

pub(crate) fn install_istio(api: &ApiServer) {
    for (plural, kind) in [("gateways", "Gateway"), ("virtualservices", "VirtualService")] {
        api.apply_object(definition(ISTIO, plural, kind, &["v1", "v1beta1"])).unwrap();
    }
}

/// A Gslb `app` to an HTTPRoute, and one beside it that has nothing to do with that.
fn with_bystander(cluster: &Cluster) {
    application(&cluster.api, "other", &[BYSTANDER]);
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    cluster.api.apply_object(gslb_to("app", "gateway.networking.k8s.io/v1", "HTTPRoute")).unwrap();
}

async fn bystander_is_served(cluster: &Cluster) {
    cluster
        .publishes("other", &[("localtargets-other.cloud.example.com", &[OWN]), (BYSTANDER, &[OWN])])
        .await;
}

fn forbid(cluster: &Cluster, resource: &str) {
    let matcher = Matcher { resource: Some(resource.into()), ..Matcher::default() };
    cluster.api.faults().inject(Fault { matcher, failure: Failure::status(403), times: None });
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_refers_to_costs_nothing() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    install_istio(&cluster.api);
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    let read = cluster
        .api
        .journal()
        .count(|entry| entry.resource.ends_with("routes") || entry.resource == "gateways");
    assert_eq!(read, 0);
}

/// F-22.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_installed_is_told_and_picked_up_when_it_is() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    with_bystander(&cluster);
    let _running = cluster.run();
    bystander_is_served(&cluster).await;
    let message = cluster.tells("app", "Resolved", "False", "KindNotInstalled").await;
    assert!(message.contains("httproutes.gateway.networking.k8s.io") && message.contains("v1"), "{message}");
    pass(120).await;
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(gateway("edge", &[OWN])).unwrap();
    cluster.api.apply_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    let start = tokio::time::Instant::now();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    assert!(start.elapsed().as_secs() < 15, "it took {:?}", start.elapsed());
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    let told = cluster.events("Gslb", "app");
    assert_eq!(told.iter().filter(|(reason, _)| reason == "KindNotInstalled").count(), 1, "{told:?}");
}

/// F-22.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_permitted_is_told_with_the_verbs_and_stops_nobody() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    forbid(&cluster, "httproutes");
    with_bystander(&cluster);
    let _running = cluster.run();
    bystander_is_served(&cluster).await;
    let message = cluster.tells("app", "Resolved", "False", "KindForbidden").await;
    assert!(message.contains("list and watch") && message.contains("httproutes.gateway"), "{message}");
    pass(30).await;
    cluster.api.journal().clear();
    pass(330).await;
    assert_eq!(cluster.writes(), []);
    let tries = cluster.api.journal().count(|entry| entry.resource == "httproutes");
    assert!((22..=50).contains(&tries), "{tries} tries in 330 s");
}

/// What could not be read is not absent, over a restart too.
#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_read_after_a_restart_withdraws_nothing() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(gateway("edge", &[OWN])).unwrap();
    cluster.api.apply_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    with_bystander(&cluster);
    let running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    running.stop().await;
    forbid(&cluster, "httproutes");
    let running = cluster.run();
    cluster.tells("app", "Resolved", "False", "KindForbidden").await;
    pass(200).await;
    assert_eq!(cluster.records("app").unwrap().len(), 2);
    // A Gateway that cannot be read keeps the addresses.
    running.stop().await;
    cluster.api.faults().clear();
    forbid(&cluster, "gateways");
    let _running = cluster.run();
    pass(60).await;
    let message = cluster.tells("app", "Resolved", "False", "KindForbidden").await;
    assert!(
        message.contains("gateways.gateway") && message.contains("the last addresses go on"),
        "{message}"
    );
    pass(200).await;
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// What was read stays in force, and the condition says that it may be old.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_forbidden_after_it_was_read_is_told_and_withdraws_nothing() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(gateway("edge", &[OWN])).unwrap();
    cluster.api.apply_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    with_bystander(&cluster);
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    bystander_is_served(&cluster).await;
    for kind in ["httproutes", "gateways"] {
        forbid(&cluster, kind);
        cluster.api.faults().drop_watches();
        let message = cluster.tells("app", "Resolved", "False", "KindForbidden").await;
        let sentence =
            format!("gslb-bridge may not read {kind}.{GATEWAY_API} any more, so what was read before stands");
        assert!(message.starts_with(&sentence), "{message}");
        cluster.settle().await;
        pass(120).await;
        assert_eq!(cluster.writes(), []);
        cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
        cluster.tells("other", "Ready", "True", "Ready").await;
        // Nothing of the kind changes when it is permitted again.
        cluster.api.faults().clear();
        cluster.tells("app", "Resolved", "True", "Resolved").await;
    }
}

/// F-22, F-79.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_about_a_kind_is_told_and_stops_nobody() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    let matcher = Matcher { resource: Some("httproutes".into()), ..Matcher::default() };
    let failure = Failure::Delay(std::time::Duration::from_secs(3600));
    cluster.api.faults().inject(Fault { matcher, failure, times: None });
    with_bystander(&cluster);
    let _running = cluster.run();
    bystander_is_served(&cluster).await;
    cluster.tells("app", "Resolved", "False", "ReferenceNotRead").await;
}

/// A restart says nothing while everything is as it was.
#[tokio::test(start_paused = true)]
async fn a_restart_with_optional_kinds_and_host_names_tells_and_writes_nothing() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.dns.answer(crate::world::RESOLVER, "lb.example.com", &[OWN]);
    let mut edge = gateway("edge", &[]);
    edge["status"]["addresses"] = json!([{"type": "Hostname", "value": "lb.example.com"}]);
    cluster.api.apply_object(edge).unwrap();
    cluster.api.apply_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    cluster.api.apply_object(gslb_to("app", "gateway.networking.k8s.io/v1", "HTTPRoute")).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    running.stop().await;
    cluster.api.journal().clear();
    let _running = cluster.run();
    pass(300).await;
    assert_eq!(cluster.writes(), []);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_object_is_told_on_its_gslb_only() {
    let cluster = Cluster::alone();
    install_gateway_api(&cluster.api);
    backend(&cluster.api, "app");
    cluster.api.apply_object(gateway("edge", &[OWN])).unwrap();
    for (name, host) in [("app", HOST), ("other", BYSTANDER)] {
        cluster.api.apply_object(http_route(name, &[host], "edge", "app")).unwrap();
        cluster.api.apply_object(gslb_to(name, "gateway.networking.k8s.io/v1", "HTTPRoute")).unwrap();
    }
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    bystander_is_served(&cluster).await;
    let mut malformed = http_route("app", &[HOST], "edge", "app");
    malformed["spec"]["hostnames"] = json!(HOST);
    cluster.api.put_object(malformed).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "ReferenceUnreadable").await;
    assert!(message.contains("HTTPRoute web/app"), "{message}");
    pass(100).await;
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    bystander_is_served(&cluster).await;
    cluster.tells("other", "Ready", "True", "Ready").await;
    cluster.api.put_object(http_route("app", &[HOST], "edge", "app")).unwrap();
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}
