//! A last word under doubt: how often the peer is asked again, and when that has to end.

use jiff::{SignedDuration, Timestamp};

use crate::reply::NoWord;

/// When the tries start after the sweep that raised the doubt on a silent peer: each waits for the one before,
/// whose time-out is 0.5 or 1 s. One that fails at once (a refusal, a closed port) must not use them up within
/// milliseconds, or a restart of the peer's DNS server would look like its end.
pub(super) const SILENT_TRIES: [SignedDuration; 3] =
    [SignedDuration::ZERO, SignedDuration::from_millis(500), SignedDuration::from_millis(1500)];
/// Verdict on a silent peer at the latest this long after the doubt arose, whatever the tries do.
const SILENT_VERDICT: SignedDuration = SignedDuration::from_secs(3);
/// A negative answer without AA must be repeated for this long.
pub(super) const NEGATIVE_VERDICT: SignedDuration = SignedDuration::from_secs(2);
/// The same when several hosts of the peer vanished together: a reloading CoreDNS (contract §8.7). Also the
/// longest time that addresses of one peer may contradict each other.
pub(super) const RELOAD_VERDICT: SignedDuration = SignedDuration::from_secs(5);
/// When to ask again after a negative answer without AA; then every second.
const NEGATIVE_REPEATS: [SignedDuration; 3] =
    [SignedDuration::from_millis(300), SignedDuration::from_secs(1), SignedDuration::from_secs(2)];

/// Why the last word is doubted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoubtCause {
    /// A negative answer without AA.
    Negative,
    /// The peer's addresses contradict each other.
    Mixed,
    /// No address gave a definite answer.
    NoWord(NoWord),
}

/// A last word under doubt. Its targets still count as good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// Why.
    pub cause: DoubtCause,
    /// Since when.
    pub since: Timestamp,
    /// Rounds asked since.
    pub tries: u8,
    /// Whether so many hosts of the peer vanished with this one that its DNS server is rather reloading.
    pub together: bool,
}

impl Doubt {
    pub(super) fn new(cause: DoubtCause, since: Timestamp) -> Self {
        Self { cause, since, tries: 0, together: false }
    }

    pub(super) fn again(&self, cause: DoubtCause) -> Self {
        Self { cause, tries: self.tries.saturating_add(1), ..*self }
    }

    pub(super) fn expired(&self, now: Timestamp) -> bool {
        let bound = match self.cause {
            DoubtCause::NoWord(_) => SILENT_VERDICT,
            // One second of grace for the last repeat's own reply.
            DoubtCause::Negative | DoubtCause::Mixed => RELOAD_VERDICT + SignedDuration::from_secs(1),
        };
        now.duration_since(self.since) >= bound
    }

    pub(super) fn is_tried_out(&self) -> bool {
        usize::from(self.tries) >= SILENT_TRIES.len()
    }

    pub(super) fn next_try(&self) -> Timestamp {
        match self.cause {
            DoubtCause::NoWord(_) => {
                let tries = usize::from(self.tries);
                self.since + SILENT_TRIES.get(tries).copied().unwrap_or(SILENT_VERDICT)
            }
            DoubtCause::Negative | DoubtCause::Mixed => {
                let tries = usize::from(self.tries);
                let repeat = NEGATIVE_REPEATS.get(tries).copied().unwrap_or_else(|| {
                    let beyond = i64::from(self.tries) - (NEGATIVE_REPEATS.len() as i64) + 1;
                    NEGATIVE_VERDICT + SignedDuration::from_secs(beyond)
                });
                self.since + repeat
            }
        }
    }
}
