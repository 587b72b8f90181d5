//! Every metric of `gslb-bridge run`: the one place for names, labels and what they mean.

use std::fmt::Write;

/// What a metric is, for Prometheus and for the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// As registered; a counter is exported with `_total`.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// Labels, in the order of the page.
    pub labels: &'static [&'static str],
    /// One sentence.
    pub help: &'static str,
}

/// Types of metrics that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; exported with `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Buckets.
    Histogram,
}

const OBJECT: &[&str] = &["namespace", "name"];
const BY_STATUS: &[&str] = &["namespace", "name", "status"];

macro_rules! catalog {
    ($($constant:ident = $kind:ident $name:literal $labels:expr => $help:literal;)*) => {
        $(
            pub(super) const $constant: Metric =
                Metric { name: $name, kind: Kind::$kind, labels: $labels, help: $help };
        )*
        /// All of them, in the order of the reference page: those that k8gb has first.
        pub const METRICS: &[Metric] = &[$($constant),*];
    };
}

catalog! {
    LOOPS = Counter "k8gb_gslb_reconciliation_loops" OBJECT
        => "Passes over a Gslb that were finished";
    ERRORS = Counter "k8gb_gslb_errors" OBJECT
        => "Passes over a Gslb that failed";
    HEALTHY_RECORDS = Gauge "k8gb_gslb_healthy_records" OBJECT
        => "Addresses that the hosts of a Gslb are answered with, all hosts together";
    HEALTHY_LOCAL_RECORDS = Gauge "k8gb_gslb_healthy_local_records" &["namespace", "name", "geotag"]
        => "How many of this cluster's own addresses are among them";
    SERVICE_STATUS = Gauge "k8gb_gslb_service_status_num" BY_STATUS
        => "Hosts of a Gslb by the health of their Services here";
    FAILOVER = Gauge "k8gb_gslb_status_count_for_failover" BY_STATUS
        => "Addresses answered by a failover Gslb, by the health of their hosts here and this cluster's part";
    ROUND_ROBIN = Gauge "k8gb_gslb_status_count_for_roundrobin" BY_STATUS
        => "Addresses answered by a roundRobin Gslb, by the health of their hosts here";
    GEOIP = Gauge "k8gb_gslb_status_count_for_geoip" BY_STATUS
        => "Addresses answered by a geoip Gslb, by the health of their hosts here";
    RECORDS = Gauge "k8gb_endpoint_status_num" &["namespace", "name", "dns_name"]
        => "Addresses of each published record";
    REQUESTS = Histogram "k8gb_infoblox_request_duration" &["request", "success"]
        => "Duration of requests to the Infoblox WAPI in seconds";
    ZONE_UPDATES = Counter "k8gb_infoblox_zone_updates" OBJECT
        => "Changes of a delegation that the grid took, by ZoneDelegation";
    ZONE_UPDATE_ERRORS = Counter "k8gb_infoblox_zone_update_errors" OBJECT
        => "Changes of a delegation that failed at the grid, by ZoneDelegation";
    HEARTBEATS = Counter "k8gb_infoblox_heartbeats" OBJECT
        => "For dashboards made for k8gb: there are no heartbeats, there or here, so it stays 0";
    HEARTBEAT_ERRORS = Counter "k8gb_infoblox_heartbeat_errors" OBJECT
        => "For dashboards made for k8gb: there are no heartbeats, there or here, so it stays 0";
    RUNTIME_INFO = Gauge "k8gb_runtime_info" &["namespace", "k8gb_version", "go_version", "arch", "os", "git_sha"]
        => "This process, always 1; go_version is none";
    PEER_VIEWS = Gauge "gslb_bridge_peer_views" &["peer", "state"]
        => "Hosts by peer and by the state of this cluster's view of them";
    HOST_RECORDS = Gauge "gslb_bridge_host_records" &["zone", "holder"]
        => "Address records of hosts in a zone of records mode: this cluster's own, those of the fleet, and foreign ones";
    CHANGES = Counter "gslb_bridge_provider_changes" &["provider", "action", "result"]
        => "Changes at a provider by what came of them";
    CALLS = Counter "gslb_bridge_provider_calls" &["provider", "success"]
        => "Requests to a grid or a webhook, by the name of its provider and by whether they succeeded";
    WATCH_FAILURES = Counter "gslb_bridge_watch_failures" &["kind"]
        => "Lists and watches of the Kubernetes API that failed, silence included; each is tried again";
}

/// The metrics as a table for the reference page.
pub fn reference() -> String {
    let mut table = String::from("| Metric | Type | Labels | Meaning |\n|---|---|---|---|\n");
    for Metric { name, kind, labels, help } in METRICS {
        let (suffix, kind) = match kind {
            Kind::Counter => ("_total", "counter"),
            Kind::Gauge => ("", "gauge"),
            Kind::Histogram => ("", "histogram"),
        };
        let labels = labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>().join(", ");
        writeln!(table, "| `{name}{suffix}` | {kind} | {labels} | {help}. |").expect("a String takes all");
    }
    table
}
