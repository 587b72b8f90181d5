//! What stands at and beneath a name before it is delegated. A delegation takes all of it out of the parent zone's
//! answers, so it is looked for first (reference.md §3.3: at a grid the records are gone at once).

use std::collections::BTreeSet;
use std::fmt;

use crate::change::Change;
use crate::plan::{Finding, Plan, Skip};

/// Objects that one sentence names. No outside reference.
const MOST_NAMED: usize = 10;

/// What would disappear from DNS if a name were delegated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beneath {
    /// Kind and name of each, as the backend calls them: `record:a www.cloud.example.com`.
    objects: BTreeSet<String>,
    /// Whether there are more than these.
    more: bool,
}

impl Beneath {
    /// Takes what was found; `more`: the backend has further ones, which were not counted.
    pub fn new(objects: BTreeSet<String>, more: bool) -> Self {
        Self { objects, more }
    }

    /// Whether a delegation would hide nothing.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && !self.more
    }
}

impl fmt::Display for Beneath {
    /// The first few, and how many there are: `3 objects (record:a a.example.com, …)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, at_least) = (self.objects.len(), if self.more { "at least " } else { "" });
        let named = self.objects.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let objects = if total == 1 && !self.more { "object" } else { "objects" };
        let rest = if self.more || total > MOST_NAMED { ", …" } else { "" };
        write!(f, "{at_least}{total} {objects} ({named}{rest})")
    }
}

impl Plan {
    /// Whether it makes a delegation where there is none, so that something may disappear beneath it.
    pub fn creates(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Create { .. }))
    }

    /// Leaves out what would hide something.
    #[must_use]
    pub fn sparing(mut self, beneath: &Beneath) -> Self {
        if self.creates() && !beneath.is_empty() {
            self.changes.retain(|change| !matches!(change, Change::Create { .. }));
            let (zone, hidden) = (self.zone.clone(), beneath.to_string());
            self.skipped.push(Skip::RecordsWouldBeHidden { zone, hidden });
        }
        self
    }

    /// Says that a delegation hides this, as somebody asked for.
    #[must_use]
    pub fn hiding(mut self, hidden: &str) -> Self {
        if self.creates() {
            let (zone, hidden) = (self.zone.clone(), hidden.to_owned());
            self.findings.push(Finding::RecordsHidden { zone, hidden });
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beneath(count: usize, more: bool) -> Beneath {
        let object = |number| format!("record:a r{number:02}.cloud.example.com");
        Beneath::new((0..count).map(object).collect(), more)
    }

    #[test]
    fn a_few_objects_are_named_and_all_are_counted() {
        assert_eq!(beneath(1, false).to_string(), "1 object (record:a r00.cloud.example.com)");
        let named = (0..10).map(|number| format!("record:a r{number:02}.cloud.example.com"));
        let named = named.collect::<Vec<_>>().join(", ");
        assert_eq!(beneath(10, false).to_string(), format!("10 objects ({named})"));
        assert_eq!(beneath(12, false).to_string(), format!("12 objects ({named}, …)"));
        assert_eq!(beneath(12, true).to_string(), format!("at least 12 objects ({named}, …)"));
    }
}
