//! An Ingress inside a Gslb.

use std::time::Duration;

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::objects::{HOST, OWN, backend, gslb, ingress, round_robin, slice};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";

fn embedding(hosts: &[&str]) -> Value {
    let mut object = gslb("app", round_robin());
    object["spec"]["resourceRef"] = json!({});
    object["spec"]["ingress"] = ingress("app", hosts, &[])["spec"].clone();
    object
}

fn stored(cluster: &Cluster) -> Option<Value> {
    cluster.api.get("networking.k8s.io/v1", "Ingress", "web", "app")
}

async fn made(cluster: &Cluster) -> Value {
    eventually("the Ingress is made", || stored(cluster)).await
}

/// The load balancer's controller at work.
fn show(cluster: &Cluster, addresses: &[&str]) {
    let status = ingress("app", &[], addresses)["status"].clone();
    let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "app", "namespace": "web"}, "status": status});
    cluster.api.apply_object(object).unwrap();
}

async fn is_served(cluster: &Cluster) {
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// Contract §1.2. Conformance 5, 6, 22.
#[tokio::test(start_paused = true)]
async fn an_embedded_ingress_is_made_and_served() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    backend(&cluster.api, "app");
    let mut object = embedding(&[HOST, "b.cloud.example.com", "c.cloud.example.com"]);
    object["metadata"]["annotations"] = json!({"team": "shop"});
    let default_backend = json!({"service": {"name": "app", "port": {"number": 80}}});
    object["spec"]["ingress"]["backend"] = default_backend.clone();
    object["spec"]["ingress"]["ingressClassName"] = json!("nginx");
    object["spec"]["ingress"]["tls"] = json!([{"hosts": [HOST], "secretName": "app"}]);
    let gslb = cluster.api.apply_object(object.clone()).unwrap();
    let _running = cluster.run();
    let made = made(&cluster).await;
    let mut spec = object["spec"]["ingress"].clone();
    spec.as_object_mut().unwrap().remove("backend");
    spec["defaultBackend"] = default_backend;
    assert_eq!(made["spec"], spec);
    assert_eq!(made["metadata"]["labels"], json!({"app.k8gb.io/managed-by": "gslb"}));
    assert_eq!(made["metadata"].get("annotations"), None);
    assert_eq!(
        made["metadata"]["ownerReferences"],
        json!([{"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "name": "app",
            "uid": gslb["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
    );
    cluster.tells("app", "Resolved", "False", "NoAddresses").await;
    show(&cluster, &[OWN, "192.0.2.11"]);
    cluster.tells("app", "Ready", "True", "Ready").await;
    let records = cluster.records("app").unwrap();
    assert_eq!(records.len(), 6, "{records:?}");
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    pass(60).await;
    assert_eq!(stored(&cluster), None);
}

/// Conformance 1, 2.
#[tokio::test(start_paused = true)]
async fn a_rule_without_http_is_refused_by_the_api_server() {
    let cluster = Cluster::alone();
    let without = json!({"host": HOST});
    let other_key = json!({"host": HOST, "https": {"paths": []}});
    for (rule, wanted) in [(without, "http: Required value"), (other_key, "unknown field")] {
        let mut object = embedding(&[HOST]);
        object["spec"]["ingress"]["rules"] = json!([rule]);
        let refused = cluster.api.put_object(object).unwrap_err();
        assert!(refused.message.contains(wanted), "{refused}");
    }
}

/// Conformance 7; F-23.
#[tokio::test(start_paused = true)]
async fn foreign_annotations_and_a_class_from_admission_survive_without_a_write() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let running = cluster.run();
    made(&cluster).await;
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    cluster.settle().await;
    let mut object = stored(&cluster).unwrap();
    object["spec"]["ingressClassName"] = json!("default");
    object["metadata"]["annotations"] = json!({"cert-manager.io/issuer": "x"});
    cluster.api.put_object(object.clone()).unwrap();
    pass(330).await;
    assert_eq!(cluster.writes(), []);
    running.stop().await;
    cluster.api.journal().clear();
    let _running = cluster.run();
    pass(330).await;
    let ingresses: Vec<_> =
        cluster.writes().into_iter().filter(|entry| entry.resource == "ingresses").collect();
    assert_eq!(ingresses, []);
    cluster.api.apply_object(embedding(&["new.cloud.example.com"])).unwrap();
    let new = [("localtargets-new.cloud.example.com", &[OWN][..]), ("new.cloud.example.com", &[OWN])];
    cluster.publishes("app", &new).await;
    let now = stored(&cluster).unwrap();
    assert_eq!(now["spec"]["rules"][0]["host"], "new.cloud.example.com");
    assert_eq!(now["spec"]["ingressClassName"], "default");
    assert_eq!(now["metadata"]["annotations"], json!({"cert-manager.io/issuer": "x"}));
    assert_eq!(cluster.gslb("app")["metadata"].get("annotations"), None);
}

/// Conformance 109; F-23.
#[tokio::test(start_paused = true)]
async fn an_ingress_of_somebody_else_is_left_alone_and_told() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    let foreign = cluster.api.apply_object(ingress("app", &["www.stranger.example.net"], &[OWN])).unwrap();
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "IngressForeign").await;
    assert!(message.starts_with("Ingress web/app exists and does not belong to this Gslb"), "{message}");
    pass(100).await;
    assert_eq!(stored(&cluster), Some(foreign));
    cluster.publishes("app", &[]).await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.tells("app", "Resolved", "False", "NoAddresses").await;
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
}

#[tokio::test(start_paused = true)]
async fn an_embedded_ingress_that_is_deleted_or_edited_comes_back() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    let spec = made(&cluster).await["spec"].clone();
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    let mut edited = stored(&cluster).unwrap();
    edited["spec"]["rules"][0]["host"] = json!("edited.cloud.example.com");
    cluster.api.put_object(edited).unwrap();
    eventually("the edit is written back", || (stored(&cluster)?["spec"] == spec).then_some(())).await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    assert_eq!(made(&cluster).await["spec"], spec);
    // Its last addresses stand until the new one has its own.
    cluster.tells("app", "Resolved", "True", "AddressesHeld").await;
    is_served(&cluster).await;
}

