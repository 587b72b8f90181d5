//! The peers that the delegation of one zone shows, over reads that may fail.

use std::collections::{BTreeMap, BTreeSet};

use super::{Found, Sighting, Source};
use crate::absence::ABSENCES;
use crate::name::{DomainName, GeoTag};
use crate::zone::{NsPrefix, Zone};

/// Clusters besides this one that the delegation of a zone makes members. Each is asked about every host of the zone
/// with every sweep, and a fleet has a handful; who may write to the parent zone must not be able to have thousands of
/// servers asked. No outside reference.
pub const MOST_PEERS: usize = 64;

/// A cluster that came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Move {
    /// It is in the delegation now.
    Found(GeoTag),
    /// It certainly is no more.
    Left(GeoTag),
}

/// The peers that the delegation of one zone shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roster {
    zone: Zone,
    prefix: NsPrefix,
    own: GeoTag,
    /// At how many places providers hold the zone's delegation.
    places: usize,
    peers: BTreeMap<DomainName, Peer>,
    /// Clusters of the last reads for which there was no room.
    left_out: BTreeMap<Source, BTreeSet<GeoTag>>,
    heard: bool,
}

/// One name server name of a peer. A cluster has two of them while its prefix changes (F-39).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Peer {
    tag: GeoTag,
    /// Reads of each source in a row that were without it.
    missing: BTreeMap<Source, u8>,
}

impl Roster {
    /// Before the first read. `places`: at how many of them providers hold the delegation; a peer has to be gone from
    /// all, and so that nobody leaves on one word alone, zero counts as one. `known`: the name servers that an earlier
    /// run told of.
    pub fn new<'a>(
        zone: Zone,
        prefix: NsPrefix,
        own: GeoTag,
        places: usize,
        known: impl IntoIterator<Item = &'a DomainName>,
    ) -> Self {
        let (peers, left_out, places) = (BTreeMap::new(), BTreeMap::new(), places.max(1));
        let mut roster = Self { zone, prefix, own, places, peers, left_out, heard: false };
        roster.add_all(known);
        roster
    }

    /// The zone that this is about.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Takes in a read; gives who came and who went.
    pub fn hear(&mut self, source: Source, sighting: &Sighting) -> Vec<Move> {
        let Sighting::Names(names) = sighting else { return Vec::new() };
        let before = self.tags();
        self.heard = true;
        for (name, peer) in &mut self.peers {
            let missing = peer.missing.entry(source).or_default();
            *missing = if names.contains(name) { 0 } else { missing.saturating_add(1) };
        }
        let sources: Vec<Source> = self.sources().collect();
        self.peers.retain(|_, peer| !sources.iter().all(|source| peer.missing_at(*source) >= ABSENCES));
        // Whoever is known goes before whoever is new: room is made by those who leave, never by those who come.
        let left_out = self.add_all(names);
        self.left_out.insert(source, left_out);
        let after = self.tags();
        let found = after.difference(&before).cloned().map(Move::Found);
        let left = before.difference(&after).cloned().map(Move::Left);
        found.chain(left).collect()
    }

    /// The name server names of the peers with their tags.
    pub fn names(&self) -> impl Iterator<Item = (&DomainName, &GeoTag)> {
        self.peers.iter().map(|(name, peer)| (name, &peer.tag))
    }

    /// The clusters that stand in the delegation and are no members, because [`MOST_PEERS`] others are.
    pub fn left_out(&self) -> BTreeSet<GeoTag> {
        let tags = self.tags();
        self.left_out.values().flatten().filter(|tag| !tags.contains(*tag)).cloned().collect()
    }

    /// The members as they are told to others.
    pub fn found(&self) -> Found {
        let mut tags = self.tags();
        let known = self.heard || !tags.is_empty();
        tags.insert(self.own.clone());
        Found { tags, known }
    }

    /// Whether a source should be read again soon: nobody was heard yet, or a member was missing there and may only
    /// have been missed.
    pub fn asks_for(&self, source: Source) -> bool {
        let doubted = |peer: &Peer| (1..ABSENCES).contains(&peer.missing_at(source));
        (!self.heard && source == Source::Parent) || self.peers.values().any(doubted)
    }

    /// Where the delegation is read: the parent's servers, and each place.
    pub fn sources(&self) -> impl Iterator<Item = Source> + use<> {
        std::iter::once(Source::Parent).chain((0..self.places).map(Source::Provider))
    }

    fn tags(&self) -> BTreeSet<GeoTag> {
        self.peers.values().map(|peer| peer.tag.clone()).collect()
    }

    /// Adds peers in the order of their names while there is room; gives those for whom there is none. Only a name of
    /// this zone's fleet is a peer (F-44), and the own tag never is: not behind another prefix either.
    fn add_all<'a>(&mut self, names: impl IntoIterator<Item = &'a DomainName>) -> BTreeSet<GeoTag> {
        let mut tags = self.tags();
        let mut left_out = BTreeSet::new();
        for name in names {
            let tag = self.zone.geo_tag(&self.prefix, name).filter(|tag| *tag != self.own);
            let Some(tag) = tag else { continue };
            if tags.len() >= MOST_PEERS && !tags.contains(&tag) {
                left_out.insert(tag);
                continue;
            }
            tags.insert(tag.clone());
            let peer = Peer { tag, missing: BTreeMap::new() };
            self.peers.entry(name.clone()).or_insert(peer);
        }
        left_out
    }
}

