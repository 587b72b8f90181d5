//! Every setting: its environment variable, its key in the configuration file, its default and what it means. Readers,
//! the file's grammar, `--print-config` and the reference in docs/configuration.md all come from [`VARIABLES`].

/// One documented setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its environment variable.
    pub name: &'static str,
    /// Its key in the configuration file; none where it has no effect, is a secret or belongs to the environment.
    pub key: Option<&'static str>,
    /// How its value is written in the file.
    pub form: Form,
    /// What it holds when it is not set, in the notation of the environment.
    pub default: &'static str,
    /// One sentence for the reference.
    pub meaning: &'static str,
    /// Whether its value is never shown.
    pub secret: bool,
    /// Who reads it.
    pub readers: Readers,
}

/// How a value is written in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text,
    /// The path of a file. What is no text is not quoted back, because it may be the secret itself.
    Path,
    /// A number, or a text: `2.12` is one to YAML, `2.12.3` is the other.
    Version,
    /// A whole number.
    Whole,
    /// A number.
    Decimal,
    /// `true` or `false`.
    Flag,
    /// A list of texts.
    List,
    /// A list of mappings with [`ZONE_KEYS`].
    Zones,
}

/// Which process reads a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// `gslb-bridge run` alone.
    Run,
    /// `gslb-bridge dns` alone.
    Dns,
    /// `gslb-bridge webhook` alone.
    Webhook,
    /// `run` and `dns`.
    Both,
    /// `run` and `webhook`: what a grid or the change log needs.
    Writers,
    /// All of them.
    All,
}

impl Readers {
    /// Whether a setting of these readers is one of `process`, which is `Run`, `Dns` or `Webhook`.
    pub(super) fn include(self, process: Self) -> bool {
        match self {
            Self::All => true,
            Self::Both => process != Self::Webhook,
            Self::Writers => process != Self::Dns,
            Self::Run | Self::Dns | Self::Webhook => self == process,
        }
    }
}

/// Variables of older versions of k8gb, which nothing reads, and what to do instead.
pub(super) const OUTDATED: [(&str, &str); 6] = [
    ("DNS_ZONE", OLD_ZONE),
    ("EDGE_DNS_ZONE", OLD_ZONE),
    (
        "EXTERNAL_DNS_INFOBLOX_WAPI_USERNAME",
        "set INFOBLOX_WAPI_USERNAME, or better INFOBLOX_WAPI_USERNAME_FILE",
    ),
    (
        "EXTERNAL_DNS_INFOBLOX_WAPI_PASSWORD",
        "set INFOBLOX_WAPI_PASSWORD, or better INFOBLOX_WAPI_PASSWORD_FILE",
    ),
    ("NS1_ENABLED", OLD_PROVIDER),
    ("ROUTE53_ENABLED", OLD_PROVIDER),
];
const OLD_ZONE: &str = "set DNS_ZONES=<EDGE_DNS_ZONE>:<DNS_ZONE>:30";
const OLD_PROVIDER: &str = "set EXTDNS_ENABLED=true and run an external-dns for that provider";

/// The list of providers in the file, which no variable can say.
pub(super) const PROVIDERS: &str = "providers";
/// What each of [`PROVIDERS`] has besides the keys of [`INSTANCE_SECTION`].
pub(super) const INSTANCE_KEYS: [&str; 2] = ["name", "type"];
/// The one type of a listed provider, and the section with the keys that each of this type has too.
pub(super) const INSTANCE_SECTION: &str = "infoblox";

/// The settings of one listed provider, with their keys there.
pub(super) fn instance_settings() -> impl Iterator<Item = (&'static str, &'static Variable)> {
    VARIABLES.iter().filter_map(|known| {
        let (section, key) = known.key?.split_once('.')?;
        (section == INSTANCE_SECTION).then_some((key, known))
    })
}

