//! What only the stand-in can do, or does at once where a cluster takes its time: faults, 410, collection.

#![allow(clippy::unwrap_used, reason = "a test may panic, and its helpers are part of it")]

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures::{StreamExt, TryStreamExt};
use gslb_mocks::kube::{ApiServer, Failure, Fault, Matcher};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tower::ServiceExt;

const CRD: &str = include_str!("kube_gslb_crd.yaml");

fn server() -> ApiServer {
    ApiServer::builder().crd_yaml(CRD).build()
}

fn config_maps(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.router(), "default"))
}

fn config_map(name: &str, owner: Option<&Value>) -> Value {
    let owners: Vec<Value> = owner
        .into_iter()
        .map(|owner| {
            json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true})
        })
        .collect();
    let metadata = json!({"name": name, "namespace": "default", "ownerReferences": owners});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

/// The names of the groups in the order in which discovery tells them, in the old form and the aggregated one.
async fn discovered(server: &ApiServer) -> [Vec<String>; 2] {
    let client = Client::new(server.router(), "default");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let request = Request::get("/apis").header("accept", accept).body(Vec::new()).unwrap();
    let aggregated: Value = client.request(request).await.unwrap();
    let old = client.list_api_groups().await.unwrap();
    let items = aggregated["items"].as_array().unwrap().iter();
    [
        old.groups.into_iter().map(|group| group.name).collect(),
        items.map(|group| group["metadata"]["name"].as_str().unwrap().to_owned()).collect(),
    ]
}

#[tokio::test]
async fn groups_are_discovered_by_name_after_the_one_that_is_to_be_first() {
    let [old, aggregated] = discovered(&server()).await;
    assert!(old.is_sorted() && old.contains(&"k8gb.io".to_owned()), "{old:?}");
    assert_eq!(old, aggregated);
    let preferring = ApiServer::builder().crd_yaml(CRD).first_group("k8gb.io").build();
    for mut groups in discovered(&preferring).await {
        assert_eq!(groups.remove(0), "k8gb.io");
        assert!(groups.is_sorted(), "{groups:?}");
    }
}

#[tokio::test]
async fn faults_hit_as_often_as_asked() {
    let server = server();
    server.faults().fail(Matcher::new("list", "", "configmaps"), 503, 2);
    for _ in 0..2 {
        assert!(config_maps(&server).list(&ListParams::default()).await.is_err());
    }
    config_maps(&server).list(&ListParams::default()).await.unwrap();
    assert_eq!(server.journal().count(|entry| entry.verb == "list" && entry.status_code == 503), 2);
    assert!(server.faults().pending().is_empty());
}

#[tokio::test]
async fn a_lost_answer_has_changed_the_store_all_the_same() {
    let server = server();
    let matcher = Matcher::new("create", "", "configmaps");
    server.faults().inject(Fault { matcher, failure: Failure::LoseAnswer, times: Some(1) });
    let object = serde_json::from_value(config_map("a", None)).unwrap();
    assert!(config_maps(&server).create(&PostParams::default(), &object).await.is_err());
    assert!(server.get("v1", "ConfigMap", "default", "a").is_some());
    assert_eq!(server.journal().count(|entry| entry.changed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delay_passes_in_paused_time() {
    let server = server();
    let matcher = Matcher::new("list", "", "configmaps");
    server.faults().inject(Fault { matcher, failure: Failure::Delay(Duration::from_secs(60)), times: None });
    let start = tokio::time::Instant::now();
    config_maps(&server).list(&ListParams::default()).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test]
async fn watches_can_be_dropped_and_expired() {
    let server = server();
    let version = server.revision().to_string();
    let dropped = config_maps(&server).watch(&WatchParams::default(), &version).await.unwrap();
    server.faults().drop_watches();
    assert_eq!(dropped.collect::<Vec<_>>().await.len(), 0);

    let expired = config_maps(&server).watch(&WatchParams::default(), &version).await.unwrap();
    server.put_object(config_map("seen-or-not", None)).unwrap();
    server.expire_watches();
    let last = expired.try_collect::<Vec<_>>().await.unwrap().pop().expect("an error event");
    assert!(matches!(last, WatchEvent::Error(status) if status.code == 410));

    let again = server.revision().to_string();
    let mut fresh = config_maps(&server).watch(&WatchParams::default(), &again).await.unwrap().boxed();
    server.put_object(config_map("new", None)).unwrap();
    let event = fresh.try_next().await.unwrap();
    assert!(matches!(event, Some(WatchEvent::Added(object)) if object.name_any() == "new"));
}

#[tokio::test]
async fn a_watch_that_falls_behind_the_window_must_list_again() {
    let server = ApiServer::builder().watch_window(2).build();
    let version = server.revision().to_string();
    for name in ["a", "b", "c"] {
        server.put_object(config_map(name, None)).unwrap();
    }
    let stream = config_maps(&server).watch(&WatchParams::default(), &version).await.unwrap();
    let seen: Vec<_> = stream.try_collect().await.unwrap();
    assert!(matches!(&seen[..], [WatchEvent::Error(status)] if status.code == 410), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_carry_the_version_on_and_a_watch_ends_at_its_time() {
    let server = server();
    let version = server.revision().to_string();
    let params = WatchParams::default().timeout(90);
    let stream = config_maps(&server).watch(&params, &version).await.unwrap();
    server
        .apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}))
        .unwrap();
    let seen: Vec<_> = stream.try_collect().await.unwrap();
    let revision = server.revision().to_string();
    assert!(seen.len() >= 2);
    for event in &seen {
        assert!(
            matches!(event, WatchEvent::Bookmark(mark) if mark.metadata.resource_version == revision),
            "{event:?}"
        );
    }
}

#[tokio::test]
async fn dependents_go_with_their_last_owner() {
    let server = server();
    let owner = server.put_object(config_map("owner", None)).unwrap();
    server.put_object(config_map("child", Some(&owner))).unwrap();
    let child = server.get("v1", "ConfigMap", "default", "child").unwrap();
    server.put_object(config_map("grandchild", Some(&child))).unwrap();
    assert!(server.delete("v1", "ConfigMap", "default", "owner").unwrap());
    assert_eq!(server.list("v1", "ConfigMap", "default"), Vec::<Value>::new());
    // Its owner had gone before it came.
    server.put_object(config_map("late", Some(&owner))).unwrap();
    assert_eq!(server.get("v1", "ConfigMap", "default", "late"), None);
}

#[tokio::test]
async fn foreground_deletion_waits_for_dependents_with_finalizers() {
    let server = server();
    let owner = server.put_object(config_map("owner", None)).unwrap();
    let mut child = config_map("child", Some(&owner));
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.put_object(child).unwrap();
    let request = Request::delete("/api/v1/namespaces/default/configmaps/owner?propagationPolicy=Foreground");
    let response = server.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let waiting = server.get("v1", "ConfigMap", "default", "owner").expect("it waits for its child");
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    server.put_object(config_map("child", Some(&owner))).unwrap();
    assert_eq!(server.list("v1", "ConfigMap", "default"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_namespace_takes_its_content_with_it() {
    let server = server();
    server
        .apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}}))
        .unwrap();
    let mut object = config_map("a", None);
    object["metadata"]["namespace"] = json!("demo");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.put_object(object.clone()).unwrap();
    assert!(!server.delete("v1", "Namespace", "", "demo").unwrap());
    let refused = server.put_object(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "demo"}}),
    );
    assert_eq!(refused.unwrap_err().code, 403);
    object["metadata"]["finalizers"] = json!([]);
    server.put_object(object).unwrap();
    assert_eq!(server.get("v1", "Namespace", "", "demo"), None);
}

