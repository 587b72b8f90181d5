//! What is wrong with the configuration, in sentences for the person who wrote it.

use std::fmt;

use super::catalog::{VARIABLES, masked_url};
use super::place::{Place, Position};

/// Exit code of a process that cannot start with this configuration (`EX_CONFIG` of sysexits.h).
pub const EXIT_CODE: u8 = 78;

/// Longest value that is quoted in full; a name has at most 253 characters, a path is rarely longer.
const LONGEST_QUOTE: usize = 300;

/// Said of what is not shown.
const NO_PASSWORD: &str = "a user name, a password or a query does not belong there";

/// What stands in the way is what the user configured, not what the process met. As the context of an error it
/// makes the process end with [`EXIT_CODE`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadConfiguration(pub &'static str);

/// One thing that must change before the daemon can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What was found there.
    pub found: Found,
    /// What to do.
    pub fix: String,
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A value that breaks a rule.
    Value {
        /// The value.
        value: String,
        /// The rule.
        limit: String,
    },
    /// Nothing, where something is needed.
    NotSet {
        /// Why it is needed.
        limit: String,
    },
    /// Something that is told in words: what follows the place in the sentence.
    Told(String),
}

impl Problem {
    /// A value that breaks a rule.
    pub fn with_value(
        place: impl Into<Place>,
        value: impl Into<String>,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let (value, limit) = (value.into(), limit.into());
        // The limit may quote a part of the value.
        let found = match shown(&value) {
            shown if shown == value => Found::Value { value, limit },
            shown => Found::Value { value: shown, limit: NO_PASSWORD.to_owned() },
        };
        Self { place: place.into(), found, fix: fix.into() }
    }

    /// A setting that must be made.
    pub fn missing(place: impl Into<Place>, limit: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { place: place.into(), found: Found::NotSet { limit: limit.into() }, fix: fix.into() }
    }

    /// What is no wrong value: `told` follows the place in the sentence and never quotes what may be a secret.
    pub(super) fn told(place: impl Into<Place>, told: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { place: place.into(), found: Found::Told(told.into()), fix: fix.into() }
    }

    /// The variable of the setting, if it is about one.
    pub fn variable(&self) -> Option<&'static str> {
        self.place.variable()
    }

    /// The file's own problems first, from its top; then the settings in the order of the reference.
    fn rank(&self) -> (Option<usize>, Option<Position>) {
        let setting =
            self.variable().map(|name| VARIABLES.iter().position(|known| known.name == name).unwrap_or(0));
        let at = match &self.place {
            Place::File(place) => place.at,
            Place::Variable(_) | Place::Either { .. } => None,
        };
        (setting, at)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, found, fix } = self;
        match found {
            Found::Value { value, limit } => write!(f, "{place} is {}: {limit}; {fix}", quoted(value)),
            Found::NotSet { limit } => write!(f, "{place} is not set: {limit}; {fix}"),
            Found::Told(told) => write!(f, "{place} {told}; {fix}"),
        }
    }
}

/// A value as anybody may see it: somebody may have written a user name and a password where a host belongs. A path may
/// have an `@`.
fn shown(value: &str) -> String {
    match value.starts_with(['/', '.']) {
        true => value.to_owned(),
        false => masked_url(value),
    }
}

/// The value in quotes, shortened if it is longer than anything that can be meant.
pub(super) fn quoted(value: &str) -> String {
    match value.char_indices().nth(LONGEST_QUOTE) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}… ({} characters)", &value[..end], value.chars().count()),
    }
}

/// Everything that is wrong, in the order in which the settings are documented. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(super) fn sorted(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::rank);
        Self(problems)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "{count} setting{} to correct:", if count == 1 { "" } else { "s" })?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for Problems {}

/// Something that works, but not as its author may think. Logged once at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Where.
    pub place: Place,
    /// A sentence.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.text)
    }
}
