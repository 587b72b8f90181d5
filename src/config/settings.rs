//! What the program may use: typed, valid, complete.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};

use super::address::{Host, ServerAddress};
use super::catalog::Readers;
use super::infoblox::ProviderChoice;
use super::log::LogSettings;
use super::problem::{Problem, Problems, Warning};
use super::publish::Publications;
use super::raw::RawConfig;
use super::reader::Reader;
use super::{adoption, records, zones};

/// Port of DNS, and of a resolver that is listed without one.
pub(super) const DNS_PORT: u16 = 53;
/// Port of the metrics page if only its host is given.
pub(super) const METRICS_PORT: u16 = 8080;

/// The configuration of one cluster's daemon.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Tag of this cluster.
    pub geo_tag: GeoTag,
    /// Tags listed as those of the fleet, the own one included if it is listed.
    pub listed_tags: BTreeSet<GeoTag>,
    /// Listed zones; may be empty, ZoneDelegation objects may exist without them.
    pub zones: Vec<Zone>,
    /// Names of those whose hosts' records are kept at the provider, which are not delegated.
    pub records_zones: BTreeSet<DomainName>,
    /// Names of those that are delegated whatever that hides, where their object says nothing about it.
    pub adopting_zones: BTreeSet<DomainName>,
    /// What name server names start with.
    pub ns_prefix: NsPrefix,
    /// TTL of name server records and glue.
    pub ns_ttl: Ttl,
    /// Resolvers in the order in which they are asked. Never empty.
    pub edge_dns_servers: Vec<ServerAddress>,
    /// How often, and how long.
    pub periods: Periods,
    /// Own namespace.
    pub namespace: String,
    /// Own name in Lease, events and change log.
    pub pod_name: String,
    /// Address that DNS questions are asked from, where the system shall not pick it.
    pub dns_source_address: Option<IpAddr>,
    /// Where glue addresses come from.
    pub dns_service: DnsService,
    /// Addresses that replace those found in the cluster, in order. Empty: none are replaced.
    pub exposed_addresses: Vec<Ipv4Addr>,
    /// Whether Namespaces say what their Gslbs may do.
    pub namespace_policy: NamespacePolicy,
    /// Who publishes delegations.
    pub provider: ProviderChoice,
    /// At which places.
    pub publications: Publications,
    /// Where the health and metrics pages are served.
    pub metrics_address: ServerAddress,
    /// Traces, if they are switched on.
    pub tracing: Option<TracingSettings>,
    /// The change log beyond its objects.
    pub change_log: ChangeLogSettings,
    /// Logs.
    pub log: LogSettings,
    /// What works, but not as its author may think.
    pub warnings: Vec<Warning>,
}

/// How often, and how long. A period that is nothing means "on events only".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Periods {
    /// Safety net of Gslbs.
    pub gslb: Option<Duration>,
    /// Safety net of ZoneDelegations.
    pub zone_delegation: Option<Duration>,
    /// How often peers are asked; never longer than `gslb`.
    pub peer_sweep: Duration,
    /// How long evidence may stand in for a silent peer's word.
    pub peer_hold: Duration,
    /// How old a silent peer's targets may be when nothing else is left; zero: never used.
    pub last_resort: Duration,
}

/// Where the cluster's DNS addresses (glue) come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsService {
    /// `DNS_SERVICE`.
    Named {
        /// Namespace of the Service.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// k8gb's rule for `COREDNS_SERVICE_TYPE: LoadBalancer` (contract §2.7).
    CoreDnsLoadBalancer,
    /// k8gb's rule for every other type: a labelled Ingress of the own namespace (contract §2.7).
    LabelledIngress,
}

/// Whether Namespaces say what their Gslbs may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamespacePolicy {
    /// Every Gslb may do everything, as with k8gb.
    Off,
    /// What the annotations of its Namespace list, and nothing else.
    Enforce,
}

/// Traces over OTLP.
#[derive(Debug, Clone, PartialEq)]
pub struct TracingSettings {
    /// Share of traces to keep, 0 to 1.
    pub ratio: f64,
    /// The collector.
    pub endpoint: ServerAddress,
}

/// The change log beyond its objects and stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeLogSettings {
    /// Lines are appended here too.
    pub file: Option<PathBuf>,
    /// Key of the seal.
    pub hmac_key_file: Option<PathBuf>,
}

