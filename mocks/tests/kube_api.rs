//! What the in-memory API promises, asked through the `kube` client.
//!
//! By default each test has a server of its own, in-process and without sockets. With `KUBE_API_TEST_KUBECONFIG`
//! naming a kubeconfig, the same tests ask that cluster instead: that is how the stand-in is kept honest. A bare
//! etcd and kube-apiserver are enough; nothing here needs the controller manager:
//!
//! ```text
//! etcd --data-dir $D --listen-client-urls http://127.0.0.1:23790 --advertise-client-urls http://127.0.0.1:23790
//! openssl genrsa -out $D/sa.key 2048; echo 'secret,admin,admin,"system:masters"' > $D/tokens.csv
//! kube-apiserver --etcd-servers=http://127.0.0.1:23790 --bind-address=127.0.0.1 --secure-port=26443 --cert-dir=$D \
//!   --service-account-key-file=$D/sa.key --service-account-signing-key-file=$D/sa.key \
//!   --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.0.0.0/24 \
//!   --token-auth-file=$D/tokens.csv --authorization-mode=AlwaysAllow --disable-admission-plugins=ServiceAccount
//! ```
//!
//! The kubeconfig names `https://127.0.0.1:26443` with `insecure-skip-tls-verify: true` and the token. What only the
//! stand-in can do, such as faults, is in `kube_memory.rs`.

#![allow(clippy::unwrap_used, reason = "a test may panic, and its helpers are part of it")]

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Event, Namespace, Service};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, ObjectMeta, Patch,
    PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};

const CRD: &str = include_str!("kube_gslb_crd.yaml");
/// Far more than any step takes; only a broken server waits for it.
const DEADLINE: Duration = Duration::from_secs(20);

struct Cluster {
    client: Client,
    namespace: String,
}

impl Cluster {
    async fn new() -> Self {
        let client = match std::env::var("KUBE_API_TEST_KUBECONFIG") {
            Ok(path) => real(&path).await,
            Err(_) => {
                let server = gslb_mocks::kube::ApiServer::builder().crd_yaml(CRD).build();
                Client::new(server.router(), "default")
            }
        };
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let metadata = ObjectMeta { generate_name: Some("kube-api-".into()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let namespace = namespaces.create(&PostParams::default(), &namespace).await.unwrap().name_any();
        Self { client, namespace }
    }

    fn gslbs(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &gslb_resource())
    }

    fn services(&self) -> Api<Service> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn create(&self, name: &str) -> DynamicObject {
        self.gslbs().create(&PostParams::default(), &gslb(name)).await.unwrap()
    }

    /// GET of a path with an `Accept` header of its own.
    async fn raw(&self, path: &str, accept: &str) -> Value {
        let request = axum::http::Request::get(path).header("accept", accept).body(Vec::new()).unwrap();
        serde_json::from_str(&self.client.request_text(request).await.unwrap()).unwrap()
    }
}

async fn real(path: &str) -> Client {
    let file = Kubeconfig::read_from(path).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let crd: Value = serde_saphyr::from_str(CRD).unwrap();
    crds.patch("gslbs.k8gb.io", &PatchParams::apply("test").force(), &Patch::Apply(crd)).await.unwrap();
    let established = |crd: &DynamicObject| {
        let conditions = crd.data["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True")
    };
    let mut events = crds.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    while let Some(event) = events.try_next().await.unwrap() {
        if let WatchEvent::Added(crd) | WatchEvent::Modified(crd) = event
            && crd.name_any() == "gslbs.k8gb.io"
            && established(&crd)
        {
            break;
        }
    }
    client
}

fn gslb_resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("k8gb.io", "v1beta1", "Gslb"))
}

fn gslb(name: &str) -> DynamicObject {
    DynamicObject::new(name, &gslb_resource()).data(json!({"spec": {"strategy": {"type": "roundRobin"}}}))
}

