//! What can go wrong at a provider: one variant for each thing that the caller does differently.
//!
//! The texts reach conditions, so they hold no times, counters or request ids.

use std::time::Duration;

use gslb_core::name::DomainName;
use jiff::Timestamp;

/// Any other error, as a cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a provider did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The object is no longer what the plan saw. Observe again.
    #[error("what stands at {zone} changed since it was observed")]
    Stale {
        /// The delegated zone, or the host of records.
        zone: DomainName,
    },
    /// No answer, or "try later". Nothing was written.
    #[error("{text}")]
    Unavailable {
        /// The sentence for the user: which backend, and what it did.
        text: String,
        /// The backend's own hint.
        retry_after: Option<Duration>,
        /// The cause below.
        #[source]
        source: Option<BoxError>,
    },
    /// The backend rejected the credential.
    #[error("{text}")]
    Unauthenticated {
        /// The sentence for the user.
        text: String,
    },
    /// The credential was rejected before and is not sent again yet, or not at all until it changes.
    #[error("{text}")]
    LoginHeld {
        /// The sentence for the user.
        text: String,
        /// When it is sent again; nothing means not before it changes.
        until: Option<Timestamp>,
    },
    /// The account may not use the backend at all.
    #[error("{text}")]
    Forbidden {
        /// The sentence for the user.
        text: String,
    },
    /// A setting does not fit the backend: unknown view, no parent zone, unsupported version, wrong host.
    #[error("{text}")]
    Misconfigured {
        /// The sentence for the user.
        text: String,
    },
    /// The backend understood and said no: a rule, a permission on one object, something else of that name.
    #[error("{text}")]
    Refused {
        /// The sentence for the user, with the backend's own words.
        text: String,
    },
    /// An answer that makes no sense, such as HTML. Nothing is concluded from it.
    #[error("{text}")]
    Unexpected {
        /// The sentence for the user.
        text: String,
    },
    /// A write whose outcome is unknown, also after reading again.
    #[error("{text}")]
    Uncertain {
        /// The sentence for the user.
        text: String,
        /// The cause below.
        #[source]
        source: Option<BoxError>,
    },
}

/// When the caller should come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Observe and plan again now.
    AtOnce,
    /// With the usual growing pauses, none shorter than this.
    Backoff {
        /// Zero if the backend gave no hint.
        at_least: Duration,
    },
    /// Not before this time.
    Until(Timestamp),
    /// Not before somebody changes something: a secret, a setting.
    AfterChange,
}

/// After an answer that only a person can change: short enough that a mended grid is noticed within a minute,
/// long enough not to repeat a refused write all day. No outside reference.
const REFUSED_PAUSE: Duration = Duration::from_secs(30);
/// A 403 may be a grid's block of our address, and more requests prolong it (reference.md §1.3).
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(300);
/// Reading a setting that somebody may just be mending costs little. No outside reference.
const MISCONFIGURED_PAUSE: Duration = Duration::from_secs(15);

impl ProviderError {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "Stale",
            Self::Unavailable { .. } => "ProviderUnavailable",
            Self::Unauthenticated { .. } => "Unauthenticated",
            Self::LoginHeld { .. } => "LoginHeld",
            Self::Forbidden { .. } => "Forbidden",
            Self::Misconfigured { .. } => "Misconfigured",
            Self::Refused { .. } => "Refused",
            Self::Unexpected { .. } => "UnexpectedAnswer",
            Self::Uncertain { .. } => "OutcomeUnknown",
        }
    }

    /// When to come again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Stale { .. } => Retry::AtOnce,
            Self::Unavailable { retry_after, .. } => {
                Retry::Backoff { at_least: retry_after.unwrap_or_default() }
            }
            Self::Unexpected { .. } | Self::Uncertain { .. } => Retry::Backoff { at_least: Duration::ZERO },
            Self::Misconfigured { .. } => Retry::Backoff { at_least: MISCONFIGURED_PAUSE },
            Self::Refused { .. } => Retry::Backoff { at_least: REFUSED_PAUSE },
            Self::Forbidden { .. } => Retry::Backoff { at_least: FORBIDDEN_PAUSE },
            // The provider counts log-ins itself, so asking early costs none, and a new secret is found soon.
            Self::Unauthenticated { .. } => Retry::AfterChange,
            Self::LoginHeld { until: Some(until), .. } => Retry::Until(*until),
            Self::LoginHeld { until: None, .. } => Retry::AfterChange,
        }
    }
}
