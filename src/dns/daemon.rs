//! The whole server: sockets, pages, watches, and a calm end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hickory_server::Server;
use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::file;
use super::handler::Handler;
use super::input::Inputs;
use super::metrics::Metrics;
use super::server::{BindError, Listeners};
use super::settings::DnsSettings;
use super::snapshot::{Snapshot, Source};
use super::status::pages;
use super::watch::{Outlets, follow};

/// Answers that are on their way when the sockets close get this time.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// The snapshot file is written within this time, or the older one stays.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A DNS address cannot be used.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The pages cannot be served.
    #[error("cannot serve health and metrics on {address}; choose a free address and port")]
    Pages {
        /// As configured.
        address: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The runtime does not take a socket.
    #[error("cannot start to answer questions")]
    Serve(#[source] io::Error),
}

/// A server that answers already; [`Daemon::run`] makes it follow the cluster.
pub struct Daemon {
    settings: Arc<DnsSettings>,
    addresses: Vec<SocketAddr>,
    pages: TcpListener,
    server: Server<Handler>,
    outlets: Outlets,
    inputs: watch::Receiver<Arc<Inputs>>,
}

impl Daemon {
    /// Binds everything and answers from the snapshot file, or SERVFAIL without one.
    ///
    /// # Errors
    /// An address cannot be used.
    pub async fn start(settings: DnsSettings) -> Result<Self, StartError> {
        let listeners = Listeners::bind(&settings.listen)?;
        let addresses = listeners.addresses();
        let pages = TcpListener::bind(&settings.metrics_address)
            .await
            .map_err(|source| StartError::Pages { address: settings.metrics_address.clone(), source })?;
        let metrics = Metrics::default();
        let snapshot = Arc::new(ArcSwap::from_pointee(first_snapshot(&settings, &metrics)));
        let server = listeners.serve(Arc::clone(&snapshot), metrics.clone()).map_err(StartError::Serve)?;
        let (sender, inputs) = watch::channel(Arc::default());
        let outlets = Outlets { snapshot, inputs: sender, status: Arc::default(), metrics };
        tracing::info!(?addresses, "Answering DNS questions.");
        Ok(Self { settings: Arc::new(settings), addresses, pages, server, outlets, inputs })
    }

    /// Where questions are answered.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where the pages are.
    pub fn pages_address(&self) -> io::Result<SocketAddr> {
        self.pages.local_addr()
    }

    /// Tells what is served whenever that has changed.
    pub fn changes(&self) -> watch::Receiver<Arc<Inputs>> {
        self.inputs.clone()
    }

    /// Follows the cluster until `stop`; then says "not ready" while it answers on for the drain time, or until
    /// `hurry`.
    pub async fn run(self, client: Client, stop: CancellationToken, hurry: CancellationToken) {
        let Self { settings, addresses: _, pages: listener, mut server, outlets, inputs } = self;
        let (status, metrics) = (Arc::clone(&outlets.status), outlets.metrics.clone());
        let done = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let routes = pages(Arc::clone(&status), metrics.clone());
        tasks.spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "The pages have ended.");
            }
        });
        let keeper = settings
            .snapshot_file
            .clone()
            .map(|path| tokio::spawn(file::keep(path, inputs, Arc::clone(&status), metrics, done.clone())));
        tasks.spawn(follow(client, Arc::clone(&settings), outlets, done.clone()));

        stop.cancelled().await;
        status.set_stopping();
        tracing::info!(drain = ?settings.drain, "Stopping: not ready, still answering.");
        tokio::select! {
            () = sleep(settings.drain) => {}
            () = hurry.cancelled() => {}
        }
        done.cancel();
        match timeout(LAST_ANSWERS, server.shutdown_gracefully()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "A socket had ended before."),
            Err(_) => tracing::warn!("Some connections were cut."),
        }
        if let Some(keeper) = keeper
            && timeout(LAST_WRITE, keeper).await.is_err()
        {
            tracing::warn!("The snapshot file was not written in time.");
        }
        tasks.shutdown().await;
    }
}

fn first_snapshot(settings: &DnsSettings, metrics: &Metrics) -> Snapshot {
    let nothing = Snapshot::nothing();
    let Some(path) = &settings.snapshot_file else { return nothing };
    match file::read(path, Timestamp::now()) {
        Ok((inputs, written_at)) => {
            let snapshot = Snapshot::build(&inputs, Source::Disk, &nothing);
            metrics.publish(&snapshot, written_at.as_second());
            tracing::warn!(%written_at, names = snapshot.host_count(), "Serving the last snapshot until the watches have synced.");
            snapshot
        }
        Err(file::FileProblem::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => nothing,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "Not using the snapshot file.");
            nothing
        }
    }
}
