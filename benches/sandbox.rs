//! How fast a whole fleet follows an application, what it costs, and that it rests.
//!
//! `cargo bench --bench sandbox` starts the sandbox of the same build and measures it with 1, 50 and 500 Gslbs in each
//! cluster, the last time also with one cluster cut off. Each round fails and restores the application of `eu` 50
//! times and asks the DNS servers; time counts from the API server's reply to the patch of the EndpointSlice to the
//! first answer that shows it. Then nothing is touched for a minute (`REST_SECONDS`), and the revisions of the three
//! Kubernetes APIs tell whether anybody wrote.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use gslb_crds::Gslb;
use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const TRIALS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(60);
/// After so long without a write a fleet has come to rest.
const CALM: Duration = Duration::from_secs(15);
/// Where the sample application lives.
const NAMESPACE: &str = "demo";

/// Gslbs in each cluster, round by round.
const FLEETS: [usize; 3] = [1, 50, 500];
/// Requests under way while a fleet is made.
const MAKERS: usize = 8;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let ready_file = folder.path().join("ready.json");
    let start = Instant::now();
    let sandbox = Sandbox::start(&ready_file);
    let ready = sandbox.wait(&ready_file);
    println!("ready file                                {:>8.2} s", start.elapsed().as_secs_f64());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fleet = Fleet::of(&ready).await;
        for gslbs in FLEETS {
            println!("{gslbs} Gslbs in each cluster");
            fleet.grow_to(gslbs).await;
            fleet.react(&["eu", "us", "za"]).await;
            fleet.rest().await;
            println!("  memory of all processes (sum of RSS)    {:>8} MiB", sandbox.memory() / 1024);
        }
        println!("the same, za cut off");
        Sandbox::inject(&ready_file, &["isolate", "za"]);
        fleet.lose_a_peer("eu").await;
        fleet.react(&["eu", "us"]).await;
        fleet.rest().await;
    });
}

struct Sandbox(Child);

impl Sandbox {
    fn start(ready_file: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.args(["sandbox", "--ready-file"]).arg(ready_file).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn wait(&self, ready_file: &Path) -> Value {
        let start = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(ready_file) {
                return serde_json::from_str(&text).unwrap();
            }
            assert!(start.elapsed() < PATIENCE, "the sandbox got not ready");
            std::thread::yield_now();
        }
    }

    fn inject(ready_file: &Path, fault: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.args(["sandbox", "inject"]).args(fault).arg("--ready-file").arg(ready_file);
        assert!(command.stdout(Stdio::null()).status().unwrap().success(), "cannot inject {fault:?}");
    }

