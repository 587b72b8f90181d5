//! A DNSEndpoint that lost its owner.

use std::time::Duration;

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::legacy::{LOCAL, endpoint, is_served, legacy, owner};
use crate::objects::{HOST, OWN, application, gslb, round_robin};
use crate::world::{Cluster, eventually, pass};

const API: &str = "k8gb.io/v1beta1";

/// As `kubectl patch dnsendpoint app --type merge -p '{"metadata":{"ownerReferences":null}}'`.
fn take_the_owner_off(cluster: &Cluster) -> Value {
    let mut object = endpoint(cluster, "app").unwrap();
    object["metadata"].as_object_mut().unwrap().remove("ownerReferences").unwrap();
    cluster.api.put_object(object.clone()).unwrap();
    object
}

async fn belongs_to(cluster: &Cluster, gslb: &Value) {
    eventually("the Gslb owns its records", || {
        (endpoint(cluster, "app")?["metadata"]["ownerReferences"] == json!([owner(gslb)])).then_some(())
    })
    .await;
}

/// F-24: what was ours and belongs to nobody is not somebody else's.
#[tokio::test(start_paused = true)]
async fn records_that_lose_their_owner_get_it_back() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    let object =
        cluster.api.apply_object(gslb("app", json!({"type": "roundRobin", "dnsTtlSeconds": 7}))).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    // Its strategy stands in the DNSEndpoint only.
    cluster.api.apply_object(gslb("app", json!({"type": "sometimes"}))).unwrap();
    cluster.tells("app", "Accepted", "False", "SpecInvalid").await;
    cluster.settle().await;
    let before = take_the_owner_off(&cluster);
    belongs_to(&cluster, &object).await;
    let after = endpoint(&cluster, "app").unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"]);
    pass(60).await;
    let writes: Vec<_> = cluster.writes().into_iter().map(|call| call.resource).collect();
    assert_eq!(writes, ["dnsendpoints"], "one write puts it right, and nobody is told of somebody else");
    cluster.api.delete(API, "Gslb", "web", "app").unwrap();
    eventually("the records go with it", || endpoint(&cluster, "app").is_none().then_some(())).await;
}

/// F-24.
#[tokio::test(start_paused = true)]
async fn records_that_were_left_behind_belong_to_the_next_gslb_of_their_name() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let running = cluster.run();
    is_served(&cluster).await;
    running.stop().await;
    take_the_owner_off(&cluster);
    cluster.api.delete(API, "Gslb", "web", "app").unwrap();
    let _running = cluster.run();
    pass(60).await;
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let next = cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    belongs_to(&cluster, &next).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    is_served(&cluster).await;
}

/// Garbage collection may take seconds to take them away, and their hosts would be nowhere then.
#[tokio::test(start_paused = true)]
async fn records_of_a_gslb_that_was_deleted_belong_to_the_next_one_of_its_name() {
    let twin: fn(Value) -> Value = legacy;
    for group in [std::convert::identity, twin] {
        let cluster = Cluster::alone();
        application(&cluster.api, "app", &[HOST]);
        let first = cluster.api.apply_object(group(gslb("app", round_robin()))).unwrap();
        let _running = cluster.run();
        belongs_to(&cluster, &first).await;
        let before = endpoint(&cluster, "app").unwrap()["metadata"]["uid"].clone();
        cluster.api.hold_garbage();
        let version = first["apiVersion"].as_str().unwrap();
        cluster.api.delete(version, "Gslb", "web", "app").unwrap();
        let next = cluster.api.apply_object(gslb("app", round_robin())).unwrap();
        belongs_to(&cluster, &next).await;
        cluster.tells("app", "Ready", "True", "Ready").await;
        assert_eq!(endpoint(&cluster, "app").unwrap()["metadata"]["uid"], before, "it never went");
        let told = cluster.events("Gslb", "app");
        assert!(told.iter().all(|(reason, _)| reason != "DNSEndpointForeign"), "{told:?}");
        is_served(&cluster).await;
    }
}

#[tokio::test(start_paused = true)]
async fn records_that_are_deleted_before_their_creation_is_answered_come_back() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let matcher = Matcher::new("patch", "externaldns.k8s.io", "dnsendpoints");
    let late = Failure::LateAnswer(Duration::from_millis(500));
    cluster.api.faults().inject(Fault { matcher, failure: late, times: Some(1) });
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    let there = || endpoint(&cluster, "app").is_some().then_some(());
    eventually("the records are there, and unanswered", there).await;
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    is_served(&cluster).await;
}

