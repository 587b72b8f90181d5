//! The daemon's metrics. Names that k8gb has keep their names and labels (contract §7.4); ours start with
//! `gslb_bridge_`. Labels come from closed sets, or name one of our objects, and go with it.

use std::time::Duration;

use gslb_provider_infoblox::{CallObserver, Operation};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds in seconds: k8gb's (contract §7.4).
const REQUEST_BUCKETS: [f64; 5] = [0.2, 0.8, 3.2, 12.8, 51.2];

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
struct RuntimeInfo {
    namespace: String,
    k8gb_version: &'static str,
    arch: &'static str,
    os: &'static str,
}

/// Handle to all metrics; clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Metrics {
    loops: Family<Object, Counter>,
    errors: Family<Object, Counter>,
    requests: Family<Request, Histogram>,
    views: Family<Peer, Gauge>,
    changes: Family<Change, Counter>,
}

impl Metrics {
    /// Registers everything.
    pub(crate) fn new(registry: &mut Registry, namespace: &str) -> Self {
        let metrics = Self {
            loops: Family::default(),
            errors: Family::default(),
            requests: Family::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS)),
            views: Family::default(),
            changes: Family::default(),
        };
        let loops = "Passes over a Gslb that were finished";
        registry.register("k8gb_gslb_reconciliation_loops", loops, metrics.loops.clone());
        registry.register("k8gb_gslb_errors", "Passes over a Gslb that failed", metrics.errors.clone());
        let requests = "Duration of requests to the Infoblox WAPI in seconds";
        registry.register("k8gb_infoblox_request_duration", requests, metrics.requests.clone());
        let views = "Hosts by peer and by the state of this cluster's view of them";
        registry.register("gslb_bridge_peer_views", views, metrics.views.clone());
        let changes = "Changes at a provider by what came of them";
        registry.register("gslb_bridge_provider_changes", changes, metrics.changes.clone());
        let info: Family<RuntimeInfo, Gauge> = Family::default();
        let version = env!("CARGO_PKG_VERSION");
        let labels = RuntimeInfo {
            namespace: namespace.to_owned(),
            k8gb_version: version,
            arch: std::env::consts::ARCH,
            os: std::env::consts::OS,
        };
        info.get_or_create(&labels).set(1);
        registry.register("k8gb_runtime_info", "This process, always 1", info);
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

    /// A Gslb is gone, and its series with it.
    pub(crate) fn forget(&self, namespace: &str, name: &str) {
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

    /// A change at a provider ended.
    pub(crate) fn change_made(&self, provider: &str, action: &'static str, result: &'static str) {
        self.changes.get_or_create(&Change { provider: provider.to_owned(), action, result }).inc();
    }
}

impl CallObserver for Metrics {
    fn on_call(&self, operation: Operation, success: bool, duration: Duration) {
        let labels = Request { request: operation.as_str(), success: if success { "true" } else { "false" } };
        self.requests.get_or_create(&labels).observe(duration.as_secs_f64());
    }
}

fn object(namespace: &str, name: &str) -> Object {
    Object { namespace: namespace.to_owned(), name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn page(registry: &Registry) -> String {
        let mut page = String::new();
        encode(&mut page, registry).unwrap();
        page
    }

    #[test]
    fn the_series_of_a_deleted_gslb_go_with_it() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry, "gslb-bridge");
        metrics.pass_finished("web", "shop");
        metrics.pass_failed("web", "shop");
        let line = r#"k8gb_gslb_reconciliation_loops_total{namespace="web",name="shop"} 1"#;
        assert!(page(&registry).contains(line), "{}", page(&registry));
        metrics.forget("web", "shop");
        assert!(!page(&registry).contains("shop"), "{}", page(&registry));
    }

    #[test]
    fn requests_are_counted_in_k8gbs_buckets() {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry, "gslb-bridge");
        metrics.on_call(Operation::ZoneRead, true, Duration::from_millis(500));
        let line = r#"k8gb_infoblox_request_duration_bucket{le="0.8",request="ZoneRead",success="true"} 1"#;
        assert!(page(&registry).contains(line), "{}", page(&registry));
    }
}
