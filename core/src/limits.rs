//! From a plan to an approved plan: limits on how much may change, and what must never happen whatever they say.
//!
//! Nothing here trusts [`plan`](crate::plan::plan): each rule is checked again on the change itself.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::change::Change;
use crate::claim::{Claim, Claimant, NsClaim};
use crate::delegation::Delegation;
use crate::name::{DomainName, GeoTag};
use crate::plan::{Finding, Plan, Skip};

/// From this many name servers on a share says something; below, one of three would already be a third.
const SHARE_COUNTS_FROM: usize = 4;

/// How much one plan may change, and where.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Changes in one plan.
    pub max_changes: usize,
    /// Percentage of a delegation's name server names that one plan may take away; counts from four names on.
    pub max_removed_percent: usize,
    /// The configured and accepted zones and our own name in each: the only ones that may be written. It must not
    /// come from the plan that is checked against it.
    pub scope: Vec<Claimant>,
    /// Clusters whose entries may be taken out beside ours, because somebody asked for it. Like the scope, not from the
    /// plan.
    pub evicted: BTreeSet<GeoTag>,
    /// Whether the object is this cluster's alone. Then names of the fleet may come and go in it, any number at once
    /// and never with an address, and its TTL follows the settings.
    pub own_object: bool,
}

impl Limits {
    /// One plan is one zone and so one change; four leaves room for steps in order. Half of the name servers
    /// is more than one cluster can have. No outside reference.
    pub fn for_zones(scope: Vec<Claimant>) -> Self {
        Self { max_changes: 4, max_removed_percent: 50, scope, evicted: BTreeSet::new(), own_object: false }
    }

    /// The same limits, with the entries of these clusters to be taken out.
    pub fn evicting(self, evicted: BTreeSet<GeoTag>) -> Self {
        Self { evicted, ..self }
    }

    /// The same limits for a provider that keeps an object for each cluster.
    pub fn of_own_object(self) -> Self {
        Self { own_object: true, ..self }
    }
}

/// Why a whole plan is stopped. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More changes than allowed.
    #[error("plan for {zone} is refused: it has {changes} changes, the limit is {limit}; review it first")]
    TooManyChanges {
        /// The zone.
        zone: DomainName,
        /// Changes in the plan.
        changes: usize,
        /// [`Limits::max_changes`].
        limit: usize,
    },
    /// A larger part of the name servers than allowed.
    #[error(
        "plan for {zone} is refused: it removes {removed} of {total} name servers, the limit is {limit} %; review it first"
    )]
    TooLargeShare {
        /// The zone.
        zone: DomainName,
        /// Names taken away.
        removed: usize,
        /// Names before.
        total: usize,
        /// [`Limits::max_removed_percent`].
        limit: usize,
    },
    /// Not a zone of this cluster.
    #[error(
        "plan for {zone} is refused: the zone is not among the configured ones; add it to DNS_ZONES or create a ZoneDelegation for it"
    )]
    OutOfScope {
        /// The zone.
        zone: DomainName,
    },
    /// The parent itself, or something above it.
    #[error("plan for {zone} is refused: it would change the parent's own name servers")]
    ParentApex {
        /// The zone.
        zone: DomainName,
    },
    /// Nobody would be left.
    #[error("plan for {zone} is refused: it would leave the delegation without a name server")]
    LastServer {
        /// The zone.
        zone: DomainName,
    },
    /// An entry of somebody else would change, go or come.
    #[error("plan for {zone} is refused: it would change the entry of {ns_name}, which is not ours")]
    NotOurs {
        /// The zone.
        zone: DomainName,
        /// Whose entry.
        ns_name: DomainName,
    },
    /// The TTL of a delegation that has one, or that others are in too.
    #[error("plan for {zone} is refused: it would change the TTL of an existing delegation")]
    TtlChange {
        /// The zone.
        zone: DomainName,
    },
}

impl Refusal {
    /// Stable reason for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooManyChanges { .. } => "TooManyChanges",
            Self::TooLargeShare { .. } => "TooLargeShare",
            Self::OutOfScope { .. } => "OutOfScope",
            Self::ParentApex { .. } => "ParentApex",
            Self::LastServer { .. } => "LastServer",
            Self::NotOurs { .. } => "NotOurs",
            Self::TtlChange { .. } => "TtlChange",
        }
    }
}

/// A plan that may be carried out. Only [`Plan::approve`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedPlan {
    zone: DomainName,
    changes: Vec<ApprovedChange>,
    skipped: Vec<Skip>,
    findings: Vec<Finding>,
    claims: Vec<NsClaim>,
}

/// A change that may be made. Only [`Plan::approve`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ApprovedChange(Change);

impl ApprovedChange {
    /// The change.
    pub fn change(&self) -> &Change {
        &self.0
    }
}

impl ApprovedPlan {
    /// The delegated zone.
    pub fn zone(&self) -> &DomainName {
        &self.zone
    }

    /// Name of this plan by its content.
    pub fn id(&self) -> String {
        crate::edit::content_id(self)
    }

    /// In the order in which they are made.
    pub fn changes(&self) -> &[ApprovedChange] {
        &self.changes
    }

    /// Changes that were left out.
    pub fn skipped(&self) -> &[Skip] {
        &self.skipped
    }

    /// What the user should know.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Every observed name server with its claim.
    pub fn claims(&self) -> &[NsClaim] {
        &self.claims
    }
}

