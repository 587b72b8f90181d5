//! Load-balanced zones, the name server names of the fleet in their parent, and which hosts they can serve.

use crate::group::Group;
use crate::group::OTHER_GROUP_SERVES;
use crate::name::{DomainName, GeoTag, NameError};
use crate::ttl::Ttl;

/// Prefix of every fleet's name server names unless `GLUEA_PREFIX` says otherwise (contract §4.1).
pub const DEFAULT_NS_PREFIX: &str = "gslb-ns-";
/// Prefix glued to the first label of a host: the record by which a cluster tells its peers its healthy
/// addresses (contract §3.1).
pub const LOCAL_TARGETS_PREFIX: &str = "localtargets-";
/// The label below a zone's apex that k8gb's CoreDNS plugin keeps for itself (contract §8.4).
const RESERVED_LABEL: &str = "dns";

/// A zone that the fleet serves, and the zone that holds its delegation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone {
    name: DomainName,
    parent: DomainName,
    negative_ttl: Ttl,
}

/// Why two names make no zone and parent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("zone {zone} must lie below its parent {parent}, for example cloud.{parent}")]
pub struct NotBelowParent {
    /// The load-balanced zone.
    pub zone: DomainName,
    /// The parent zone.
    pub parent: DomainName,
}

impl Zone {
    /// # Errors
    /// The zone does not lie below the parent.
    pub fn new(name: DomainName, parent: DomainName, negative_ttl: Ttl) -> Result<Self, NotBelowParent> {
        if name.relative_to(&parent).is_none() {
            return Err(NotBelowParent { zone: name, parent });
        }
        Ok(Self { name, parent, negative_ttl })
    }

    /// The apex of the load-balanced zone.
    pub fn name(&self) -> &DomainName {
        &self.name
    }

    /// The zone that holds NS and glue.
    pub fn parent(&self) -> &DomainName {
        &self.parent
    }

    /// How long a resolver may keep a negative answer of this zone.
    pub fn negative_ttl(&self) -> Ttl {
        self.negative_ttl
    }

    /// `-<zone part>.<parent>`: the end of every name server name of this zone's fleet.
    fn ns_suffix(&self) -> String {
        let part = self.name.relative_to(&self.parent).unwrap_or_default().replace('.', "-");
        format!("-{part}.{}", self.parent)
    }

    /// The name server name of a cluster: `<prefix><tag>-<zone part>.<parent>`, byte-equal to k8gb's
    /// (contract §4.1).
    ///
    /// # Errors
    /// The composed name breaks a length limit of RFC 1035.
    pub fn ns_name(&self, prefix: &NsPrefix, tag: &GeoTag) -> Result<DomainName, NameError> {
        DomainName::parse(&format!("{}{tag}{}", prefix.0, self.ns_suffix()))
    }

    /// The cluster that a name server name stands for, or nothing if the name is not of this zone's fleet.
    ///
    /// Anchored at both ends, so a foreign name such as `ns1.isp.example` never becomes a peer. A fleet with
    /// its own prefix may still hold members with the default one behind or instead of it (contract §4.1).
    pub fn geo_tag(&self, prefix: &NsPrefix, ns_name: &DomainName) -> Option<GeoTag> {
        let stem = ns_name.as_str().strip_suffix(&self.ns_suffix())?;
        let tag = match stem.strip_prefix(prefix.0.as_str()) {
            Some(rest) if prefix.0 != DEFAULT_NS_PREFIX => {
                rest.strip_prefix(DEFAULT_NS_PREFIX).unwrap_or(rest)
            }
            Some(rest) => rest,
            None => stem.strip_prefix(DEFAULT_NS_PREFIX)?,
        };
        GeoTag::parse(tag).ok()
    }

