//! Watches the Gslbs of both groups, and knows whom the end of one concerns.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::group::Group;
use gslb_crds::{Gslb, LegacyGslb};
use kube::Resource;
use kube::core::DeserializeGuard;
use kube::runtime::reflector::store::Writer as StoreWriter;
use kube::runtime::watcher::{self, Event};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::group::Id;
use crate::controller::cache::Chain;
use crate::controller::context::Context;
use crate::controller::inputs::{LAST_RETRY, is_news, stream_with};
use crate::controller::statuses::Whose;
use crate::controller::{Trigger, Triggers, annotated, gslb, kinds};

/// The Gslbs of this product's own group.
pub(in crate::controller) async fn canonical(
    context: &Context,
    triggers: &Triggers,
    writer: StoreWriter<gslb::Guarded>,
) {
    gslbs::<DeserializeGuard<Gslb>>(context, triggers, writer, LAST_RETRY, |_| ()).await;
}

/// The legacy group, which not every cluster has: it costs a request now and then, and stops nobody.
pub(in crate::controller) async fn legacy(
    context: &Context,
    triggers: &Triggers,
    writer: StoreWriter<gslb::Guarded>,
    heard: &watch::Sender<bool>,
    known: &watch::Sender<bool>,
) {
    gslbs::<DeserializeGuard<LegacyGslb>>(context, triggers, writer, kinds::LAST_RETRY, |error| {
        heard.send_replace(true);
        if error.is_none_or(is_not_installed) {
            known.send_replace(true);
        }
    })
    .await;
}

/// Whether the API server says that it has no such kind, and does not only fail to list it.
pub(in crate::controller) fn is_not_installed(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => status.code == 404,
        _ => false,
    }
}

/// Follows the Gslbs of one group; `heard` is called at each first word: a whole list, or a failure with its error.
async fn gslbs<G>(
    context: &Context,
    triggers: &Triggers,
    mut writer: StoreWriter<gslb::Guarded>,
    longest_pause: Duration,
    heard: impl Fn(Option<&watcher::Error>),
) where
    G: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + Into<gslb::Guarded>,
    G: 'static,
{
    let events = stream_with::<G>(context, longest_pause);
    let mut events = std::pin::pin!(events);
    let mut told = None;
    while let Some(event) = events.next().await {
        match event.map(guarded) {
            Ok(event) => {
                if matches!(event, Event::InitDone) {
                    told = None;
                    heard(None);
                }
                take_in(context, triggers, &mut writer, &event);
            }
            Err(error) => {
                heard(Some(&error));
                // What is not installed stays so: it is told once.
                let error = Chain(&error).to_string();
                if told.as_ref() != Some(&error) {
                    let group = G::group(&());
                    tracing::warn!(error, %group, kind = "Gslb", "A watch failed; it is tried again.");
                    told = Some(error);
                }
            }
        }
    }
}

fn take_in(
    context: &Context,
    triggers: &Triggers,
    writer: &mut StoreWriter<gslb::Guarded>,
    event: &Event<gslb::Guarded>,
) {
    match event {
        Event::Apply(gslb) => {
            let id = gslb.id();
            let before = writer.as_reader().get(&id.object_ref());
            writer.apply_watcher_event(event);
            let what = gslb::report::what(id.group);
            if is_news(context, what, before.as_deref().map(Resource::meta), gslb.meta()) {
                wake_gslb(triggers, &id);
            }
        }
        // A pass that finds no object forgets it: whatever pass was under way has ended by then.
        Event::Delete(gslb) => {
            writer.apply_watcher_event(event);
            let id = gslb.id();
            if id.group == Group::Canonical {
                context.writer.forget(annotated::WHAT, &id.key);
            }
            wake_gslb(triggers, &id);
        }
        Event::InitDone => {
            let store = writer.as_reader();
            let before = store.state();
            writer.apply_watcher_event(event);
            context.writer.forget_unlisted(annotated::WHAT, |_| false);
            let ids: BTreeSet<Id> = before.into_iter().chain(store.state()).map(|gslb| gslb.id()).collect();
            for id in ids {
                wake_gslb(triggers, &id);
            }
        }
        Event::Init | Event::InitApply(_) => writer.apply_watcher_event(event),
    }
}

/// A Gslb changed: also the one of the same name in the other group may serve now, or its Ingress want another one.
pub(crate) fn wake_gslb(triggers: &Triggers, id: &Id) {
    triggers.send(Trigger::Gslb(id.clone()));
    if triggers.gslb(&id.twin()).is_some() {
        triggers.send(Trigger::Gslb(id.twin()));
    }
    if id.group == Group::Canonical {
        triggers.send(Trigger::Ingress(id.key.clone()));
    }
}

fn guarded<G: Into<gslb::Guarded>>(event: Event<G>) -> Event<gslb::Guarded> {
    match event {
        Event::Apply(object) => Event::Apply(object.into()),
        Event::Delete(object) => Event::Delete(object.into()),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(object.into()),
        Event::InitDone => Event::InitDone,
    }
}

/// A Gslb serves no more: its hosts are free for others.
pub(crate) fn hand_over(context: &Context, triggers: &Triggers, id: &Id) {
    let key = &id.key;
    context.registry.forget(id);
    context.records.forget(id);
    if triggers.gslb(&id.twin()).is_some() {
        // Its name lives on, and with it its hosts.
        triggers.send(Trigger::Gslb(id.twin()));
    } else {
        for other in context.registry.release(key) {
            triggers.send(Trigger::Named(other));
        }
        context.book.watch(|| context.registry.hosts(), context.now());
        context.metrics.forget(&key.namespace, &key.name);
    }
}

/// A deleted Gslb hands its hosts over and is forgotten everywhere.
pub(crate) fn forget(context: &Context, triggers: &Triggers, id: &Id) {
    let Id { key, group } = id;
    hand_over(context, triggers, id);
    context.writer.forget(gslb::report::what(*group), key);
    context.announcer.forget(gslb::report::what(*group), key);
    context.announcer.calm(gslb::unreadable(*group), key);
    match group {
        Group::Canonical => {
            context.migrations.lock().expect("no panic while the migrations are locked").remove(key);
        }
        Group::Legacy => {
            context.announcer.forget(gslb::DEPRECATED, key);
            context.announcer.forget(gslb::migrate::WHAT, key);
        }
    }
    context.addresses.lock().expect("no panic while the addresses are locked").remove(id);
    context.ingress_writes.forget(id);
    context.statuses.forget(&Whose::Gslb(id.clone()));
}
