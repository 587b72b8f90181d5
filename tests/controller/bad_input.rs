//! Bad input: each a condition and one event with the sentence that says what to do; everybody else goes on.

use serde_json::{Value, json};

use crate::objects::{HOST, OWN, application, gslb, ingress, round_robin, slice};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const BYSTANDER: &str = "other.cloud.example.com";

/// Applies a Gslb `app` that is wrong beside one that is right; gives what is told once all is quiet.
async fn told_of(bad: Value, hosts: &[&str], condition: (&str, &str)) -> String {
    let cluster = Cluster::alone();
    application(&cluster.api, "other", &[BYSTANDER]);
    application(&cluster.api, "app", hosts);
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    cluster.api.apply_object(bad).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", condition.0, "False", condition.1).await;
    cluster
        .publishes("other", &[("localtargets-other.cloud.example.com", &[OWN]), (BYSTANDER, &[OWN])])
        .await;
    pass(100).await;
    let events = cluster.events("Gslb", "app");
    let sentence = format!("{}: {message}", condition.0);
    assert_eq!(
        events.iter().filter(|(reason, note)| reason == condition.1 && *note == sentence).count(),
        1,
        "{events:?}"
    );
    message
}

/// Conformance 49; F-11, F-13.
#[tokio::test(start_paused = true)]
async fn an_unknown_strategy() {
    let message =
        told_of(gslb("app", json!({"type": "fastest"})), &[HOST], ("Accepted", "SpecInvalid")).await;
    assert!(message.contains("fastest") && message.contains("failover"), "{message}");
}

