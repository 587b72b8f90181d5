//! What the DNS server counts. Labels come from closed sets, never from what clients send.

use hickory_proto::op::ResponseCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::snapshot::{Snapshot, Source};

/// Handles to every metric of the server; clones share their values.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    queries: Family<QueryLabels, Counter>,
    truncated: Counter,
    snapshots: Counter,
    /// Unix time at which the served data was read from the cluster; 0 before there is any.
    snapshot_time: Gauge,
    zones: Gauge,
    names: Gauge,
    skipped: Gauge,
    stale: Gauge,
    watch_errors: Family<KindLabels, Counter>,
    file_errors: Counter,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueryLabels {
    rcode: &'static str,
    transport: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

impl Metrics {
    /// One answer was decided.
    pub fn count_query(&self, rcode: ResponseCode, udp: bool, truncated: bool) {
        let transport = if udp { "udp" } else { "tcp" };
        self.queries.get_or_create(&QueryLabels { rcode: rcode_label(rcode), transport }).inc();
        if truncated {
            self.truncated.inc();
        }
    }

    /// A new snapshot is served. `read_at`: Unix time at which its data was read from the cluster.
    pub fn publish(&self, snapshot: &Snapshot, read_at: i64) {
        self.snapshots.inc();
        self.snapshot_time.set(read_at);
        self.zones.set(count(snapshot.zone_count()));
        self.names.set(count(snapshot.host_count()));
        self.stale.set(i64::from(snapshot.source() == Source::Disk));
    }

    /// How many objects, zones or entries cannot be served as they are.
    pub fn set_skipped(&self, skipped: usize) {
        self.skipped.set(count(skipped));
    }

    /// A watch failed.
    pub fn count_watch_error(&self, kind: &'static str) {
        self.watch_errors.get_or_create(&KindLabels { kind }).inc();
    }

    /// The snapshot file could not be written.
    pub fn count_file_error(&self) {
        self.file_errors.inc();
    }

    /// The text of the metrics page at the Unix time `now`.
    pub fn page(&self, now: i64) -> String {
        let mut registry = Registry::with_prefix("gslb_bridge_dns");
        registry.register("queries", "Answered questions", self.queries.clone());
        registry.register("truncated", "Answers sent with TC", self.truncated.clone());
        registry.register("snapshots", "Snapshots put into service", self.snapshots.clone());
        registry.register("zones", "Zones served", self.zones.clone());
        registry.register("names", "Published names served", self.names.clone());
        registry.register("skipped", "Entries that cannot be served as they are", self.skipped.clone());
        registry.register("snapshot_stale", "1 while the answers come from the file", self.stale.clone());
        registry.register("watch_errors", "Failures of a watch", self.watch_errors.clone());
        registry.register(
            "snapshot_file_errors",
            "Failed writes of the snapshot file",
            self.file_errors.clone(),
        );
        let age: Gauge = Gauge::default();
        let read_at = self.snapshot_time.get();
        if read_at > 0 {
            age.set(now - read_at);
        }
        registry.register("snapshot_age_seconds", "Time since the served data was last read", age);
        let mut page = String::new();
        encode(&mut page, &registry).expect("writing to a string never fails");
        page
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn rcode_label(rcode: ResponseCode) -> &'static str {
    match rcode {
        ResponseCode::NoError => "NOERROR",
        ResponseCode::NXDomain => "NXDOMAIN",
        ResponseCode::ServFail => "SERVFAIL",
        ResponseCode::Refused => "REFUSED",
        ResponseCode::FormErr => "FORMERR",
        ResponseCode::NotImp => "NOTIMP",
        ResponseCode::BADVERS => "BADVERS",
        _ => "OTHER",
    }
}
