//! One host name of a load balancer over time: which addresses count, and when it is asked for again (F-90).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};

use crate::absence::ABSENCES;
use crate::reply::NoWord;
use crate::target::{Targets, is_usable};
use crate::ttl::Ttl;

/// Bounds of the TTL that an answer is taken to have: a TTL of zero must not make a question per pass, and one of
/// a day must not keep a moved load balancer for a day. No outside reference.
const SHORTEST_TTL: SignedDuration = SignedDuration::from_secs(5);
/// See [`SHORTEST_TTL`].
const LONGEST_TTL: SignedDuration = SignedDuration::from_secs(300);
/// Questions within one TTL, so that one that is lost is made up for before the answer has expired.
const QUESTIONS_PER_TTL: i32 = 3;
/// Answers of a load balancer that shows a part of its addresses each time are added up over so many TTLs…
const TTLS_OF_UNION: i32 = 3;
/// … and at least over this time.
const SHORTEST_UNION: SignedDuration = SignedDuration::from_secs(30);
/// First pause before a name without a word is asked for again; doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);
/// A load balancer that is being made gets its name in DNS within a minute or two. No outside reference.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// What one question brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The name has these addresses, for so long.
    Found {
        /// Never empty.
        addresses: Targets,
        /// The smallest TTL of the chain.
        ttl: Ttl,
    },
    /// The name certainly has none.
    Absent,
    /// Nobody said anything final.
    Silent(NoWord),
}

/// What is known of a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its addresses.
    pub addresses: Targets,
    /// Whether that is known for certain: nothing final was heard of it yet if not.
    pub heard: bool,
    /// Why it is not resolved now, while `addresses` are those that it had last.
    pub trouble: Option<Trouble>,
}

impl Known {
    /// Whether nobody has said anything yet, not even that he has nothing to say.
    pub fn is_awaited(&self) -> bool {
        !self.heard && self.trouble.is_none()
    }
}

/// Why a name is not resolved. It stays as it began until the name is resolved again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// No resolver said anything final.
    Silent(NoWord),
    /// It has no address, said once or twice, or as often as it takes.
    Absent,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silent(no_word) => write!(f, "{no_word}"),
            Self::Absent => write!(f, "it has no IPv4 address in DNS"),
        }
    }
}

/// The memory of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// Addresses with the time until which they count. A resolver's cache counts the TTL down, so a later answer
    /// never shortens it.
    seen: BTreeMap<Ipv4Addr, Timestamp>,
    heard: bool,
    absences: u8,
    trouble: Option<Trouble>,
    pause: SignedDuration,
    next: Timestamp,
}

impl Lookup {
    /// A name of which nothing is known; it is due at once.
    pub fn new(now: Timestamp) -> Self {
        Self {
            seen: BTreeMap::new(),
            heard: false,
            absences: 0,
            trouble: None,
            pause: FIRST_PAUSE,
            next: now,
        }
    }

    /// When it is to be asked for.
    pub fn next(&self) -> Timestamp {
        self.next
    }

    /// What is known of it.
    pub fn known(&self) -> Known {
        Known {
            addresses: self.seen.keys().copied().collect(),
            heard: self.heard,
            trouble: self.trouble.clone(),
        }
    }

    /// Takes in what a question brought. Silence changes no address, however long it lasts.
    pub fn hear(&mut self, heard: Heard, now: Timestamp) {
        match heard {
            Heard::Found { addresses, ttl } => {
                let usable: Targets = addresses.into_iter().filter(|address| is_usable(*address)).collect();
                match usable.is_empty() {
                    // Nobody can be sent to 0.0.0.0 or a group address: as good as none.
                    true => self.hear(Heard::Absent, now),
                    false => self.found(&usable, ttl, now),
                }
            }
            Heard::Absent => {
                self.absences = self.absences.saturating_add(1);
                if self.absences >= ABSENCES {
                    self.seen.clear();
                    self.heard = true;
                }
                self.wait(Trouble::Absent, now);
            }
            Heard::Silent(no_word) => self.wait(Trouble::Silent(no_word), now),
        }
    }

    fn found(&mut self, addresses: &Targets, ttl: Ttl, now: Timestamp) {
        let ttl = SignedDuration::from_secs(i64::from(ttl.as_secs())).clamp(SHORTEST_TTL, LONGEST_TTL);
        let union = (ttl * TTLS_OF_UNION).clamp(SHORTEST_UNION, LONGEST_TTL);
        for address in addresses {
            let until = self.seen.entry(*address).or_insert(now);
            *until = (*until).max(now + union);
        }
        self.seen.retain(|_, until| *until >= now);
        self.heard = true;
        self.absences = 0;
        self.trouble = None;
        self.pause = FIRST_PAUSE;
        self.next = now + (ttl / QUESTIONS_PER_TTL).max(SHORTEST_TTL);
    }

