//! What this cluster wants at a host.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::record::RecordClaim;
use crate::decision::{Answer, Decision};
use crate::name::{DomainName, GeoTag};
use crate::strategy::{Accepted, Strategy};
use crate::ttl::Ttl;

/// What this cluster wants at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredHost {
    /// The host.
    pub host: DomainName,
    /// This cluster.
    pub claim: RecordClaim,
    /// What it wants.
    pub wish: HostWish,
}

/// What a cluster wants at a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostWish {
    /// The host is answered by these clusters.
    Answered {
        /// Never empty.
        sites: BTreeSet<GeoTag>,
        /// This cluster's own addresses, if it is one of them; else empty.
        own: BTreeSet<IpAddr>,
        /// TTL of the own records.
        ttl: Ttl,
    },
    /// Every cluster says that it cannot serve the host.
    Down,
    /// It is not known which cluster can: everything stays as it is.
    Unsure,
    /// This cluster has no Gslb for the host any more.
    Withdrawn,
}

/// A strategy that host records cannot carry out. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Which address a client gets is decided by the server that it asks, and that is the provider's.
    #[error(
        "{host} keeps its records as they are: strategy geoip does not work in zone {zone}, whose records the provider serves; use roundRobin or failover, or a zone in mode delegation"
    )]
    GeoIp {
        /// The host.
        host: DomainName,
        /// Its zone.
        zone: DomainName,
    },
    /// The provider answers every record with the same share.
    #[error(
        "{host} keeps its records as they are: spec.strategy.weight does not work in zone {zone}, whose records the provider serves in equal shares; remove the weights, or use a zone in mode delegation"
    )]
    Weights {
        /// The host.
        host: DomainName,
        /// Its zone.
        zone: DomainName,
    },
}

impl Unfit {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::GeoIp { .. } => "GeoIpUnsupported",
            Self::Weights { .. } => "WeightsUnsupported",
        }
    }
}

impl DesiredHost {
    /// What the decision of a host means for its records.
    ///
    /// # Errors
    /// The strategy needs more than records: nothing is to be changed then.
    pub fn of_decision(
        host: DomainName,
        claim: RecordClaim,
        accepted: &Accepted,
        decision: &Decision,
    ) -> Result<Self, Unfit> {
        let zone = claim.fleet.clone();
        match &accepted.strategy {
            Strategy::GeoIp => return Err(Unfit::GeoIp { host, zone }),
            Strategy::RoundRobin { weights } if !weights.is_empty() => {
                return Err(Unfit::Weights { host, zone });
            }
            Strategy::RoundRobin { .. } | Strategy::Failover { .. } => {}
        }
        let wish = match &decision.answer {
            Answer::Targets { by_tag, .. } => HostWish::Answered {
                sites: by_tag.keys().cloned().collect(),
                own: by_tag.get(&claim.tag).into_iter().flatten().copied().map(IpAddr::V4).collect(),
                ttl: accepted.ttl,
            },
            Answer::AllDown => HostWish::Down,
            Answer::Unsure => HostWish::Unsure,
        };
        Ok(Self { host, claim, wish })
    }

    /// The host has no Gslb here any more.
    pub fn withdrawn(host: DomainName, claim: RecordClaim) -> Self {
        Self { host, claim, wish: HostWish::Withdrawn }
    }
}
