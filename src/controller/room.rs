//! Room for passes, and for the writes that go on beside them: where the calls of one namespace hang, as they do behind
//! an admission webhook that does not answer, those of others go on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A pass of so long hangs at a call. No outside reference.
const SLOW: Duration = Duration::from_millis(500);
/// How long it is remembered that one did: above the longest pause after a failure (30 s).
const REMEMBERED: Duration = Duration::from_secs(45);

/// How much each namespace may still begin.
pub(crate) struct Room<'a> {
    running: BTreeMap<&'a str, usize>,
    share: usize,
}

impl<'a> Room<'a> {
    /// `running`: the namespace of each write that is under way, of `at_once` that may be; what has no namespace counts
    /// as one of its own. Half of the room is the most that one namespace gets.
    pub(crate) fn beside(running: impl IntoIterator<Item = &'a str>, at_once: usize) -> Self {
        let mut counts = BTreeMap::new();
        for namespace in running {
            *counts.entry(namespace).or_default() += 1;
        }
        Self { running: counts, share: share_of(at_once) }
    }

    /// Whether one more of this namespace may begin.
    pub(crate) fn is_for(&self, namespace: &str) -> bool {
        self.running.get(namespace).is_none_or(|count| *count < self.share)
    }
}

/// What one namespace gets.
fn share_of(at_once: usize) -> usize {
    at_once.div_ceil(2)
}

/// The same for passes, which are short unless the calls of their namespace are slow: only then it is held to its share.
pub(crate) struct Turns {
    lanes: Mutex<BTreeMap<String, Lane>>,
    share: usize,
}

/// The passes of one namespace.
#[derive(Debug, Default)]
struct Lane {
    /// When those that are under way began.
    begun: Vec<Instant>,
    /// One of them was slow lately.
    slow_until: Option<Instant>,
}

/// A turn, until it is dropped.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    namespace: String,
    begun: Instant,
}

impl Turns {
    pub(crate) fn new(at_once: usize) -> Self {
        Self { lanes: Mutex::default(), share: share_of(at_once) }
    }

    /// A turn, unless the namespace is slow and has its share already.
    pub(crate) fn take(&self, namespace: &str) -> Option<Turn<'_>> {
        let now = Instant::now();
        let mut lanes = self.lock();
        let lane = lanes.entry(namespace.to_owned()).or_default();
        if lane.begun.len() >= self.share && lane.is_slow(now) {
            return None;
        }
        lane.begun.push(now);
        Some(Turn { turns: self, namespace: namespace.to_owned(), begun: now })
    }

    fn end(&self, namespace: &str, begun: Instant) {
        let now = Instant::now();
        let mut lanes = self.lock();
        if let Some(lane) = lanes.get_mut(namespace) {
            if now - begun >= SLOW {
                lane.slow_until = Some(now + REMEMBERED);
            }
            if let Some(at) = lane.begun.iter().position(|other| *other == begun) {
                lane.begun.swap_remove(at);
            }
        }
        lanes.retain(|_, lane| !lane.begun.is_empty() || lane.is_slow(now));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Lane>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    fn is_slow(&self, now: Instant) -> bool {
        self.slow_until.is_some_and(|until| until > now)
            || self.begun.iter().any(|begun| now - *begun >= SLOW)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.end(&self.namespace, self.begun);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_namespace_that_is_slow_gets_half_of_the_turns_until_it_was_fast_for_a_while() {
        let turns = Turns::new(4);
        let all: Vec<_> = (0..4).map(|_| turns.take("a").unwrap()).collect();
        advance(SLOW).await;
        assert!(turns.take("a").is_none());
        drop(all);
        let share = [turns.take("a").unwrap(), turns.take("a").unwrap()];
        assert!(turns.take("a").is_none(), "it was slow lately");
        assert!(turns.take("b").is_some());
        drop(share);
        advance(REMEMBERED).await;
        let all: Vec<_> = (0..4).map(|_| turns.take("a").unwrap()).collect();
        drop(all);
        assert!(turns.lock().is_empty());
    }

    #[test]
    fn one_namespace_gets_half_of_the_room_at_most() {
        let room = Room::beside(["a", "b", "a"], 4);
        assert_eq!([room.is_for("a"), room.is_for("b"), room.is_for("")], [false, true, true]);
        assert!(Room::beside([], 1).is_for("a"));
    }
}
