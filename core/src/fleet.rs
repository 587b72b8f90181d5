//! Who belongs to the fleet: listed in the configuration, or found in the delegation of each zone.
//!
//! A [`Roster`] holds the peers that one zone's delegation shows, over reads that may fail: who is seen is a member
//! at once, who is missing leaves only after several reads that really said so, and silence changes nothing (F-43).
//! [`Members`] is what everybody else asks.

use std::collections::{BTreeMap, BTreeSet};

use crate::delegation::{Obstacle, Presence};
use crate::name::{DomainName, GeoTag};
use crate::reply::rcode;
use crate::zone::{NsPrefix, Zone};

/// Reads in a row without a member, at every source that is read, after which it has left. As many as for a peer's
/// addresses; no outside reference.
const ABSENCES: u8 = 3;

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

/// Where a delegation is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The parent zone's servers, over DNS.
    Parent,
    /// The provider's database.
    Provider,
}

/// What one read of a delegation showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sighting {
    /// Exactly these name servers; none: there is no delegation.
    Names(BTreeSet<DomainName>),
    /// Nothing that counts.
    Silent,
}

impl Sighting {
    /// What a server of the parent says with its reply to a question for the zone's NS with RD=0.
    pub fn of_reply(code: u16, authoritative: bool, name_servers: BTreeSet<DomainName>) -> Self {
        match code {
            rcode::NX_DOMAIN => Self::Names(BTreeSet::new()),
            rcode::NO_ERROR if authoritative || !name_servers.is_empty() => Self::Names(name_servers),
            // Without authority it only sends us elsewhere: it does not serve the parent.
            _ => Self::Silent,
        }
    }

    /// What a successful read at the provider says.
    pub fn of_presence(presence: &Presence) -> Self {
        match presence {
            Presence::Absent => Self::Names(BTreeSet::new()),
            Presence::Present(observed) => {
                let elsewhere = |obstacle: &Obstacle| matches!(obstacle, Obstacle::NsGroup { .. });
                let names: BTreeSet<DomainName> = observed.delegation.servers.keys().cloned().collect();
                match names.is_empty() && observed.obstacles.iter().any(elsewhere) {
                    true => Self::Silent,
                    false => Self::Names(names),
                }
            }
        }
    }

    /// What two servers say together: servers of one parent may be of different age, and whoever one of them names
    /// is there.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Names(names), Self::Names(more)) => Self::Names(names.into_iter().chain(more).collect()),
            (names @ Self::Names(_), Self::Silent) | (Self::Silent, names) => names,
        }
    }
}

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
    /// Whether a provider is read besides the parent.
    provider: bool,
    peers: BTreeMap<DomainName, Peer>,
    heard: bool,
}

/// One name server name of a peer. A cluster has two of them while its prefix changes (F-39).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Peer {
    tag: GeoTag,
    missing_at_parent: u8,
    missing_at_provider: u8,
}

impl Roster {
    /// Before the first read. `known`: the name servers that an earlier run told of.
    pub fn new<'a>(
        zone: Zone,
        prefix: NsPrefix,
        own: GeoTag,
        provider: bool,
        known: impl IntoIterator<Item = &'a DomainName>,
    ) -> Self {
        let mut roster = Self { zone, prefix, own, provider, peers: BTreeMap::new(), heard: false };
        for name in known {
            roster.add(name);
        }
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
        for name in names {
            self.add(name);
        }
        for (name, peer) in &mut self.peers {
            let missing = peer.missing(source);
            *missing = if names.contains(name) { 0 } else { missing.saturating_add(1) };
        }
        let provider = self.provider;
        self.peers.retain(|_, peer| !peer.has_left(provider));
        let after = self.tags();
        let found = after.difference(&before).cloned().map(Move::Found);
        let left = before.difference(&after).cloned().map(Move::Left);
        found.chain(left).collect()
    }

    /// The name server names of the peers with their tags.
    pub fn names(&self) -> impl Iterator<Item = (&DomainName, &GeoTag)> {
        self.peers.iter().map(|(name, peer)| (name, &peer.tag))
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
        let doubted = |peer: &Peer| match source {
            Source::Parent => (1..ABSENCES).contains(&peer.missing_at_parent),
            Source::Provider => (1..ABSENCES).contains(&peer.missing_at_provider),
        };
        (!self.heard && source == Source::Parent) || self.peers.values().any(doubted)
    }

    fn tags(&self) -> BTreeSet<GeoTag> {
        self.peers.values().map(|peer| peer.tag.clone()).collect()
    }

    /// Only a name of this zone's fleet is a peer (F-44), and the own tag never is: not behind another prefix either.
    fn add(&mut self, name: &DomainName) {
        let tag = self.zone.geo_tag(&self.prefix, name).filter(|tag| *tag != self.own);
        if let Some(tag) = tag {
            let peer = Peer { tag, missing_at_parent: 0, missing_at_provider: 0 };
            self.peers.entry(name.clone()).or_insert(peer);
        }
    }
}

impl Peer {
    fn missing(&mut self, source: Source) -> &mut u8 {
        match source {
            Source::Parent => &mut self.missing_at_parent,
            Source::Provider => &mut self.missing_at_provider,
        }
    }

