//! Where the peers' DNS servers are: the addresses of their name server names, asked of `EDGE_DNS_SERVERS`.
//!
//! A look-up that fails changes nothing (F-42); only repeated, definite absence takes an address away.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::zone::Zone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// Definite absences in a row that take the known addresses of a peer away.
const ABSENCES: u8 = 3;
/// First pause before a name without addresses is asked for again; doubles up to the normal period.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// What a look-up brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Word {
    /// The name has these addresses.
    Found(BTreeSet<Ipv4Addr>),
    /// The name certainly has none.
    Absent,
    /// No resolver said anything final.
    Silent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    ns_name: DomainName,
    addresses: BTreeSet<Ipv4Addr>,
    absences: u8,
    pause: SignedDuration,
    next: Timestamp,
    asked: bool,
}

/// One peer in one zone.
pub(crate) type PeerZone = (DomainName, GeoTag);

#[derive(Debug, Default)]
struct Plain {
    entries: BTreeMap<PeerZone, Entry>,
}

/// Handle around the peers' addresses.
#[derive(Debug)]
pub(crate) struct Glue {
    plain: Mutex<Plain>,
    changed: watch::Sender<u64>,
    period: SignedDuration,
}

impl Glue {
    /// `period`: how often a name with addresses is asked for again.
    pub(crate) fn new(period: Duration) -> Self {
        let period = SignedDuration::try_from(period).unwrap_or(SignedDuration::MAX);
        Self { plain: Mutex::default(), changed: watch::Sender::new(0), period }
    }

    /// Keeps entries of exactly these names; `known` gives what an earlier run knew.
    pub(crate) fn keep(
        &self,
        names: BTreeMap<PeerZone, DomainName>,
        known: &BTreeSet<(DomainName, Ipv4Addr)>,
        now: Timestamp,
    ) {
        let mut plain = self.lock();
        let before = plain.entries.len();
        plain.entries.retain(|peer, entry| names.get(peer) == Some(&entry.ns_name));
        let mut changed = plain.entries.len() != before;
        for (peer, ns_name) in names {
            plain.entries.entry(peer).or_insert_with(|| {
                changed = true;
                let addresses =
                    known.iter().filter(|(name, _)| *name == ns_name).map(|(_, address)| *address).collect();
                Entry { ns_name, addresses, absences: 0, pause: FIRST_PAUSE, next: now, asked: false }
            });
        }
        drop(plain);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// Names to ask for now, and when the next one is due.
    pub(crate) fn due(&self, now: Timestamp) -> (Vec<(PeerZone, DomainName)>, Option<Timestamp>) {
        let plain = self.lock();
        let due = plain.entries.iter().filter(|(_, entry)| entry.next <= now);
        let due = due.map(|(peer, entry)| (peer.clone(), entry.ns_name.clone())).collect();
        (due, plain.entries.values().map(|entry| entry.next).min())
    }

    /// Takes in what a look-up brought. `answering`: the peer still gives its word at the known addresses, so
    /// they are asked on even if the parent zone has lost the name.
    pub(crate) fn hear(&self, peer: &PeerZone, word: Word, answering: bool, now: Timestamp) {
        let mut plain = self.lock();
        let Some(entry) = plain.entries.get_mut(peer) else { return };
        let before = entry.clone();
        entry.hear(word, answering, self.period, now);
        let changed = before.shown() != entry.shown();
        drop(plain);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// Where a peer's DNS is for a zone; `None`: not looked up yet.
    pub(crate) fn addresses(&self, zone: &DomainName, tag: &GeoTag) -> Option<BTreeSet<Ipv4Addr>> {
        let plain = self.lock();
        let entry = plain.entries.get(&(zone.clone(), tag.clone()))?;
        (entry.asked || !entry.addresses.is_empty()).then(|| entry.addresses.clone())
    }

    /// The peers' name servers of a zone.
    pub(crate) fn servers(&self, zone: &Zone) -> BTreeSet<(DomainName, Ipv4Addr)> {
        let plain = self.lock();
        let entries = plain.entries.iter().filter(|((name, _), _)| name == zone.name());
        entries
            .filter(|(_, entry)| entry.absences < ABSENCES)
            .flat_map(|(_, entry)| entry.addresses.iter().map(|address| (entry.ns_name.clone(), *address)))
            .collect()
    }

    /// Peers whose name certainly has no address in any zone.
    pub(crate) fn absent(&self) -> BTreeSet<GeoTag> {
        let plain = self.lock();
        let mut absent: BTreeMap<&GeoTag, bool> = BTreeMap::new();
        for ((_, tag), entry) in &plain.entries {
            let gone = entry.addresses.is_empty() && entry.absences > 0;
            *absent.entry(tag).or_insert(true) &= gone;
        }
        absent.into_iter().filter(|(_, absent)| *absent).map(|(tag, _)| tag.clone()).collect()
    }

    /// Tells when an address changed.
    pub(crate) fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.plain.lock().expect("no panic while the glue is locked")
    }
}

impl Entry {
    /// What others see of the entry.
    fn shown(&self) -> (bool, &BTreeSet<Ipv4Addr>, bool) {
        (self.asked, &self.addresses, self.absences < ABSENCES)
    }

