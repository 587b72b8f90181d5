//! A zone delegation: what the parent's side should say, and what it was seen to say.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Claimant};
use crate::name::{DomainName, GeoTag};
use crate::ttl::Ttl;

/// Name servers and their glue. A name without addresses is one whose glue the backend does not hold.
pub type Servers = BTreeMap<DomainName, BTreeSet<IpAddr>>;

/// NS set and glue of one zone (RFC 1034 §4.2.1: the parent holds both).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Delegation {
    /// The delegated zone.
    pub zone: DomainName,
    /// TTL of NS and glue; nothing means that the backend uses its own default.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ttl: Option<Ttl>,
    /// Never empty in what we write; a backend may show an empty set for a zone that uses a name server group.
    pub servers: Servers,
}

/// What the names of DNSEndpoints that hold delegations start with (contract §3.4).
const OBJECT_PREFIX: &str = "k8gb-ns-extdns-";

/// The DNSEndpoint that holds the delegation of a zone for external-dns: the prefix, and the zone with dashes for dots.
pub fn object_name(zone: &DomainName) -> String {
    format!("{OBJECT_PREFIX}{}", zone.dashed())
}

/// Whether a DNSEndpoint of this name holds a delegation.
pub fn is_object_name(name: &str) -> bool {
    name.starts_with(OBJECT_PREFIX)
}

impl Delegation {
    /// Every (name, address) pair: what two delegations are compared by. A name without glue gives one pair
    /// without an address.
    pub fn pairs(&self) -> BTreeSet<(&DomainName, Option<IpAddr>)> {
        let mut pairs = BTreeSet::new();
        for (ns_name, addresses) in &self.servers {
            if addresses.is_empty() {
                pairs.insert((ns_name, None));
            }
            pairs.extend(addresses.iter().map(|address| (ns_name, Some(*address))));
        }
        pairs
    }
}

/// Why a backend's object must not be written, or has no effect. An operator set it: reported, not repaired.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Obstacle {
    /// Somebody locked it; the backend may say who.
    Locked {
        /// Account that holds the lock.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        by: Option<String>,
    },
    /// It is switched off: it stays in the backend's database and is not served.
    Disabled,
    /// Its name servers come from a group that is kept elsewhere.
    NsGroup {
        /// Name of the group.
        name: String,
    },
    /// The backend says that somebody else looks after it, or that nobody of the fleet does.
    ForeignClaim {
        /// Whose it is and what makes it the fleet's, as it ends a sentence.
        why: String,
    },
}

impl Obstacle {
    /// Whether a write has to wait until it is gone.
    pub fn forbids_writes(&self) -> bool {
        match self {
            Self::Locked { .. } | Self::NsGroup { .. } | Self::ForeignClaim { .. } => true,
            Self::Disabled => false,
        }
    }
}

/// A delegation as its backend shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObservedDelegation {
    /// NS set, glue and TTL.
    pub delegation: Delegation,
    /// What stands in the way of a write.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub obstacles: BTreeSet<Obstacle>,
    /// Names of settings that somebody else made at this object (`comment`, `extattrs`) and that a write must
    /// leave as they are.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub kept_settings: BTreeSet<String>,
    /// Whether it may be given a first TTL: no mark says that a cluster of the fleet wrote it before. Where a write leaves
    /// one, whoever takes the TTL away again is heeded by every cluster, and after a restart; elsewhere each run remembers
    /// what it gave.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub takes_first_ttl: bool,
}

impl ObservedDelegation {
    /// A delegation without obstacles and foreign settings, which may be given a first TTL.
    pub fn plain(delegation: Delegation) -> Self {
        let (obstacles, kept_settings) = (BTreeSet::new(), BTreeSet::new());
        Self { delegation, obstacles, kept_settings, takes_first_ttl: true }
    }
}

/// What a complete, successful read found. A failed read is an error of the provider, never [`Presence::Absent`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// The backend has no such delegation.
    Absent,
    /// The backend has exactly one.
    Present(ObservedDelegation),
}

impl Presence {
    /// The delegation, if there is one.
    pub fn delegation(&self) -> Option<&Delegation> {
        match self {
            Self::Absent => None,
            Self::Present(observed) => Some(&observed.delegation),
        }
    }
}

