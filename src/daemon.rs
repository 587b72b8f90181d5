//! Puts the controller together: settings and a client in, a running daemon out.
//!
//! [`run`] is the process with its pages; [`control`] is the controller in a [`World`] that the caller makes,
//! down to the clock.

use std::future::Future;
use std::sync::Arc;

use anyhow::Context as _;
use gslb_core::changelog::Who;
use gslb_provider_infoblox::install_crypto_provider;
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry as MetricsRegistry;
use tokio::sync::{mpsc, watch};

use crate::audit::{ChangeLog, Shipper, read_seal_key};
use crate::clock::steady;
use crate::config::{BadConfiguration, ChangeLogSettings, Settings};
use crate::controller::announce::Announcer;
use crate::controller::cache::Cache;
use crate::controller::context::Context;
use crate::controller::gslb::ingress_writes::IngressWrites;
use crate::controller::kinds::Kinds;
use crate::controller::names::Names;
use crate::controller::records::wants::Records;
use crate::controller::registry::Registry;
use crate::controller::run::{Start, run as follow};
use crate::controller::slices::Slices;
use crate::controller::statuses::Statuses;
use crate::controller::write::Writer;
use crate::health::{self, Pages, Progress, Readiness};
use crate::metrics::Metrics;
use crate::peer::ask::PeerQuestions;
use crate::peer::book::Book;
use crate::peer::fleet::Fleet;
use crate::peer::glue::Glue;
use crate::peer::memory::Memory;
use crate::providers::Providers;
use crate::provision;
use crate::question::{Client as Questions, Network};

/// How often a peer's known address is looked up again at most (k8gb: its ZoneDelegation period, up to 300 s).
const GLUE_PERIOD: std::time::Duration = std::time::Duration::from_secs(30);

pub use crate::clock::Clock;

/// What the controller meets the world with.
pub struct World {
    /// The cluster.
    pub client: Client,
    /// Asks peers and resolvers.
    pub questions: Questions,
    /// Where delegations are published.
    pub providers: Providers,
    /// Where the lines of the change log go besides the cluster.
    pub shipper: Shipper,
    /// The wall clock, which goes as fast as Tokio's. It may be set, forward or back.
    pub clock: Clock,
}

/// What tells how the controller is.
struct Vitals {
    metrics: Metrics,
    progress: Progress,
    readiness: Readiness,
}

impl Vitals {
    fn new(registry: &mut MetricsRegistry, settings: &Settings) -> Self {
        Self {
            metrics: Metrics::new(registry, &settings.namespace, &settings.geo_tag),
            progress: Progress::new(),
            readiness: Readiness::waiting_for(["inputs"]),
        }
    }
}

/// Runs the controller and its pages until `stop` completes.
///
/// # Errors
/// The daemon could not start.
pub(crate) async fn run(
    settings: Settings,
    client: Client,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    install_crypto_provider();
    let mut registry = MetricsRegistry::default();
    let vitals = Vitals::new(&mut registry, &settings);
    let listener = health::bind(&settings.metrics_address)
        .await
        .context(BadConfiguration("METRICS_ADDRESS (metricsAddress in a file) is wrong"))?;
    let (progress, readiness) = (vitals.progress.clone(), vitals.readiness.clone());
    let stop = {
        let readiness = readiness.clone();
        async move {
            stop.await;
            readiness.set_not_ready("process", "stopping");
        }
    };
    let pages = Pages { registry: Arc::new(registry), progress, readiness };
    let pages = tokio::spawn(async move { axum::serve(listener, pages.router()).await });
    let resolvers: Arc<[_]> = settings.edge_dns_servers.clone().into();
    let world = World {
        providers: provision::providers(&settings, &client, &vitals.metrics)
            .context(BadConfiguration("the provider cannot be set up"))?,
        client,
        questions: Questions::new(Network::from_source(settings.dns_source_address), resolvers),
        shipper: shipper(&settings.change_log)?,
        clock: Arc::new(Timestamp::now),
    };
    start(settings, world, vitals, stop).await?;
    pages.abort();
    Ok(())
}