    /// Whether this zone's CoreDNS plugin and ours can serve a host, and its local name.
    ///
    /// # Errors
    /// [`HostProblem`] with the sentence for the user.
    pub fn check_host(&self, host: &DomainName) -> Result<DomainName, HostProblem> {
        let Some(relative) = host.relative_to(&self.name) else {
            return Err(HostProblem::Apex { host: host.clone() });
        };
        if relative.rsplit('.').next() == Some(RESERVED_LABEL) {
            return Err(HostProblem::Reserved { host: host.clone(), zone: self.name.clone() });
        }
        if host.as_str().starts_with(LOCAL_TARGETS_PREFIX) {
            return Err(HostProblem::Announcing { host: host.clone() });
        }
        if host.is_wildcard() {
            return Err(HostProblem::Wildcard { host: host.clone() });
        }
        local_targets_name(host)
    }
}

/// What every name server name of the fleet starts with. May be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NsPrefix(String);

impl NsPrefix {
    /// Takes a prefix of any case.
    pub fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }
}

impl Default for NsPrefix {
    fn default() -> Self {
        Self(DEFAULT_NS_PREFIX.to_owned())
    }
}

/// Why a host of a Gslb is not served. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum HostProblem {
    /// The Gslb of the same name in the other group serves all hosts of the name. First: beside it nothing else counts.
    #[error(
        "the Gslb of the same name in group {} is served, and this one is not; delete one of the two by its full name, gslb.{} or gslb.{}{}",
        .group.as_str(), Group::Canonical.as_str(), Group::Legacy.as_str(), take_over(*.group)
    )]
    OtherGroup {
        /// The group of the one that is served.
        group: Group,
    },
    /// Not a domain name at all.
    #[error("host {host:?} is not served: {problem}")]
    Invalid {
        /// As the user wrote it.
        host: String,
        /// [`NameError`] in words.
        problem: String,
    },
    /// No zone of this cluster contains the host.
    #[error(
        "host {host} is not served: it lies in none of the zones {zones}; choose a host below one of them, or create a ZoneDelegation for its zone"
    )]
    OutsideZones {
        /// The host.
        host: DomainName,
        /// The cluster's zones, comma separated.
        zones: String,
    },
    /// The host is the zone's apex.
    #[error(
        "host {host} is not served: it is the apex of its zone, which holds SOA and NS; choose a name below it"
    )]
    Apex {
        /// The host.
        host: DomainName,
    },
    /// At or below `dns.<zone>`.
    #[error("host {host} is not served: dns.{zone} and names below it are reserved; choose another name")]
    Reserved {
        /// The host.
        host: DomainName,
        /// Its zone.
        zone: DomainName,
    },
    /// A name that announces another host's targets.
    #[error(
        "host {host} is not served: names that start with {LOCAL_TARGETS_PREFIX} tell the clusters of each other; choose another name"
    )]
    Announcing {
        /// The host.
        host: DomainName,
    },
    /// A wildcard has no `localtargets-` name of its own.
    #[error(
        "host {host} is not served: a wildcard cannot be announced to the other clusters; list each host by name"
    )]
    Wildcard {
        /// The host.
        host: DomainName,
    },
    /// `localtargets-<host>` would break a limit of RFC 1035.
    #[error(
        "host {host} is not served: {LOCAL_TARGETS_PREFIX}{host} must keep its labels within 63 characters and its length within 253, so the first label may have 50 and the host 240; its first label has {label}, it has {length}"
    )]
    TooLong {
        /// The host.
        host: DomainName,
        /// Length of its first label.
        label: usize,
        /// Length of the host.
        length: usize,
    },
    /// The Namespace does not list the host.
    #[error(
        "host {host} is not served: Namespace {namespace} does not permit it: {limit}; choose another host, or have it permitted there"
    )]
    NotPermitted {
        /// The host.
        host: DomainName,
        /// The namespace of the Gslb.
        namespace: String,
        /// What the Namespace permits, as part of the sentence.
        limit: String,
    },
    /// What the Namespace permits is not known, and the host is new.
    #[error("host {host} is not served before it is known what Namespace {namespace} permits: {why}")]
    NotJudged {
        /// The host.
        host: DomainName,
        /// The namespace of the Gslb.
        namespace: String,
        /// Why, as a sentence.
        why: String,
    },
    /// An older Gslb serves the host already.
    #[error(
        "host {host} is not served from here: Gslb {winner} is older and serves it; remove the host from one of the two"
    )]
    Taken {
        /// The host.
        host: DomainName,
        /// `namespace/name` of the Gslb that keeps it.
        winner: String,
    },
}

