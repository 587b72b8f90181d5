//! An API server, a place that lines are shipped to, and things to write down.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use gslb_bridge::audit::{AuditError, ChangeLog, Shipper};
use gslb_core::changelog::{Action, ChangeResult, Line, ObjectRef, Proposal, SealKey, Verdict, Who};
use gslb_crds::ProviderChange;
use gslb_mocks::kube::{ApiServer, Failure, Fault, Matcher};
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "gslb-bridge.io";
pub(crate) const API_VERSION: &str = "gslb-bridge.io/v1alpha1";

/// 2026-01-02T03:04:05Z
pub(crate) fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

pub(crate) fn api_server() -> ApiServer {
    ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build()
}

/// A server whose definition of ProviderChange somebody edited: `edit` gets the schema of `spec`.
pub(crate) fn foreign_api_server(edit: impl FnOnce(&mut Value)) -> ApiServer {
    let crds = gslb_crds::all();
    let ours = crds.iter().find(|crd| crd.spec.names.kind == "ProviderChange").unwrap();
    let mut crd = serde_json::to_value(ours).unwrap();
    edit(&mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
    ApiServer::builder().crd_yaml(&crd.to_string()).build()
}

pub(crate) fn client(server: &ApiServer) -> Client {
    Client::new(server.router(), "default")
}

/// Opens the log as the only writer, or as another one.
pub(crate) async fn open(server: &ApiServer, writer: &str) -> (ChangeLog, Shipped) {
    open_sealed(server, writer, None).await
}

pub(crate) async fn open_sealed(
    server: &ApiServer,
    writer: &str,
    key: Option<SealKey>,
) -> (ChangeLog, Shipped) {
    let shipped = Shipped::default();
    let shipper = Shipper::none().and_to("memory", shipped.clone());
    (ChangeLog::open(client(server), writer, key, shipper).await.unwrap(), shipped)
}

pub(crate) async fn try_open(server: &ApiServer, writer: &str) -> Result<ChangeLog, AuditError> {
    ChangeLog::open(client(server), writer, None, Shipper::none()).await
}

/// What was shipped so far.
#[derive(Clone, Default)]
pub(crate) struct Shipped(Arc<Mutex<Vec<u8>>>);

impl Write for Shipped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shipped {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

/// A change of a zone's delegation, made by `pod`.
pub(crate) fn proposal(pod: &str, change_id: &str) -> Proposal {
    Proposal {
        change_id: change_id.into(),
        plan_id: "plan-1".into(),
        who: Who { actor: "gslb-bridge".into(), cluster: "eu".into(), pod: pod.into() },
        object: ObjectRef {
            kind: "ZoneDelegation".into(),
            namespace: None,
            name: "cloud-example-com".into(),
            uid: "6e0f".into(),
            generation: 3,
        },
        why: "the cluster's DNS address changed".into(),
        provider: "infoblox".into(),
        view: None,
        zone: "cloud.example.com".into(),
        action: Action::Replace,
        before: Some(
            json!({ "entries": [{ "name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.1" }] }),
        ),
        after: Some(
            json!({ "entries": [{ "name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.2" }], "lock": null }),
        ),
    }
}

pub(crate) fn applied() -> Verdict {
    Verdict {
        result: ChangeResult::Applied,
        reference: Some("zone_delegated/ZG5z:cloud.example.com/default".into()),
        error: None,
        duration_millis: 41,
        settled_by_reading: false,
        amends: vec![],
    }
}

/// Writes a whole change down.
pub(crate) async fn record(log: &ChangeLog, pod: &str, change_id: &str) {
    let pending = log.intend(proposal(pod, change_id), now()).await.unwrap();
    log.complete(pending, applied(), now()).await.unwrap();
}

pub(crate) fn stored(server: &ApiServer) -> Vec<ProviderChange> {
    let objects = server.list(API_VERSION, "ProviderChange", "");
    objects.into_iter().map(|object| serde_json::from_value(object).unwrap()).collect()
}

/// The lines of what can still be read.
pub(crate) fn readable_lines(server: &ApiServer) -> Vec<Line> {
    let objects = server.list(API_VERSION, "ProviderChange", "").into_iter();
    in_order(&objects.filter_map(|object| serde_json::from_value(object).ok()).collect::<Vec<_>>())
}

fn in_order(changes: &[ProviderChange]) -> Vec<Line> {
    let mut lines: Vec<Line> = changes.iter().flat_map(ProviderChange::lines).collect();
    lines.sort_by_key(|line| line.line);
    lines
}

/// The stored chain.
pub(crate) fn lines(server: &ApiServer) -> Vec<Line> {
    in_order(&stored(server))
}

/// Lets requests on providerchanges fail.
pub(crate) fn fail(server: &ApiServer, verb: &str, failure: Failure, times: u32) {
    let matcher = Matcher::new(verb, GROUP, "providerchanges");
    server.faults().inject(Fault { matcher, failure, times: Some(times) });
}

/// Takes the rules away by which the API server refuses edits, as somebody does who may edit definitions.
pub(crate) fn lift_rules(server: &ApiServer) {
    let (api_version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let mut crd = server.get(api_version, kind, "", "providerchanges.gslb-bridge.io").unwrap();
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    for part in ["spec", "status"] {
        schema[part].as_object_mut().unwrap().remove("x-kubernetes-validations");
    }
    server.put_object(crd).unwrap();
}

/// Edits a stored object behind the log's back.
pub(crate) fn tamper(server: &ApiServer, sequence: u64, edit: impl FnOnce(&mut Value)) {
    let name = gslb_crds::provider_change::name_of(sequence);
    let mut object = server.get(API_VERSION, "ProviderChange", "", &name).unwrap();
    edit(&mut object);
    server.put_object(object).unwrap();
}
