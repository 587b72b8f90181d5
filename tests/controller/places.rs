//! A zone that is published at several places: views of two grids, each with addresses of this cluster of its own.

use std::future::pending;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gslb_bridge::config::View;
use gslb_bridge::providers::Providers;
use gslb_core::delegation::{Delegation, ObservedDelegation, Obstacle, Presence};
use gslb_core::limits::ApprovedChange;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt, Scope};
use gslb_provider_memory::{MemoryProvider, Operation};
use serde_json::{Value, json};

use crate::dns::name;
use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, Running, eventually, pass, told};

const ZONE: &str = "cloud.example.com";
const EU_NS: &str = "gslb-ns-eu-cloud.example.com";
const US_NS: &str = "gslb-ns-us-cloud.example.com";
/// A resolver and a parent server that see the external view.
const OUTER_RESOLVER: &str = "203.0.113.11";
const OUTER_PARENT: &str = "203.0.113.12";
/// This cluster's address in it.
const OUTER: &str = "198.51.100.9";

const GRIDS: &str = "providers:
- {name: core, type: infoblox, gridHost: gm.core.example, usernameFile: /core/user, passwordFile: /core/password}
- {name: dmz, type: infoblox, gridHost: gm.dmz.example, usernameFile: /dmz/user, passwordFile: /dmz/password}
";

fn zone(name: &str, places: &str) -> String {
    format!("- {{zone: {name}, parentZone: example.com, negativeTtlSeconds: 30, publish: [{places}]}}\n")
}

fn view(provider: &str, view: &str) -> View {
    View { provider: provider.into(), view: view.into(), usual_view: "default".into() }
}

/// One cluster whose zone stands in the internal view of one grid and the external view of another.
struct TwoPlaces {
    cluster: Cluster,
    inner: Arc<MemoryProvider>,
    outer: Arc<MemoryProvider>,
}

impl TwoPlaces {
    fn new() -> Self {
        Self::seen_outside_through(&format!("[{OUTER_RESOLVER}]"))
    }

    /// `resolvers`: those that see the external view.
    fn seen_outside_through(resolvers: &str) -> Self {
        let outer =
            format!("{{provider: dmz, view: external, nsAddresses: [{OUTER}], edgeDnsServers: {resolvers}}}");
        let places = format!("{{provider: core, view: internal}}, {outer}");
        let cluster = Cluster::alone().with_file(&format!("{GRIDS}zones:\n{}", zone(ZONE, &places)));
        cluster.dns.answer(OUTER_RESOLVER, "ns1.example.com", &[OUTER_PARENT]);
        cluster.dns.answer(OUTER_RESOLVER, EU_NS, &[OUTER]);
        cluster.dns.delegate(OUTER_RESOLVER, "example.com", &["ns1.example.com"]);
        cluster.dns.delegate(OUTER_PARENT, ZONE, &[EU_NS]);
        let [inner, outer] = ["core", "dmz"].map(|name| Arc::new(MemoryProvider::new().named(name)));
        Self { cluster, inner, outer }
    }

    fn run(&self) -> Running {
        self.run_with(Arc::clone(&self.inner) as _, Arc::clone(&self.outer) as _)
    }

    fn run_with(&self, inner: Arc<dyn Provider>, outer: Arc<dyn Provider>) -> Running {
        let providers = Providers::plain(None).with_view(view("core", "internal"), inner);
        self.cluster.run_at(providers.with_view(view("dmz", "external"), outer))
    }

    /// The changes in the log as "provider view action result".
    fn log(&self) -> Vec<String> {
        let entries = self.cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let shown = |entry: &Value| {
            let (spec, result) = (&entry["spec"], text(&entry["status"]["result"]));
            format!("{} {} {} {result}", text(&spec["provider"]), text(&spec["view"]), text(&spec["action"]))
        };
        entries.iter().map(shown).collect()
    }

    fn finalizes(&self) {
        let mut zone = self.cluster.zone();
        zone["spec"]["doFinalize"] = json!(true);
        self.cluster.api.put_object(zone).unwrap();
        self.cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    }
}

