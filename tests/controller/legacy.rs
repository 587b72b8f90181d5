//! Gslbs of the group `k8gb.absa.oss` (contract §2.2).

use serde_json::{Value, json};

use crate::objects::{
    HOST, OWN, annotated, application, backend, gslb, ingress, labelled, load_balancer_service, round_robin,
    slice,
};
use crate::world::{Cluster, eventually, pass};

pub(crate) const LOCAL: &str = "localtargets-app.cloud.example.com";
pub(crate) const GROUP: &str = "k8gb.absa.oss/v1beta1";

/// The object in the legacy group.
pub(crate) fn legacy(mut object: Value) -> Value {
    object["apiVersion"] = json!(GROUP);
    object
}

pub(crate) fn stored(cluster: &Cluster, name: &str) -> Option<Value> {
    cluster.api.get(GROUP, "Gslb", "web", name)
}

pub(crate) fn endpoint(cluster: &Cluster, name: &str) -> Option<Value> {
    cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", name)
}

pub(crate) fn owner(of: &Value) -> Value {
    json!({"apiVersion": of["apiVersion"], "kind": "Gslb", "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true})
}

pub(crate) async fn is_served(cluster: &Cluster) {
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

fn reasons(cluster: &Cluster, name: &str) -> Vec<String> {
    cluster.events("Gslb", name).into_iter().map(|(reason, _)| reason).collect()
}

/// The definitions without the one of the legacy group.
fn without_the_legacy_group() -> String {
    let all = gslb_crds::yaml();
    let kept: Vec<&str> =
        all.split("---\n").filter(|crd| !crd.contains("name: gslbs.k8gb.absa.oss")).collect();
    assert_eq!(kept.len(), gslb_crds::all().len() - 1);
    kept.join("---\n")
}

fn the_definition() -> Value {
    let all = gslb_crds::all();
    let crd = all.iter().find(|crd| crd.spec.group == "k8gb.absa.oss").unwrap();
    let mut crd = serde_json::to_value(crd).unwrap();
    crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
    crd["kind"] = json!("CustomResourceDefinition");
    crd
}

/// Conformance 79, 87. F-84, F-86.
#[tokio::test(start_paused = true)]
async fn a_legacy_gslb_is_served_as_one_of_today() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    let object = cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let running = cluster.run();
    is_served(&cluster).await;
    assert_eq!(endpoint(&cluster, "app").unwrap()["metadata"]["ownerReferences"], json!([owner(&object)]));
    eventually("its status tells", || {
        let status = stored(&cluster, "app")?["status"].clone();
        (status["hosts"] == HOST && status["geoTag"] == "eu" && status["serviceHealth"][HOST] == "Healthy")
            .then_some(())
    })
    .await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    is_served(&cluster).await;
    for seconds in 6..12 {
        let mut edited = stored(&cluster, "app").unwrap();
        edited["spec"]["strategy"]["dnsTtlSeconds"] = json!(seconds);
        cluster.api.put_object(edited).unwrap();
        pass(2).await;
    }
    cluster.settle().await;
    pass(600).await;
    assert_eq!(cluster.writes(), []);
    let told = reasons(&cluster, "app");
    assert_eq!(told.iter().filter(|reason| *reason == "LegacyDeprecated").count(), 1, "{told:?}");
    running.stop().await;
    let _running = cluster.run();
    pass(100).await;
    let told = reasons(&cluster, "app");
    assert_eq!(told.iter().filter(|reason| *reason == "LegacyDeprecated").count(), 1, "{told:?}");
    assert_eq!(stored(&cluster, "app").unwrap()["metadata"].get("finalizers"), None);
    assert_eq!(cluster.gslb("app"), Value::Null);
    cluster.api.delete(GROUP, "Gslb", "web", "app").unwrap();
    eventually("the records go with it", || endpoint(&cluster, "app").is_none().then_some(())).await;
}

/// Conformance 79: embedded.
#[tokio::test(start_paused = true)]
async fn an_ingress_embedded_in_a_legacy_gslb_belongs_to_it() {
    let cluster = Cluster::alone();
    backend(&cluster.api, "app");
    let mut object = legacy(gslb("app", round_robin()));
    object["spec"]["resourceRef"] = json!({});
    object["spec"]["ingress"] = ingress("app", &[HOST], &[])["spec"].clone();
    let object = cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    let made = eventually("the Ingress is made", || {
        cluster.api.get("networking.k8s.io/v1", "Ingress", "web", "app")
    })
    .await;
    assert_eq!(made["metadata"]["ownerReferences"], json!([owner(&object)]));
}

/// Conformance 80. Case C075: annotations under the old prefix are understood in both groups, and the new prefix wins.
#[tokio::test(start_paused = true)]
async fn annotations_under_the_old_prefix_count() {
    let cluster = Cluster::alone();
    let service = json!({"apiVersion": "v1", "kind": "Service", "name": "app"});
    for object in [load_balancer_service("app", &[OWN]), slice("app", true)] {
        cluster.api.apply_object(object).unwrap();
    }
    let referring = |name: &str| {
        let mut object = gslb(name, round_robin());
        object["spec"]["resourceRef"] = service.clone();
        object
    };
    let old = annotated(legacy(referring("app")), "k8gb.absa.oss/hostname", HOST);
    let old = annotated(old, "k8gb.absa.oss/exposed-ip-addresses", "192.0.2.33");
    let new = annotated(referring("new"), "k8gb.absa.oss/hostname", "old.cloud.example.com");
    let new = annotated(new, "k8gb.io/hostname", "new.cloud.example.com");
    for object in [old, new] {
        cluster.api.apply_object(object).unwrap();
    }
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &["192.0.2.33"]), (HOST, &["192.0.2.33"])]).await;
    let host = "new.cloud.example.com";
    cluster.publishes("new", &[("localtargets-new.cloud.example.com", &[OWN]), (host, &[OWN])]).await;
}

