//! Moving a Gslb from the legacy group to the canonical one (contract §6).

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::legacy::{GROUP, LOCAL, endpoint, is_served, legacy, owner, stored};
use crate::objects::{
    HOST, OWN, annotated, application, backend, gslb, ingress, labelled, load_balancer_service, round_robin,
    slice,
};
use crate::world::{Cluster, Running, eventually, pass, told as condition};

const REQUESTED: &str = "k8gb.io/migration-requested";
const MIGRATED: &str = "k8gb.io/migrated-to-k8gb-io";
const FINALIZER: &str = "k8gb.io/legacy-migration-protection";

fn label(cluster: &Cluster, key: &str, value: Option<&str>) {
    let mut object = stored(cluster, "app").unwrap();
    match value {
        Some(value) => object["metadata"]["labels"][key] = json!(value),
        None => drop(object["metadata"]["labels"].as_object_mut().unwrap().remove(key)),
    }
    cluster.api.put_object(object).unwrap();
}

fn canonical(cluster: &Cluster) -> Option<Value> {
    cluster.api.get("k8gb.io/v1beta1", "Gslb", "web", "app")
}

fn the_ingress(cluster: &Cluster) -> Option<Value> {
    cluster.api.get("networking.k8s.io/v1", "Ingress", "web", "app")
}

/// Waits until the legacy Gslb is migrated; gives the canonical one.
async fn migrated(cluster: &Cluster) -> Value {
    eventually("the legacy Gslb is migrated", || {
        (stored(cluster, "app")?["metadata"]["labels"][MIGRATED] == "true").then_some(())
    })
    .await;
    canonical(cluster).unwrap()
}

fn told(cluster: &Cluster) -> Vec<String> {
    let events = cluster.events("Gslb", "app").into_iter().map(|(reason, _)| reason);
    let mut told: Vec<String> =
        events.filter(|reason| reason.starts_with("Legacy") || reason.contains("Foreign")).collect();
    told.sort();
    told
}

fn embedding() -> Value {
    let mut object = legacy(gslb("app", round_robin()));
    object["spec"]["resourceRef"] = json!({});
    object["spec"]["ingress"] = ingress("app", &[HOST], &[])["spec"].clone();
    object
}

fn show(cluster: &Cluster) {
    let status = ingress("app", &[], &[OWN])["status"].clone();
    let object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "app", "namespace": "web"}, "status": status});
    cluster.api.apply_object(object).unwrap();
}

async fn embedded_and_served(cluster: &Cluster) -> Value {
    backend(&cluster.api, "app");
    let object = cluster.api.apply_object(embedding()).unwrap();
    eventually("the Ingress is made", || the_ingress(cluster)).await;
    show(cluster);
    is_served(cluster).await;
    object
}

