//! Watches every input, and turns what changed into triggers.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_crds::{DnsEndpoint, Gslb, LegacyGslb, marks};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::store::Writer as StoreWriter;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::cache::{Chain, Changed, Key};
use super::context::Context;
use super::gslb::live::EndpointFacts;
use super::registry::Dependency;
use super::statuses::Whose;
use super::zone_delegation::live::ZoneFacts;

use super::gslb::group::{ByGroup, Id};
use super::{Trigger, Triggers, annotated, gslb, kinds, zone_delegation};
use crate::kube_client::watching;
use crate::watch_retry::Pauses;
use gslb_core::delegation::is_object_name;
use gslb_core::group::Group;
use gslb_core::publication::ServiceName;
use gslb_core::reference::ObjectKind;

/// Longest pause before a watch that failed is started again; with jitter twice as long. An API server that is back
/// must not wait long for us: until then this cluster's health is blind.
const LAST_RETRY: Duration = Duration::from_millis(1500);

/// Objects in one answer to a list: what a whole list needs on the way in stays with the process. kube asks for 500.
pub(crate) const PAGE: u32 = 100;

/// The store writers of the two kinds that are reconciled.
pub(crate) struct Writers {
    pub(crate) gslbs: ByGroup<StoreWriter<gslb::Guarded>>,
    pub(crate) zones: StoreWriter<zone_delegation::Guarded>,
    /// Whether there was any answer about the legacy group.
    pub(crate) legacy_heard: watch::Sender<bool>,
    /// Whether every Gslb of the legacy group is known: it was listed, or is not installed.
    pub(crate) legacy_known: watch::Sender<bool>,
}

/// Follows all watches until the daemon ends.
pub(crate) async fn follow(context: Arc<Context>, triggers: Triggers, writers: Writers) {
    let secondary = futures::future::join5(
        ingresses(&context, &triggers),
        services(&context, &triggers),
        slices(&context, &triggers),
        endpoints(&context, &triggers),
        zones(&context, &triggers, writers.zones),
    );
    let ByGroup { canonical, legacy } = writers.gslbs;
    let primary = futures::future::join(
        gslbs::<DeserializeGuard<Gslb>>(&context, &triggers, canonical, LAST_RETRY, |_| ()),
        legacy_gslbs(&context, &triggers, legacy, &writers.legacy_heard, &writers.legacy_known),
    );
    futures::future::join(secondary, primary).await;
}

/// Waits until every input has been read whole once.
pub(crate) async fn synced(context: &Context) {
    context.ingresses.synced().await;
    context.services.synced().await;
    context.slices.cache.synced().await;
    context.endpoints.synced().await;
    context.zones.synced().await;
}

fn ingresses(context: &Context, triggers: &Triggers) -> impl Future<Output = ()> {
    let ingresses = stream::<Ingress>(context);
    let ingresses = ingresses.inspect(|event| forget_unlisted(context, gslb::embedded::WHAT, event));
    context.ingresses.follow(ingresses, Into::into, move |all| {
        let glue = |facts: Option<&super::facts::IngressFacts>| facts.is_some_and(|facts| facts.ip_source);
        if all.iter().any(|changed| glue(changed.before) || glue(changed.after)) {
            triggers.send(Trigger::AllZoneDelegations);
        }
        for changed in all {
            if changed.after.is_none() {
                context.writer.forget(gslb::embedded::WHAT, changed.key);
                context.announcer.forget(annotated::WHAT, changed.key);
            }
            let asks =
                |facts: Option<&super::facts::IngressFacts>| facts.map(|facts| facts.annotated.clone());
            if asks(changed.before) != asks(changed.after) {
                triggers.send(Trigger::Ingress(changed.key.clone()));
            }
            wake_dependents(context, triggers, ObjectKind::Ingress, changed.key);
        }
    })
}

fn services(context: &Context, triggers: &Triggers) -> impl Future<Output = ()> {
    context.services.follow(stream::<Service>(context), Into::into, move |all| {
        for changed in all {
            wake_dependents(context, triggers, ObjectKind::Service, changed.key);
        }
        if all.iter().any(|changed| is_dns_service(context, changed)) {
            triggers.send(Trigger::AllZoneDelegations);
        }
    })
}

fn is_dns_service(context: &Context, changed: &Changed<'_, super::facts::ServiceFacts>) -> bool {
    use crate::config::DnsService;
    match &context.settings.dns_service {
        DnsService::Named { namespace, name } => {
            (&changed.key.namespace, &changed.key.name) == (namespace, name)
        }
        DnsService::CoreDnsLoadBalancer => {
            let labelled =
                [changed.before, changed.after].into_iter().flatten().any(|facts| facts.dns_server);
            labelled && changed.key.namespace == context.settings.namespace
        }
        DnsService::LabelledIngress => false,
    }
}

fn slices(context: &Context, triggers: &Triggers) -> impl Future<Output = ()> {
    let slices = stream::<EndpointSlice>(context);
    context.slices.cache.follow(slices, Into::into, move |all| {
        let services: BTreeSet<ServiceName> =
            all.iter().flat_map(|changed| context.slices.index(changed)).collect();
        for service in services {
            wake(context, triggers, &Dependency::service(&service));
        }
    })
}

