//! The sandbox from outside: the built program, its ready file, one fault and back.
#![cfg(feature = "sandbox")]
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the failed test")]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use serde_json::Value;

/// A debug build on a busy machine; a release build needs less than five seconds.
const READY: Duration = Duration::from_secs(25);
/// A sweep a second, and some for a busy machine.
const MOVED: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// A running sandbox, killed when dropped.
struct Sandbox {
    process: Child,
    ready_file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Sandbox {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ready_file = folder.path().join("ready.json");
        let process = program()
            .args(["sandbox", "--duration", "120", "--output", "json", "--ready-file"])
            .arg(&ready_file)
            .args(more)
            .env("TMPDIR", folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { process, ready_file, _folder: folder }
    }

    fn ready(&self) -> Value {
        wait(READY, || std::fs::read(&self.ready_file).ok(), |found| found.is_some());
        serde_json::from_slice(&std::fs::read(&self.ready_file).unwrap()).unwrap()
    }

    fn inject(&self, words: &[&str]) -> Value {
        let output = self.injected(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What is said to an injection that cannot be.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.injected(words);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    fn injected(&self, words: &[&str]) -> Output {
        let inject = ["sandbox", "inject"];
        let output = ["--output", "json", "--ready-file"];
        program().args(inject).args(words).args(output).arg(&self.ready_file).output().unwrap()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        drop(self.process.wait());
    }
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gslb-bridge"))
}

/// Looks until it is as wanted.
fn wait<T: std::fmt::Debug>(patience: Duration, look: impl Fn() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let found = look();
        if wanted(&found) {
            return found;
        }
        assert!(start.elapsed() < patience, "after {patience:?} still {found:?}");
        std::thread::sleep(PAUSE);
    }
}

/// The addresses that a server answers; nothing if it does not answer.
fn ask(server: &str, host: &str) -> Option<BTreeSet<Ipv4Addr>> {
    let reply = reply(server, host)?;
    let address = |record: &hickory_proto::rr::Record| match &record.data {
        RData::A(address) => Some(address.0),
        _ => None,
    };
    Some(reply.answers.iter().filter_map(address).collect())
}

/// The name servers that a server refers to.
fn referral(server: &str, host: &str) -> Vec<String> {
    let reply = reply(server, host).unwrap();
    let server = |record: &hickory_proto::rr::Record| match &record.data {
        RData::NS(server) => Some(server.to_string()),
        _ => None,
    };
    reply.authorities.iter().filter_map(server).collect()
}

fn reply(server: &str, host: &str) -> Option<Message> {
    let mut question = Message::query();
    question.add_query(Query::query(Name::from_ascii(format!("{host}.")).unwrap(), RecordType::A));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let server: SocketAddr = server.parse().unwrap();
    socket.send_to(&question.to_vec().unwrap(), server).unwrap();
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).ok()?;
    Some(Message::from_vec(&buffer[..length]).unwrap())
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The targets of the sites, as the ready file names them.
fn targets(ready: &Value, sites: &[&str]) -> BTreeSet<Ipv4Addr> {
    let of = |site: &&str| ready["clusters"][site]["targets"][0].as_str().unwrap().parse().unwrap();
    sites.iter().map(of).collect()
}

fn everywhere(ready: &Value, wanted: &BTreeSet<Ipv4Addr>) {
    for site in ["eu", "us", "za"] {
        let dns = ready["clusters"][site]["dns"].as_str().unwrap();
        let host = ready["host"].as_str().unwrap();
        wait(MOVED, || ask(dns, host), |found| found.as_ref() == Some(wanted));
    }
}

fn has_documented_keys(ready: &Value) {
    let all = ["clusters", "control", "host", "kubeconfig", "parent_dns", "parent_zone", "wapi", "zone"];
    assert_eq!(keys(ready), all.into());
    assert_eq!(keys(&ready["clusters"]), ["eu", "us", "za"].into());
    for site in ["eu", "us", "za"] {
        let cluster = &ready["clusters"][site];
        assert_eq!(keys(cluster), ["context", "dns", "metrics", "namespace", "pids", "targets"].into());
        assert_eq!(keys(&cluster["pids"]), ["controller", "dns"].into());
    }
    assert_eq!(keys(&ready["wapi"]), ["ca_file", "password", "url", "username", "view"].into());
    for file in [&ready["kubeconfig"], &ready["wapi"]["ca_file"]] {
        assert!(Path::new(file.as_str().unwrap()).is_file(), "{file} is no file");
    }
}

/// Conformance 44.
#[test]
fn traffic_leaves_a_failed_application_everywhere_and_comes_back() {
    let sandbox = Sandbox::start();
    let ready = sandbox.ready();
    has_documented_keys(&ready);
    everywhere(&ready, &targets(&ready, &["eu", "us", "za"]));

    let report = sandbox.inject(&["app-down", "eu"]);
    assert_eq!(report["ok"], true);
    everywhere(&ready, &targets(&ready, &["us", "za"]));

    sandbox.inject(&["app-up", "eu"]);
    everywhere(&ready, &targets(&ready, &["eu", "us", "za"]));
}

#[test]
fn in_records_mode_the_grid_itself_answers_what_the_clusters_decide() {
    let sandbox = Sandbox::start_with(&["--mode", "records"]);
    let ready = sandbox.ready();
    let (grid, host) = (ready["parent_dns"].as_str().unwrap(), ready["host"].as_str().unwrap());
    let answers = |sites: &[&str]| {
        let wanted = targets(&ready, sites);
        wait(MOVED, || ask(grid, host), |found| found.as_ref() == Some(&wanted));
    };
    answers(&["eu", "us", "za"]);
    sandbox.inject(&["app-down", "eu"]);
    answers(&["us", "za"]);
    sandbox.inject(&["app-up", "eu"]);
    answers(&["eu", "us", "za"]);
}

#[test]
fn with_external_dns_all_clusters_are_delegated_and_traffic_does_not_need_it() {
    let sandbox = Sandbox::start_with(&["--provider", "external-dns"]);
    let ready = sandbox.ready();
    let all = ["clusters", "control", "host", "kubeconfig", "parent_dns", "parent_zone", "zone"];
    assert_eq!(keys(&ready), all.into(), "there is no WAPI");
    let (parent, host) = (ready["parent_dns"].as_str().unwrap(), ready["host"].as_str().unwrap());
    let servers = ["eu", "us", "za"].map(|tag| format!("gslb-ns-{tag}-cloud.example.com."));
    assert_eq!(referral(parent, host), servers);

    for site in ["eu", "us", "za"] {
        sandbox.inject(&["external-dns-down", site]);
    }
    sandbox.inject(&["app-down", "eu"]);
    everywhere(&ready, &targets(&ready, &["us", "za"]));
    assert_eq!(referral(parent, host), servers, "nothing is lost without external-dns");
    sandbox.inject(&["clear"]);
    sandbox.inject(&["app-up", "eu"]);
    everywhere(&ready, &targets(&ready, &["eu", "us", "za"]));

    let told = sandbox.refused(&["wapi-503"]);
    assert!(told.contains("`wapi-503` needs a sandbox with --provider infoblox"), "{told}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_daemons_end_with_a_sandbox_that_is_killed() {
    let sandbox = Sandbox::start();
    let pids: Vec<u64> = wait(READY, || children_of(sandbox.process.id()), |children| children.len() == 6);
    drop(sandbox);
    wait(MOVED, || pids.iter().filter(|pid| is_alive(**pid)).count(), |alive| *alive == 0);
}

#[cfg(target_os = "linux")]
fn children_of(parent: u32) -> Vec<u64> {
    let wanted = format!("PPid:\t{parent}\n");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    let is_child = |pid: &u64| {
        std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains(&wanted))
    };
    pids.filter(is_child).collect()
}

/// Dead processes that nobody waits for are not alive.
#[cfg(target_os = "linux")]
fn is_alive(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| !status.contains("State:\tZ"))
}
