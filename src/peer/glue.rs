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
    tag: GeoTag,
    whereabouts: Whereabouts,
}

/// One name server name of a peer, after the zone that it stands for.
pub(crate) type PeerName = (DomainName, DomainName);

#[derive(Debug, Default)]
struct Plain {
    entries: BTreeMap<PeerName, Entry>,
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

    /// Keeps entries of exactly the names that `look` gives, with what an earlier run knew of them. They are looked up
    /// under our lock, so that of two callers the later one has the later list.
    pub(crate) fn keep(
        &self,
        look: impl FnOnce() -> (BTreeMap<PeerName, GeoTag>, BTreeSet<(DomainName, Ipv4Addr)>),
        now: Timestamp,
    ) {
        let mut plain = self.lock();
        let (names, known) = look();
        let before = plain.entries.len();
        plain.entries.retain(|peer, entry| names.get(peer) == Some(&entry.tag));
        let mut changed = plain.entries.len() != before;
        for (peer, tag) in names {
            let ns_name = peer.1.clone();
            plain.entries.entry(peer).or_insert_with(|| {
                changed = true;
                let addresses =
                    known.iter().filter(|(name, _)| *name == ns_name).map(|(_, address)| *address).collect();
                Entry { tag, whereabouts: Whereabouts::new(addresses, now) }
            });
        }
        drop(plain);
        if changed {
            self.changed.send_modify(|version| *version += 1);
        }
    }

    /// Names to ask for now, and when the next one is due.
    pub(crate) fn due(&self, now: Timestamp) -> (Vec<(PeerName, GeoTag)>, Option<Timestamp>) {
        let plain = self.lock();
        let due = plain.entries.iter().filter(|(_, entry)| entry.whereabouts.next() <= now);
        let due = due.map(|(peer, entry)| (peer.clone(), entry.tag.clone())).collect();
        (due, plain.entries.values().map(|entry| entry.whereabouts.next()).min())
    }

    /// Takes in what a look-up brought. `answering`: the peer still gives its word at the known addresses.
    pub(crate) fn hear(&self, peer: &PeerName, look_up: LookUp, answering: bool, now: Timestamp) {
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

    /// The name servers of a zone of which nothing definite is known.
    pub(crate) fn undecided(&self, zone: &DomainName) -> BTreeSet<DomainName> {
        let plain = self.lock();
        let entries = plain.entries.iter();
        let undecided = entries.filter(|((name, _), entry)| name == zone && entry.whereabouts.is_undecided());
        undecided.map(|((_, ns_name), _)| ns_name.clone()).collect()
    }

    /// Has the peers of a zone looked up soon: somebody waits for them to leave.
    pub(crate) fn hurry(&self, zone: &DomainName, now: Timestamp) {
        for ((name, _), entry) in &mut self.lock().entries {
            if name == zone {
                entry.whereabouts.hurry(now);
            }
        }
    }

    /// Where a peer's DNS is for a zone, by all of its names; `None`: none was looked up yet.
    pub(crate) fn addresses(&self, zone: &DomainName, tag: &GeoTag) -> Option<BTreeSet<Ipv4Addr>> {
        let plain = self.lock();
        let entries = plain.entries.iter().filter(|((name, _), entry)| name == zone && entry.tag == *tag);
        let known = entries.filter_map(|(_, entry)| entry.whereabouts.asked_at());
        known.cloned().reduce(|addresses, more| &addresses | &more)
    }

    /// The peers' name servers of a zone.
    pub(crate) fn servers(&self, zone: &Zone) -> BTreeSet<(DomainName, Ipv4Addr)> {
        let plain = self.lock();
        let entries = plain.entries.iter().filter(|((name, _), _)| name == zone.name());
        entries
            .flat_map(|((_, ns_name), entry)| {
                entry.whereabouts.listed().map(|address| (ns_name.clone(), address))
            })
            .collect()
    }

    /// Peers whose name certainly has no address in any zone.
    pub(crate) fn absent(&self) -> BTreeSet<GeoTag> {
        let plain = self.lock();
        let mut absent: BTreeMap<&GeoTag, bool> = BTreeMap::new();
        for entry in plain.entries.values() {
            *absent.entry(&entry.tag).or_insert(true) &= entry.whereabouts.is_absent();
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
    fn us() -> GeoTag {
        GeoTag::parse("us").unwrap()
    }
    fn peer() -> PeerName {
        (name("cloud.example.com"), name("gslb-ns-us-cloud.example.com"))
    }
    fn glue(known: &[&str]) -> Glue {
        let glue = Glue::new(Duration::from_secs(30));
        let known = known.iter().map(|ip| (peer().1, ip.parse().unwrap())).collect();
        glue.keep(|| ([(peer(), us())].into(), known), at(0));
        glue
    }
    fn addresses(glue: &Glue) -> Option<Vec<String>> {
        let found = glue.addresses(&peer().0, &us())?;
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
        assert_eq!(glue.absent(), [us()].into());
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

    /// F-39.
    #[test]
    fn a_peer_with_two_names_is_asked_at_the_addresses_of_both() {
        let glue = glue(&["198.51.100.53"]);
        let other = (peer().0, name("my-us-cloud.example.com"));
        glue.keep(|| ([(peer(), us()), (other.clone(), us())].into(), [].into()), at(0));
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned()]));
        glue.hear(&other, found("198.51.100.54"), false, at(0));
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.53".to_owned(), "198.51.100.54".to_owned()]));
        glue.keep(|| ([(other, us())].into(), [].into()), at(1));
        assert_eq!(addresses(&glue), Some(vec!["198.51.100.54".to_owned()]));
    }

    /// While one caller looks the list up, no other one can keep a list.
    #[test]
    fn of_two_callers_the_later_one_has_the_later_list() {
        let glue = glue(&[]);
        let look = || {
            assert!(glue.plain.try_lock().is_err());
            ([].into(), [].into())
        };
        glue.keep(look, at(1));
        assert_eq!(glue.due(at(1)), (vec![], None));
    }

    /// Conformance 64.
    #[test]
    fn what_an_earlier_run_knew_is_used_before_the_first_look_up() {
        assert_eq!(addresses(&glue(&["198.51.100.53"])), Some(vec!["198.51.100.53".to_owned()]));
        assert_eq!(addresses(&glue(&[])), None);
    }
}
