//! References in general: by name, by labels, to Services; names of any case.

use serde_json::json;

use crate::objects::{
    HOST, OWN, annotated, application, gslb, gslb_to, in_namespace, ingress, labelled, load_balancer_service,
    round_robin, slice,
};
use crate::world::{Cluster, eventually, told};

const LOCAL: &str = "localtargets-app.cloud.example.com";

async fn is_served(cluster: &Cluster) {
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// Conformance 21, 22; F-09.
#[tokio::test(start_paused = true)]
async fn a_selector_follows_the_labels_of_the_objects() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    let mut by_labels = gslb("app", round_robin());
    by_labels["spec"]["resourceRef"] = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "matchLabels": {"app": "shop"}, "matchExpressions": [{"key": "old", "operator": "DoesNotExist"}]});
    cluster.api.apply_object(by_labels).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "ReferenceNotFound").await;
    assert!(
        message.starts_with("exactly 1 Ingress resource expected but 0 were found in namespace web"),
        "{message}"
    );
    cluster.api.apply_object(labelled(ingress("app", &[HOST], &[OWN]), "app", "shop")).unwrap();
    is_served(&cluster).await;
    let second = labelled(ingress("second", &["second.cloud.example.com"], &[OWN]), "app", "shop");
    cluster.api.apply_object(second.clone()).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "ReferenceAmbiguous").await;
    assert!(message.contains("2 were found in namespace web (app, second)"), "{message}");
    is_served(&cluster).await;
    cluster.api.apply_object(labelled(second, "old", "yes")).unwrap();
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

/// F-93.
#[tokio::test(start_paused = true)]
async fn the_namespace_of_a_reference_counts_for_a_selector_too() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &["elsewhere.cloud.example.com"]);
    let there = labelled(in_namespace(ingress("there", &[HOST], &[OWN]), "gslb"), "app", "shop");
    cluster.api.apply_object(there).unwrap();
    cluster
        .api
        .apply_object(labelled(ingress("here", &["here.cloud.example.com"], &[OWN]), "app", "shop"))
        .unwrap();
    let mut by_labels = gslb("app", round_robin());
    by_labels["spec"]["resourceRef"] = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "namespace": "gslb", "matchLabels": {"app": "shop"}});
    cluster.api.apply_object(by_labels).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "ServiceNotFound").await;
    assert!(message.contains("Service gslb/there of host app.cloud.example.com"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_selector_or_reference_that_says_nothing_is_told() {
    let unselective = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"});
    let unreadable = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "matchExpressions": [{"key": "app", "operator": "Like", "values": ["shop"]}]});
    let bad = [
        (unselective, "ReferenceUnnamed", "neither name nor label selector specified in ResourceRef"),
        (unreadable, "SelectorInvalid", "Invalid expression operator"),
        (json!({}), "NoReference", "spec.resourceRef and spec.ingress are empty"),
    ];
    for (reference, reason, sentence) in bad {
        let cluster = Cluster::alone();
        let mut object = gslb("app", round_robin());
        object["spec"]["resourceRef"] = reference;
        cluster.api.apply_object(object).unwrap();
        let _running = cluster.run();
        let message = cluster.tells("app", "Resolved", "False", reason).await;
        assert!(message.contains(sentence), "{message}");
    }
}

/// Cases C022 and C073. Conformance 22, 26, 28, 108.
#[tokio::test(start_paused = true)]
async fn a_service_is_served_under_the_host_of_the_annotation_in_any_case() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    cluster.api.apply_object(load_balancer_service("app", &[OWN])).unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    let object = gslb_to("app", "v1", "Service");
    cluster.api.apply_object(object.clone()).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "NoHostname").await;
    assert!(message.starts_with("Service web/app requires k8gb.io/hostname annotation"), "{message}");
    cluster.api.apply_object(annotated(object.clone(), "k8gb.io/hostname", "App.Cloud.Example.com")).unwrap();
    is_served(&cluster).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.api.apply_object(annotated(object.clone(), "k8gb.io/hostname", "")).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "NoHostname").await;
    assert!(message.contains("has empty k8gb.io/hostname annotation"), "{message}");
    is_served(&cluster).await;
    cluster.api.apply_object(annotated(object, "k8gb.io/hostname", HOST)).unwrap();
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    cluster.api.apply_object(load_balancer_service("app", &["192.0.2.12"])).unwrap();
    cluster.publishes("app", &[(LOCAL, &["192.0.2.12"]), (HOST, &["192.0.2.12"])]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_host_in_the_annotation_leaves_what_is_served_under_the_old_one() {
    let cluster = Cluster::alone();
    cluster.api.apply_object(load_balancer_service("app", &[OWN])).unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    let object = gslb_to("app", "v1", "Service");
    let named = |host| annotated(object.clone(), "k8gb.io/hostname", host);
    cluster.api.apply_object(named(HOST)).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    for (host, problem) in [("no host", "is not served"), ("app.example.net", "lies in none of the zones")] {
        cluster.api.apply_object(named(host)).unwrap();
        eventually("the host is told", || {
            let message = told(&cluster.gslb("app"), "Resolved", "False", "HostnameInvalid")?;
            (message.contains(host) && message.contains(problem)).then_some(())
        })
        .await;
        let message = cluster.tells("app", "Resolved", "False", "HostnameInvalid").await;
        assert!(message.ends_with("; the hosts that were known go on"), "{message}");
        is_served(&cluster).await;
    }
    // Its health is still what counts.
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.api.apply_object(named("other.cloud.example.com")).unwrap();
    let other: &[_] =
        &[("localtargets-other.cloud.example.com", &[OWN][..]), ("other.cloud.example.com", &[OWN])];
    cluster.publishes("app", other).await;
}

/// Conformance 28.
#[tokio::test(start_paused = true)]
async fn the_addresses_of_a_service_are_those_of_its_status_or_of_the_annotation() {
    let cluster = Cluster::alone();
    cluster.api.apply_object(load_balancer_service("app", &[])).unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    let object = annotated(gslb_to("app", "v1", "Service"), "k8gb.io/hostname", HOST);
    cluster.api.apply_object(object.clone()).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Resolved", "False", "NoAddresses").await;
    let two: &[&str] = &[OWN, "192.0.2.12"];
    cluster.api.apply_object(load_balancer_service("app", two)).unwrap();
    cluster.publishes("app", &[(LOCAL, two), (HOST, two)]).await;
    let listed = |list| annotated(object.clone(), "k8gb.io/exposed-ip-addresses", list);
    cluster.api.apply_object(listed("192.0.2.7")).unwrap();
    cluster.publishes("app", &[(LOCAL, &["192.0.2.7"]), (HOST, &["192.0.2.7"])]).await;
    cluster.api.apply_object(listed("192.0.2.700")).unwrap();
    cluster.tells("app", "Resolved", "False", "ExposedAddressesInvalid").await;
}

/// Case C073. Conformance 28.
#[tokio::test(start_paused = true)]
async fn a_service_of_another_type_needs_explicit_addresses() {
    let cluster = Cluster::alone();
    crate::objects::backend(&cluster.api, "app");
    let object = annotated(gslb_to("app", "v1", "Service"), "k8gb.io/hostname", HOST);
    cluster.api.apply_object(object.clone()).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "ServiceNotLoadBalancer").await;
    assert!(message.contains("service app is not of type LoadBalancer"), "{message}");
    cluster.publishes("app", &[]).await;
    cluster.api.apply_object(annotated(object, "k8gb.io/exposed-ip-addresses", OWN)).unwrap();
    is_served(&cluster).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}
