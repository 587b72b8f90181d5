//! What counts of a ZoneDelegation.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use gslb_core::name::DomainName;
use gslb_core::ttl::Ttl;
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use jiff::Timestamp;
use kube::ResourceExt;

use super::Guarded;

/// The zone of a ZoneDelegation, or the sentence that says why it is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneFacts {
    pub(crate) zone: Result<Zone, String>,
    pub(crate) created: Option<Timestamp>,
    /// Name servers as the status lists them: what is known before the first look-up.
    pub(crate) servers: BTreeSet<(DomainName, Ipv4Addr)>,
    /// Whether the object is on its way out.
    pub(crate) deleting: bool,
}

impl ZoneFacts {
    pub(crate) fn read(guarded: Guarded) -> Self {
        match guarded.0 {
            Ok(object) => Self {
                zone: zone(&object),
                created: object.creation_timestamp().map(|time| time.0),
                servers: servers(&object),
                deleting: object.metadata.deletion_timestamp.is_some(),
            },
            Err(invalid) => Self {
                zone: Err(format!("this ZoneDelegation cannot be read: {}; correct it", invalid.error)),
                created: None,
                servers: BTreeSet::new(),
                deleting: false,
            },
        }
    }
}

/// The zone that a spec names.
pub(crate) fn zone(object: &ZoneDelegation) -> Result<Zone, String> {
    let spec = &object.spec;
    let name = DomainName::parse(&spec.load_balanced_zone).map_err(|error| {
        format!("spec.loadBalancedZone {:?} is no zone: {error}", spec.load_balanced_zone)
    })?;
    let parent = DomainName::parse(&spec.parent_zone)
        .map_err(|error| format!("spec.parentZone {:?} is no zone: {error}", spec.parent_zone))?;
    let ttl =
        Ttl::from_secs(spec.dns_zone_neg_ttl).map_err(|error| format!("spec.dnsZoneNegTTL: {error}"))?;
    Zone::new(name, parent, ttl).map_err(|error| error.to_string())
}

fn servers(object: &ZoneDelegation) -> BTreeSet<(DomainName, Ipv4Addr)> {
    let servers = object.status.iter().flat_map(|status| &status.dns_servers);
    servers
        .filter_map(|server| Some((DomainName::parse(&server.name).ok()?, server.address.parse().ok()?)))
        .collect()
}
