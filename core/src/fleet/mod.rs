//! Who belongs to the fleet: listed in the configuration, or found in the delegation of each zone.
//!
//! A [`Roster`] holds the peers that one zone's delegation shows, over reads that may fail: who is seen is a member
//! at once, who is missing leaves only after several reads that really said so, and silence changes nothing (F-43).
//! [`Members`] is what everybody else asks. [`Stale`] is who has been silent for so long that somebody should look, and
//! [`Eviction`] what becomes of the wish to take one out.

mod roster;
mod sighting;
mod stale;

use std::collections::{BTreeMap, BTreeSet};

use crate::name::{DomainName, GeoTag};

pub use roster::{MOST_PEERS, Move, Roster};
pub use sighting::{Sighting, Source};
pub use stale::{Eviction, STALE_AFTER, Silent, Stale};

/// The tags of the fleet, the own included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// The configuration lists them, for all zones.
    Listed(BTreeSet<GeoTag>),
    /// Each zone's delegation shows them.
    Found(BTreeMap<DomainName, Found>),
}

/// The members of one zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Their tags, the own included.
    pub tags: BTreeSet<GeoTag>,
    /// Whether that is known: the delegation was read, or an earlier run told of it.
    pub known: bool,
}

impl Members {
    /// The members of all zones.
    pub fn all(&self) -> BTreeSet<GeoTag> {
        match self {
            Self::Listed(tags) => tags.clone(),
            Self::Found(zones) => zones.values().flat_map(|found| found.tags.iter().cloned()).collect(),
        }
    }

    /// The members that may serve a host.
    pub fn of(&self, host: &DomainName) -> impl Iterator<Item = &GeoTag> {
        let tags = match self {
            Self::Listed(tags) => Some(tags),
            Self::Found(_) => self.found(host).map(|found| &found.tags),
        };
        tags.into_iter().flatten()
    }

    /// Whether it is known who may serve a host.
    pub fn are_known(&self, host: &DomainName) -> bool {
        match self {
            Self::Listed(_) => true,
            Self::Found(_) => self.found(host).is_some_and(|found| found.known),
        }
    }

    /// Whether it is known of every zone who serves it.
    pub fn are_all_known(&self) -> bool {
        match self {
            Self::Listed(_) => true,
            Self::Found(zones) => !zones.is_empty() && zones.values().all(|found| found.known),
        }
    }

    /// As [`crate::zone::zone_of`]: the longest zone that contains the host.
    fn found(&self, host: &DomainName) -> Option<&Found> {
        let Self::Found(zones) = self else { return None };
        let around = zones.iter().filter(|(zone, _)| host.is_within(zone));
        around.max_by_key(|(zone, _)| zone.as_str().len()).map(|(_, found)| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    #[test]
    fn a_host_has_the_members_of_the_longest_zone_around_it() {
        let tags = |texts: &[&str]| -> BTreeSet<GeoTag> {
            texts.iter().map(|text| GeoTag::parse(text).unwrap()).collect()
        };
        let outer = Found { tags: tags(&["eu", "us"]), known: true };
        let inner = Found { tags: tags(&["eu"]), known: false };
        let found = Members::Found([(name("example.com"), outer), (name("cloud.example.com"), inner)].into());
        let of = |host: &str| {
            let tags: Vec<&str> = found.of(&name(host)).map(GeoTag::as_str).collect();
            (tags.join(","), found.are_known(&name(host)))
        };
        assert_eq!(of("app.example.com"), ("eu,us".to_owned(), true));
        assert_eq!(of("app.cloud.example.com"), ("eu".to_owned(), false));
        assert_eq!(of("app.example.net"), (String::new(), false));
        assert_eq!((found.all(), found.are_all_known()), (tags(&["eu", "us"]), false));
        assert!(!Members::Found([].into()).are_all_known());
    }
}
