//! Where a setting stands, as the person who wrote it would look for it.

use std::fmt;
use std::sync::Arc;

/// Line and column of a file, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where something stands that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An environment variable.
    Variable(&'static str),
    /// Nowhere yet: it may be written as a variable or as a key of the file that is there.
    Either {
        /// The variable.
        variable: &'static str,
        /// The key.
        key: &'static str,
    },
    /// The configuration file.
    File(FilePlace),
}

/// A place in the configuration file, or the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    /// The file's name as it was given.
    pub file: Arc<str>,
    /// Where in it.
    pub at: Option<Position>,
    /// The key with all that it lies in, for example `infoblox.gridHost`; nothing if it is about no key.
    pub key: Option<String>,
    /// The variable for the same setting, if the key is known.
    pub variable: Option<&'static str>,
}

impl Place {
    /// The variable of the setting, wherever the setting stands.
    pub fn variable(&self) -> Option<&'static str> {
        match self {
            Self::Variable(variable) | Self::Either { variable, .. } => Some(variable),
            Self::File(place) => place.variable,
        }
    }
}

impl From<&'static str> for Place {
    fn from(variable: &'static str) -> Self {
        Self::Variable(variable)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(variable) => f.write_str(variable),
            Self::Either { variable, key } => write!(f, "{variable} ({key} in the file)"),
            Self::File(place) => {
                // A name with a line end must not look like another line.
                write!(f, "{}", place.file.escape_debug())?;
                if let Some(at) = place.at {
                    write!(f, ":{at}")?;
                }
                place.key.as_ref().map_or(Ok(()), |key| write!(f, ": {}", key.escape_debug()))
            }
        }
    }
}
