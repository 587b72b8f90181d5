//! What makes an empty search an absence: the grid also finds nothing for an account that lost its rights, and
//! below a parent zone that is not in this view.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gslb_core::name::DomainName;
use jiff::{SignedDuration, Timestamp};

/// How long a zone that is absent counts as visible before its parent is read again: rest costs one more read in
/// some forty, and lost rights are told within minutes. No outside reference.
const CONFIRMED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// When the absence of a zone was last confirmed.
#[derive(Default)]
pub(crate) struct Absences(Mutex<BTreeMap<DomainName, Timestamp>>);

impl Absences {
    pub(crate) fn is_confirmed(&self, zone: &DomainName, now: Timestamp) -> bool {
        let confirmed = self.zones().get(zone).copied();
        confirmed.is_some_and(|at| at <= now && now.duration_since(at) < CONFIRMED_FOR)
    }

    pub(crate) fn confirm(&self, zone: &DomainName, now: Timestamp) {
        self.zones().insert(zone.clone(), now);
    }

    /// The zone was seen: when it is gone the next time, that is news, and to be confirmed.
    pub(crate) fn forget(&self, zone: &DomainName) {
        self.zones().remove(zone);
    }

    fn zones(&self) -> MutexGuard<'_, BTreeMap<DomainName, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The zones that may hold a delegation of `zone`, the closest first: at most as many as it has labels.
pub(crate) fn above(zone: &DomainName) -> impl Iterator<Item = DomainName> {
    let parent = |name: &DomainName| {
        let (_, rest) = name.as_str().split_once('.')?;
        DomainName::parse(rest).ok()
    };
    std::iter::successors(parent(zone), parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    #[test]
    fn a_delegation_may_stand_in_every_zone_around_it() {
        let above: Vec<_> = above(&name("eu.cloud.example.com")).collect();
        assert_eq!(above, [name("cloud.example.com"), name("example.com"), name("com")]);
    }

    #[test]
    fn a_confirmed_absence_counts_for_ten_minutes_and_until_the_zone_is_seen() {
        let (absences, zone) = (Absences::default(), name("cloud.example.com"));
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        assert!(!absences.is_confirmed(&zone, at(0)));
        absences.confirm(&zone, at(0));
        assert!(absences.is_confirmed(&zone, at(599)));
        assert!(!absences.is_confirmed(&zone, at(600)));
        absences.forget(&zone);
        assert!(!absences.is_confirmed(&zone, at(1)));
    }
}
