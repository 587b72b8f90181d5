//! Builders: `seen().us().foreign()` reads as what it means.

use std::collections::BTreeSet;
use std::net::IpAddr;

use gslb_core::claim::Claimant;
use gslb_core::delegation::{Delegation, DesiredDelegation, ObservedDelegation, Obstacle, Presence, Servers};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use jiff::Timestamp;

pub(crate) const ZONE: &str = "cloud.example.com";
pub(crate) const EU: &str = "gslb-ns-eu-cloud.example.com";
pub(crate) const US: &str = "gslb-ns-us-cloud.example.com";
pub(crate) const ZA: &str = "gslb-ns-za-cloud.example.com";
pub(crate) const FOREIGN: &str = "ns1.isp.example";

pub(crate) fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

pub(crate) fn addresses(texts: &[&str]) -> BTreeSet<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Second `n` of the test's time.
pub(crate) fn at(n: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + n).unwrap()
}

pub(crate) fn eu() -> Claimant {
    let zone = Zone::new(name(ZONE), name("example.com"), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse("eu").unwrap()).unwrap()
}

/// `eu` wants these addresses, with the default TTL.
pub(crate) fn wants(texts: &[&str]) -> DesiredDelegation {
    DesiredDelegation::published(eu(), addresses(texts), Ttl::DEFAULT).unwrap()
}

pub(crate) fn withdraws() -> DesiredDelegation {
    DesiredDelegation::withdrawn(eu())
}

/// A delegation of the zone with the default TTL and these entries.
pub(crate) fn delegation(entries: &[(&str, &[&str])]) -> Delegation {
    let servers: Servers = entries.iter().map(|(ns, glue)| (name(ns), addresses(glue))).collect();
    Delegation { zone: name(ZONE), ttl: Some(Ttl::DEFAULT), servers }
}

/// An observed delegation with these entries.
pub(crate) fn seen(entries: &[(&str, &[&str])]) -> Presence {
    Presence::Present(ObservedDelegation::plain(delegation(entries)))
}

/// The same with an obstacle.
pub(crate) fn seen_with(entries: &[(&str, &[&str])], obstacle: Obstacle) -> Presence {
    let mut found = ObservedDelegation::plain(delegation(entries));
    found.obstacles.insert(obstacle);
    Presence::Present(found)
}
