//! Where a peer's DNS server is: the addresses of its name server name, over look-ups that may fail.
//!
//! A look-up that fails changes nothing (F-42); only repeated, definite absence takes an address away.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};

use crate::absence::ABSENCES;
use crate::target::is_usable;

/// First pause before a name without addresses is asked for again; doubles up to the normal period.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// Pause between look-ups while a delegation is on its way out: three absences are seen within half a minute.
const LEAVING_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// What a look-up of the name brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookUp {
    /// The name has these addresses.
    Found(BTreeSet<Ipv4Addr>),
    /// The name certainly has none.
    Absent,
    /// No resolver said anything final.
    Silent,
}

/// What is known of one peer's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    addresses: BTreeSet<Ipv4Addr>,
    absences: u8,
    pause: SignedDuration,
    next: Timestamp,
    asked: bool,
}

impl Whereabouts {
    /// Before the first look-up; `addresses` are what an earlier run knew.
    pub fn new(addresses: BTreeSet<Ipv4Addr>, now: Timestamp) -> Self {
        Self { addresses, absences: 0, pause: FIRST_PAUSE, next: now, asked: false }
    }

    /// Takes in what a look-up brought. `answering`: the peer still gives its word at the known addresses, so
    /// they are asked on even if the parent zone has lost the name. `period`: when a name with addresses is
    /// looked up again.
    pub fn hear(&mut self, look_up: LookUp, answering: bool, period: SignedDuration, now: Timestamp) {
        self.asked = true;
        match look_up {
            // Nobody is asked at 0.0.0.0, which would be ourselves.
            LookUp::Found(mut addresses) if addresses.iter().any(|address| is_usable(*address)) => {
                addresses.retain(|address| is_usable(*address));
                self.addresses = addresses;
                self.absences = 0;
            }
            LookUp::Found(_) => {}
            LookUp::Absent => {
                self.absences = self.absences.saturating_add(1);
                if self.absences >= ABSENCES && !answering {
                    self.addresses.clear();
                }
            }
            LookUp::Silent => {}
        }
        if self.addresses.is_empty() || self.absences > 0 {
            self.next = now + self.pause;
            self.pause = (self.pause * 2).min(period);
        } else {
            self.pause = FIRST_PAUSE;
            self.next = now + period;
        }
    }

    /// Somebody waits for the peer to leave: the name is looked up again soon (F-47).
    pub fn hurry(&mut self, now: Timestamp) {
        self.next = self.next.min(now + LEAVING_PAUSE);
    }

    /// Where the peer is asked; `None`: not looked up yet.
    pub fn asked_at(&self) -> Option<&BTreeSet<Ipv4Addr>> {
        (self.asked || !self.addresses.is_empty()).then_some(&self.addresses)
    }

    /// The addresses that the parent zone has, as far as is known: none of a name that it has lost.
    pub fn listed(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.addresses.iter().copied().filter(|_| self.absences < ABSENCES)
    }

    /// Whether neither an address is known nor has the name been found absent often enough to count as gone: no word
    /// about the peer, for those who list it already.
    pub fn is_undecided(&self) -> bool {
        self.absences < ABSENCES && self.addresses.is_empty()
    }

    /// Whether the name certainly has no address, and nothing is known of an earlier one.
    pub fn is_absent(&self) -> bool {
        self.addresses.is_empty() && self.absences > 0
    }

    /// When the name is looked up next.
    pub fn next(&self) -> Timestamp {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: SignedDuration = SignedDuration::from_secs(30);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }
    fn us() -> BTreeSet<Ipv4Addr> {
        [Ipv4Addr::new(198, 51, 100, 53)].into()
    }
    /// Found at second 0.
    fn found() -> Whereabouts {
        let mut known = Whereabouts::new([].into(), at(0));
        known.hear(LookUp::Found(us()), false, PERIOD, at(0));
        known
    }

    #[test]
    fn a_name_that_somebody_waits_for_is_looked_up_soon() {
        let mut known = found();
        assert_eq!(known.next(), at(30));
        known.hurry(at(1));
        known.hurry(at(3));
        assert_eq!(known.next(), at(6));
    }

    /// Conformance 103; F-42.
    #[test]
    fn a_failed_look_up_keeps_the_known_addresses() {
        let mut known = found();
        for second in 1..50 {
            known.hear(LookUp::Silent, false, PERIOD, at(second));
        }
        assert_eq!(known.asked_at(), Some(&us()));
    }

    /// F-42.
    #[test]
    fn three_definite_absences_in_a_row_take_an_address_away() {
        let mut known = found();
        known.hear(LookUp::Absent, false, PERIOD, at(1));
        known.hear(LookUp::Absent, false, PERIOD, at(2));
        assert_eq!((known.asked_at(), known.is_absent()), (Some(&us()), false));
        known.hear(LookUp::Absent, false, PERIOD, at(3));
        assert_eq!((known.asked_at(), known.is_absent()), (Some(&[].into()), true));
    }

    #[test]
    fn an_address_that_is_found_again_starts_the_count_anew() {
        let mut known = found();
        known.hear(LookUp::Absent, false, PERIOD, at(1));
        known.hear(LookUp::Absent, false, PERIOD, at(2));
        known.hear(LookUp::Found(us()), false, PERIOD, at(3));
        known.hear(LookUp::Absent, false, PERIOD, at(4));
        assert_eq!(known.asked_at(), Some(&us()));
    }

    #[test]
    fn a_peer_that_the_parent_lost_is_asked_on_while_it_answers_and_listed_no_more() {
        let mut known = found();
        for second in 1..10 {
            known.hear(LookUp::Absent, true, PERIOD, at(second));
        }
        assert_eq!((known.asked_at(), known.is_absent()), (Some(&us()), false));
        assert_eq!(known.listed().count(), 0);
        known.hear(LookUp::Absent, false, PERIOD, at(10));
        assert_eq!(known.asked_at(), Some(&[].into()));
    }

    #[test]
    fn what_an_earlier_run_knew_is_used_before_the_first_look_up() {
        assert_eq!(Whereabouts::new(us(), at(0)).asked_at(), Some(&us()));
        assert_eq!(Whereabouts::new([].into(), at(0)).asked_at(), None);
    }

    #[test]
    fn a_missing_name_is_asked_for_again_soon_and_a_found_one_with_the_period() {
        let mut known = Whereabouts::new([].into(), at(0));
        known.hear(LookUp::Absent, false, PERIOD, at(0));
        assert_eq!(known.next(), at(1));
        known.hear(LookUp::Absent, false, PERIOD, at(1));
        assert_eq!(known.next(), at(3));
        known.hear(LookUp::Found(us()), false, PERIOD, at(3));
        assert_eq!(known.next(), at(33));
    }
}
