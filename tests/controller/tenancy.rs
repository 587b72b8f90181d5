//! What a namespace may do, as the annotations of its Namespace say it (F-74).

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::legacy::legacy;
use crate::objects::{
    HOST, OWN, annotated, application, gslb, in_namespace, ingress, labelled, round_robin, service, slice,
};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const OTHER: &str = "other.cloud.example.com";
const HOSTS: &str = "gslb-bridge.io/permitted-hosts";
const ADDRESSES: &str = "gslb-bridge.io/exposed-addresses";
const REFERENCES_FROM: &str = "gslb-bridge.io/references-from";
const EXPOSED_ADDRESSES: &str = "k8gb.io/exposed-ip-addresses";
const EXPOSED_HOST_NAMES: &str = "k8gb.io/exposed-hostnames";

/// A cluster with the policy, and an application `app` that nothing is permitted to yet.
fn cluster() -> Cluster {
    let cluster =
        Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0").setting("NAMESPACE_POLICY", "enforce");
    application(&cluster.api, "app", &[HOST]);
    cluster
}

/// Gives a Namespace exactly these annotations.
fn permit(cluster: &Cluster, namespace: &str, annotations: &[(&str, &str)]) {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let object = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": namespace, "annotations": annotations}});
    cluster.api.apply_object(object).unwrap();
}

async fn is_answered_with(cluster: &Cluster, addresses: &[&str]) {
    cluster.publishes("app", &[(LOCAL, addresses), (HOST, addresses)]).await;
}

fn told(cluster: &Cluster, reason: &str) -> usize {
    cluster.events("Gslb", "app").iter().filter(|(found, _)| found == reason).count()
}

/// As k8gb: nobody looks at Namespaces.
#[tokio::test(start_paused = true)]
async fn without_the_policy_no_namespace_is_read() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    assert_eq!(cluster.api.journal().count(|entry| entry.resource == "namespaces"), 0);
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn a_host_is_served_while_its_namespace_permits_it_and_the_others_go_on() {
    let cluster = cluster();
    cluster.api.apply_object(ingress("app", &[HOST, OTHER], &[OWN])).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    permit(&cluster, "web", &[(HOSTS, OTHER)]);
    let _running = cluster.run();
    let other: [(&str, &[&str]); 2] = [("localtargets-other.cloud.example.com", &[OWN]), (OTHER, &[OWN])];
    cluster.publishes("app", &other).await;
    let message = cluster.tells("app", "Accepted", "False", "HostNotPermitted").await;
    assert_eq!(
        message,
        "host app.cloud.example.com is not served: Namespace web does not permit it: its annotation gslb-bridge.io/permitted-hosts lists other.cloud.example.com; choose another host, or have it permitted there"
    );
    permit(&cluster, "web", &[(HOSTS, "*.Cloud.example.com")]);
    cluster.publishes("app", &[&[(LOCAL, &[OWN] as &[&str]), (HOST, &[OWN])], &other[..]].concat()).await;
    cluster.tells("app", "Accepted", "True", "Accepted").await;
    permit(&cluster, "web", &[]);
    let start = tokio::time::Instant::now();
    cluster.publishes("app", &[]).await;
    assert!(start.elapsed().as_secs() < 2, "it took {:?}", start.elapsed());
    cluster.tells("app", "Accepted", "False", "HostNotPermitted").await;
    pass(100).await;
    assert_eq!(told(&cluster, "HostNotPermitted"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_changes_in_other_ways_causes_no_write() {
    let cluster = cluster();
    permit(&cluster, "web", &[(HOSTS, HOST)]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    cluster.settle().await;
    permit(&cluster, "web", &[(HOSTS, HOST), ("owner", "shop")]);
    permit(&cluster, "web", &[(HOSTS, "app.CLOUD.example.com.")]);
    permit(&cluster, "gslb", &[(HOSTS, OTHER)]);
    pass(100).await;
    assert_eq!(cluster.writes(), []);
}

/// F-74: one engine for all of them.
#[tokio::test(start_paused = true)]
async fn annotated_ingresses_embedded_ones_and_the_legacy_group_are_judged_alike() {
    let mut embedded = gslb("app", round_robin());
    let path = json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "app"}}});
    embedded["spec"]["resourceRef"] = json!({});
    embedded["spec"]["ingress"] = json!({"rules": [{"host": HOST, "http": {"paths": [path]}}]});
    let asking = annotated(ingress("app", &[HOST], &[OWN]), "k8gb.io/strategy", "roundRobin");
    for (object, api) in [
        (asking, "k8gb.io/v1beta1"),
        (embedded, "k8gb.io/v1beta1"),
        (legacy(gslb("app", round_robin())), "k8gb.absa.oss/v1beta1"),
    ] {
        let cluster = cluster();
        if object["spec"]["ingress"].is_object() {
            cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
        }
        cluster.api.apply_object(object).unwrap();
        let _running = cluster.run();
        eventually("it is told", || {
            let gslb = cluster.api.get(api, "Gslb", "web", "app")?;
            let conditions = gslb["status"]["conditions"].as_array()?;
            conditions.iter().any(|condition| condition["reason"] == "HostNotPermitted").then_some(())
        })
        .await;
        assert_eq!(cluster.records("app"), Some(vec![]));
    }
}

