//! An edit of a ZoneDelegation that is wrong stops nothing that was served.

use serde_json::{Value, json};

use crate::objects::{HOST, OWN, application, gslb, round_robin};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";

/// Definitions under which a malformed ZoneDelegation can exist.
fn loose_definitions() -> String {
    let mut crds = gslb_crds::all();
    crds.retain(|crd| crd.spec.names.kind != "ZoneDelegation");
    let loose = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "zonedelegations.k8gb.io"},
        "spec": {
            "group": "k8gb.io", "scope": "Cluster",
            "names": {"kind": "ZoneDelegation", "plural": "zonedelegations"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    let others = crds.iter().map(|crd| json!(crd).to_string());
    others.chain([loose.to_string()]).collect::<Vec<_>>().join("\n---\n")
}

/// A cluster whose only zone stands in an object and not in the configuration, with an application.
fn cluster() -> Cluster {
    let cluster = Cluster::with_crds(&loose_definitions()).with_provider().setting("DNS_ZONES", "");
    let zone = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "cloud-example-com"},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30},
    });
    cluster.api.apply_object(zone).unwrap();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster
}

async fn serving(cluster: &Cluster) {
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.zone_tells("Ready", "True", "Ready").await;
}

fn edit(cluster: &Cluster, field: &str, value: Value) {
    let mut zone = cluster.zone();
    zone["spec"][field] = value;
    cluster.api.put_object(zone).unwrap();
}

/// What the cluster says to the world.
fn told(cluster: &Cluster) -> (Value, Value, usize) {
    let writes = cluster.provider.as_ref().unwrap().writes().len();
    (json!(cluster.records("app")), cluster.zone()["status"]["dnsServers"].clone(), writes)
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_is_edited_into_nonsense_goes_on_as_it_was() {
    let cluster = cluster();
    let _running = cluster.run();
    serving(&cluster).await;
    let before = told(&cluster);
    edit(&cluster, "loadBalancedZone", json!("cloud..example.com"));
    let message = cluster.zone_tells("Accepted", "False", "SpecInvalid").await;
    assert!(message.contains("cloud..example.com") && message.contains("goes on"), "{message}");
    pass(120).await;
    assert_eq!(told(&cluster), before);
    edit(&cluster, "loadBalancedZone", json!("cloud.example.com"));
    cluster.zone_tells("Accepted", "True", "Accepted").await;
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_cannot_be_read_any_more_goes_on_as_it_was() {
    let cluster = cluster();
    let _running = cluster.run();
    serving(&cluster).await;
    let before = told(&cluster);
    edit(&cluster, "dnsZoneNegTTL", json!("soon"));
    let note = eventually("it is told", || {
        let events = cluster.events("ZoneDelegation", "cloud-example-com");
        events.into_iter().find(|(reason, _)| reason == "Unreadable").map(|(_, note)| note)
    });
    let note = note.await;
    assert!(note.contains("cloud.example.com goes on"), "{note}");
    cluster.api.expire_watches();
    pass(120).await;
    assert_eq!(told(&cluster), before);
}

#[tokio::test(start_paused = true)]
async fn a_negative_ttl_that_is_none_is_replaced_and_told() {
    let cluster = cluster();
    let _running = cluster.run();
    serving(&cluster).await;
    let before = told(&cluster);
    edit(&cluster, "dnsZoneNegTTL", json!(-1));
    let message = cluster.zone_tells("Accepted", "False", "SpecInvalid").await;
    assert!(message.contains("dnsZoneNegTTL is read as 30"), "{message}");
    pass(60).await;
    assert_eq!(told(&cluster), before);
}

/// Deletes the zone and gives what is told of it.
async fn left(cluster: &Cluster) -> Vec<String> {
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("the object is gone", || cluster.zone().is_null().then_some(())).await;
    let events = cluster.events("ZoneDelegation", "cloud-example-com");
    events.into_iter().filter(|(reason, _)| reason == "DelegationLeft").map(|(_, note)| note).collect()
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_was_never_accepted_leaves_with_a_word_about_its_delegation() {
    let cluster = Cluster::with_crds(&loose_definitions()).with_provider().setting("DNS_ZONES", "");
    let zone = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
        "metadata": {"name": "cloud-example-com", "finalizers": ["k8gb.io/finalizer"]},
        "spec": {"loadBalancedZone": "cloud..example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30,
            "doFinalize": true},
    });
    cluster.api.apply_object(zone).unwrap();
    let _running = cluster.run();
    cluster.zone_tells("Accepted", "False", "SpecInvalid").await;
    let notes = left(&cluster).await;
    assert!(notes.len() == 1 && notes[0].contains("cloud..example.com"), "{notes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_zone_without_a_provider_leaves_with_a_word_about_its_delegation() {
    let mut cluster = cluster();
    cluster.provider = None;
    let _running = cluster.run();
    serving(&cluster).await;
    edit(&cluster, "doFinalize", json!(true));
    let notes = left(&cluster).await;
    assert!(notes.len() == 1 && notes[0].contains("no provider is configured"), "{notes:?}");
}

/// Well within the period, which is a safety net only.
const AT_ONCE: u64 = 10;

#[tokio::test(start_paused = true)]
async fn a_foreign_edit_of_anything_that_is_ours_is_put_right_at_once() {
    let cluster = cluster().setting("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "300");
    let _running = cluster.run();
    serving(&cluster).await;
    cluster.settle().await;
    let whole = |zone: &Value| {
        let ready =
            zone["status"]["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Ready");
        (
            zone["metadata"]["finalizers"].clone(),
            ready.unwrap()["status"].clone(),
            zone["status"]["dnsServers"].clone(),
        )
    };
    let before = whole(&cluster.zone());
    let edits: [fn(&mut Value); 3] = [
        |zone| zone["metadata"]["finalizers"] = json!([]),
        |zone| zone["status"]["conditions"][0]["status"] = json!("False"),
        |zone| zone["status"]["dnsServers"] = json!([]),
    ];
    for edit in edits {
        let mut zone = cluster.zone();
        edit(&mut zone);
        cluster.api.put_object(zone).unwrap();
        assert_ne!(cluster.zone()["metadata"]["resourceVersion"], json!(null));
        pass(AT_ONCE).await;
        assert_eq!(whole(&cluster.zone()), before);
    }
    cluster.settle().await;
    pass(AT_ONCE).await;
    assert_eq!(cluster.writes(), []);
}

#[tokio::test(start_paused = true)]
async fn a_zone_whose_finalizer_was_taken_away_is_withdrawn_all_the_same() {
    let cluster = cluster().setting("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "300");
    let _running = cluster.run();
    serving(&cluster).await;
    let mut zone = cluster.zone();
    zone["metadata"]["finalizers"] = json!([]);
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
    pass(AT_ONCE).await;
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("the delegation is withdrawn", || {
        let writes = cluster.provider.as_ref().unwrap().writes();
        (writes.len() == 2).then_some(())
    })
    .await;
}
