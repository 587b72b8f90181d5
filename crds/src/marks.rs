//! Every annotation, label and finalizer key (contract §1.7), and what we add.

use kube::ResourceExt;

/// Annotation of an Ingress: its presence asks for a Gslb, its value is the strategy type.
pub const STRATEGY: &str = "k8gb.io/strategy";
/// Annotation of an Ingress: becomes `primaryGeoTag`.
pub const PRIMARY_GEO_TAG: &str = "k8gb.io/primary-geotag";
/// Annotation of an Ingress: becomes `dnsTtlSeconds`.
pub const DNS_TTL_SECONDS: &str = "k8gb.io/dns-ttl-seconds";
/// Annotation of a Gslb: comma list of the addresses to answer with, instead of discovered ones.
pub const EXPOSED_IP_ADDRESSES: &str = gslb_core::exposure::ADDRESSES;
/// Annotation of a Gslb: comma list of names whose addresses to answer with; wins over the list of addresses.
pub const EXPOSED_HOSTNAMES: &str = gslb_core::exposure::HOST_NAMES;
/// Annotation of a Gslb: the one host of a Service, TCPRoute or UDPRoute reference.
pub const HOSTNAME: &str = "k8gb.io/hostname";

/// Prefixes of annotations of a Gslb: the one of today, and the one of the legacy group.
const PREFIXES: [&str; 2] = ["k8gb.io/", "k8gb.absa.oss/"];

/// The keys under which an annotation of a Gslb counts; the first that is there wins (C075).
pub fn keys(key: &str) -> impl Iterator<Item = String> + use<> {
    let [new, old] = PREFIXES;
    let old = key.strip_prefix(new).map(|name| format!("{old}{name}"));
    std::iter::once(key.to_owned()).chain(old)
}

/// An annotation of a Gslb, also under its old prefix; the new one wins (C075).
pub fn annotation<'a>(gslb: &'a impl ResourceExt, key: &str) -> Option<&'a str> {
    let annotations = gslb.annotations();
    keys(key).find_map(|key| annotations.get(&key)).map(String::as_str)
}

/// Label of an Ingress made from `spec.ingress`; its value is [`MANAGED_BY_GSLB`].
pub const MANAGED_BY: &str = "app.k8gb.io/managed-by";
/// Value of [`MANAGED_BY`].
pub const MANAGED_BY_GSLB: &str = "gslb";
/// Label of the Ingress that has the cluster's DNS addresses if the DNS Service is no LoadBalancer; its
/// value is [`TRUE`].
pub const IP_SOURCE: &str = "k8gb.io/ip-source";
/// Label of the DNS Service; its value is [`APP_NAME_COREDNS`].
pub const APP_NAME: &str = "app.kubernetes.io/name";
/// Value of [`APP_NAME`].
pub const APP_NAME_COREDNS: &str = "coredns";
/// Label that tells the metrics Service from the DNS Service by its value [`APP_COMPONENT_METRICS`].
pub const APP_COMPONENT: &str = "app.kubernetes.io/component";
/// Value of [`APP_COMPONENT`] that excludes a Service.
pub const APP_COMPONENT_METRICS: &str = "metrics";

/// Label, and for application objects also annotation, of a DNSEndpoint: who shall read it.
pub const DNS_TYPE: &str = "k8gb.io/dnstype";
/// The same key in the legacy group; both are always written.
pub const DNS_TYPE_LEGACY: &str = "k8gb.absa.oss/dnstype";
/// Value of [`DNS_TYPE`]: the cluster's own DNS server.
pub const DNS_TYPE_LOCAL: &str = "local";
/// Value of [`DNS_TYPE`]: external-dns.
pub const DNS_TYPE_EXTDNS: &str = "extdns";

/// Label of a legacy Gslb: migrate it; only the value [`TRUE`] counts.
pub const MIGRATION_REQUESTED: &str = gslb_core::migration::REQUESTED;
/// Label of a legacy Gslb: it has been migrated; only the value [`TRUE`] counts.
pub const MIGRATED: &str = "k8gb.io/migrated-to-k8gb-io";
/// Finalizer of a legacy Gslb under migration.
pub const LEGACY_FINALIZER: &str = "k8gb.io/legacy-migration-protection";
/// Finalizer of a ZoneDelegation.
pub const ZONE_DELEGATION_FINALIZER: &str = "k8gb.io/finalizer";
/// The one value that means yes.
pub const TRUE: &str = "true";

/// Annotation in which `kubectl apply` keeps a copy of the object, to compare with.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotation that the API server asks of definitions in a `*.k8s.io` group.
pub const API_APPROVED: &str = "api-approved.kubernetes.io";
/// Where the group of DNSEndpoint was approved.
pub const API_APPROVED_DNS_ENDPOINT: &str = "https://github.com/kubernetes-sigs/external-dns/pull/2007";

/// Our annotation of an application DNSEndpoint: the hosts without a record and how to answer for them,
/// see [`UnansweredHosts`](gslb_core::published::UnansweredHosts).
pub const UNANSWERED_HOSTS: &str = "gslb-bridge.io/hosts";
/// Our annotation of an application DNSEndpoint: the last accepted strategy as JSON, which goes on while an
/// edit of the Gslb is invalid.
pub const ACCEPTED_STRATEGY: &str = "gslb-bridge.io/accepted-strategy";
/// Annotations of an application DNSEndpoint that nobody but us writes: each that we write has one of them.
pub const OURS: [&str; 2] = [UNANSWERED_HOSTS, ACCEPTED_STRATEGY];
/// Our annotation of a ZoneDelegation: with the value [`TRUE`] the zone is delegated although records of its parent zone
/// disappear from DNS by that.
pub const ADOPT_HIDDEN_RECORDS: &str = "gslb-bridge.io/adopt-hidden-records";
/// Our annotation of a ZoneDelegation: tags of silent clusters, with commas between, whose entries are taken out of the
/// delegation. It is removed when that is done or refused.
pub const EVICT: &str = "gslb-bridge.io/evict";
/// Our annotation of a ProviderChange without outcome: the writer that may still write the outcome.
pub const CHANGE_LOG_WRITER: &str = "gslb-bridge.io/change-log-writer";