/// F-25, F-74.
#[tokio::test(start_paused = true)]
async fn an_older_gslb_that_may_not_use_the_host_does_not_win_it() {
    let cluster = cluster();
    permit(&cluster, "younger", &[(HOSTS, "*")]);
    for object in [ingress("app", &[HOST], &["192.0.2.9"]), service("app"), slice("app", true)] {
        cluster.api.apply_object(in_namespace(object, "younger")).unwrap();
    }
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster.api.apply_object(in_namespace(gslb("app", round_robin()), "younger")).unwrap();
    let _running = cluster.run();
    let answers = |namespace: &'static str, wanted: usize| {
        let api = &cluster.api;
        let look = move || {
            let endpoint = api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", namespace, "app")?;
            let endpoints = endpoint["spec"]["endpoints"].as_array().map(Vec::len).unwrap_or_default();
            (endpoints == wanted).then_some(())
        };
        async move { eventually(&format!("{namespace} has {wanted} records"), look).await }
    };
    answers("younger", 2).await;
    cluster.tells("app", "Accepted", "False", "HostNotPermitted").await;
    permit(&cluster, "web", &[(HOSTS, HOST)]);
    answers("web", 2).await;
    answers("younger", 0).await;
    permit(&cluster, "web", &[]);
    answers("younger", 2).await;
    answers("web", 0).await;
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn a_reference_to_another_namespace_is_followed_while_that_one_permits_it() {
    let cluster = cluster();
    permit(&cluster, "web", &[(HOSTS, "*")]);
    for object in [ingress("there", &[HOST], &[OWN]), service("there"), slice("there", true)] {
        cluster.api.apply_object(in_namespace(object, "gslb")).unwrap();
    }
    let mut away = gslb("app", round_robin());
    away["spec"]["resourceRef"]["name"] = json!("there");
    away["spec"]["resourceRef"]["namespace"] = json!("gslb");
    cluster.api.apply_object(away).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "ReferenceNotPermitted").await;
    assert_eq!(
        message,
        "Namespace gslb does not permit Gslbs of namespace web to refer to its objects, such as kind Ingress: it has no annotation gslb-bridge.io/references-from; refer to an object of namespace web, or have it permitted there"
    );
    permit(&cluster, "gslb", &[(REFERENCES_FROM, "web")]);
    is_answered_with(&cluster, &[OWN]).await;
    permit(&cluster, "gslb", &[(REFERENCES_FROM, "green")]);
    cluster.publishes("app", &[]).await;
    cluster.tells("app", "Resolved", "False", "ReferenceNotPermitted").await;
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn addresses_are_exposed_by_annotation_while_the_namespace_permits_them() {
    let cluster = cluster();
    permit(&cluster, "web", &[(HOSTS, "*"), (ADDRESSES, "198.51.100.0/24")]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    let expose = |list: &str| {
        cluster.api.apply_object(annotated(gslb("app", round_robin()), EXPOSED_ADDRESSES, list)).unwrap();
    };
    // What is not permitted is no edit that counts: the last addresses go on.
    expose("198.51.100.1,203.0.113.7");
    let message = cluster.tells("app", "Resolved", "False", "AddressNotPermitted").await;
    assert_eq!(
        message,
        "Namespace web does not permit annotation k8gb.io/exposed-ip-addresses to expose 203.0.113.7: its annotation gslb-bridge.io/exposed-addresses lists 198.51.100.0/24; take it out, or have it permitted there; the last addresses go on meanwhile"
    );
    is_answered_with(&cluster, &[OWN]).await;
    expose("198.51.100.1,198.51.100.2");
    is_answered_with(&cluster, &["198.51.100.1", "198.51.100.2"]).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    // Taken away, they go at once, and are not held when the annotation goes too.
    permit(&cluster, "web", &[(HOSTS, "*"), (ADDRESSES, "198.51.100.1")]);
    is_answered_with(&cluster, &["198.51.100.1"]).await;
    permit(&cluster, "web", &[(HOSTS, "*")]);
    cluster.publishes("app", &[]).await;
    cluster.api.apply_object(ingress("app", &[HOST], &[])).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster.tells("app", "Resolved", "False", "NoAddresses").await;
    assert_eq!(cluster.records("app"), Some(vec![]));
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn a_list_that_becomes_invalid_keeps_no_address_that_is_not_permitted_any_more() {
    let cluster = cluster();
    permit(&cluster, "web", &[(HOSTS, "*"), (ADDRESSES, "198.51.100.1")]);
    let expose = |list: &str| {
        cluster.api.apply_object(annotated(gslb("app", round_robin()), EXPOSED_ADDRESSES, list)).unwrap();
    };
    expose("198.51.100.1");
    let _running = cluster.run();
    is_answered_with(&cluster, &["198.51.100.1"]).await;
    expose("name");
    cluster.tells("app", "Resolved", "False", "ExposedAddressesInvalid").await;
    is_answered_with(&cluster, &["198.51.100.1"]).await;
    permit(&cluster, "web", &[(HOSTS, "*")]);
    cluster.publishes("app", &[]).await;
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn of_exposed_host_names_the_addresses_are_answered_that_the_namespace_permits() {
    let cluster = cluster();
    cluster.dns.answer(crate::world::RESOLVER, "lb.example.net", &["198.51.100.1", "203.0.113.7"]);
    permit(&cluster, "web", &[(HOSTS, "*"), (ADDRESSES, "198.51.100.0/24")]);
    cluster
        .api
        .apply_object(annotated(gslb("app", round_robin()), EXPOSED_HOST_NAMES, "lb.example.net"))
        .unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &["198.51.100.1"]).await;
    let message = cluster.tells("app", "Resolved", "False", "AddressNotPermitted").await;
    assert!(message.contains("annotation k8gb.io/exposed-hostnames to expose 203.0.113.7: "), "{message}");
}

fn forbid_namespaces(cluster: &Cluster) {
    let matcher = Matcher { resource: Some("namespaces".into()), ..Matcher::default() };
    cluster.api.faults().inject(Fault { matcher, failure: Failure::status(403), times: None });
}

/// F-74.
#[tokio::test(start_paused = true)]
async fn namespaces_that_cannot_be_read_take_nothing_away_and_permit_nothing_new() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    application(&cluster.api, "other", &[OTHER]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    running.stop().await;
    let cluster = cluster.setting("NAMESPACE_POLICY", "enforce");
    forbid_namespaces(&cluster);
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    let running = cluster.run();
    let message = cluster.tells("other", "Accepted", "False", "PermissionsNotRead").await;
    assert!(message.contains("list and watch") && message.contains("namespaces"), "{message}");
    let message = cluster.tells("app", "Accepted", "True", "AcceptedWithWarnings").await;
    assert!(message.starts_with("what was accepted goes on and nothing new is"), "{message}");
    pass(100).await;
    is_answered_with(&cluster, &[OWN]).await;
    // An address is new too, and the last ones go on.
    let exposing = annotated(gslb("app", round_robin()), EXPOSED_ADDRESSES, "198.51.100.1");
    cluster.api.apply_object(exposing).unwrap();
    cluster.tells("app", "Resolved", "False", "PermissionsNotRead").await;
    is_answered_with(&cluster, &[OWN]).await;
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    // Once they are read, they count.
    permit(&cluster, "web", &[(HOSTS, OTHER)]);
    cluster.api.faults().clear();
    cluster.publishes("other", &[("localtargets-other.cloud.example.com", &[OWN]), (OTHER, &[OWN])]).await;
    cluster.publishes("app", &[]).await;
    running.stop().await;
}

/// F-74: the canonical Gslb has no status yet when it takes the records over.
#[tokio::test(start_paused = true)]
async fn a_migration_goes_on_while_namespaces_cannot_be_read() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(legacy(gslb("app", round_robin()))).unwrap();
    let running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    running.stop().await;
    let cluster = cluster.setting("NAMESPACE_POLICY", "enforce");
    forbid_namespaces(&cluster);
    let requested = labelled(legacy(gslb("app", round_robin())), "k8gb.io/migration-requested", "true");
    cluster.api.apply_object(requested).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Accepted", "True", "AcceptedWithWarnings").await;
    pass(100).await;
    is_answered_with(&cluster, &[OWN]).await;
}

/// F-74: what was read stays in force while the watch is down, over any edit of a Gslb.
#[tokio::test(start_paused = true)]
async fn a_watch_of_namespaces_that_breaks_changes_nothing() {
    let cluster = cluster();
    permit(&cluster, "web", &[(HOSTS, HOST)]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    forbid_namespaces(&cluster);
    cluster.api.expire_watches();
    pass(60).await;
    cluster.api.apply_object(ingress("app", &[HOST, OTHER], &[OWN])).unwrap();
    let message = cluster.tells("app", "Accepted", "False", "HostNotPermitted").await;
    assert!(message.contains(OTHER), "{message}");
    is_answered_with(&cluster, &[OWN]).await;
}
