//! Room for passes, and for the writes that go on beside them: where the calls of one namespace hang, as they do behind
//! an admission webhook that does not answer, those of others go on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

/// The same room for whoever can wait for it, in the order of asking.
pub(crate) struct Turns {
    all: Arc<Semaphore>,
    namespaces: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    share: usize,
}

/// A turn, until it is dropped.
pub(crate) struct Turn(#[allow(dead_code, reason = "held")] [Option<OwnedSemaphorePermit>; 2]);

impl Turns {
    pub(crate) fn new(at_once: usize) -> Self {
        let all = Arc::new(Semaphore::new(at_once));
        Self { all, namespaces: Mutex::default(), share: share_of(at_once) }
    }

    /// Waits until one more of this namespace may begin.
    pub(crate) async fn take(&self, namespace: &str) -> Turn {
        let own = self.own(namespace);
        // Neither is ever closed.
        let own = own.acquire_owned().await.ok();
        Turn([own, Arc::clone(&self.all).acquire_owned().await.ok()])
    }

    fn own(&self, namespace: &str) -> Arc<Semaphore> {
        let mut namespaces = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waits for one, or has a turn of it, holds it.
        namespaces.retain(|_, own| Arc::strong_count(own) > 1);
        let new = || Arc::new(Semaphore::new(self.share));
        Arc::clone(namespaces.entry(namespace.to_owned()).or_insert_with(new))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_namespace_that_hangs_leaves_half_of_the_turns_to_others_and_is_forgotten_at_its_end() {
        let turns = Turns::new(4);
        let now = |namespace: &str| turns.take(namespace).now_or_never();
        let (first, second) = (now("a").unwrap(), now("a").unwrap());
        assert!(now("a").is_none());
        let others = [now("b").unwrap(), now("c").unwrap()];
        assert!(now("d").is_none(), "four at once are all");
        drop(first);
        let again = now("a").unwrap();
        drop((second, again, others));
        let _other = now("e").unwrap();
        let names: Vec<_> = turns.namespaces.lock().unwrap().keys().cloned().collect();
        assert_eq!(names, ["e"]);
    }

    #[test]
    fn one_namespace_gets_half_of_the_room_at_most() {
        let room = Room::beside(["a", "b", "a"], 4);
        assert_eq!([room.is_for("a"), room.is_for("b"), room.is_for("")], [false, true, true]);
        assert!(Room::beside([], 1).is_for("a"));
    }
}
