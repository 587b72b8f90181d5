//! A grid, a cluster, and the program between them.

use std::net::TcpListener;
use std::process::{Command, Output};

use gslb_mocks::kube::{ApiServer, Running, kubeconfig};
use gslb_mocks::wapi::{Account, Grid, GridBuilder, HttpServer, SimulatorTls};
use serde_json::{Value, json};
use tempfile::TempDir;

const USER: &str = "svc-dns";
pub(crate) const PASSWORD: &str = "S3CRET-xyz";
const NAMESPACE: &str = "gslb";

pub(crate) struct World {
    pub(crate) grid: Grid,
    cluster: ApiServer,
    server: HttpServer,
    files: TempDir,
    _running: Running,
}

/// How the program ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// User and password as Basic authentication sends them.
pub(crate) const BASIC: &str = "c3ZjLWRuczpTM0NSRVQteHl6";

fn builder(account: Account) -> GridBuilder {
    let grid = Grid::builder().username("admin").password("infoblox").account(account);
    grid.zone_auth("example.com", "default")
}

impl World {
    /// A grid where all is as it should be.
    pub(crate) async fn healthy() -> Self {
        let account = Account::new(USER, PASSWORD).reading_admins();
        let world = Self::of(builder(account).attribute("GslbBridgeRevision").build().unwrap()).await;
        world.grid.edit(|admin| {
            let view = admin.find("view", &[("name", "default")]).unwrap()[0]["_ref"].clone();
            let permission =
                json!({"group": "svc-dns-group", "permission": "WRITE", "resource_type": "ZONE", "object": view});
            admin.create("permission", permission).unwrap();
        });
        world
    }

    /// A grid as it often is: an account that does not see what it may do, a second view, a forgotten record.
    pub(crate) async fn with_a_few_faults() -> Self {
        let grid = builder(Account::new(USER, PASSWORD)).attribute("Site").view("internal");
        let world = Self::of(grid.zone_auth("example.com", "internal").build().unwrap()).await;
        let record = json!({"name": "www.cloud.example.com", "ipv4addr": "192.0.2.1", "view": "default"});
        world.grid.edit(|admin| admin.create("record:a", record)).unwrap();
        world
    }

    async fn of(grid: Grid) -> Self {
        let files = TempDir::new().unwrap();
        let tls = SimulatorTls::generate(&[]).unwrap().write_ca(&files.path().join("ca.pem")).unwrap();
        let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
        let cluster = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        cluster.apply_object(namespace).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let running = cluster.serve(listener).unwrap();
        std::fs::write(files.path().join("kubeconfig"), kubeconfig([("eu", running.url().as_str())]))
            .unwrap();
        Self { grid, cluster, server, files, _running: running }
    }

    pub(crate) fn apply_zone(&self, name: &str, zone: &str) {
        let spec = json!({"loadBalancedZone": zone, "parentZone": "example.com", "dnsZoneNegTTL": 30,
            "doFinalize": false});
        let object = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
            "metadata": {"name": name}, "spec": spec});
        self.cluster.put_object(object).unwrap();
    }

    pub(crate) fn apply_gslb(&self, name: &str, hosts: &str) {
        let object = json!({"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"strategy": {"type": "roundRobin"}}, "status": {"hosts": hosts, "geoTag": "eu", "healthyRecords": {}, "serviceHealth": {}}});
        self.cluster.apply_object(object).unwrap();
    }

    /// The count of bad log-ins that the daemon would find.
    pub(crate) fn login_memory(&self) -> Option<Value> {
        self.cluster.get("v1", "ConfigMap", NAMESPACE, "gslb-bridge-login")
    }

    pub(crate) async fn check(&self, arguments: &[&str]) -> Ended {
        self.check_with(arguments, &[]).await
    }

    /// With these settings before the usual ones.
    pub(crate) async fn check_with(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
        self.run(arguments, settings, &[]).await
    }

    /// With a configuration file that says which zones there are.
    pub(crate) async fn check_file(&self, keys: &str) -> Ended {
        let path = self.files.path().join("gslb.yaml");
        let header = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\n";
        std::fs::write(&path, format!("{header}{keys}")).unwrap();
        self.run(&["--config", path.to_str().unwrap()], &[], &["DNS_ZONES"]).await
    }

    async fn run(&self, arguments: &[&str], settings: &[(&str, &str)], unset: &[&str]) -> Ended {
        let file = |name: &str| self.files.path().join(name).to_str().unwrap().to_owned();
        let (config, ca, port) =
            (file("kubeconfig"), file("ca.pem"), self.server.address().port().to_string());
        let usual = [
            ("KUBECONFIG", config.as_str()),
            ("CLUSTER_GEO_TAG", "eu"),
            ("EDGE_DNS_SERVERS", "127.0.0.1"),
            ("POD_NAMESPACE", NAMESPACE),
            ("DNS_ZONES", "example.com:cloud.example.com:30"),
            ("INFOBLOX_GRID_HOST", "127.0.0.1"),
            ("INFOBLOX_WAPI_PORT", port.as_str()),
            ("INFOBLOX_WAPI_USERNAME", USER),
            ("INFOBLOX_WAPI_PASSWORD", PASSWORD),
            ("INFOBLOX_CA_FILE", ca.as_str()),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("check").args(arguments).env_clear().envs(usual).envs(settings.iter().copied());
        for name in unset {
            command.env_remove(name);
        }
        let Output { status, stdout, stderr } =
            tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Ended {
            code: status.code().unwrap(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }
}
