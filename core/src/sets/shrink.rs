//! A listing that lost too much to be believed: what external-dns does not see any more it makes anew, and what it
//! takes for gone it forgets.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::observed::ObservedSets;
use super::record_set::SetKey;

/// Fewer missing sets than this are somebody's work at the backend, unless nothing is left. No outside reference.
const FEW: usize = 10;
/// For so long a loss must show in every listing before it is believed: an account that lost its rights is noticed
/// within that time, and who emptied a zone on purpose waits no longer. No outside reference.
const BELIEVED_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What was told last, and since when less than that is read.
#[derive(Debug, Clone, Default)]
pub struct Told {
    keys: BTreeSet<SetKey>,
    doubted_since: Option<Timestamp>,
}

/// Too much is missing. Its text is the sentence for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{missing} of the {told} sets of records that were listed before are missing, which is not believed until it has been so for 10 minutes; look whether the zones are there and whether the account may still read them"
)]
pub struct Loss {
    /// Sets that were there, and that nobody removed through this process.
    pub missing: usize,
    /// Sets that were told last.
    pub told: usize,
}

impl Told {
    /// Takes a complete listing.
    ///
    /// # Errors
    /// It must not be told.
    pub fn listed(&mut self, found: &ObservedSets, now: Timestamp) -> Result<(), Loss> {
        let has = |key: &&SetKey| found.get(&key.name).is_some_and(|name| name.contains_key(&key.rtype));
        let (told, missing) = (self.keys.len(), self.keys.iter().filter(|key| !has(key)).count());
        let most = found.is_empty() || (missing >= FEW && missing * 2 > told);
        let since = *self.doubted_since.get_or_insert(now);
        if missing > 0 && most && now.duration_since(since) < BELIEVED_AFTER {
            return Err(Loss { missing, told });
        }
        let keys =
            found.iter().flat_map(|(name, sets)| sets.keys().map(|rtype| SetKey::new(name.clone(), *rtype)));
        *self = Self { keys: keys.collect(), doubted_since: None };
        Ok(())
    }

    /// A set was made through this process, and is there from now on.
    pub fn made(&mut self, key: SetKey) {
        self.keys.insert(key);
    }

    /// A set was removed through this process.
    pub fn removed(&mut self, key: &SetKey) {
        self.keys.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::DomainName;
    use crate::sets::{ObservedSet, RecordType};

    fn sets(numbers: std::ops::Range<usize>) -> ObservedSets {
        let name = |number| DomainName::parse(&format!("host{number}.example.com")).unwrap();
        numbers.map(|number| (name(number), [(RecordType::A, ObservedSet::default())].into())).collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// C066.
    #[test]
    fn most_or_all_sets_do_not_vanish_at_once() {
        let told = |before: usize, left: usize| {
            let mut told = Told::default();
            told.listed(&sets(0..before), at(0)).unwrap();
            told.listed(&sets(0..left), at(60)).map_err(|loss| loss.missing)
        };
        assert_eq!(told(0, 0), Ok(()));
        assert_eq!(told(1, 0), Err(1));
        assert_eq!(told(9, 1), Ok(()));
        assert_eq!(told(20, 10), Ok(()));
        assert_eq!(told(20, 9), Err(11));
        assert_eq!(told(20, 30), Ok(()));
    }

    #[test]
    fn a_loss_is_believed_after_ten_minutes_and_forgotten_when_it_is_none() {
        let mut told = Told::default();
        told.listed(&sets(0..5), at(0)).unwrap();
        told.listed(&sets(0..0), at(60)).unwrap_err();
        told.listed(&sets(0..0), at(659)).unwrap_err();
        told.listed(&sets(0..5), at(660)).unwrap();
        assert_eq!(
            told.listed(&sets(0..0), at(661)).unwrap_err().to_string(),
            "5 of the 5 sets of records that were listed before are missing, which is not believed until it has been so for 10 minutes; look whether the zones are there and whether the account may still read them"
        );
        told.listed(&sets(0..0), at(1261)).unwrap();
    }

    #[test]
    fn what_was_made_through_us_is_there_and_what_came_otherwise_shows_that_the_zone_is_read() {
        let mut told = Told::default();
        told.listed(&sets(0..1), at(0)).unwrap();
        told.listed(&sets(1..30), at(1)).unwrap();
        let name = |number| DomainName::parse(&format!("host{number}.example.com")).unwrap();
        (30..100).for_each(|number| told.made(SetKey::new(name(number), RecordType::A)));
        told.listed(&sets(11..100), at(2)).unwrap();
        assert_eq!(told.listed(&sets(0..20), at(3)), Err(Loss { missing: 80, told: 89 }));
    }

    #[test]
    fn what_was_removed_through_us_is_not_missed() {
        let mut told = Told::default();
        told.listed(&sets(0..1), at(0)).unwrap();
        told.removed(&SetKey::new(DomainName::parse("host0.example.com").unwrap(), RecordType::A));
        told.listed(&sets(0..0), at(1)).unwrap();
    }
}