/// Names and addresses that stand at a provider.
async fn held(provider: &MemoryProvider) -> Vec<String> {
    let scope = Scope { zone: name(ZONE), parent: name("example.com") };
    let found = provider.observe(&scope).await.unwrap();
    let pairs = found.delegation().map(Delegation::pairs).unwrap_or_default();
    pairs.iter().map(|(name, address)| format!("{name} {}", address.unwrap())).collect()
}

fn put(provider: &MemoryProvider, servers: &[(&str, &str)], obstacles: &[Obstacle]) {
    let servers = servers.iter().map(|(ns, address)| (name(ns), [address.parse::<IpAddr>().unwrap()].into()));
    let delegation = Delegation { zone: name(ZONE), ttl: None, servers: servers.collect() };
    let mut observed = ObservedDelegation::plain(delegation);
    observed.obstacles = obstacles.iter().cloned().collect();
    provider.put(&name(ZONE), Presence::Present(observed));
}

fn unavailable() -> ProviderError {
    ProviderError::Unavailable { text: "the grid does not answer".into(), retry_after: None, source: None }
}

#[tokio::test(start_paused = true)]
async fn a_zone_stands_at_each_place_with_the_addresses_of_that_place() {
    let two = TwoPlaces::new();
    let running = two.run();
    two.cluster.zone_tells("Ready", "True", "Ready").await;
    assert_eq!(held(&two.inner).await, [format!("{EU_NS} 192.0.2.53")]);
    assert_eq!(held(&two.outer).await, [format!("{EU_NS} {OUTER}")]);
    assert_eq!(
        two.cluster.zone_tells("InSync", "True", "InSync").await,
        "view internal of core: core holds what this cluster wants; view external of dmz: dmz holds what this cluster wants"
    );
    let served = two.cluster.zone_tells("Delegated", "True", "Delegated").await;
    assert!(served.contains("view internal of core: every name server of example.com refers"), "{served}");
    assert!(served.contains("view external of dmz: every name server of example.com refers"), "{served}");
    let servers = two.cluster.zone()["status"]["dnsServers"].clone();
    let own = ["192.0.2.53", OUTER].map(|address| json!({"name": EU_NS, "address": address}));
    assert_eq!(servers, json!(own));
    let mut log = two.log();
    log.sort();
    assert_eq!(log, ["core internal Create Applied", "dmz external Create Applied"]);
    let metrics = running.metrics();
    for provider in ["core", "dmz"] {
        let series = format!("provider=\"{provider}\",action=\"create\",result=\"Applied\"");
        let known = metrics.to_lowercase().contains(&series.to_lowercase());
        assert!(known, "{metrics}");
    }
    two.cluster.settle().await;
    pass(900).await;
    assert_eq!(two.cluster.writes().len(), 0, "rest costs nothing");
}

