//! What stands at and beneath a name before it is delegated. A delegation takes all of it out of the parent zone's
//! answers, so it is looked for first (reference.md §3.3: at a grid the records are gone at once).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

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

/// Who asks that a zone be delegated whatever that hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Adoption {
    /// The annotation of its object.
    Annotation,
    /// The setting of the zone.
    Setting,
}

impl Adoption {
    /// An annotation decides, whichever way: it is about this one object, and may be changed while everything runs. The
    /// setting is for a zone without one.
    pub fn of(annotation: Option<bool>, setting: bool) -> Option<Self> {
        match (annotation, setting) {
            (Some(true), _) => Some(Self::Annotation),
            (None, true) => Some(Self::Setting),
            (Some(false), _) | (None, false) => None,
        }
    }
}

impl fmt::Display for Adoption {
    /// As a sentence calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Annotation => "the annotation gslb-bridge.io/adopt-hidden-records",
            Self::Setting => "adoptHiddenRecords of the zone in the configuration file",
        })
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
    pub fn hiding(mut self, hidden: &str, by: Adoption) -> Self {
        if self.creates() {
            let (zone, hidden) = (self.zone.clone(), hidden.to_owned());
            self.findings.push(Finding::RecordsHidden { zone, hidden, by });
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
    fn the_annotation_of_a_zone_decides_and_the_setting_where_there_is_none() {
        let cases = [
            (Some(true), true, Some(Adoption::Annotation)),
            (Some(true), false, Some(Adoption::Annotation)),
            (Some(false), true, None),
            (Some(false), false, None),
            (None, true, Some(Adoption::Setting)),
            (None, false, None),
        ];
        for (annotation, setting, expected) in cases {
            assert_eq!(Adoption::of(annotation, setting), expected, "{annotation:?}, {setting}");
        }
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