/// Conformance 81, 84, 88, 92. F-82. Case C075: the records are the same to the byte at every moment.
#[tokio::test(start_paused = true)]
async fn a_migration_changes_no_record_at_any_moment() {
    let cluster = Cluster::alone();
    for object in [load_balancer_service("app", &[OWN]), slice("app", true)] {
        cluster.api.apply_object(object).unwrap();
    }
    let mut object = legacy(gslb("app", json!({"type": "roundRobin", "dnsTtlSeconds": 7})));
    object["spec"]["resourceRef"] = json!({"apiVersion": "v1", "kind": "Service", "name": "app"});
    object = annotated(object, "k8gb.absa.oss/hostname", HOST);
    object = annotated(object, "k8gb.io/exposed-ip-addresses", "192.0.2.33");
    object = annotated(object, "kubectl.kubernetes.io/last-applied-configuration", "{}");
    object = labelled(object, "team", "shop");
    let old = cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &["192.0.2.33"]), (HOST, &["192.0.2.33"])]).await;
    cluster.settle().await;
    let before = endpoint(&cluster, "app").unwrap();
    label(&cluster, REQUESTED, Some("true"));
    for _ in 0..4000 {
        let now = endpoint(&cluster, "app").unwrap();
        assert_eq!(now["spec"], before["spec"]);
        assert_eq!(now["metadata"]["annotations"], before["metadata"]["annotations"]);
        assert_eq!(now["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let new = migrated(&cluster).await;
    assert_eq!(new["spec"]["strategy"], old["spec"]["strategy"]);
    assert_eq!(new["spec"]["resourceRef"], old["spec"]["resourceRef"]);
    assert_eq!(new["spec"]["serviceHealthPolicy"], "Any");
    assert_eq!(
        new["metadata"]["annotations"],
        json!({"k8gb.absa.oss/hostname": HOST, "k8gb.io/exposed-ip-addresses": "192.0.2.33"})
    );
    assert_eq!(new["metadata"]["labels"], json!({"team": "shop"}));
    let after = endpoint(&cluster, "app").unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["metadata"]["ownerReferences"], json!([owner(&new)]));
    assert_eq!(stored(&cluster, "app").unwrap()["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(told(&cluster), ["LegacyDeprecated", "LegacyMigrated"]);
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    pass(600).await;
    let asked = cluster.api.journal().entries();
    assert!(!asked.iter().any(|call| call.group == "k8gb.absa.oss" && call.verb != "watch"), "{asked:?}");
    assert_eq!(told(&cluster), ["LegacyDeprecated", "LegacyMigrated"]);
}

/// Conformance 82, 83, 89.
#[tokio::test(start_paused = true)]
async fn an_embedded_ingress_is_referred_to_and_survives_the_legacy_gslb() {
    let cluster = Cluster::alone();
    let running = cluster.run();
    embedded_and_served(&cluster).await;
    let mut object = the_ingress(&cluster).unwrap();
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "name": "web",
        "uid": cluster.api.get("v1", "Namespace", "", "web").unwrap()["metadata"]["uid"]});
    object["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other.clone());
    cluster.api.put_object(object).unwrap();
    label(&cluster, REQUESTED, Some("true"));
    let new = migrated(&cluster).await;
    assert_eq!(
        new["spec"]["resourceRef"],
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "app", "namespace": "web"})
    );
    assert_eq!(new["spec"].get("ingress"), None);
    assert_eq!(the_ingress(&cluster).unwrap()["metadata"]["ownerReferences"], json!([other]));
    cluster.api.delete(GROUP, "Gslb", "web", "app").unwrap();
    eventually("the legacy Gslb is gone", || stored(&cluster, "app").is_none().then_some(())).await;
    pass(100).await;
    is_served(&cluster).await;
    assert!(the_ingress(&cluster).is_some());
    assert_eq!(endpoint(&cluster, "app").unwrap()["metadata"]["ownerReferences"], json!([owner(&new)]));
    running.stop().await;
}

/// Conformance 91. F-81.
#[tokio::test(start_paused = true)]
async fn an_ingress_that_is_missing_is_made_and_nothing_else_that_is_missing_blocks() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    let object = labelled(embedding(), REQUESTED, "true");
    let spec = object["spec"]["ingress"].clone();
    cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    migrated(&cluster).await;
    let made = the_ingress(&cluster).unwrap();
    assert_eq!((made["metadata"].get("ownerReferences"), &made["spec"]), (None, &spec));
    show(&cluster);
    is_served(&cluster).await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.api.delete(GROUP, "Gslb", "web", "app").unwrap();
    eventually("the legacy Gslb is gone", || stored(&cluster, "app").is_none().then_some(())).await;
}

