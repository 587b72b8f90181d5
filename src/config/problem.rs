//! What is wrong with the configuration, in sentences for the person who wrote it.

use std::fmt;

use super::raw::VARIABLES;

/// Exit code of a process that cannot start with this configuration (`EX_CONFIG` of sysexits.h).
pub const EXIT_CODE: u8 = 78;

/// What stands in the way is what the user configured, not what the process met. As the context of an error it
/// makes the process end with [`EXIT_CODE`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadConfiguration(pub &'static str);

/// One thing that must change before the daemon can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The environment variable.
    pub variable: &'static str,
    /// What it holds; nothing if it is not set or secret.
    pub value: Option<String>,
    /// The rule that is broken.
    pub limit: String,
    /// What to do.
    pub fix: String,
}

impl Problem {
    /// A value that breaks a rule.
    pub fn with_value(
        variable: &'static str,
        value: impl Into<String>,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { variable, value: Some(value.into()), limit: limit.into(), fix: fix.into() }
    }

    /// A variable that must be set.
    pub fn missing(variable: &'static str, limit: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { variable, value: None, limit: limit.into(), fix: fix.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{} is {value:?}: {}; {}", self.variable, self.limit, self.fix),
            None => write!(f, "{} is not set: {}; {}", self.variable, self.limit, self.fix),
        }
    }
}

/// Everything that is wrong, in the order in which the variables are documented. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub(super) fn sorted(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| VARIABLES.iter().position(|known| known.name == problem.variable));
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
    /// The environment variable.
    pub variable: &'static str,
    /// A sentence.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.variable, self.text)
    }
}