impl Peer {
    fn missing_at(&self, source: Source) -> u8 {
        self.missing.get(&source).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ttl::Ttl;

    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn names(texts: &[&str]) -> Sighting {
        Sighting::Names(texts.iter().map(|text| name(text)).collect())
    }
    fn roster(prefix: &str, known: &[&str]) -> Roster {
        roster_of(1, prefix, known)
    }
    fn roster_of(places: usize, prefix: &str, known: &[&str]) -> Roster {
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        let known: Vec<DomainName> = known.iter().map(|text| name(text)).collect();
        Roster::new(zone, NsPrefix::new(prefix), GeoTag::parse("eu").unwrap(), places, &known)
    }
    fn peers(roster: &Roster) -> Vec<&str> {
        let mut tags: Vec<&str> = roster.names().map(|(_, tag)| tag.as_str()).collect();
        tags.dedup();
        tags
    }
    fn told(moves: Vec<Move>) -> Vec<String> {
        let told = |each| match each {
            Move::Found(tag) => format!("+{tag}"),
            Move::Left(tag) => format!("-{tag}"),
        };
        moves.into_iter().map(told).collect()
    }

    /// Conformance 67, 68; F-44.
    #[test]
    fn only_names_of_the_zones_fleet_are_peers_and_never_the_own_tag() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("gslb-ns-", &[EU, US], &["us"]),
            ("gslb-ns-", &[US, "ns1.isp.example", "gslb-ns-za-other.example.com", "example.com"], &["us"]),
            ("gslb-ns-", &["gslb-ns-us-west-1-cloud.example.com"], &["us-west-1"]),
            ("my-", &["my-1-test-cloud.example.com", "my-eu-cloud.example.com"], &["1-test"]),
            // A fleet on its way to another prefix: one cluster, two names.
            ("my-", &["my-us-cloud.example.com", US, EU], &["us"]),
            ("gslb-ns-", &[], &[]),
        ];
        for (prefix, seen, expected) in cases {
            for source in [Source::Parent, Source::Provider(0)] {
                let mut roster = roster(prefix, &[]);
                let moves = roster.hear(source, &names(seen));
                assert_eq!(peers(&roster), *expected, "{prefix} {seen:?}");
                assert_eq!(moves.len(), expected.len());
            }
        }
    }

    #[test]
    fn a_peer_is_a_member_at_once_and_leaves_after_three_reads_of_each_source_without_it() {
        use Source::Parent;
        const PROVIDER: Source = Source::Provider(0);
        let with = || names(&[EU, US]);
        let without = || names(&[EU]);
        let mut roster = roster("gslb-ns-", &[]);
        let steps = [
            (Parent, with(), "+us"),
            (Parent, with(), ""),
            (Parent, without(), ""),
            (Parent, without(), ""),
            (PROVIDER, without(), ""),
            (Parent, without(), ""),
            (Parent, without(), ""),
            (PROVIDER, Sighting::Silent, ""),
            (PROVIDER, without(), ""),
            (PROVIDER, without(), "-us"),
            (PROVIDER, with(), "+us"),
        ];
        for (number, (source, sighting, expected)) in steps.into_iter().enumerate() {
            assert_eq!(told(roster.hear(source, &sighting)).concat(), expected, "step {number}");
        }
    }

    #[test]
    fn a_peer_of_several_places_is_a_member_through_any_and_leaves_when_it_is_gone_from_all() {
        let (internal, external) = (Source::Provider(0), Source::Provider(1));
        let (with, without) = (|| names(&[EU, US]), || names(&[EU]));
        let mut roster = roster_of(2, "gslb-ns-", &[]);
        let thrice = |source, sighting: Sighting| (0..3).map(move |_| (source, sighting.clone()));
        assert_eq!(told(roster.hear(external, &with())), ["+us"]);
        let missed = thrice(Source::Parent, without()).chain(thrice(internal, without()));
        for (source, sighting) in missed.chain(thrice(external, Sighting::Silent)) {
            assert_eq!(told(roster.hear(source, &sighting)), [""; 0], "one place could not be read");
        }
        assert_eq!(told(roster.hear(external, &without())), [""; 0]);
        assert!(roster.asks_for(external) && !roster.asks_for(internal));
        roster.hear(external, &without());
        assert_eq!(told(roster.hear(external, &without())), ["-us"]);
    }

    #[test]
    fn a_source_that_shows_a_peer_again_starts_its_count_anew() {
        let mut roster = roster("gslb-ns-", &[US]);
        for _ in 0..10 {
            assert_eq!(roster.hear(Source::Parent, &names(&[])), []);
            assert_eq!(roster.hear(Source::Provider(0), &names(&[])), []);
            assert_eq!(roster.hear(Source::Parent, &names(&[])), []);
            assert_eq!(roster.hear(Source::Provider(0), &names(&[US])), []);
        }
        assert_eq!(peers(&roster), ["us"]);
    }

    #[test]
    fn silence_loses_nobody_and_settles_nothing() {
        let mut fresh = roster("gslb-ns-", &[]);
        let mut restarted = roster("gslb-ns-", &[EU, US]);
        for source in [Source::Parent, Source::Provider(0)].repeat(20) {
            assert_eq!(fresh.hear(source, &Sighting::Silent), []);
            assert_eq!(restarted.hear(source, &Sighting::Silent), []);
        }
        assert_eq!((fresh.found().known, restarted.found().known), (false, true));
        assert_eq!(peers(&restarted), ["us"]);
        assert!(fresh.asks_for(Source::Parent) && restarted.asks_for(Source::Parent));
    }

    #[test]
    fn a_source_is_read_again_soon_until_a_missing_member_is_decided_on_there() {
        let mut roster = roster("gslb-ns-", &[US]);
        let wanted =
            |roster: &Roster| (roster.asks_for(Source::Parent), roster.asks_for(Source::Provider(0)));
        assert_eq!(wanted(&roster), (true, false));
        roster.hear(Source::Parent, &names(&[US]));
        assert_eq!(wanted(&roster), (false, false));
        roster.hear(Source::Parent, &names(&[]));
        roster.hear(Source::Provider(0), &names(&[]));
        assert_eq!(wanted(&roster), (true, true));
        roster.hear(Source::Provider(0), &names(&[US]));
        roster.hear(Source::Parent, &names(&[]));
        roster.hear(Source::Parent, &names(&[]));
        // On its way into the parent's servers, or out of them: no reason to ask more often.
        assert_eq!(wanted(&roster), (false, false));
    }

    #[test]
    fn a_zone_has_so_many_peers_and_no_known_one_makes_room_for_a_new_one() {
        let numbered = |numbers: std::ops::Range<usize>| -> Vec<String> {
            numbers.map(|number| format!("gslb-ns-c{number:03}-cloud.example.com")).collect()
        };
        let seen = |texts: &[String]| Sighting::Names(texts.iter().map(|text| name(text)).collect());
        let tags = |texts: &[&str]| texts.iter().map(|text| GeoTag::parse(text).unwrap()).collect();
        let mut roster = roster("gslb-ns-", &[US]);
        roster.hear(Source::Parent, &seen(&numbered(0..65)));
        assert_eq!((roster.tags().len(), roster.left_out()), (MOST_PEERS, tags(&["c063", "c064"])));
        assert!(peers(&roster).contains(&"us"));
        // A second name of a member is no second member.
        let second = [numbered(0..65), vec!["my-c000-cloud.example.com".to_owned()]].concat();
        roster.hear(Source::Provider(0), &seen(&second));
        assert_eq!((roster.tags().len(), roster.left_out()), (MOST_PEERS, tags(&["c063", "c064"])));
        // `us` has left after the third read without it, and its place is taken by the next.
        let moves: Vec<String> = [Source::Parent, Source::Provider(0)]
            .repeat(2)
            .into_iter()
            .map(|source| told(roster.hear(source, &seen(&numbered(0..65)))).concat())
            .collect();
        assert_eq!(moves, ["", "", "", "+c063-us"]);
        assert_eq!(roster.left_out(), tags(&["c064"]));
    }
}
