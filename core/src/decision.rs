//! What a host answers (contract §3.3, design §2.2).
//!
//! The truth table works on the clusters that can be believed to be able to serve: this one if it is healthy
//! and has addresses, and every peer whose view is [`Tier::Good`]. What is merely *unknown* is the last resort;
//! what is *down* is never resurrected.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::health::Health;
use crate::name::GeoTag;
use crate::peer::{Tier, View};
use crate::strategy::Strategy;
use crate::target::{TargetMap, Targets, without_duplicates};

/// This cluster's part in a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Its geo tag.
    pub tag: GeoTag,
    /// Health of the host here.
    pub health: Health,
    /// Addresses of the host here.
    pub targets: Targets,
}

impl Own {
    /// A healthy cluster without addresses cannot serve (rows X1, X2).
    fn eligible(&self) -> bool {
        self.health == Health::Healthy && !self.targets.is_empty()
    }
}

/// What this cluster believes about a host in one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// What the view is worth.
    pub tier: Tier,
    /// The last targets named.
    pub targets: Targets,
    /// When they were named; `None`: never.
    pub heard: Option<Timestamp>,
}

impl From<&View> for Sight {
    fn from(view: &View) -> Self {
        let word = view.last_word();
        Self {
            tier: view.tier(),
            targets: word.map(|word| word.targets.clone()).unwrap_or_default(),
            heard: word.map(|word| word.at),
        }
    }
}

/// Everything that decides about one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// The accepted strategy.
    pub strategy: Strategy,
    /// This cluster.
    pub own: Own,
    /// The other clusters of the fleet.
    pub peers: BTreeMap<GeoTag, Sight>,
    /// How old the last word of an unknown peer may be to serve as the last resort (`LAST_RESORT_SECONDS`).
    pub last_resort: SignedDuration,
}

/// What one host answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What `localtargets-<host>` answers; `None`: the record does not exist.
    pub local: Option<Targets>,
    /// What `<host>` answers.
    pub answer: Answer,
}

/// The answer for the host itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// These addresses.
    Targets {
        /// By cluster; never empty, no cluster without addresses, no address twice.
        by_tag: TargetMap,
        /// Whether the truth table or the last resort chose them.
        basis: Basis,
    },
    /// No record: every cluster says that it has no healthy target.
    AllDown,
    /// No record, and some cluster may be serving without us knowing.
    Unsure,
}

/// What chose an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Rows R1 to F9.
    Strategy,
    /// Nothing is known to be healthy; these were healthy when last heard.
    LastResort,
}

impl Answer {
    /// Stable reason for the condition `Serving`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Targets { basis: Basis::Strategy, .. } => "Strategy",
            Self::Targets { basis: Basis::LastResort, .. } => "LastResort",
            Self::AllDown => "NoHealthySite",
            Self::Unsure => "SiteUnknown",
        }
    }

    /// The clusters that are answered, in order.
    pub fn sites(&self) -> impl Iterator<Item = &GeoTag> {
        let map = match self {
            Self::Targets { by_tag, .. } => Some(by_tag),
            Self::AllDown | Self::Unsure => None,
        };
        map.into_iter().flat_map(BTreeMap::keys)
    }
}

/// Decides one host.
pub fn decide(inputs: &Inputs, now: Timestamp) -> Decision {
    let own = &inputs.own;
    let local = own.eligible().then(|| own.targets.clone());
    let chosen = without_duplicates(&by_strategy(inputs));
    if !chosen.is_empty() {
        return Decision { local, answer: Answer::Targets { by_tag: chosen, basis: Basis::Strategy } };
    }
    let resort = without_duplicates(&last_resort(inputs, now));
    let unsure = inputs.peers.values().any(|sight| sight.tier == Tier::Unknown);
    let answer = if !resort.is_empty() {
        Answer::Targets { by_tag: resort, basis: Basis::LastResort }
    } else if unsure {
        Answer::Unsure
    } else {
        Answer::AllDown
    };
    Decision { local, answer }
}

fn by_strategy(inputs: &Inputs) -> TargetMap {
    let own = &inputs.own;
    let good = inputs.peers.iter().filter(|(_, sight)| sight.tier == Tier::Good && !sight.targets.is_empty());
    let mut all: TargetMap = good.map(|(tag, sight)| (tag.clone(), sight.targets.clone())).collect();
    if own.eligible() {
        all.insert(own.tag.clone(), own.targets.clone());
    }
    match &inputs.strategy {
        // Rows R1 to R4.
        Strategy::RoundRobin { .. } | Strategy::GeoIp => all,
        // F1, F4 and F5 answer the primary alone; F2, F3 and F6 to F9 whoever is left.
        Strategy::Failover { primary } => {
            match primary.as_ref().and_then(|primary| all.remove_entry(primary)) {
                Some(primary) => TargetMap::from([primary]),
                None => all,
            }
        }
    }
}

fn last_resort(inputs: &Inputs, now: Timestamp) -> TargetMap {
    let recent = |sight: &Sight| sight.heard.is_some_and(|at| now.duration_since(at) <= inputs.last_resort);
    let usable = |sight: &Sight| sight.tier == Tier::Unknown && !sight.targets.is_empty() && recent(sight);
    let unknown = inputs.peers.iter().filter(|(_, sight)| usable(sight));
    let mut unknown: TargetMap = unknown.map(|(tag, sight)| (tag.clone(), sight.targets.clone())).collect();
    match &inputs.strategy {
        Strategy::RoundRobin { .. } | Strategy::GeoIp => unknown,
        Strategy::Failover { primary } => {
            match primary.as_ref().and_then(|primary| unknown.remove_entry(primary)) {
                Some(primary) => TargetMap::from([primary]),
                None => unknown,
            }
        }
    }
}

#[cfg(test)]
#[path = "decision_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "decision_laws.rs"]
mod laws;
