//! Which of several objects of one kind stands for what they all want: the older one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::few::Few;
use crate::name::DomainName;
use crate::zone::Zone;

/// An object that wants something. The first in order gets it: the older one, of equally old ones the first by key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seniority<K> {
    /// When it was created.
    pub created: Option<Timestamp>,
    /// What it is called.
    pub key: K,
}

/// A zone that is served, and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedZone<K> {
    /// The zone as that says it.
    pub zone: Zone,
    /// The object, or nothing if only the configuration names the zone.
    pub object: Option<K>,
}

/// The zones that are served, by name with dashes for dots: of zones that share this name only one, because objects
/// and server blocks are called by it. An object wins over the configuration (contract §5.2), and the first in order
/// over the others.
pub fn accepted_zones<K: Ord>(
    objects: impl IntoIterator<Item = (Seniority<K>, Zone)>,
    configured: &[Zone],
) -> BTreeMap<String, AcceptedZone<K>> {
    let mut objects: Vec<_> = objects.into_iter().collect();
    objects.sort();
    let objects = objects.into_iter().map(|(seniority, zone)| (zone, Some(seniority.key)));
    let mut accepted = BTreeMap::new();
    for (zone, object) in objects.chain(configured.iter().map(|zone| (zone.clone(), None))) {
        accepted.entry(zone.name().dashed()).or_insert(AcceptedZone { zone, object });
    }
    accepted
}

/// What one Gslb wants, as its last pass found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wants {
    /// Its hosts, with the time that evidence may hold a peer's last word.
    pub hosts: BTreeMap<DomainName, SignedDuration>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// Whether a spec of it was ever accepted. One that never was serves nothing, so it stands behind all that
    /// were, and holds the place of a host that nobody else wants.
    pub accepted: bool,
    /// Whether the object that it refers to is certainly gone. It serves nothing here then, and stands behind all that
    /// can.
    pub referent_gone: bool,
}

/// A Gslb that wants a host; the first in order gets it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct HostClaimant<K> {
    never_accepted: bool,
    referent_gone: bool,
    seniority: Seniority<K>,
}

/// Which Gslb serves which host. The outcome does not depend on the order in which they were seen.
#[derive(Debug, Clone)]
pub struct Contest<K> {
    wants: BTreeMap<K, Wants>,
    claimants: BTreeMap<DomainName, Few<HostClaimant<K>>>,
}