/// Conformance 22.
#[tokio::test(start_paused = true)]
async fn a_reference_wins_over_an_embedded_ingress() {
    let cluster = Cluster::alone();
    crate::objects::application(&cluster.api, "other", &[HOST]);
    let mut both = embedding(&["ignored.cloud.example.com"]);
    both["spec"]["resourceRef"] =
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "other"});
    cluster.api.apply_object(both).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    assert_eq!(stored(&cluster), None);
}

const NOT_PERMITTED: &str = r#"ingresses.networking.k8s.io "app" is forbidden: User "system:serviceaccount:gslb:gslb-bridge" cannot patch resource "ingresses" in API group "networking.k8s.io" in the namespace "web""#;
const OWNER_NOT_PERMITTED: &str = r#"ingresses.networking.k8s.io "app" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"#;
const DENIED: &str =
    r#"admission webhook "hosts.example.com" denied the request: User "shop" cannot use the host"#;

#[tokio::test(start_paused = true)]
async fn an_api_server_that_refuses_the_ingress_is_told_in_its_words() {
    for (code, message, reason, wanted) in [
        (422, "path must be absolute", "IngressRefused", "path must be absolute"),
        (403, NOT_PERMITTED, "IngressForbidden", "get, create and patch on ingresses.networking.k8s.io"),
        (403, OWNER_NOT_PERMITTED, "IngressRefused", "cannot set blockOwnerDeletion"),
        (403, DENIED, "IngressRefused", DENIED),
    ] {
        let cluster = Cluster::alone();
        backend(&cluster.api, "app");
        let failure = Failure::Status { code, reason: "X".into(), message: message.into() };
        let matcher = Matcher::new("patch", "networking.k8s.io", "ingresses");
        cluster.api.faults().inject(Fault { matcher, failure, times: None });
        cluster.api.apply_object(embedding(&[HOST])).unwrap();
        let _running = cluster.run();
        let message = cluster.tells("app", "Resolved", "False", reason).await;
        assert!(message.contains(wanted), "{message}");
        cluster.api.faults().clear();
        made(&cluster).await;
        show(&cluster, &[OWN]);
        is_served(&cluster).await;
    }
}

