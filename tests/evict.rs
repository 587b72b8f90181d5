//! `gslb-bridge evict` as a user runs it, with a controller that answers as ours does (tests/controller/zone_members.rs).

#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::Output;
use std::time::Duration;

use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;

const WISH: &str = "gslb-bridge.io/evict";

struct Cluster {
    api: ApiServer,
    files: TempDir,
    _running: Running,
}

impl Cluster {
    async fn start() -> Self {
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        let running = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
        for zone in ["cloud", "shop"] {
            let object = json!({
                "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
                "metadata": {"name": format!("{zone}-example-com")},
                "spec": {"loadBalancedZone": format!("{zone}.example.com"), "parentZone": "example.com", "dnsZoneNegTTL": 30},
            });
            api.apply_object(object).unwrap();
        }
        let files = TempDir::new().unwrap();
        std::fs::write(files.path().join("kubeconfig"), kubeconfig([("eu", running.url().as_str())]))
            .unwrap();
        Self { api, files, _running: running }
    }

    fn zone(&self, name: &str) -> Value {
        self.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", name).unwrap()
    }

    /// Exit code, output, and what was said of errors.
    async fn evict(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("evict").args(arguments).arg("--kubeconfig").arg(self.files.path().join("kubeconfig"));
        let Output { status, stdout, stderr } = command.output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    /// Takes each wish away once it is there and gives these answers to it.
    async fn answer(&self, zones: &[&str], (reason, note): (&str, &str)) {
        for name in zones {
            let mut zone = self.zone(name);
            while zone["metadata"]["annotations"][WISH].is_null() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                zone = self.zone(name);
            }
            let event = json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event",
                "metadata": {"name": format!("{name}.1"), "namespace": "default"},
                "eventTime": "2026-01-02T03:04:05.000000Z", "reason": reason, "note": note, "type": "Normal",
                "action": "Reconcile", "reportingController": "gslb-bridge", "reportingInstance": "eu",
                "regarding": {"kind": "ZoneDelegation", "name": name, "uid": zone["metadata"]["uid"]},
            });
            zone["metadata"]["annotations"] = json!({});
            self.api.put_object(zone).unwrap();
            self.api.apply_object(event).unwrap();
        }
    }
}

/// A typing error must not look like success.
#[tokio::test]
async fn a_cluster_that_no_name_server_belongs_to_was_not_taken_out() {
    let cluster = Cluster::start().await;
    let mut zone = cluster.zone("cloud-example-com");
    zone["metadata"] = json!({"name": "cloud-example-com"});
    zone["status"] = json!({"dnsServers": [{"name": "edge-us-cloud.example.com", "address": "192.0.2.53"}]});
    cluster.api.apply_object(zone).unwrap();
    let answer = ("Evicted", "the delegation has no entry of mars any more");
    let asked = ["mars", "--zone", "cloud.example.com"];
    let (evicted, ()) = tokio::join!(cluster.evict(&asked), cluster.answer(&["cloud-example-com"], answer));
    let note = "cloud-example-com: nothing was taken out: the delegation has no entry of mars; its name servers were edge-us-cloud.example.com\n";
    assert_eq!(evicted, (2, note.to_owned(), String::new()));
}

#[tokio::test]
async fn every_zone_is_asked_for_and_each_answer_is_printed() {
    let cluster = Cluster::start().await;
    let zones = ["cloud-example-com", "shop-example-com"];
    let answer =
        ("Evicted", "the delegation has no entry of us any more; if it comes back, it adds itself again");
    let (ended, ()) = tokio::join!(cluster.evict(&["US"]), cluster.answer(&zones, answer));
    let printed = zones.map(|zone| format!("{zone}: {}\n", answer.1)).concat();
    assert_eq!(ended, (0, printed, String::new()));
}

#[tokio::test]
async fn a_refusal_is_a_finding_and_says_why() {
    let cluster = Cluster::start().await;
    let answer = ("NotEvicted", "us is not taken out of the delegation: us answers");
    let arguments = ["us", "--zone", "shop.example.com", "-o", "json"];
    let (ended, ()) = tokio::join!(cluster.evict(&arguments), cluster.answer(&["shop-example-com"], answer));
    let (code, printed, errors) = ended;
    let expected = json!([{"zoneDelegation": "shop-example-com", "evicted": false, "note": answer.1}]);
    assert_eq!((code, serde_json::from_str(&printed).ok(), errors.as_str()), (2, Some(expected), ""));
    assert!(cluster.zone("cloud-example-com")["metadata"]["annotations"].is_null());
}

#[tokio::test]
async fn a_controller_that_does_nothing_is_not_waited_for_for_ever_and_the_wish_of_others_stays() {
    let cluster = Cluster::start().await;
    let mut zone = cluster.zone("cloud-example-com");
    zone["metadata"]["annotations"] = json!({WISH: "za"});
    zone["status"] = json!({"conditions": [{
        "type": "InSync", "status": "False", "reason": "ProviderUnavailable", "message": "the grid is down",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]});
    zone["metadata"] = json!({"name": "cloud-example-com", "annotations": zone["metadata"]["annotations"]});
    cluster.api.apply_object(zone).unwrap();
    let ended = cluster.evict(&["us", "--zone", "cloud.example.com", "--timeout", "0"]).await;
    let error = "gslb-bridge: cannot evict us from ZoneDelegation cloud-example-com: the controller has not done it yet (ProviderUnavailable: the grid is down); the annotation gslb-bridge.io/evict asks for it until it is done or removed\n";
    assert_eq!(ended, (1, String::new(), error.to_owned()));
    assert_eq!(cluster.zone("cloud-example-com")["metadata"]["annotations"][WISH], "us,za");
}

#[tokio::test]
async fn a_zone_that_nobody_has_and_a_tag_that_is_none_are_told() {
    let cluster = Cluster::start().await;
    let (code, _, error) = cluster.evict(&["us", "--zone", "other.example.com"]).await;
    assert_eq!(
        (code, error.as_str()),
        (
            1,
            "gslb-bridge: no ZoneDelegation is about other.example.com; `kubectl get zonedelegations` lists them. A zone in records mode has none: there the other clusters take the records of a lost one away by themselves, after a challenge\n"
        )
    );
    let (code, _, error) = cluster.evict(&["u s"]).await;
    assert!(code == 64 && error.contains("geo tag \"u s\""), "{code} {error}");
}
