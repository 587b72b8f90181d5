//! Which of the grid's addresses is asked: the one that is the master, as far as is known.
//!
//! A candidate with a read-only interface answers reads like a master, from a copy that lags behind. So an address that
//! was come to because another did not answer is in doubt until it takes a write, and one that refuses a write as well.
//! Now and then the others are asked before it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// How long an address in doubt is asked before the others are tried again. No outside reference: a restart of a master
/// takes longer, and a read from a copy is at most this old.
const DOUBTED_FOR: SignedDuration = SignedDuration::from_secs(60);

/// Plain state behind a mutex. Addresses are told apart by their index.
pub(crate) struct Master {
    addresses: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: usize,
    /// Since when the others were not asked.
    doubted: BTreeMap<usize, Timestamp>,
}

impl Master {
    /// `current`: the one that is asked first.
    pub(crate) fn among(addresses: usize, current: usize) -> Self {
        Self { addresses, state: Mutex::new(State { current, ..State::default() }) }
    }

    /// The address that is asked.
    pub(crate) fn current(&self) -> usize {
        self.state().current
    }

    /// Goes on to the next address; nothing if there is no other, or another request went on already.
    pub(crate) fn leave(&self, asked: usize) -> Option<usize> {
        let mut state = self.state();
        let next = (asked + 1) % self.addresses.max(1);
        if state.current != asked || next == asked {
            return None;
        }
        state.current = next;
        Some(next)
    }

    pub(crate) fn doubt(&self, address: usize, now: Timestamp) {
        self.state().doubted.insert(address, now);
    }

    /// It took a write, which only a master does.
    pub(crate) fn trust(&self, address: usize) {
        self.state().doubted.remove(&address);
    }

    /// Whether the others should be asked before this one, which is so once in a while for an address in doubt.
    pub(crate) fn is_due(&self, asked: usize, now: Timestamp) -> bool {
        let mut state = self.state();
        let Some(since) = state.doubted.get_mut(&asked) else { return false };
        // A clock that was set back must not make the wait longer.
        *since = now.min(*since);
        let due = self.addresses > 1 && now.duration_since(*since) >= DOUBTED_FOR;
        if due {
            *since = now;
        }
        due
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn an_address_in_doubt_is_passed_over_once_a_minute_until_it_takes_a_write() {
        let master = Master::among(2, 0);
        assert!(!master.is_due(0, at(0)));
        master.doubt(0, at(0));
        let due = |second| master.is_due(0, at(second));
        assert_eq!([59, 60, 61, 119, 120].map(due), [false, true, false, false, true]);
        assert_eq!([-3600, -3541, -3540].map(due), [false, false, true]);
        master.trust(0);
        assert!(!master.is_due(0, at(9999)));
    }

    #[test]
    fn the_addresses_follow_one_another_and_an_only_one_is_never_left() {
        let master = Master::among(2, 0);
        assert_eq!((master.leave(0), master.leave(0), master.leave(1)), (Some(1), None, Some(0)));
        assert_eq!(Master::among(1, 0).leave(0), None);
    }
}
