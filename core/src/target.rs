//! Addresses that a host may be answered with, by cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::{SignedDuration, Timestamp};

use crate::name::GeoTag;

/// The addresses of one cluster, in numerical order, each once.
///
/// Only IPv4: k8gb's CoreDNS plugin cannot serve anything else under these names (contract §8.3).
pub type Targets = BTreeSet<Ipv4Addr>;

/// Addresses by the cluster that they belong to, in the order of tags: the order of an answer.
pub type TargetMap = BTreeMap<GeoTag, Targets>;

/// Whether an address can be answered with: not 0.0.0.0, not a group or broadcast address.
pub fn is_usable(address: Ipv4Addr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && !address.is_broadcast()
}

/// The addresses that an object shows: the status of a load balancer, or the cluster IPs of a Service.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Those that can be answered with.
    pub targets: Targets,
    /// Those that cannot, each with why.
    pub left_out: BTreeSet<LeftOut>,
    /// Host names in place of addresses, as written.
    pub host_names: BTreeSet<String>,
}

/// An address that is shown and cannot be answered with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// It is an IPv6 address.
    Ipv6(Ipv6Addr),
    /// It is [no address of one host](is_usable).
    LeadsNowhere(Ipv4Addr),
    /// It is no address.
    Unreadable(String),
}

impl Shown {
    /// Sorts addresses as they are written. IPv4 may be in its IPv6-mapped form.
    pub fn read<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let mut shown = Self::default();
        for text in addresses.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            match target(text) {
                Ok(address) => drop(shown.targets.insert(address)),
                Err(left_out) => drop(shown.left_out.insert(left_out)),
            }
        }
        shown
    }

    /// The addresses that are left out as part of a sentence; `None`: there are none.
    pub fn ignored(&self) -> Option<String> {
        let ignored = self.left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        (!ignored.is_empty())
            .then(|| format!("{ignored} is ignored, because only IPv4 unicast addresses are answered"))
    }
}

fn target(text: &str) -> Result<Ipv4Addr, LeftOut> {
    let address = match text.parse() {
        Ok(IpAddr::V4(address)) => address,
        Ok(IpAddr::V6(address)) => address.to_ipv4_mapped().ok_or(LeftOut::Ipv6(address))?,
        Err(_) => return Err(LeftOut::Unreadable(text.to_owned())),
    };
    if is_usable(address) { Ok(address) } else { Err(LeftOut::LeadsNowhere(address)) }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv6(address) => write!(f, "{address} (IPv6)"),
            Self::LeadsNowhere(address) => write!(f, "{address} (leads nowhere)"),
            Self::Unreadable(text) => write!(f, "{text:?} (no address)"),
        }
    }
}

/// Leaves an address that several clusters share with the first of them only, and drops clusters that keep
/// none, so that an answer lists it once and weights still match the answer (row X3).
pub fn without_duplicates(map: &TargetMap) -> TargetMap {
    let mut seen = Targets::new();
    map.iter()
        .map(|(tag, targets)| {
            (tag.clone(), targets.iter().copied().filter(|target| seen.insert(*target)).collect::<Targets>())
        })
        .filter(|(_, targets)| !targets.is_empty())
        .collect()
}

/// How long a living object's addresses stand after its load-balancer status became empty (design §2): longer
/// than a controller's restart, shorter than a person's patience; no outside reference.
pub const ADDRESS_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// The addresses that an object had last, while it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAddresses {
    /// Never empty.
    pub targets: Targets,
    /// Since when the object shows none.
    pub missing_since: Option<Timestamp>,
}

/// What stands of the addresses that an object shows now and had last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Addresses to use.
    pub targets: Targets,
    /// To be remembered for the next pass.
    pub last: Option<LastAddresses>,
    /// Until when `targets` are held although the object shows none.
    pub held_until: Option<Timestamp>,
}

/// Holds the last addresses for [`ADDRESS_GRACE`] when a living object shows none.
pub fn hold_addresses(shown: Targets, last: Option<LastAddresses>, now: Timestamp) -> Standing {
    if !shown.is_empty() {
        let last = Some(LastAddresses { targets: shown.clone(), missing_since: None });
        return Standing { targets: shown, last, held_until: None };
    }
    let none = Standing { targets: Targets::new(), last: None, held_until: None };
    let Some(LastAddresses { targets, missing_since }) = last else { return none };
    let since = missing_since.unwrap_or(now);
    let until = since + ADDRESS_GRACE;
    if now >= until {
        return none;
    }
    let last = Some(LastAddresses { targets: targets.clone(), missing_since: Some(since) });
    Standing { targets, last, held_until: Some(until) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(last: u8) -> Targets {
        Targets::from([Ipv4Addr::new(192, 0, 2, last)])
    }
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_living_object_that_shows_no_address_keeps_its_last_ones_for_a_minute() {
        let shown = hold_addresses(targets(1), None, at(0));
        let gone = hold_addresses(Targets::new(), shown.last, at(10));
        assert_eq!((gone.targets.clone(), gone.held_until), (targets(1), Some(at(70))));
        let still = hold_addresses(Targets::new(), gone.last, at(69));
        assert_eq!((still.targets.clone(), still.held_until), (targets(1), Some(at(70))));
        let over = hold_addresses(Targets::new(), still.last, at(70));
        assert_eq!(over, Standing { targets: Targets::new(), last: None, held_until: None });
    }

    #[test]
    fn new_addresses_replace_the_held_ones_at_once() {
        let held = Some(LastAddresses { targets: targets(1), missing_since: Some(at(0)) });
        let back = hold_addresses(targets(2), held, at(5));
        assert_eq!((back.targets, back.held_until), (targets(2), None));
    }

    #[test]
    fn addresses_that_lead_nowhere_are_not_usable() {
        for bad in ["0.0.0.0", "224.0.0.9", "255.255.255.255"] {
            assert!(!is_usable(bad.parse().unwrap()), "{bad}");
        }
        assert!(is_usable(Ipv4Addr::LOCALHOST));
    }

    /// Conformance 33; F-27.
    #[test]
    fn what_is_shown_and_cannot_be_answered_with_is_kept_with_its_reason() {
        let written = ["192.0.2.1", " ::ffff:192.0.2.2 ", "2001:DB8:0::1", "0.0.0.0", "name", ""];
        let shown = Shown::read(written);
        assert_eq!(shown.targets, &targets(1) | &targets(2));
        assert_eq!(
            shown.ignored().as_deref(),
            Some(
                "2001:db8::1 (IPv6), 0.0.0.0 (leads nowhere), \"name\" (no address) is ignored, because only IPv4 unicast addresses are answered"
            )
        );
        assert_eq!(Shown::read(["192.0.2.1"]).ignored(), None);
    }

    #[test]
    fn an_address_shared_by_two_clusters_stays_with_the_first() {
        let tag = |text| GeoTag::parse(text).unwrap();
        let map =
            TargetMap::from([(tag("eu"), targets(1)), (tag("us"), targets(1)), (tag("za"), targets(2))]);
        assert_eq!(
            without_duplicates(&map),
            TargetMap::from([(tag("eu"), targets(1)), (tag("za"), targets(2))])
        );
    }
}