/// Conformance 88.
#[tokio::test(start_paused = true)]
async fn a_legacy_gslb_that_is_migrated_is_not_served() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let object = labelled(legacy(gslb("app", round_robin())), "k8gb.io/migrated-to-k8gb-io", "true");
    cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    pass(60).await;
    assert_eq!(endpoint(&cluster, "app"), None);
    assert!(!reasons(&cluster, "app").contains(&"LegacyDeprecated".to_owned()));
}

/// F-85: the group may come later and may never have been there.
#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_installed_stops_nobody_and_is_noticed_when_it_comes() {
    let cluster = Cluster::with_crds(&without_the_legacy_group());
    application(&cluster.api, "app", &[HOST]);
    application(&cluster.api, "other", &["other.cloud.example.com"]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let running = cluster.run();
    is_served(&cluster).await;
    cluster.settle().await;
    pass(300).await;
    assert_eq!(cluster.writes(), []);
    let asked = cluster.api.journal().entries().iter().filter(|call| call.group == "k8gb.absa.oss").count();
    assert!(asked <= 45, "{asked} requests in five minutes for a group that is not there");
    cluster.api.apply_object(the_definition()).unwrap();
    cluster.api.apply_object(legacy(gslb("other", round_robin()))).unwrap();
    let host = "other.cloud.example.com";
    cluster.publishes("other", &[("localtargets-other.cloud.example.com", &[OWN]), (host, &[OWN])]).await;
    running.stop().await;
}

