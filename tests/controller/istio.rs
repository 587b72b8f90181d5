//! References to VirtualServices of Istio.

use serde_json::{Value, json};

use crate::kinds::install_istio;
use crate::objects::{HOST, OWN, backend, gslb_to, in_namespace, labelled, load_balancer_service};
use crate::world::Cluster;

const LOCAL: &str = "localtargets-app.cloud.example.com";

fn virtual_service(gateways: &[&str], destination: &str) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
        "metadata": {"name": "app", "namespace": "web"},
        "spec": {"hosts": [HOST], "gateways": gateways,
            "http": [{"route": [{"destination": {"host": destination}}]}]},
    })
}

fn gateway(namespace: &str, selector: &Value) -> Value {
    json!({
        "apiVersion": "networking.istio.io/v1", "kind": "Gateway",
        "metadata": {"name": "edge", "namespace": namespace}, "spec": {"selector": selector},
    })
}

fn load_balancer(name: &str, namespace: &str, address: &str) -> Value {
    labelled(in_namespace(load_balancer_service(name, &[address]), namespace), "istio", "ingressgateway")
}

/// A cluster with Istio, a Service `app`, and a Gateway in its own namespace.
fn cluster() -> Cluster {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    install_istio(&cluster.api);
    backend(&cluster.api, "app");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "istio-system"}});
    cluster.api.apply_object(namespace).unwrap();
    cluster.api.apply_object(gateway("web", &json!({"istio": "ingressgateway"}))).unwrap();
    cluster
}

async fn is_served(cluster: &Cluster, address: &str) {
    cluster.publishes("app", &[(LOCAL, &[address]), (HOST, &[address])]).await;
}

/// Conformance 21, 22, 27; F-21.
#[tokio::test(start_paused = true)]
async fn a_virtual_service_is_served_in_every_way_to_write_it() {
    for (gateways, destination) in
        [(&["edge"][..], "app"), (&["web/edge"], "app.web"), (&["mesh", "edge"], "app.web.svc.cluster.local")]
    {
        let cluster = cluster();
        cluster.api.apply_object(load_balancer("lb", "istio-system", OWN)).unwrap();
        cluster.api.apply_object(virtual_service(gateways, destination)).unwrap();
        cluster.api.apply_object(gslb_to("app", "networking.istio.io/v1beta1", "VirtualService")).unwrap();
        let _running = cluster.run();
        is_served(&cluster, OWN).await;
        cluster.tells("app", "Resolved", "True", "Resolved").await;
    }
}

/// Conformance 29; F-09, F-21.
#[tokio::test(start_paused = true)]
async fn the_load_balancer_is_looked_for_beside_the_gateway_first() {
    let cluster = cluster();
    cluster.api.apply_object(virtual_service(&["edge"], "app")).unwrap();
    cluster.api.apply_object(gslb_to("app", "networking.istio.io/v1", "VirtualService")).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "GatewayServiceAmbiguous").await;
    assert!(
        message.contains(
            "exactly 1 Service expected with the labels istio=ingressgateway of Gateway web/edge but 0"
        ),
        "{message}"
    );
    cluster.api.apply_object(load_balancer("far", "istio-system", "192.0.2.77")).unwrap();
    is_served(&cluster, "192.0.2.77").await;
    cluster.api.apply_object(load_balancer("near", "web", OWN)).unwrap();
    is_served(&cluster, OWN).await;
    cluster.api.apply_object(load_balancer("near", "web", "192.0.2.12")).unwrap();
    is_served(&cluster, "192.0.2.12").await;
    cluster.api.apply_object(load_balancer("second", "web", "192.0.2.13")).unwrap();
    cluster.tells("app", "Resolved", "False", "GatewayServiceAmbiguous").await;
    is_served(&cluster, "192.0.2.12").await;
}

/// Conformance 21.
#[tokio::test(start_paused = true)]
async fn a_virtual_service_is_found_by_its_labels() {
    let cluster = cluster();
    cluster.api.apply_object(load_balancer("lb", "istio-system", OWN)).unwrap();
    cluster.api.apply_object(labelled(virtual_service(&["edge"], "app"), "app", "shop")).unwrap();
    let mut by_labels = gslb_to("app", "networking.istio.io/v1", "VirtualService");
    by_labels["spec"]["resourceRef"] = json!({"apiVersion": "networking.istio.io/v1", "kind": "VirtualService",
        "matchLabels": {"app": "shop"}});
    cluster.api.apply_object(by_labels).unwrap();
    let _running = cluster.run();
    is_served(&cluster, OWN).await;
}

/// F-21.
#[tokio::test(start_paused = true)]
async fn a_gateway_that_selects_everything_is_told() {
    let cluster = cluster();
    cluster.api.put_object(gateway("web", &json!({}))).unwrap();
    cluster.api.apply_object(load_balancer("lb", "web", OWN)).unwrap();
    cluster.api.apply_object(virtual_service(&["edge"], "app")).unwrap();
    cluster.api.apply_object(gslb_to("app", "networking.istio.io/v1", "VirtualService")).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "GatewayWithoutSelector").await;
    assert!(message.contains("Gateway web/edge has an empty selector"), "{message}");
    cluster.publishes("app", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_virtual_service_for_the_mesh_only_has_no_gateway() {
    let cluster = cluster();
    cluster.api.apply_object(virtual_service(&["mesh"], "app")).unwrap();
    cluster.api.apply_object(gslb_to("app", "networking.istio.io/v1", "VirtualService")).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "GatewayAmbiguous").await;
    assert!(message.contains("spec.gateways of VirtualService web/app but 0"), "{message}");
}
