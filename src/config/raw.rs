//! The environment variables, and what the user wrote into them.

use std::collections::BTreeMap;
use std::fmt;

/// One documented environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it holds when it is not set, in the same notation.
    pub default: &'static str,
    /// One sentence for the reference.
    pub meaning: &'static str,
    /// Whether its value is never shown.
    pub secret: bool,
}

const fn var(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default, meaning, secret: false }
}

const fn secret(name: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default: "", meaning, secret: true }
}

/// Every variable that is read. The first part is k8gb's (contract §7.1), the second ours.
pub const VARIABLES: &[Variable] = &[
    var("CLUSTER_GEO_TAG", "", "Tag of this cluster. Required."),
    var(
        "EXT_GSLB_CLUSTERS_GEO_TAGS",
        "",
        "Tags of the peers, comma separated; may contain the own. With Infoblox they are found if it is empty.",
    ),
    var("DNS_ZONES", "", "Zones: parent:zone:negativeTTL, separated by semicolons."),
    var(
        "EDGE_DNS_SERVERS",
        "",
        "Resolvers for glue and names: host or host:port, comma separated. Required.",
    ),
    var("EDGE_DNS_SERVER", "", "Deprecated: one resolver, used if EDGE_DNS_SERVERS is empty."),
    var("EDGE_DNS_SERVER_PORT", "53", "Deprecated: port of EDGE_DNS_SERVER."),
    var("RECONCILE_REQUEUE_SECONDS", "30", "Safety-net period of Gslbs; 0: events only."),
    var("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "300", "Period of ZoneDelegations; 0: events only."),
    var(
        "ZONE_DELEGATION_RECOVERY_SECONDS",
        "3600",
        "Accepted for k8gb's sake; has no effect there nor here.",
    ),
    var(
        "NS_RECORD_TTL",
        "30",
        "TTL of name server records and glue in this cluster's answers, and of a delegation that has none, in seconds.",
    ),
    var("POD_NAMESPACE", "k8gb", "Own namespace."),
    var(
        "COREDNS_SERVICE_TYPE",
        "ClusterIP",
        "Where the cluster's DNS addresses come from (LoadBalancer or not).",
    ),
    var("COREDNS_EXPOSED", "false", "Accepted for k8gb's sake; has no effect there nor here."),
    var(
        "CLUSTER_EXPOSED_IPS",
        "",
        "IPv4 addresses that replace those found in the cluster, comma separated.",
    ),
    var("EXTDNS_ENABLED", "false", "Publish the delegation through external-dns."),
    var(
        "METRICS_ADDRESS",
        "0.0.0.0:8080",
        "Where /metrics, /livez and /readyz are served: host or host:port.",
    ),
    var("TRACING_ENABLED", "false", "Export traces over OTLP."),
    var("TRACING_SAMPLING_RATIO", "1.0", "Share of traces to keep, 0 to 1."),
    var("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "host:port of the collector."),
    var("GLUEA_PREFIX", "gslb-ns-", "What every name server name of the fleet starts with; may be empty."),
    var(
        "INFOBLOX_GRID_HOST",
        "",
        "Grid Master, or several addresses that may be it, comma separated; selects Infoblox.",
    ),
    var("INFOBLOX_WAPI_PORT", "443", "HTTPS port of the WAPI."),
    secret("INFOBLOX_WAPI_USERNAME", "WAPI account; a mounted file is better."),
    secret("INFOBLOX_WAPI_PASSWORD", "WAPI password; a mounted file is better."),
    var("INFOBLOX_WAPI_VERSION", "2.12", "WAPI version, with or without a leading v."),
    var("INFOBLOX_HTTP_REQUEST_TIMEOUT", "20", "Deadline of one WAPI request, in seconds."),
    var("INFOBLOX_HTTP_POOL_CONNECTIONS", "10", "Accepted for k8gb's sake; has no effect here."),
    var("INFOBLOX_DNS_VIEW", "default", "DNS view in which the delegation is created."),
    var("LOG_LEVEL", "info", "error, warn, info, debug or trace."),
    var("LOG_FORMAT", "simple", "simple (stderr) or json (stdout)."),
    var("NO_COLOR", "false", "No colours in the simple format."),
    var(
        "PEER_SWEEP_SECONDS",
        "5",
        "How often peers are asked; never less often than RECONCILE_REQUEUE_SECONDS says.",
    ),
    var("PEER_HOLD_SECONDS", "300", "How long evidence may stand in for the word of a silent peer."),
    var(
        "LAST_RESORT_SECONDS",
        "3600",
        "How old targets of a silent peer may be when nothing else is left; 0: never.",
    ),
    var("DNS_SOURCE_ADDRESS", "", "Address that DNS questions are asked from; the system's choice if empty."),
    var("DNS_SERVICE", "", "namespace/name of the Service whose addresses become glue."),
    var("NAMESPACE_POLICY", "off", "Whether Namespaces say what their Gslbs may do: off or enforce."),
    var("INFOBLOX_CA_FILE", "", "PEM bundle that the grid's certificate is checked with."),
    var(
        "HTTPS_PROXY",
        "",
        "Proxy for requests to the grid: a URL; also read as https_proxy. A password in it is never shown.",
    ),
    var(
        "NO_PROXY",
        "",
        "Hosts, domains and networks that are asked without it, comma separated; also no_proxy.",
    ),
    var("INFOBLOX_CLIENT_CERT_FILE", "", "PEM file with a client certificate for the grid."),
    var("INFOBLOX_CLIENT_KEY_FILE", "", "PEM file with the key of INFOBLOX_CLIENT_CERT_FILE."),
    var(
        "INFOBLOX_RESTART_POLICY",
        "never",
        "Whether the grid's DNS service is restarted to serve a change: never or if-needed.",
    ),
    var("SSL_CERT_FILE", "", "Used where INFOBLOX_CA_FILE is empty."),
    var("INFOBLOX_WAPI_USERNAME_FILE", "", "Mounted file with the WAPI account; read again when it changes."),
    var(
        "INFOBLOX_WAPI_PASSWORD_FILE",
        "",
        "Mounted file with the WAPI password; read again when it changes.",
    ),
    var("DNS_LISTEN", "0.0.0.0:5353", "Address and port of `gslb-bridge dns`, UDP and TCP."),
    var("DNS_SNAPSHOT_FILE", "", "Where `gslb-bridge dns` keeps its last zones for the next start."),
    var("DNS_STOP_SECONDS", "10", "How long `gslb-bridge dns` answers on after it was told to stop."),
    var("CHANGE_LOG_FILE", "", "Also append the change log's lines to this file."),
    var("CHANGE_LOG_HMAC_KEY_FILE", "", "Mounted file with the key that seals the change log."),
    var("POD_NAME", "", "Own name in Lease, events and change log; the host name if empty."),
    var("HOSTNAME", "gslb-bridge", "Set by the container runtime; stands in for POD_NAME."),
];

/// What the user wrote: only known variables, only those that are set.
///
/// A variable that is set to nothing counts as set (`GLUEA_PREFIX=""` means no prefix), as in k8gb.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RawConfig(BTreeMap<&'static str, String>);

impl RawConfig {
    /// Asks `lookup` for every variable of [`VARIABLES`], for example
    /// `RawConfig::read(|name| std::env::var(name).ok())`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        Self(VARIABLES.iter().filter_map(|known| Some((known.name, lookup(known.name)?))).collect())
    }

    /// The value as written, if the variable is set.
    pub fn written(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value as written, or the default.
    pub fn value(&self, name: &'static str) -> &str {
        self.written(name).unwrap_or_else(|| variable(name).default)
    }

    /// `NAME=value` lines of all variables, defaults marked, secrets masked: what `run --print-config` prints.
    pub fn render(&self) -> String {
        let line = |known: &Variable| match self.written(known.name) {
            Some(value) => format!("{}={}\n", known.name, shown(known, value)),
            None => format!("{}={} # default\n", known.name, known.default),
        };
        VARIABLES.iter().map(line).collect()
    }
}

/// The table's row of a variable.
pub(super) fn variable(name: &'static str) -> &'static Variable {
    VARIABLES.iter().find(|known| known.name == name).expect("only documented variables are read")
}

fn shown(known: &Variable, value: &str) -> String {
    match known.name {
        _ if known.secret && !value.is_empty() => "***".to_owned(),
        "HTTPS_PROXY" => masked_url(value),
        _ => value.to_owned(),
    }
}

/// A URL without what stands before its host, which may be a password.
pub(super) fn masked_url(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (_, None) => url.to_owned(),
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://***@{host}"),
        (None, Some((_, host))) => format!("***@{host}"),
    }
}

impl fmt::Debug for RawConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(name, value)| (name, shown(variable(name), value)));
        f.debug_map().entries(entries).finish()
    }
}
