//! One cluster: its API, the DNS around it, and the controller in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gslb_bridge::audit::Shipper;
use gslb_bridge::config::{RawConfig, Settings};
use gslb_bridge::daemon::{World, control};
use gslb_bridge::providers::Providers;
use gslb_bridge::question::Client as Questions;
use gslb_mocks::kube::{ApiServer, JournalEntry};
use gslb_provider_contract::Provider;
use gslb_provider_memory::MemoryProvider;
use jiff::Timestamp;
use kube::Client;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::dns::Dns;
use crate::objects;

/// Longer than anything that the controller may take, in paused time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
/// Paused time goes on by this much when everything else waits.
const LOOK: Duration = Duration::from_millis(5);

/// Resolver of the fleet.
pub(crate) const RESOLVER: &str = "203.0.113.1";
/// Server of the parent zone.
pub(crate) const PARENT: &str = "203.0.113.2";
/// DNS servers of the two peers.
pub(crate) const US: &str = "198.51.100.53";
pub(crate) const ZA: &str = "203.0.113.53";

/// A configuration file with the zone in records mode.
const RECORDS_MODE: &str = "apiVersion: gslb-bridge.io/v1alpha1
kind: Configuration
zones:
- {zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, mode: records}
";

/// One cluster, tagged `eu`, with zone `cloud.example.com`.
pub(crate) struct Cluster {
    pub(crate) api: ApiServer,
    pub(crate) dns: Dns,
    pub(crate) provider: Option<Arc<MemoryProvider>>,
    settings: BTreeMap<&'static str, String>,
    /// The configuration file.
    file: Option<String>,
    start: Instant,
    /// Seconds by which the wall clock was set back.
    set_back: Arc<AtomicU64>,
}

/// The controller while it runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
    registry: Registry,
}

impl Cluster {
    /// A cluster without peers and provider.
    pub(crate) fn alone() -> Self {
        Self::with_crds(&gslb_crds::yaml())
    }

    pub(crate) fn with_crds(crds: &str) -> Self {
        let api = ApiServer::builder().crd_yaml(crds).build();
        objects::cluster(&api);
        let dns = Dns::default();
        dns.answer(RESOLVER, "ns1.example.com", &[PARENT]);
        dns.answer(RESOLVER, "gslb-ns-eu-cloud.example.com", &["192.0.2.53"]);
        dns.delegate(RESOLVER, "example.com", &["ns1.example.com"]);
        dns.delegate(PARENT, "cloud.example.com", &["gslb-ns-eu-cloud.example.com"]);
        let settings = [
            ("CLUSTER_GEO_TAG", "eu"),
            ("DNS_ZONES", "example.com:cloud.example.com:30"),
            ("EDGE_DNS_SERVERS", RESOLVER),
            ("POD_NAMESPACE", "gslb"),
            ("POD_NAME", "gslb-bridge-0"),
            ("DNS_SERVICE", "gslb/dns"),
        ];
        let settings = settings.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        let set_back = Arc::new(AtomicU64::new(0));
        Self { api, dns, provider: None, settings, file: None, start: Instant::now(), set_back }
    }

    /// With the peers `us` and `za`, whose DNS servers exist and know no host.
    pub(crate) fn with_peers(self) -> Self {
        for (tag, server) in [("us", US), ("za", ZA)] {
            self.dns.answer(RESOLVER, &format!("gslb-ns-{tag}-cloud.example.com"), &[server]);
            self.dns.say(server, "cloud.example.com", crate::dns::Says::No);
        }
        self.setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,za")
    }

    /// With a provider for which the members of the fleet are found, not listed. It stands for Infoblox.
    pub(crate) fn with_found_peers(self) -> Self {
        let grid = [
            ("INFOBLOX_GRID_HOST", "grid.example.com"),
            ("INFOBLOX_WAPI_USERNAME", "gslb"),
            ("INFOBLOX_WAPI_PASSWORD", "none"),
        ];
        grid.into_iter().fold(self.with_provider(), |cluster, (name, value)| cluster.setting(name, value))
    }

    pub(crate) fn with_provider(mut self) -> Self {
        self.provider = Some(Arc::new(MemoryProvider::new()));
        self
    }

    /// With the zone in records mode, at a provider that others may use, too. It stands for Infoblox.
    pub(crate) fn in_records_mode(mut self, provider: &Arc<MemoryProvider>) -> Self {
        self.settings.remove("DNS_ZONES");
        self.file = Some(RECORDS_MODE.to_owned());
        self = self.with_found_peers().setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us,za");
        self.provider = Some(Arc::clone(provider));
        self
    }

    pub(crate) fn setting(mut self, name: &'static str, value: &str) -> Self {
        self.settings.insert(name, value.to_owned());
        self
    }

    /// With a configuration file, which says what no variable can; of the variables, those of its settings go.
    pub(crate) fn with_file(mut self, keys: &str) -> Self {
        let header = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\n";
        self.settings.remove("DNS_ZONES");
        self.file = Some(format!("{header}{keys}"));
        self
    }

    /// Sets the wall clock back.
    pub(crate) fn set_back(&self, by: Duration) {
        self.set_back.fetch_add(by.as_secs(), Ordering::Relaxed);
    }

    /// Starts the controller.
    pub(crate) fn run(&self) -> Running {
        self.run_with(self.provider.clone().map(|provider| provider as Arc<dyn Provider>))
    }

    /// As [`Self::run`], with a provider of the test's own.
    pub(crate) fn run_with(&self, provider: Option<Arc<dyn Provider>>) -> Running {
        self.run_at(Providers::plain(provider))
    }