fn refusal(result: Result<impl std::fmt::Debug, kube::Error>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Test", "message": "m", "lastTransitionTime": "2024-01-01T00:00:00Z"})
}

fn apply_body(content: Value) -> Patch<Value> {
    let mut body = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb"});
    body.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
    body["metadata"]["name"] = json!("web");
    Patch::Apply(body)
}

fn fields_of<'o>(object: &'o DynamicObject, manager: &str) -> Option<&'o Value> {
    let entry = object.managed_fields().iter().find(|entry| entry.manager.as_deref() == Some(manager))?;
    Some(&entry.fields_v1.as_ref()?.0)
}

/// The next `count` events as type and name, bookmarks left out.
async fn events(
    stream: impl futures::Stream<Item = kube::Result<WatchEvent<DynamicObject>>>,
    count: usize,
) -> Vec<(&'static str, String)> {
    let named = stream.try_filter_map(|event| async move {
        Ok(match event {
            WatchEvent::Added(object) => Some(("ADDED", object.name_any())),
            WatchEvent::Modified(object) => Some(("MODIFIED", object.name_any())),
            WatchEvent::Deleted(object) => Some(("DELETED", object.name_any())),
            WatchEvent::Bookmark(_) => None,
            WatchEvent::Error(status) => panic!("{status:?}"),
        })
    });
    tokio::time::timeout(DEADLINE, named.take(count).try_collect()).await.expect("events in time").unwrap()
}

#[tokio::test]
async fn a_created_object_has_identity_and_defaults() {
    let cluster = Cluster::new().await;
    let created = cluster.create("web").await;
    assert_eq!(created.metadata.generation, Some(1));
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    assert_eq!(created.data["spec"], json!({"strategy": {"type": "roundRobin", "dnsTtlSeconds": 30}}));
    assert_eq!(cluster.gslbs().get("web").await.unwrap().resource_version(), created.resource_version());
    assert_eq!(
        refusal(cluster.gslbs().create(&PostParams::default(), &gslb("web")).await).reason,
        "AlreadyExists"
    );
    let missing = refusal(cluster.gslbs().get("none").await);
    assert_eq!((missing.code, missing.message.as_str()), (404, "gslbs.k8gb.io \"none\" not found"));
}

#[tokio::test]
async fn a_namespace_must_exist() {
    let cluster = Cluster::new().await;
    let elsewhere: Api<DynamicObject> =
        Api::namespaced_with(cluster.client.clone(), "no-such-namespace", &gslb_resource());
    let refused = refusal(elsewhere.create(&PostParams::default(), &gslb("web")).await);
    assert_eq!((refused.code, refused.message.as_str()), (404, "namespaces \"no-such-namespace\" not found"));
}

#[tokio::test]
async fn a_stale_update_is_a_conflict() {
    let cluster = Cluster::new().await;
    let first = cluster.create("web").await;
    let mut second = first.clone();
    second.data["spec"]["strategy"]["type"] = json!("failover");
    let updated = cluster.gslbs().replace("web", &PostParams::default(), &second).await.unwrap();
    assert_eq!(updated.metadata.generation, Some(2));
    let refused = refusal(cluster.gslbs().replace("web", &PostParams::default(), &second).await);
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
}

#[tokio::test]
async fn a_write_that_changes_nothing_leaves_the_version() {
    let cluster = Cluster::new().await;
    let created = cluster.create("web").await;
    let replaced = cluster.gslbs().replace("web", &PostParams::default(), &created).await.unwrap();
    assert_eq!(replaced.resource_version(), created.resource_version());
    let body = apply_body(json!({"spec": {"strategy": {"type": "roundRobin"}}}));
    let first = cluster.gslbs().patch("web", &PatchParams::apply("one"), &body).await.unwrap();
    let second = cluster.gslbs().patch("web", &PatchParams::apply("one"), &body).await.unwrap();
    assert_eq!(first.resource_version(), second.resource_version());
}

