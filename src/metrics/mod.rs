//! The daemon's metrics. Names that k8gb has keep their names and labels (contract §7.4); ours start with
//! `gslb_bridge_`. Labels come from closed sets, or name one of our objects, and go with it.

mod catalog;
mod gslbs;

use std::time::Duration;

use gslb_core::changelog::ChangeResult;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::ToldState;
use gslb_core::publication::Figures;
use gslb_core::records::ZoneRecords;
use gslb_provider_contract::ProviderId;
use gslb_provider_infoblox::{CallObserver, Infoblox, Operation};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric as Registrable, Registry};

pub use self::catalog::{Kind, METRICS, Metric, reference};
use self::gslbs::Gslbs;
use crate::controller::cache::Key;
use crate::controller::ledger::CountChanges;

/// Upper bounds in seconds: k8gb's (contract §7.4).
const REQUEST_BUCKETS: [f64; 5] = [0.2, 0.8, 3.2, 12.8, 51.2];

/// Name of the series that stand for nothing yet (contract §7.4).
const PLACEHOLDER: &str = "init";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Object {
    namespace: String,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    request: &'static str,
    success: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Peer {
    peer: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Change {
    provider: String,
    action: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Held {
    zone: String,
    holder: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Calls {
    provider: String,
    success: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Watched {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuntimeInfo {
    namespace: String,
    k8gb_version: &'static str,
    go_version: &'static str,
    arch: &'static str,
    os: &'static str,
    git_sha: &'static str,
}

/// Handle to all metrics; clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    loops: Family<Object, Counter>,
    errors: Family<Object, Counter>,
    requests: Family<Request, Histogram>,
    views: Family<Peer, Gauge>,
    host_records: Family<Held, Gauge>,
    changes: Family<Change, Counter>,
    calls: Family<Calls, Counter>,
    watch_failures: Family<Watched, Counter>,
    zone_updates: Family<Object, Counter>,
    zone_update_errors: Family<Object, Counter>,
    gslbs: Gslbs,
    /// Own namespace: a ZoneDelegation has none.
    namespace: String,
}

impl Metrics {
    /// Registers everything. Each counter of k8gb gets one series at 0 whose name is `init`, as there.
    pub(crate) fn new(registry: &mut Registry, namespace: &str, geo_tag: &GeoTag) -> Self {
        let placeholder = Key::new(namespace, PLACEHOLDER);
        let counter = || {
            let family = Family::<Object, Counter>::default();
            drop(family.get_or_create(&object(namespace, PLACEHOLDER)));
            family
        };
        let metrics = Self {
            loops: counter(),
            errors: counter(),
            requests: Family::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS)),
            views: Family::default(),
            host_records: Family::default(),
            changes: Family::default(),
            calls: Family::default(),
            watch_failures: Family::default(),
            zone_updates: counter(),
            zone_update_errors: counter(),
            gslbs: Gslbs::new(placeholder, geo_tag.to_string()),
            namespace: namespace.to_owned(),
        };
        register(registry, &catalog::LOOPS, metrics.loops.clone());
        register(registry, &catalog::ERRORS, metrics.errors.clone());
        registry.register_collector(Box::new(metrics.gslbs.clone()));
        register(registry, &catalog::REQUESTS, metrics.requests.clone());
        register(registry, &catalog::ZONE_UPDATES, metrics.zone_updates.clone());
        register(registry, &catalog::ZONE_UPDATE_ERRORS, metrics.zone_update_errors.clone());
        register(registry, &catalog::HEARTBEATS, counter());
        register(registry, &catalog::HEARTBEAT_ERRORS, counter());
        register(registry, &catalog::RUNTIME_INFO, runtime_info(namespace));
        register(registry, &catalog::PEER_VIEWS, metrics.views.clone());
        register(registry, &catalog::HOST_RECORDS, metrics.host_records.clone());
        register(registry, &catalog::CHANGES, metrics.changes.clone());
        register(registry, &catalog::CALLS, metrics.calls.clone());
        register(registry, &catalog::WATCH_FAILURES, metrics.watch_failures.clone());
        metrics
    }

    /// A pass over a Gslb was finished.
    pub(crate) fn pass_finished(&self, namespace: &str, name: &str) {
        self.loops.get_or_create(&object(namespace, name)).inc();
    }

    /// A pass over a Gslb failed.
    pub(crate) fn pass_failed(&self, namespace: &str, name: &str) {
        self.errors.get_or_create(&object(namespace, name)).inc();
    }

    /// A list or watch of a kind failed.
    pub(crate) fn watch_failed(&self, kind: &str) {
        self.watch_failures.get_or_create(&Watched { kind: kind.to_owned() }).inc();
    }

    /// What the latest pass over a Gslb counted.
    pub(crate) fn counted(&self, gslb: Key, figures: Figures) {
        self.gslbs.set(gslb, figures);
    }

    /// A Gslb is gone, and its series with it.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
        self.gslbs.forget(&Key::new(namespace, name));
        self.loops.remove(&object(namespace, name));
        self.errors.remove(&object(namespace, name));
    }

    /// One more host is in this state.
    pub(crate) fn view_entered(&self, peer: &str, state: &'static str) {
        self.views.get_or_create(&Peer { peer: peer.to_owned(), state }).inc();
    }

    /// One host less is in this state.
    pub(crate) fn view_left(&self, peer: &str, state: &'static str) {
        self.views.get_or_create(&Peer { peer: peer.to_owned(), state }).dec();
    }

    /// A peer is no member any more, and its series go.
    pub(crate) fn forget_peer(&self, peer: &str) {
        for state in ToldState::ALL {
            self.views.remove(&Peer { peer: peer.to_owned(), state: state.as_str() });
        }
    }

    /// What a read of a zone in records mode showed.
    pub(crate) fn records_seen(&self, zone: &DomainName, own: &GeoTag, found: &ZoneRecords) {
        let mut counts = [("own", 0), ("fleet", 0), ("foreign", 0)];
        for record in found.values().flat_map(|host| host.records.values()) {
            let place = match record.holder(zone) {
                Some(tag) if tag == own => 0,
                Some(_) => 1,
                None => 2,
            };
            counts[place].1 += 1;
        }
        for (holder, count) in counts {
            self.host_records.get_or_create(&Held { zone: zone.to_string(), holder }).set(count);
        }
    }

    /// A ZoneDelegation is gone, and its series with it.
    pub(crate) fn forget_zone_delegation(&self, name: &str) {
        self.zone_updates.remove(&object(&self.namespace, name));
        self.zone_update_errors.remove(&object(&self.namespace, name));
    }
}

impl CountChanges for Metrics {
    fn change_made(
        &self,
        provider: &ProviderId,
        zone_delegation: Option<&str>,
        action: &'static str,
        result: ChangeResult,
    ) {
        let labels = Change { provider: provider.to_string(), action, result: result.as_str() };
        self.changes.get_or_create(&labels).inc();
        let Some(zone_delegation) = zone_delegation.filter(|_| provider.kind() == Infoblox::ID) else {
            return;
        };
        let labels = object(&self.namespace, zone_delegation);
        match result {
            ChangeResult::Applied => self.zone_updates.get_or_create(&labels).inc(),
            ChangeResult::Failed => self.zone_update_errors.get_or_create(&labels).inc(),
            ChangeResult::NotApplied | ChangeResult::AwaitingApproval | ChangeResult::Unknown => return,
        };
    }
}

/// Counts the requests to one grid or webhook.
#[derive(Debug)]
pub(crate) struct GridCalls {
    metrics: Metrics,
    provider: String,
}

impl Metrics {
    /// For the provider of this name.
    pub(crate) fn of_grid(&self, provider: &str) -> GridCalls {
        GridCalls { metrics: self.clone(), provider: provider.to_owned() }
    }
}

impl CallObserver for GridCalls {
    fn on_call(&self, operation: Operation, success: bool, duration: Duration) {
        let success = if success { "true" } else { "false" };
        // k8gb's, which knows one grid only.
        let labels = Request { request: operation.as_str(), success };
        self.metrics.requests.get_or_create(&labels).observe(duration.as_secs_f64());
        self.metrics.calls.get_or_create(&Calls { provider: self.provider.clone(), success }).inc();
    }
}

/// k8gb has no metric for it.
impl gslb_provider_webhook::CallObserver for GridCalls {
    fn on_call(&self, success: bool) {
        let success = if success { "true" } else { "false" };
        self.metrics.calls.get_or_create(&Calls { provider: self.provider.clone(), success }).inc();
    }
}

fn register(registry: &mut Registry, metric: &Metric, family: impl Registrable) {
    registry.register(metric.name, metric.help, family);
}

fn runtime_info(namespace: &str) -> Family<RuntimeInfo, Gauge> {
    let info: Family<RuntimeInfo, Gauge> = Family::default();
    let labels = RuntimeInfo {
        namespace: namespace.to_owned(),
        k8gb_version: env!("CARGO_PKG_VERSION"),
        go_version: "none",
        arch: std::env::consts::ARCH,
        os: std::env::consts::OS,
        git_sha: option_env!("GSLB_BRIDGE_COMMIT").unwrap_or("unknown"),
    };
    info.get_or_create(&labels).set(1);
    info
}

fn object(namespace: &str, name: &str) -> Object {
    Object { namespace: namespace.to_owned(), name: name.to_owned() }
}

#[cfg(test)]
mod tests;
