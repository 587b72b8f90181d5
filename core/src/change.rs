//! One edit to one delegation: data that can be compared, stored, reviewed and replayed.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::delegation::{Delegation, ObservedDelegation, Presence};
use crate::name::DomainName;
use crate::ttl::Ttl;

/// One edit to one delegation. `before` is what was observed, so that a provider can refuse a stale edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum Change {
    /// The backend has nothing; write this.
    Create {
        /// The whole new delegation.
        after: Delegation,
    },
    /// The backend has `before`; make it `after`.
    Replace {
        /// As observed.
        before: Delegation,
        /// With every entry of others as in `before`.
        after: Delegation,
    },
    /// The backend has `before`, which holds nothing but what is ours; remove it.
    Delete {
        /// As observed.
        before: Delegation,
    },
}

/// A change that a later read can find the trace of: this is how one with an unknown outcome is settled.
pub trait Traced {
    /// What a read gives.
    type Observed;

    /// Whether what was read is still what the change was planned for.
    fn matches(&self, observed: &Self::Observed) -> bool;

    /// Whether what was read shows the change, also if others have written since.
    fn shows_in(&self, observed: &Self::Observed) -> bool;
}

/// The object is no longer what the change was made for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("delegation {zone} changed since it was observed")]
pub struct StaleChange {
    /// The zone.
    pub zone: DomainName,
}

impl Change {
    /// `Create`, `Replace` or `Delete`: closed set for metrics and the change log.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "Create",
            Self::Replace { .. } => "Replace",
            Self::Delete { .. } => "Delete",
        }
    }

    /// Name of this change by its content: equal changes have equal names, on every replica.
    pub fn id(&self) -> String {
        content_id(self)
    }

    /// The delegated zone.
    pub fn zone(&self) -> &DomainName {
        match self {
            Self::Create { after } | Self::Replace { after, .. } => &after.zone,
            Self::Delete { before } => &before.zone,
        }
    }

    /// What was observed.
    pub fn before(&self) -> Option<&Delegation> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { before, .. } | Self::Delete { before } => Some(before),
        }
    }

    /// What is to be written.
    pub fn after(&self) -> Option<&Delegation> {
        match self {
            Self::Create { after } | Self::Replace { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }

    /// The TTL that the change gives an existing delegation, if it is another than before.
    pub fn sets_ttl(&self) -> Option<Ttl> {
        match self {
            Self::Replace { before, after } if before.ttl != after.ttl => after.ttl,
            Self::Create { .. } | Self::Replace { .. } | Self::Delete { .. } => None,
        }
    }

    /// Entries that the change brings.
    pub fn added(&self) -> BTreeSet<(&DomainName, Option<IpAddr>)> {
        &pairs(self.after()) - &pairs(self.before())
    }

    /// Entries that the change takes away.
    pub fn removed(&self) -> BTreeSet<(&DomainName, Option<IpAddr>)> {
        &pairs(self.before()) - &pairs(self.after())
    }

    /// Whether the object still has exactly the entries that the change was planned for, and the TTL if it is about
    /// that.
    pub fn matches(&self, observed: &Presence) -> bool {
        let ttl = |delegation: Option<&Delegation>| delegation.and_then(|delegation| delegation.ttl);
        if self.sets_ttl().is_some() && ttl(self.before()) != ttl(observed.delegation()) {
            return false;
        }
        pairs(self.before()) == pairs(observed.delegation())
            && self.before().is_some() == observed.delegation().is_some()
    }

    /// Whether an object shows this change: all that it adds is there and nothing that it removes. This is how
    /// a write with an unknown outcome is settled, also if others have written since.
    pub fn shows_in(&self, observed: &Presence) -> bool {
        match (self, observed) {
            (Self::Delete { .. }, found) => *found == Presence::Absent,
            (Self::Create { .. } | Self::Replace { .. }, Presence::Absent) => false,
            (Self::Create { .. } | Self::Replace { .. }, Presence::Present(found)) => {
                let pairs = found.delegation.pairs();
                let ttl = match self {
                    Self::Replace { before, after } => {
                        before.ttl == after.ttl || found.delegation.ttl == after.ttl
                    }
                    Self::Create { .. } | Self::Delete { .. } => true,
                };
                ttl && self.added().is_subset(&pairs) && self.removed().is_disjoint(&pairs)
            }
        }
    }

    /// The object after the change, as every provider must leave it.
    ///
    /// # Errors
    /// The object is not the one that the change was planned for. Deleting what is absent is done.
    pub fn apply_to(&self, observed: &Presence) -> Result<Presence, StaleChange> {
        match (self, observed) {
            (Self::Delete { .. }, Presence::Absent) => Ok(Presence::Absent),
            (change, found) if !change.matches(found) => Err(StaleChange { zone: change.zone().clone() }),
            (Self::Create { after }, _) => Ok(Presence::Present(ObservedDelegation::plain(after.clone()))),
            (Self::Replace { after, .. }, Presence::Present(found)) => {
                // Somebody may have changed the TTL since: it stays, unless the change is about it.
                let ttl = self.sets_ttl().or(found.delegation.ttl);
                let delegation = Delegation { ttl, ..after.clone() };
                Ok(Presence::Present(ObservedDelegation { delegation, ..found.clone() }))
            }
            (Self::Replace { .. } | Self::Delete { .. }, _) => Ok(Presence::Absent),
        }
    }
}

impl Traced for Change {
    type Observed = Presence;

    fn matches(&self, observed: &Presence) -> bool {
        self.matches(observed)
    }

    fn shows_in(&self, observed: &Presence) -> bool {
        self.shows_in(observed)
    }
}

/// The first 12 hexadecimal digits of the SHA-256 of a value's JSON: enough to tell the plans of one log apart,
/// short enough to be read out on the phone.
pub(crate) fn content_id(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("plain data with text keys");
    hex::encode(Sha256::digest(json)).chars().take(12).collect()
}

fn pairs(delegation: Option<&Delegation>) -> BTreeSet<(&DomainName, Option<IpAddr>)> {
    delegation.map(Delegation::pairs).unwrap_or_default()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self {
            Self::Create { .. } => "create",
            Self::Replace { .. } => "change",
            Self::Delete { .. } => "delete",
        };
        write!(f, "{verb} delegation {}", self.zone())?;
        if let Some(ttl) = self.sets_ttl() {
            write!(f, " TTL {}", ttl.as_secs())?;
        }
        for (sign, entries) in [('-', self.removed()), ('+', self.added())] {
            for (ns_name, address) in entries {
                write!(f, " {sign}{ns_name}")?;
                if let Some(address) = address {
                    write!(f, "={address}")?;
                }
            }
        }
        Ok(())
    }
}
