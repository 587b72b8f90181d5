use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gslb_bridge::dns::daemon::{Daemon, StartError};
use gslb_bridge::dns::input::Inputs;
use gslb_bridge::dns::settings::DnsSettings;
use gslb_core::zone::NsPrefix;
use gslb_mocks::kube::{ApiServer, Matcher, Running};
use hickory_proto::rr::RecordType;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::client::*;

const PATIENCE: Duration = Duration::from_secs(20);
const APP: &str = "app.cloud.example.com.";

/// A DNSEndpoint definition that accepts anything, so that a malformed object can exist.
const LOOSE_DEFINITION: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: dnsendpoints.externaldns.k8s.io
  annotations: {api-approved.kubernetes.io: unapproved}
spec:
  group: externaldns.k8s.io
  names: {kind: DNSEndpoint, plural: dnsendpoints}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

struct World {
    api: ApiServer,
    _running: Running,
    client: Client,
}

async fn world(definitions: &str) -> World {
    let api = ApiServer::builder().crd_yaml(definitions).build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = api.serve(listener).unwrap();
    let client = Client::try_from(Config::new(running.url().parse().unwrap())).unwrap();
    World { api, _running: running, client }
}

impl World {
    fn publish(&self, name: &str, endpoints: Value) {
        self.put(name, &json!({}), &endpoints);
    }

    /// As the controller writes it.
    fn publish_ours(&self, name: &str, endpoints: &Value) {
        self.put(name, &json!({ "gslb-bridge.io/accepted-strategy": r#"{"type":"roundRobin"}"# }), endpoints);
    }

    fn put(&self, name: &str, annotations: &Value, endpoints: &Value) {
        self.api
            .put_object(json!({
                "apiVersion": "externaldns.k8s.io/v1alpha1",
                "kind": "DNSEndpoint",
                "metadata": {
                    "namespace": "default", "name": name, "annotations": annotations,
                    "labels": { "k8gb.io/dnstype": "local" },
                },
                "spec": { "endpoints": endpoints },
            }))
            .unwrap();
    }

    fn delegate(&self, zone: &str) {
        self.api
            .apply_object(json!({
                "apiVersion": "k8gb.io/v1beta1",
                "kind": "ZoneDelegation",
                "metadata": { "name": zone.replace('.', "-") },
                "spec": { "loadBalancedZone": zone, "parentZone": "example.com", "dnsZoneNegTTL": 30 },
            }))
            .unwrap();
    }
}

fn a(name: &str, target: &str) -> Value {
    json!({ "dnsName": name, "recordType": "A", "recordTTL": 30, "targets": [target] })
}

fn settings() -> DnsSettings {
    DnsSettings {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        metrics_address: "127.0.0.1:0".into(),
        zones: vec![],
        ns_prefix: NsPrefix::default(),
        own_tag: None,
        peer_tags: Default::default(),
        snapshot_file: None,
        drain: Duration::ZERO,
    }
}

struct Started {
    dns: SocketAddr,
    pages: SocketAddr,
    changes: watch::Receiver<Arc<Inputs>>,
    stop: CancellationToken,
    hurry: CancellationToken,
    task: JoinHandle<()>,
}

impl Started {
    async fn new(settings: DnsSettings, client: Client) -> Self {
        let daemon = Daemon::start(settings).await.unwrap();
        let (dns, pages) = (daemon.addresses()[0], daemon.pages_address().unwrap());
        let changes = daemon.changes();
        let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
        let task = tokio::spawn(daemon.run(client, stop.clone(), hurry.clone()));
        Self { dns, pages, changes, stop, hurry, task }
    }

    /// Waits until what is served satisfies `holds`.
    async fn until(&mut self, holds: impl FnMut(&Arc<Inputs>) -> bool) {
        timeout(PATIENCE, self.changes.wait_for(holds)).await.expect("a change in time").unwrap();
    }

    async fn until_names(&mut self, count: usize) {
        self.until(|inputs| inputs.hosts.len() == count).await;
    }

    async fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.pages).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.task).await.expect("an end in time").unwrap();
    }
}

#[tokio::test]
async fn objects_are_served_as_they_come_and_go() {
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let mut server = Started::new(settings(), world.client.clone()).await;
    server.until_names(2).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.1");
    assert_eq!(ask(server.dns, "localtargets-app.cloud.example.com.", RecordType::A).await, "No Error ");

    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.2")]));
    let moved = |inputs: &Arc<Inputs>| format!("{:?}", inputs.hosts).contains("192.0.2.2");
    server.until(moved).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.2");

    assert_eq!(ask(server.dns, "x.new.example.com.", RecordType::A).await, "Query Refused ");
    world.delegate("new.example.com");
    server.until(|inputs| inputs.zones.len() == 2).await;
    assert_eq!(ask(server.dns, "x.new.example.com.", RecordType::A).await, "Non-Existent Domain ");

    world.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "default", "app").unwrap();
    server.until_names(0).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "Non-Existent Domain ");
    server.end().await;
}

/// A resolver would keep the denial for the negative TTL.
#[tokio::test]
async fn a_host_that_moves_from_one_object_to_another_is_not_denied_in_between() {
    const OTHER: &str = "other.cloud.example.com.";
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    let app = |target| a("app.cloud.example.com", target);
    let other = a("other.cloud.example.com", "192.0.2.9");
    world.publish_ours("one", &json!([app("192.0.2.1"), other]));
    let mut server = Started::new(settings(), world.client.clone()).await;
    server.until_names(4).await;

    world.publish_ours("one", &json!([a("other.cloud.example.com", "192.0.2.10")]));
    server.until(|inputs| format!("{:?}", inputs.hosts).contains("192.0.2.10")).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.1", "no object names it");
    world.publish_ours("two", &json!([app("192.0.2.2")]));
    server.until(|inputs| format!("{:?}", inputs.hosts).contains("192.0.2.2")).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.2");

    world.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "default", "one").unwrap();
    server.until_names(2).await;
    assert_eq!(ask(server.dns, OTHER, RecordType::A).await, "Non-Existent Domain ", "nobody took it");
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.2");
    server.end().await;
}

