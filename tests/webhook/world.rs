//! A grid, an API server for the change log, and a webhook between them.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use gslb_bridge::audit::{ChangeLog, Shipper};
use gslb_bridge::config::RawConfig;
use gslb_bridge::webhook::daemon::{Numbers, Webhook, World};
use gslb_bridge::webhook::settings::WebhookSettings;
use gslb_crds::ProviderChange;
use gslb_mocks::kube::ApiServer;
use gslb_mocks::wapi::{Grid, GridBuilder, HttpServer, SimulatorTls};
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use gslb_provider_webhook::protocol::{Changes, Endpoint, MEDIA_TYPE};
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry;
use tower::ServiceExt;

pub(crate) const USER: &str = "svc-dns";

/// All of it.
pub(crate) struct Stage {
    pub(crate) grid: Grid,
    pub(crate) api: ApiServer,
    pub(crate) router: Router,
    clock: Arc<AtomicI64>,
    settings: WebhookSettings,
    server: HttpServer,
    tls: SimulatorTls,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) media: String,
    pub(crate) body: String,
}

pub(crate) fn builder() -> GridBuilder {
    Grid::builder().username(USER).password("secret").zone_auth("example.com", "default")
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(builder(), &[])
    }

    pub(crate) fn with(builder: GridBuilder, settings: &[(&str, &str)]) -> Self {
        install_crypto_provider();
        let grid = builder.build().unwrap();
        let tls = SimulatorTls::generate(&[]).unwrap();
        let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let settings = resolve(settings);
        let router = webhook(&settings, &api, &server, &tls, &clock).router();
        Self { grid, api, router, clock, settings, server, tls }
    }

    /// The same after a crash: nothing is remembered but what is stored.
    pub(crate) fn restarted(self) -> Self {
        self.clock.fetch_add(1, Ordering::SeqCst);
        let router = webhook(&self.settings, &self.api, &self.server, &self.tls, &self.clock).router();
        Self { router, ..self }
    }

    /// Another webhook at the same grid.
    pub(crate) fn owned_by(self, owner: &str) -> Self {
        let settings = resolve(&[("WEBHOOK_OWNER", owner)]);
        let router = webhook(&settings, &self.api, &self.server, &self.tls, &self.clock).router();
        Self { router, settings, ..self }
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let media = response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answer { status, media: media.unwrap_or_default(), body: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder().method(method).uri(path).header("accept", MEDIA_TYPE);
        self.ask(request.header("content-type", MEDIA_TYPE).body(body.into()).unwrap()).await
    }

    pub(crate) async fn list(&self) -> Vec<Endpoint> {
        let answer = self.send("GET", "/records", Body::empty()).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Every set in words.
    pub(crate) async fn shown(&self) -> Vec<String> {
        let shown = |endpoint: Endpoint| {
            format!("{} {} {}", endpoint.title(), endpoint.record_ttl, endpoint.targets.join(" "))
        };
        self.list().await.into_iter().map(shown).collect()
    }

    pub(crate) async fn apply(&self, changes: &Changes) -> Answer {
        self.send("POST", "/records", serde_json::to_vec(changes).unwrap()).await
    }

    /// Requests that changed something at the grid.
    pub(crate) fn writes(&self) -> usize {
        self.grid.journal().effective_writes().len()
    }

    pub(crate) fn log(&self) -> Vec<ProviderChange> {
        let objects = self.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
        objects.into_iter().map(|object| serde_json::from_value(object).unwrap()).collect()
    }

    /// Action, object and outcome of every entry.
    pub(crate) fn entries(&self) -> Vec<String> {
        let entry = |change: ProviderChange| {
            let intent = &change.spec.intent.change;
            let outcome = change.status.map_or("Unknown", |status| status.outcome.verdict.result.as_str());
            format!("{} {} {outcome}", intent.action.as_str(), intent.object.name)
        };
        self.log().into_iter().map(entry).collect()
    }
}

fn resolve(more: &[(&str, &str)]) -> WebhookSettings {
    let given = [
        ("WEBHOOK_DOMAINS", "example.com"),
        ("WEBHOOK_OWNER", "eu"),
        ("INFOBLOX_GRID_HOST", "127.0.0.1"),
        ("INFOBLOX_WAPI_USERNAME", USER),
        ("INFOBLOX_WAPI_PASSWORD", "secret"),
    ];
    let find = |name: &str| {
        let mut pairs = more.iter().chain(&given);
        pairs.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    WebhookSettings::resolve(&RawConfig::read(find)).unwrap()
}

fn webhook(
    settings: &WebhookSettings,
    api: &ApiServer,
    server: &HttpServer,
    tls: &SimulatorTls,
    clock: &Arc<AtomicI64>,
) -> Webhook {
    let time = {
        let clock = Arc::clone(clock);
        Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap())
    };
    let grid = Settings {
        grids: vec![GridAddress::new("127.0.0.1", server.address().port(), "2.12.3").unwrap()],
        client_certificate: None,
        view: "default".to_owned(),
        credentials: Credentials::Values { username: USER.to_owned(), password: "secret".into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: false,
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::clone(&time) as _,
    };
    let client = Client::new(api.router(), "default");
    let writer = format!("webhook-0/{}", time());
    let numbers = Numbers::new(&mut Registry::default());
    let provider = Infoblox::new(grid, Arc::new(ForgetfulMemory::default()), numbers.of_grid("infoblox"));
    let log = ChangeLog::new(client.clone(), &writer, None, Shipper::none());
    let world = World { client, sets: Arc::new(provider.unwrap()), log, clock: time };
    Webhook::new(settings, world, numbers)
}

pub(crate) fn endpoint(name: &str, record_type: &str, ttl: i64, targets: &[&str]) -> Endpoint {
    Endpoint {
        dns_name: format!("{name}.example.com"),
        record_type: record_type.to_owned(),
        record_ttl: ttl,
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        ..Endpoint::default()
    }
}

pub(crate) fn create(endpoints: &[Endpoint]) -> Changes {
    Changes { create: endpoints.to_vec(), ..Changes::default() }
}

pub(crate) fn delete(endpoints: &[Endpoint]) -> Changes {
    Changes { delete: endpoints.to_vec(), ..Changes::default() }
}

pub(crate) fn update(old: Endpoint, new: Endpoint) -> Changes {
    Changes { update_old: vec![old], update_new: vec![new], ..Changes::default() }
}
