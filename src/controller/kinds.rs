//! Kinds that not every cluster has: each is watched from the first Gslb on that refers to it.
//!
//! One that is not installed or not permitted costs a request now and then, and stops nobody: nothing of it is
//! known, which is never taken for absence.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{Stream, StreamExt};
use gslb_core::reference::{KindUnread, ObjectKind, Unread};
use gslb_core::tenancy::Grants;
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::Triggers;
use super::cache::{Cache, Chain, Key};
use super::context::Context;
use super::facts::referent::{Optional, OptionalFacts};
use super::facts::{gateway, istio};
use super::inputs::{PAGE, wake, wake_dependents};
use super::registry::Dependency;
use crate::kube_client::watching;
use crate::watch_retry::Pauses;

/// Longest pause before a kind is tried again. With jitter of as much again: one that is installed later is noticed
/// within 15 seconds.
pub(crate) const LAST_RETRY: Duration = Duration::from_secs(7);
/// How long a pass waits for the first list of a kind, before it tells that the kind was not read.
pub(crate) const FIRST_LIST: SignedDuration = SignedDuration::from_secs(5);

/// How long the refusal of a kind that was read before stands without being repeated: longer than two tries are apart,
/// of which the one that succeeds is not seen while nothing of the kind changes.
const REFUSED: SignedDuration = SignedDuration::from_secs(20);

/// Handle around the watched kinds.
#[derive(Default)]
pub(crate) struct Kinds {
    plain: Mutex<Plain>,
    asked: Notify,
}

#[derive(Default)]
struct Plain {
    watched: BTreeMap<ObjectKind, Arc<Watched>>,
    /// Those without a running watch yet.
    new: Vec<ObjectKind>,
}

/// One watched kind.
pub(crate) struct Watched {
    kind: ObjectKind,
    pub(crate) facts: Cache<OptionalFacts>,
    attempt: Mutex<Attempt>,
    since: Timestamp,
}

/// The last attempt to read a kind that has failed.
#[derive(Debug, Default)]
struct Attempt {
    /// `None`: it was read since.
    failure: Option<Unread>,
    at: Option<Timestamp>,
}

/// What is known of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It was read whole: what is not there is absent.
    Done,
    /// Its first list is under way, and worth waiting for until then.
    UnderWay(Timestamp),
    /// It was never read.
    Failed(KindUnread),
}

impl Kinds {
    /// The objects of a kind. The first call starts the watch.
    pub(crate) fn of(&self, kind: ObjectKind, now: Timestamp) -> Arc<Watched> {
        let mut plain = self.lock();
        let Plain { watched, new } = &mut *plain;
        let entry = watched.entry(kind).or_insert_with(|| {
            new.push(kind);
            self.asked.notify_one();
            Arc::new(Watched { kind, facts: Cache::new(), attempt: Mutex::default(), since: now })
        });
        Arc::clone(entry)
    }

    async fn new_ones(&self) -> Vec<Arc<Watched>> {
        loop {
            {
                let mut plain = self.lock();
                let new = std::mem::take(&mut plain.new);
                if !new.is_empty() {
                    return new.iter().filter_map(|kind| plain.watched.get(kind).cloned()).collect();
                }
            }
            self.asked.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.plain.lock().expect("no panic while the kinds are locked")
    }
}

impl Watched {
    /// What is known of the kind.
    pub(crate) fn reading(&self, now: Timestamp) -> Reading {
        if self.facts.is_synced() {
            return Reading::Done;
        }
        let until = self.since + FIRST_LIST;
        match self.attempt().failure.clone() {
            Some(why) => Reading::Failed(KindUnread { kind: self.kind, why }),
            None if now < until => Reading::UnderWay(until),
            None => Reading::Failed(KindUnread { kind: self.kind, why: Unread::NotRead }),
        }
    }

    /// Why the kind cannot be read any more after it was read whole, and until when that stands. Only what the API
    /// server says of the kind itself: anything else passes.
    pub(crate) fn refused(&self, now: Timestamp) -> Option<(KindUnread, Timestamp)> {
        let attempt = self.attempt();
        let until = attempt.at? + REFUSED;
        let why = attempt.failure.clone().filter(|why| *why != Unread::NotRead)?;
        (self.facts.is_synced() && now < until).then_some((KindUnread { kind: self.kind, why }, until))
    }

    /// Notes what became of an attempt; tells whether that is news.
    fn note(&self, failure: Option<Unread>, now: Timestamp) -> bool {
        let mut attempt = self.attempt();
        let over = self.facts.is_synced() && attempt.at.is_some_and(|at| now >= at + REFUSED);
        let news = attempt.failure != failure || (over && failure.is_some());
        *attempt = Attempt { at: failure.as_ref().map(|_| now), failure };
        news
    }

    fn attempt(&self) -> MutexGuard<'_, Attempt> {
        self.attempt.lock().expect("no panic while the attempt is locked")
    }
}

