//! When a backend's services are restarted, so that what stands in its database is served. A restart is felt by
//! everybody whom the backend serves, so several changes share one.

use jiff::{SignedDuration, Timestamp};

use crate::name::DomainName;

/// How long a restart waits for further changes, and for whoever restarts the services anyway; also the shortest time
/// between two (reference.md §7.2: before NIOS 9.0.7 a restart of DNS restarts everything).
pub const RESTART_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// What is known of restarts at one backend. Plain data: the caller keeps it between passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restarts {
    needed_since: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// Whether to restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Now. Whoever is told so has taken the turn.
    Now,
    /// Not before this time.
    At(Timestamp),
}

impl Restarts {
    /// The backend says that a restart is needed.
    pub fn needed(&mut self, now: Timestamp) -> Due {
        let since = *self.needed_since.get_or_insert(now);
        let from = self.last.map_or(since, |last| last.max(since));
        let at = from.saturating_add(RESTART_PAUSE).unwrap_or(Timestamp::MAX);
        if now < at {
            return Due::At(at);
        }
        *self = Self { needed_since: None, last: Some(now) };
        Due::Now
    }

    /// The backend says that no restart is needed.
    pub fn served(&mut self) {
        self.needed_since = None;
    }
}

/// Name of one restart by its content.
pub fn id(zone: &DomainName, why: &str) -> String {
    crate::edit::content_id(&("restart", zone, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn changes_of_one_minute_share_a_restart() {
        let mut restarts = Restarts::default();
        let told: Vec<_> = [0, 30, 59, 60, 61, 120, 121].map(|second| restarts.needed(at(second))).into();
        let expected = [
            Due::At(at(60)),
            Due::At(at(60)),
            Due::At(at(60)),
            Due::Now,
            Due::At(at(121)),
            Due::At(at(121)),
            Due::Now,
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_somebody_else_restarted_waits_anew() {
        let mut restarts = Restarts::default();
        assert_eq!(restarts.needed(at(0)), Due::At(at(60)));
        restarts.served();
        assert_eq!(restarts.needed(at(100)), Due::At(at(160)));
    }
}
