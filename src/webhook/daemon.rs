//! The whole process: two listeners, and a calm end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use gslb_core::changelog::Who;
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_core::records::RecordClaim;
use gslb_provider_contract::{Provider, RecordSets};
use gslb_provider_infoblox::CallObserver;
use gslb_provider_webhook::protocol::DomainFilter;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;

use super::books::{Books, Opening};
use super::desk::{Desk, Rules};
use super::metrics::{GridCalls, Metrics};
use super::server::Server;
use super::settings::WebhookSettings;
use crate::audit::ChangeLog;
use crate::daemon::Clock;
use crate::health::{Pages, Progress, Readiness};

/// What our claims begin with, in the place of a fleet: no zone of a fleet is called like this.
const FLEET: &str = "webhook";
/// How often the pages are told that the process lives.
const TICK: Duration = Duration::from_secs(5);
/// What is under way at the stop may take as long as one request to a grid.
const LAST_CHANGES: Duration = Duration::from_secs(25);

/// What the webhook meets the world with.
pub struct World {
    /// The cluster, for the change log.
    pub client: Client,
    /// Where is written.
    pub sets: Arc<dyn RecordSets>,
    /// The change log.
    pub log: ChangeLog,
    /// The time.
    pub clock: Clock,
}

/// A webhook that waits for requests.
pub struct Webhook {
    desk: Arc<Desk>,
    server: Server,
}

/// Its numbers, which the grid's client counts with.
#[derive(Clone)]
pub struct Numbers(Metrics);

impl Numbers {
    /// Registers everything.
    pub fn new(registry: &mut Registry) -> Self {
        Self(Metrics::new(registry))
    }

    /// Counts the requests to the grid of this name.
    pub fn of_grid(&self, provider: &str) -> Arc<dyn CallObserver> {
        Arc::new(GridCalls { metrics: self.0.clone(), provider: provider.to_owned() })
    }
}

impl Webhook {
    /// Puts it together; nothing is asked yet.
    pub fn new(settings: &WebhookSettings, world: World, numbers: Numbers) -> Self {
        let World { client, sets, log, clock } = world;
        let Numbers(metrics) = numbers;
        let provider: Arc<dyn Provider> = Arc::clone(&sets) as _;
        let books = Books::open(Opening {
            client,
            log: log.named(settings.log_name.clone()),
            log_name: settings.log_name.clone(),
            outlet: Outlet::plain(&settings.provider, Some(&settings.grid.view)),
            provider,
            metrics: metrics.clone(),
            clock,
            who: Who {
                actor: "gslb-bridge webhook".to_owned(),
                cluster: settings.owner.to_string(),
                pod: settings.pod_name.clone(),
            },
            domains: settings.domains.clone(),
        });
        let rules = Rules {
            domains: settings.domains.clone(),
            claim: RecordClaim {
                fleet: DomainName::parse(FLEET).expect("a label is a name"),
                tag: settings.owner.clone(),
            },
            adoption: settings.adoption.clone(),
            max_deleted_percent: settings.max_deleted_percent,
        };
        let memory = tokio::sync::Mutex::default();
        let desk = Arc::new(Desk { sets, books, rules, metrics: metrics.clone(), memory });
        let server = Server {
            desk: Arc::clone(&desk),
            filter: DomainFilter::of(settings.domains.iter().map(ToString::to_string)),
            max_endpoints: settings.max_endpoints,
            deadline: settings.deadline,
            metrics,
            repeats: Arc::default(),
        };
        Self { desk, server }
    }

    /// What external-dns asks.
    pub fn router(&self) -> Router {
        self.server.clone().router()
    }

    /// Serves both until `stop`. Then no request is taken any more, and what is under way is finished.
    pub async fn serve(
        self,
        listener: TcpListener,
        pages: TcpListener,
        registry: Registry,
        stop: impl Future<Output = ()> + Send + 'static,
    ) {
        let (progress, readiness) = (Progress::new(), Readiness::waiting_for(["requests"]));
        let shown =
            Pages { registry: Arc::new(registry), progress: progress.clone(), readiness: readiness.clone() };
        let shown = tokio::spawn(async move { axum::serve(pages, shown.router()).await });
        let ticks = tokio::spawn(async move {
            loop {
                progress.tick();
                tokio::time::sleep(TICK).await;
            }
        });
        readiness.set_ready("requests");
        let told = readiness.clone();
        let stop = async move {
            stop.await;
            told.set_not_ready("requests", "stopping");
        };
        if let Err(error) = axum::serve(listener, self.router()).with_graceful_shutdown(stop).await {
            tracing::error!(%error, "Requests are not taken any more.");
        }
        self.desk.books.close(LAST_CHANGES).await;
        if let Err(error) = self.desk.sets.close().await {
            tracing::warn!(%error, "The session at the grid was not ended.");
        }
        ticks.abort();
        shown.abort();
    }
}