#[tokio::test(start_paused = true)]
async fn a_locked_place_is_told_and_the_other_one_goes_on() {
    let two = TwoPlaces::new();
    put(&two.inner, &[(US_NS, "198.51.100.53")], &[Obstacle::Locked { by: Some("ddi".into()) }]);
    let _running = two.run();
    let message = two.cluster.zone_tells("InSync", "False", "Locked").await;
    assert!(message.starts_with("view internal of core: "), "{message}");
    assert!(message.contains("; view external of dmz: dmz holds what this cluster wants"), "{message}");
    assert_eq!(held(&two.outer).await, [format!("{EU_NS} {OUTER}")]);
    assert_eq!(two.inner.writes(), []);
    put(&two.inner, &[(US_NS, "198.51.100.53")], &[]);
    // A lock is looked at with the period.
    pass(300).await;
    two.cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(held(&two.inner).await, [format!("{EU_NS} 192.0.2.53"), format!("{US_NS} 198.51.100.53")]);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_fails_is_named_and_heals_by_itself() {
    let two = TwoPlaces::new();
    for _ in 0..4 {
        two.outer.fail_next(Operation::Observe, unavailable());
    }
    let _running = two.run();
    let message = two.cluster.zone_tells("InSync", "False", "ProviderUnavailable").await;
    assert!(message.starts_with("view external of dmz: the grid does not answer; "), "{message}");
    two.cluster.zone_tells("InSync", "True", "InSync").await;
}

/// A provider that never answers.
struct Hangs(MemoryProvider);

#[async_trait]
impl Manners for Hangs {
    fn store(&self) -> &MemoryProvider {
        &self.0
    }
    async fn observe(&self, _: &Scope) -> Result<Presence, ProviderError> {
        pending().await
    }
    async fn apply(&self, _: &ApprovedChange) -> Result<Receipt, ProviderError> {
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_hangs_delays_neither_the_other_one_nor_other_zones() {
    let mut two = TwoPlaces::new();
    // More zones at the grid that hangs than there are turns anywhere.
    let stuck: String = (0..20)
        .map(|number| zone(&format!("z{number:02}.example.com"), "{provider: dmz, edgeDnsServers: []}"))
        .collect();
    let places = "{provider: dmz, view: external, edgeDnsServers: []}, {provider: core, view: internal}";
    let keys = format!("{GRIDS}zones:\n{stuck}{}", zone(ZONE, places));
    two.cluster = Cluster::alone().with_file(&keys);
    let hangs: Arc<dyn Provider> = StandIn::new(Hangs(MemoryProvider::new().named("dmz")));
    let start = tokio::time::Instant::now();
    let providers = Providers::plain(None)
        .with_view(view("dmz", "external"), Arc::clone(&hangs))
        .with_view(view("dmz", "default"), hangs)
        .with_view(view("core", "internal"), Arc::clone(&two.inner) as _);
    let running = two.cluster.run_at(providers);
    eventually("the other place has it", || (two.inner.writes().len() == 1).then_some(())).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    let message = two.cluster.zone_tells("InSync", "Unknown", "NotAsked").await;
    assert!(message.starts_with("view external of dmz: dmz has not answered yet; "), "{message}");
    // A new address is published there at once too.
    two.cluster.api.apply_object(crate::objects::dns_service(&["192.0.2.54"])).unwrap();
    let start = tokio::time::Instant::now();
    eventually("it follows", || (two.inner.writes().len() == 2).then_some(())).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    running.stop().await;
}

/// A provider that takes a write and dies before it answers.
struct Mute(MemoryProvider);

#[async_trait]
impl Manners for Mute {
    fn store(&self) -> &MemoryProvider {
        &self.0
    }
    async fn apply(&self, _: &ApprovedChange) -> Result<Receipt, ProviderError> {
        pending().await
    }
    fn longest_aftermath(&self) -> Duration {
        Duration::from_secs(20)
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_settles_an_open_change_only_where_it_was_made() {
    let two = TwoPlaces::new();
    let mute: Arc<dyn Provider> = StandIn::new(Mute(MemoryProvider::new().named("dmz")));
    let running = two.run_with(Arc::clone(&two.inner) as _, Arc::clone(&mute));
    eventually("both intents are there", || (two.log().len() == 2).then_some(())).await;
    eventually("one is over", || two.log().contains(&"core internal Create Applied".into()).then_some(()))
        .await;
    running.kill().await;
    // Meanwhile somebody takes the internal entry away: it is written again at once, whatever is open outside.
    two.inner.put(&name(ZONE), Presence::Absent);
    let _running = two.run_with(Arc::clone(&two.inner) as _, mute);
    let message = two.cluster.zone_tells("InSync", "False", "OutcomeUnknown").await;
    assert!(
        message.starts_with("view external of dmz: it is not known whether the last change"),
        "{message}"
    );
    let mut log = two.log();
    log.sort();
    let applied = "core internal Create Applied";
    assert_eq!(log, [applied, applied, "dmz external Create -"]);
    pass(30).await;
    // It was never made there, and the attempt after that is open again.
    let mut log = two.log();
    log.sort();
    assert_eq!(log, [applied, applied, "dmz external Create -", "dmz external Create NotApplied"]);
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_goes_is_withdrawn_from_every_place_before_its_object_goes() {
    let two = TwoPlaces::new();
    put(&two.inner, &[(US_NS, "198.51.100.53")], &[]);
    let _running = two.run();
    two.cluster.zone_tells("InSync", "True", "InSync").await;
    for _ in 0..3 {
        two.outer.fail_next(Operation::Observe, unavailable());
    }
    two.finalizes();
    let message = two.cluster.zone_tells("InSync", "False", "ProviderUnavailable").await;
    assert!(message.starts_with("view external of dmz: the grid does not answer"), "{message}");
    assert_eq!(held(&two.inner).await, [format!("{US_NS} 198.51.100.53")], "one is done already");
    eventually("the object is gone", || two.cluster.zone().is_null().then_some(())).await;
    assert_eq!(held(&two.outer).await, [""; 0]);
    assert_eq!(held(&two.inner).await, [format!("{US_NS} 198.51.100.53")]);
}

#[tokio::test(start_paused = true)]
async fn each_place_is_proved_through_resolvers_that_see_it() {
    let two = TwoPlaces::new();
    two.cluster.dns.answer(OUTER_RESOLVER, EU_NS, &["192.0.2.53"]);
    let _running = two.run();
    let message = two.cluster.zone_tells("Delegated", "False", "GlueNotServed").await;
    assert!(message.starts_with("view external of dmz: "), "{message}");
    assert!(message.contains(&format!("resolves to 192.0.2.53 and not to {OUTER}")), "{message}");
    assert!(message.contains("; view internal of core: every name server"), "{message}");
    two.cluster.dns.answer(OUTER_RESOLVER, EU_NS, &[OUTER]);
    two.cluster.zone_tells("Delegated", "True", "Delegated").await;
}

#[tokio::test(start_paused = true)]
async fn a_place_that_nobody_sees_is_not_proved_and_says_so() {
    let two = TwoPlaces::seen_outside_through("[]");
    let _running = two.run();
    let message = two.cluster.zone_tells("Delegated", "True", "Delegated").await;
    assert!(message.ends_with("; view external of dmz: nobody looks whether the delegation is served there, because its edgeDnsServers is empty"), "{message}");
    two.cluster.zone_tells("Ready", "True", "Ready").await;
    assert_eq!(two.cluster.dns.asked(OUTER_RESOLVER), 0);
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_only_an_object_names_is_published_nowhere_and_says_so() {
    let two = TwoPlaces::new();
    let object = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "apps"},
        "spec": {"loadBalancedZone": "apps.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30, "doFinalize": true},
    });
    two.cluster.api.apply_object(object).unwrap();
    let _running = two.run();
    let apps = || two.cluster.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "apps").unwrap_or_default();
    let message = eventually("it says so", || told(&apps(), "InSync", "False", "PublishedNowhere")).await;
    assert!(message.contains("apps.example.com is published nowhere"), "{message}");
    two.cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "apps").unwrap();
    eventually("it may go", || apps().is_null().then_some(())).await;
    let events = two.cluster.events("ZoneDelegation", "apps");
    assert!(events.iter().any(|(reason, _)| reason == "DelegationLeft"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_in_either_place_is_a_member_and_leaves_when_it_is_gone_from_both() {
    let two = TwoPlaces::new();
    put(&two.outer, &[(US_NS, "198.51.100.53")], &[]);
    let _running = two.run();
    let told = |reason: &str| {
        let events = two.cluster.events("ZoneDelegation", "cloud-example-com");
        events.iter().any(|(told, _)| told == reason)
    };
    eventually("it is found", || told("PeerFound").then_some(())).await;
    // The place that showed it cannot be read for a quarter of an hour, and the other sources are without it.
    for _ in 0..20 {
        two.outer.fail_next(Operation::Observe, unavailable());
    }
    pass(800).await;
    assert!(!told("PeerLeft"));
    put(&two.outer, &[(EU_NS, OUTER)], &[]);
    pass(1200).await;
    assert!(told("PeerLeft"));
}