    fn has_left(&self, provider: bool) -> bool {
        self.missing_at_parent >= ABSENCES && (!provider || self.missing_at_provider >= ABSENCES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegation::{Delegation, ObservedDelegation};
    use crate::ttl::Ttl;

    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";
    const ZA: &str = "gslb-ns-za-cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn names(texts: &[&str]) -> Sighting {
        Sighting::Names(texts.iter().map(|text| name(text)).collect())
    }
    fn roster(prefix: &str, known: &[&str]) -> Roster {
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        let known: Vec<DomainName> = known.iter().map(|text| name(text)).collect();
        Roster::new(zone, NsPrefix::new(prefix), GeoTag::parse("eu").unwrap(), true, &known)
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
            for source in [Source::Parent, Source::Provider] {
                let mut roster = roster(prefix, &[]);
                let moves = roster.hear(source, &names(seen));
                assert_eq!(peers(&roster), *expected, "{prefix} {seen:?}");
                assert_eq!(moves.len(), expected.len());
            }
        }
    }

    #[test]
    fn a_peer_is_a_member_at_once_and_leaves_after_three_reads_of_each_source_without_it() {
        use Source::{Parent, Provider};
        let with = || names(&[EU, US]);
        let without = || names(&[EU]);
        let mut roster = roster("gslb-ns-", &[]);
        let steps = [
            (Parent, with(), "+us"),
            (Parent, with(), ""),
            (Parent, without(), ""),
            (Parent, without(), ""),
            (Provider, without(), ""),
            (Parent, without(), ""),
            (Parent, without(), ""),
            (Provider, Sighting::Silent, ""),
            (Provider, without(), ""),
            (Provider, without(), "-us"),
            (Provider, with(), "+us"),
        ];
        for (number, (source, sighting, expected)) in steps.into_iter().enumerate() {
            assert_eq!(told(roster.hear(source, &sighting)).concat(), expected, "step {number}");
        }
    }

    #[test]
    fn a_source_that_shows_a_peer_again_starts_its_count_anew() {
        let mut roster = roster("gslb-ns-", &[US]);
        for _ in 0..10 {
            assert_eq!(roster.hear(Source::Parent, &names(&[])), []);
            assert_eq!(roster.hear(Source::Provider, &names(&[])), []);
            assert_eq!(roster.hear(Source::Parent, &names(&[])), []);
            assert_eq!(roster.hear(Source::Provider, &names(&[US])), []);
        }
        assert_eq!(peers(&roster), ["us"]);
    }

    #[test]
    fn without_a_provider_the_parent_decides() {
        let mut roster = Roster { provider: false, ..roster("gslb-ns-", &[US, ZA]) };
        let moves: Vec<String> =
            (0..3).map(|_| told(roster.hear(Source::Parent, &names(&[ZA]))).concat()).collect();
        assert_eq!(moves, ["", "", "-us"]);
    }

    #[test]
    fn silence_loses_nobody_and_settles_nothing() {
        let mut fresh = roster("gslb-ns-", &[]);
        let mut restarted = roster("gslb-ns-", &[EU, US]);
        for source in [Source::Parent, Source::Provider].repeat(20) {
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
        let wanted = |roster: &Roster| (roster.asks_for(Source::Parent), roster.asks_for(Source::Provider));
        assert_eq!(wanted(&roster), (true, false));
        roster.hear(Source::Parent, &names(&[US]));
        assert_eq!(wanted(&roster), (false, false));
        roster.hear(Source::Parent, &names(&[]));
        roster.hear(Source::Provider, &names(&[]));
        assert_eq!(wanted(&roster), (true, true));
        roster.hear(Source::Provider, &names(&[US]));
        roster.hear(Source::Parent, &names(&[]));
        roster.hear(Source::Parent, &names(&[]));
        // On its way into the parent's servers, or out of them: no reason to ask more often.
        assert_eq!(wanted(&roster), (false, false));
    }

    #[test]
    fn a_reply_counts_if_the_server_knows_the_parent_zone() {
        let both = || [name(EU), name(US)].into();
        let cases = [
            (rcode::NO_ERROR, false, both(), names(&[EU, US])),
            (rcode::NO_ERROR, true, both(), names(&[EU, US])),
            (rcode::NO_ERROR, true, [].into(), names(&[])),
            (rcode::NO_ERROR, false, [].into(), Sighting::Silent),
            (rcode::NX_DOMAIN, true, [].into(), names(&[])),
            (rcode::NX_DOMAIN, false, [].into(), names(&[])),
            (rcode::SERV_FAIL, false, [].into(), Sighting::Silent),
            (rcode::REFUSED, false, both(), Sighting::Silent),
        ];
        for (code, authoritative, name_servers, expected) in cases {
            assert_eq!(Sighting::of_reply(code, authoritative, name_servers), expected, "{code}");
        }
    }

    #[test]
    fn a_read_at_the_provider_counts_unless_the_names_are_kept_elsewhere() {
        let present = |servers: &[&str], obstacles: &[Obstacle]| {
            let servers = servers.iter().map(|text| (name(text), [].into())).collect();
            let delegation = Delegation { zone: name("cloud.example.com"), ttl: None, servers };
            let plain = ObservedDelegation::plain(delegation);
            Presence::Present(ObservedDelegation { obstacles: obstacles.iter().cloned().collect(), ..plain })
        };
        let group = Obstacle::NsGroup { name: "group".to_owned() };
        assert_eq!(Sighting::of_presence(&Presence::Absent), names(&[]));
        assert_eq!(Sighting::of_presence(&present(&[US], &[])), names(&[US]));
        assert_eq!(Sighting::of_presence(&present(&[], &[])), names(&[]));
        assert_eq!(Sighting::of_presence(&present(&[], &[group])), Sighting::Silent);
    }

    #[test]
    fn whoever_one_server_of_the_parent_names_is_there() {
        let silent = || Sighting::Silent;
        assert_eq!(names(&[US]).or(names(&[ZA])), names(&[US, ZA]));
        assert_eq!((names(&[]).or(silent()), silent().or(names(&[US]))), (names(&[]), names(&[US])));
        assert_eq!(silent().or(silent()), Sighting::Silent);
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