/// The places at which a zone of the file is published, if it lists them.
pub(super) const PUBLISH: &str = "publish";
/// What each place has; none of it must be there.
pub(super) const PUBLISH_KEYS: [&str; 4] = ["provider", "view", "nsAddresses", "edgeDnsServers"];

/// Parent, zone and negative TTL of one zone in the file, in the order in which `DNS_ZONES` has them.
pub(super) const ZONE_KEYS: [&str; 3] = ["parentZone", "zone", "negativeTtlSeconds"];
/// How a zone of the file is published, if it says so.
pub(super) const MODE: &str = "mode";
/// Whether a zone of the file is delegated whatever that hides, if it says so.
pub(super) const ADOPT_HIDDEN_RECORDS: &str = "adoptHiddenRecords";

const fn var(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    let (key, form) = (None, Form::Text);
    Variable { name, key, form, default, meaning, secret: false, readers: Readers::Run }
}

const fn secret(name: &'static str, meaning: &'static str) -> Variable {
    Variable { secret: true, ..var(name, "", meaning) }
}

impl Variable {
    const fn key(self, key: &'static str, form: Form) -> Self {
        Self { key: Some(key), form, ..self }
    }

    /// A value as anybody may see it.
    pub(super) fn shown(&self, value: &str) -> String {
        match self.name {
            _ if self.secret && !value.is_empty() => "***".to_owned(),
            "HTTPS_PROXY" | "WEBHOOK_PROVIDER_URL" => masked_url(value),
            _ => value.to_owned(),
        }
    }

    const fn of_both(self) -> Self {
        Self { readers: Readers::Both, ..self }
    }

    const fn of_dns(self) -> Self {
        Self { readers: Readers::Dns, ..self }
    }

    const fn of_webhook(self) -> Self {
        Self { readers: Readers::Webhook, ..self }
    }

    const fn of_writers(self) -> Self {
        Self { readers: Readers::Writers, ..self }
    }

    const fn of_all(self) -> Self {
        Self { readers: Readers::All, ..self }
    }
}

/// A URL without what stands before its host and behind its path, which may be a password or a token.
pub(crate) fn masked_url(url: &str) -> String {
    let (scheme, rest) = match url.find("://") {
        Some(end) => url.split_at(end + "://".len()),
        None => ("", url),
    };
    let (user_end, query) = (rest.rfind('@'), rest.find('?'));
    match (user_end, query) {
        // One of them holds the other's mark, and nobody knows which.
        (Some(user_end), Some(query)) if query < user_end => format!("{scheme}***"),
        (user_end, query) => {
            let (user, start) = user_end.map_or(("", 0), |end| ("***@", end + 1));
            let (end, query) = query.map_or((rest.len(), ""), |end| (end, "?***"));
            format!("{scheme}{user}{}{query}", &rest[start..end])
        }
    }
}

/// The row of a variable.
pub(super) fn variable(name: &str) -> &'static Variable {
    VARIABLES.iter().find(|known| known.name == name).expect("only documented variables are read")
}

