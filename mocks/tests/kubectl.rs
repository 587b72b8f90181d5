//! The real `kubectl` against the in-memory API. Skipped, with a word on stderr, where there is no `kubectl`.

#![allow(clippy::unwrap_used, reason = "a test may panic, and its helpers are part of it")]

use std::process::{Output, Stdio};
use std::time::Duration;

use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

const CRD: &str = include_str!("kube_gslb_crd.yaml");
/// kubectl starts slowly on a busy machine; only a hang takes this long.
const DEADLINE: Duration = Duration::from_secs(60);

struct Cluster {
    server: ApiServer,
    _running: Running,
    home: tempfile::TempDir,
}

impl Cluster {
    /// `None` where there is no kubectl.
    async fn new() -> Option<Self> {
        let version =
            Command::new("kubectl").args(["version", "--client"]).stdout(Stdio::null()).status().await;
        if !version.is_ok_and(|status| status.success()) {
            eprintln!("skipped: there is no kubectl on PATH");
            return None;
        }
        let server = ApiServer::builder().crd_yaml(CRD).build();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let running = server.serve(listener).unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config"), kubeconfig([("eu", running.url().as_str())])).unwrap();
        Some(Self { server, _running: running, home })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command
            .args(arguments)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("config"));
        command.env("KUBE_EDITOR", "sed -i s/roundRobin/failover/").kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn output(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.command(arguments).spawn().unwrap();
        // A command that takes no input may be gone before it is written.
        drop(child.stdin.take().unwrap().write_all(input.as_bytes()).await);
        tokio::time::timeout(DEADLINE, child.wait_with_output()).await.expect("kubectl ends in time").unwrap()
    }

    /// Runs kubectl with `input` and returns what it prints; it must succeed.
    async fn feed(&self, arguments: &[&str], input: &str) -> String {
        let output = self.output(arguments, input).await;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "kubectl {arguments:?}: {out}{err}");
        assert!(!err.contains("Warning"), "kubectl {arguments:?}: {err}");
        out.trim_end().to_owned()
    }

    async fn run(&self, arguments: &[&str]) -> String {
        self.feed(arguments, "").await
    }

    /// Runs kubectl, which must fail, and returns its complaint.
    async fn refused(&self, arguments: &[&str], input: &str) -> String {
        let output = self.output(arguments, input).await;
        assert!(!output.status.success(), "kubectl {arguments:?} succeeded");
        String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
    }

    fn gslb(&self) -> Value {
        self.server.get("k8gb.io/v1beta1", "Gslb", "default", "web").expect("the Gslb is there")
    }
}

fn gslb(strategy: &Value) -> String {
    json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": {"name": "web"},
        "spec": {"strategy": {"type": strategy}}})
    .to_string()
}

fn ready(status: &str) -> String {
    json!({"status": {"geoTag": "eu", "conditions": [{"type": "Ready", "status": status, "reason": "Test",
        "message": "all is well", "lastTransitionTime": "2024-01-01T00:00:00Z"}]}})
    .to_string()
}