impl Settings {
    /// Turns what the user wrote into what the program may use.
    ///
    /// # Errors
    /// Everything that is wrong, at once. The caller prints it and exits with [`super::EXIT_CODE`].
    pub fn resolve(raw: &RawConfig) -> Result<Self, Problems> {
        let mut reader = Reader::new(raw, Readers::Run);
        let settings = Self::read(&mut reader);
        let (settings, warnings) = reader.end(settings)?;
        Ok(Self { warnings: [raw.warnings(Readers::Run), warnings].concat(), ..settings })
    }

    /// Nothing if a problem was reported that leaves no value to go on with.
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let geo_tag = read_geo_tag(reader);
        let fix = "list tags such as eu,us";
        let listed_tags = reader.list("EXT_GSLB_CLUSTERS_GEO_TAGS", fix, parse_tag);
        let listed_tags: BTreeSet<GeoTag> = listed_tags.into_iter().collect();
        let zones = zones::read(reader);
        let edge_dns_servers = read_edge_dns_servers(reader);
        let periods = Periods::read(reader);
        let ns_ttl = reader.whole("NS_RECORD_TTL", 1, i64::from(i32::MAX));
        let namespace = reader.parsed("POD_NAMESPACE", "write a namespace's name", parse_object_name);
        let dns_source_address = read_source_address(reader);
        let dns_service = read_dns_service(reader);
        let fix = "list IPv4 addresses such as 192.0.2.10,192.0.2.11";
        let exposed_addresses = reader.list("CLUSTER_EXPOSED_IPS", fix, parse_ipv4);
        let namespace_policy = read_namespace_policy(reader);
        let provider = ProviderChoice::read(reader);
        warn_of_one_writer(reader, provider.as_ref(), &listed_tags);
        let records_zones = records::read(reader, &zones, provider.as_ref(), !listed_tags.is_empty());
        let adopting_zones = adoption::read(reader, provider.as_ref());
        let metrics_address = reader.parsed("METRICS_ADDRESS", "write for example 0.0.0.0:8080", |text| {
            ServerAddress::parse(text, METRICS_PORT, true)
        });
        let tracing = TracingSettings::read(reader);
        let ns_prefix = reader.parsed("GLUEA_PREFIX", "write for example gslb-ns-", parse_prefix);
        let log = LogSettings::read(reader);
        warn_of_idle_values(reader);

        let publications = Publications::read(reader, &zones);
        let (geo_tag, ns_prefix) = (geo_tag?, ns_prefix?);
        let tags = listed_tags.iter().cloned().chain([geo_tag.clone()]).collect();
        zones::check_ns_names(&zones, &ns_prefix, &tags, reader);
        Some(Self {
            geo_tag,
            listed_tags,
            zones: zones.into_iter().map(|(zone, _)| zone).collect(),
            records_zones,
            adopting_zones,
            ns_prefix,
            ns_ttl: Ttl::from_secs(ns_ttl).ok()?,
            edge_dns_servers,
            periods,
            namespace: namespace?,
            pod_name: pod_name(reader),
            dns_source_address,
            dns_service: dns_service?,
            exposed_addresses,
            namespace_policy: namespace_policy?,
            provider: provider?,
            publications,
            metrics_address: metrics_address?,
            tracing,
            change_log: ChangeLogSettings {
                file: reader.path("CHANGE_LOG_FILE"),
                hmac_key_file: reader.path("CHANGE_LOG_HMAC_KEY_FILE"),
            },
            log: log?,
            warnings: Vec::new(),
        })
    }

    /// The listed zones that are delegated.
    pub fn delegated_zones(&self) -> impl Iterator<Item = &Zone> {
        self.zones.iter().filter(|zone| !self.records_zones.contains(zone.name()))
    }

    /// The tags of the whole fleet as far as configuration knows it: the own and the listed ones (contract §4.2).
    pub fn static_peers(&self) -> BTreeSet<GeoTag> {
        self.listed_tags.iter().cloned().chain([self.geo_tag.clone()]).collect()
    }

    /// Whether the fleet is found in the delegations, because nobody lists it (contract §4.2).
    pub fn finds_peers(&self) -> bool {
        self.provider.is_shared() && self.listed_tags.is_empty()
    }

    /// Ports on which peers are asked, in order; the next only after a network error (contract §4.4).
    ///
    /// As k8gb: the port of the first resolver, then every other one; but each once, and 53 always.
    pub fn peer_ports(&self) -> Vec<u16> {
        let mut ports = Vec::new();
        for port in self.edge_dns_servers.iter().map(|server| server.port) {
            let first = ports.is_empty();
            if !ports.contains(&port) && (first || port != DNS_PORT) {
                ports.push(port);
            }
        }
        if !ports.contains(&DNS_PORT) {
            ports.push(DNS_PORT);
        }
        ports
    }
}