impl HostProblem {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::OtherGroup { .. } => OTHER_GROUP_SERVES,
            Self::Invalid { .. } => "HostInvalid",
            Self::OutsideZones { .. } => "HostOutsideZones",
            Self::Apex { .. } => "HostIsZoneApex",
            Self::Reserved { .. } => "HostReserved",
            Self::Announcing { .. } => "HostReserved",
            Self::Wildcard { .. } => "HostIsWildcard",
            Self::TooLong { .. } => "HostTooLong",
            Self::NotPermitted { .. } => "HostNotPermitted",
            Self::NotJudged { .. } => crate::tenancy::NOT_READ,
            Self::Taken { .. } => "HostTaken",
        }
    }
}

/// What else helps if the Gslb of this group is served.
fn take_over(serving: Group) -> String {
    match serving {
        Group::Canonical => String::new(),
        Group::Legacy => {
            format!(", or label that one {}=true to have this one take over", crate::migration::REQUESTED)
        }
    }
}

/// `localtargets-<host>`.
///
/// # Errors
/// The composed name breaks a length limit: first label above 50 or host above 240 characters.
pub fn local_targets_name(host: &DomainName) -> Result<DomainName, HostProblem> {
    DomainName::parse(&format!("{LOCAL_TARGETS_PREFIX}{host}")).map_err(|_| HostProblem::TooLong {
        host: host.clone(),
        label: host.first_label().len(),
        length: host.as_str().len(),
    })
}

/// The host that a `localtargets-` name announces.
pub fn announced_host(owner_name: &DomainName) -> Option<DomainName> {
    DomainName::parse(owner_name.as_str().strip_prefix(LOCAL_TARGETS_PREFIX)?).ok()
}

