//! Puts the controller together: settings and a client in, a running daemon out.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use anyhow::Context as _;
use gslb_core::changelog::Who;
use gslb_core::name::GeoTag;
use gslb_provider_infoblox::install_crypto_provider;
use jiff::Timestamp;
use kube::Client;
use prometheus_client::registry::Registry as MetricsRegistry;
use tokio::sync::mpsc;

use crate::audit::{ChangeLog, Shipper, read_seal_key};
use crate::config::Settings;
use crate::controller::Provision;
use crate::controller::announce::Announcer;
use crate::controller::cache::Cache;
use crate::controller::context::Context;
use crate::controller::registry::Registry;
use crate::controller::run::{Start, run as control};
use crate::controller::slices::Slices;
use crate::controller::write::Writer;
use crate::health::{self, Pages, Progress, Readiness};
use crate::metrics::Metrics;
use crate::peer::ask::PeerQuestions;
use crate::peer::book::Book;
use crate::peer::glue::Glue;
use crate::provision;
use crate::question::{Client as Questions, Network};

/// How often a peer's known address is looked up again at most (k8gb: its ZoneDelegation period, up to 300 s).
const GLUE_PERIOD: std::time::Duration = std::time::Duration::from_secs(30);

/// Runs until `stop` completes.
///
/// # Errors
/// The daemon could not start.
pub(crate) async fn run(
    settings: Settings,
    client: Client,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    install_crypto_provider();
    let settings = Arc::new(settings);
    let mut registry = MetricsRegistry::default();
    let metrics = Metrics::new(&mut registry, &settings.namespace);
    let (progress, readiness) = (Progress::new(), Readiness::waiting_for(["inputs"]));
    let listener = health::bind(&settings.metrics_address).await?;
    let pages =
        Pages { registry: Arc::new(registry), progress: progress.clone(), readiness: readiness.clone() };
    let pages = tokio::spawn(async move { axum::serve(listener, pages.router()).await });
    let provider = provision::provider(&settings, &client, &metrics)?;
    let provider: Option<Provision> = match provider {
        Some(provider) => Some((provider, Arc::new(change_log(&settings, &client).await?))),
        None => None,
    };
    let (changed, changes) = mpsc::unbounded_channel();
    let context = Arc::new(context(Arc::clone(&settings), client, metrics, changed));
    let who = who(&settings);
    let questions = Arc::clone(&context.questions);
    let start = Start { context, changes, questions, provider, who, progress, readiness };
    tracing::info!(cluster = %settings.geo_tag, provider = settings.provider.name(), "Started.");
    control(start, stop).await;
    pages.abort();
    tracing::info!("Stopped.");
    Ok(())
}

fn context(
    settings: Arc<Settings>,
    client: Client,
    metrics: Metrics,
    changed: mpsc::UnboundedSender<gslb_core::name::DomainName>,
) -> Context {
    let members: BTreeSet<GeoTag> = settings.static_peers();
    let peers = members.iter().filter(|tag| **tag != settings.geo_tag).cloned();
    let book = Arc::new(Book::new(peers, changed, metrics.clone()));
    let resolvers: Arc<[_]> = settings.edge_dns_servers.clone().into();
    let network = Network::from_source(settings.dns_source_address);
    let questions = Arc::new(PeerQuestions::new(Questions::new(network, resolvers), settings.peer_ports()));
    let glue_period = settings.periods.zone_delegation.map_or(GLUE_PERIOD, |period| period.min(GLUE_PERIOD));
    Context {
        announcer: Announcer::new(client.clone(), settings.pod_name.clone()),
        client,
        ingresses: Cache::new(),
        services: Cache::new(),
        slices: Slices::new(),
        endpoints: Cache::new(),
        zones: Cache::new(),
        registry: Registry::default(),
        book,
        glue: Glue::new(glue_period),
        questions,
        writer: Writer::default(),
        addresses: std::sync::Mutex::default(),
        members: members.into_iter().collect(),
        metrics,
        settings,
    }
}

/// Opens the log before anything may be changed at a provider.
async fn change_log(settings: &Settings, client: &Client) -> anyhow::Result<ChangeLog> {
    let key = settings.change_log.hmac_key_file.as_deref().map(read_seal_key).transpose()?;
    let mut shipper = Shipper::to_stdout();
    if let Some(path) = &settings.change_log.file {
        shipper = shipper
            .and_to_file(path)
            .with_context(|| format!("CHANGE_LOG_FILE {} cannot be opened", path.display()))?;
    }
    // Two lives of one pod must differ.
    let writer = format!("{}/{}", settings.pod_name, Timestamp::now());
    ChangeLog::open(client.clone(), &writer, key, shipper).await.context("the change log cannot be opened")
}

fn who(settings: &Settings) -> Who {
    Who {
        actor: "gslb-bridge".to_owned(),
        cluster: settings.geo_tag.to_string(),
        pod: settings.pod_name.clone(),
    }
}
