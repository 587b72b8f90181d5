//! Why one set is left as it is.

use super::record_set::SetKey;
use crate::name::DomainName;

/// Why one set is left as it is. Its text is the sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetRefusal {
    /// It is no set that can be written.
    #[error("{set} is refused: {why}")]
    Unreadable {
        /// As it was named.
        set: String,
        /// Which, if that much can be read.
        key: Option<SetKey>,
        /// What is wrong with it.
        why: String,
    },
    /// Several wishes for one set that cannot all come true.
    #[error("{set} is refused: it is named twice in one request, and not with the same data")]
    Contradiction {
        /// Which.
        set: SetKey,
    },
    /// Not one of our names.
    #[error("{set} is refused: it is in none of the domains {domains} (WEBHOOK_DOMAINS)")]
    OutOfScope {
        /// Which.
        set: SetKey,
        /// Ours, comma separated.
        domains: String,
    },
    /// The zone's own name servers.
    #[error("{set} is refused: the name servers of a zone itself are never changed")]
    Apex {
        /// Which.
        set: SetKey,
    },
    /// It is not, or not any more, what was asked to be changed.
    #[error(
        "{set} is refused: {found} stands there, which is not what the change was made for; it follows from the next listing"
    )]
    Stale {
        /// Which.
        set: SetKey,
        /// What stands there.
        found: String,
    },
    /// Records of somebody else.
    #[error(
        "{set} is refused: {found} stands there, which {whose}; delete it by hand, or leave the name out"
    )]
    Foreign {
        /// Which.
        set: SetKey,
        /// What stands there.
        found: String,
        /// Whose it is.
        whose: String,
    },
    /// Nobody may change it.
    #[error("{set} is refused: {why}")]
    Held {
        /// Which.
        set: SetKey,
        /// Why.
        why: String,
    },
    /// An alias stands alone (RFC 1034 §3.6.2).
    #[error("{set} is refused: {beside} stands at that name too, and an alias stands alone")]
    Excluded {
        /// Which.
        set: SetKey,
        /// What stands beside it.
        beside: String,
    },
    /// What it makes room for does not come.
    #[error("{set} is left: what is to take its place was refused")]
    Replacement {
        /// Which.
        set: SetKey,
    },
    /// DNS would not come here for it.
    #[error(
        "{set} is refused: it lies beneath {zone}, which the same request delegates, so that DNS would not find it; leave it out, or take name servers outside of {zone}"
    )]
    Beneath {
        /// Which.
        set: SetKey,
        /// The delegation above it.
        zone: DomainName,
    },
    /// A delegation names addresses, too.
    #[error(
        "{set} is refused: no address of its name server {server} is known; send its A or AAAA record with it, or have one made in a zone of the same view"
    )]
    NoAddress {
        /// Which.
        set: SetKey,
        /// Whose address is missing.
        server: DomainName,
    },
    /// More than one request may take away.
    #[error(
        "{set} is refused: the request deletes {deleted} of {total} sets and puts nothing in their place, the limit is {limit} %; look why, then delete fewer at once or raise WEBHOOK_MAX_DELETED_PERCENT"
    )]
    TooManyDeletions {
        /// Which.
        set: SetKey,
        /// How many are to go.
        deleted: usize,
        /// How many there are.
        total: usize,
        /// [`SetPolicy::max_deleted_percent`](super::SetPolicy::max_deleted_percent).
        limit: usize,
    },
}

impl SetRefusal {
    /// Stable reason for metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "Unreadable",
            Self::Contradiction { .. } => "Contradiction",
            Self::OutOfScope { .. } => "OutOfScope",
            Self::Apex { .. } => "Apex",
            Self::Stale { .. } => "Stale",
            Self::Foreign { .. } => "Foreign",
            Self::Held { .. } => "Held",
            Self::Excluded { .. } => "Excluded",
            Self::Replacement { .. } => "Replacement",
            Self::Beneath { .. } => "Beneath",
            Self::NoAddress { .. } => "NoAddress",
            Self::TooManyDeletions { .. } => "TooManyDeletions",
        }
    }

    /// Which set is left.
    pub fn set(&self) -> Option<&SetKey> {
        match self {
            Self::Unreadable { key, .. } => key.as_ref(),
            Self::Contradiction { set }
            | Self::OutOfScope { set, .. }
            | Self::Apex { set }
            | Self::Stale { set, .. }
            | Self::Foreign { set, .. }
            | Self::Held { set, .. }
            | Self::Excluded { set, .. }
            | Self::Replacement { set }
            | Self::Beneath { set, .. }
            | Self::NoAddress { set, .. }
            | Self::TooManyDeletions { set, .. } => Some(set),
        }
    }
}
