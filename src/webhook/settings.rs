//! What the webhook is told.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use gslb_core::name::{DomainName, GeoTag};
use gslb_crds::provider_change::LogName;

use crate::config::{ChangeLogSettings, InfobloxSettings, LogSettings, ServerAddress, Warning};

/// Settings of `gslb-bridge webhook`.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// Domains that are written in, with all beneath them. Never empty.
    pub domains: Vec<DomainName>,
    /// Where external-dns reaches it.
    pub listen: SocketAddr,
    /// Whose the records are.
    pub owner: GeoTag,
    /// The change log, which is this owner's alone.
    pub log_name: LogName,
    /// Whose records count as ours, too.
    pub adoption: Adoption,
    /// How much of what is ours one request may take away.
    pub max_deleted_percent: usize,
    /// Most endpoints in one request.
    pub max_endpoints: usize,
    /// After so long a request is answered.
    pub deadline: Duration,
    /// What the grid is called.
    pub provider: String,
    /// Where is written.
    pub grid: InfobloxSettings,
    /// Own namespace.
    pub namespace: String,
    /// Own name in the change log.
    pub pod_name: String,
    /// Where health and metrics are served.
    pub metrics_address: ServerAddress,
    /// The change log beyond its objects.
    pub change_log: ChangeLogSettings,
    /// Logs.
    pub log: LogSettings,
    /// What works, but not as its author may think.
    pub warnings: Vec<Warning>,
}

/// Records of another webhook that are taken over: those without a claim whose TXT record names one of these owners.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Adoption {
    /// `--txt-owner-id` of external-dns. Empty: none are taken over.
    pub owners: BTreeSet<String>,
    /// `--txt-prefix`, in lower case.
    pub prefix: String,
}
