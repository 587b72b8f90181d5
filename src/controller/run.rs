//! Starts everything in the right order, and keeps it running until the daemon is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::changelog::Who;
use gslb_core::group::Group;
use gslb_core::name::DomainName;
use gslb_core::zone::Zone;
use kube::runtime::applier;
use kube::runtime::controller::{self, Action, Config};
use kube::runtime::reflector::{self, ObjectRef};
use kube::{Resource, ResourceExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::cache::{Chain, Key};
use super::context::Context;
use super::gslb::group::{ByGroup, Id};
use super::gslb::twin::Twins;
use super::inputs::{self, Writers};
use super::ledger::Ledger;
use super::room::Turns;
use super::{
    Failures, Pass, PassError, Trigger, Triggers, annotated, gslb, kinds, names, records, statuses,
    zone_delegation,
};
use crate::audit::ChangeLog;
use crate::health::{Progress, Readiness};
use crate::peer;
use crate::peer::ask::PeerQuestions;
use crate::providers::Providers;

/// Gslbs in work at once. A pass waits for nothing but the API server; no outside reference.
const GSLB_PASSES: u16 = 16;
/// ZoneDelegations in work at once: a grid takes no more calls at once from us (design §7).
const ZONE_PASSES: u16 = 4;
/// For the runtime: all that are asked for.
const NO_BOUND: u16 = 0;
/// How long a start waits for the first word about the legacy group. No outside reference.
const LEGACY_PATIENCE: Duration = Duration::from_secs(5);
/// How long a stop waits for a change that is under way: half of what Kubernetes gives a pod.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
/// How long a stop waits for what was told: what hangs is not waited for. No outside reference.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Pause before a bootstrap that failed is tried again.
const BOOTSTRAP_PAUSE: Duration = Duration::from_secs(2);

/// What the daemon is started with.
pub(crate) struct Start {
    pub(crate) context: Arc<Context>,
    pub(crate) changes: mpsc::UnboundedReceiver<DomainName>,
    pub(crate) questions: Arc<PeerQuestions>,
    pub(crate) providers: Providers,
    pub(crate) log: Arc<ChangeLog>,
    pub(crate) who: Who,
    pub(crate) progress: Progress,
    pub(crate) readiness: Readiness,
}

/// Runs the controller until `stop` completes.
///
/// # Errors
/// A part of it ended by itself.
pub(crate) async fn run(start: Start, stop: impl Future<Output = ()>) -> Result<(), Ended> {
    let (triggers, writers, queues) = wire();
    let (errands, sent) = mpsc::unbounded_channel();
    let mut hears_legacy = writers.legacy_heard.subscribe();
    let knows_legacy = writers.legacy_known.subscribe();
    let context = start.context;
    let pass = Arc::new(Pass {
        context: Arc::clone(&context),
        triggers: triggers.clone(),
        progress: start.progress.clone(),
        turns: Turns::new(GSLB_PASSES.into()),
        failures: Failures::default(),
        zones: zone_delegation::Desk::default(),
        ledger: Ledger::default(),
        providers: start.providers,
        log: start.log,
        errands,
        who: start.who,
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(inputs::follow(Arc::clone(&context), triggers.clone(), writers));
    tasks.spawn(kinds::follow(Arc::clone(&context), triggers.clone()));
    tasks.spawn(zone_delegation::follow_errands(sent));
    let work = async {
        peer::memory::restore(&context).await;
        inputs::heard(&context).await;
        triggers.gslb_stores.canonical.wait_until_ready().await.unwrap_or_default();
        // A group that may not be installed is waited for, but not for long.
        tokio::time::timeout(LEGACY_PATIENCE, hears_legacy.wait_for(|heard| *heard))
            .await
            .map(drop)
            .unwrap_or_default();
        register_all(&context, &triggers);
        tell_ready(&mut tasks, &pass, start.readiness);
        spawn_peers(&mut tasks, &pass, &start.questions, start.changes);
        spawn_keepers(&mut tasks, &pass, knows_legacy);
        tasks.spawn(annotated::run(Arc::clone(&pass), queues.ingresses));
        triggers.send(Trigger::AllGslbs);
        triggers.send(Trigger::AllZoneDelegations);
        let canonical = gslb_passes(Arc::clone(&pass), Group::Canonical, queues.gslbs.canonical);
        let legacy = gslb_passes(Arc::clone(&pass), Group::Legacy, queues.gslbs.legacy);
        let zones = zone_passes(Arc::clone(&pass), queues.zones);
        tokio::select! {
            _ = futures::future::join3(canonical, legacy, zones) => {}
            _ = tasks.join_next() => {}
        }
    };
    let stop = async {
        stop.await;
        pass.ledger.close(STOP_PATIENCE).await
    };
    let result = tokio::select! {
        () = work => Err(Ended),
        () = beat(&start.progress) => Err(Ended),
        closed = stop => Ok(closed),
    };
    part(&pass, tasks).await;
    result.map(drop)
}

/// Tells the last words, keeps what a restart needs, and gives back what providers hold for us.
async fn part(pass: &Pass, mut tasks: JoinSet<()>) {
    let told = futures::future::join(pass.context.statuses.rest_all(), pass.context.announcer.rest());
    tokio::time::timeout(LAST_WORDS, told).await.map(drop).unwrap_or_default();
    // No change begins before the last errand is gone.
    tasks.shutdown().await;
    peer::memory::keep_last(&pass.context).await;
    for error in pass.providers.close().await {
        tracing::warn!(error = %Chain(&error), "A provider could not be closed.");
    }
}

/// Where the passes get their triggers from.
struct Queues {
    gslbs: ByGroup<mpsc::UnboundedReceiver<ObjectRef<gslb::Guarded>>>,
    zones: mpsc::UnboundedReceiver<ObjectRef<zone_delegation::Guarded>>,
    ingresses: mpsc::UnboundedReceiver<Key>,
}

/// What connects the watches with the passes.
fn wire() -> (Triggers, Writers, Queues) {
    let gslb_writers = ByGroup {
        canonical: reflector::store::Writer::new(Group::Canonical),
        legacy: reflector::store::Writer::new(Group::Legacy),
    };
    let (zone_store, zone_writer) = reflector::store();
    let (canonical, canonical_queue) = mpsc::unbounded_channel();
    let (legacy, legacy_queue) = mpsc::unbounded_channel();
    let (zones, zone_queue) = mpsc::unbounded_channel();
    let (ingresses, ingress_queue) = mpsc::unbounded_channel();
    let triggers = Triggers {
        gslbs: ByGroup { canonical, legacy },
        zones,
        ingresses,
        gslb_stores: ByGroup {
            canonical: gslb_writers.canonical.as_reader(),
            legacy: gslb_writers.legacy.as_reader(),
        },
        zone_store,
    };
    let [legacy_heard, legacy_known] = [(); 2].map(|()| watch::Sender::new(false));
    let writers = Writers { gslbs: gslb_writers, zones: zone_writer, legacy_heard, legacy_known };
    let gslbs = ByGroup { canonical: canonical_queue, legacy: legacy_queue };
    (triggers, writers, Queues { gslbs, zones: zone_queue, ingresses: ingress_queue })
}

/// A part of the controller that never ends has ended, by a panic. What is left would serve stale data.
#[derive(Debug, thiserror::Error)]
#[error("a part of the controller ended; the process has to be started anew")]
pub(crate) struct Ended;

/// Makes the passes over the Gslbs of one group that are asked for.
async fn gslb_passes(
    pass: Arc<Pass>,
    group: Group,
    asked: mpsc::UnboundedReceiver<ObjectRef<gslb::Guarded>>,
) {
    let failed = |object: Arc<gslb::Guarded>, error: &PassError, pass: Arc<Pass>| {
        let id = object.id();
        pass.context.metrics.pass_failed(&id.key.namespace, &id.key.name);
        retry(&name_of_gslb(&id), error, &pass)
    };
    let store = pass.triggers.gslb_stores.of(group).clone();
    let config = Config::default().concurrency(GSLB_PASSES);
    let make = |object, pass| Box::pin(gslb::reconcile(object, pass));
    let passes = applier(make, failed, Arc::clone(&pass), store, queue(asked), config);
    let id = |object: Option<String>, name| Id { key: Key::new(object.unwrap_or_default(), name), group };
    passes
        .for_each(async |done| match done {
            Ok((object, _)) => pass.failures.reset(&name_of_gslb(&id(object.namespace, object.name))),
            // It was the last pass of its Gslb.
            Err(controller::Error::ObjectNotFound(object)) => {
                let id = id(object.namespace, object.name);
                pass.failures.reset(&name_of_gslb(&id));
                gslb::watch::forget(&pass.context, &pass.triggers, &id);
            }
            // A failed pass has told its error already.
            Err(_) => {}
        })
        .await;
}

/// Makes the passes over ZoneDelegations that are asked for.
async fn zone_passes(pass: Arc<Pass>, asked: mpsc::UnboundedReceiver<ObjectRef<zone_delegation::Guarded>>) {
    let store = pass.triggers.zone_store.clone();
    // Where zones name their providers, a pass waits for none of them for long, and each of them has its own bound.
    let passes = if pass.providers.are_listed() { NO_BOUND } else { ZONE_PASSES };
    let config = Config::default().concurrency(passes);
    let make = |object, pass| Box::pin(zone_delegation::reconcile(object, pass));
    let failed = |object: Arc<zone_delegation::Guarded>, error: &PassError, pass: Arc<Pass>| {
        retry(&name_of_zone(object.name_any()), error, &pass)
    };
    let passes = applier(make, failed, Arc::clone(&pass), store, queue(asked), config);
    passes
        .for_each(async |done| match done {
            Ok((zone, _)) => pass.failures.reset(&name_of_zone(zone.name)),
            Err(controller::Error::ObjectNotFound(zone)) => pass.failures.reset(&name_of_zone(zone.name)),
            // A failed pass has told its error already.
            Err(_) => {}
        })
        .await;
}

/// The hosts of all Gslbs are known before the first one is published: the older of two must win at once.
fn register_all(context: &Context, triggers: &Triggers) {
    let zones = context.served_zones();
    for guarded in triggers.gslbs().filter(|gslb| !gslb::twin::is_retired(gslb)) {
        if let Some(gslb) = guarded.read() {
            let twins = Twins::of(context, triggers, &guarded);
            gslb::observe::register(context, gslb, &twins, &zones);
        }
    }
    context.book.watch(|| context.registry.hosts(), context.now());
}

/// The inputs were heard; but without the kind DNSEndpoint nothing can be published, and the process is not ready.
fn tell_ready(tasks: &mut JoinSet<()>, pass: &Arc<Pass>, readiness: Readiness) {
    if pass.context.endpoints.is_synced() {
        readiness.set_ready("inputs");
    } else {
        tasks.spawn(await_endpoints(Arc::clone(pass), readiness));
    }
}

/// Makes the process ready, and its Gslbs published, once the kind DNSEndpoint is there.
async fn await_endpoints(pass: Arc<Pass>, readiness: Readiness) {
    pass.context.endpoints.synced().await;
    readiness.set_ready("inputs");
    pass.triggers.send(Trigger::AllGslbs);
    // A task of the daemon never ends by itself.
    std::future::pending().await
}

/// What goes on beside the passes.
fn spawn_keepers(tasks: &mut JoinSet<()>, pass: &Arc<Pass>, knows_legacy: watch::Receiver<bool>) {
    let Pass { context, triggers, .. } = &**pass;
    tasks.spawn(names::run(Arc::clone(context), triggers.clone()));
    tasks.spawn(gslb::ingress_writes::follow(Arc::clone(context), triggers.clone()));
    tasks.spawn(statuses::follow(Arc::clone(context), triggers.clone()));
    tasks.spawn(announce(Arc::clone(context)));
    tasks.spawn(bootstrap(Arc::clone(context)));
    tasks.spawn(zone_delegation::corefile::keep(Arc::clone(context)));
    let pass = Arc::clone(pass);
    tasks.spawn(async move {
        // Which hosts go on although their Gslb is invalid is known from DNSEndpoints.
        pass.context.endpoints.synced().await;
        records::keeper::keep(pass, knows_legacy).await;
    });
}

fn spawn_peers(
    tasks: &mut JoinSet<()>,
    pass: &Arc<Pass>,
    questions: &Arc<PeerQuestions>,
    changes: mpsc::UnboundedReceiver<DomainName>,
) {
    let context = &pass.context;
    // Before the first pass: what an earlier run knew of the peers must not look gone.
    peer::look_up::keep(context);
    tasks.spawn(peer::look_up::run(Arc::clone(context), Arc::clone(questions), pass.triggers.clone()));
    tasks.spawn(peer::sweep::run_all(Arc::clone(context), Arc::clone(questions)));
    tasks.spawn(peer::memory::keep(Arc::clone(context)));
    tasks.spawn(pass_on(Arc::clone(pass), changes));
}

/// A peer's view changed: the Gslbs of the host decide anew.
async fn pass_on(pass: Arc<Pass>, mut changes: mpsc::UnboundedReceiver<DomainName>) {
    while let Some(host) = changes.recv().await {
        for gslb in pass.context.registry.gslbs_of(&host) {
            pass.triggers.send(Trigger::Named(gslb));
        }
    }
}

/// Stores what is announced.
async fn announce(context: Arc<Context>) {
    context.announcer.follow().await;
}

/// Creates the configured zones once: one that somebody deletes later stays away until the next start (F-49).
async fn bootstrap(context: Arc<Context>) {
    let mut zones = context.zones.changes();
    let mut left: Vec<Zone> = context.settings.delegated_zones().cloned().collect();
    while !left.is_empty() {
        zones.mark_unchanged();
        match zone_delegation::bootstrap(&context, &left).await {
            Ok(leaving) => left = leaving,
            Err(error) => {
                tracing::warn!(error = %Chain(&error), "The configured zones could not be created; it is tried again.");
                tokio::time::sleep(BOOTSTRAP_PAUSE).await;
                continue;
            }
        }
        if !left.is_empty() && zones.changed().await.is_err() {
            break;
        }
    }
    // A task of the daemon never ends by itself.
    std::future::pending().await
}

/// Shows that the passes are not blocked, also while nothing changes: they run in the same task.
async fn beat(progress: &Progress) {
    loop {
        progress.tick();
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

fn queue<K: Resource>(
    mut receiver: mpsc::UnboundedReceiver<ObjectRef<K>>,
) -> impl futures::Stream<Item = Result<ObjectRef<K>, std::convert::Infallible>> {
    futures::stream::poll_fn(move |context| receiver.poll_recv(context)).map(Ok)
}

fn retry(object: &str, error: &PassError, pass: &Pass) -> Action {
    tracing::warn!(object, error = %Chain(error), "A pass failed; it is tried again.");
    Action::requeue(pass.failures.pause(object))
}

fn name_of_gslb(id: &Id) -> String {
    format!("Gslb {id}")
}

fn name_of_zone(name: String) -> String {
    format!("ZoneDelegation {name}")
}
