//! What to change at a delegation: only what is ours to write, and only if it differs.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::beneath::Adoption;
use crate::change::Change;
use crate::claim::{Claim, NsClaim};
use crate::delegation::{
    Delegation, DesiredDelegation, ObservedDelegation, Obstacle, Presence, Servers, Share, Wish,
};
use crate::history::History;
use crate::name::DomainName;
use crate::ttl::Ttl;

/// Names in one sentence. No outside reference.
const MOST_NAMED: usize = 10;

/// What should change at one delegation, what is left out, and what the user should know. Not yet approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The delegated zone.
    pub zone: DomainName,
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    /// Changes that are wanted and must not be made.
    pub skipped: Vec<Skip>,
    /// What was noticed and needs no change of ours.
    pub findings: Vec<Finding>,
    /// Every name server that was observed, with its claim.
    pub claims: Vec<NsClaim>,
}

/// A change that is left out. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum Skip {
    /// An operator locked the object.
    #[error("delegation {zone} is not changed: it is locked by {by}; ask for the lock to be released")]
    Locked {
        /// The zone.
        zone: DomainName,
        /// Who locked it, or "somebody".
        by: String,
    },
    /// The name servers come from a group.
    #[error(
        "delegation {zone} is not changed: its name servers come from the name server group {group}; add {ns_name} to that group or take the group off the delegation"
    )]
    NsGroup {
        /// The zone.
        zone: DomainName,
        /// Name of the group.
        group: String,
        /// Our name server name.
        ns_name: DomainName,
    },
    /// Somebody else looks after it.
    #[error("delegation {zone} is not changed: {why}")]
    ForeignClaim {
        /// The zone.
        zone: DomainName,
        /// Whose it is, and what to do.
        why: String,
    },
    /// Another cluster writes under our name.
    #[error(
        "delegation {zone} is not changed: {addresses} came back under our own name {ns_name} after we had replaced it; give each cluster its own CLUSTER_GEO_TAG, then remove that address from the delegation"
    )]
    GeoTagConflict {
        /// The zone.
        zone: DomainName,
        /// Our name server name.
        ns_name: DomainName,
        /// The other writer's addresses, comma separated.
        addresses: String,
    },
    /// The parent zone holds something at or beneath the name.
    #[error(
        "{zone} is not delegated: its parent zone holds {hidden} at or beneath that name, which would disappear from DNS; move or delete them, or set the annotation gslb-bridge.io/adopt-hidden-records to \"true\" on the ZoneDelegation to delegate the zone all the same"
    )]
    RecordsWouldBeHidden {
        /// The zone.
        zone: DomainName,
        /// What, with its number.
        hidden: String,
    },
}

impl Skip {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Locked { .. } => "Locked",
            Self::NsGroup { .. } => "NsGroup",
            Self::ForeignClaim { .. } => "ForeignClaim",
            Self::GeoTagConflict { .. } => "GeoTagConflict",
            Self::RecordsWouldBeHidden { .. } => "RecordsWouldBeHidden",
        }
    }
}

/// Something that the user should know. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum Finding {
    /// An operator switched the object off.
    #[error("delegation {zone} is disabled, so nobody is referred to it; enable it again to serve the zone")]
    Disabled {
        /// The zone.
        zone: DomainName,
    },
    /// Names that are neither ours nor the fleet's.
    #[error(
        "delegation {zone} also lists {names}, which no cluster of this fleet uses; they are left as they are, remove them by hand if they no longer serve the zone"
    )]
    ForeignServers {
        /// The zone.
        zone: DomainName,
        /// The names, comma separated.
        names: String,
    },
    /// Addresses under our own name that we do not have and never published.
    #[error(
        "delegation {zone} lists {addresses} under our own name {ns_name}; it is replaced by this cluster's own addresses"
    )]
    ForeignAddress {
        /// The zone.
        zone: DomainName,
        /// Our name server name.
        ns_name: DomainName,
        /// The addresses, comma separated.
        addresses: String,
    },
    /// The TTL is another one, and not ours to change.
    #[error(
        "delegation {zone} has TTL {observed}, not {desired} seconds as NS_RECORD_TTL says; it is left as it is, change it by hand or adapt NS_RECORD_TTL"
    )]
    TtlDiffers {
        /// The zone.
        zone: DomainName,
        /// Seconds, or "inherited from its provider".
        observed: String,
        /// Seconds.
        desired: u32,
    },
    /// The TTL is the backend's default, and nobody but the fleet is in the delegation: it gets the fleet's.
    #[error(
        "delegation {zone} has no TTL of its own; as only clusters of this fleet are in it, it gets the {desired} seconds of NS_RECORD_TTL"
    )]
    TtlInherited {
        /// The zone.
        zone: DomainName,
        /// Seconds.
        desired: u32,
    },
    /// Clusters that somebody asked to be taken out.
    #[error(
        "{names} is taken out of delegation {zone}, as the annotation gslb-bridge.io/evict of the ZoneDelegation asks for"
    )]
    Evicted {
        /// The zone.
        zone: DomainName,
        /// The name servers, comma separated.
        names: String,
    },
    /// A new delegation hides something, as was asked for.
    #[error("delegation {zone} hides {hidden} from DNS, as {by} asks for")]
    RecordsHidden {
        /// The zone.
        zone: DomainName,
        /// What, with its number.
        hidden: String,
        /// Who asked for it.
        by: Adoption,
    },
}

