//! Stops asking a grid that does not answer, for a growing, bounded time.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Failures in a row before requests are held back: one pass of a few zones, so that a single hiccup does not
/// count. No outside reference.
const THRESHOLD: u32 = 5;
/// First pause; it doubles with every further failure. No outside reference.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(2);
/// Longest pause: a grid that is back is noticed within half a minute. No outside reference.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(30);

/// How the last failure is told again while the breaker is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outage {
    Unavailable(String),
    Forbidden(String),
}

/// Plain state machine; the client holds it in a mutex.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    open: Option<Hold>,
}

/// Requests are held back. Begin and length instead of an end: a clock that is set back meanwhile would put an end far
/// off.
#[derive(Debug)]
struct Hold {
    since: Timestamp,
    pause: SignedDuration,
    outage: Outage,
}

impl Hold {
    /// What is left of the pause; it begins anew if the clock was set back behind its begin.
    fn left(&mut self, now: Timestamp) -> SignedDuration {
        self.since = self.since.min(now);
        self.pause.saturating_sub(now.duration_since(self.since))
    }
}

impl Breaker {
    /// May a request be sent now? After a pause exactly one may; the next pause holds the others back until it
    /// is known how that one went.
    pub(crate) fn admit(&mut self, now: Timestamp) -> Result<(), (SignedDuration, Outage)> {
        let pause = self.pause();
        let Some(hold) = &mut self.open else { return Ok(()) };
        let left = hold.left(now);
        if left.is_positive() {
            return Err((left, hold.outage.clone()));
        }
        (hold.since, hold.pause) = (now, pause);
        Ok(())
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, outage: Outage, now: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= THRESHOLD {
            self.open = Some(Hold { since: now, pause: self.pause(), outage });
        }
    }

    /// The grid itself says for how long it is away.
    pub(crate) fn told(&mut self, outage: Outage, pause: Duration, now: Timestamp) {
        let held = self.open.as_mut().map_or(SignedDuration::ZERO, |hold| hold.left(now));
        let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX).max(held);
        self.open = Some(Hold { since: now, pause, outage });
    }

    fn pause(&self) -> SignedDuration {
        let doublings = self.failures.saturating_sub(THRESHOLD).min(8);
        FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn outage() -> Outage {
        Outage::Unavailable("no answer".into())
    }

    fn failing(times: u32) -> Breaker {
        let mut breaker = Breaker::default();
        (0..times).for_each(|_| breaker.failed(outage(), at(0)));
        breaker
    }

    #[test]
    fn four_failures_hold_nothing_back_and_the_fifth_does() {
        assert_eq!(failing(4).admit(at(0)), Ok(()));
        assert_eq!(failing(5).admit(at(1)), Err((SignedDuration::from_secs(1), outage())));
    }

    #[test]
    fn a_grid_that_says_for_how_long_it_is_away_is_asked_after_that() {
        let mut breaker = failing(1);
        breaker.told(outage(), Duration::from_secs(60), at(0));
        assert_eq!(breaker.admit(at(59)), Err((SignedDuration::from_secs(1), outage())));
        assert_eq!(breaker.admit(at(60)), Ok(()));
    }

    #[test]
    fn after_a_pause_exactly_one_request_tries() {
        let mut breaker = failing(5);
        assert_eq!(breaker.admit(at(2)), Ok(()));
        assert!(breaker.admit(at(2)).is_err());
        breaker.succeeded();
        assert_eq!(breaker.admit(at(2)), Ok(()));
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_a_pause_by_no_more_than_itself() {
        let mut breaker = failing(5);
        assert_eq!(breaker.admit(at(-3600)), Err((SignedDuration::from_secs(2), outage())));
        assert_eq!(breaker.admit(at(-3598)), Ok(()));
    }

    #[test]
    fn the_pause_grows_to_half_a_minute_and_no_further() {
        for (failures, seconds) in [(5, 2), (6, 4), (7, 8), (8, 16), (9, 30), (99, 30)] {
            assert_eq!(failing(failures).admit(at(0)), Err((SignedDuration::from_secs(seconds), outage())));
        }
    }
}
