//! Who may change one name server entry of a delegation.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::delegation::Delegation;
use crate::name::{DomainName, GeoTag, NameError};
use crate::zone::{NsPrefix, Zone};

/// Who may change one name server entry together with its glue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Claim {
    /// Our own name server name: ours to write and to remove.
    Ours,
    /// The name of another cluster of the fleet: read, never written.
    Fleet(GeoTag),
    /// A name that follows no rule of ours: untouchable, and reported.
    Foreign,
}

/// One name server of an observed delegation, its glue, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NsClaim {
    /// The name server's name.
    pub ns_name: DomainName,
    /// Its glue addresses.
    pub addresses: BTreeSet<IpAddr>,
    /// Whose it is.
    pub claim: Claim,
}

/// This cluster as it appears in one zone's delegation: the side from which claims are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    zone: Zone,
    prefix: NsPrefix,
    ns_name: DomainName,
}

impl Claimant {
    /// # Errors
    /// The composed name server name breaks a length limit of RFC 1035; nothing may be written then.
    pub fn new(zone: Zone, prefix: NsPrefix, tag: GeoTag) -> Result<Self, NameError> {
        let ns_name = zone.ns_name(&prefix, &tag)?;
        Ok(Self { zone, prefix, ns_name })
    }

    /// The zone that is delegated.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Our own name server name in that zone's delegation.
    pub fn ns_name(&self) -> &DomainName {
        &self.ns_name
    }

    /// Whose a name server name is. Only the exact own name is ours: the own tag behind another prefix may
    /// belong to a cluster that is being replaced.
    pub fn claim(&self, ns_name: &DomainName) -> Claim {
        if *ns_name == self.ns_name {
            return Claim::Ours;
        }
        self.zone.geo_tag(&self.prefix, ns_name).map_or(Claim::Foreign, Claim::Fleet)
    }

    /// Every name server of a delegation with its claim, in name order.
    pub fn claims(&self, delegation: &Delegation) -> Vec<NsClaim> {
        delegation
            .servers
            .iter()
            .map(|(ns_name, addresses)| NsClaim {
                ns_name: ns_name.clone(),
                addresses: addresses.clone(),
                claim: self.claim(ns_name),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ttl::Ttl;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    fn eu(prefix: &str) -> Claimant {
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        Claimant::new(zone, NsPrefix::new(prefix), GeoTag::parse("eu").unwrap()).unwrap()
    }

    /// F-44.
    #[test]
    fn a_name_server_is_ours_of_the_fleet_or_foreign() {
        let cases = [
            ("gslb-ns-eu-cloud.example.com", Claim::Ours),
            ("gslb-ns-us-cloud.example.com", Claim::Fleet(GeoTag::parse("us").unwrap())),
            ("gslb-ns-eu-other.example.com", Claim::Foreign),
            ("ns1.isp.example", Claim::Foreign),
        ];
        for (ns_name, expected) in cases {
            assert_eq!(eu("gslb-ns-").claim(&name(ns_name)), expected, "{ns_name}");
        }
    }

    #[test]
    fn the_own_tag_behind_another_prefix_is_not_ours_to_change() {
        let claim = eu("my-").claim(&name("gslb-ns-eu-cloud.example.com"));
        assert_eq!(claim, Claim::Fleet(GeoTag::parse("eu").unwrap()));
    }

    /// Conformance 62.
    #[test]
    fn a_zone_whose_name_server_name_is_too_long_has_no_claimant() {
        let zone =
            Zone::new(name(&format!("{}.example.com", "z".repeat(60))), name("example.com"), Ttl::DEFAULT);
        let refused = Claimant::new(zone.unwrap(), NsPrefix::default(), GeoTag::parse("eu").unwrap());
        assert!(matches!(refused, Err(NameError::LabelTooLong { length: 71, .. })), "{refused:?}");
    }
}