/// The words of each line, which is what a table says whatever its widths.
fn words(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_creates_configures_and_leaves_alone() {
    let Some(cluster) = Cluster::new().await else { return };
    let apply = ["apply", "-f", "-"];
    assert_eq!(cluster.feed(&apply, &gslb(&json!("roundRobin"))).await, "gslb.k8gb.io/web created");
    assert_eq!(cluster.feed(&apply, &gslb(&json!("roundRobin"))).await, "gslb.k8gb.io/web unchanged");
    assert_eq!(cluster.feed(&apply, &gslb(&json!("geoip"))).await, "gslb.k8gb.io/web configured");
    assert_eq!(cluster.gslb()["spec"]["strategy"]["type"], "geoip");
    let service = |port: u16| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
            "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "name": "a"}, {"port": port, "name": "b"}]}})
        .to_string()
    };
    cluster.feed(&apply, &service(81)).await;
    assert_eq!(cluster.feed(&apply, &service(82)).await, "service/s configured");
    let ports = cluster.run(&["get", "service", "s", "-o", "jsonpath={.spec.ports[*].port}"]).await;
    assert_eq!(ports, "80 82");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_reports_conflicts() {
    let Some(cluster) = Cluster::new().await else { return };
    let apply = ["apply", "--server-side", "-f", "-"];
    assert_eq!(
        cluster.feed(&apply, &gslb(&json!("roundRobin"))).await,
        "gslb.k8gb.io/web serverside-applied"
    );
    cluster
        .run(&["patch", "gslb", "web", "--type=merge", "-p", r#"{"spec":{"strategy":{"type":"geoip"}}}"#])
        .await;
    let complaint = cluster.refused(&apply, &gslb(&json!("roundRobin"))).await;
    assert!(complaint.contains("conflict with \"kubectl-patch\""), "{complaint}");
    assert!(complaint.contains(".spec.strategy.type"), "{complaint}");
    let force = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    assert_eq!(
        cluster.feed(&force, &gslb(&json!("roundRobin"))).await,
        "gslb.k8gb.io/web serverside-applied"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_objects_are_refused_in_the_usual_words() {
    let Some(cluster) = Cluster::new().await else { return };
    let complaint = cluster.refused(&["create", "-f", "-"], &gslb(&json!(null))).await;
    assert!(complaint.contains("The Gslb \"web\" is invalid"), "{complaint}");
    assert!(complaint.contains("spec.strategy.type"), "{complaint}");
    let typo = gslb(&json!("geoip")).replace("\"strategy\"", "\"typo\": 1, \"strategy\"");
    let complaint = cluster.refused(&["apply", "-f", "-"], &typo).await;
    assert!(complaint.contains("strict decoding error: unknown field \"spec.typo\""), "{complaint}");
    let complaint = cluster.refused(&["get", "gslb", "none"], "").await;
    assert_eq!(complaint, "Error from server (NotFound): gslbs.k8gb.io \"none\" not found");
}

#[tokio::test(flavor = "multi_thread")]
async fn get_shows_columns_and_follows() {
    let Some(cluster) = Cluster::new().await else { return };
    cluster.feed(&["apply", "-f", "-"], &gslb(&json!("roundRobin"))).await;
    let mut watching = cluster.command(&["get", "gslb", "-w"]).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next =
        async || tokio::time::timeout(DEADLINE, lines.next_line()).await.unwrap().unwrap().unwrap();
    assert_eq!(next().await.split_whitespace().collect::<Vec<_>>(), ["NAME", "STRATEGY", "READY", "AGE"]);
    assert!(next().await.starts_with("web    roundRobin"));
    cluster
        .run(&["patch", "gslb", "web", "--subresource=status", "--type=merge", "-p", &ready("True")])
        .await;
    assert_eq!(next().await.split_whitespace().nth(2), Some("True"));
    watching.kill().await.unwrap();

    let table = cluster.run(&["get", "gs", "-o", "wide"]).await;
    let table = words(&table);
    assert_eq!(table[0], ["NAME", "STRATEGY", "READY", "GEOTAG", "AGE"]);
    assert_eq!(table[1][..4], ["web", "roundRobin", "True", "eu"]);
    let yaml = cluster.run(&["get", "gslb", "web", "-o", "yaml"]).await;
    assert!(yaml.contains("geoTag: eu") && !yaml.contains("managedFields"), "{yaml}");
    assert_eq!(words(&cluster.run(&["get", "crd"]).await)[1][0], "gslbs.k8gb.io");
}

#[tokio::test(flavor = "multi_thread")]
async fn patch_edit_label_annotate_and_delete_change_the_object() {
    let Some(cluster) = Cluster::new().await else { return };
    cluster.feed(&["apply", "-f", "-"], &gslb(&json!("roundRobin"))).await;
    assert_eq!(cluster.run(&["edit", "gslb", "web"]).await, "gslb.k8gb.io/web edited");
    assert_eq!(cluster.gslb()["spec"]["strategy"]["type"], "failover");
    let operations = r#"[{"op":"replace","path":"/spec/strategy/type","value":"geoip"}]"#;
    assert_eq!(
        cluster.run(&["patch", "gslb", "web", "--type=json", "-p", operations]).await,
        "gslb.k8gb.io/web patched"
    );
    assert_eq!(cluster.run(&["label", "gslb", "web", "a=b"]).await, "gslb.k8gb.io/web labeled");
    assert_eq!(cluster.run(&["annotate", "gslb", "web", "c=d"]).await, "gslb.k8gb.io/web annotated");
    assert_eq!(cluster.gslb()["metadata"]["labels"]["a"], "b");
    assert_eq!(cluster.run(&["get", "gslb", "-l", "a in (b)", "-o", "name"]).await, "gslb.k8gb.io/web");
    cluster.run(&["create", "configmap", "m", "--from-literal=x=1"]).await;
    let patched = cluster.run(&["patch", "configmap", "m", "-p", r#"{"data":{"y":"2"}}"#]).await;
    assert_eq!(patched, "configmap/m patched");
    assert_eq!(cluster.run(&["get", "cm", "m", "-o", "jsonpath={.data}"]).await, r#"{"x":"1","y":"2"}"#);
    let deleted = cluster.run(&["delete", "gslb", "web"]).await;
    assert!(deleted.starts_with("gslb.k8gb.io \"web\" deleted"), "{deleted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_shows_conditions_and_events_and_wait_sees_conditions() {
    let Some(cluster) = Cluster::new().await else { return };
    cluster.feed(&["apply", "-f", "-"], &gslb(&json!("roundRobin"))).await;
    let uid = cluster.gslb()["metadata"]["uid"].clone();
    let event = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "test", "reportingInstance": "t", "action": "Test",
        "reason": "Published", "type": "Normal", "note": "records were published", "regarding": {
            "apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "name": "web", "namespace": "default", "uid": uid}});
    cluster.server.put_object(event).unwrap();
    let mut waiting =
        cluster.command(&["wait", "--for=condition=Ready", "gslb/web", "--timeout=50s"]).spawn().unwrap();
    cluster
        .run(&["patch", "gslb", "web", "--subresource=status", "--type=merge", "-p", &ready("True")])
        .await;
    assert!(tokio::time::timeout(DEADLINE, waiting.wait()).await.unwrap().unwrap().success());
    let text = cluster.run(&["describe", "gslb", "web"]).await;
    assert!(text.contains("all is well") && text.contains("records were published"), "{text}");
    let table = cluster.run(&["get", "events"]).await;
    assert_eq!(words(&table)[1][1..], ["Normal", "Published", "gslb/web", "records", "were", "published"]);
    for field in ["lastTimestamp", "firstTimestamp", "metadata.creationTimestamp"] {
        let sorted = cluster.run(&["get", "events", &format!("--sort-by=.{field}")]).await;
        assert_eq!(words(&sorted)[1][1..3], ["Normal", "Published"], "by {field}: {sorted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_explains_itself() {
    let Some(cluster) = Cluster::new().await else { return };
    let resources = cluster.run(&["api-resources"]).await;
    let gslbs = words(&resources).into_iter().find(|line| line[0] == "gslbs").expect("gslbs are listed");
    assert_eq!(gslbs, ["gslbs", "gs", "k8gb.io/v1beta1", "true", "Gslb"]);
    let text = cluster.run(&["explain", "gslb.spec.strategy"]).await;
    assert!(text.contains("How targets are chosen.") && text.contains("-required-"), "{text}");
    assert!(cluster.run(&["version"]).await.contains("Server Version"));
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_objects_can_be_created_by_command() {
    let Some(cluster) = Cluster::new().await else { return };
    assert_eq!(cluster.run(&["create", "namespace", "demo"]).await, "namespace/demo created");
    let created = cluster.run(&["create", "service", "clusterip", "s", "--tcp=80:8080", "-n", "demo"]).await;
    assert_eq!(created, "service/s created");
    let table = cluster.run(&["get", "services", "-n", "demo"]).await;
    assert_eq!(words(&table)[0], ["NAME", "TYPE", "CLUSTER-IP", "EXTERNAL-IP", "PORT(S)", "AGE"]);
    assert_eq!(words(&table)[1][4], "80/TCP");
    let rule = "app.example.com/=s:80";
    cluster.run(&["create", "ingress", "i", &format!("--rule={rule}"), "-n", "demo"]).await;
    let table = cluster.run(&["get", "ingress", "-n", "demo"]).await;
    assert_eq!(words(&table)[1][..3], ["i", "<none>", "app.example.com"]);
    cluster.run(&["create", "secret", "generic", "x", "--from-literal=a=foo", "-n", "demo"]).await;
    assert_eq!(cluster.run(&["get", "secret", "x", "-n", "demo", "-o", "jsonpath={.data.a}"]).await, "Zm9v");
    assert_eq!(cluster.run(&["auth", "can-i", "delete", "gslbs"]).await, "yes");
    cluster.run(&["delete", "namespace", "demo"]).await;
    assert_eq!(cluster.server.get("v1", "Service", "demo", "s"), None);
}
