//! What we took away under our own name server name, and what came back: how two clusters with one geo tag are
//! told from one cluster that changes its address.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::claim::Claimant;
use crate::delegation::Presence;
use crate::name::DomainName;

/// An address that comes back sooner was put there by another writer of the same name (design §2.5).
pub const CONFLICT_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Addresses kept of what we ourselves published, newest last. Four changes of a cluster with two addresses; no
/// outside reference.
const PLACED_KEPT: usize = 8;

/// Memory of our own writes to one zone's delegation. Plain data: the caller keeps it between passes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Foreign addresses that we removed from our own name.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    replaced: Vec<Replaced>,
    /// Addresses that we published ourselves. One of them that returns is our own past (a writer that put back
    /// an old list), not another cluster.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    placed: Vec<IpAddr>,
    /// Whether we gave the delegation its first TTL.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    set_ttl: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replaced {
    ns_name: DomainName,
    address: IpAddr,
    at: Timestamp,
    /// Seen again within the window; holds until it is gone.
    came_back: bool,
}

impl History {
    /// The memory before a plan: what came back is marked, what is over is forgotten.
    #[must_use]
    pub fn seen(mut self, claimant: &Claimant, observed: &Presence, now: Timestamp) -> Self {
        let there = own_addresses(claimant, observed);
        for entry in &mut self.replaced {
            entry.came_back |= there.contains(&entry.address) && entry.is_fresh(now);
        }
        self.replaced.retain(|entry| match entry.came_back {
            true => there.contains(&entry.address),
            false => entry.is_fresh(now),
        });
        self
    }

    /// The memory after a change was made.
    #[must_use]
    pub fn wrote(mut self, claimant: &Claimant, change: &Change, now: Timestamp) -> Self {
        let ours = |pairs: BTreeSet<(&DomainName, Option<IpAddr>)>| -> Vec<IpAddr> {
            pairs.into_iter().filter(|(name, _)| *name == claimant.ns_name()).filter_map(|(_, a)| a).collect()
        };
        if change.after().is_some_and(|after| after.servers.contains_key(claimant.ns_name())) {
            for address in ours(change.removed()) {
                if !self.placed.contains(&address) {
                    self.replaced.retain(|entry| entry.address != address);
                    let ns_name = claimant.ns_name().clone();
                    self.replaced.push(Replaced { ns_name, address, at: now, came_back: false });
                }
            }
        }
        for address in ours(change.added()) {
            self.placed.retain(|known| *known != address);
            self.placed.push(address);
        }
        self.set_ttl |= change.sets_ttl().is_some();
        let surplus = self.placed.len().saturating_sub(PLACED_KEPT);
        self.placed.drain(..surplus);
        self
    }

    /// Those of `addresses` that we took away from `ns_name` and that came back too soon.
    pub fn came_back(
        &self,
        ns_name: &DomainName,
        addresses: &BTreeSet<IpAddr>,
        now: Timestamp,
    ) -> BTreeSet<IpAddr> {
        self.replaced
            .iter()
            .filter(|entry| entry.ns_name == *ns_name && addresses.contains(&entry.address))
            .filter(|entry| entry.came_back || entry.is_fresh(now))
            .map(|entry| entry.address)
            .collect()
    }

    /// Whether the delegation has its TTL from us. One that is not there any more was taken away.
    pub fn set_ttl(&self) -> bool {
        self.set_ttl
    }

    /// Whether we published this address ourselves.
    pub fn placed(&self, address: IpAddr) -> bool {
        self.placed.contains(&address)
    }
}

impl Replaced {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.duration_since(self.at) < CONFLICT_WINDOW
    }
}

fn own_addresses(claimant: &Claimant, observed: &Presence) -> BTreeSet<IpAddr> {
    let servers = observed.delegation().map(|delegation| &delegation.servers);
    servers.and_then(|servers| servers.get(claimant.ns_name())).cloned().unwrap_or_default()
}