    /// As [`Self::run`], with several providers.
    pub(crate) fn run_at(&self, providers: Providers) -> Running {
        let raw = RawConfig::read(|name| self.settings.get(name).cloned());
        let raw = match &self.file {
            Some(text) => raw.and_text("gslb.yaml", text),
            None => raw,
        };
        let settings = Settings::resolve(&raw).unwrap();
        let resolvers: Arc<[_]> = settings.edge_dns_servers.clone().into();
        let (start, set_back) = (self.start, Arc::clone(&self.set_back));
        let epoch: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let world = World {
            client: Client::new(self.api.router(), "default"),
            questions: Questions::new(self.dns.clone(), resolvers),
            providers,
            shipper: Shipper::none(),
            clock: Arc::new(move || {
                epoch + start.elapsed() - Duration::from_secs(set_back.load(Ordering::Relaxed))
            }),
        };
        let (stop, stopped) = oneshot::channel();
        let mut registry = Registry::default();
        let task = tokio::spawn(control(settings, world, &mut registry, async move { drop(stopped.await) }));
        Running { stop, task, registry }
    }

    /// The records of a DNSEndpoint as `(name, targets)`; nothing if there is no such object.
    pub(crate) fn records(&self, name: &str) -> Option<Vec<(String, Vec<String>)>> {
        let object = self.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", name)?;
        let endpoints = object["spec"]["endpoints"].as_array().cloned().unwrap_or_default();
        let strings = |value: &Value| serde_json::from_value::<Vec<String>>(value.clone()).unwrap();
        let record = |endpoint: &Value| {
            (endpoint["dnsName"].as_str().unwrap().to_owned(), strings(&endpoint["targets"]))
        };
        Some(endpoints.iter().map(record).collect())
    }

    /// Waits until a DNSEndpoint holds exactly these records.
    pub(crate) async fn publishes(&self, name: &str, records: &[(&str, &[&str])]) {
        let own = |(name, targets): &(&str, &[&str])| {
            ((*name).to_owned(), targets.iter().map(|target| (*target).to_owned()).collect())
        };
        let wanted: Vec<(String, Vec<String>)> = records.iter().map(own).collect();
        let mut found = None;
        let deadline = Instant::now() + PATIENCE;
        while found.as_ref() != Some(&wanted) {
            assert!(Instant::now() < deadline, "{name} holds {found:?}, and not {wanted:?}");
            sleep(LOOK).await;
            found = self.records(name);
        }
    }

    pub(crate) fn gslb(&self, name: &str) -> Value {
        self.api.get("k8gb.io/v1beta1", "Gslb", "web", name).unwrap_or_default()
    }

    pub(crate) fn zone(&self) -> Value {
        let found = self.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com");
        found.unwrap_or_default()
    }

    /// Waits until a Gslb has a condition with this status and reason; gives its sentence.
    pub(crate) async fn tells(&self, name: &str, kind: &str, status: &str, reason: &str) -> String {
        eventually(&format!("{kind} of {name} is {status} {reason}"), || {
            told(&self.gslb(name), kind, status, reason)
        })
        .await
    }

    /// As [`Self::tells`], for the ZoneDelegation.
    pub(crate) async fn zone_tells(&self, kind: &str, status: &str, reason: &str) -> String {
        eventually(&format!("{kind} of the zone is {status} {reason}"), || {
            told(&self.zone(), kind, status, reason)
        })
        .await
    }

    /// Events about an object as `(reason, note)`.
    pub(crate) fn events(&self, kind: &str, name: &str) -> Vec<(String, String)> {
        let events = self.api.list("events.k8s.io/v1", "Event", "");
        let about = events
            .iter()
            .filter(|event| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        about.map(|event| (text(&event["reason"]), text(&event["note"]))).collect()
    }

    /// Requests of the controller that could have changed something.
    pub(crate) fn writes(&self) -> Vec<JournalEntry> {
        let entries = self.api.journal().entries();
        entries.into_iter().filter(|entry| !matches!(entry.verb, "get" | "list" | "watch")).collect()
    }

    /// Waits until nothing was written for some seconds, and forgets the writes.
    pub(crate) async fn settle(&self) {
        let mut before = u64::MAX;
        let deadline = Instant::now() + 4 * PATIENCE;
        while before != self.api.journal().total() {
            assert!(Instant::now() < deadline, "the controller does not come to rest");
            before = self.api.journal().total();
            sleep(Duration::from_secs(8)).await;
        }
        self.api.journal().clear();
    }
}

pub(crate) fn told(object: &Value, kind: &str, status: &str, reason: &str) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|condition| condition["type"] == kind)?;
    let fits = condition["status"] == status && condition["reason"] == reason;
    fits.then(|| condition["message"].as_str().unwrap_or_default().to_owned())
}

impl Running {
    /// Passes over a Gslb of namespace `web` that were finished.
    pub(crate) fn passes(&self, name: &str) -> u32 {
        let text = self.metrics();
        let series = format!("k8gb_gslb_reconciliation_loops_total{{namespace=\"web\",name=\"{name}\"}} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&series));
        value.map_or(0, |value| value.parse().unwrap())
    }

    /// What a scrape shows.
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        text
    }

    /// Stops the controller and waits until it is gone.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }

    /// Ends the controller wherever it is.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// Waits until something can be seen. Time is paused, so waiting costs nothing and ends.
pub(crate) async fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "this did not come true: {what}");
        sleep(LOOK).await;
    }
}

/// Lets time pass.
pub(crate) async fn pass(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}
