//! Starts everything in the right order, and keeps it running until the daemon is told to stop.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::changelog::Who;
use gslb_core::name::DomainName;
use gslb_core::zone::Zone;
use kube::core::DeserializeGuard;
use kube::runtime::applier;
use kube::runtime::controller::{self, Action, Config};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::cache::{Chain, Key};
use super::context::Context;
use super::inputs::{self, Writers};
use super::{Failures, Pass, PassError, Trigger, Triggers, annotated, gslb, kinds, names, zone_delegation};
use crate::health::{Progress, Readiness};
use crate::peer;
use crate::peer::ask::PeerQuestions;

/// Gslbs in work at once. A pass waits for nothing but the API server; no outside reference.
const GSLB_PASSES: u16 = 16;
/// ZoneDelegations in work at once: a grid takes no more calls at once from us (design §7).
const ZONE_PASSES: u16 = 4;
/// Pause before a bootstrap that failed is tried again.
const BOOTSTRAP_PAUSE: Duration = Duration::from_secs(2);

/// What the daemon is started with.
pub(crate) struct Start {
    pub(crate) context: Arc<Context>,
    pub(crate) changes: mpsc::UnboundedReceiver<DomainName>,
    pub(crate) questions: Arc<PeerQuestions>,
    pub(crate) provider: Option<super::Provision>,
    pub(crate) who: Who,
    pub(crate) progress: Progress,
    pub(crate) readiness: Readiness,
}

/// Runs the controller until `stop` completes.
///
/// # Errors
/// A part of it ended by itself.
pub(crate) async fn run(start: Start, stop: impl Future<Output = ()>) -> Result<(), Ended> {
    let (gslb_store, gslb_writer) = reflector::store();
    let (zone_store, zone_writer) = reflector::store();
    let (gslbs, gslb_queue) = mpsc::unbounded_channel();
    let (zones, zone_queue) = mpsc::unbounded_channel();
    let (ingresses, ingress_queue) = mpsc::unbounded_channel();
    let triggers =
        Triggers { gslbs, zones, ingresses, gslb_store: gslb_store.clone(), zone_store: zone_store.clone() };
    let context = start.context;
    let pass = Arc::new(Pass {
        context: Arc::clone(&context),
        triggers: triggers.clone(),
        progress: start.progress.clone(),
        failures: Failures::default(),
        zones: zone_delegation::Desk::default(),
        provider: start.provider,
        who: start.who,
    });
    let mut tasks = JoinSet::new();
    let writers = Writers { gslbs: gslb_writer, zones: zone_writer };
    tasks.spawn(inputs::follow(Arc::clone(&context), triggers.clone(), writers));
    tasks.spawn(kinds::follow(Arc::clone(&context), triggers.clone()));
    let work = async {
        peer::memory::restore(&context).await;
        inputs::synced(&context).await;
        gslb_store.wait_until_ready().await.unwrap_or_default();
        register_all(&context, &triggers);
        start.readiness.set_ready("inputs");
        spawn_peers(&mut tasks, &pass, &start.questions, start.changes);
        tasks.spawn(names::run(Arc::clone(&context), triggers.clone()));
        tasks.spawn(bootstrap(Arc::clone(&context)));
        tasks.spawn(annotated::run(Arc::clone(&pass), ingress_queue));
        tasks.spawn(zone_delegation::corefile::keep(Arc::clone(&context)));
        triggers.send(Trigger::AllGslbs);
        triggers.send(Trigger::AllZoneDelegations);
        let gslbs = gslb_passes(Arc::clone(&pass), gslb_store, gslb_queue);
        let zones = zone_passes(Arc::clone(&pass), zone_store, zone_queue);
        tokio::select! {
            _ = futures::future::join(gslbs, zones) => {}
            _ = tasks.join_next() => {}
        }
    };
    let result = tokio::select! {
        () = work => Err(Ended),
        () = beat(&start.progress) => Err(Ended),
        () = stop => Ok(()),
    };
    tasks.shutdown().await;
    peer::memory::keep_last(&context).await;
    if let Some((provider, _)) = &pass.provider
        && let Err(error) = provider.close().await
    {
        tracing::warn!(error = %Chain(&error), "The provider could not be closed.");
    }
    result
}

