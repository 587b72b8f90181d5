//! Watches every input, and turns what changed into triggers.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_crds::DnsEndpoint;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::store::Writer as StoreWriter;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::cache::{Chain, Changed, Key};
use super::context::Context;
use super::gslb::live::EndpointFacts;
use super::registry::Dependency;
use super::zone_delegation::live::ZoneFacts;
use gslb_provider_external_dns::is_delegation;

use super::{Trigger, Triggers, annotated, gslb, zone_delegation};
use crate::watch_retry::Pauses;
use gslb_core::publication::ServiceName;
use gslb_core::reference::ObjectKind;

/// Longest pause before a watch that failed is started again; with jitter twice as long. An API server that is back
/// must not wait long for us: until then this cluster's health is blind.
const LAST_RETRY: Duration = Duration::from_millis(1500);

/// The store writers of the two kinds that are reconciled.
pub(crate) struct Writers {
    pub(crate) gslbs: StoreWriter<gslb::Guarded>,
    pub(crate) zones: StoreWriter<zone_delegation::Guarded>,
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
    futures::future::join(secondary, gslbs(&context, &triggers, writers.gslbs)).await;
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
    let ingresses = stream::<Ingress>(context, &watcher::Config::default());
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
    context.services.follow(stream::<Service>(context, &watcher::Config::default()), Into::into, move |all| {
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
    let slices = stream::<EndpointSlice>(context, &watcher::Config::default());
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
    let endpoints = stream::<DeserializeGuard<DnsEndpoint>>(context, &watcher::Config::default());
    let endpoints = endpoints.inspect(|event| forget_unlisted(context, gslb::apply::WHAT, event));
    context.endpoints.follow(endpoints, EndpointFacts::read, move |all| {
        for changed in all {
            if changed.after.is_none() {
                context.writer.forget(gslb::apply::WHAT, changed.key);
            }
            if changed.key.namespace == context.settings.namespace && is_delegation(&changed.key.name) {
                triggers.send(Trigger::AllZoneDelegations);
            }
            triggers.send(Trigger::Gslb(changed.key.clone()));
        }
    })
}

async fn zones(context: &Context, triggers: &Triggers, mut writer: StoreWriter<zone_delegation::Guarded>) {
    let objects = stream::<zone_delegation::Guarded>(context, &watcher::Config::default());
    let objects = objects.inspect(move |event| store(&mut writer, event));
    let read = |object| ZoneFacts::read(object, &context.zones);
    context
        .zones
        .follow(objects, read, move |all| {
            for changed in all {
                if changed.after.is_none() {
                    context.writer.forget(zone_delegation::report::WHAT, changed.key);
                    context.announcer.forget(zone_delegation::report::WHAT, changed.key);
                    context.metrics.forget_zone_delegation(&changed.key.name);
                }
                triggers.send(Trigger::ZoneDelegation(changed.key.clone()));
            }
            let zone = |facts: Option<&ZoneFacts>| facts.map(|facts| facts.zone.clone());
            if all.iter().any(|changed| zone(changed.before) != zone(changed.after)) {
                triggers.send(Trigger::AllGslbs);
                triggers.send(Trigger::AllZoneDelegations);
            }
        })
        .await;
}

async fn gslbs(context: &Context, triggers: &Triggers, mut writer: StoreWriter<gslb::Guarded>) {
    let events = stream::<gslb::Guarded>(context, &watcher::Config::default());
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        match &event {
            Ok(Event::Apply(gslb)) => {
                store(&mut writer, &event);
                triggers.send(Trigger::Gslb(Key::of(gslb)));
                triggers.send(Trigger::Ingress(Key::of(gslb)));
            }
            // A pass that finds no object forgets it: whatever pass was under way has ended by then.
            Ok(Event::Delete(gslb)) => {
                store(&mut writer, &event);
                context.writer.forget(annotated::WHAT, &Key::of(gslb));
                triggers.send(Trigger::Gslb(Key::of(gslb)));
                triggers.send(Trigger::Ingress(Key::of(gslb)));
            }
            Ok(Event::InitDone) => {
                let before: Vec<Key> =
                    triggers.gslb_store.state().iter().map(|gslb| Key::of(&**gslb)).collect();
                store(&mut writer, &event);
                context.writer.forget_unlisted(annotated::WHAT, |_| false);
                let listed = triggers.gslb_store.state();
                let listed = listed.iter().map(|gslb| Key::of(&**gslb));
                for key in before.into_iter().chain(listed).collect::<BTreeSet<_>>() {
                    triggers.send(Trigger::Gslb(key.clone()));
                    triggers.send(Trigger::Ingress(key));
                }
            }
            Ok(Event::Init | Event::InitApply(_)) => store(&mut writer, &event),
            Err(error) => {
                tracing::warn!(error = %Chain(error), kind = "Gslb", "A watch failed; it is tried again.")
            }
        }
    }
}

/// A deleted Gslb hands its hosts over and is forgotten everywhere.
pub(crate) fn forget(context: &Context, triggers: &Triggers, key: &Key) {
    for other in context.registry.forget(key) {
        triggers.send(Trigger::Gslb(other));
    }
    context.book.watch(|| context.registry.hosts(), context.now());
    context.writer.forget(gslb::report::WHAT, key);
    context.metrics.forget(&key.namespace, &key.name);
    context.announcer.forget(gslb::report::WHAT, key);
    context.addresses.lock().expect("no panic while the addresses are locked").remove(key);
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
fn stream<K>(
    context: &Context,
    config: &watcher::Config,
) -> impl futures::Stream<Item = watcher::Result<Event<K>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    watcher(Api::<K>::all(context.client.clone()), config.clone())
        .backoff(Pauses::up_to(LAST_RETRY))
        .modify(|object| object.managed_fields_mut().clear())
}