/// What this cluster wants to stand in a delegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredDelegation {
    claimant: Claimant,
    wish: Wish,
    share: Share,
    evicted: BTreeSet<GeoTag>,
}

/// How much of a delegation one cluster writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// Our own entry, in an object that all clusters write: a delegation at a grid.
    Entry,
    /// The whole NS set, with our own glue only, in an object that is ours alone: what external-dns publishes for
    /// this cluster (contract §3.4).
    NsSet {
        /// Name server names of the other clusters that DNS shows.
        peers: BTreeSet<DomainName>,
        /// Those of which no look-up has said anything definite yet: they stay where they stand, and are not added.
        undecided: BTreeSet<DomainName>,
    },
}

/// The two things a cluster may want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Our name server name with these addresses.
    Published {
        /// Never empty.
        addresses: BTreeSet<IpAddr>,
        /// TTL of a delegation that we create.
        ttl: Ttl,
    },
    /// Nothing under our name.
    Withdrawn,
}

/// A cluster without an address of its own DNS cannot be delegated to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "zone {zone} is not delegated to {ns_name}: this cluster's DNS has no address yet; give its Service an external address or set CLUSTER_EXPOSED_IPS"
)]
pub struct NoAddress {
    /// The zone.
    pub zone: DomainName,
    /// Our name server name.
    pub ns_name: DomainName,
}

impl DesiredDelegation {
    /// Our entry with its addresses.
    ///
    /// # Errors
    /// There is no address: that is "not known yet", never a withdrawal.
    pub fn published(claimant: Claimant, addresses: BTreeSet<IpAddr>, ttl: Ttl) -> Result<Self, NoAddress> {
        if addresses.is_empty() {
            let zone = claimant.zone().name().clone();
            return Err(NoAddress { zone, ns_name: claimant.ns_name().clone() });
        }
        Ok(Self {
            claimant,
            wish: Wish::Published { addresses, ttl },
            share: Share::Entry,
            evicted: BTreeSet::new(),
        })
    }

    /// No entry of ours.
    pub fn withdrawn(claimant: Claimant) -> Self {
        Self { claimant, wish: Wish::Withdrawn, share: Share::Entry, evicted: BTreeSet::new() }
    }

    /// The same wish where the object is ours alone, so that the names of the other clusters are ours to keep.
    pub fn with_peers(self, peers: BTreeSet<DomainName>, undecided: BTreeSet<DomainName>) -> Self {
        Self { share: Share::NsSet { peers, undecided }, ..self }
    }

    /// The same wish without the entries of these clusters, which somebody asked to be taken out.
    pub fn evicting(self, evicted: BTreeSet<GeoTag>) -> Self {
        Self { evicted, ..self }
    }

    /// The name servers of a delegation that are to be taken out because they belong to an evicted cluster. None for
    /// whoever leaves the delegation, and none where the object is ours alone: there the names of others follow DNS.
    pub fn evicts(&self, found: &Delegation) -> BTreeSet<DomainName> {
        if self.wish == Wish::Withdrawn || self.share != Share::Entry {
            return BTreeSet::new();
        }
        let evicted = |name: &&DomainName| matches!(self.claimant.claim(name), Claim::Fleet(tag) if self.evicted.contains(&tag));
        found.servers.keys().filter(evicted).cloned().collect()
    }

    /// Whether a withdrawal is over once the delegation looks like this. An NS set of our own has to be kept until
    /// the last other cluster has left it, as nobody else would; a foreign name is somebody else's and stays there.
    pub fn is_withdrawn(&self, delegation: Option<&Delegation>) -> bool {
        let held = |name: &DomainName| match (self.claimant.claim(name), &self.share) {
            (Claim::Ours, _) | (Claim::Fleet(_), Share::NsSet { .. }) => true,
            (Claim::Fleet(_), Share::Entry) | (Claim::Foreign, _) => false,
        };
        match self.wish {
            Wish::Published { .. } => false,
            Wish::Withdrawn => !delegation.is_some_and(|found| found.servers.keys().any(held)),
        }
    }

    /// Who wants it.
    pub fn claimant(&self) -> &Claimant {
        &self.claimant
    }

    /// What is wanted.
    pub fn wish(&self) -> &Wish {
        &self.wish
    }

    /// How much of the delegation is ours to write.
    pub fn share(&self) -> &Share {
        &self.share
    }
}
