//! The whole program with the provider `webhook`, at a webhook in memory: a zone is delegated, another cluster's entry
//! stays, bad answers delete nothing and are logged once, a restart writes nothing, and a deleted zone is withdrawn.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gslb_mocks::hook::{Call, Fault, Hook};
use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use gslb_mocks::wapi::HttpServer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
const ZONE: &str = "cloud.example.com";
const EU: &str = "gslb-ns-eu-cloud.example.com";
const US: &str = "gslb-ns-us-cloud.example.com";

/// A webhook, a cluster and the program in it.
struct Stage {
    hook: Hook,
    webhook: HttpServer,
    api: ApiServer,
    _serving: Running,
    folder: TempDir,
    program: Child,
}

impl Stage {
    async fn start() -> Self {
        let hook = Hook::new();
        hook.put("A www.example.com 300 203.0.113.80");
        let webhook = hook.serve().unwrap();
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        api.put_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gslb"}}))
            .unwrap();
        let serving = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
        let folder = TempDir::new().unwrap();
        let config = folder.path().join("kubeconfig");
        std::fs::write(&config, kubeconfig([("eu", serving.url().as_str())])).unwrap();
        let program = program(&folder, &webhook.url());
        Self { hook, webhook, api, _serving: serving, folder, program }
    }

    async fn restart(&mut self) {
        self.program.kill().await.unwrap();
        self.program = program(&self.folder, &self.webhook.url());
    }

    fn zone(&self) -> Value {
        self.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap_or_default()
    }

    /// Waits until the zone tells this of `InSync`; gives its sentence.
    async fn tells(&self, status: &str, reason: &str) -> String {
        let told = || {
            let zone = self.zone();
            let conditions = zone["status"]["conditions"].as_array()?.clone();
            let found = conditions.into_iter().find(|condition| condition["type"] == "InSync")?;
            let fits = found["status"] == status && found["reason"] == reason;
            fits.then(|| found["message"].as_str().unwrap_or_default().to_owned())
        };
        eventually(&format!("InSync is {status} {reason}"), || self.zone().to_string(), told).await
    }

    /// Waits until two more visits have listed everything.
    async fn looks_twice(&self) {
        let count = || self.hook.requests().into_iter().filter(|call| *call == Call::Records).count();
        for _ in 0..2 {
            let before = count();
            self.nudge();
            let told = || (count() > before).then_some(());
            eventually("it is listed again", || format!("{:?}", self.hook.requests()), told).await;
        }
    }

    /// Somebody edits the object, for which the webhook is asked at once.
    fn nudge(&self) {
        let mut zone = self.zone();
        let ttl = zone["spec"]["dnsZoneNegTTL"].as_i64().unwrap();
        zone["spec"]["dnsZoneNegTTL"] = json!(ttl + 1);
        self.api.put_object(zone).unwrap();
    }

    fn name_servers(&self) -> Vec<String> {
        self.hook.targets("NS", ZONE).unwrap_or_default()
    }

    fn logged(&self, part: &str) -> usize {
        let log = std::fs::read_to_string(log(&self.folder)).unwrap();
        log.lines().filter(|line| line.contains(part)).count()
    }
}

fn log(folder: &TempDir) -> PathBuf {
    folder.path().join("log")
}