impl<K> Default for Contest<K> {
    fn default() -> Self {
        Self { wants: BTreeMap::new(), claimants: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Contest<K> {
    /// Records what a Gslb wants; gives the other Gslbs whose hosts may change hands, and `None` if it wants what
    /// it wanted before.
    pub fn want(&mut self, gslb: &K, wants: Wants) -> Option<Vec<K>> {
        let old = self.wants.get(gslb).cloned().unwrap_or_default();
        if old == wants {
            return None;
        }
        let mut affected = BTreeSet::new();
        let claimant = |wants: &Wants| HostClaimant {
            never_accepted: !wants.accepted,
            referent_gone: wants.referent_gone,
            seniority: Seniority { created: wants.created, key: gslb.clone() },
        };
        for host in old.hosts.keys() {
            let claimants = self.claimants.entry(host.clone()).or_default();
            claimants.remove(&claimant(&old));
            affected.extend(claimants.iter().map(|other| other.seniority.key.clone()));
        }
        for host in wants.hosts.keys() {
            let claimants = self.claimants.entry(host.clone()).or_default();
            affected.extend(claimants.iter().map(|other| other.seniority.key.clone()));
            claimants.insert(claimant(&wants));
        }
        for host in old.hosts.keys() {
            if self.claimants.get(host).is_some_and(Few::is_empty) {
                self.claimants.remove(host);
            }
        }
        if wants.hosts.is_empty() {
            self.wants.remove(gslb);
        } else {
            self.wants.insert(gslb.clone(), wants);
        }
        Some(affected.into_iter().collect())
    }

    /// The Gslb that serves a host, if it is not this one.
    pub fn winner_over(&self, gslb: &K, host: &DomainName) -> Option<&K> {
        let first = self.wanting(host).next()?;
        (first != gslb).then_some(first)
    }

    /// All hosts of all accepted Gslbs, each with the longest time that evidence may hold.
    pub fn hosts(&self) -> BTreeMap<DomainName, SignedDuration> {
        let mut hosts: BTreeMap<DomainName, SignedDuration> = BTreeMap::new();
        for (host, hold) in self.wants.values().filter(|wants| wants.accepted).flat_map(|wants| &wants.hosts)
        {
            let longest = hosts.entry(host.clone()).or_insert(*hold);
            *longest = (*longest).max(*hold);
        }
        hosts
    }

    /// The Gslbs that want a host, the one that serves it first.
    pub fn wanting(&self, host: &DomainName) -> impl Iterator<Item = &K> {
        self.claimants.get(host).into_iter().flat_map(Few::iter).map(|claimant| &claimant.seniority.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str, parent: &str) -> Zone {
        use crate::given::name as parsed;
        Zone::new(parsed(name), parsed(parent), crate::ttl::Ttl::DEFAULT).unwrap()
    }
    fn object(key: &'static str, created: i64, zone: Zone) -> (Seniority<&'static str>, Zone) {
        (Seniority { created: Timestamp::from_second(created).ok(), key }, zone)
    }

    /// Conformance 108; F-03.
    #[test]
    fn of_zones_that_share_a_dashed_name_the_oldest_object_stands_and_then_the_configuration() {
        let configured = [zone("a.example.com", "example.com"), zone("b.example.com", "example.com")];
        let objects = [
            object("a-younger", 2, zone("a-example.com", "com")),
            object("zz", 4, zone("b.example.com", "com")),
            object("b", 3, zone("b.example.com", "example.com")),
            object("a", 1, zone("a.example.com", "com")),
        ];
        let accepted = accepted_zones(objects, &configured).into_iter();
        let accepted: Vec<_> =
            accepted.map(|(name, AcceptedZone { zone, object })| (name, zone, object)).collect();
        let wanted = [
            ("a-example-com".to_owned(), zone("a.example.com", "com"), Some("a")),
            ("b-example-com".to_owned(), zone("b.example.com", "example.com"), Some("b")),
        ];
        assert_eq!(accepted, wanted);
        let accepted = accepted_zones::<&str>([], &configured[..1]);
        let only = AcceptedZone { zone: configured[0].clone(), object: None };
        assert_eq!(accepted, [("a-example-com".to_owned(), only)].into());
    }

    fn host() -> DomainName {
        crate::given::name("app.cloud.example.com")
    }
    fn wants(created: i64) -> Wants {
        let created = Timestamp::from_second(created).ok();
        Wants {
            hosts: [(host(), SignedDuration::ZERO)].into(),
            created,
            accepted: true,
            referent_gone: false,
        }
    }

    /// Conformance 109; F-25.
    #[test]
    fn the_older_gslb_serves_a_host_whichever_was_seen_first() {
        let mut contest = Contest::default();
        contest.want(&"young", wants(2));
        assert_eq!(contest.winner_over(&"young", &host()), None);
        assert_eq!(contest.want(&"old", wants(1)), Some(vec!["young"]));
        assert_eq!(contest.want(&"old", wants(1)), None);
        assert_eq!(contest.winner_over(&"young", &host()), Some(&"old"));
        assert_eq!(contest.winner_over(&"old", &host()), None);
    }

    /// Conformance 109; F-25.
    #[test]
    fn of_equally_old_gslbs_the_first_by_name_serves_a_host() {
        let mut contest = Contest::default();
        contest.want(&"b", wants(1));
        contest.want(&"a", wants(1));
        assert_eq!(contest.winner_over(&"b", &host()), Some(&"a"));
    }

    #[test]
    fn a_gslb_that_wants_a_host_no_more_hands_it_over() {
        let mut contest = Contest::default();
        contest.want(&"old", wants(1));
        contest.want(&"young", wants(2));
        assert_eq!(contest.want(&"old", Wants::default()), Some(vec!["young"]));
        assert_eq!(contest.winner_over(&"young", &host()), None);
        assert_eq!(contest.wanting(&host()).collect::<Vec<_>>(), [&"young"]);
    }

    /// Its hosts are asked about all the same: the other clusters may serve them.
    #[test]
    fn a_gslb_whose_referent_is_gone_stands_behind_whoever_can_serve() {
        let mut contest = Contest::default();
        contest.want(&"old", wants(1));
        contest.want(&"young", wants(2));
        let gone = Wants { referent_gone: true, ..wants(1) };
        assert_eq!(contest.want(&"old", gone), Some(vec!["young"]));
        assert_eq!(contest.winner_over(&"young", &host()), None);
        assert_eq!(contest.winner_over(&"old", &host()), Some(&"young"));
        assert_eq!(contest.hosts().len(), 1);
    }

    #[test]
    fn a_gslb_that_was_never_accepted_stands_behind_every_other_and_is_told_of_them() {
        let mut contest = Contest::default();
        contest.want(&"never", Wants { accepted: false, ..wants(1) });
        assert_eq!((contest.winner_over(&"never", &host()), contest.hosts()), (None, [].into()));
        assert_eq!(contest.want(&"young", wants(2)), Some(vec!["never"]));
        assert_eq!(contest.winner_over(&"never", &host()), Some(&"young"));
        assert_eq!(contest.winner_over(&"young", &host()), None);
        assert_eq!(contest.want(&"never", wants(1)), Some(vec!["young"]));
        assert_eq!(contest.winner_over(&"young", &host()), Some(&"never"));
    }

    #[test]
    fn a_host_of_several_gslbs_is_held_for_the_longest_of_their_times() {
        let mut contest = Contest::default();
        let longer = Wants { hosts: [(host(), SignedDuration::from_secs(300))].into(), ..wants(1) };
        contest.want(&"old", longer);
        contest.want(&"young", wants(2));
        assert_eq!(contest.hosts(), [(host(), SignedDuration::from_secs(300))].into());
    }
}