/// Conformance 84, 85.
#[tokio::test(start_paused = true)]
async fn a_canonical_gslb_that_exists_is_not_overwritten_and_takes_over() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    let theirs = cluster.api.apply_object(gslb("app", json!({"type": "geoip"}))).unwrap();
    pass(20).await;
    label(&cluster, REQUESTED, Some("true"));
    let new = migrated(&cluster).await;
    assert_eq!(new["spec"], theirs["spec"]);
    let handed_over = || {
        let endpoint = endpoint(&cluster, "app")?;
        (endpoint["metadata"]["ownerReferences"] == json!([owner(&new)])).then_some(())
    };
    eventually("the records are handed over", handed_over).await;
    is_served(&cluster).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    assert_eq!(told(&cluster), ["LegacyDeprecated", "LegacyIgnored"]);
    label(&cluster, MIGRATED, Some("false"));
    pass(60).await;
    migrated(&cluster).await;
    eventually("the owner is the same", handed_over).await;
}

/// Conformance 86, 91.
#[tokio::test(start_paused = true)]
async fn one_that_is_labelled_by_hand_is_told_and_a_canonical_gslb_takes_over_later() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let running = cluster.run();
    is_served(&cluster).await;
    label(&cluster, MIGRATED, Some("true"));
    eventually("it is protected", || {
        (stored(&cluster, "app")?["metadata"]["finalizers"] == json!([FINALIZER])).then_some(())
    })
    .await;
    pass(60).await;
    assert_eq!(
        (canonical(&cluster), told(&cluster)),
        (None, vec!["LegacyDeprecated".into(), "LegacyIgnored".into()])
    );
    running.stop().await;
    let _running = cluster.run();
    pass(60).await;
    assert_eq!(told(&cluster).len(), 2);
    let new = cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    eventually("the records are handed over", || {
        let endpoint = endpoint(&cluster, "app")?;
        (endpoint["metadata"]["ownerReferences"] == json!([owner(&new)])).then_some(())
    })
    .await;
    is_served(&cluster).await;
}

async fn says(cluster: &Cluster, reason: &str) -> String {
    eventually(&format!("the legacy Gslb is not Ready: {reason}"), || {
        condition(&stored(cluster, "app")?, "Ready", "False", reason)
    })
    .await
}

/// What a scrape shows of Gslb `web/app`.
fn series(running: &Running) -> Vec<String> {
    let text = running.metrics();
    let figures = ["k8gb_gslb_healthy_records{", "k8gb_endpoint_status_num{"];
    let own = text.lines().filter(|line| figures.iter().any(|figure| line.starts_with(figure)));
    own.filter(|line| line.contains("name=\"app\"")).map(str::to_owned).collect()
}

/// A Gslb that nobody serves any more says so once, and is not counted as healthy.
#[tokio::test(start_paused = true)]
async fn a_retired_gslb_is_not_ready_and_says_who_serves_its_name() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let running = cluster.run();
    is_served(&cluster).await;
    label(&cluster, REQUESTED, Some("true"));
    migrated(&cluster).await;
    let message = says(&cluster, "Migrated").await;
    assert!(message.contains("Gslb web/app of group k8gb.io serves"), "{message}");
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    assert!(series(&running).iter().any(|line| line.ends_with(" 1")), "{:?}", series(&running));
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    let message = says(&cluster, "LegacyIgnored").await;
    assert!(message.contains("nobody serves it") && message.contains(MIGRATED), "{message}");
    let status = stored(&cluster, "app").unwrap()["status"].clone();
    assert_eq!((&status["healthyRecords"], &status["serviceHealth"]), (&json!({}), &json!({})));
    assert_eq!((status.get("serving"), &status["hosts"]), (None, &json!(HOST)));
    cluster.settle().await;
    assert_eq!((endpoint(&cluster, "app"), series(&running)), (None, vec![]));
    cluster.api.apply_object(slice("app", false)).unwrap();
    pass(600).await;
    assert_eq!(cluster.writes(), []);
    let once = ["LegacyDeprecated", "LegacyIgnored", "LegacyMigrated"];
    assert_eq!(told(&cluster), once);
    running.stop().await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    let running = cluster.run();
    pass(60).await;
    assert_eq!((told(&cluster), series(&running)), (once.map(str::to_owned).to_vec(), vec![]));
    // As the sentence says.
    label(&cluster, MIGRATED, Some("false"));
    is_served(&cluster).await;
    says(&cluster, "Migrated").await;
    assert!(!series(&running).is_empty());
}

