//! Builders for the tests of the rules: the fleet of the contract's worked examples (§3.5), seen at [`NOW`].

use std::net::Ipv4Addr;

use jiff::{SignedDuration, Timestamp};

use crate::decision::{Answer, Basis, Decision, Inputs, Own, Sight, decide};
use crate::health::Health;
use crate::name::{DomainName, GeoTag};
use crate::peer::Tier;
use crate::strategy::Strategy;
use crate::target::{TargetMap, Targets};

/// The time at which every test decides.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
/// `LAST_RESORT_SECONDS` of every test.
pub(crate) const LAST_RESORT: SignedDuration = SignedDuration::from_secs(3600);

pub(crate) const FRA: &[&str] = &["192.0.2.10", "192.0.2.11"];
pub(crate) const NYC: &[&str] = &["198.51.100.20", "198.51.100.21"];
pub(crate) const SIN: &[&str] = &["203.0.113.30"];

pub(crate) fn tag(text: &str) -> GeoTag {
    GeoTag::parse(text).unwrap()
}

pub(crate) fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

pub(crate) fn addresses(texts: &[&str]) -> Vec<Ipv4Addr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

pub(crate) fn targets(texts: &[&str]) -> Targets {
    addresses(texts).into_iter().collect()
}

pub(crate) fn round_robin() -> Strategy {
    Strategy::RoundRobin { weights: [].into() }
}

pub(crate) fn weighted(weights: &[(&str, u16)]) -> Strategy {
    Strategy::RoundRobin { weights: weights.iter().map(|(of, weight)| (tag(of), *weight)).collect() }
}

pub(crate) fn failover(primary: &str) -> Strategy {
    Strategy::Failover { primary: Some(tag(primary)) }
}

/// One host as a cluster sees it; at first without peers.
pub(crate) struct Given(pub(crate) Inputs);

/// A host in cluster `own`, under `strategy`.
pub(crate) fn given(strategy: Strategy, own: &str, health: Health, own_targets: &[&str]) -> Given {
    Given(Inputs {
        strategy,
        own: Own { tag: tag(own), health, targets: targets(own_targets) },
        peers: [].into(),
        last_resort: LAST_RESORT,
    })
}

impl Given {
    /// A peer that named its targets just now.
    pub(crate) fn good(self, peer: &str, its: &[&str]) -> Self {
        self.peer(peer, Tier::Good, its, Some(NOW))
    }

    /// A peer that is silent since `seconds`.
    pub(crate) fn silent(self, peer: &str, its: &[&str], seconds: i64) -> Self {
        self.peer(peer, Tier::Unknown, its, Some(NOW - SignedDuration::from_secs(seconds)))
    }

    /// A peer that was never heard.
    pub(crate) fn never_heard(self, peer: &str) -> Self {
        self.peer(peer, Tier::Unknown, &[], None)
    }

    /// A peer that named its targets a minute ago and now says that it has none.
    pub(crate) fn down(self, peer: &str, its: &[&str]) -> Self {
        self.peer(peer, Tier::Down, its, Some(NOW - SignedDuration::from_secs(60)))
    }

    fn peer(mut self, peer: &str, tier: Tier, its: &[&str], heard: Option<Timestamp>) -> Self {
        self.0.peers.insert(tag(peer), Sight { tier, targets: targets(its), heard });
        self
    }

    pub(crate) fn decide(&self) -> Decision {
        decide(&self.0, NOW)
    }
}

/// The truth table chose these clusters.
pub(crate) fn answers(local: Option<&[&str]>, sites: &[(&str, &[&str])]) -> Decision {
    decision(local, sites, Basis::Strategy)
}

/// Nothing is known to be healthy; these clusters are the last resort.
pub(crate) fn resorts_to(sites: &[(&str, &[&str])]) -> Decision {
    decision(None, sites, Basis::LastResort)
}

/// No record, because every cluster says that it has no target.
pub(crate) const ALL_DOWN: Decision = Decision { local: None, answer: Answer::AllDown };
/// No record, because nobody knows.
pub(crate) const UNSURE: Decision = Decision { local: None, answer: Answer::Unsure };

fn decision(local: Option<&[&str]>, sites: &[(&str, &[&str])], basis: Basis) -> Decision {
    let by_tag: TargetMap = sites.iter().map(|(site, its)| (tag(site), targets(its))).collect();
    Decision { local: local.map(targets), answer: Answer::Targets { by_tag, basis } }
}