    fn hear(&mut self, word: Word, answering: bool, period: SignedDuration, now: Timestamp) {
        self.asked = true;
        match word {
            Word::Found(addresses) => {
                self.addresses = addresses;
                self.absences = 0;
            }
            Word::Absent => {
                self.absences = self.absences.saturating_add(1);
                if self.absences >= ABSENCES && !answering {
                    self.addresses.clear();
                }
            }
            Word::Silent => {}
        }
        if self.addresses.is_empty() || self.absences > 0 {
            self.next = now + self.pause;
            self.pause = (self.pause * 2).min(period);
        } else {
            self.pause = FIRST_PAUSE;
            self.next = now + period;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }
    fn peer() -> PeerZone {
        (name("cloud.example.com"), GeoTag::parse("us").unwrap())
    }
    fn glue(known: &[&str]) -> Glue {
        let glue = Glue::new(Duration::from_secs(30));
        let ns_name = name("gslb-ns-us-cloud.example.com");
        let known = known.iter().map(|ip| (ns_name.clone(), ip.parse().unwrap())).collect();
        glue.keep([(peer(), ns_name)].into(), &known, at(0));
        glue
    }
    fn addresses(glue: &Glue) -> Option<Vec<String>> {
        let found = glue.addresses(&peer().0, &peer().1)?;
        Some(found.iter().map(ToString::to_string).collect())
    }
    fn found(ip: &str) -> Word {
        Word::Found([ip.parse().unwrap()].into())
    }

    #[test]
    fn a_failed_look_up_keeps_the_known_addresses() {
        let glue = glue(&[]);
        glue.hear(&peer(), found("198.51.100.53"), false, at(0));
        for second in 1..50 {
            glue.hear(&peer(), Word::Silent, false, at(second));
        }
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
    }

    #[test]
    fn only_repeated_absence_takes_an_address_away() {
        let glue = glue(&[]);
        glue.hear(&peer(), found("198.51.100.53"), false, at(0));
        glue.hear(&peer(), Word::Absent, false, at(1));
        glue.hear(&peer(), Word::Absent, false, at(2));
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
        glue.hear(&peer(), Word::Absent, false, at(3));
        assert_eq!(addresses(&glue), Some(vec![]));
        assert_eq!(glue.absent(), [peer().1].into());
    }

    #[test]
    fn a_peer_that_the_parent_lost_is_asked_on_while_it_answers_and_listed_no_more() {
        let glue = glue(&[]);
        glue.hear(&peer(), found("198.51.100.53"), false, at(0));
        for second in 1..10 {
            glue.hear(&peer(), Word::Absent, true, at(second));
        }
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
        let zone = Zone::new(peer().0, name("example.com"), gslb_core::ttl::Ttl::DEFAULT).unwrap();
        assert_eq!((glue.servers(&zone), glue.absent()), (BTreeSet::new(), BTreeSet::new()));
        glue.hear(&peer(), Word::Absent, false, at(10));
        assert_eq!(addresses(&glue), Some(vec![]));
    }

    #[test]
    fn what_an_earlier_run_knew_is_used_before_the_first_look_up() {
        assert_eq!(addresses(&glue(&["198.51.100.53"])), Some(vec!["198.51.100.53".to_owned()]));
        assert_eq!(addresses(&glue(&[])), None);
    }

    #[test]
    fn a_missing_name_is_asked_for_again_soon_and_a_found_one_with_the_period() {
        let glue = glue(&[]);
        glue.hear(&peer(), Word::Absent, false, at(0));
        assert_eq!(glue.due(at(0)).1, Some(at(1)));
        glue.hear(&peer(), Word::Absent, false, at(1));
        assert_eq!(glue.due(at(1)).1, Some(at(3)));
        glue.hear(&peer(), found("198.51.100.53"), false, at(3));
        assert_eq!(glue.due(at(3)).1, Some(at(33)));
    }
}