impl Finding {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Disabled { .. } => "Disabled",
            Self::ForeignServers { .. } => "ForeignServers",
            Self::ForeignAddress { .. } => "ForeignAddress",
            Self::TtlDiffers { .. } => "TtlDiffers",
            Self::TtlInherited { .. } => "TtlInherited",
            Self::Evicted { .. } => "Evicted",
            Self::RecordsHidden { .. } => "RecordsHidden",
        }
    }

    /// Whether the plan's change is an answer to it. All others are left as they were found.
    pub fn leads_to_change(&self) -> bool {
        match self {
            Self::ForeignAddress { .. }
            | Self::TtlInherited { .. }
            | Self::Evicted { .. }
            | Self::RecordsHidden { .. } => true,
            Self::Disabled { .. } | Self::ForeignServers { .. } | Self::TtlDiffers { .. } => false,
        }
    }
}

/// Compares what we want with what was observed. Total: every input gives a plan, and equal inputs equal plans.
///
/// `history` should have [`seen`](History::seen) the same observation.
pub fn plan(desired: &DesiredDelegation, observed: &Presence, history: &History, now: Timestamp) -> Plan {
    let zone = desired.claimant().zone().name().clone();
    let nothing = Plan { zone, changes: vec![], skipped: vec![], findings: vec![], claims: vec![] };
    match (observed, desired.wish()) {
        (Presence::Absent, Wish::Withdrawn) => nothing,
        (Presence::Absent, Wish::Published { addresses, ttl }) => {
            let mut servers = Servers::from([(our_name(desired).clone(), addresses.clone())]);
            if let Share::NsSet { peers, .. } = desired.share() {
                servers.extend(peers.iter().map(|peer| (peer.clone(), BTreeSet::new())));
            }
            let after = Delegation { zone: nothing.zone.clone(), ttl: Some(*ttl), servers };
            Plan { changes: vec![Change::Create { after }], ..nothing }
        }
        (Presence::Present(found), _) => plan_present(nothing, desired, found, history, now),
    }
}

fn plan_present(
    mut plan: Plan,
    desired: &DesiredDelegation,
    found: &ObservedDelegation,
    history: &History,
    now: Timestamp,
) -> Plan {
    let before = &found.delegation;
    plan.claims = desired.claimant().claims(before);
    let first_ttl = first_ttl(&plan.claims, desired, found, history);
    plan.findings = findings(&plan, desired, found, first_ttl);
    let evicted = desired.evicts(before);
    let mut after = merged(desired, before);
    after.servers.retain(|name, _| !evicted.contains(name));
    after.ttl = first_ttl.or(after.ttl);
    if after == *before {
        return plan;
    }
    let foreign: BTreeSet<_> =
        surplus(desired, before).into_iter().filter(|address| !history.placed(*address)).collect();
    if let Some(skip) = obstacle(desired, found, &history.came_back(our_name(desired), &foreign, now)) {
        plan.skipped.push(skip);
        return plan;
    }
    if !foreign.is_empty() {
        let (ns_name, addresses) = (our_name(desired).clone(), list(&foreign));
        plan.findings.push(Finding::ForeignAddress { zone: plan.zone.clone(), ns_name, addresses });
    }
    if !evicted.is_empty() {
        plan.findings.push(Finding::Evicted { zone: plan.zone.clone(), names: list(&evicted) });
    }
    let before = before.clone();
    plan.changes.push(match after.servers.is_empty() {
        true => Change::Delete { before },
        false => Change::Replace { before, after },
    });
    plan
}

fn our_name(desired: &DesiredDelegation) -> &DomainName {
    desired.claimant().ns_name()
}

