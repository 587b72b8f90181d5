//! A simulated grid and a provider that talks to it.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::{ApprovedChange, ApprovedPlan, Limits};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::plan::{Plan, plan};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_mocks::wapi::{Delegation, Entry, Fault, Grid, GridBuilder, HttpServer, SimulatorTls};
use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt, Scope};
use gslb_provider_infoblox::{
    CallObserver, Credentials, ForgetfulMemory, GridAddress, Infoblox, LoginMemory, Operation, Settings,
    install_crypto_provider,
};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const ZONE: &str = "cloud.example.com";
pub(crate) const EU: &str = "gslb-ns-eu-cloud.example.com";
pub(crate) const US: &str = "gslb-ns-us-cloud.example.com";
pub(crate) const USER: &str = "svc-dns";
/// Has everything that URLs, Basic and shells trip over.
pub(crate) const PASSWORD: &str = "p:a@s#s%&ü";

/// A grid, its server and a provider.
pub(crate) struct OnGrid {
    pub(crate) grid: Grid,
    pub(crate) provider: Infoblox,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) calls: Arc<Calls>,
    server: HttpServer,
    tls: SimulatorTls,
}

/// Every exchange that was measured.
#[derive(Default)]
pub(crate) struct Calls(pub(crate) Mutex<Vec<(Operation, bool)>>);

impl CallObserver for Calls {
    fn on_call(&self, operation: Operation, success: bool, _: Duration) {
        self.0.lock().unwrap().push((operation, success));
    }
}

/// What a test may want otherwise.
pub(crate) struct Wanted {
    pub(crate) view: &'static str,
    pub(crate) version: &'static str,
    pub(crate) credentials: Credentials,
    pub(crate) memory: Arc<dyn LoginMemory>,
    pub(crate) timeout: Duration,
    pub(crate) restarts: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            view: "default",
            version: "v2.12.3",
            credentials: credentials(PASSWORD),
            memory: Arc::new(ForgetfulMemory::default()),
            timeout: Duration::from_secs(5),
            restarts: false,
        }
    }
}

pub(crate) fn credentials(password: &str) -> Credentials {
    Credentials::Values { username: USER.to_owned(), password: password.into() }
}

pub(crate) fn builder() -> GridBuilder {
    Grid::builder().username(USER).password(PASSWORD).zone_auth("example.com", "default")
}

impl OnGrid {
    pub(crate) fn new() -> Self {
        Self::with(builder(), Wanted::default())
    }

    pub(crate) fn with(builder: GridBuilder, wanted: Wanted) -> Self {
        install_crypto_provider();
        let grid = builder.build().unwrap();
        let tls = SimulatorTls::generate(&[]).unwrap();
        let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let calls = Arc::new(Calls::default());
        let settings = settings(&server, &tls, &clock, &wanted);
        let provider = Infoblox::new(settings, wanted.memory, Arc::clone(&calls) as _).unwrap();
        Self { grid, provider, clock, calls, server, tls }
    }

    /// A second provider at the same grid: a restarted daemon, or another cluster.
    pub(crate) fn another(&self, wanted: Wanted) -> Infoblox {
        let settings = self.settings(&wanted);
        Infoblox::new(settings, wanted.memory, Arc::new(())).unwrap()
    }

    pub(crate) fn settings(&self, wanted: &Wanted) -> Settings {
        settings(&self.server, &self.tls, &self.clock, wanted)
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    /// An administrator makes a delegation.
    pub(crate) fn add_zone(&self, servers: &[(&str, &str)], more: Value) {
        let entries: Vec<_> =
            servers.iter().map(|(name, address)| json!({"name": name, "address": address})).collect();
        let mut zone = json!({"fqdn": ZONE, "view": "default", "delegate_to": entries,
            "delegated_ttl": 30, "use_delegated_ttl": true});
        zone.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.grid.edit(|admin| admin.create("zone_delegated", zone)).unwrap();
    }

    /// An administrator changes it.
    pub(crate) fn edit_zone(&self, fields: Value) {
        self.grid.edit(|admin| {
            let reference = admin.zone_reference(ZONE, "default").unwrap();
            admin.update(&reference, fields).unwrap();
        });
    }

    pub(crate) fn delete_zone(&self) {
        self.grid.edit(|admin| {
            let reference = admin.zone_reference(ZONE, "default").unwrap();
            admin.delete(&reference).unwrap();
        });
    }

    pub(crate) fn zone(&self) -> Option<Delegation> {
        self.grid.delegation(ZONE, "default")
    }

    /// Name and address of every entry, in stored order.
    pub(crate) fn servers(&self) -> Vec<(String, String)> {
        let zone = self.zone().unwrap();
        zone.delegate_to.into_iter().map(|server| (server.name, server.address)).collect()
    }

    pub(crate) async fn observe(&self) -> Result<Presence, ProviderError> {
        self.provider.observe(&scope()).await
    }

    pub(crate) async fn planned(&self, desired: &DesiredDelegation) -> Plan {
        plan(desired, &self.observe().await.unwrap(), &History::default(), Timestamp::UNIX_EPOCH)
    }

    pub(crate) async fn change(&self, desired: &DesiredDelegation) -> ApprovedChange {
        approve(self.planned(desired).await).changes()[0].clone()
    }

    /// Observe, plan, approve, apply.
    pub(crate) async fn pass(&self, desired: &DesiredDelegation) -> Result<Receipt, ProviderError> {
        let change = self.change(desired).await;
        self.provider.apply(&change).await
    }

    /// Methods of all operations that may write, those in batches too.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.operations().into_iter().map(|(method, _)| method).collect()
    }

