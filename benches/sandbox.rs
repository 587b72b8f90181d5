//! How fast a whole fleet follows an application, what it costs, and that it rests.
//!
//! `cargo bench --bench sandbox` starts the sandbox of the same build, fails and restores the application of `eu`
//! 50 times, and asks the DNS servers of all clusters. Time counts from the API server's reply to the patch of the
//! EndpointSlice to the first answer that shows it. Then nothing is touched for a minute (`REST_SECONDS`), and the
//! revisions of the three Kubernetes APIs tell whether anybody wrote.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

const TRIALS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(30);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let ready_file = folder.path().join("ready.json");
    let start = Instant::now();
    let sandbox = Sandbox::start(&ready_file);
    let ready = sandbox.wait(&ready_file);
    println!("ready file                            {:>8.2} s", start.elapsed().as_secs_f64());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&ready));
    println!("memory of all processes (sum of RSS)  {:>8} MiB", sandbox.memory() / 1024);
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

async fn measure(ready: &Value) {
    let kubeconfig = ready["kubeconfig"].as_str().unwrap();
    let host = Name::from_ascii(ready["host"].as_str().unwrap()).unwrap();
    let eu = ready["clusters"]["eu"]["targets"][0].as_str().unwrap().to_owned();
    let server =
        |site: &str| -> SocketAddr { ready["clusters"][site]["dns"].as_str().unwrap().parse().unwrap() };
    let slices: Api<EndpointSlice> = Api::namespaced(client(kubeconfig, "eu").await, "demo");
    let mut times = [("eu", Vec::new()), ("us", Vec::new()), ("za", Vec::new())];
    for trial in 0..TRIALS {
        let healthy = trial % 2 == 1;
        let body = json!({"endpoints": [{"addresses": [eu], "conditions": {"ready": healthy}}]});
        slices.patch("app-1", &PatchParams::default(), &Patch::Merge(&body)).await.unwrap();
        let patched = Instant::now();
        for (site, times) in &mut times {
            while answers(server(site), &host).contains(&eu) != healthy {
                assert!(patched.elapsed() < PATIENCE, "{site} did not follow");
            }
            times.push(patched.elapsed());
        }
    }
    for (site, mut times) in times {
        times.sort();
        let median = times[TRIALS / 2].as_secs_f64() * 1e3;
        let worst = times[TRIALS - 1].as_secs_f64() * 1e3;
        println!("patch in eu -> answer of {site}           {median:>8.1} ms median, {worst:.1} ms worst");
    }
    rest(kubeconfig).await;
}

/// The revision of a list is the revision of the whole in-memory API.
async fn rest(kubeconfig: &str) {
    let seconds = std::env::var("REST_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    // What the last trial set off has come to rest.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let before = revisions(kubeconfig).await;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let writes: u64 =
        revisions(kubeconfig).await.iter().zip(before).map(|(after, before)| after - before).sum();
    println!("writes of all clusters in {seconds} s at rest {writes:>8}");
}

async fn revisions(kubeconfig: &str) -> Vec<u64> {
    let mut revisions = Vec::new();
    for context in ["eu", "us", "za"] {
        let api: Api<Namespace> = Api::all(client(kubeconfig, context).await);
        let list = api.list(&ListParams::default()).await.unwrap();
        revisions.push(list.metadata.resource_version.unwrap().parse().unwrap());
    }
    revisions
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