/// What was observed with our own part as we want it, or without it.
fn merged(desired: &DesiredDelegation, before: &Delegation) -> Delegation {
    let mut after = before.clone();
    if let Share::NsSet { peers, undecided } = desired.share() {
        let stays = |name: &DomainName| match desired.claimant().claim(name) {
            Claim::Ours | Claim::Foreign => true,
            Claim::Fleet(_) => peers.contains(name) || undecided.contains(name),
        };
        after.servers.retain(|name, _| stays(name));
        for peer in peers {
            after.servers.entry(peer.clone()).or_default();
        }
        if let Wish::Published { ttl, .. } = desired.wish() {
            after.ttl = Some(*ttl);
        }
    }
    match desired.wish() {
        Wish::Published { addresses, .. } => {
            after.servers.insert(our_name(desired).clone(), addresses.clone());
        }
        Wish::Withdrawn => {
            after.servers.remove(our_name(desired));
        }
    }
    after
}

/// The TTL that an object gets which has none of its own. Only while it is the fleet's alone, and only once: whoever
/// takes it away again wants it so.
fn first_ttl(
    claims: &[NsClaim],
    desired: &DesiredDelegation,
    found: &ObservedDelegation,
    history: &History,
) -> Option<Ttl> {
    let Wish::Published { ttl, .. } = desired.wish() else { return None };
    let foreign = claims.iter().any(|ns| ns.claim == Claim::Foreign);
    let shared = *desired.share() == Share::Entry;
    let held = found.obstacles.iter().any(Obstacle::forbids_writes);
    let unset = found.delegation.ttl.is_none() && found.takes_first_ttl && !history.set_ttl();
    (shared && unset && !foreign && !held).then_some(*ttl)
}

/// Addresses under our own name that we do not want there. A withdrawal removes them without further question.
fn surplus(desired: &DesiredDelegation, before: &Delegation) -> BTreeSet<IpAddr> {
    match (desired.wish(), before.servers.get(our_name(desired))) {
        (Wish::Published { addresses, .. }, Some(found)) => found - addresses,
        (Wish::Published { .. }, None) | (Wish::Withdrawn, _) => BTreeSet::new(),
    }
}

fn obstacle(
    desired: &DesiredDelegation,
    found: &ObservedDelegation,
    back: &BTreeSet<IpAddr>,
) -> Option<Skip> {
    let zone = desired.claimant().zone().name().clone();
    let ns_name = our_name(desired).clone();
    for obstacle in &found.obstacles {
        match obstacle {
            Obstacle::Locked { by } => {
                let by = by.clone().unwrap_or_else(|| "somebody".to_owned());
                return Some(Skip::Locked { zone, by });
            }
            Obstacle::NsGroup { name } => {
                return Some(Skip::NsGroup { zone, group: name.clone(), ns_name });
            }
            Obstacle::ForeignClaim { why } => return Some(Skip::ForeignClaim { zone, why: why.clone() }),
            Obstacle::Disabled => {}
        }
    }
    (!back.is_empty()).then(|| Skip::GeoTagConflict { zone, ns_name, addresses: list(back) })
}

fn findings(
    plan: &Plan,
    desired: &DesiredDelegation,
    found: &ObservedDelegation,
    first_ttl: Option<Ttl>,
) -> Vec<Finding> {
    let mut findings = vec![];
    let zone = || plan.zone.clone();
    let foreign: BTreeSet<_> =
        plan.claims.iter().filter(|ns| ns.claim == Claim::Foreign).map(|ns| &ns.ns_name).collect();
    let foreign =
        (!foreign.is_empty()).then(|| Finding::ForeignServers { zone: zone(), names: list(&foreign) });
    let Wish::Published { ttl, .. } = desired.wish() else {
        // What is left in an object of our own nobody else looks after.
        return foreign.filter(|_| *desired.share() != Share::Entry).into_iter().collect();
    };
    if found.obstacles.contains(&Obstacle::Disabled) {
        findings.push(Finding::Disabled { zone: zone() });
    }
    findings.extend(foreign);
    if first_ttl.is_some() {
        findings.push(Finding::TtlInherited { zone: zone(), desired: ttl.as_secs() });
    } else if found.delegation.ttl != Some(*ttl) && *desired.share() == Share::Entry {
        let inherited = || "inherited from its provider".to_owned();
        let observed = found.delegation.ttl.map_or_else(inherited, seconds);
        findings.push(Finding::TtlDiffers { zone: zone(), observed, desired: ttl.as_secs() });
    }
    findings
}

fn seconds(ttl: Ttl) -> String {
    ttl.as_secs().to_string()
}

/// The first few items and how many more there are: a status has a limit, and a person a patience.
fn list<T: ToString>(items: &BTreeSet<T>) -> String {
    let named = items.iter().take(MOST_NAMED).map(T::to_string).collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