    /// The last body of that method.
    pub(crate) fn body(&self, method: &str) -> Value {
        let sent = self.operations().into_iter().rev().find(|(sent, _)| sent == method);
        sent.unwrap().1
    }

    /// Method and body of every operation that may write.
    fn operations(&self) -> Vec<(String, Value)> {
        let entries = self.grid.journal().entries().into_iter().filter(Entry::is_write);
        entries
            .flat_map(|entry| {
                let body =
                    entry.body.as_deref().map(|body| serde_json::from_str(body).unwrap()).unwrap_or_default();
                match body {
                    Value::Array(operations) if entry.uri.ends_with("/request") => operations
                        .into_iter()
                        .filter(|operation| operation["method"] != "GET")
                        .map(|operation| {
                            (operation["method"].as_str().unwrap().to_owned(), operation["data"].clone())
                        })
                        .collect(),
                    body => vec![(entry.method, body)],
                }
            })
            .collect()
    }
}

fn settings(server: &HttpServer, tls: &SimulatorTls, clock: &Arc<AtomicI64>, wanted: &Wanted) -> Settings {
    let clock = Arc::clone(clock);
    Settings {
        grids: vec![GridAddress::new("127.0.0.1", server.address().port(), wanted.version).unwrap()],
        client_certificate: None,
        view: wanted.view.to_owned(),
        credentials: wanted.credentials.clone(),
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: wanted.restarts,
        request_timeout: wanted.timeout,
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap()),
    }
}

pub(crate) fn eu() -> Claimant {
    cluster("eu")
}

pub(crate) fn cluster(tag: &str) -> Claimant {
    let name = |text| DomainName::parse(text).unwrap();
    let zone = Zone::new(name(ZONE), name("example.com"), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse(tag).unwrap()).unwrap()
}

pub(crate) fn scope() -> Scope {
    Scope::from(eu().zone())
}

pub(crate) fn wants(addresses: &[&str]) -> DesiredDelegation {
    let addresses: BTreeSet<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    DesiredDelegation::published(eu(), addresses, Ttl::DEFAULT).unwrap()
}

pub(crate) fn withdraws() -> DesiredDelegation {
    DesiredDelegation::withdrawn(eu())
}

pub(crate) fn approve(plan: Plan) -> ApprovedPlan {
    plan.approve(&Limits::for_zones(vec![eu()])).unwrap()
}

#[async_trait]
impl Stage for OnGrid {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn another_writer(&self, presence: Presence) {
        let wanted = presence.delegation().cloned();
        match (wanted, self.zone()) {
            (None, None) => {}
            (None, Some(_)) => self.delete_zone(),
            (Some(wanted), there) => {
                let pairs = wanted
                    .pairs()
                    .into_iter()
                    .filter_map(|(name, a)| Some((name.to_string(), a?.to_string())));
                let pairs: Vec<_> = pairs.collect();
                let entries: Vec<_> = pairs.iter().map(|(name, a)| (name.as_str(), a.as_str())).collect();
                match there {
                    None => self.add_zone(&entries, json!({})),
                    Some(_) => {
                        let entries: Vec<_> =
                            entries.iter().map(|(name, a)| json!({"name": name, "address": a})).collect();
                        self.edit_zone(json!({ "delegate_to": entries }));
                    }
                }
            }
        }
    }

    async fn break_reads(&self) {
        self.grid.faults().inject(Fault::Unavailable.on_method("GET"));
    }

    async fn heal(&self) {
        self.grid.faults().clear();
    }

    async fn hide_parent(&self) {
        if self.zone().is_some() {
            self.delete_zone();
        }
        self.grid.edit(|admin| {
            let reference = admin.zone_reference("example.com", "default").unwrap();
            admin.delete(&reference).unwrap();
        });
    }

    async fn finish(&self) {
        self.provider.close().await.unwrap();
        assert_eq!(self.grid.open_sessions(), 0, "every session is ended");
        assert_eq!(self.grid.bad_logins(), 0);
    }
}
