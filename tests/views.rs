//! The whole program with two simulated grids: one zone in an internal and an external view, over HTTPS and DNS.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::net::TcpListener as StdListener;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use gslb_mocks::wapi::{DnsServer, DnsSockets, Grid, HttpServer, SimulatorTls};
use gslb_provider_infoblox::install_crypto_provider;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);
const ZONE: &str = "cloud.example.com";
const EU: &str = "gslb-ns-eu-cloud.example.com";
const INSIDE: &str = "192.0.2.53";
const OUTSIDE: &str = "203.0.113.10";

/// A grid with one view that holds the parent zone, and answers DNS for it.
struct OneGrid {
    grid: Grid,
    view: &'static str,
    https: HttpServer,
    dns: DnsServer,
    password_file: PathBuf,
}

impl OneGrid {
    async fn start(view: &'static str, folder: &TempDir) -> Self {
        let builder = Grid::builder().username("gslb").password(view).view(view);
        let grid = builder.zone_auth("example.com", view).build().unwrap();
        let tls = SimulatorTls::generate(&[]).unwrap();
        let https = grid.serve_https(StdListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
        let sockets = DnsSockets::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let dns = grid.serve_dns_view(view, sockets);
        let file = |name: &str| folder.path().join(format!("{view}-{name}"));
        std::fs::write(file("username"), "gslb").unwrap();
        std::fs::write(file("password"), view).unwrap();
        std::fs::write(file("ca.crt"), tls.ca_pem()).unwrap();
        Self { grid, view, https, dns, password_file: file("password") }
    }

    /// As an element of `providers`.
    fn listed(&self, name: &str) -> Value {
        let file = |name: &str| self.password_file.with_file_name(format!("{}-{name}", self.view));
        json!({
            "name": name, "type": "infoblox", "gridHost": "127.0.0.1", "wapiPort": self.https.address().port(),
            "dnsView": self.view, "usernameFile": file("username"), "passwordFile": self.password_file,
            "caFile": file("ca.crt"), "requestTimeoutSeconds": 5,
        })
    }

    fn resolver(&self) -> String {
        self.dns.address().unwrap().to_string()
    }

    fn entries(&self) -> Vec<String> {
        let zone = self.grid.delegation(ZONE, self.view);
        let servers = zone.into_iter().flat_map(|zone| zone.delegate_to);
        servers.map(|server| format!("{} {}", server.name, server.address)).collect()
    }

    fn remove(&self) {
        self.grid.edit(|admin| {
            let reference = admin.zone_reference(ZONE, self.view).unwrap();
            admin.delete(&reference).unwrap();
        });
    }
}

/// Both grids, a cluster and the program in it.
struct Stage {
    core: OneGrid,
    dmz: OneGrid,
    api: ApiServer,
    _serving: Running,
    _folder: TempDir,
    _program: Child,
}

impl Stage {
    async fn start() -> Self {
        install_crypto_provider();
        let folder = TempDir::new().unwrap();
        let (core, dmz) =
            (OneGrid::start("internal", &folder).await, OneGrid::start("external", &folder).await);
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        api.put_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gslb"}}))
            .unwrap();
        let serving = api.serve(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
        let config = folder.path().join("kubeconfig");
        std::fs::write(&config, kubeconfig([("eu", serving.url().as_str())])).unwrap();
        // JSON is YAML.
        let settings = json!({
            "apiVersion": "gslb-bridge.io/v1alpha1", "kind": "Configuration",
            "clusterGeoTag": "eu", "edgeDnsServers": [core.resolver()], "clusterExposedIPs": [INSIDE],
            "podNamespace": "gslb", "metricsAddress": "127.0.0.1:0",
            "periods": {"zoneDelegationSeconds": 1},
            "providers": [core.listed("core"), dmz.listed("dmz")],
            "zones": [{
                "zone": ZONE, "parentZone": "example.com", "negativeTtlSeconds": 30,
                "publish": [
                    {"provider": "core"},
                    {"provider": "dmz", "nsAddresses": [OUTSIDE], "edgeDnsServers": [dmz.resolver()]},
                ],
            }],
        });
        let file = folder.path().join("gslb.yaml");
        std::fs::write(&file, serde_json::to_string_pretty(&settings).unwrap()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.env_clear().env("LOG_LEVEL", "error").kill_on_drop(true).arg("run").arg("--config").arg(file);
        command.arg("--kubeconfig").arg(config).stdout(Stdio::null()).stderr(Stdio::null());
        let program = command.spawn().unwrap();
        Self { core, dmz, api, _serving: serving, _folder: folder, _program: program }
    }

    fn zone(&self) -> Value {
        self.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap_or_default()
    }

    /// Waits until the zone tells this of a condition; gives its sentence.
    async fn tells(&self, kind: &str, status: &str, reasons: &[&str]) -> String {
        let told = || {
            let zone = self.zone();
            let conditions = zone["status"]["conditions"].as_array()?.clone();
            let found = conditions.into_iter().find(|condition| condition["type"] == kind)?;
            let reason = found["reason"].as_str()?;
            let fits = found["status"] == status && reasons.contains(&reason);
            fits.then(|| found["message"].as_str().unwrap_or_default().to_owned())
        };
        eventually(&format!("{kind} is {status} {reasons:?}"), || self.zone().to_string(), told).await
    }
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
async fn two_views_on_two_grids_are_kept_and_proved_apart_through_a_wrong_password_and_a_removal() {
    let stage = Stage::start().await;
    let (core, dmz) = (&stage.core, &stage.dmz);
    let proved = stage.tells("Delegated", "True", &["Delegated"]).await;
    assert!(
        proved.contains("view internal of core: ") && proved.contains("view external of dmz: "),
        "{proved}"
    );
    stage.tells("Ready", "True", &["Ready"]).await;
    assert_eq!(core.entries(), [format!("{EU} {INSIDE}")]);
    assert_eq!(dmz.entries(), [format!("{EU} {OUTSIDE}")]);

    // One account is locked out of its grid. The other grid goes on, whatever happens there.
    dmz.grid.set_password("gslb", "changed");
    dmz.grid.expire_sessions();
    let held = ["Unauthenticated", "LoginHeld"];
    let told = stage.tells("InSync", "False", &held).await;
    assert!(told.starts_with("view external of dmz: Infoblox at 127.0.0.1 rejected"), "{told}");
    assert!(told.contains("; view internal of core: core holds what this cluster wants"), "{told}");
    core.remove();
    let restored = || (core.entries() == [format!("{EU} {INSIDE}")]).then_some(());
    eventually("the entry is back", || stage.zone().to_string(), restored).await;
    let memory = stage.api.get("v1", "ConfigMap", "gslb", "gslb-bridge-login").unwrap();
    let records: Vec<_> = memory["data"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(records, ["core", "dmz"]);
    assert_eq!((core.grid.bad_logins(), dmz.grid.bad_logins()), (0, 1));

    // The secret changes, and no restart is needed.
    std::fs::write(&dmz.password_file, "changed").unwrap();
    stage.tells("InSync", "True", &["InSync"]).await;
    assert_eq!(dmz.grid.bad_logins(), 1);

    let mut zone = stage.zone();
    zone["spec"]["doFinalize"] = json!(true);
    stage.api.put_object(zone).unwrap();
    stage.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("the object is gone", || stage.zone().to_string(), || stage.zone().is_null().then_some(()))
        .await;
    assert_eq!((core.entries(), dmz.entries()), (vec![], vec![]));
    assert_eq!((core.grid.open_sessions(), dmz.grid.open_sessions()), (1, 1));
}