/// Runs the controller in a world of the caller's, without pages, until `stop` completes. Its metrics are in
/// `registry` at once.
///
/// # Errors
/// The controller could not start.
pub fn control<S: Future<Output = ()>>(
    settings: Settings,
    world: World,
    registry: &mut MetricsRegistry,
    stop: S,
) -> impl Future<Output = anyhow::Result<()>> + use<S> {
    let vitals = Vitals::new(registry, &settings);
    start(settings, world, vitals, stop)
}

async fn start(
    settings: Settings,
    world: World,
    vitals: Vitals,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let settings = Arc::new(settings);
    let World { client, questions, providers, shipper, clock: wall } = world;
    let log = change_log(&settings.change_log, &settings.pod_name, &client, shipper, wall())?;
    let log = Arc::new(log);
    let (changed, changes) = mpsc::unbounded_channel();
    let questions = Arc::new(PeerQuestions::new(questions, settings.peer_ports()));
    let Vitals { metrics, progress, readiness } = vitals;
    let fleet = Fleet::new(&settings);
    let context = Arc::new(Context {
        announcer: Announcer::new(client.clone(), settings.pod_name.clone()),
        client,
        ingresses: Cache::new(),
        services: Cache::new(),
        slices: Slices::new(),
        kinds: Kinds::default(),
        endpoints: Cache::new(),
        endpoints_missing: watch::Sender::new(false),
        zones: Cache::new(),
        registry: Registry::default(),
        records: Records::default(),
        book: Arc::new(Book::new(settings.geo_tag.clone(), fleet.members(), changed, metrics.clone())),
        memory: Memory::default(),
        fleet,
        glue: Glue::new(
            settings.periods.zone_delegation.map_or(GLUE_PERIOD, |period| period.min(GLUE_PERIOD)),
        ),
        names: Names::default(),
        questions: Arc::clone(&questions),
        writer: Writer::default(),
        ingress_writes: IngressWrites::default(),
        statuses: Statuses::default(),
        addresses: std::sync::Mutex::default(),
        migrations: std::sync::Mutex::default(),
        metrics,
        clock: steady(Arc::clone(&wall)),
        wall,
        settings: Arc::clone(&settings),
    });
    let who = who(&settings);
    let start = Start { context, changes, questions, providers, log, who, progress, readiness };
    tracing::info!(cluster = %settings.geo_tag, provider = settings.provider.name(), "Started.");
    follow(start, stop).await?;
    tracing::info!("Stopped.");
    Ok(())
}

pub(crate) fn shipper(settings: &ChangeLogSettings) -> anyhow::Result<Shipper> {
    let shipper = Shipper::to_stdout();
    let Some(path) = &settings.file else { return Ok(shipper) };
    let shipper = shipper.and_to_file(path).with_context(|| path.display().to_string());
    shipper.context(BadConfiguration("CHANGE_LOG_FILE (changeLog.file in a file) cannot be opened"))
}

/// The log is read when it is first needed: while it cannot be, nothing is changed at a provider, and everything
/// else goes on.
pub(crate) fn change_log(
    settings: &ChangeLogSettings,
    pod_name: &str,
    client: &Client,
    shipper: Shipper,
    now: Timestamp,
) -> anyhow::Result<ChangeLog> {
    let key = settings.hmac_key_file.as_deref().map(read_seal_key).transpose();
    let key =
        key.context(BadConfiguration("CHANGE_LOG_HMAC_KEY_FILE (changeLog.hmacKeyFile in a file) is wrong"))?;
    // Two lives of one pod must differ.
    let writer = format!("{pod_name}/{now}");
    Ok(ChangeLog::new(client.clone(), &writer, key, shipper))
}

fn who(settings: &Settings) -> Who {
    Who {
        actor: "gslb-bridge".to_owned(),
        cluster: settings.geo_tag.to_string(),
        pod: settings.pod_name.clone(),
    }
}
