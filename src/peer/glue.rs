//! Where the peers' DNS servers are: the addresses of their name server names, asked of `EDGE_DNS_SERVERS`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::{LookUp, Whereabouts};
use gslb_core::zone::Zone;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    ns_name: DomainName,
    whereabouts: Whereabouts,
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
                Entry { ns_name, whereabouts: Whereabouts::new(addresses, now) }
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
        let due = plain.entries.iter().filter(|(_, entry)| entry.whereabouts.next() <= now);
        let due = due.map(|(peer, entry)| (peer.clone(), entry.ns_name.clone())).collect();
        (due, plain.entries.values().map(|entry| entry.whereabouts.next()).min())
    }

    /// Takes in what a look-up brought. `answering`: the peer still gives its word at the known addresses.
    pub(crate) fn hear(&self, peer: &PeerZone, look_up: LookUp, answering: bool, now: Timestamp) {
        let mut plain = self.lock();
        let Some(entry) = plain.entries.get_mut(peer) else { return };
        let before = entry.whereabouts.clone();
        entry.whereabouts.hear(look_up, answering, self.period, now);
        let changed = before.asked_at() != entry.whereabouts.asked_at()
            || !before.listed().eq(entry.whereabouts.listed());
        drop(plain);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// Has the peers of a zone looked up soon: somebody waits for them to leave.
    pub(crate) fn hurry(&self, zone: &DomainName, now: Timestamp) {
        for ((name, _), entry) in &mut self.lock().entries {
            if name == zone {
                entry.whereabouts.hurry(now);
            }
        }
    }

    /// Where a peer's DNS is for a zone; `None`: not looked up yet.
    pub(crate) fn addresses(&self, zone: &DomainName, tag: &GeoTag) -> Option<BTreeSet<Ipv4Addr>> {
        let plain = self.lock();
        let entry = plain.entries.get(&(zone.clone(), tag.clone()))?;
        entry.whereabouts.asked_at().cloned()
    }

    /// The peers' name servers of a zone.
    pub(crate) fn servers(&self, zone: &Zone) -> BTreeSet<(DomainName, Ipv4Addr)> {
        let plain = self.lock();
        let entries = plain.entries.iter().filter(|((name, _), _)| name == zone.name());
        entries
            .flat_map(|(_, entry)| entry.whereabouts.listed().map(|address| (entry.ns_name.clone(), address)))
            .collect()
    }

    /// Peers whose name certainly has no address in any zone.
    pub(crate) fn absent(&self) -> BTreeSet<GeoTag> {
        let plain = self.lock();
        let mut absent: BTreeMap<&GeoTag, bool> = BTreeMap::new();
        for ((_, tag), entry) in &plain.entries {
            *absent.entry(tag).or_insert(true) &= entry.whereabouts.is_absent();
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
    fn found(ip: &str) -> LookUp {
        LookUp::Found([ip.parse().unwrap()].into())
    }

    /// F-42.
    #[test]
    fn only_repeated_absence_takes_an_address_away() {
        let glue = glue(&[]);
        glue.hear(&peer(), found("198.51.100.53"), false, at(0));
        glue.hear(&peer(), LookUp::Absent, false, at(1));
        glue.hear(&peer(), LookUp::Absent, false, at(2));
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
        glue.hear(&peer(), LookUp::Absent, false, at(3));
        assert_eq!(addresses(&glue), Some(vec![]));
        assert_eq!(glue.absent(), [peer().1].into());
    }

    #[test]
    fn a_peer_that_the_parent_lost_is_asked_on_while_it_answers_and_listed_no_more() {
        let glue = glue(&[]);
        glue.hear(&peer(), found("198.51.100.53"), false, at(0));
        for second in 1..10 {
            glue.hear(&peer(), LookUp::Absent, true, at(second));
        }
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
        let zone = Zone::new(peer().0, name("example.com"), gslb_core::ttl::Ttl::DEFAULT).unwrap();
        assert_eq!((glue.servers(&zone), glue.absent()), (BTreeSet::new(), BTreeSet::new()));
        glue.hear(&peer(), LookUp::Absent, false, at(10));
        assert_eq!(addresses(&glue), Some(vec![]));
    }

    /// Conformance 64.
    #[test]
    fn what_an_earlier_run_knew_is_used_before_the_first_look_up() {
        assert_eq!(addresses(&glue(&["198.51.100.53"])), Some(vec!["198.51.100.53".to_owned()]));
        assert_eq!(addresses(&glue(&[])), None);
    }
}
