//! When a change without outcome gets one: a read of the provider tells, but not before its request is over.

use std::time::Duration;

use jiff::Timestamp;

use super::entry::ChangeResult;
use crate::edit::Traced;

/// A change whose outcome nobody saw, and what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsettled<'a, C> {
    /// The change; nothing if another version wrote it in a form that is not ours.
    pub change: Option<&'a C>,
    /// Whether the provider is known to hold it back until somebody agrees.
    pub awaits_approval: bool,
    /// When nobody waited for its reply any more, by our own clock: the caller gave up, or the change was found
    /// without outcome.
    ///
    /// This is not the time in the intent. Between that and the request lie the storing of the intent and the
    /// reads before the write, of any length, and it may be of another pod's clock.
    pub since: Timestamp,
    /// How long after that the provider may still carry the request out.
    pub bound: Duration,
}

/// What a read of the provider means for a change without outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// It ended like this.
    Settled(ChangeResult),
    /// Its request may still be under way. Until then nothing may be written, and only a read that begins then or
    /// later tells.
    Wait {
        /// The first moment at which a read tells.
        until: Timestamp,
    },
}

impl<C: Traced> Unsettled<'_, C> {
    /// Judges a read that began at `read_at`.
    ///
    /// A change that shows was made. That it does not show means nothing while its request may be under way.
    pub fn settle(&self, observed: &C::Observed, read_at: Timestamp) -> Settlement {
        if self.change.is_some_and(|change| change.shows_in(observed)) {
            return Settlement::Settled(ChangeResult::Applied);
        }
        if self.awaits_approval {
            return Settlement::Settled(ChangeResult::AwaitingApproval);
        }
        // A clock that was set back must not make the wait longer.
        let until = self.since.min(read_at).saturating_add(self.bound).unwrap_or(Timestamp::MAX);
        if read_at < until {
            return Settlement::Wait { until };
        }
        // Only what still is as it was before the change was surely not made.
        let untouched = self.change.is_some_and(|change| change.matches(observed));
        Settlement::Settled(if untouched { ChangeResult::NotApplied } else { ChangeResult::Unknown })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::change::Change;
    use crate::delegation::{Delegation, ObservedDelegation, Presence};
    use crate::name::DomainName;
    use crate::ttl::Ttl;

    fn delegation(address: &str) -> Delegation {
        let name = |text| DomainName::parse(text).unwrap();
        let glue = BTreeSet::from([address.parse().unwrap()]);
        let servers = [(name("gslb-ns-eu-cloud.example.com"), glue)].into();
        Delegation { zone: name("cloud.example.com"), ttl: Some(Ttl::DEFAULT), servers }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn what_does_not_show_is_settled_only_by_a_read_after_its_request_is_over() {
        use ChangeResult::{Applied, AwaitingApproval, NotApplied, Unknown};
        use Settlement::{Settled, Wait};
        let create = Change::Create { after: delegation("192.0.2.53") };
        let present = |address| Presence::Present(ObservedDelegation::plain(delegation(address)));
        let (absent, made, other) = (Presence::Absent, present("192.0.2.53"), present("198.51.100.53"));
        let known = Some(&create);
        // Nobody waits for the reply since second 100; the provider may take 25 seconds more.
        let cases = [
            ("shown at once", known, false, &made, 100, Settled(Applied)),
            ("shown later", known, false, &made, 200, Settled(Applied)),
            ("held back for approval", known, true, &absent, 100, Settled(AwaitingApproval)),
            ("untouched at once", known, false, &absent, 100, Wait { until: at(125) }),
            ("untouched a second too early", known, false, &absent, 124, Wait { until: at(125) }),
            ("untouched when it is over", known, false, &absent, 125, Settled(NotApplied)),
            ("altered by others meanwhile", known, false, &other, 124, Wait { until: at(125) }),
            ("altered by others", known, false, &other, 125, Settled(Unknown)),
            ("unreadable meanwhile", None, false, &made, 124, Wait { until: at(125) }),
            ("unreadable", None, false, &made, 125, Settled(Unknown)),
            ("a clock that was set back", known, false, &absent, 40, Wait { until: at(65) }),
        ];
        for (what, change, awaits_approval, observed, read_at, expected) in cases {
            let bound = Duration::from_secs(25);
            let unsettled = Unsettled { change, awaits_approval, since: at(100), bound };
            assert_eq!(unsettled.settle(observed, at(read_at)), expected, "{what}");
        }
    }

    #[test]
    fn a_provider_that_carries_nothing_out_late_is_believed_at_once() {
        let create = Change::Create { after: delegation("192.0.2.53") };
        let unsettled = Unsettled {
            change: Some(&create),
            awaits_approval: false,
            since: at(100),
            bound: Duration::ZERO,
        };
        let settled = unsettled.settle(&Presence::Absent, at(100));
        assert_eq!(settled, Settlement::Settled(ChangeResult::NotApplied));
    }
}