#[tokio::test]
async fn status_and_spec_are_written_through_their_own_endpoints() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let patch = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"strategy": {"type": "geoip"}}, "status": {"geoTag": "eu"}});
    let patch = Patch::Merge(patch);
    let status = cluster.gslbs().patch_status("web", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(status.data["spec"]["strategy"]["type"], "roundRobin");
    assert_eq!((status.data["status"]["geoTag"].as_str(), status.metadata.generation), (Some("eu"), Some(1)));
    assert!(status.labels().is_empty());
    let patch = Patch::Merge(json!({"spec": {"strategy": {"type": "geoip"}}, "status": {"geoTag": "us"}}));
    let main = cluster.gslbs().patch("web", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!((main.data["status"]["geoTag"].as_str(), main.metadata.generation), (Some("eu"), Some(2)));
}

#[tokio::test]
async fn apply_owns_fields_and_removes_what_is_no_longer_applied() {
    let cluster = Cluster::new().await;
    let gslbs = cluster.gslbs();
    let full = apply_body(json!({"metadata": {"labels": {"a": "1", "b": "2"}},
        "spec": {"strategy": {"type": "roundRobin", "weight": {"eu": 1, "us": 2}}}}));
    let created = gslbs.patch("web", &PatchParams::apply("one"), &full).await.unwrap();
    assert_eq!(
        fields_of(&created, "one"),
        Some(&json!({"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}},
            "f:spec": {"f:strategy": {"f:type": {}, "f:weight": {"f:eu": {}, "f:us": {}}}}}))
    );
    let less = apply_body(json!({"metadata": {"labels": {"a": "1"}},
        "spec": {"strategy": {"type": "roundRobin", "weight": {"eu": 1}}}}));
    let applied = gslbs.patch("web", &PatchParams::apply("one"), &less).await.unwrap();
    assert_eq!(applied.data["spec"]["strategy"]["weight"], json!({"eu": 1}));
    assert_eq!(applied.labels().len(), 1);
}

#[tokio::test]
async fn apply_refuses_fields_of_others_unless_forced() {
    let cluster = Cluster::new().await;
    let gslbs = cluster.gslbs();
    let body = |strategy: &str| apply_body(json!({"spec": {"strategy": {"type": strategy}}}));
    gslbs.patch("web", &PatchParams::apply("one"), &body("roundRobin")).await.unwrap();
    let refused = refusal(gslbs.patch("web", &PatchParams::apply("two"), &body("failover")).await);
    assert_eq!(refused.code, 409);
    assert_eq!(refused.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.strategy.type");
    assert_eq!(refused.details.unwrap().causes[0].field, ".spec.strategy.type");
    let forced = gslbs.patch("web", &PatchParams::apply("two").force(), &body("failover")).await.unwrap();
    assert_eq!(fields_of(&forced, "one"), None);
    // Sharing a field with the same value is no conflict.
    let shared = gslbs.patch("web", &PatchParams::apply("one"), &body("failover")).await.unwrap();
    assert!(fields_of(&shared, "one").is_some() && fields_of(&shared, "two").is_some());
}

#[tokio::test]
async fn conditions_merge_by_type_in_apply() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let gslbs = cluster.gslbs();
    let body = |kinds: &[&str]| {
        let list: Vec<Value> = kinds.iter().map(|kind| condition(kind, "True")).collect();
        apply_body(json!({"status": {"conditions": list}}))
    };
    let types = |object: &DynamicObject| -> Vec<String> {
        let list = object.data["status"]["conditions"].as_array().unwrap();
        list.iter().map(|one| one["type"].as_str().unwrap().to_owned()).collect()
    };
    gslbs.patch_status("web", &PatchParams::apply("one"), &body(&["Ready", "Accepted"])).await.unwrap();
    let both = gslbs.patch_status("web", &PatchParams::apply("two"), &body(&["Other"])).await.unwrap();
    assert_eq!(types(&both), ["Ready", "Accepted", "Other"]);
    let less = gslbs.patch_status("web", &PatchParams::apply("one"), &body(&["Ready"])).await.unwrap();
    assert_eq!(types(&less), ["Ready", "Other"]);
}

#[tokio::test]
async fn an_update_takes_over_what_it_changes() {
    let cluster = Cluster::new().await;
    let gslbs = cluster.gslbs();
    let body = apply_body(json!({"spec": {"strategy": {"type": "roundRobin", "dnsTtlSeconds": 5}}}));
    gslbs.patch("web", &PatchParams::apply("one"), &body).await.unwrap();
    let params = PatchParams { field_manager: Some("human".into()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"spec": {"strategy": {"dnsTtlSeconds": 9}}}));
    let patched = gslbs.patch("web", &params, &patch).await.unwrap();
    assert_eq!(fields_of(&patched, "one"), Some(&json!({"f:spec": {"f:strategy": {"f:type": {}}}})));
    assert_eq!(
        fields_of(&patched, "human"),
        Some(&json!({"f:spec": {"f:strategy": {"f:dnsTtlSeconds": {}}}}))
    );
    let refused = refusal(gslbs.patch("web", &PatchParams::apply("one"), &body).await);
    let expected = "Apply failed with 1 conflict: conflict with \"human\" using k8gb.io/v1beta1: .spec.strategy.dnsTtlSeconds";
    assert_eq!(refused.message, expected);
}