fn program(folder: &TempDir, url: &str) -> Child {
    let log = File::options().create(true).append(true).open(log(folder)).unwrap();
    let settings = [
        ("CLUSTER_GEO_TAG", "eu"),
        ("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us"),
        ("DNS_ZONES", "example.com:cloud.example.com:30"),
        // Nobody answers DNS there.
        ("EDGE_DNS_SERVERS", "127.0.0.1:1"),
        ("CLUSTER_EXPOSED_IPS", "192.0.2.53"),
        ("POD_NAMESPACE", "gslb"),
        ("METRICS_ADDRESS", "127.0.0.1:0"),
        ("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "1"),
        ("WEBHOOK_PROVIDER_URL", url),
        ("WEBHOOK_PROVIDER_TIMEOUT_SECONDS", "5"),
        ("WEBHOOK_PROVIDER_TXT_PREFIX", "x-"),
        ("LOG_LEVEL", "warn"),
        ("NO_COLOR", "true"),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
    command.env_clear().envs(settings).kill_on_drop(true).arg("run");
    command.arg("--kubeconfig").arg(folder.path().join("kubeconfig"));
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

async fn eventually<T>(what: &str, instead: impl Fn() -> String, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "this did not come true: {what}; {}", instead());
        sleep(LOOK).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_is_delegated_through_a_webhook_kept_beside_another_cluster_and_withdrawn() {
    let mut stage = Stage::start().await;
    stage.tells("True", "InSync").await;
    assert_eq!(
        (stage.name_servers(), stage.hook.targets("A", EU).unwrap()),
        (vec![EU.to_owned()], vec!["192.0.2.53".to_owned()])
    );

    // Another cluster joins, and our passes go on.
    stage.hook.put(&format!("NS {ZONE} 30 {EU} {US}"));
    stage.hook.put(&format!("A {US} 30 198.51.100.53"));
    stage.looks_twice().await;
    assert_eq!(stage.name_servers(), [EU, US]);

    // Somebody takes our entry out. It comes back, and the other one stays.
    stage.hook.put(&format!("NS {ZONE} 30 {US}"));
    stage.nudge();
    let back = || (stage.name_servers() == [US, EU]).then_some(());
    eventually("the entry is back", || stage.hook.sets().join("\n"), back).await;

    let writes = stage.hook.writes().len();
    stage.restart().await;
    stage.looks_twice().await;
    stage.tells("True", "InSync").await;
    assert_eq!(stage.hook.writes().len(), writes);

    let mut zone = stage.zone();
    zone["spec"]["doFinalize"] = json!(true);
    stage.api.put_object(zone).unwrap();
    stage.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("the object is gone", || stage.zone().to_string(), || stage.zone().is_null().then_some(()))
        .await;
    assert_eq!(
        stage.hook.sets().iter().filter(|set| !set.starts_with("TXT x-ns-")).collect::<Vec<_>>(),
        [
            &format!("NS {ZONE} 30 {US}"),
            &format!("A {US} 30 198.51.100.53"),
            "A www.example.com 300 203.0.113.80",
        ]
    );
}

/// C066.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_answer_of_a_webhook_is_told_and_logged_once_and_changes_nothing() {
    let stage = Stage::start().await;
    stage.tells("True", "InSync").await;
    let (sets, writes) = (stage.hook.sets(), stage.hook.writes().len());
    let version = "application/external.dns.webhook+json;version=2".to_owned();
    let faults = [
        (
            Call::Negotiate,
            Fault::Media("text/plain".to_owned()),
            "Misconfigured",
            "answers GET / as text/plain",
        ),
        (Call::Negotiate, Fault::Media(version), "Misconfigured", "json;version=2, and the only form"),
        (Call::Records, Fault::Half, "UnexpectedAnswer", "none of the protocol"),
        (Call::Records, Fault::Status(500, "boom".to_owned()), "ProviderUnavailable", "HTTP 500: boom"),
        (Call::Records, Fault::Empty, "UnexpectedAnswer", "5 of the 5 sets of records"),
    ];
    for (call, fault, reason, said) in faults {
        stage.hook.fail(call, fault);
        stage.nudge();
        let told = stage.tells("False", reason).await;
        assert!(told.contains(said), "{told}");
        let asked = stage.hook.requests().len();
        stage.nudge();
        let again = || (stage.hook.requests().len() > asked).then_some(());
        eventually("it is tried again", String::new, again).await;
        stage.hook.heal();
        stage.nudge();
        stage.tells("True", "InSync").await;
        assert_eq!(stage.logged(said), 1, "{said}");
    }
    stage.hook.take_only(json!({"include": ["example.org"]}));
    stage.nudge();
    let told = stage.tells("False", "Misconfigured").await;
    assert!(told.starts_with("cloud.example.com lies outside the domains that the webhook at"), "{told}");
    stage.hook.take_only(json!({}));
    stage.nudge();
    stage.tells("True", "InSync").await;
    assert_eq!((stage.hook.sets(), stage.hook.writes().len()), (sets, writes));
}
