//! A webhook in memory and a provider that talks to it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::{ApprovedChange, Limits};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::plan::{Plan, plan};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_mocks::hook::{Call, Fault, Hook};
use gslb_mocks::wapi::HttpServer;
use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt, Scope};
use gslb_provider_webhook::settings::TxtPrefix;
use gslb_provider_webhook::{CallObserver, Settings, Webhook, WebhookUrl};
use jiff::Timestamp;
use serde_json::json;

pub(crate) const ZONE: &str = "cloud.example.com";
pub(crate) const EU: &str = "gslb-ns-eu-cloud.example.com";
pub(crate) const US: &str = "gslb-ns-us-cloud.example.com";

/// A webhook, its server and a provider.
pub(crate) struct AtHook {
    pub(crate) hook: Hook,
    pub(crate) provider: Webhook,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) server: HttpServer,
}

/// Whether each exchange was a success.
#[derive(Default)]
pub(crate) struct Calls(pub(crate) Mutex<Vec<bool>>);

impl CallObserver for Calls {
    fn on_call(&self, success: bool) {
        self.0.lock().unwrap().push(success);
    }
}

impl AtHook {
    /// The parent zone has a host of somebody else.
    pub(crate) fn new() -> Self {
        Self::with(Duration::from_secs(5))
    }

    pub(crate) fn with(request_timeout: Duration) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let hook = Hook::new();
        hook.put("A www.example.com 300 203.0.113.80");
        let server = hook.serve().unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let calls = Arc::new(Calls::default());
        let settings = settings(&server.url(), &clock, request_timeout);
        let provider = Webhook::new(settings, Arc::clone(&calls) as _).unwrap();
        Self { hook, provider, clock, calls, server }
    }

    /// A second provider at the same webhook: a restarted daemon, or another cluster.
    pub(crate) fn another(&self) -> Webhook {
        let settings = settings(&self.server.url(), &self.clock, Duration::from_secs(5));
        Webhook::new(settings, Arc::new(())).unwrap()
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) async fn observe(&self) -> Result<Presence, ProviderError> {
        self.provider.observe(&scope()).await
    }

    pub(crate) async fn planned(&self, desired: &DesiredDelegation) -> Plan {
        plan(desired, &self.observe().await.unwrap(), &History::default(), Timestamp::UNIX_EPOCH)
    }

    pub(crate) async fn change(&self, desired: &DesiredDelegation) -> ApprovedChange {
        approve(self.planned(desired).await, desired)
    }

    /// Observe, plan, approve, apply.
    pub(crate) async fn pass(&self, desired: &DesiredDelegation) -> Result<Receipt, ProviderError> {
        let change = self.change(desired).await;
        self.provider.apply(&change).await
    }

    pub(crate) fn name_servers(&self) -> Vec<String> {
        self.hook.targets("NS", ZONE).unwrap_or_default()
    }

    /// How often the webhook was asked to write.
    pub(crate) fn applies(&self) -> usize {
        self.hook.requests().into_iter().filter(|call| *call == Call::Apply).count()
    }
}

pub(crate) fn approve(plan: Plan, desired: &DesiredDelegation) -> ApprovedChange {
    let approved = plan.approve(&Limits::for_zones(vec![desired.claimant().clone()])).unwrap();
    approved.changes()[0].clone()
}

fn settings(url: &str, clock: &Arc<AtomicI64>, request_timeout: Duration) -> Settings {
    let clock = Arc::clone(clock);
    Settings {
        url: WebhookUrl::parse(url).unwrap(),
        owner: "fleet".to_owned(),
        adopted_owners: ["old".to_owned()].into(),
        txt_prefix: TxtPrefix::parse("x-").unwrap(),
        ns_prefix: NsPrefix::default(),
        request_timeout,
        clock: Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap()),
    }
}

pub(crate) fn scope() -> Scope {
    Scope::from(claimant("eu").zone())
}

pub(crate) fn claimant(tag: &str) -> Claimant {
    let name = |text: &str| DomainName::parse(text).unwrap();
    let zone = Zone::new(name(ZONE), name("example.com"), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse(tag).unwrap()).unwrap()
}

pub(crate) fn published(tag: &str, addresses: &[&str]) -> DesiredDelegation {
    let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
    DesiredDelegation::published(claimant(tag), addresses, Ttl::DEFAULT).unwrap()
}

pub(crate) fn ours() -> DesiredDelegation {
    published("eu", &["192.0.2.53"])
}

pub(crate) fn withdrawn() -> DesiredDelegation {
    DesiredDelegation::withdrawn(claimant("eu"))
}

#[async_trait]
impl Stage for AtHook {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn another_writer(&self, presence: Presence) {
        let ns = format!("NS {ZONE}");
        match presence.delegation() {
            None => self.hook.remove(&ns),
            Some(found) => {
                let names: Vec<&str> = found.servers.keys().map(DomainName::as_str).collect();
                self.hook.put(&format!("{ns} 30 {}", names.join(" ")));
                for (name, addresses) in &found.servers {
                    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                    self.hook.put(&format!("A {name} 30 {}", addresses.join(" ")));
                }
            }
        }
    }

    async fn break_reads(&self) {
        self.hook.fail(Call::Records, Fault::Status(500, "the zone cannot be read".to_owned()));
    }

    async fn heal(&self) {
        self.hook.heal();
    }

    async fn hide_parent(&self) {
        self.hook.take_only(json!({"include": ["example.org"]}));
    }

    async fn finish(&self) {}
}