/// An admission webhook that is down, for example.
#[tokio::test(start_paused = true)]
async fn a_failover_goes_on_while_the_ingress_cannot_be_written() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    made(&cluster).await;
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    cluster.api.faults().fail(Matcher::new("patch", "networking.k8s.io", "ingresses"), 500, u32::MAX);
    cluster.api.apply_object(embedding(&["new.cloud.example.com"])).unwrap();
    let message = cluster.tells("app", "Resolved", "False", "IngressNotWritten").await;
    assert!(message.contains("injected fault 500"), "{message}");
    is_served(&cluster).await;
    for _ in 0..3 {
        cluster.api.apply_object(slice("app", false)).unwrap();
        cluster.publishes("app", &[]).await;
        cluster.api.apply_object(slice("app", true)).unwrap();
        is_served(&cluster).await;
    }
    cluster.api.journal().clear();
    pass(100).await;
    let tries = cluster.writes().iter().filter(|entry| entry.resource == "ingresses").count();
    assert!((2..10).contains(&tries), "{tries} tries in 100 s");
    cluster.api.faults().clear();
    let new = [("localtargets-new.cloud.example.com", &[OWN][..]), ("new.cloud.example.com", &[OWN])];
    cluster.publishes("app", &new).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

/// An admission webhook that hangs.
#[tokio::test(start_paused = true)]
async fn a_write_of_the_ingress_that_hangs_holds_up_no_answer() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    made(&cluster).await;
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    let matcher = Matcher::new("patch", "networking.k8s.io", "ingresses");
    let failure = Failure::Delay(Duration::from_secs(3600));
    cluster.api.faults().inject(Fault { matcher, failure, times: None });
    cluster.api.apply_object(embedding(&["new.cloud.example.com"])).unwrap();
    for (ready, at_most) in [(false, 1500), (true, 200), (false, 200), (true, 200)] {
        let start = Instant::now();
        cluster.api.apply_object(slice("app", ready)).unwrap();
        match ready {
            true => is_served(&cluster).await,
            false => cluster.publishes("app", &[]).await,
        }
        assert!(start.elapsed() < Duration::from_millis(at_most), "it took {:?}", start.elapsed());
        pass(3).await;
    }
    let message = cluster.tells("app", "Resolved", "False", "IngressNotWritten").await;
    assert!(
        message.ends_with("the log of gslb-bridge says more; the hosts that were known go on"),
        "{message}"
    );
    pass(120).await;
    let told = cluster.events("Gslb", "app");
    assert_eq!(told.iter().filter(|(reason, _)| reason == "IngressNotWritten").count(), 1, "{told:?}");
    cluster.api.faults().clear();
    let new = [("localtargets-new.cloud.example.com", &[OWN][..]), ("new.cloud.example.com", &[OWN])];
    cluster.publishes("app", &new).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

#[tokio::test(start_paused = true)]
async fn somebody_who_keeps_changing_the_ingress_back_is_told_and_written_against_less_often() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    made(&cluster).await;
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    cluster.settle().await;
    for _ in 0..60 {
        let mut edited = stored(&cluster).unwrap();
        edited["spec"]["rules"][0]["host"] = json!("edited.cloud.example.com");
        cluster.api.put_object(edited).unwrap();
        pass(1).await;
    }
    let message = cluster.tells("app", "Resolved", "False", "OtherWriter").await;
    assert!(message.starts_with("somebody else keeps changing Ingress web/app back"), "{message}");
    let written = cluster.writes().iter().filter(|entry| entry.resource == "ingresses").count();
    assert!((3..20).contains(&written), "{written} writes in a minute");
    is_served(&cluster).await;
    pass(400).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_somebody_who_gave_up_is_written_back_without_a_periodic_pass() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    backend(&cluster.api, "app");
    cluster.api.apply_object(embedding(&[HOST])).unwrap();
    let _running = cluster.run();
    let spec = made(&cluster).await["spec"].clone();
    show(&cluster, &[OWN]);
    is_served(&cluster).await;
    let is_told = || cluster.gslb("app")["status"].to_string().contains("OtherWriter");
    for _ in 0..30 {
        let mut edited = stored(&cluster).unwrap();
        edited["spec"]["rules"][0]["host"] = json!("edited.cloud.example.com");
        cluster.api.put_object(edited).unwrap();
        pass(1).await;
        if is_told() {
            break;
        }
    }
    assert_ne!(stored(&cluster).unwrap()["spec"], spec);
    assert!(is_told());
    eventually("the last edit is written back", || (stored(&cluster)?["spec"] == spec).then_some(())).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}
