//! What the DNS server needs to know besides the cluster's objects.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use gslb_core::name::GeoTag;
use gslb_core::zone::{NsPrefix, Zone};

/// Settled settings of `gslb-bridge dns`.
#[derive(Debug, Clone)]
pub struct DnsSettings {
    /// Where questions come in, UDP and TCP each.
    pub listen: Vec<SocketAddr>,
    /// Where the health and metrics pages are, as `host:port`.
    pub metrics_address: String,
    /// Zones that are served even before a ZoneDelegation is seen.
    pub zones: Vec<Zone>,
    /// What every name server name of the fleet starts with.
    pub ns_prefix: NsPrefix,
    /// This cluster, if it has a name.
    pub own_tag: Option<GeoTag>,
    /// The other clusters, as configured.
    pub peer_tags: BTreeSet<GeoTag>,
    /// Where the last snapshot is kept, so that a restart without an API server answers.
    pub snapshot_file: Option<PathBuf>,
    /// How long questions are still answered after the request to stop, while "not ready" spreads.
    pub drain: Duration,
}
