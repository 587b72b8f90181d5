//! Gslbs that annotated Ingresses ask for (contract §2.8).

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::objects::{HOST, OWN, annotated, application, gslb, ingress, round_robin};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const STRATEGY: &str = "k8gb.io/strategy";
const EXPOSED: &str = "k8gb.io/exposed-ip-addresses";

fn asking(annotations: &Value) -> Value {
    let mut object = ingress("app", &[HOST], &[OWN]);
    object["metadata"]["annotations"] = annotations.clone();
    object
}

/// A cluster with an application whose Ingress has these annotations.
fn cluster_with(annotations: &Value) -> Cluster {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(asking(annotations)).unwrap();
    cluster
}

fn stored(cluster: &Cluster) -> Option<Value> {
    cluster.api.get("k8gb.io/v1beta1", "Gslb", "web", "app")
}

fn the_ingress(cluster: &Cluster) -> Value {
    cluster.api.get("networking.k8s.io/v1", "Ingress", "web", "app").unwrap()
}

async fn asks_for(cluster: &Cluster, strategy: Value) -> Value {
    eventually(&format!("the Gslb has strategy {strategy}"), || {
        stored(cluster).filter(|gslb| gslb["spec"]["strategy"] == strategy)
    })
    .await
}

fn edit(cluster: &Cluster, change: impl FnOnce(&mut Value)) {
    let mut object = the_ingress(cluster);
    change(&mut object);
    cluster.api.put_object(object).unwrap();
}

fn writes(cluster: &Cluster, resource: &str) -> usize {
    cluster.writes().iter().filter(|entry| entry.resource == resource && entry.subresource.is_empty()).count()
}

