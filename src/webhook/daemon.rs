//! The whole process: two listeners, and a calm end.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures::FutureExt;
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
use super::server::{Server, room};
use super::settings::WebhookSettings;
use crate::audit::ChangeLog;
use crate::daemon::Clock;
use crate::health::{Pages, Progress, Readiness};

/// What our claims begin with, in the place of a fleet: no zone of a fleet is called like this.
const FLEET: &str = "webhook";
/// How often the pages are told that the process lives.
const TICK: Duration = Duration::from_secs(5);
/// Requests that are worked on at the stop have this time to end. Half a request is never over by itself. With
/// [`LAST_ENTRIES`] and the log-out it is less than the 30 seconds after which a cluster kills.
const LAST_REQUESTS: Duration = Duration::from_secs(20);
/// After that, a change at the grid has this time to get its outcome in the log.
const LAST_ENTRIES: Duration = Duration::from_secs(5);

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
            room: room(settings.max_endpoints),
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
        let stop = stop.shared();
        let told = stop.clone().map(move |()| readiness.set_not_ready("requests", "stopping"));
        let requests = async {
            if let Err(error) = axum::serve(listener, self.router()).with_graceful_shutdown(told).await {
                tracing::error!(%error, "Requests are not taken any more.");
            }
            self.desk.finish().await;
        };
        if !is_over_in_time(requests, stop).await {
            tracing::warn!("A request is cut off by the stop.");
        }
        self.desk.books.close(LAST_ENTRIES).await;
        if let Err(error) = self.desk.sets.close().await {
            tracing::warn!(%error, "The session at the grid was not ended.");
        }
        ticks.abort();
        shown.abort();
    }
}

/// Whether the requests end by themselves, [`LAST_REQUESTS`] after the stop at the latest.
async fn is_over_in_time(requests: impl Future<Output = ()>, stop: impl Future<Output = ()>) -> bool {
    let over = async {
        stop.await;
        tokio::time::sleep(LAST_REQUESTS).await;
    };
    tokio::select! {
        () = requests => true,
        () = over => false,
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::time::{Instant, sleep};

    use super::*;

    /// Such as one of which half a header came, and then nothing.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_never_ends_does_not_hold_up_the_stop() {
        let began = Instant::now();
        assert!(is_over_in_time(sleep(LAST_REQUESTS / 2), ready(())).await);
        assert!(!is_over_in_time(pending(), ready(())).await);
        assert_eq!(began.elapsed(), LAST_REQUESTS * 3 / 2);
        assert!(
            is_over_in_time(sleep(LAST_REQUESTS * 2), pending()).await,
            "without a stop nothing is cut off"
        );
    }
}
