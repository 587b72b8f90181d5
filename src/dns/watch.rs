//! Follows the cluster's objects and puts a new snapshot into service whenever they change.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use futures::stream::{self, BoxStream, StreamExt};
use gslb_crds::{DnsEndpoint, ZoneDelegation, marks};
use jiff::Timestamp;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::sync::watch::Sender;
use tokio_util::sync::CancellationToken;

use super::failing::Failing;
use super::input::Inputs;
use super::leaving::{Leaving, answer_on};
use super::metrics::Metrics;
use super::observe::compose;
use super::settings::DnsSettings;
use super::shelf::{Readable, Shelf};
use super::snapshot::{Snapshot, Source};
use super::status::Status;
use crate::kube_client::watching;
use crate::watch_retry::Pauses;

/// Events that are ready are taken together, up to this number, so that a burst costs one build.
const BATCH: usize = 512;
/// After a build that took `t`, the next one waits `4 t`: building never takes more than a fifth of a core.
const BUILD_SHARE: u32 = 4;
/// Longest pause before a watch that failed is started again; with jitter twice as long. An API server that comes back
/// must not meet stale answers for long.
const LAST_RETRY: Duration = Duration::from_millis(2500);

/// Where the results go.
#[derive(Debug, Clone)]
pub struct Outlets {
    /// What questions are answered from.
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    /// What the snapshot file is written from.
    pub inputs: Sender<Arc<Inputs>>,
    /// What the probes ask about.
    pub status: Arc<Status>,
    /// What is counted.
    pub metrics: Metrics,
}

/// One thing that a watch said.
enum Word {
    Endpoints(Event<DeserializeGuard<DnsEndpoint>>),
    Zones(Event<DeserializeGuard<ZoneDelegation>>),
    Failed(&'static str, watcher::Error),
}

/// Everything that is known about the cluster.
#[derive(Debug, Default)]
struct World {
    endpoints: Shelf<DnsEndpoint>,
    zones: Shelf<ZoneDelegation>,
    leaving: Leaving,
    /// Kinds whose watch does not work at the moment.
    failing: Failing,
    /// Sentences that have been logged and still hold.
    problems: BTreeSet<String>,
}

/// Follows the cluster until `stop`. A watch that fails is tried again for ever; what was served before stays.
pub async fn follow(client: Client, settings: Arc<DnsSettings>, outlets: Outlets, stop: CancellationToken) {
    let mut words = words(&client).ready_chunks(BATCH);
    let mut world = World::default();
    loop {
        let batch = tokio::select! {
            () = stop.cancelled() => return,
            batch = words.next() => batch,
            () = at(world.next()) => Some(Vec::new()),
        };
        let Some(batch) = batch else { return };
        let now = Instant::now();
        let left = world.leaving.next().is_some_and(|at| at <= now);
        let changed = left | world.take(batch, &outlets.metrics);
        for kind in world.failing.calmed(now) {
            tracing::info!(kind, "Watch works again.");
        }
        outlets.status.set_watching(world.failing.is_empty() && world.synced());
        if !changed || !world.synced() {
            continue;
        }
        let started = Instant::now();
        world.publish(&settings, &outlets).await;
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(started.elapsed() * BUILD_SHARE) => {}
        }
    }
}

/// Comes at this time, or never.
async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

fn words(client: &Client) -> BoxStream<'static, Word> {
    let local = format!("{}={}", marks::DNS_TYPE, marks::DNS_TYPE_LOCAL);
    let endpoints = watch::<DnsEndpoint>(client, watching().labels(&local), Word::Endpoints);
    let zones = watch::<ZoneDelegation>(client, watching(), Word::Zones);
    stream::select(endpoints, zones).boxed()
}

/// Watches one kind in all namespaces. An object that does not parse arrives as such and ends nothing.
fn watch<K>(
    client: &Client,
    config: watcher::Config,
    word: fn(Event<DeserializeGuard<K>>) -> Word,
) -> BoxStream<'static, Word>
where
    K: Readable + Clone + Debug + DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
{
    watcher(Api::<DeserializeGuard<K>>::all(client.clone()), config)
        .backoff(Pauses::up_to(LAST_RETRY))
        .map(move |event| event.map_or_else(|error| Word::Failed(K::KIND, error), word))
        .boxed()
}