/// Conformance 90. F-83: a deletion that comes first hands over too.
#[tokio::test(start_paused = true)]
async fn a_legacy_gslb_that_is_deleted_under_way_hands_over() {
    let cluster = Cluster::alone();
    let running = cluster.run();
    embedded_and_served(&cluster).await;
    running.stop().await;
    let mut reference = gslb("app", round_robin());
    reference["spec"]["resourceRef"]["namespace"] = json!("web");
    let new = cluster.api.apply_object(reference).unwrap();
    let mut object = stored(&cluster, "app").unwrap();
    object["metadata"]["finalizers"] = json!([FINALIZER]);
    object["metadata"]["labels"] = json!({REQUESTED: "true"});
    cluster.api.put_object(object).unwrap();
    cluster.api.delete(GROUP, "Gslb", "web", "app").unwrap();
    let _running = cluster.run();
    eventually("the legacy Gslb is gone", || stored(&cluster, "app").is_none().then_some(())).await;
    assert_eq!(endpoint(&cluster, "app").unwrap()["metadata"]["ownerReferences"], json!([owner(&new)]));
    pass(60).await;
    is_served(&cluster).await;
    assert!(the_ingress(&cluster).is_some());
}

/// F-80: each write fails when somebody wrote in between, and the next pass goes on from there.
#[tokio::test(start_paused = true)]
async fn a_write_that_fails_anywhere_is_made_up_for() {
    for (verb, group, resource) in [
        ("patch", "k8gb.absa.oss", "gslbs"),
        ("create", "k8gb.io", "gslbs"),
        ("patch", "externaldns.k8s.io", "dnsendpoints"),
        ("patch", "networking.k8s.io", "ingresses"),
    ] {
        let cluster = Cluster::alone();
        let _running = cluster.run();
        embedded_and_served(&cluster).await;
        cluster.settle().await;
        let failure = Failure::Status { code: 409, reason: "Conflict".into(), message: "stale".into() };
        let matcher = Matcher::new(verb, group, resource);
        cluster.api.faults().inject(Fault { matcher, failure, times: Some(3) });
        label(&cluster, REQUESTED, Some("true"));
        let new = migrated(&cluster).await;
        let object = endpoint(&cluster, "app").unwrap();
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner(&new)]), "{verb} {resource}");
        is_served(&cluster).await;
        assert_eq!(the_ingress(&cluster).unwrap()["metadata"]["ownerReferences"], json!([]), "{resource}");
        assert_eq!(told(&cluster), ["LegacyDeprecated", "LegacyMigrated"], "{verb} {resource}");
    }
}

/// Going back: without its labels the legacy Gslb is served again, once no canonical one is left.
#[tokio::test(start_paused = true)]
async fn without_its_labels_and_the_canonical_gslb_the_legacy_one_is_served_again() {
    let cluster = Cluster::alone();
    let _running = cluster.run();
    let old = embedded_and_served(&cluster).await;
    label(&cluster, REQUESTED, Some("true"));
    migrated(&cluster).await;
    is_served(&cluster).await;
    let mut object = stored(&cluster, "app").unwrap();
    object["metadata"]["labels"] = json!({});
    cluster.api.put_object(object).unwrap();
    pass(60).await;
    is_served(&cluster).await;
    assert_eq!(stored(&cluster, "app").unwrap()["metadata"]["finalizers"], json!([]));
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    eventually("the legacy Gslb publishes", || {
        let endpoint = endpoint(&cluster, "app")?;
        (endpoint["metadata"]["ownerReferences"] == json!([owner(&old)])).then_some(())
    })
    .await;
    is_served(&cluster).await;
    label(&cluster, REQUESTED, Some("true"));
    migrated(&cluster).await;
    is_served(&cluster).await;
}
