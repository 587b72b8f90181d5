//! One edit to one delegation.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use crate::delegation::{Delegation, ObservedDelegation, Presence};
use crate::edit::{Edit, Traced};
use crate::name::DomainName;
use crate::ttl::Ttl;

/// One edit to one delegation. One that replaces leaves every entry of others, one that deletes finds none.
pub type Change = Edit<Delegation>;

/// The object is no longer what the change was made for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("delegation {zone} changed since it was observed")]
pub struct StaleChange {
    /// The zone.
    pub zone: DomainName,
}

impl Change {
    /// The delegated zone.
    pub fn zone(&self) -> &DomainName {
        &self.subject().zone
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

fn pairs(delegation: Option<&Delegation>) -> BTreeSet<(&DomainName, Option<IpAddr>)> {
    delegation.map(Delegation::pairs).unwrap_or_default()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} delegation {}", self.verb(), self.zone())?;
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
