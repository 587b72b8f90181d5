//! What a backend refused is not asked of it again at once: it would say the same, and each try is an entry in the
//! change log.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::change::SetChange;
use super::record_set::SetKey;

/// So long the same change of the same set is not tried again, unless something else stands there. What made the backend
/// refuse it, such as a right that is missing, is put right by hand. No outside reference.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The last refusal of each set.
#[derive(Debug, Clone, Default)]
pub struct Rejections(BTreeMap<SetKey, Rejection>);

#[derive(Debug, Clone)]
struct Rejection {
    change_id: String,
    told: String,
    at: Timestamp,
}

impl Rejections {
    /// The backend refused this change, in these words.
    pub fn note(&mut self, change: &SetChange, told: String, now: Timestamp) {
        self.0.retain(|_, rejection| rejection.holds(now));
        self.0.insert(change.key().clone(), Rejection { change_id: change.id(), told, at: now });
    }

    /// What the backend said, if it refused this very change a while ago.
    pub fn told(&self, change: &SetChange, now: Timestamp) -> Option<&str> {
        let rejection = self.0.get(change.key()).filter(|rejection| rejection.holds(now))?;
        (rejection.change_id == change.id()).then_some(rejection.told.as_str())
    }
}

impl Rejection {
    /// A clock that was set back makes no wait longer.
    fn holds(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.at);
        !age.is_negative() && age < AGAIN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets::RecordSet;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    #[test]
    fn the_same_change_is_not_tried_again_for_ten_minutes() {
        let set = |name: &str, address: &str| {
            RecordSet::parse(&format!("{name}.example.com"), "A", 0, &[address.to_owned()]).unwrap()
        };
        let one = SetChange::Create { after: set("www", "192.0.2.1") };
        let mut rejections = Rejections::default();
        rejections.note(&one, "no".to_owned(), at(0));
        let (before, after) = (set("www", "192.0.2.9"), set("www", "192.0.2.1"));
        let cases = [
            ("the same", &one, 0, true),
            ("in the last second", &one, 599, true),
            ("later", &one, 600, false),
            ("by a clock that was set back", &one, -1, false),
            ("other data", &SetChange::Create { after: set("www", "192.0.2.2") }, 1, false),
            ("where something else stands", &SetChange::Replace { before, after }, 1, false),
            ("of another set", &SetChange::Create { after: set("app", "192.0.2.1") }, 1, false),
        ];
        for (what, change, seconds, held) in cases {
            assert_eq!(rejections.told(change, at(seconds)), held.then_some("no"), "{what}");
        }
        let another = SetChange::Create { after: set("app", "192.0.2.1") };
        rejections.note(&another, "no".to_owned(), at(600));
        assert_eq!(rejections.0.len(), 1, "what is over is forgotten");
    }
}