impl World {
    fn synced(&self) -> bool {
        self.endpoints.synced() && self.zones.synced()
    }

    /// When something is to be done although nothing is said.
    fn next(&self) -> Option<Instant> {
        self.leaving.next().into_iter().chain(self.failing.next()).min()
    }

    /// Takes what the watches said and tells whether anything is different now.
    fn take(&mut self, words: Vec<Word>, metrics: &Metrics) -> bool {
        let mut changed = false;
        for word in words {
            match word {
                Word::Endpoints(event) => {
                    self.recovered(DnsEndpoint::KIND, &event);
                    changed |= self.endpoints.take(event);
                }
                Word::Zones(event) => {
                    self.recovered(ZoneDelegation::KIND, &event);
                    changed |= self.zones.take(event);
                }
                Word::Failed(kind, error) => {
                    metrics.count_watch_error(kind);
                    if self.failing.failed(kind, Instant::now()) {
                        tracing::warn!(kind, %error, "Watch failed; the last snapshot stays in service.");
                    }
                }
            }
        }
        let now = Instant::now();
        for (before, after) in self.endpoints.take_replaced() {
            self.leaving.note(&before, after.as_deref(), now);
        }
        drop(self.zones.take_replaced());
        changed
    }

    /// A watch works again once a list is complete or a change arrives; that a list begins proves nothing. One of a kind
    /// that never changes goes on where it was, and says nothing: [`Failing::calmed`].
    fn recovered<K>(&mut self, kind: &'static str, event: &Event<K>) {
        let proof = match event {
            Event::Init => false,
            Event::InitApply(_) | Event::InitDone | Event::Apply(_) | Event::Delete(_) => true,
        };
        if proof && self.failing.heard(kind) {
            tracing::info!(kind, "Watch works again.");
        }
    }

    /// Builds a snapshot away from the threads that answer, and puts it into service.
    async fn publish(&mut self, settings: &Arc<DnsSettings>, outlets: &Outlets) {
        let (settings, previous) = (Arc::clone(settings), outlets.snapshot.load_full());
        let (zones, endpoints) = (self.zones.readings(), self.endpoints.readings());
        let leaving = self.leaving.hosts(Instant::now());
        let built = tokio::task::spawn_blocking(move || {
            let (mut inputs, problems) = compose(&settings, &zones, &endpoints);
            answer_on(&mut inputs, leaving);
            let snapshot = Snapshot::build(&inputs, Source::Watch, &previous);
            (inputs, problems, snapshot)
        });
        let (inputs, problems, snapshot) = match built.await {
            Ok(built) => built,
            Err(error) => {
                tracing::error!(%error, "Could not build a snapshot; the last one stays in service.");
                return;
            }
        };
        // First in service, then said so: whoever reads the log or the pages may ask at once.
        let snapshot = Arc::new(snapshot);
        let old = outlets.snapshot.swap(Arc::clone(&snapshot));
        outlets.metrics.publish(&snapshot, Timestamp::now().as_second());
        if old.source() != Source::Watch {
            let (zones, names) = (snapshot.zone_count(), snapshot.host_count());
            tracing::info!(zones, names, "Serving the cluster's objects.");
        }
        outlets.status.set_synced();
        outlets.inputs.send_replace(Arc::new(inputs));
        self.report(problems, &outlets.metrics);
        // Taking thousands of names apart takes milliseconds, which no answer should wait for.
        drop(tokio::task::spawn_blocking(move || drop(old)));
    }

    /// Logs each sentence when it begins to hold, not on every build.
    fn report(&mut self, problems: Vec<String>, metrics: &Metrics) {
        let unreadable = self.endpoints.problems().chain(self.zones.problems());
        let problems: BTreeSet<String> = problems.into_iter().chain(unreadable).collect();
        for problem in problems.difference(&self.problems) {
            tracing::warn!(problem, "Cannot serve an entry.");
        }
        metrics.set_skipped(problems.len());
        self.problems = problems;
    }
}
