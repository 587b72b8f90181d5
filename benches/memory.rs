//! What `run` holds in memory, and how long a cold start takes, with 1 Gslb and with 1 000 beside four peers.
//!
//! `cargo bench --bench memory` starts `gslb-bridge run` of the same build as a process beside an in-memory API server
//! and five DNS servers on loopback: four peers that answer every `localtargets-` host, and the resolver that knows
//! them. The API server is in the process of the benchmark, so that only the daemon is weighed.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]
#![allow(dead_code, reason = "the objects are shared with the tests, which use all of them")]

#[path = "../tests/controller/objects.rs"]
mod objects;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gslb_mocks::kube::{ApiServer, kubeconfig};
use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::objects::{OWN, gslb, in_namespace, ingress, round_robin, service, slice};

const NAMESPACES: usize = 100;
const PEERS: [&str; 4] = ["us", "za", "jp", "br"];
const PATIENCE: Duration = Duration::from_secs(120);
/// After so long without a write the start is over.
const CALM: Duration = Duration::from_secs(5);
/// Peers are swept six times meanwhile, and every Gslb has one periodic pass.
const REST: Duration = Duration::from_secs(31);

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        weigh(1, &[]).await;
        weigh(1_000, &PEERS).await;
    });
}

async fn weigh(gslbs: usize, peers: &[&str]) {
    println!("{gslbs} Gslbs, {} peers", peers.len());
    let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
    objects::cluster(&api);
    for number in 0..gslbs {
        add(&api, number);
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = api.serve(listener).unwrap();
    let port = resolver_and_peers(peers);

    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, kubeconfig([("eu", server.url().as_str())])).unwrap();
    let start = Instant::now();
    let daemon = Daemon::start(&config, port, peers);
    let targets = 1 + peers.len();
    until(async || published(&api, targets) == gslbs).await;
    println!("  start of the process -> all published   {:>8.2} s", start.elapsed().as_secs_f64());
    let mut before = 0;
    until(async || {
        tokio::time::sleep(CALM).await;
        api.revision() == std::mem::replace(&mut before, api.revision())
    })
    .await;
    println!("  its CPU time until all is at rest       {:>8.2} s", daemon.cpu_seconds());
    println!("  resident size                           {:>8.1} MiB", daemon.mebibytes("VmRSS:"));
    tokio::time::sleep(REST).await;
    println!(
        "  … after {} s at rest                    {:>8.1} MiB",
        REST.as_secs(),
        daemon.mebibytes("VmRSS:")
    );
    println!("  … of that not from the program's file    {:>7.1} MiB", daemon.mebibytes("RssAnon:"));
    println!("  … at its highest                        {:>8.1} MiB", daemon.mebibytes("VmHWM:"));
    println!("  writes at rest                          {:>8}", api.revision() - before);
}

struct Daemon(Child);

impl Daemon {
    fn start(kubeconfig: &Path, dns_port: u16, peers: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("run").env_clear().env("KUBECONFIG", kubeconfig);
        command.env("CLUSTER_GEO_TAG", "eu").env("EXT_GSLB_CLUSTERS_GEO_TAGS", peers.join(","));
        command.env("DNS_ZONES", "example.com:cloud.example.com:30");
        command.env("EDGE_DNS_SERVERS", format!("127.0.0.1:{dns_port}"));
        command.env("POD_NAMESPACE", "gslb").env("DNS_SERVICE", "gslb/dns");
        command.env("METRICS_ADDRESS", "127.0.0.1:0");
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// 0 where there is no `/proc`.
    fn mebibytes(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }

    /// User and system time; Linux counts it in hundredths of a second. 0 where there is no `/proc`.
    fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn add(api: &ApiServer, number: usize) {
    let namespace = format!("team-{:02}", number % NAMESPACES);
    if number < NAMESPACES {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        api.apply_object(object).unwrap();
    }
    let name = format!("app-{number:04}");
    let host = format!("{name}.cloud.example.com");
    let ingress = ingress(&name, &[&host], &[OWN]);
    for object in [ingress, service(&name), slice(&name, true), gslb(&name, round_robin())] {
        api.apply_object(in_namespace(object, &namespace)).unwrap();
    }
}

/// Gslbs whose host answers with so many addresses.
fn published(api: &ApiServer, targets: usize) -> usize {
    let endpoints = api.list("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "");
    let whole = |record: &Value| {
        let local = record["dnsName"].as_str().unwrap().starts_with("localtargets-");
        !local && record["targets"].as_array().map(Vec::len) == Some(targets)
    };
    let full =
        |endpoint: &&Value| endpoint["spec"]["endpoints"].as_array().is_some_and(|all| all.iter().any(whole));
    endpoints.iter().filter(full).count()
}

/// Looks rarely enough that looking does not count.
async fn until(mut done: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < PATIENCE, "this never came true");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Serves the resolver and the peers, all on one port. Their threads end with the benchmark.
fn resolver_and_peers(peers: &[&str]) -> u16 {
    let address = |last| IpAddr::from(Ipv4Addr::new(127, 0, 0, last));
    let (port, sockets) = loop {
        let first = UdpSocket::bind((address(1), 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let others = (2..).take(peers.len()).map(|last| UdpSocket::bind((address(last), port)));
        // The port may be taken at another address.
        if let Ok(others) = others.collect::<Result<Vec<_>, _>>() {
            break (port, std::iter::once(first).chain(others));
        }
    };
    for (number, socket) in sockets.enumerate() {
        let peers: Vec<String> =
            peers.iter().map(|tag| format!("gslb-ns-{tag}-cloud.example.com.")).collect();
        std::thread::spawn(move || serve(&socket, number, &peers));
    }
    port
}

/// Number 0 is the resolver, the others are the peers.
fn serve(socket: &UdpSocket, number: usize, name_servers: &[String]) {
    let mut buffer = [0; 1232];
    while let Ok((length, client)) = socket.recv_from(&mut buffer) {
        let Ok(query) = Message::from_vec(&buffer[..length]) else { continue };
        reply(socket, client, &query, |name| {
            let last = |number: usize| u8::try_from(number).unwrap();
            match number {
                0 => {
                    let peer = name_servers.iter().position(|known| *known == name)?;
                    Some(Ipv4Addr::new(127, 0, 0, last(peer + 2)))
                }
                _ => name.starts_with("localtargets-").then(|| Ipv4Addr::new(198, 51, 100, last(number))),
            }
        });
    }
}

fn reply(socket: &UdpSocket, client: SocketAddr, query: &Message, find: impl Fn(String) -> Option<Ipv4Addr>) {
    let mut answer = Message::new(query.id, MessageType::Response, query.op_code);
    answer.metadata.authoritative = true;
    for question in &query.queries {
        answer.add_query(question.clone());
        match find(question.name().to_lowercase().to_ascii()) {
            Some(address) if question.query_type() == RecordType::A => {
                answer.add_answer(Record::from_rdata(question.name().clone(), 30, RData::A(A(address))));
            }
            Some(_) => {}
            None => answer.metadata.response_code = ResponseCode::NXDomain,
        }
    }
    // A client that has gone is no concern of a server.
    socket.send_to(&answer.to_vec().unwrap(), client).ok();
}