/// The zone that serves a host: the longest that contains it, so nested zones are never picked at random.
pub fn zone_of<'a>(zones: impl IntoIterator<Item = &'a Zone>, host: &DomainName) -> Option<&'a Zone> {
    zones.into_iter().filter(|zone| host.is_within(&zone.name)).max_by_key(|zone| zone.name.as_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn tag(text: &str) -> GeoTag {
        GeoTag::parse(text).unwrap()
    }
    fn zone(zone: &str, parent: &str) -> Zone {
        Zone::new(name(zone), name(parent), Ttl::from_secs(30).unwrap()).unwrap()
    }

    /// Conformance 66.
    #[test]
    fn ns_names_are_byte_equal_to_k8gbs() {
        let cases = [
            ("gslb-ns-", "fra", "glb.example.org", "example.org", "gslb-ns-fra-glb.example.org"),
            ("gslb-ns-", "fra", "a.b.glb.example.org", "glb.example.org", "gslb-ns-fra-a-b.glb.example.org"),
            (
                "gslb-ns-",
                "us",
                "k8gb-test.gslb.cloud.example.com",
                "cloud.example.com",
                "gslb-ns-us-k8gb-test-gslb.cloud.example.com",
            ),
            ("my-", "1-test", "glb.example.org", "example.org", "my-1-test-glb.example.org"),
            ("", "eu", "glb.example.org", "example.org", "eu-glb.example.org"),
        ];
        for (prefix, geo, z, parent, expected) in cases {
            let zone = zone(z, parent);
            let prefix = NsPrefix::new(prefix);
            let ns_name = zone.ns_name(&prefix, &tag(geo)).unwrap();
            assert_eq!(ns_name.as_str(), expected);
            assert_eq!(zone.geo_tag(&prefix, &ns_name), Some(tag(geo)));
        }
    }

    /// Conformance 67.
    #[test]
    fn a_tag_with_dashes_is_read_back_from_its_ns_name() {
        let zone = zone("podinfo.foo.blah.gslb.a.b.c.d", "a.b.c.d");
        let ns_name = name("gslb-ns-1-test-podinfo-foo-blah-gslb.a.b.c.d");
        assert_eq!(zone.geo_tag(&NsPrefix::default(), &ns_name), Some(tag("1-test")));
        assert_eq!(zone.geo_tag(&NsPrefix::new("my-"), &ns_name), Some(tag("1-test")));
    }

    /// F-04, F-44.
    #[test]
    fn a_foreign_name_server_name_is_no_peer() {
        let zone = zone("glb.example.org", "example.org");
        for foreign in ["ns1.isp.example", "gslb-ns-eu-other.example.org", "gslb-ns--glb.example.org"] {
            let parsed = DomainName::parse(foreign).unwrap();
            assert_eq!(zone.geo_tag(&NsPrefix::default(), &parsed), None);
        }
    }

    /// Conformance 39, 108; F-01, F-02.
    #[test]
    fn a_host_belongs_to_the_longest_zone_that_contains_it() {
        let zones = [zone("glb.example.org", "example.org"), zone("app.glb.example.org", "glb.example.org")];
        assert_eq!(zone_of(&zones, &name("x.app.glb.example.org")), Some(&zones[1]));
        assert_eq!(zone_of(&zones, &name("x.glb.example.org")), Some(&zones[0]));
        assert_eq!(zone_of(&zones, &name("xglb.example.org")), None);
    }

    /// Conformance 48.
    #[test]
    fn a_first_label_of_50_characters_is_served_and_one_of_51_is_refused() {
        let zone = zone("glb.example.org", "example.org");
        let fits = name(&format!("{}.glb.example.org", "a".repeat(50)));
        let long = name(&format!("{}.glb.example.org", "a".repeat(51)));
        assert_eq!(zone.check_host(&fits).unwrap().first_label().len(), 63);
        assert_eq!(zone.check_host(&long), Err(HostProblem::TooLong { host: long, label: 51, length: 67 }));
    }

    #[test]
    fn a_host_of_240_characters_is_served_and_one_of_241_is_refused() {
        let host = |first: usize| {
            let middle = vec!["b".repeat(49); 4].join(".");
            name(&format!("{}.{middle}.glb.example.org", "a".repeat(first)))
        };
        assert_eq!(host(24).as_str().len(), 240);
        assert!(local_targets_name(&host(24)).is_ok());
        assert_eq!(
            local_targets_name(&host(25)),
            Err(HostProblem::TooLong { host: host(25), label: 25, length: 241 })
        );
    }

    /// Conformance 108; F-05.
    #[test]
    fn hosts_that_no_server_of_the_fleet_can_serve_are_refused() {
        let zone = zone("glb.example.org", "example.org");
        let refused = |host: &str| zone.check_host(&name(host)).unwrap_err().reason();
        assert_eq!(refused("glb.example.org"), "HostIsZoneApex");
        assert_eq!(refused("dns.glb.example.org"), "HostReserved");
        assert_eq!(refused("ns1.dns.glb.example.org"), "HostReserved");
        assert_eq!(refused("*.apps.glb.example.org"), "HostIsWildcard");
        assert_eq!(refused("localtargets-app.glb.example.org"), "HostReserved");
        assert!(zone.check_host(&name("dns.app.glb.example.org")).is_ok());
    }

    /// Conformance 4; F-01.
    #[test]
    fn a_zone_must_lie_below_its_parent() {
        let ttl = Ttl::from_secs(30).unwrap();
        for bad in ["example.org", "xexample.org", "glb.example.net"] {
            let refused = Zone::new(name(bad), name("example.org"), ttl).unwrap_err();
            assert_eq!(refused, NotBelowParent { zone: name(bad), parent: name("example.org") });
        }
    }
}