#[tokio::test]
async fn a_schema_refuses_with_the_field_and_the_reason() {
    let cluster = Cluster::new().await;
    let mut broken = gslb("web");
    broken.data["spec"]["strategy"] = json!({"type": "nope", "dnsTtlSeconds": 0});
    let refused = refusal(cluster.gslbs().create(&PostParams::default(), &broken).await);
    assert_eq!((refused.code, refused.reason.as_str()), (422, "Invalid"));
    let mut causes: Vec<(String, String)> =
        refused.details.unwrap().causes.into_iter().map(|cause| (cause.field, cause.message)).collect();
    causes.retain(|(field, _)| field.starts_with("spec"));
    causes.sort();
    assert_eq!(causes[0].0, "spec.strategy.dnsTtlSeconds");
    assert_eq!(
        causes[0].1,
        "Invalid value: 0: spec.strategy.dnsTtlSeconds in body should be greater than or equal to 1"
    );
    assert_eq!(
        causes[1].1,
        "Unsupported value: \"nope\": supported values: \"roundRobin\", \"failover\", \"geoip\""
    );
    let mut empty = gslb("web");
    empty.data["spec"]["strategy"] = json!({});
    let refused = refusal(cluster.gslbs().create(&PostParams::default(), &empty).await);
    assert!(refused.message.contains("spec.strategy.type: Required value"), "{}", refused.message);
}