/// Runs the watches of all kinds that are asked for, until the daemon ends.
pub(crate) async fn follow(context: Arc<Context>, triggers: Triggers) {
    let mut watches = FuturesUnordered::new();
    loop {
        tokio::select! {
            new = context.kinds.new_ones() => {
                watches.extend(new.into_iter().map(|watched| watch(&context, &triggers, watched)));
            }
            // A watch never ends by itself.
            Some(()) = watches.next() => {}
        }
    }
}

fn watch<'a>(
    context: &'a Context,
    triggers: &'a Triggers,
    watched: Arc<Watched>,
) -> impl Future<Output = ()> + 'a {
    let kind = watched.kind;
    let told = Arc::clone(&watched);
    let tell = move |event: &watcher::Result<Event<DynamicObject>>| note(context, triggers, &told, event);
    let events = stream(context, kind).inspect(tell).filter(|event| futures::future::ready(event.is_ok()));
    async move {
        let read = |object| facts(kind, object);
        let mut first = true;
        watched
            .facts
            .follow(events, read, |all| {
                for changed in all {
                    wake_dependents(context, triggers, kind, changed.key);
                }
                // The first list also tells what is not there.
                if std::mem::take(&mut first) {
                    wake(context, triggers, &Dependency::Kind(kind));
                }
            })
            .await;
    }
}

/// Notes what became of an attempt to read a kind, and tells it once.
fn note(
    context: &Context,
    triggers: &Triggers,
    watched: &Watched,
    event: &watcher::Result<Event<DynamicObject>>,
) {
    let error = match event {
        // A list only begins with the first of these.
        Ok(Event::Init | Event::InitApply(_)) => return,
        Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)) => None,
        Err(error) => Some(error),
    };
    let why = error.map(why);
    if why == Some(Unread::NotRead) {
        context.metrics.watch_failed(watched.kind.kind());
    }
    if !watched.note(why.clone(), context.now()) {
        return;
    }
    // A complete list wakes them once it is taken in.
    if let (Some(error), Some(why)) = (error, why) {
        let resource = watched.kind.resource();
        tracing::warn!(resource, ?why, error = %Chain(error), "A kind cannot be read; it is tried again.");
        wake(context, triggers, &Dependency::Kind(watched.kind));
    }
}

fn why(error: &watcher::Error) -> Unread {
    use watcher::Error::{InitialListFailed, WatchError, WatchFailed, WatchStartFailed};
    let code = match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status)) => status.code,
        WatchError(status) => status.code,
        _ => 0,
    };
    match code {
        404 => Unread::NotInstalled,
        403 => Unread::Forbidden,
        _ => Unread::NotRead,
    }
}

fn stream(
    context: &Context,
    kind: ObjectKind,
) -> impl Stream<Item = watcher::Result<Event<DynamicObject>>> + use<> {
    let resource = ApiResource {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        api_version: kind.api_version(),
        kind: kind.kind().to_owned(),
        plural: kind.plural().to_owned(),
    };
    let api: Api<DynamicObject> = Api::all_with(context.client.clone(), &resource);
    watcher(api, watching().page_size(PAGE)).backoff(Pauses::up_to(LAST_RETRY))
}

fn facts(kind: ObjectKind, object: DynamicObject) -> OptionalFacts {
    let key = Key::of(&object);
    if kind == ObjectKind::Namespace {
        // Nobody selects a Namespace by its labels, so a change of them is none.
        let annotations = object.metadata.annotations.unwrap_or_default();
        let grants = Grants::read(|annotation| annotations.get(annotation).map(String::as_str));
        return OptionalFacts { labels: BTreeMap::new(), read: Ok(Optional::Namespace(grants)) };
    }
    let labels = object.metadata.labels.unwrap_or_default();
    OptionalFacts { labels, read: read(kind, &key, object.data) }
}

fn read(kind: ObjectKind, key: &Key, data: serde_json::Value) -> Result<Optional, String> {
    Ok(match kind {
        ObjectKind::Gateway => Optional::Gateway(parse::<gateway::Gateway>(data)?.facts()),
        ObjectKind::IstioGateway => Optional::IstioGateway(parse::<istio::Gateway>(data)?.facts()),
        ObjectKind::VirtualService => Optional::Referent(parse::<istio::VirtualService>(data)?.referent(key)),
        ObjectKind::HttpRoute
        | ObjectKind::GrpcRoute
        | ObjectKind::TcpRouteV1
        | ObjectKind::TcpRouteV1Alpha2
        | ObjectKind::UdpRouteV1
        | ObjectKind::UdpRouteV1Alpha2
        | ObjectKind::TlsRouteV1
        | ObjectKind::TlsRouteV1Alpha2
        | ObjectKind::TlsRouteV1Alpha3
        | ObjectKind::Ingress
        | ObjectKind::Service
        | ObjectKind::Namespace => Optional::Referent(parse::<gateway::Route>(data)?.referent(kind, key)),
    })
}

fn parse<T: DeserializeOwned>(data: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(data).map_err(|error| error.to_string())
}