impl Periods {
    fn read(reader: &mut Reader<'_>) -> Self {
        let gslb = reader.period("RECONCILE_REQUEUE_SECONDS");
        let zone_delegation = reader.period("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS");
        let wanted = Duration::from_secs_f64(reader.decimal("PEER_SWEEP_SECONDS", 0.1, 3600.0));
        let peer_sweep = gslb.map_or(wanted, |gslb| wanted.min(gslb));
        if peer_sweep < wanted && reader.is_set("PEER_SWEEP_SECONDS") {
            let seconds = peer_sweep.as_secs();
            let longest = reader.called("RECONCILE_REQUEUE_SECONDS");
            let text = format!("is longer than {longest}, so peers are asked every {seconds} s");
            reader.warn("PEER_SWEEP_SECONDS", text);
        }
        Self {
            gslb,
            zone_delegation,
            peer_sweep,
            peer_hold: reader.seconds("PEER_HOLD_SECONDS", 1),
            last_resort: reader.seconds("LAST_RESORT_SECONDS", 0),
        }
    }
}

impl TracingSettings {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        if !reader.boolean("TRACING_ENABLED") {
            return None;
        }
        reader.warn("TRACING_ENABLED", "is true, but this version does not export traces yet");
        let ratio = reader.decimal("TRACING_SAMPLING_RATIO", 0.0, 1.0);
        let fix = "write for example localhost:4318";
        let parse = |text: &str| ServerAddress::parse(text, 4318, false);
        let endpoint = reader.parsed("OTEL_EXPORTER_OTLP_ENDPOINT", fix, parse)?;
        Some(Self { ratio, endpoint })
    }
}

fn read_geo_tag(reader: &mut Reader<'_>) -> Option<GeoTag> {
    const NAME: &str = "CLUSTER_GEO_TAG";
    if !reader.is_set(NAME) {
        reader.report(Problem::missing(NAME, "every cluster needs its own tag", "set it to for example eu"));
        return None;
    }
    let tag = reader.parsed(NAME, "write for example eu or us-west-1", parse_tag)?;
    if tag.as_str() != reader.text(NAME) {
        reader.warn(NAME, format!("has capitals, but names in DNS are lower-case: {tag} is used"));
    }
    Some(tag)
}

fn read_edge_dns_servers(reader: &mut Reader<'_>) -> Vec<ServerAddress> {
    const FIX: &str =
        "list resolvers as host, host:port or an IPv4 address, for example 192.0.2.53,dns.example.com:1053";
    let parse = |text: &str| ServerAddress::parse(text, DNS_PORT, false);
    for deprecated in ["EDGE_DNS_SERVER", "EDGE_DNS_SERVER_PORT"] {
        if reader.is_set(deprecated) {
            reader.warn(deprecated, "is deprecated; use EDGE_DNS_SERVERS");
        }
    }
    let before = reader.problem_count();
    let servers = reader.list("EDGE_DNS_SERVERS", FIX, parse);
    if !servers.is_empty() || reader.problem_count() > before {
        return servers;
    }
    if reader.text("EDGE_DNS_SERVER").is_empty() {
        let limit = "at least one resolver is needed to find the peers";
        reader.report(Problem::missing("EDGE_DNS_SERVERS", limit, FIX));
        return Vec::new();
    }
    let port = u16::try_from(reader.whole("EDGE_DNS_SERVER_PORT", 1, 65_535)).unwrap_or(DNS_PORT);
    let host = reader.parsed("EDGE_DNS_SERVER", "use EDGE_DNS_SERVERS instead", Host::parse_v4);
    host.map(|host| ServerAddress { host, port }).into_iter().collect()
}