#[tokio::test]
async fn a_rule_in_cel_is_checked() {
    let cluster = Cluster::new().await;
    let mut object = gslb("web");
    object.data["spec"]["zone"] = json!("app.example.org");
    object.data["spec"]["parentZone"] = json!("example.com");
    let refused = refusal(cluster.gslbs().create(&PostParams::default(), &object).await);
    assert!(refused.message.contains("zone must be below parentZone"), "{}", refused.message);
    object.data["spec"]["zone"] = json!("app.example.com");
    cluster.gslbs().create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn unknown_fields_are_pruned_or_refused_as_asked() {
    let cluster = Cluster::new().await;
    let mut object = gslb("web");
    object.data["spec"]["typo"] = json!(1);
    object.data["spec"]["extra"] = json!({"anything": {"goes": true}});
    let created = cluster.gslbs().create(&PostParams::default(), &object).await.unwrap();
    assert!(created.data["spec"].get("typo").is_none());
    assert_eq!(created.data["spec"]["extra"], json!({"anything": {"goes": true}}));
    let params = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"spec": {"typo": 1}}));
    let refused = refusal(cluster.gslbs().patch("web", &params, &patch).await);
    assert!(
        refused.message.contains("strict decoding error: unknown field \"spec.typo\""),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn patches_follow_their_media_type() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let gslbs = cluster.gslbs();
    let operations = json!([{"op": "test", "path": "/spec/strategy/type", "value": "roundRobin"},
        {"op": "add", "path": "/spec/hosts", "value": ["a", "b"]}, {"op": "remove", "path": "/spec/hosts/0"}]);
    let patch = Patch::Json::<()>(serde_json::from_value(operations.clone()).unwrap());
    let patched = gslbs.patch("web", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.data["spec"]["hosts"], json!(["b"]));
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}});
    let service: Service = serde_json::from_value(service).unwrap();
    cluster.services().create(&PostParams::default(), &service).await.unwrap();
    let patch = Patch::Strategic(json!({"spec": {"ports": [{"port": 81, "name": "c"}]}}));
    let patched = cluster.services().patch("s", &PatchParams::default(), &patch).await.unwrap();
    let names: Vec<_> =
        patched.spec.unwrap().ports.unwrap().into_iter().filter_map(|port| port.name).collect();
    assert_eq!(names, ["c", "a"].iter().rev().map(ToString::to_string).collect::<Vec<_>>());
}

#[tokio::test]
async fn finalizers_hold_an_object_until_they_are_gone() {
    let cluster = Cluster::new().await;
    let mut object = gslb("web");
    object.metadata.finalizers = Some(vec!["k8gb.io/test".into()]);
    cluster.gslbs().create(&PostParams::default(), &object).await.unwrap();
    let left =
        cluster.gslbs().delete("web", &DeleteParams::default()).await.unwrap().left().expect("it waits");
    assert!(left.metadata.deletion_timestamp.is_some());
    assert_eq!(left.metadata.generation, Some(2));
    let patch = Patch::Merge(json!({"metadata": {"finalizers": ["k8gb.io/test", "another/one"]}}));
    assert_eq!(refusal(cluster.gslbs().patch("web", &PatchParams::default(), &patch).await).code, 422);
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    cluster.gslbs().patch("web", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(refusal(cluster.gslbs().get("web").await).code, 404);
}

#[tokio::test]
async fn deletion_can_be_conditional_and_of_many() {
    let cluster = Cluster::new().await;
    let created = cluster.create("web").await;
    let other = Preconditions { uid: Some("another".into()), ..Preconditions::default() };
    let params = DeleteParams { preconditions: Some(other), ..DeleteParams::default() };
    assert_eq!(refusal(cluster.gslbs().delete("web", &params).await).code, 409);
    let same = Preconditions { uid: created.uid(), ..Preconditions::default() };
    let params = DeleteParams { preconditions: Some(same), ..DeleteParams::default() };
    cluster.gslbs().delete("web", &params).await.unwrap();
    for name in ["a", "b", "c"] {
        let mut object = gslb(name);
        object.metadata.labels = Some([("keep".to_owned(), (name == "c").to_string())].into());
        cluster.gslbs().create(&PostParams::default(), &object).await.unwrap();
    }
    let chosen = ListParams::default().labels("keep!=true");
    cluster.gslbs().delete_collection(&DeleteParams::default(), &chosen).await.unwrap();
    let left = cluster.gslbs().list(&ListParams::default()).await.unwrap();
    assert_eq!(left.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
}

#[tokio::test]
async fn a_dry_run_answers_and_changes_nothing() {
    let cluster = Cluster::new().await;
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let would = cluster.gslbs().create(&params, &gslb("web")).await.unwrap();
    assert_eq!(would.data["spec"]["strategy"]["dnsTtlSeconds"], 30);
    assert_eq!(refusal(cluster.gslbs().get("web").await).code, 404);
}

#[tokio::test]
async fn lists_are_selected_and_paged() {
    let cluster = Cluster::new().await;
    for name in ["a", "b", "c"] {
        let mut object = gslb(name);
        object.metadata.labels = Some([("name".to_owned(), name.to_owned())].into());
        cluster.gslbs().create(&PostParams::default(), &object).await.unwrap();
    }
    let names = async |params: ListParams| {
        let list = cluster.gslbs().list(&params).await.unwrap();
        (
            list.iter().map(ResourceExt::name_any).collect::<Vec<_>>().join(","),
            list.metadata.continue_.filter(|token| !token.is_empty()),
        )
    };
    assert_eq!(names(ListParams::default().labels("name in (a,c)")).await.0, "a,c");
    assert_eq!(names(ListParams::default().labels("name,name notin (a)")).await.0, "b,c");
    assert_eq!(names(ListParams::default().fields("metadata.name=b")).await.0, "b");
    let refused = cluster.gslbs().list(&ListParams::default().fields("spec.zone=x")).await;
    assert_eq!(refusal(refused).code, 400);
    let (first, token) = names(ListParams::default().limit(2)).await;
    assert_eq!(first, "a,b");
    assert_eq!(
        names(ListParams::default().limit(2).continue_token(&token.unwrap())).await,
        ("c".into(), None)
    );
}

#[tokio::test]
async fn a_watch_follows_from_the_version_of_a_list() {
    let cluster = Cluster::new().await;
    cluster.create("before").await;
    let version =
        cluster.gslbs().list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let stream = cluster.gslbs().watch(&WatchParams::default(), &version).await.unwrap();
    cluster.create("web").await;
    let patch = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    cluster.gslbs().patch("web", &PatchParams::default(), &patch).await.unwrap();
    cluster.gslbs().delete("web", &DeleteParams::default()).await.unwrap();
    let web = |event| (event, "web".to_owned());
    assert_eq!(events(stream, 3).await, [web("ADDED"), web("MODIFIED"), web("DELETED")]);
}

#[tokio::test]
async fn a_watch_with_a_selector_sees_objects_come_and_go() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let version =
        cluster.gslbs().list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let stream = cluster.gslbs().watch(&WatchParams::default().labels("in=yes"), &version).await.unwrap();
    for value in [json!("no"), json!("yes"), json!("yes"), json!(null)] {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"in": value, "n": value}}}));
        cluster.gslbs().patch("web", &PatchParams::default(), &patch).await.unwrap();
    }
    let web = |event| (event, "web".to_owned());
    assert_eq!(events(stream, 2).await, [web("ADDED"), web("DELETED")]);
}

