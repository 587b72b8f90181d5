//! The clusters of the fleet: constant where the configuration lists them, else as the delegations show them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard};

use gslb_core::fleet::{Members, Move, Roster, Sighting, Source};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::zone::{NsPrefix, Zone};
use tokio::sync::watch;

use super::glue::PeerName;
use crate::config::{Publications, Settings};
use crate::controller::context::Context;

/// Handle around the rosters of all zones.
#[derive(Debug)]
pub(crate) struct Fleet {
    own: GeoTag,
    prefix: NsPrefix,
    /// The fleet as it is configured; `None`: its members are found.
    listed: Option<BTreeSet<GeoTag>>,
    publications: Publications,
    rosters: Mutex<BTreeMap<DomainName, Roster>>,
    changed: watch::Sender<u64>,
}

impl Fleet {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            own: settings.geo_tag.clone(),
            prefix: settings.ns_prefix.clone(),
            listed: (!settings.finds_peers()).then(|| settings.static_peers()),
            publications: settings.publications.clone(),
            rosters: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// Whether the members are found, not listed.
    pub(crate) fn is_found(&self) -> bool {
        self.listed.is_none()
    }

    /// Who belongs to it now.
    pub(crate) fn members(&self) -> Members {
        match &self.listed {
            Some(tags) => Members::Listed(tags.clone()),
            None => {
                let rosters = self.lock();
                Members::Found(rosters.iter().map(|(zone, roster)| (zone.clone(), roster.found())).collect())
            }
        }
    }

    /// Tells when a name came or went.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Keeps rosters of exactly the zones that `look` gives, with the name servers that an earlier run told of. They
    /// are looked up under our lock, so that of two callers the later one has the later list.
    fn keep(&self, look: impl FnOnce() -> (Vec<Zone>, BTreeSet<(DomainName, Ipv4Addr)>)) {
        let mut rosters = self.lock();
        let (zones, known) = look();
        rosters.retain(|_, roster| zones.contains(roster.zone()));
        for zone in zones {
            rosters.entry(zone.name().clone()).or_insert_with(|| {
                let names = known.iter().map(|(name, _)| name);
                let (prefix, own) = (self.prefix.clone(), self.own.clone());
                let places = self.publications.of(zone.name()).len();
                Roster::new(zone.clone(), prefix, own, places, names)
            });
        }
    }

    /// Takes in a read of a zone's delegation; gives who came and who went.
    pub(crate) fn hear(&self, zone: &DomainName, source: Source, sighting: &Sighting) -> Vec<Move> {
        let mut rosters = self.lock();
        let Some(roster) = rosters.get_mut(zone) else { return Vec::new() };
        let before = roster.names().count();
        let moves = roster.hear(source, sighting);
        // A second name of a known cluster moves nobody, and is to be looked up.
        let changed = !moves.is_empty() || roster.names().count() != before;
        drop(rosters);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
        moves
    }

    /// The clusters of a zone's delegation for which there is no room in the fleet.
    pub(crate) fn left_out(&self, zone: &DomainName) -> BTreeSet<GeoTag> {
        self.lock().get(zone).map(Roster::left_out).unwrap_or_default()
    }

    /// Whether a source of a zone's delegation should be read again soon.
    pub(crate) fn asks_for(&self, zone: &DomainName, source: Source) -> bool {
        self.lock().get(zone).is_some_and(|roster| roster.asks_for(source))
    }

    /// The peers' name server names in these zones.
    pub(crate) fn names(&self, zones: &[Zone]) -> BTreeMap<PeerName, GeoTag> {
        let mut names = BTreeMap::new();
        if let Some(listed) = &self.listed {
            for zone in zones {
                for tag in listed.iter().filter(|tag| **tag != self.own) {
                    // A name beyond the limits was refused with its zone already.
                    if let Ok(ns_name) = zone.ns_name(&self.prefix, tag) {
                        names.insert((zone.name().clone(), ns_name), tag.clone());
                    }
                }
            }
        }
        for (zone, roster) in &*self.lock() {
            let peers = roster.names().map(|(name, tag)| ((zone.clone(), name.clone()), tag.clone()));
            names.extend(peers);
        }
        names
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<DomainName, Roster>> {
        self.rosters.lock().expect("no panic while the rosters are locked")
    }
}

/// Follows the zones, and has the book of views know the members. Gives whether they are others than before.
pub(crate) fn keep(context: &Context) -> bool {
    if !context.fleet.is_found() {
        return false;
    }
    context.fleet.keep(|| (context.served_zones(), context.known_servers()));
    context.book.set_members(|| context.fleet.members(), context.now())
}

#[cfg(test)]
mod tests {
    use gslb_core::fleet::Found;
    use gslb_core::ttl::Ttl;

    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn tag(text: &str) -> GeoTag {
        GeoTag::parse(text).unwrap()
    }

    /// While one caller looks the list up, no other one can keep a list.
    #[test]
    fn of_two_callers_the_later_one_has_the_later_list() {
        let fleet = Fleet {
            own: tag("eu"),
            prefix: NsPrefix::new("gslb-ns-"),
            listed: None,
            publications: Publications::default(),
            rosters: Mutex::default(),
            changed: watch::Sender::new(0),
        };
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        let known = [(name("gslb-ns-us-cloud.example.com"), Ipv4Addr::new(198, 51, 100, 53))];
        let look = || {
            assert!(fleet.rosters.try_lock().is_err());
            (vec![zone], known.into())
        };
        fleet.keep(look);
        let found = Found { tags: [tag("eu"), tag("us")].into(), known: true };
        assert_eq!(fleet.members(), Members::Found([(name("cloud.example.com"), found)].into()));
        fleet.keep(|| (vec![], [].into()));
        assert_eq!(fleet.members(), Members::Found([].into()));
    }
}