/// Nobody has been shown it yet: an apply would take it over.
#[tokio::test(start_paused = true)]
async fn records_of_somebody_else_that_no_watch_has_shown_are_left_alone() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let _running = cluster.run();
    cluster.settle().await;
    let matcher = Matcher::new("get", "externaldns.k8s.io", "dnsendpoints");
    let slow = Failure::Delay(Duration::from_secs(2));
    cluster.api.faults().inject(Fault { matcher, failure: slow, times: Some(1) });
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    pass(1).await;
    let foreign = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {"name": "app", "namespace": "web"},
        "spec": {"endpoints": [{"dnsName": "other.example.com", "recordType": "A", "targets": ["192.0.2.1"]}]},
    });
    cluster.api.apply_object(foreign).unwrap();
    let before = endpoint(&cluster, "app");
    cluster.tells("app", "Ready", "False", "DNSEndpointForeign").await;
    assert_eq!(
        cluster.tells("app", "Serving", "False", "DNSEndpointForeign").await,
        cluster.tells("app", "Ready", "False", "DNSEndpointForeign").await
    );
    pass(60).await;
    assert_eq!(endpoint(&cluster, "app"), before);
}

/// Whatever the ages: records that are nobody's, or gone, go back to the Gslb of the group that published them.
#[tokio::test(start_paused = true)]
async fn of_two_gslbs_the_one_that_published_goes_on_when_its_records_lose_their_owner_or_go() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let mut older = legacy(gslb("app", round_robin()));
    older["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    let running = cluster.run();
    let publisher = cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    is_served(&cluster).await;
    cluster.api.put_object(older).unwrap();
    cluster.settle().await;
    take_the_owner_off(&cluster);
    belongs_to(&cluster, &publisher).await;
    cluster.settle().await;
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    belongs_to(&cluster, &publisher).await;
    running.stop().await;
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    let _running = cluster.run();
    belongs_to(&cluster, &publisher).await;
}

/// The host is free as soon as nobody answers for it.
#[tokio::test(start_paused = true)]
async fn a_deleted_gslb_without_records_that_a_finalizer_holds_says_so_and_gives_its_hosts_away() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let mut object = gslb("app", round_robin());
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    application(&cluster.api, "next", &[HOST]);
    cluster.api.apply_object(gslb("next", round_robin())).unwrap();
    cluster.tells("next", "Accepted", "False", "HostTaken").await;
    cluster.api.delete(API, "Gslb", "web", "app").unwrap();
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    cluster.tells("app", "Ready", "False", "Deleted").await;
    cluster.publishes("next", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("next", "Accepted", "True", "Accepted").await;
    cluster.settle().await;
    pass(60).await;
    assert_eq!(cluster.writes(), []);
}

/// As `kubectl delete --cascade=orphan`: the garbage collector takes the owner off while its finalizer holds the Gslb.
#[tokio::test(start_paused = true)]
async fn a_gslb_that_is_being_deleted_does_not_take_its_records_back() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let mut object = gslb("app", round_robin());
    object["metadata"]["finalizers"] = json!(["example.com/held"]);
    cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    cluster.api.delete(API, "Gslb", "web", "app").unwrap();
    cluster.settle().await;
    take_the_owner_off(&cluster);
    cluster.tells("app", "Ready", "False", "RecordsLeft").await;
    // What it said of hosts and answers is over, too.
    let status = cluster.gslb("app")["status"].clone();
    assert_eq!((status["conditions"].as_array().unwrap().len(), &status["serving"]), (1, &json!(null)));
    let told = cluster.events("Gslb", "app").into_iter().filter(|(reason, _)| reason == "RecordsLeft");
    assert_eq!(told.count(), 1);
    cluster.settle().await;
    pass(60).await;
    assert_eq!(cluster.writes(), []);
    is_served(&cluster).await;
}

/// F-24: k8gb's labels and annotations are no marks of ours.
#[tokio::test(start_paused = true)]
async fn records_of_a_k8gb_that_belong_to_nobody_are_left_alone() {
    let cluster = Cluster::alone();
    let marks = json!({"k8gb.io/dnstype": "local", "k8gb.absa.oss/dnstype": "local"});
    let theirs = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {"name": "app", "namespace": "web", "labels": marks, "annotations": marks},
        "spec": {"endpoints": [{"dnsName": HOST, "recordType": "A", "targets": ["192.0.2.99"]}]},
    });
    let before = cluster.api.apply_object(theirs).unwrap();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "False", "DNSEndpointForeign").await;
    assert_eq!(endpoint(&cluster, "app"), Some(before));
}
