//! What `gslb-bridge webhook` costs: a listing of 5 000 records, a sync that changes nothing, a sync of 100 changes at a
//! grid that takes 50 ms for each call, and its memory.
//!
//! `cargo bench --bench webhook` starts the process of the same build beside an in-memory API server and the simulated
//! grid, and asks as external-dns does. Fails if a limit is not kept.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]

use std::fmt::Display;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use gslb_mocks::kube::{ApiServer, kubeconfig};
use gslb_mocks::wapi::{Fault, Grid, HttpServer, SimulatorTls};
use gslb_provider_webhook::protocol::{Changes, Endpoint, MEDIA_TYPE, endpoints};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Half of them addresses, half the texts about them.
const RECORDS: usize = 5_000;
const CHANGES: usize = 100;
/// What a call takes: as the issue has it.
const CALL: Duration = Duration::from_millis(50);
const LONGEST_LISTING: Duration = Duration::from_secs(1);
const LONGEST_SYNC: Duration = Duration::from_secs(15);
const MOST_MEBIBYTES: f64 = 48.0;
/// Requests at once.
const AT_ONCE: usize = 4;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(measure());
}

async fn measure() {
    let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
    let server = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig([("eu", server.url().as_str())])).unwrap();
    let (grid, wapi) = grid(folder.path());
    let webhook = Process::start(folder.path(), &wapi);

    let (mut listed, mut longest) = (vec![], Duration::ZERO);
    for _ in 0..5 {
        let start = Instant::now();
        let (status, body) = webhook.ask("GET", "/records", "").await;
        assert_eq!(status, 200, "{body}");
        listed = endpoints(body.as_bytes()).unwrap();
        longest = longest.max(start.elapsed());
    }
    assert_eq!(listed.len(), RECORDS);
    report("listing of 5 000 records, longest of 5", format!("{:.2} s", longest.as_secs_f64()));
    report("  its bytes of JSON", serde_json::to_vec(&listed).unwrap().len());

    let mark = grid.journal().mark();
    // external-dns sends nothing if it finds no difference, and what it sends may be done already.
    let (_, adjusted) =
        webhook.ask("POST", "/adjustendpoints", &serde_json::to_string(&listed).unwrap()).await;
    assert_eq!(endpoints(adjusted.as_bytes()).unwrap(), listed);
    webhook.apply(&Changes { create: listed[..CHANGES].to_vec(), ..Changes::default() }).await;
    let writes = grid.journal().since(mark).iter().filter(|entry| entry.is_write()).count();
    report("a sync that asks for what stands there: writes", writes);

    grid.faults().inject(Fault::Slow(CALL));
    let start = Instant::now();
    webhook.apply(&changes()).await;
    let sync = start.elapsed();
    grid.faults().clear();
    report(
        &format!("{CHANGES} changes, {} ms a call", CALL.as_millis()),
        format!("{:.1} s", sync.as_secs_f64()),
    );
    report("  most calls at once", grid.journal().most_at_once());
    report("  entries of the change log", api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "").len());
    let (size, highest) = (webhook.mebibytes("VmRSS:"), webhook.mebibytes("VmHWM:"));
    report("memory of the process", format!("{size:.1} MiB"));
    report("  at its highest", format!("{highest:.1} MiB"));
    report("  of that not from the program's file", format!("{:.1} MiB", webhook.mebibytes("RssAnon:")));
    assert!(longest <= LONGEST_LISTING, "{longest:?}");
    assert!(sync <= LONGEST_SYNC, "{sync:?}");
    assert_eq!(writes, 0);
    assert!(grid.journal().most_at_once() <= AT_ONCE);
    assert!(size <= MOST_MEBIBYTES, "{size}");
}

fn report(what: &str, figure: impl Display) {
    println!("{what:64} {figure:>9}");
}

/// New sets, each with the text about it.
fn changes() -> Changes {
    let set = |name: String, record_type: &str, target: &str| Endpoint {
        dns_name: name,
        record_type: record_type.to_owned(),
        targets: vec![target.to_owned()],
        ..Endpoint::default()
    };
    let pair = |number: usize| {
        let text = "\"heritage=external-dns,external-dns/owner=eu\"";
        [
            set(format!("new{number}.example.com"), "A", "198.51.100.1"),
            set(format!("a-new{number}.example.com"), "TXT", text),
        ]
    };
    Changes { create: (0..CHANGES / 2).flat_map(pair).collect(), ..Changes::default() }
}

fn grid(folder: &Path) -> (Grid, HttpServer) {
    gslb_provider_infoblox::install_crypto_provider();
    let grid = Grid::builder().username("svc-dns").password("secret").zone_auth("example.com", "default");
    let grid = grid.attribute("GslbBridgeClaim").attribute("GslbBridgeChallenge").build().unwrap();
    let claim = json!({"GslbBridgeClaim": {"value": "webhook/external-dns"}});
    grid.edit(|admin| {
        for number in 0..RECORDS / 2 {
            let record = |name: String, field: &str, value: &str| -> Value {
                json!({"name": name, "view": "default", field: value, "comment": "created by gslb-bridge", "extattrs": claim})
            };
            let address = record(format!("app{number}.example.com"), "ipv4addr", "192.0.2.1");
            admin.create("record:a", address).unwrap();
            let text = "\"heritage=external-dns,external-dns/owner=eu,external-dns/resource=ingress/default/app\"";
            admin.create("record:txt", record(format!("a-app{number}.example.com"), "text", text)).unwrap();
        }
    });
    let tls = SimulatorTls::generate(&[]).unwrap();
    std::fs::write(folder.join("ca.pem"), tls.ca_pem()).unwrap();
    let server = grid.serve_https(std::net::TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
    (grid, server)
}

struct Process {
    child: Child,
    address: String,
}

impl Process {
    fn start(folder: &Path, wapi: &HttpServer) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("webhook").env_clear().env("KUBECONFIG", folder.join("kubeconfig"));
        command.env("WEBHOOK_DOMAINS", "example.com").env("WEBHOOK_LISTEN", "127.0.0.1:0");
        command.env("INFOBLOX_GRID_HOST", "127.0.0.1");
        command.env("INFOBLOX_WAPI_PORT", wapi.address().port().to_string());
        command.env("INFOBLOX_WAPI_USERNAME", "svc-dns").env("INFOBLOX_WAPI_PASSWORD", "secret");
        command.env("INFOBLOX_CA_FILE", folder.join("ca.pem"));
        command
            .env("METRICS_ADDRESS", "127.0.0.1:0")
            .env("LOG_FORMAT", "json")
            .env("POD_NAMESPACE", "default");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            ["address", "fields"].iter().find_map(|key| {
                let value = &line[*key];
                value.as_str().or_else(|| value["address"].as_str()).map(str::to_owned)
            })
        };
        let address = lines.find_map(|line| told(&line.unwrap())).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    async fn apply(&self, changes: &Changes) {
        let body = serde_json::to_string(changes).unwrap();
        let (status, said) = self.ask("POST", "/records", &body).await;
        assert_eq!(status, 204, "{said}");
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: webhook\r\nconnection: close\r\naccept: {MEDIA_TYPE}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// 0 where there is no `/proc`.
    fn mebibytes(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or("0 kB");
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
