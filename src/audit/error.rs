//! Why a change could not be written down, and what that means for the change.

use std::path::PathBuf;

use gslb_core::changelog::Inexact;

/// Why a line could not be appended. After an error from [`intend`](super::ChangeLog::intend) nothing may be
/// written at a provider.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// Another writer appended: this one is no longer the leader and must stop. Only opening the log anew,
    /// which takes over what the other one left open, makes this process write again.
    #[error("the change log is written by {by} now")]
    Superseded {
        /// Pod of the other writer.
        by: String,
    },
    /// Nobody knows whether the line is stored; the log reads its end again before the next line.
    #[error("the API server did not take {name}")]
    Unavailable {
        /// Name of the object, or the kind.
        name: String,
        /// What the client saw.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server said no; the line is not stored.
    #[error("the API server refused {name}")]
    Refused {
        /// Name of the object, or the kind.
        name: String,
        /// Its answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The API server stored something else, so that the line would not verify: a webhook changed it or the
    /// installed definition is not ours.
    #[error(
        "the API server changed {name} while storing it: install the definitions that `gslb-bridge crds` prints, and exempt providerchanges from mutating webhooks"
    )]
    Altered {
        /// Name of the object.
        name: String,
    },
    /// The object with the intent was deleted, so that its outcome has no place.
    #[error("{name} was deleted before its outcome was known")]
    Vanished {
        /// Name of the object.
        name: String,
    },
    /// The entry cannot be written in canonical JSON.
    #[error(transparent)]
    Inexact(#[from] Inexact),
}

impl AuditError {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Superseded { .. } => "ChangeLogSuperseded",
            Self::Unavailable { .. } => "ChangeLogUnavailable",
            Self::Refused { .. } => "ChangeLogRefused",
            Self::Altered { .. } => "ChangeLogAltered",
            Self::Vanished { .. } => "ChangeLogVanished",
            Self::Inexact(_) => "ChangeLogInexact",
        }
    }

    /// Sorts what the client saw.
    pub(super) fn from_client(name: &str, error: kube::Error) -> Self {
        let name = name.to_owned();
        if leaves_doubt(&error) {
            return Self::Unavailable { name, source: Box::new(error) };
        }
        Self::Refused { name, source: Box::new(error) }
    }
}

/// Whether nobody knows what became of the call. Only an answer that says no is final, and of those not
/// "request time-out" and "try later".
pub(super) fn leaves_doubt(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => !(400..500).contains(&status.code) || matches!(status.code, 408 | 429),
        _ => true,
    }
}

/// Why there is no key to seal with.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the key file {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is empty.
    #[error("the key file {path} is empty")]
    Empty {
        /// The file.
        path: PathBuf,
    },
}
