//! Which watches fail at the moment. Pure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A watch that has not failed for so long works again, whether it said something or not: one that fails does so again
/// after the silence that the client bears (45 s) and a pause.
const CALM: Duration = Duration::from_secs(60);

/// Kinds whose watch fails, and when each did last.
#[derive(Debug, Default)]
pub(super) struct Failing(BTreeMap<&'static str, Instant>);

impl Failing {
    /// Takes down a failure; gives whether it is news.
    pub(super) fn failed(&mut self, kind: &'static str, now: Instant) -> bool {
        self.0.insert(kind, now).is_none()
    }

    /// Something was heard of the kind; gives whether that is news.
    pub(super) fn heard(&mut self, kind: &'static str) -> bool {
        self.0.remove(kind).is_some()
    }

    /// The kinds that have been calm for long enough, once.
    pub(super) fn calmed(&mut self, now: Instant) -> Vec<&'static str> {
        self.0.extract_if(.., |_, last| now.duration_since(*last) >= CALM).map(|(kind, _)| kind).collect()
    }

    /// When the next one has.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().min().map(|last| *last + CALM)
    }

    /// Whether all watches work.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_works_again_when_it_was_heard_or_did_not_fail_for_a_minute() {
        let mut failing = Failing::default();
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert!(failing.failed("Zone", at(0)) && failing.failed("Endpoint", at(0)));
        assert!(!failing.failed("Zone", at(50)));
        assert!(failing.heard("Endpoint") && !failing.heard("Endpoint"));
        assert_eq!(failing.next(), Some(at(110)));
        assert_eq!(failing.calmed(at(109)), [""; 0]);
        assert_eq!(failing.calmed(at(110)), ["Zone"]);
        assert!(failing.is_empty() && failing.next().is_none());
        assert!(failing.failed("Zone", at(120)), "the next failure is news");
    }
}