    /// KiB of the sandbox and its children; 0 where there is no `/proc`.
    fn memory(&self) -> u64 {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let ours = pids.filter(|pid| *pid == self.0.id() || parent(*pid) == Some(self.0.id()));
        ours.filter_map(|pid| field(pid, "VmRSS:")).sum()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Its children end with it.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn parent(pid: u32) -> Option<u32> {
    u32::try_from(field(pid, "PPid:")?).ok()
}

fn field(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// The three clusters, from outside.
struct Fleet {
    host: Name,
    /// The address of the application in `eu`.
    target: String,
    servers: BTreeMap<String, SocketAddr>,
    apis: BTreeMap<String, Client>,
}

impl Fleet {
    async fn of(ready: &Value) -> Self {
        let kubeconfig = ready["kubeconfig"].as_str().unwrap();
        let (mut servers, mut apis) = (BTreeMap::new(), BTreeMap::new());
        for (site, cluster) in ready["clusters"].as_object().unwrap() {
            servers.insert(site.clone(), cluster["dns"].as_str().unwrap().parse().unwrap());
            apis.insert(site.clone(), client(kubeconfig, site).await);
        }
        Self {
            host: Name::from_ascii(ready["host"].as_str().unwrap()).unwrap(),
            target: ready["clusters"]["eu"]["targets"][0].as_str().unwrap().to_owned(),
            servers,
            apis,
        }
    }

    /// Adds Gslbs until there are so many in each cluster, and waits until all of them are ready.
    async fn grow_to(&self, gslbs: usize) {
        for api in self.apis.values() {
            let gslb_api: Api<Gslb> = Api::namespaced(api.clone(), NAMESPACE);
            let existing = gslb_api.list(&ListParams::default()).await.unwrap().items.len();
            if gslbs > 1 && existing == 1 {
                create::<Service>(
                    api,
                    json!({"metadata": {"name": "fleet"}, "spec": {"ports": [{"port": 80}]}}),
                )
                .await;
                let metadata = json!({"name": "fleet-1", "labels": {"kubernetes.io/service-name": "fleet"}});
                let endpoints = json!([{"addresses": ["127.0.1.99"], "conditions": {"ready": true}}]);
                let slice = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints});
                create::<EndpointSlice>(api, slice).await;
            }
            let missing = (existing..gslbs).map(|number| add_gslb(api, format!("app-{number}")));
            stream::iter(missing).buffer_unordered(MAKERS).collect::<Vec<()>>().await;
        }
        for (site, api) in &self.apis {
            let what = format!("not all Gslbs of {site} are ready");
            until(&what, async || ready_gslbs(api).await == gslbs).await;
        }
        self.settle().await;
    }

    /// Waits until nothing was written for a while: what made the fleet as it is now must not be measured with it.
    async fn settle(&self) {
        let start = Instant::now();
        let mut before = 0;
        while self.revisions().await != before {
            assert!(start.elapsed() < PATIENCE, "the fleet does not come to rest");
            before = self.revisions().await;
            tokio::time::sleep(CALM).await;
        }
    }

    async fn lose_a_peer(&self, site: &str) {
        let api = Api::<Gslb>::namespaced(self.apis[site].clone(), NAMESPACE);
        let lost = async || {
            let gslbs = api.list(&ListParams::default()).await.unwrap();
            gslbs.iter().all(|gslb| condition(gslb, "PeersReachable") == Some("False"))
        };
        until("the silent peer was not noticed", lost).await;
        self.settle().await;
    }

    /// Fails and restores the application of `eu`, and times the answers of `sites`.
    async fn react(&self, sites: &[&str]) {
        let slices: Api<EndpointSlice> = Api::namespaced(self.apis["eu"].clone(), NAMESPACE);
        let mut times = vec![Vec::new(); sites.len()];
        for trial in 0..TRIALS {
            let healthy = trial % 2 == 1;
            let endpoints = json!([{"addresses": [self.target], "conditions": {"ready": healthy}}]);
            let body = json!({ "endpoints": endpoints });
            slices.patch("app-1", &PatchParams::default(), &Patch::Merge(&body)).await.unwrap();
            let patched = Instant::now();
            for (site, times) in sites.iter().zip(&mut times) {
                while answers(self.servers[*site], &self.host).contains(&self.target) != healthy {
                    assert!(patched.elapsed() < PATIENCE, "{site} did not follow");
                }
                times.push(patched.elapsed());
            }
        }
        for (site, mut times) in sites.iter().zip(times) {
            times.sort();
            let median = times[TRIALS / 2].as_secs_f64() * 1e3;
            let worst = times[TRIALS - 1].as_secs_f64() * 1e3;
            println!(
                "  patch in eu -> answer of {site}             {median:>8.1} ms median, {worst:.1} ms worst"
            );
        }
    }

    async fn rest(&self) {
        let seconds = std::env::var("REST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
        // What the last trial set off has come to rest.
        self.settle().await;
        let before = self.revisions().await;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let writes = self.revisions().await - before;
        println!("  writes of all clusters in {seconds:>4} s at rest {writes:>8}");
    }

    /// Sum over the clusters. The revision of a list is the revision of the whole in-memory API.
    async fn revisions(&self) -> u64 {
        let mut revisions = 0;
        for api in self.apis.values() {
            let list = Api::<Namespace>::all(api.clone()).list(&ListParams::default()).await.unwrap();
            revisions += list.metadata.resource_version.unwrap().parse::<u64>().unwrap();
        }
        revisions
    }
}

/// A Gslb and its Ingress, with a host of its own.
async fn add_gslb(api: &Client, name: String) {
    let backend = json!({"service": {"name": "fleet", "port": {"number": 80}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    let rules = json!([{"host": format!("{name}.cloud.example.com"), "http": {"paths": paths}}]);
    let status = json!({"loadBalancer": {"ingress": [{"ip": "127.0.1.99"}]}});
    create::<Ingress>(api, json!({"metadata": {"name": name}, "spec": {"rules": rules}})).await;
    let ingresses: Api<Ingress> = Api::namespaced(api.clone(), NAMESPACE);
    let patch = Patch::Merge(json!({ "status": status }));
    ingresses.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    let reference = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": name});
    let spec = json!({"resourceRef": reference, "strategy": {"type": "roundRobin", "dnsTtlSeconds": 5}});
    create::<Gslb>(api, json!({"metadata": {"name": name}, "spec": spec})).await;
}

async fn create<K>(client: &Client, object: Value)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + DeserializeOwned
        + Serialize
        + Clone
        + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), NAMESPACE);
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn ready_gslbs(client: &Client) -> usize {
    let api: Api<Gslb> = Api::namespaced(client.clone(), NAMESPACE);
    let gslbs = api.list(&ListParams::default()).await.unwrap();
    gslbs.iter().filter(|gslb| condition(gslb, "Ready") == Some("True")).count()
}

fn condition<'a>(gslb: &'a Gslb, kind: &str) -> Option<&'a str> {
    let conditions = &gslb.status.as_ref()?.conditions;
    Some(&conditions.iter().find(|condition| condition.type_ == kind)?.status)
}

async fn until(what: &str, check: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !check().await {
        assert!(start.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

async fn client(kubeconfig: &str, context: &str) -> Client {
    let options = KubeConfigOptions { context: Some(context.to_owned()), ..KubeConfigOptions::default() };
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap()).unwrap()
}

/// The addresses that a server answers; none if it says nothing in time.
fn answers(server: SocketAddr, host: &Name) -> Vec<String> {
    let mut message = Message::new(7, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(host.clone(), RecordType::A));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket.send_to(&message.to_vec().unwrap(), server).unwrap();
    let mut buffer = [0; 1232];
    let Ok((length, _)) = socket.recv_from(&mut buffer) else { return Vec::new() };
    let reply = Message::from_vec(&buffer[..length]).unwrap();
    let address = |data: &RData| match data {
        RData::A(address) => Some(address.to_string()),
        _ => None,
    };
    reply.answers.iter().filter_map(|record| address(&record.data)).collect()
}
