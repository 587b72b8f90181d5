//! What stands at a host in the provider's zone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::name::{DomainName, GeoTag};
use crate::ttl::Ttl;

/// Who may change a record: `<fleet>/<tag>`. A fleet is called by its zone, as no two fleets serve one zone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordClaim {
    /// The zone that the fleet serves.
    pub fleet: DomainName,
    /// The cluster.
    pub tag: GeoTag,
}

/// A text that is no claim.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no claim; one is written as zone/tag, for example cloud.example.com/eu")]
pub struct ClaimError(String);

impl FromStr for RecordClaim {
    type Err = ClaimError;

    fn from_str(text: &str) -> Result<Self, ClaimError> {
        let parts = text.split_once('/');
        let read = |(fleet, tag)| {
            Some(Self { fleet: DomainName::parse(fleet).ok()?, tag: GeoTag::parse(tag).ok()? })
        };
        parts.and_then(read).ok_or_else(|| ClaimError(text.to_owned()))
    }
}

impl TryFrom<String> for RecordClaim {
    type Error = ClaimError;

    fn try_from(text: String) -> Result<Self, ClaimError> {
        text.parse()
    }
}

impl From<RecordClaim> for String {
    fn from(claim: RecordClaim) -> Self {
        claim.to_string()
    }
}

impl fmt::Display for RecordClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.fleet, self.tag)
    }
}

/// The question "do you live?" that one cluster leaves at the record of another. Whoever lives takes it away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// Who asks.
    pub by: GeoTag,
    /// When it was asked, by the clock of who asks: it tells one challenge from the next.
    pub at: Timestamp,
}

/// A text that is no challenge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no challenge; one is written as tag and time")]
pub struct ChallengeError(String);

impl FromStr for Challenge {
    type Err = ChallengeError;

    fn from_str(text: &str) -> Result<Self, ChallengeError> {
        let parts = text.split_once(' ');
        let read = |(by, at): (&str, &str)| Some(Self { by: GeoTag::parse(by).ok()?, at: at.parse().ok()? });
        parts.and_then(read).ok_or_else(|| ChallengeError(text.to_owned()))
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.by, self.at)
    }
}

/// One address of a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRecord {
    /// Its owner name.
    pub host: DomainName,
    /// The address: IPv4 for an A record, IPv6 for an AAAA record.
    pub address: IpAddr,
    /// `None`: the zone's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// `None`: nobody's that we could read, so it is foreign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<RecordClaim>,
    /// The question that stands at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Challenge>,
    /// An operator switched it off: it stands and does not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

impl HostRecord {
    /// The cluster of this fleet that holds it; nobody if it is foreign.
    pub fn holder(&self, fleet: &DomainName) -> Option<&GeoTag> {
        self.claim.as_ref().filter(|claim| claim.fleet == *fleet).map(|claim| &claim.tag)
    }

    /// `A` or `AAAA`.
    pub fn rtype(&self) -> &'static str {
        match self.address {
            IpAddr::V4(_) => "A",
            IpAddr::V6(_) => "AAAA",
        }
    }
}

/// What forbids records of ours at a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostObstacle {
    /// An alias excludes every other record (RFC 1034 §3.6.2).
    Cname {
        /// Where it leads, as the backend writes it.
        target: String,
    },
    /// An object of the backend that holds addresses of its own.
    HostRecord,
}

/// All that counts at one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedHost {
    /// Its address records: a backend has one for each address.
    pub records: BTreeMap<IpAddr, HostRecord>,
    /// What excludes them.
    pub obstacles: BTreeSet<HostObstacle>,
}

/// Every host at and beneath a zone's name that has anything that counts: the result of a complete read.
pub type ZoneRecords = BTreeMap<DomainName, ObservedHost>;

impl ObservedHost {
    /// The records that answer, of one cluster of the fleet each.
    pub fn answering<'a>(
        &'a self,
        fleet: &'a DomainName,
    ) -> impl Iterator<Item = (&'a GeoTag, &'a HostRecord)> {
        let enabled = self.records.values().filter(|record| !record.disabled);
        enabled.filter_map(|record| Some((record.holder(fleet)?, record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_challenges_are_read_as_they_are_written() {
        let claim: RecordClaim = "cloud.example.com/us-west".parse().unwrap();
        assert_eq!(claim.to_string(), "cloud.example.com/us-west");
        let challenge: Challenge = "us 2026-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(challenge.to_string(), "us 2026-01-02T03:04:05Z");
        for bad in
            ["", "eu", "cloud.example.com", "cloud.example.com/", "cloud.example.com/e u", "/eu", "a/b/c"]
        {
            assert!(bad.parse::<RecordClaim>().is_err(), "{bad}");
        }
        for bad in ["", "us", "us now", "2026-01-02T03:04:05Z us"] {
            assert!(bad.parse::<Challenge>().is_err(), "{bad}");
        }
    }
}