/// k8gb's own definition has none of our conditions.
#[tokio::test(start_paused = true)]
async fn a_definition_that_prunes_our_status_makes_no_pass_write_again() {
    let cluster = Cluster::with_crds(&without_the_legacy_group());
    let mut crd = the_definition();
    let status = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/status/properties");
    let status = status.unwrap().as_object_mut().unwrap();
    for ours in ["conditions", "observedGeneration", "peers", "peersAnswering", "serving"] {
        status.remove(ours).unwrap();
    }
    crd["spec"]["versions"][0].as_object_mut().unwrap().remove("additionalPrinterColumns");
    cluster.api.apply_object(crd).unwrap();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    eventually("its status tells", || (stored(&cluster, "app")?["status"]["hosts"] == HOST).then_some(()))
        .await;
    cluster.settle().await;
    pass(600).await;
    assert_eq!(cluster.writes(), []);
}

/// Neither the Gslb that serves nor the other one is told in any other way.
fn said_once(cluster: &Cluster) {
    let told = reasons(cluster, "app");
    let about = ["OtherGroupServes", "HostTaken", "NoHosts"];
    let about: Vec<_> = told.iter().filter(|reason| about.contains(&reason.as_str())).collect();
    assert_eq!(about, ["OtherGroupServes"], "{told:?}");
}

/// F-25: of two Gslbs of one name one serves, and the other one writes nothing and says why.
#[tokio::test(start_paused = true)]
async fn of_two_gslbs_of_one_name_the_one_that_publishes_goes_on() {
    for legacy_first in [true, false] {
        let cluster = Cluster::alone();
        application(&cluster.api, "app", &[HOST]);
        let mut both = [legacy(gslb("app", round_robin())), gslb("app", json!({"type": "geoip"}))];
        if !legacy_first {
            both.reverse();
        }
        let [first, second] = both;
        let first = cluster.api.apply_object(first).unwrap();
        let running = cluster.run();
        is_served(&cluster).await;
        cluster.api.apply_object(second.clone()).unwrap();
        let (api, kind) = (second["apiVersion"].as_str().unwrap(), "Gslb");
        let told = eventually("the second one tells", || {
            let second = cluster.api.get(api, kind, "web", "app")?;
            let conditions = second["status"]["conditions"].as_array()?.clone();
            let told = |kind: &str| {
                let mut fitting = conditions.iter().filter(|condition| condition["type"] == kind);
                fitting.find(|condition| condition["reason"] == "OtherGroupServes")
            };
            told("Accepted")?;
            told("Ready").cloned()
        })
        .await;
        let serving = if legacy_first { "k8gb.absa.oss" } else { "k8gb.io" };
        let message = told["message"].as_str().unwrap();
        assert!(message.contains(&format!("in group {serving} is served")), "{message}");
        cluster.settle().await;
        said_once(&cluster);
        pass(600).await;
        assert_eq!(cluster.writes(), []);
        running.stop().await;
        let _running = cluster.run();
        pass(60).await;
        said_once(&cluster);
        let object = endpoint(&cluster, "app").unwrap();
        assert_eq!(object["metadata"]["ownerReferences"], json!([owner(&first)]));
        is_served(&cluster).await;
        cluster.api.delete(first["apiVersion"].as_str().unwrap(), kind, "web", "app").unwrap();
        let second = cluster.api.get(api, kind, "web", "app").unwrap();
        eventually("the second one takes over", || {
            let endpoint = endpoint(&cluster, "app")?;
            (endpoint["metadata"]["ownerReferences"] == json!([owner(&second)])).then_some(())
        })
        .await;
        is_served(&cluster).await;
    }
}

/// F-25: one host of two names.
#[tokio::test(start_paused = true)]
async fn the_older_gslb_serves_a_host_whatever_its_group() {
    let cluster = Cluster::alone();
    for name in ["app", "young"] {
        application(&cluster.api, name, &[HOST]);
    }
    let mut old = legacy(gslb("app", round_robin()));
    old["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
    cluster.api.put_object(old).unwrap();
    cluster.api.apply_object(gslb("young", round_robin())).unwrap();
    let _running = cluster.run();
    is_served(&cluster).await;
    let message = cluster.tells("young", "Accepted", "False", "HostTaken").await;
    assert!(message.contains("Gslb web/app is older"), "{message}");
}