/// Every variable that is read. The first part is k8gb's (contract §7.1), the second ours.
pub const VARIABLES: &[Variable] = &[
    var("CLUSTER_GEO_TAG", "", "Tag of this cluster. Required.").key("clusterGeoTag", Form::Text).of_both(),
    var(
        "EXT_GSLB_CLUSTERS_GEO_TAGS",
        "",
        "Tags of the peers, comma separated; may contain the own. With Infoblox or a webhook they are found if it is empty.",
    )
    .key("peerGeoTags", Form::List)
    .of_both(),
    var("DNS_ZONES", "", "Zones: parent:zone:negativeTTL, separated by semicolons.")
        .key("zones", Form::Zones)
        .of_both(),
    var(
        "EDGE_DNS_SERVERS",
        "",
        "Resolvers for glue and names: host or host:port, comma separated. Required.",
    )
    .key("edgeDnsServers", Form::List),
    var("EDGE_DNS_SERVER", "", "Deprecated: one resolver, used if EDGE_DNS_SERVERS is empty."),
    var("EDGE_DNS_SERVER_PORT", "53", "Deprecated: port of EDGE_DNS_SERVER."),
    var("RECONCILE_REQUEUE_SECONDS", "30", "Safety-net period of Gslbs; 0: events only.")
        .key("periods.gslbSeconds", Form::Whole),
    var("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "300", "Period of ZoneDelegations; 0: events only.")
        .key("periods.zoneDelegationSeconds", Form::Whole),
    var(
        "ZONE_DELEGATION_RECOVERY_SECONDS",
        "3600",
        "Accepted for k8gb's sake; has no effect there nor here.",
    ),
    var(
        "NS_RECORD_TTL",
        "30",
        "TTL of name server records and glue in this cluster's answers, and of a delegation that has none, in seconds.",
    )
    .key("nameServerTtlSeconds", Form::Whole),
    var("POD_NAMESPACE", "k8gb", "Own namespace.").key("podNamespace", Form::Text).of_writers(),
    var(
        "COREDNS_SERVICE_TYPE",
        "ClusterIP",
        "Where the cluster's DNS addresses come from (LoadBalancer or not).",
    )
    .key("glue.coreDnsServiceType", Form::Text),
    var("COREDNS_EXPOSED", "false", "Accepted for k8gb's sake; has no effect there nor here."),
    var(
        "CLUSTER_EXPOSED_IPS",
        "",
        "IPv4 addresses that replace those found in the cluster, comma separated.",
    )
    .key("clusterExposedIPs", Form::List),
    var("EXTDNS_ENABLED", "false", "Publish the delegation through external-dns.")
        .key("externalDns.enabled", Form::Flag),
    var(
        "METRICS_ADDRESS",
        "0.0.0.0:8080",
        "Where /metrics, /livez and /readyz are served: host or host:port.",
    )
    .key("metricsAddress", Form::Text).of_all(),
    var("TRACING_ENABLED", "false", "Export traces over OTLP."),
    var("TRACING_SAMPLING_RATIO", "1.0", "Share of traces to keep, 0 to 1."),
    var("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "host:port of the collector."),
    var("GLUEA_PREFIX", "gslb-ns-", "What every name server name of the fleet starts with; may be empty.")
        .key("nameServerPrefix", Form::Text)
        .of_both(),
    var(
        "INFOBLOX_GRID_HOST",
        "",
        "Grid Master, or several addresses that may be it, comma separated; selects Infoblox.",
    )
    .key("infoblox.gridHost", Form::Text).of_writers(),
    var("INFOBLOX_WAPI_PORT", "443", "HTTPS port of the WAPI.").key("infoblox.wapiPort", Form::Whole).of_writers(),
    secret("INFOBLOX_WAPI_USERNAME", "WAPI account; a mounted file is better.").of_writers(),
    secret("INFOBLOX_WAPI_PASSWORD", "WAPI password; a mounted file is better.").of_writers(),
    var("INFOBLOX_WAPI_VERSION", "2.12", "WAPI version, with or without a leading v.")
        .key("infoblox.wapiVersion", Form::Version).of_writers(),
    var("INFOBLOX_HTTP_REQUEST_TIMEOUT", "20", "Deadline of one WAPI request, in seconds.")
        .key("infoblox.requestTimeoutSeconds", Form::Whole).of_writers(),
    var("INFOBLOX_HTTP_POOL_CONNECTIONS", "10", "Accepted for k8gb's sake; has no effect here.").of_writers(),
    var("INFOBLOX_DNS_VIEW", "default", "DNS view in which the delegation is created.")
        .key("infoblox.dnsView", Form::Text).of_writers(),
    var("LOG_LEVEL", "info", "error, warn, info, debug or trace.").key("log.level", Form::Text).of_all(),
    var("LOG_FORMAT", "simple", "simple (stderr) or json (stdout).").key("log.format", Form::Text).of_all(),
    var("NO_COLOR", "false", "No colours in the simple format.").key("log.noColor", Form::Flag).of_all(),
    var(
        "PEER_SWEEP_SECONDS",
        "5",
        "How often peers are asked; never less often than RECONCILE_REQUEUE_SECONDS says.",
    )
    .key("periods.peerSweepSeconds", Form::Decimal),
    var("PEER_HOLD_SECONDS", "300", "How long evidence may stand in for the word of a silent peer."),
    var(
        "LAST_RESORT_SECONDS",
        "3600",
        "How old targets of a silent peer may be when nothing else is left; 0: never.",
    )
    .key("periods.lastResortSeconds", Form::Whole),
    var("DNS_SOURCE_ADDRESS", "", "Address that DNS questions are asked from; the system's choice if empty.")
        .key("dnsSourceAddress", Form::Text),
    var("DNS_SERVICE", "", "namespace/name of the Service whose addresses become glue.")
        .key("glue.dnsService", Form::Text),
    var("NAMESPACE_POLICY", "off", "Whether Namespaces say what their Gslbs may do: off or enforce.")
        .key("namespacePolicy", Form::Text),
    var("INFOBLOX_CA_FILE", "", "PEM bundle that the grid's certificate is checked with.")
        .key("infoblox.caFile", Form::Path).of_writers(),
    var(
        "INFOBLOX_TLS_VERIFY",
        "true",
        "false: the grid's certificate is not checked, so whoever answers in its place gets the account. Better: INFOBLOX_CA_FILE.",
    )
    .key("infoblox.tlsVerify", Form::Flag).of_writers(),
    var(
        "HTTPS_PROXY",
        "",
        "Proxy for requests to the grid, and with a kubeconfig to the Kubernetes API: a URL; also read as https_proxy. A password in it is never shown.",
    ).of_writers(),
    var(
        "NO_PROXY",
        "",
        "Hosts, domains and networks that are asked without it, comma separated; also no_proxy.",
    ).of_writers(),
    var("INFOBLOX_CLIENT_CERT_FILE", "", "PEM file with a client certificate for the grid.")
        .key("infoblox.clientCertificateFile", Form::Path).of_writers(),
    var("INFOBLOX_CLIENT_KEY_FILE", "", "PEM file with the key of INFOBLOX_CLIENT_CERT_FILE.")
        .key("infoblox.clientKeyFile", Form::Path).of_writers(),
    var(
        "INFOBLOX_RESTART_POLICY",
        "never",
        "Whether the grid's DNS service is restarted to serve a change: never or if-needed.",
    )
    .key("infoblox.restartPolicy", Form::Text).of_writers(),
    var("SSL_CERT_FILE", "", "Used where INFOBLOX_CA_FILE is empty.").of_writers(),
    var("INFOBLOX_WAPI_USERNAME_FILE", "", "Mounted file with the WAPI account; read again when it changes.")
        .key("infoblox.usernameFile", Form::Path).of_writers(),
    var(
        "INFOBLOX_WAPI_PASSWORD_FILE",
        "",
        "Mounted file with the WAPI password; read again when it changes.",
    )
    .key("infoblox.passwordFile", Form::Path).of_writers(),
    var("DNS_LISTEN", "0.0.0.0:5353", "Addresses and ports of `gslb-bridge dns`, UDP and TCP, comma separated.")
        .key("dnsServer.listen", Form::List)
        .of_dns(),
    var("DNS_SNAPSHOT_FILE", "", "Where `gslb-bridge dns` keeps its last zones for the next start.")
        .key("dnsServer.snapshotFile", Form::Path)
        .of_dns(),
    var("DNS_STOP_SECONDS", "10", "How long `gslb-bridge dns` answers on after it was told to stop.")
        .key("dnsServer.stopSeconds", Form::Whole)
        .of_dns(),
    var("WEBHOOK_PROVIDER_URL", "", "Where `gslb-bridge run` finds a webhook provider of external-dns, such as http://localhost:8888; selects the webhook. The settings that begin with WEBHOOK_PROVIDER_ are of this client, the others that begin with WEBHOOK_ of the server.")
        .key("webhookProvider.url", Form::Text),
    var("WEBHOOK_PROVIDER_OWNER", "gslb-bridge", "Owner id in the TXT records that say whose its records are: one for all clusters, and that of no external-dns which keeps records there.")
        .key("webhookProvider.owner", Form::Text),
    var("WEBHOOK_PROVIDER_ADOPT_OWNERS", "", "Owner ids (`--txt-owner-id`) whose records there count as ours, comma separated.")
        .key("webhookProvider.adoptOwners", Form::List),
    var("WEBHOOK_PROVIDER_TXT_PREFIX", "", "What the names of these TXT records begin with (`--txt-prefix`); that of every external-dns which is to heed them.")
        .key("webhookProvider.txtPrefix", Form::Text),
    var("WEBHOOK_PROVIDER_TIMEOUT_SECONDS", "15", "Deadline of one request to it.")
        .key("webhookProvider.timeoutSeconds", Form::Whole),
    var("WEBHOOK_DOMAINS", "", "Domains that `gslb-bridge webhook` writes in, with all beneath them, comma separated. Required there.")
        .key("webhook.domains", Form::List)
        .of_webhook(),
    var("WEBHOOK_LISTEN", "127.0.0.1:8888", "Where external-dns reaches `gslb-bridge webhook`. Who reaches it writes DNS, and nobody is asked for a password.")
        .key("webhook.listen", Form::Text)
        .of_webhook(),
    var("WEBHOOK_OWNER", "external-dns", "Whose the records are: part of their claim, webhook/OWNER, and of the name of the change log, webhook-OWNER. The same wherever the same records are written.")
        .key("webhook.owner", Form::Text)
        .of_webhook(),
    var("WEBHOOK_ADOPT_OWNERS", "", "Owner ids (`--txt-owner-id`) whose records without a claim count as ours, comma separated; for those who come from another webhook.")
        .key("webhook.adoptOwners", Form::List)
        .of_webhook(),
    var("WEBHOOK_ADOPT_TXT_PREFIX", "", "What the names of their TXT records begin with (`--txt-prefix`).")
        .key("webhook.adoptTxtPrefix", Form::Text)
        .of_webhook(),
    var("WEBHOOK_MAX_DELETED_PERCENT", "50", "How much of what is ours one request may delete without putting something in its place, from 11 sets on; 100: all of it.")
        .key("webhook.maxDeletedPercent", Form::Whole)
        .of_webhook(),
    var("WEBHOOK_MAX_ENDPOINTS", "20000", "Most endpoints in one request, of 1 KiB each on average.")
        .key("webhook.maxEndpoints", Form::Whole)
        .of_webhook(),
    var("WEBHOOK_DEADLINE_SECONDS", "12", "After so long a request is answered, done or not; below the 15 seconds that external-dns waits by default.")
        .key("webhook.deadlineSeconds", Form::Whole)
        .of_webhook(),
    var("CHANGE_LOG_FILE", "", "Also append the change log's lines to this file.")
        .key("changeLog.file", Form::Path).of_writers(),
    var("CHANGE_LOG_HMAC_KEY_FILE", "", "Mounted file with the key that seals the change log.")
        .key("changeLog.hmacKeyFile", Form::Path).of_writers(),
    var("POD_NAME", "", "Own name in Lease, events and change log; the host name if empty.")
        .key("podName", Form::Text).of_writers(),
    var("HOSTNAME", "gslb-bridge", "Set by the container runtime; stands in for POD_NAME.").of_writers(),
    var("CONFIG_FILE", "", "YAML file with settings, see [The configuration file](#the-configuration-file); `--config` wins.").of_all(),
];