fn endpoints(context: &Context, triggers: &Triggers) -> impl Future<Output = ()> {
    // All of them, also those without our labels: an apply would take a foreign object of the same name over.
    let endpoints = stream::<DeserializeGuard<DnsEndpoint>>(context);
    let endpoints = endpoints.inspect(|event| forget_unlisted(context, gslb::apply::WHAT, event));
    context.endpoints.follow(endpoints, EndpointFacts::read, move |all| {
        for changed in all {
            if changed.after.is_none() {
                context.writer.forget(gslb::apply::WHAT, changed.key);
            }
            if changed.key.namespace == context.settings.namespace && is_object_name(&changed.key.name) {
                triggers.send(Trigger::AllZoneDelegations);
            }
            let version = changed.after.map(|facts| facts.live.resource_version.as_str());
            if version
                .is_none_or(|version| context.writer.echoes.is_news(gslb::apply::WHAT, changed.key, version))
            {
                triggers.send(Trigger::Named(changed.key.clone()));
            }
        }
    })
}

async fn zones(context: &Context, triggers: &Triggers, mut writer: StoreWriter<zone_delegation::Guarded>) {
    let objects = stream::<zone_delegation::Guarded>(context);
    let objects = objects.inspect(move |event| {
        let before = match event {
            Ok(Event::Apply(object)) => triggers.zone(&Key::of(object)),
            _ => None,
        };
        store(&mut writer, event);
        // Also what is no fact is put right: a finalizer, a condition, the wish to be withdrawn.
        match event {
            Ok(Event::Apply(object)) => {
                let before = before.as_deref().map(Resource::meta);
                if is_news(context, zone_delegation::report::WHAT, before, object.meta()) {
                    triggers.send(Trigger::ZoneDelegation(Key::of(object)));
                }
            }
            Ok(Event::InitDone) => triggers.send(Trigger::AllZoneDelegations),
            _ => {}
        }
    });
    let read = |object| ZoneFacts::read(object, &context.zones);
    context
        .zones
        .follow(objects, read, move |all| {
            for changed in all {
                if changed.after.is_none() {
                    context.statuses.forget(&Whose::ZoneDelegation(changed.key.clone()));
                    context.writer.forget(zone_delegation::report::WHAT, changed.key);
                    context.announcer.forget(zone_delegation::report::WHAT, changed.key);
                    context.announcer.calm(zone_delegation::UNREADABLE, changed.key);
                    context.announcer.forget(zone_delegation::UNVERIFIED, changed.key);
                    context.metrics.forget_zone_delegation(&changed.key.name);
                    triggers.send(Trigger::ZoneDelegation(changed.key.clone()));
                }
            }
            let zone = |facts: Option<&ZoneFacts>| facts.map(|facts| facts.zone.clone());
            if all.iter().any(|changed| zone(changed.before) != zone(changed.after)) {
                triggers.send(Trigger::AllGslbs);
                triggers.send(Trigger::AllZoneDelegations);
            }
        })
        .await;
}

/// Whether an object is not just what our last write of its status made. An edit is none, and waits for no such write.
fn is_news(context: &Context, what: &'static str, before: Option<&ObjectMeta>, after: &ObjectMeta) -> bool {
    let key = Key::new(after.namespace.clone().unwrap_or_default(), after.name.clone().unwrap_or_default());
    let version = after.resource_version.as_deref().unwrap_or_default();
    !before.is_some_and(|before| has_same_spec(before, after))
        || context.writer.echoes.is_news(what, &key, version)
}

/// Whether two versions of an object differ in their status at most.
fn has_same_spec(one: &ObjectMeta, other: &ObjectMeta) -> bool {
    let edited =
        |meta: &ObjectMeta| ObjectMeta { resource_version: None, managed_fields: None, ..meta.clone() };
    edited(one) == edited(other)
}

/// The legacy group, which not every cluster has: it costs a request now and then, and stops nobody.
async fn legacy_gslbs(
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
fn is_not_installed(error: &watcher::Error) -> bool {
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

fn store<K>(writer: &mut StoreWriter<K>, event: &watcher::Result<Event<K>>)
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    if let Ok(event) = event {
        writer.apply_watcher_event(event);
    }
}

/// What was created and deleted while nobody watched is in no list.
fn forget_unlisted<K>(context: &Context, what: &'static str, event: &watcher::Result<Event<K>>) {
    if let Ok(Event::InitDone) = event {
        context.writer.forget_unlisted(what, |_| false);
    }
}

/// Wakes who depends on the object by name or by labels.
pub(crate) fn wake_dependents(context: &Context, triggers: &Triggers, kind: ObjectKind, key: &Key) {
    let namespaces = [key.namespace.clone(), String::new()];
    let any = namespaces.into_iter().map(|namespace| Dependency::Any(kind, namespace));
    for dependency in any.chain([Dependency::Object(kind, key.clone())]) {
        wake(context, triggers, &dependency);
    }
}

pub(crate) fn wake(context: &Context, triggers: &Triggers, dependency: &Dependency) {
    for gslb in context.registry.dependents(dependency) {
        triggers.send(Trigger::Gslb(gslb));
    }
}

/// A watch of all objects of a kind that starts again by itself, without the fields that nobody reads.
fn stream<K>(context: &Context) -> impl futures::Stream<Item = watcher::Result<Event<K>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    stream_with(context, LAST_RETRY)
}

fn stream_with<K>(
    context: &Context,
    longest_pause: Duration,
) -> impl futures::Stream<Item = watcher::Result<Event<K>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let (config, metrics) = (watching().page_size(PAGE), context.metrics.clone());
    let count = move |event: &watcher::Result<Event<K>>| match event {
        Err(error) if !is_not_installed(error) => metrics.watch_failed(&K::kind(&())),
        _ => {}
    };
    let events = watcher(Api::<K>::all(context.client.clone()), config).inspect(count);
    events.backoff(Pauses::up_to(longest_pause)).modify(|object| {
        // Nobody reads them, and they may be larger than the rest.
        object.managed_fields_mut().clear();
        object.annotations_mut().remove(marks::LAST_APPLIED);
    })
}