    fn wait(&mut self, trouble: Trouble, now: Timestamp) {
        let same = |before: &Trouble| std::mem::discriminant(before) == std::mem::discriminant(&trouble);
        if !self.trouble.as_ref().is_some_and(same) {
            self.trouble = Some(trouble);
        }
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::targets;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }
    fn found(addresses: &[&str], ttl: i64) -> Heard {
        Heard::Found { addresses: targets(addresses), ttl: Ttl::from_secs(ttl).unwrap() }
    }
    fn heard(words: impl IntoIterator<Item = (i64, Heard)>) -> Lookup {
        let mut lookup = Lookup::new(at(0));
        words.into_iter().for_each(|(second, word)| lookup.hear(word, at(second)));
        lookup
    }

    #[test]
    fn a_name_that_was_never_heard_is_waited_for_and_not_absent() {
        let silent = heard([(0, Heard::Silent(NoWord::Timeout)), (9, Heard::Absent)]).known();
        assert_eq!((silent.heard, silent.addresses), (false, Targets::new()));
    }

    /// F-90.
    #[test]
    fn answers_that_show_different_addresses_are_added_up_over_three_ttls() {
        let rotating = heard([(0, found(&["192.0.2.1"], 60)), (20, found(&["192.0.2.2"], 60))]);
        assert_eq!(rotating.known().addresses, targets(&["192.0.2.1", "192.0.2.2"]));
        let moved = heard([(0, found(&["192.0.2.1"], 60)), (181, found(&["192.0.2.2"], 60))]);
        assert_eq!(moved.known().addresses, targets(&["192.0.2.2"]));
        let short = heard([(0, found(&["192.0.2.1"], 0)), (30, found(&["192.0.2.2"], 0))]);
        assert_eq!(short.known().addresses.len(), 2, "not less than half a minute");
        let long = heard([(0, found(&["192.0.2.1"], 86_400)), (301, found(&["192.0.2.2"], 86_400))]);
        assert_eq!(long.known().addresses.len(), 1, "not more than five minutes");
    }

    #[test]
    fn a_ttl_that_a_resolver_counts_down_does_not_shorten_the_union() {
        let lookup = heard([
            (0, found(&["192.0.2.1"], 60)),
            (58, found(&["192.0.2.1"], 2)),
            (60, found(&["192.0.2.2"], 60)),
            (119, found(&["192.0.2.2"], 1)),
        ]);
        assert_eq!(lookup.known().addresses, targets(&["192.0.2.1", "192.0.2.2"]));
    }

    /// Case C019. F-90.
    #[test]
    fn silence_keeps_the_addresses_for_ever_and_is_told_by_its_first_cause() {
        let mut lookup = heard([(0, found(&["192.0.2.1"], 30))]);
        for (second, word) in (1..1000).zip([NoWord::ServFail, NoWord::Timeout].into_iter().cycle()) {
            lookup.hear(Heard::Silent(word), at(second * 60));
        }
        let known = lookup.known();
        assert_eq!(known.addresses, targets(&["192.0.2.1"]));
        assert_eq!(known.trouble, Some(Trouble::Silent(NoWord::ServFail)));
        lookup.hear(found(&["192.0.2.2"], 30), at(100_000));
        assert_eq!(lookup.known(), Known { addresses: targets(&["192.0.2.2"]), heard: true, trouble: None });
    }

    /// Case C074.
    #[test]
    fn addresses_that_lead_nowhere_are_none() {
        let mixed = heard([(0, found(&["0.0.0.0", "192.0.2.1", "224.0.0.9"], 30))]);
        assert_eq!(mixed.known().addresses, targets(&["192.0.2.1"]));
        let nowhere = heard([(0, found(&["192.0.2.1"], 30)), (1, found(&["0.0.0.0"], 30))]).known();
        assert_eq!((nowhere.addresses, nowhere.trouble), (targets(&["192.0.2.1"]), Some(Trouble::Absent)));
    }

    #[test]
    fn only_three_definite_absences_in_a_row_take_the_addresses_away() {
        let mut lookup = heard([(0, found(&["192.0.2.1"], 30)), (10, Heard::Absent), (11, Heard::Absent)]);
        assert_eq!(lookup.known().addresses, targets(&["192.0.2.1"]));
        lookup.hear(Heard::Silent(NoWord::Timeout), at(12));
        lookup.hear(Heard::Absent, at(13));
        let known = lookup.known();
        assert_eq!((known.addresses, known.heard), (Targets::new(), true));
    }

    #[test]
    fn a_name_is_asked_for_three_times_within_its_ttl_and_soon_after_a_failure() {
        for (ttl, next) in [(0, 5), (15, 5), (30, 10), (300, 100), (86_400, 100)] {
            assert_eq!(heard([(0, found(&["192.0.2.1"], ttl))]).next(), at(next), "TTL {ttl}");
        }
        let mut lookup = heard([(0, found(&["192.0.2.1"], 30))]);
        let pauses: Vec<i64> = (0..7)
            .map(|_| {
                lookup.hear(Heard::Silent(NoWord::Timeout), at(10));
                lookup.next().as_second() - 10
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
    }
}