fn read_source_address(reader: &mut Reader<'_>) -> Option<IpAddr> {
    if reader.text("DNS_SOURCE_ADDRESS").is_empty() {
        return None;
    }
    reader.parsed("DNS_SOURCE_ADDRESS", "write for example 192.0.2.10", |text| {
        text.parse().map_err(|_| "it is no address".to_owned())
    })
}

fn read_dns_service(reader: &mut Reader<'_>) -> Option<DnsService> {
    let rule = reader.parsed("COREDNS_SERVICE_TYPE", "write for example ClusterIP", |text| match text {
        "LoadBalancer" => Ok(DnsService::CoreDnsLoadBalancer),
        "ClusterIP" | "NodePort" | "ExternalName" => Ok(DnsService::LabelledIngress),
        _ => Err("it must be ClusterIP, LoadBalancer, NodePort or ExternalName".to_owned()),
    });
    if reader.text("DNS_SERVICE").is_empty() {
        return rule;
    }
    reader.parsed("DNS_SERVICE", "write for example gslb/gslb-bridge-dns", |text| {
        let (namespace, name) = text.split_once('/').ok_or("it has no namespace before a slash")?;
        Ok(DnsService::Named { namespace: parse_object_name(namespace)?, name: parse_object_name(name)? })
    })
}

fn read_namespace_policy(reader: &mut Reader<'_>) -> Option<NamespacePolicy> {
    reader.parsed("NAMESPACE_POLICY", "write for example enforce", |text| match text {
        "off" => Ok(NamespacePolicy::Off),
        "enforce" => Ok(NamespacePolicy::Enforce),
        _ => Err("it must be off or enforce".to_owned()),
    })
}

/// External-dns notes an owner at each record set that it makes, alters none of another owner, and deletes those of its
/// own that its cluster does not ask for. The NS set of the zone is one record set of all clusters, so with an owner id
/// for each cluster only one of them can alter it (F-53). Glue is each cluster's own, so with one owner id for all each
/// deletes that of the others.
fn warn_of_one_writer(
    reader: &mut Reader<'_>,
    provider: Option<&ProviderChoice>,
    listed_tags: &BTreeSet<GeoTag>,
) {
    if matches!(provider, Some(ProviderChoice::ExternalDns)) && listed_tags.len() > 1 {
        let text = "is true in a fleet of several clusters: they share one set of NS records but not their glue, so run external-dns twice in each: for NS records with one --txt-owner-id for the fleet, for A records with one of each cluster's own; see docs/external-dns.md";
        reader.warn("EXTDNS_ENABLED", text);
    }
}

/// Values that k8gb accepts and ignores, and so do we: nobody may think that they work.
fn warn_of_idle_values(reader: &mut Reader<'_>) {
    if reader.boolean("COREDNS_EXPOSED") {
        reader.warn("COREDNS_EXPOSED", "has no effect, as in k8gb");
    }
    if reader.is_set("ZONE_DELEGATION_RECOVERY_SECONDS") {
        reader.warn("ZONE_DELEGATION_RECOVERY_SECONDS", "has no effect, as in k8gb");
    }
}

pub(super) fn pod_name(reader: &Reader<'_>) -> String {
    let name = reader.text("POD_NAME");
    if name.is_empty() { reader.text("HOSTNAME") } else { name }.to_owned()
}

pub(super) fn parse_tag(text: &str) -> Result<GeoTag, String> {
    GeoTag::parse(text).map_err(|_| "a geo tag has 1 to 63 letters, digits and inner dashes".to_owned())
}

pub(super) fn parse_ipv4(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| "it is no IPv4 address".to_owned())
}

/// A prefix is legal if something may follow it.
pub(super) fn parse_prefix(text: &str) -> Result<NsPrefix, String> {
    match DomainName::parse(&format!("{text}x")) {
        Ok(name) if !name.is_wildcard() => Ok(NsPrefix::new(text)),
        Ok(_) | Err(_) => {
            Err("a prefix of a name has letters, digits and dashes, not at its start".to_owned())
        }
    }
}

/// A namespace or Service name: a label of RFC 1123.
pub(super) fn parse_object_name(text: &str) -> Result<String, String> {
    let letters = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let dashes = text.starts_with('-') || text.ends_with('-');
    if text.is_empty() || text.len() > 63 || !letters || dashes {
        return Err(format!("{text:?} is not made of 1 to 63 lower-case letters, digits and inner dashes"));
    }
    Ok(text.to_owned())
}