#[tokio::test]
async fn a_streaming_list_ends_with_a_marked_bookmark() {
    let cluster = Cluster::new().await;
    cluster.create("a").await;
    cluster.create("b").await;
    let params = WatchParams::default().initial_events();
    let stream = cluster.gslbs().watch(&params, "0").await.unwrap();
    let seen: Vec<_> = stream.take(3).try_collect().await.unwrap();
    assert!(matches!(&seen[..2], [WatchEvent::Added(_), WatchEvent::Added(_)]), "{seen:?}");
    let WatchEvent::Bookmark(bookmark) = &seen[2] else { panic!("{seen:?}") };
    assert_eq!(bookmark.metadata.annotations["k8s.io/initial-events-end"], "true");
}

#[tokio::test]
async fn events_of_both_groups_are_the_same_events() {
    let cluster = Cluster::new().await;
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e1"},
        "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "k8gb.io/test", "reportingInstance": "t-0",
        "action": "Test", "reason": "Tested", "type": "Normal", "note": "a note",
        "regarding": {"kind": "Gslb", "name": "web", "namespace": cluster.namespace}});
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("events.k8s.io", "v1", "Event"));
    let new: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), &cluster.namespace, &resource);
    new.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    let old: Api<Event> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let params = ListParams::default().fields("involvedObject.name=web,involvedObject.kind=Gslb");
    let found = old.list(&params).await.unwrap();
    assert_eq!(found.items[0].message.as_deref(), Some("a note"));
    let path = format!("/api/v1/namespaces/{}/events/e1", cluster.namespace);
    let read = cluster.raw(&path, "application/json").await;
    let without_meaning = ["source", "firstTimestamp", "lastTimestamp", "count"].map(|field| read.get(field));
    let (empty, null) = (json!({}), json!(null));
    assert_eq!(without_meaning, [Some(&empty), Some(&null), Some(&null), None], "{read}");
    assert!(
        old.list(&ListParams::default().fields("involvedObject.name=other")).await.unwrap().items.is_empty()
    );

    let event = json!({"metadata": {"name": "e2"}, "involvedObject": {"kind": "Gslb"}, "reason": "Tested"});
    old.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events/e2", cluster.namespace);
    let read = cluster.raw(&path, "application/json").await;
    let fields = ["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"];
    let without_meaning = fields.map(|field| read.get(field));
    assert_eq!(without_meaning, [Some(&empty), Some(&null), Some(&null), Some(&null)], "{read}");
}