impl Plan {
    /// The only way to an [`ApprovedPlan`], and so the only way to a provider's `apply`.
    ///
    /// # Errors
    /// The first broken limit; then nothing of the plan is carried out.
    pub fn approve(self, limits: &Limits) -> Result<ApprovedPlan, Refusal> {
        let Self { zone, changes, skipped, findings, claims } = self;
        if changes.len() > limits.max_changes {
            let (changes, limit) = (changes.len(), limits.max_changes);
            return Err(Refusal::TooManyChanges { zone, changes, limit });
        }
        for change in &changes {
            let claimant = in_scope(limits, change)?;
            check_others(limits, claimant, change)?;
            check_share(limits, claimant, change)?;
        }
        let changes = changes.into_iter().map(ApprovedChange).collect();
        Ok(ApprovedPlan { zone, changes, skipped, findings, claims })
    }
}

fn in_scope<'a>(limits: &'a Limits, change: &Change) -> Result<&'a Claimant, Refusal> {
    let zone = change.zone();
    let same = change.before().is_none_or(|before| before.zone == *zone);
    let configured = limits.scope.iter().find(|claimant| claimant.zone().name() == zone);
    if let Some(claimant) = configured.filter(|_| same) {
        return Ok(claimant);
    }
    // A nested zone's parent may itself be configured, so this is asked last.
    if limits.scope.iter().any(|claimant| claimant.zone().parent().is_within(zone)) {
        return Err(Refusal::ParentApex { zone: zone.clone() });
    }
    Err(Refusal::OutOfScope { zone: zone.clone() })
}

/// Every entry of others is in `after` exactly as in `before`, and somebody is left.
fn check_others(limits: &Limits, claimant: &Claimant, change: &Change) -> Result<(), Refusal> {
    let zone = change.zone();
    let (added, removed) = (change.added(), change.removed());
    let may = |name: &DomainName, adds_address: bool| match claimant.claim(name) {
        Claim::Ours => true,
        Claim::Fleet(_) => limits.own_object && !adds_address,
        Claim::Foreign => false,
    };
    let refused = added.iter().find(|(name, address)| !may(name, address.is_some()));
    let goes = |name: &DomainName| may(name, false) || is_evicted(limits, claimant, change, name);
    if let Some((ns_name, _)) = refused.or_else(|| removed.iter().find(|(name, _)| !goes(name))) {
        return Err(Refusal::NotOurs { zone: zone.clone(), ns_name: (*ns_name).clone() });
    }
    match change {
        // What is made new is made for us.
        Change::Create { after } if !after.servers.contains_key(claimant.ns_name()) => {
            Err(Refusal::LastServer { zone: zone.clone() })
        }
        Change::Create { after } | Change::Replace { after, .. } if has_no_address(claimant, after) => {
            Err(Refusal::LastServer { zone: zone.clone() })
        }
        Change::Replace { before, after } if !limits.own_object && !keeps_ttl(claimant, before, after) => {
            Err(Refusal::TtlChange { zone: zone.clone() })
        }
        // A delegation by a name server group looks empty and is not ours to delete.
        Change::Delete { before } if before.servers.is_empty() => {
            Err(Refusal::LastServer { zone: zone.clone() })
        }
        Change::Create { .. } | Change::Replace { .. } | Change::Delete { .. } => Ok(()),
    }
}

/// Whether a name belongs to a cluster that is to be taken out, and goes as a whole while we stay.
fn is_evicted(limits: &Limits, claimant: &Claimant, change: &Change, name: &DomainName) -> bool {
    let Change::Replace { after, .. } = change else { return false };
    let evicted = matches!(claimant.claim(name), Claim::Fleet(tag) if limits.evicted.contains(&tag));
    evicted && !after.servers.contains_key(name) && after.servers.contains_key(claimant.ns_name())
}

/// Only what has no TTL of its own and is the fleet's alone may get one.
fn keeps_ttl(claimant: &Claimant, before: &Delegation, after: &Delegation) -> bool {
    let foreign = |delegation: &Delegation| {
        delegation.servers.keys().any(|name| claimant.claim(name) == Claim::Foreign)
    };
    before.ttl == after.ttl || (before.ttl.is_none() && !foreign(before) && !foreign(after))
}

/// Nobody is named, or we name ourselves without an address.
fn has_no_address(claimant: &Claimant, after: &Delegation) -> bool {
    after.servers.is_empty() || after.servers.get(claimant.ns_name()).is_some_and(BTreeSet::is_empty)
}

fn check_share(limits: &Limits, claimant: &Claimant, change: &Change) -> Result<(), Refusal> {
    // In an object of our own a name of the fleet stands for an address that DNS shows, and goes with it; and who is to
    // be taken out was named one by one.
    let counts = |name: &DomainName| match claimant.claim(name) {
        Claim::Ours | Claim::Foreign => true,
        Claim::Fleet(tag) => !limits.own_object && !limits.evicted.contains(&tag),
    };
    let names = |delegation: Option<&Delegation>| -> BTreeSet<DomainName> {
        let names = delegation.into_iter().flat_map(|delegation| delegation.servers.keys());
        names.filter(|name| counts(name)).cloned().collect()
    };
    let before = names(change.before());
    let (removed, total) = (before.difference(&names(change.after())).count(), before.len());
    if total >= SHARE_COUNTS_FROM && removed * 100 > total * limits.max_removed_percent {
        let (zone, limit) = (change.zone().clone(), limits.max_removed_percent);
        return Err(Refusal::TooLargeShare { zone, removed, total, limit });
    }
    Ok(())
}
