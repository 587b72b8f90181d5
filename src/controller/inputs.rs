//! Watches every input, and turns what changed into triggers.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_crds::{DnsEndpoint, marks};
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

use super::cache::{Changed, Key};
use super::context::Context;
use super::gslb::live::EndpointFacts;
use super::registry::Dependency;
use super::statuses::Whose;
use super::zone_delegation::live::ZoneFacts;

use super::gslb::group::ByGroup;
use super::{Trigger, Triggers, annotated, gslb, zone_delegation};
use crate::kube_client::watching;
use crate::watch_retry::Pauses;
use gslb_core::delegation::is_object_name;
use gslb_core::publication::ServiceName;
use gslb_core::reference::ObjectKind;

/// Longest pause before a watch that failed is started again; with jitter twice as long. An API server that is back
/// must not wait long for us: until then this cluster's health is blind.
pub(super) const LAST_RETRY: Duration = Duration::from_millis(1500);

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
        gslb::watch::canonical(&context, &triggers, canonical),
        gslb::watch::legacy(&context, &triggers, legacy, &writers.legacy_heard, &writers.legacy_known),
    );
    futures::future::join(secondary, primary).await;
}

/// Waits until every input has been read whole once, DNSEndpoints excepted if the API server has no such kind: whoever
/// forgot to install it is told by conditions, which passes write.
pub(crate) async fn heard(context: &Context) {
    context.ingresses.synced().await;
    context.services.synced().await;
    context.slices.cache.synced().await;
    context.zones.synced().await;
    let mut missing = context.endpoints_missing.subscribe();
    tokio::select! {
        () = context.endpoints.synced() => {}
        // The sender lives as long as the context.
        Ok(_) = missing.wait_for(|missing| *missing) => {}
    }
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
    let endpoints = endpoints.inspect(|event| {
        forget_unlisted(context, gslb::apply::WHAT, event);
        let missing = match event {
            Ok(Event::InitDone) => false,
            Err(error) if gslb::watch::is_not_installed(error) => true,
            Ok(_) | Err(_) => return,
        };
        if context.endpoints_missing.send_replace(missing) != missing {
            triggers.send(Trigger::AllGslbs);
        }
    });
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
pub(in crate::controller) fn is_news(
    context: &Context,
    what: &'static str,
    before: Option<&ObjectMeta>,
    after: &ObjectMeta,
) -> bool {
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

pub(super) fn stream_with<K>(
    context: &Context,
    longest_pause: Duration,
) -> impl futures::Stream<Item = watcher::Result<Event<K>>> + use<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let (config, metrics) = (watching().page_size(PAGE), context.metrics.clone());
    let count = move |event: &watcher::Result<Event<K>>| match event {
        Err(error) if !gslb::watch::is_not_installed(error) => metrics.watch_failed(&K::kind(&())),
        _ => {}
    };
    let events = watcher(Api::<K>::all(context.client.clone()), config).inspect(count);
    events.backoff(Pauses::up_to(longest_pause)).modify(|object| {
        // Nobody reads them, and they may be larger than the rest.
        object.managed_fields_mut().clear();
        object.annotations_mut().remove(marks::LAST_APPLIED);
    })
}