/// Its host exists, and another Gslb that is accepted takes it at once, older or not.
#[tokio::test(start_paused = true)]
async fn the_host_of_a_gslb_that_was_never_accepted_is_held_until_another_one_serves_it() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    application(&cluster.api, "other", &[HOST]);
    cluster.api.apply_object(gslb("app", json!({"type": "fastest"}))).unwrap();
    let _running = cluster.run();
    let held = || {
        let endpoint = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app")?;
        Some(endpoint["metadata"]["annotations"]["gslb-bridge.io/hosts"].clone())
    };
    eventually("the host is held", || {
        (held()? == json!(format!(r#"{{"{HOST}":{{"answer":"NoData","ttl":30}}}}"#))).then_some(())
    })
    .await;
    assert_eq!(cluster.records("app"), Some(vec![]));
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    cluster.publishes("other", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    eventually("the host is let go", || held()?.is_null().then_some(())).await;
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// Conformance 49; F-13.
#[tokio::test(start_paused = true)]
async fn a_weight_of_10010() {
    let strategy = json!({"type": "roundRobin", "weight": {"us": 10_010}});
    let message = told_of(gslb("app", strategy), &[HOST], ("Accepted", "SpecInvalid")).await;
    assert!(message.contains("10010") && message.contains("1000;"), "{message}");
}

/// Conformance 48; F-13.
#[tokio::test(start_paused = true)]
async fn a_first_label_of_51_characters() {
    let host = format!("{}.cloud.example.com", "a".repeat(51));
    let message = told_of(gslb("app", round_robin()), &[&host], ("Accepted", "HostTooLong")).await;
    assert!(message.contains("51"), "{message}");
}

/// Conformance 39, 40; F-13.
#[tokio::test(start_paused = true)]
async fn a_host_outside_every_zone() {
    let message =
        told_of(gslb("app", round_robin()), &["app.example.net"], ("Accepted", "HostOutsideZones")).await;
    assert!(
        message.contains("cloud.example.com") && message.contains("create a ZoneDelegation"),
        "{message}"
    );
}

/// Conformance 39.
#[tokio::test(start_paused = true)]
async fn an_ingress_without_rules() {
    let message = told_of(gslb("app", round_robin()), &[], ("Resolved", "NoHosts")).await;
    assert!(message.contains("Ingress web/app"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_reference_to_another_kind() {
    let mut bad = gslb("app", round_robin());
    bad["spec"]["resourceRef"]["kind"] = json!("Cronjob");
    let message = told_of(bad, &[HOST], ("Resolved", "ReferenceUnsupported")).await;
    assert!(message.contains("Cronjob"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn neither_a_reference_nor_an_embedded_ingress() {
    let mut bad = gslb("app", round_robin());
    bad["spec"].as_object_mut().unwrap().remove("resourceRef");
    let message = told_of(bad, &[HOST], ("Resolved", "NoReference")).await;
    assert!(message.contains("spec.resourceRef and spec.ingress are empty"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_edit_of_a_serving_gslb_removes_nothing_and_health_still_acts() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", json!({"type": "roundRobin", "dnsTtlSeconds": 5}))).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let before = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    cluster.api.apply_object(gslb("app", json!({"type": "fastest"}))).unwrap();
    let message = cluster.tells("app", "Accepted", "False", "SpecInvalid").await;
    assert!(message.contains("(roundRobin) goes on"), "{message}");
    let after = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    assert_eq!(after, before);
    // Neither does a restart take it away.
    running.stop().await;
    let _running = cluster.run();
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let after = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    assert_eq!(after["spec"], before["spec"]);
}

/// A Gslb definition that accepts anything, so that a malformed object can exist.
pub(crate) fn loose_definitions() -> String {
    let mut crds = gslb_crds::all();
    crds.retain(|crd| crd.spec.names.kind != "Gslb");
    let loose = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gslbs.k8gb.io"},
        "spec": {
            "group": "k8gb.io", "scope": "Namespaced", "names": {"kind": "Gslb", "plural": "gslbs"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let others = crds.iter().map(|crd| json!(crd).to_string());
    others.chain([loose.to_string()]).collect::<Vec<_>>().join("\n---\n")
}

#[tokio::test(start_paused = true)]
async fn a_gslb_that_cannot_be_read_is_told_once_and_stops_nobody() {
    let cluster = Cluster::with_crds(&loose_definitions());
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("broken", json!(["round", "robin"]))).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let events = eventually("it is told", || {
        let events = cluster.events("Gslb", "broken");
        (!events.is_empty()).then_some(events)
    });
    assert_eq!(events.await[0].0, "Unreadable");
    cluster.settle().await;
    cluster.api.expire_watches();
    pass(60).await;
    assert_eq!(cluster.events("Gslb", "broken").len(), 1);
    // Mended, it is served as any other.
    application(&cluster.api, "broken", &[BYSTANDER]);
    cluster.api.put_object(gslb("broken", round_robin())).unwrap();
    cluster
        .publishes("broken", &[("localtargets-other.cloud.example.com", &[OWN]), (BYSTANDER, &[OWN])])
        .await;
}

/// Conformance 39.
#[tokio::test(start_paused = true)]
async fn hosts_of_one_ingress_are_judged_alone() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &["app.example.net", HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Accepted", "False", "HostOutsideZones").await;
    cluster.api.apply_object(ingress("app", &[HOST], &[OWN])).unwrap();
    cluster.tells("app", "Accepted", "True", "Accepted").await;
}

/// The API counts the bytes of a note, and an event's name begins with its object's.
#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_told_by_an_event_whatever_it_quotes_and_however_long_the_name() {
    let cluster = Cluster::alone();
    let name = "g".repeat(253);
    let mut gslb = gslb(&name, round_robin());
    gslb["metadata"]["annotations"] = json!({"k8gb.io/exposed-ip-addresses": "日本".repeat(500)});
    cluster.api.apply_object(gslb).unwrap();
    let _running = cluster.run();
    let events = eventually("it is told", || {
        let events = cluster.events("Gslb", &name);
        (!events.is_empty()).then_some(events)
    });
    assert!(events.await.iter().all(|(_, note)| note.len() <= 1024));
}
