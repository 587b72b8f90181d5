//! What is remembered between calls: which zone lies in which parent, what was listed of each parent last, and what the
//! webhook took and does not list.

use std::collections::BTreeMap;

use gslb_core::name::DomainName;
use gslb_core::sets::SetKey;
use gslb_core::sets::shrink::{Loss, Told};
use gslb_core::ttl::Ttl;
use gslb_core::zone::Zone;
use jiff::{SignedDuration, Timestamp};

use crate::listing::Listing;
use crate::protocol::Changes;

/// A change that was taken and is not listed is not sent again within this time: somebody has to look, and a webhook
/// whose own cache is behind has caught up long before. No outside reference.
const UNKEPT_PAUSE: SignedDuration = SignedDuration::from_mins(10);

/// The memory of one provider.
#[derive(Debug, Default)]
pub(crate) struct Book {
    parents: BTreeMap<DomainName, DomainName>,
    told: BTreeMap<DomainName, Told>,
    unkept: BTreeMap<DomainName, Unlisted>,
}

/// A change that the webhook said was made, and that the listing right after it did not show at all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unlisted {
    change: String,
    since: Timestamp,
}

impl Book {
    /// Takes in where a zone is delegated.
    pub(crate) fn place(&mut self, zone: &DomainName, parent: &DomainName) {
        self.parents.insert(zone.clone(), parent.clone());
        self.told.entry(parent.clone()).or_default();
    }

    /// The zone; nothing if it was never asked about.
    pub(crate) fn zone(&self, zone: &DomainName) -> Option<Zone> {
        Zone::new(zone.clone(), self.parents.get(zone)?.clone(), Ttl::DEFAULT).ok()
    }

    /// Takes in a listing.
    ///
    /// # Errors
    /// It lost most or all of what was there around the zone, so nothing is concluded from it for a while. What is
    /// listed of other parents does not make up for it.
    pub(crate) fn believe(
        &mut self,
        zone: &DomainName,
        listing: &Listing,
        now: Timestamp,
    ) -> Result<(), Loss> {
        let Some(parent) = self.parents.get(zone) else { return Ok(()) };
        let told = self.told.entry(parent.clone()).or_default();
        told.listed(&listing.keys_within(parent), now)
    }

    /// Takes in that sets were removed through us.
    pub(crate) fn removed(&mut self, changes: &Changes) {
        for set in &changes.delete {
            let (Ok(name), Some(rtype)) = (set.name(), set.known_type()) else { continue };
            let key = SetKey::new(name, rtype);
            self.told.values_mut().for_each(|told| told.removed(&key));
        }
    }

    /// Takes in whether a change that the webhook took is listed.
    pub(crate) fn taken(&mut self, zone: &DomainName, change: String, is_listed: bool, now: Timestamp) {
        match is_listed {
            true => drop(self.unkept.remove(zone)),
            false => drop(self.unkept.insert(zone.clone(), Unlisted { change, since: now })),
        }
    }

    /// Whether the webhook took this very change lately and did not list it.
    pub(crate) fn is_unkept(&self, zone: &DomainName, change: &str, now: Timestamp) -> bool {
        self.unkept.get(zone).is_some_and(|unlisted| {
            unlisted.change == change && now.duration_since(unlisted.since) < UNKEPT_PAUSE
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::tests::{endpoint, listing, name};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// C066.
    #[test]
    fn what_vanishes_around_a_zone_is_not_believed_whatever_is_left_elsewhere() {
        let zone = name("cloud.example.com");
        let mut book = Book::default();
        book.place(&zone, &name("example.com"));
        let others: Vec<String> = (0..50).map(|n| format!("A host{n}.example.org 30 192.0.2.1")).collect();
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        let full = [vec!["NS cloud.example.com 30 a.example.com"], others.clone()].concat();
        book.believe(&zone, &listing(&full), at(0)).unwrap();
        let loss = book.believe(&zone, &listing(&others), at(60)).unwrap_err();
        assert_eq!((loss.missing, loss.told), (1, 1));
        book.believe(&zone, &listing(&others), at(599 + 60)).unwrap_err();
        book.believe(&zone, &listing(&others), at(600 + 60)).unwrap();
    }

    #[test]
    fn what_was_removed_through_us_is_not_missed() {
        let zone = name("cloud.example.com");
        let mut book = Book::default();
        book.place(&zone, &name("example.com"));
        book.believe(&zone, &listing(&["NS cloud.example.com 30 a.example.com"]), at(0)).unwrap();
        let delete = vec![endpoint("NS Cloud.example.com. 30 a.example.com")];
        book.removed(&Changes { delete, ..Changes::default() });
        book.believe(&zone, &listing(&[]), at(1)).unwrap();
    }

    #[test]
    fn a_change_that_was_taken_and_is_not_listed_waits() {
        let zone = name("cloud.example.com");
        let mut book = Book::default();
        book.taken(&zone, "1".to_owned(), false, at(0));
        let held = |book: &Book, change: &str, seconds| book.is_unkept(&zone, change, at(seconds));
        assert_eq!(
            [held(&book, "1", 599), held(&book, "2", 599), held(&book, "1", 600)],
            [true, false, false]
        );
        book.taken(&zone, "1".to_owned(), true, at(1));
        assert!(!held(&book, "1", 2));
    }
}