#[tokio::test]
async fn tables_have_the_columns_of_the_crd() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let status =
        Patch::Merge(json!({"status": {"geoTag": "eu", "conditions": [condition("Ready", "True")]}}));
    cluster.gslbs().patch_status("web", &PatchParams::default(), &status).await.unwrap();
    let path = format!("/apis/k8gb.io/v1beta1/namespaces/{}/gslbs", cluster.namespace);
    let table = cluster.raw(&path, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await;
    assert_eq!(table["kind"], "Table");
    let columns: Vec<(&str, i64)> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (column["name"].as_str().unwrap(), column["priority"].as_i64().unwrap()))
        .collect();
    assert_eq!(columns, [("Name", 0), ("Strategy", 0), ("Ready", 0), ("GeoTag", 1), ("Age", 0)]);
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells[..4], [json!("web"), json!("roundRobin"), json!("True"), json!("eu")]);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

#[tokio::test]
async fn the_kinds_are_discovered() {
    let cluster = Cluster::new().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let groups = cluster.raw("/apis", accept).await;
    let mut items = groups["items"].as_array().unwrap().iter();
    let group = items.find(|group| group["metadata"]["name"] == "k8gb.io").unwrap();
    assert_eq!(group["versions"][0]["resources"][0]["resource"], "gslbs");
    let resources = cluster.raw("/apis/k8gb.io/v1beta1", "application/json").await;
    assert_eq!(resources["resources"][0]["kind"], "Gslb");
    let document = cluster.raw("/openapi/v3/apis/k8gb.io/v1beta1", "application/json").await;
    let schema = &document["components"]["schemas"]["io.k8gb.v1beta1.Gslb"];
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Gslb");
    assert_eq!(
        schema["properties"]["spec"]["properties"]["strategy"]["description"],
        "How targets are chosen."
    );
}

#[tokio::test]
async fn a_replacement_of_a_custom_resource_names_the_version_it_replaces() {
    let cluster = Cluster::new().await;
    cluster.create("web").await;
    let refused = refusal(cluster.gslbs().replace("web", &PostParams::default(), &gslb("web")).await);
    assert_eq!(refused.code, 422);
    assert!(refused.message.contains("metadata.resourceVersion: Invalid value: 0"), "{}", refused.message);
}

#[tokio::test]
async fn ownership_of_a_created_object_covers_all_that_was_written() {
    let cluster = Cluster::new().await;
    let params = PostParams { field_manager: Some("maker".into()), ..PostParams::default() };
    let mut object = gslb("web");
    object.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
    let created = cluster.gslbs().create(&params, &object).await.unwrap();
    assert_eq!(
        fields_of(&created, "maker"),
        Some(&json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
            "f:spec": {".": {}, "f:strategy": {".": {}, "f:dnsTtlSeconds": {}, "f:type": {}}}}))
    );
}