/// Conformance 10, 11, 15, 16.
#[tokio::test(start_paused = true)]
async fn an_annotated_ingress_has_a_gslb_that_comes_and_goes_with_it() {
    let annotations = json!({STRATEGY: "failover", "k8gb.io/primary-geotag": "eu",
        "k8gb.io/dns-ttl-seconds": "5", "team": "shop"});
    let cluster = cluster_with(&annotations);
    let _running = cluster.run();
    let strategy = json!({"type": "failover", "primaryGeoTag": "eu", "dnsTtlSeconds": 5});
    let made = asks_for(&cluster, strategy.clone()).await;
    assert_eq!(
        made["spec"]["resourceRef"],
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app"})
    );
    assert_eq!(
        made["metadata"]["ownerReferences"],
        json!([{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app",
            "uid": the_ingress(&cluster)["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(made["metadata"].get("annotations"), None);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    eventually("the Gslb is gone", || stored(&cluster).is_none().then_some(())).await;
    cluster.api.apply_object(asking(&annotations)).unwrap();
    asks_for(&cluster, strategy).await;
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// Conformance 12, 13.
#[tokio::test(start_paused = true)]
async fn round_robin_needs_no_primary_and_hosts_need_services() {
    let cluster = Cluster::alone();
    cluster.api.apply_object(asking(&json!({STRATEGY: "roundRobin"}))).unwrap();
    let _running = cluster.run();
    asks_for(&cluster, json!({"type": "roundRobin", "dnsTtlSeconds": 30})).await;
    eventually("the host is not found", || {
        (stored(&cluster)?["status"]["serviceHealth"][HOST] == "NotFound").then_some(())
    })
    .await;
}

/// Conformance 14. Case C069: nothing is made of bad annotations, and they are told once, until they are corrected.
#[tokio::test(start_paused = true)]
async fn bad_annotations_are_told_once_and_a_correction_is_taken_over() {
    for (bad, word) in [
        (json!({STRATEGY: "failover"}), "k8gb.io/primary-geotag"),
        (json!({STRATEGY: "round-robin"}), "write roundRobin, failover or geoip"),
        (json!({STRATEGY: "geoip", "k8gb.io/dns-ttl-seconds": "soon"}), "k8gb.io/dns-ttl-seconds \"soon\""),
    ] {
        let cluster = cluster_with(&bad);
        let _running = cluster.run();
        pass(40).await;
        edit(&cluster, |object| object["metadata"]["labels"] = json!({"any": "thing"}));
        pass(40).await;
        assert_eq!(stored(&cluster), None);
        let events = cluster.events("Ingress", "app");
        assert!(events.len() == 1 && events[0].0 == "AnnotationsInvalid", "{events:?}");
        assert!(events[0].1.contains(word), "{events:?}");
        edit(&cluster, |object| object["metadata"]["annotations"] = json!({STRATEGY: "roundRobin"}));
        asks_for(&cluster, json!({"type": "roundRobin", "dnsTtlSeconds": 30})).await;
        cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
        // What was accepted stays, and the same mistake is news again.
        edit(&cluster, |object| object["metadata"]["annotations"] = bad);
        pass(40).await;
        assert_eq!(stored(&cluster).unwrap()["spec"]["strategy"]["type"], "roundRobin");
        assert_eq!(cluster.events("Ingress", "app").len(), 2);
    }
}

/// Case C069.
#[tokio::test(start_paused = true)]
async fn the_gslb_goes_with_the_annotation_also_while_nobody_watches() {
    let cluster = cluster_with(&json!({STRATEGY: "roundRobin"}));
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    running.stop().await;
    edit(&cluster, |object| object["metadata"]["annotations"] = json!({}));
    let _running = cluster.run();
    eventually("the Gslb is gone", || stored(&cluster).is_none().then_some(())).await;
    eventually("the records too", || cluster.records("app").is_none().then_some(())).await;
}

/// Conformance 18, 20. F-91: only the fields that the annotations decide about are owned.
#[tokio::test(start_paused = true)]
async fn what_others_set_in_the_gslb_stays_and_what_we_set_is_kept() {
    let cluster = cluster_with(&json!({STRATEGY: "roundRobin", EXPOSED: "192.0.2.77"}));
    let _running = cluster.run();
    let strategy = json!({"type": "roundRobin", "dnsTtlSeconds": 30});
    let mut made = asks_for(&cluster, strategy.clone()).await;
    assert_eq!(made["metadata"]["annotations"], json!({EXPOSED: "192.0.2.77"}));
    cluster.publishes("app", &[(LOCAL, &["192.0.2.77"]), (HOST, &["192.0.2.77"])]).await;
    made = stored(&cluster).unwrap();
    made["spec"]["strategy"]["weight"] = json!({"eu": 7});
    made["spec"]["serviceHealthPolicy"] = json!("All");
    made["metadata"]["annotations"]["team"] = json!("shop");
    cluster.api.put_object(made).unwrap();
    let annotations = json!({STRATEGY: "roundRobin", "k8gb.io/dns-ttl-seconds": "9", "x": "y"});
    edit(&cluster, |object| object["metadata"]["annotations"] = annotations.clone());
    let ours = json!({"type": "roundRobin", "dnsTtlSeconds": 9, "weight": {"eu": 7}});
    let now = asks_for(&cluster, ours.clone()).await;
    assert_eq!(now["spec"]["serviceHealthPolicy"], "All");
    assert_eq!(now["metadata"]["annotations"], json!({"team": "shop"}));
    assert_eq!(the_ingress(&cluster)["metadata"]["annotations"], annotations);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    let mut edited = stored(&cluster).unwrap();
    edited["spec"]["strategy"]["dnsTtlSeconds"] = json!(77);
    cluster.api.put_object(edited).unwrap();
    asks_for(&cluster, ours).await;
    assert_eq!(writes(&cluster, "gslbs"), 1);
}

/// Conformance 17, 95.
#[tokio::test(start_paused = true)]
async fn a_gslb_of_somebody_else_is_left_alone_and_told() {
    let cluster = cluster_with(&json!({STRATEGY: "roundRobin"}));
    let theirs = gslb("app", json!({"type": "geoip"}));
    cluster.api.apply_object(theirs).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    edit(&cluster, |object| object["metadata"]["annotations"]["more"] = json!("x"));
    pass(60).await;
    assert_eq!(stored(&cluster).unwrap()["spec"]["strategy"], json!({"type": "geoip"}));
    let events = cluster.events("Ingress", "app");
    assert!(events.len() == 1 && events[0].0 == "GslbForeign", "{events:?}");
    assert!(events[0].1.contains("remove the annotation k8gb.io/strategy here, or delete that Gslb"));
    assert_eq!((writes(&cluster, "gslbs"), writes(&cluster, "ingresses")), (0, 0));
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    asks_for(&cluster, json!({"type": "roundRobin", "dnsTtlSeconds": 30})).await;
}

/// Conformance 19.
#[tokio::test(start_paused = true)]
async fn an_ingress_without_the_annotation_or_of_a_gslb_causes_no_call() {
    let cluster = Cluster::alone();
    application(&cluster.api, "plain", &["plain.cloud.example.com"]);
    let owner = cluster.api.apply_object(gslb("owner", round_robin())).unwrap();
    let mut owned = annotated(ingress("owned", &["owned.cloud.example.com"], &[OWN]), STRATEGY, "geoip");
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
        "name": "owner", "uid": owner["metadata"]["uid"]}]);
    cluster.api.apply_object(owned).unwrap();
    let _running = cluster.run();
    pass(60).await;
    assert_eq!((writes(&cluster, "gslbs"), writes(&cluster, "ingresses")), (0, 0));
}

/// F-12.
#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_and_tried_again_and_rest_is_rest() {
    let cluster = cluster_with(&json!({STRATEGY: "roundRobin"}));
    let failure = Failure::Status { code: 403, reason: "Forbidden".into(), message: "quota of Gslbs".into() };
    let matcher = Matcher::new("patch", "k8gb.io", "gslbs");
    cluster.api.faults().inject(Fault { matcher, failure, times: Some(4) });
    let running = cluster.run();
    asks_for(&cluster, json!({"type": "roundRobin", "dnsTtlSeconds": 30})).await;
    let events = cluster.events("Ingress", "app");
    assert!(events.len() == 1 && events[0].1.contains("quota of Gslbs"), "{events:?}");
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    pass(600).await;
    assert_eq!(cluster.writes(), []);
    running.stop().await;
    cluster.api.journal().clear();
    let _running = cluster.run();
    pass(100).await;
    assert_eq!((writes(&cluster, "gslbs"), writes(&cluster, "ingresses")), (0, 0));
}