/// A part of the controller that never ends has ended, by a panic. What is left would serve stale data.
#[derive(Debug, thiserror::Error)]
#[error("a part of the controller ended; the process has to be started anew")]
pub(crate) struct Ended;

/// Makes the passes over Gslbs that are asked for.
async fn gslb_passes(
    pass: Arc<Pass>,
    store: Store<gslb::Guarded>,
    asked: mpsc::UnboundedReceiver<ObjectRef<gslb::Guarded>>,
) {
    let failed = |object: Arc<gslb::Guarded>, error: &PassError, pass: Arc<Pass>| {
        let key = Key::of(&*object);
        pass.context.metrics.pass_failed(&key.namespace, &key.name);
        retry(object, error, pass)
    };
    let config = Config::default().concurrency(GSLB_PASSES);
    let make = |object, pass| Box::pin(gslb::reconcile(object, pass));
    let passes = applier(make, failed, Arc::clone(&pass), store, queue(asked), config);
    passes.for_each(|done| finished(&pass, done)).await;
}

/// Makes the passes over ZoneDelegations that are asked for.
async fn zone_passes(
    pass: Arc<Pass>,
    store: Store<zone_delegation::Guarded>,
    asked: mpsc::UnboundedReceiver<ObjectRef<zone_delegation::Guarded>>,
) {
    let config = Config::default().concurrency(ZONE_PASSES);
    let make = |object, pass| Box::pin(zone_delegation::reconcile(object, pass));
    let passes = applier(make, retry, Arc::clone(&pass), store, queue(asked), config);
    passes.for_each(|done| finished(&pass, done)).await;
}

/// The hosts of all Gslbs are known before the first one is published: the older of two must win at once.
fn register_all(context: &Context, triggers: &Triggers) {
    let zones = context.served_zones();
    for guarded in triggers.gslb_store.state() {
        if let Ok(gslb) = &guarded.0 {
            gslb::observe::register(context, gslb, &zones);
        }
    }
    context.book.watch(|| context.registry.hosts(), context.now());
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
            pass.triggers.send(Trigger::Gslb(gslb));
        }
    }
}

/// Creates the configured zones once: one that somebody deletes later stays away until the next start (F-49).
async fn bootstrap(context: Arc<Context>) {
    let mut zones = context.zones.changes();
    let mut left: Vec<Zone> = context.settings.zones.clone();
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

fn queue<K: Resource<DynamicType = ()>>(
    mut receiver: mpsc::UnboundedReceiver<ObjectRef<K>>,
) -> impl futures::Stream<Item = Result<ObjectRef<K>, std::convert::Infallible>> {
    futures::stream::poll_fn(move |context| receiver.poll_recv(context)).map(Ok)
}

fn retry<K>(object: Arc<DeserializeGuard<K>>, error: &PassError, pass: Arc<Pass>) -> Action
where
    DeserializeGuard<K>: Resource<DynamicType = ()>,
{
    let name = name_of(&*object);
    tracing::warn!(object = name, error = %Chain(error), "A pass failed; it is tried again.");
    Action::requeue(pass.failures.pause(&name))
}

fn name_of<K: Resource<DynamicType = ()>>(object: &K) -> String {
    format!("{} {}", K::kind(&()), Key::new(object.namespace().unwrap_or_default(), object.name_any()))
}

/// After a pass: its failures are forgotten; one that found no object was the last of its Gslb.
async fn finished<K, E, Q>(pass: &Pass, done: Result<(ObjectRef<K>, Action), controller::Error<E, Q>>)
where
    K: Resource<DynamicType = ()>,
    E: std::error::Error,
    Q: std::error::Error,
{
    match done {
        Ok((object, _)) => {
            let key = Key::new(object.namespace.unwrap_or_default(), object.name);
            pass.failures.reset(&format!("{} {key}", K::kind(&())));
        }
        Err(controller::Error::ObjectNotFound(object)) => {
            let key = Key::new(object.namespace.clone().unwrap_or_default(), object.name.clone());
            pass.failures.reset(&format!("{} {key}", K::kind(&())));
            if K::kind(&()) == gslb::Guarded::kind(&()) {
                inputs::forget(&pass.context, &pass.triggers, &key);
            }
        }
        // A failed pass has told its error already.
        Err(_) => {}
    }
}
