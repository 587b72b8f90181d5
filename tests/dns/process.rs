use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use gslb_mocks::kube::{ApiServer, kubeconfig};
use hickory_proto::rr::RecordType;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::client::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
    command.arg("dns").env_clear().kill_on_drop(true);
    command.env("DNS_LISTEN", "127.0.0.1:0").env("METRICS_ADDRESS", "127.0.0.1:0").env("LOG_FORMAT", "json");
    command
}

/// Reads log lines until one has `message`.
async fn line(lines: &mut Lines<BufReader<ChildStdout>>, message: &str) -> Value {
    let found = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the process goes on");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["message"] == message {
                return line;
            }
        }
    };
    timeout(PATIENCE, found).await.expect(message)
}

fn terminate(child: &Child) {
    let pid = child.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
}

#[tokio::test]
async fn the_command_serves_the_cluster_of_its_kubeconfig_and_ends_calmly() {
    let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
    let running = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    api.put_object(json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": { "namespace": "default", "name": "app", "labels": { "k8gb.io/dnstype": "local" } },
        "spec": { "endpoints": [
            { "dnsName": "app.cloud.example.com", "recordType": "A", "targets": ["192.0.2.1"] }
        ] },
    }))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("kubeconfig");
    std::fs::write(&config, kubeconfig([("eu", running.url().as_str())])).unwrap();

    let mut child = command()
        .env("KUBECONFIG", &config)
        .env("DNS_ZONES", "example.com:cloud.example.com:17")
        .env("CLUSTER_GEO_TAG", "eu")
        .env("EXT_GSLB_CLUSTERS_GEO_TAGS", "us")
        .env("DNS_STOP_SECONDS", "0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let started = line(&mut lines, "Answering DNS questions.").await;
    let address: SocketAddr =
        started["addresses"].as_str().unwrap().trim_matches(['[', ']']).parse().unwrap();
    line(&mut lines, "Serving the cluster's objects.").await;
    assert_eq!(ask(address, "app.cloud.example.com.", RecordType::A).await, "No Error 192.0.2.1");
    assert_eq!(
        ask(address, "cloud.example.com.", RecordType::NS).await,
        "No Error gslb-ns-eu-cloud.example.com.,gslb-ns-us-cloud.example.com."
    );
    terminate(&child);
    let ended = timeout(PATIENCE, child.wait()).await.expect("an end in time").unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test]
async fn wrong_settings_end_with_78_and_a_taken_port_with_1() {
    let wrong = command().env("DNS_ZONES", "cloud.example.com").output().await.unwrap();
    let text = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(78), "{text}");
    assert!(text.contains("DNS_ZONES is \"cloud.example.com\""), "{text}");

    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let pages = command().env("METRICS_ADDRESS", &address).output().await.unwrap();
    let text = String::from_utf8_lossy(&pages.stderr).into_owned();
    assert_eq!(pages.status.code(), Some(78), "{text}");
    assert!(text.contains("METRICS_ADDRESS") && text.contains(&address), "{text}");

    let dns = command().env("DNS_LISTEN", &address).output().await.unwrap();
    let text = String::from_utf8_lossy(&dns.stderr).into_owned();
    assert_eq!(dns.status.code(), Some(1), "{text}");
    assert!(text.contains(&format!("cannot listen for DNS on {address}")), "{text}");
}