/// Conformance 96.
#[tokio::test]
async fn objects_without_our_label_are_not_served() {
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    let labels = json!({ "k8gb.io/dnstype": "extdns" });
    world
        .api
        .put_object(json!({
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": { "namespace": "default", "name": "other", "labels": labels },
            "spec": { "endpoints": [a("other.cloud.example.com", "192.0.2.1")] },
        }))
        .unwrap();
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let mut server = Started::new(settings(), world.client.clone()).await;
    server.until_names(2).await;
    assert_eq!(ask(server.dns, "other.cloud.example.com.", RecordType::A).await, "Non-Existent Domain ");
    server.end().await;
}

#[tokio::test]
async fn nothing_is_denied_while_one_of_the_lists_cannot_be_read() {
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    world.api.faults().fail(Matcher::new("list", "k8gb.io", "zonedelegations"), 503, 2);
    let daemon = Daemon::start(settings()).await.unwrap();
    let server = daemon.addresses()[0];
    let mut changes = daemon.changes();
    // Its sockets answer before it follows anything.
    assert_eq!(ask(server, APP, RecordType::A).await, "Server Failure ");
    let stop = CancellationToken::new();
    let task = tokio::spawn(daemon.run(world.client.clone(), stop.clone(), CancellationToken::new()));
    let synced = changes.wait_for(|inputs| !inputs.hosts.is_empty());
    timeout(PATIENCE, synced).await.expect("a second try").unwrap();
    assert_eq!(ask(server, APP, RecordType::A).await, "No Error 192.0.2.1");
    stop.cancel();
    timeout(PATIENCE, task).await.unwrap().unwrap();
}

/// Conformance 96.
#[tokio::test]
async fn a_malformed_object_is_left_out_and_the_watch_goes_on() {
    let zones = include_str!("../../crds/k8gb.io_zonedelegations.yaml");
    let world = world(&format!("{LOOSE_DEFINITION}\n---\n{zones}")).await;
    world.delegate("cloud.example.com");
    world.publish("bad", json!("none at all"));
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let mut server = Started::new(settings(), world.client.clone()).await;
    server.until_names(2).await;
    world.publish("worse", json!([{ "dnsName": 5 }]));
    world.publish("later", json!([a("later.cloud.example.com", "192.0.2.2")]));
    server.until_names(4).await;
    assert_eq!(ask(server.dns, "later.cloud.example.com.", RecordType::A).await, "No Error 192.0.2.2");
    let metrics = server.page("/metrics").await;
    assert!(metrics.contains("gslb_bridge_dns_skipped 2"), "{metrics}");
    server.end().await;
}

#[tokio::test]
async fn watches_that_break_and_expire_are_taken_up_again() {
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let mut server = Started::new(settings(), world.client.clone()).await;
    server.until_names(2).await;
    world.api.faults().drop_watches();
    world.publish("b", json!([a("b.cloud.example.com", "192.0.2.2")]));
    server.until_names(4).await;
    world.api.expire_watches();
    world.publish("c", json!([a("c.cloud.example.com", "192.0.2.3")]));
    server.until_names(6).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.1");
    server.end().await;
}

#[tokio::test]
async fn a_restart_without_an_api_server_answers_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("snapshot.json");
    let with_file = || DnsSettings { snapshot_file: Some(file.clone()), ..settings() };
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let mut server = Started::new(with_file(), world.client.clone()).await;
    server.until_names(2).await;
    server.end().await;

    // Nothing listens on this port of the loopback network.
    let nowhere = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let server = Started::new(with_file(), nowhere).await;
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.1");
    assert!(server.page("/readyz").await.starts_with("HTTP/1.1 503"));
    assert!(server.page("/metrics").await.contains("gslb_bridge_dns_snapshot_stale 1"));
    server.end().await;
}

#[tokio::test]
async fn while_it_stops_it_is_not_ready_and_still_answers() {
    let world = world(&gslb_crds::yaml()).await;
    world.delegate("cloud.example.com");
    world.publish("app", json!([a("app.cloud.example.com", "192.0.2.1")]));
    let long = DnsSettings { drain: Duration::from_secs(3600), ..settings() };
    let mut server = Started::new(long, world.client.clone()).await;
    server.until_names(2).await;
    assert!(server.page("/readyz").await.starts_with("HTTP/1.1 200"));
    server.stop.cancel();
    let stopping = async {
        while !server.page("/readyz").await.ends_with("stopping") {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, stopping).await.expect("not ready");
    assert_eq!(ask(server.dns, APP, RecordType::A).await, "No Error 192.0.2.1");
    assert!(server.page("/livez").await.starts_with("HTTP/1.1 200"));
    server.hurry.cancel();
    timeout(PATIENCE, server.task).await.expect("an end in time").unwrap();
}

#[tokio::test]
async fn a_taken_address_is_named_at_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let pages = DnsSettings { metrics_address: address.to_string(), ..settings() };
    let error = Daemon::start(pages).await.err().unwrap();
    assert!(matches!(error, StartError::Pages { .. }) && error.to_string().contains(&address.to_string()));
    let dns = DnsSettings { listen: vec![address], ..settings() };
    let error = Daemon::start(dns).await.err().unwrap();
    assert!(matches!(error, StartError::Bind(_)) && error.to_string().contains("(TCP)"), "{error}");
}