#[tokio::test]
async fn the_deletion_of_a_namespace_with_thousands_of_objects_holds_nobody_up() {
    let server = server();
    server
        .apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"}}))
        .unwrap();
    let begun = Instant::now();
    for number in 0..8000 {
        let mut object = config_map(&format!("a{number}"), None);
        object["metadata"]["namespace"] = json!("demo");
        server.put_object(object).unwrap();
    }
    let (filled, begun) = (begun.elapsed(), Instant::now());
    assert!(server.delete("v1", "Namespace", "", "demo").unwrap());
    // Each deletion costs the same, however many are left: with a look at those it would be twenty times as long.
    assert!(begun.elapsed() < 4 * filled, "filled in {filled:?}, deleted in {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_crd_is_served_from_its_creation_to_its_deletion() {
    let server = ApiServer::builder().build();
    let crd: Value = serde_saphyr::from_str(CRD).unwrap();
    let created = server.put_object(crd).unwrap();
    assert_eq!(created["status"]["conditions"][1]["type"], "Established");
    let gslb = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"name": "web"},
        "spec": {"strategy": {"type": "geoip"}}, "status": {"geoTag": "eu"}});
    assert_eq!(server.apply_object(gslb.clone()).unwrap()["status"]["geoTag"], "eu");
    server.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gslbs.k8gb.io").unwrap();
    assert_eq!(server.apply_object(gslb).unwrap_err().code, 404);
}

#[tokio::test]
async fn a_watcher_of_kube_runtime_lists_again_after_410() {
    let server = server();
    server.put_object(config_map("a", None)).unwrap();
    let config = kube::runtime::watcher::Config::default().streaming_lists();
    let mut watching = kube::runtime::watcher(config_maps(&server), config).boxed();
    let mut seen = Vec::new();
    let mut names_until_ready = async || {
        let mut names = Vec::new();
        loop {
            match watching.next().await {
                Some(Ok(kube::runtime::watcher::Event::InitApply(object))) => names.push(object.name_any()),
                Some(Ok(kube::runtime::watcher::Event::InitDone)) => return names,
                Some(Ok(_) | Err(_)) => {}
                None => panic!("a watcher never ends"),
            }
        }
    };
    seen.push(names_until_ready().await);
    server.put_object(config_map("b", None)).unwrap();
    server.expire_watches();
    seen.push(names_until_ready().await);
    assert_eq!(seen, [vec!["a"], vec!["a", "b"]]);
}

#[tokio::test]
async fn the_watches_of_a_kind_end_with_its_definition() {
    let server = server();
    let gslb = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
        "metadata": {"name": "web", "namespace": "default"}, "spec": {"strategy": {"type": "roundRobin"}}});
    server.apply_object(gslb).unwrap();
    let resource = ApiResource {
        group: "k8gb.io".into(),
        version: "v1beta1".into(),
        api_version: "k8gb.io/v1beta1".into(),
        kind: "Gslb".into(),
        plural: "gslbs".into(),
    };
    let gslbs: Api<DynamicObject> =
        Api::default_namespaced_with(Client::new(server.router(), "default"), &resource);
    let version = gslbs.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut events = gslbs.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    server.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "gslbs.k8gb.io").unwrap();
    assert!(matches!(events.try_next().await.unwrap(), Some(WatchEvent::Deleted(_))));
    assert!(events.try_next().await.unwrap().is_none());
    assert!(
        matches!(gslbs.list(&ListParams::default()).await, Err(kube::Error::Api(status)) if status.code == 404)
    );
}
