//! What a Gslb asks for: strategy, weights, times. Parsed once, with all problems at once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::GeoTag;
use crate::ttl::Ttl;

/// Largest weight (contract §1.2).
pub const MAX_WEIGHT: i64 = 1000;

/// How a host's answer is made from the clusters that can serve it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// All clusters that are healthy, optionally weighted.
    RoundRobin {
        /// Share of each cluster; empty: equal shares.
        weights: BTreeMap<GeoTag, u16>,
    },
    /// All clusters that are healthy; the DNS server picks by the client's place.
    GeoIp,
    /// The primary while it is healthy, else all others that are.
    Failover {
        /// `None`, or a tag that nobody has: no cluster is preferred (rows F6 to F9).
        primary: Option<GeoTag>,
    },
}

impl Strategy {
    /// The value of `spec.strategy.type` and of the record's label `strategy`.
    pub fn label(&self) -> &'static str {
        match self {
            Self::RoundRobin { .. } => "roundRobin",
            Self::GeoIp => "geoip",
            Self::Failover { .. } => "failover",
        }
    }
}

/// `spec.strategy` as the user wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawStrategy {
    /// `type`
    pub kind: String,
    /// `weight`
    pub weight: BTreeMap<String, i64>,
    /// `primaryGeoTag`
    pub primary_geo_tag: Option<String>,
    /// `dnsTtlSeconds`; absent and 0 mean [`Ttl::DEFAULT`].
    pub dns_ttl_seconds: Option<i64>,
    /// `splitBrainThresholdSeconds`; absent and 0 mean the fleet's default hold time.
    pub split_brain_threshold_seconds: Option<i64>,
}

/// A strategy that the product may act on, with the times that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// What to do.
    pub strategy: Strategy,
    /// Time to live of the host's records.
    pub ttl: Ttl,
    /// How long a peer's last word may be held while only evidence supports it; `None`: the fleet's default.
    pub hold: Option<Duration>,
}

/// One thing that is wrong with a spec. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    /// Not one of the three, case included.
    #[error("spec.strategy.type {0:?} is unknown; write roundRobin, failover or geoip")]
    UnknownStrategy(String),
    /// Weights mean nothing to the other strategies.
    #[error(
        "spec.strategy.weight works with roundRobin only, not with {0}; remove the weights or change the type"
    )]
    WeightWithoutRoundRobin(String),
    /// A key that cannot be a geo tag.
    #[error("spec.strategy.weight key {0:?} is no geo tag; write letters, digits and inner dashes")]
    WeightTag(String),
    /// Outside 0 to [`MAX_WEIGHT`].
    #[error("spec.strategy.weight of {tag} is {value}; write a number from 0 to {MAX_WEIGHT}")]
    WeightOutOfRange {
        /// The cluster.
        tag: String,
        /// What was written.
        value: i64,
    },
    /// A primary that cannot be a geo tag.
    #[error("spec.strategy.primaryGeoTag {0:?} is no geo tag; write letters, digits and inner dashes")]
    PrimaryTag(String),
    /// Negative or larger than a TTL may be.
    #[error("spec.strategy.dnsTtlSeconds is {0}; write a number from 0 to 2147483647 (0 means 30)")]
    Ttl(i64),
}

/// Something that is accepted but will not do what the user may expect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecWarning {
    /// `failover` without a primary behaves as round robin.
    #[error(
        "failover without spec.strategy.primaryGeoTag prefers no cluster: every healthy cluster is answered; name the primary"
    )]
    NoPrimary,
    /// The primary is no member of the fleet.
    #[error(
        "spec.strategy.primaryGeoTag {0} is none of the fleet's clusters ({1}): every healthy cluster is answered; correct the tag"
    )]
    UnknownPrimary(GeoTag, String),
    /// k8gb's CoreDNS plugin ignores all weights then.
    #[error(
        "a CoreDNS with the k8s_crd plugin ignores the weights because tag {0} has a dash; gslb-bridge's own DNS server honours them"
    )]
    WeightTagWithDash(GeoTag),
    /// A weight for nobody.
    #[error(
        "spec.strategy.weight names {0}, which is none of the fleet's clusters ({1}); correct the tag or remove it"
    )]
    UnknownWeightTag(GeoTag, String),
    /// A member without a weight.
    #[error(
        "spec.strategy.weight gives no weight to {0}: a CoreDNS with the k8s_crd plugin ignores the weights while that cluster is answered; give every cluster a weight"
    )]
    PartialWeights(GeoTag),
    /// A time that nobody can wait.
    #[error(
        "spec.strategy.splitBrainThresholdSeconds is {0} and counts as 0, the fleet's default; write 0 or more"
    )]
    NegativeHold(i64),
}

impl RawStrategy {
    /// Turns what was written into what may be done.
    ///
    /// # Errors
    /// All problems, in the order of the fields.
    pub fn accept(&self) -> Result<Accepted, Vec<SpecProblem>> {
        let mut problems = Vec::new();
        let weights = self.weights(&mut problems);
        let primary = self.primary(&mut problems);
        let ttl = match self.dns_ttl_seconds.unwrap_or_default() {
            0 => Some(Ttl::DEFAULT),
            seconds => Ttl::from_secs(seconds).map_err(|_| problems.push(SpecProblem::Ttl(seconds))).ok(),
        };
        let hold = u64::try_from(self.split_brain_threshold_seconds.unwrap_or_default()).ok();
        let hold = hold.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let strategy = match self.kind.as_str() {
            "roundRobin" => Some(Strategy::RoundRobin { weights }),
            "geoip" => Some(Strategy::GeoIp),
            "failover" => Some(Strategy::Failover { primary }),
            _ => None,
        };
        if strategy.is_none() {
            problems.insert(0, SpecProblem::UnknownStrategy(self.kind.clone()));
        } else if !self.weight.is_empty() && self.kind != "roundRobin" {
            problems.push(SpecProblem::WeightWithoutRoundRobin(self.kind.clone()));
        }
        match (strategy, ttl) {
            (Some(strategy), Some(ttl)) if problems.is_empty() => Ok(Accepted { strategy, ttl, hold }),
            _ => Err(problems),
        }
    }

    /// What is passed over, as k8gb does.
    pub fn ignored(&self) -> Option<SpecWarning> {
        let seconds = self.split_brain_threshold_seconds?;
        (seconds < 0).then_some(SpecWarning::NegativeHold(seconds))
    }

    fn weights(&self, problems: &mut Vec<SpecProblem>) -> BTreeMap<GeoTag, u16> {
        let mut weights = BTreeMap::new();
        for (key, &value) in &self.weight {
            let tag = GeoTag::parse(key).map_err(|_| problems.push(SpecProblem::WeightTag(key.clone()))).ok();
            let weight = u16::try_from(value).ok().filter(|_| value <= MAX_WEIGHT);
            if weight.is_none() {
                problems.push(SpecProblem::WeightOutOfRange { tag: key.clone(), value });
            }
            weights.extend(tag.zip(weight));
        }
        weights
    }

    fn primary(&self, problems: &mut Vec<SpecProblem>) -> Option<GeoTag> {
        let text = self.primary_geo_tag.as_deref().filter(|text| !text.is_empty())?;
        GeoTag::parse(text).map_err(|_| problems.push(SpecProblem::PrimaryTag(text.to_owned()))).ok()
    }
}

impl Accepted {
    /// What will not work as the user may expect, given the fleet's members (own tag included).
    pub fn warnings(&self, members: &[GeoTag]) -> Vec<SpecWarning> {
        let known = || members.iter().map(GeoTag::as_str).collect::<Vec<_>>().join(", ");
        match &self.strategy {
            Strategy::Failover { primary: None } => vec![SpecWarning::NoPrimary],
            Strategy::Failover { primary: Some(primary) } if !members.contains(primary) => {
                vec![SpecWarning::UnknownPrimary(primary.clone(), known())]
            }
            Strategy::RoundRobin { weights } if !weights.is_empty() => {
                let unknown = weights.keys().filter(|tag| !members.contains(tag));
                let dashed = weights.keys().filter(|tag| tag.as_str().contains('-'));
                let missing = members.iter().filter(|tag| !weights.contains_key(*tag));
                unknown
                    .map(|tag| SpecWarning::UnknownWeightTag(tag.clone(), known()))
                    .chain(dashed.map(|tag| SpecWarning::WeightTagWithDash(tag.clone())))
                    .chain(missing.map(|tag| SpecWarning::PartialWeights(tag.clone())))
                    .collect()
            }
            Strategy::Failover { .. } | Strategy::RoundRobin { .. } | Strategy::GeoIp => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> GeoTag {
        GeoTag::parse(text).unwrap()
    }

    fn raw(kind: &str) -> RawStrategy {
        RawStrategy { kind: kind.into(), ..RawStrategy::default() }
    }

    /// Conformance 49; F-14.
    #[test]
    fn a_negative_time_to_hold_is_told_and_counts_as_none() {
        let spec = RawStrategy { split_brain_threshold_seconds: Some(-5), ..raw("geoip") };
        assert_eq!(spec.accept().unwrap().hold, None);
        assert_eq!(spec.ignored(), Some(SpecWarning::NegativeHold(-5)));
        assert_eq!(raw("geoip").ignored(), None);
    }

    #[test]
    fn a_ttl_of_0_or_none_is_30_seconds() {
        for seconds in [None, Some(0)] {
            let accepted = RawStrategy { dns_ttl_seconds: seconds, ..raw("geoip") }.accept().unwrap();
            assert_eq!(
                accepted,
                Accepted { strategy: Strategy::GeoIp, ttl: Ttl::from_secs(30).unwrap(), hold: None }
            );
        }
    }

    /// Conformance 49.
    #[test]
    fn all_problems_of_a_spec_are_told_at_once() {
        let spec = RawStrategy {
            kind: "roundrobin".into(),
            weight: [("eu#".to_owned(), 5), ("us".to_owned(), 10_010), ("za".to_owned(), -1)].into(),
            primary_geo_tag: Some("e u".into()),
            dns_ttl_seconds: Some(-5),
            split_brain_threshold_seconds: Some(-1),
        };
        assert_eq!(
            spec.accept(),
            Err(vec![
                SpecProblem::UnknownStrategy("roundrobin".into()),
                SpecProblem::WeightTag("eu#".into()),
                SpecProblem::WeightOutOfRange { tag: "us".into(), value: 10_010 },
                SpecProblem::WeightOutOfRange { tag: "za".into(), value: -1 },
                SpecProblem::PrimaryTag("e u".into()),
                SpecProblem::Ttl(-5),
            ])
        );
    }

    #[test]
    fn weights_are_refused_outside_round_robin() {
        let spec = RawStrategy { weight: [("eu".to_owned(), 5)].into(), ..raw("failover") };
        assert_eq!(spec.accept(), Err(vec![SpecProblem::WeightWithoutRoundRobin("failover".into())]));
    }

    /// F-17.
    #[test]
    fn a_missing_primary_is_accepted_with_a_warning() {
        let accepted = raw("failover").accept().unwrap();
        assert_eq!(accepted.strategy, Strategy::Failover { primary: None });
        assert_eq!(accepted.warnings(&[tag("eu")]), [SpecWarning::NoPrimary]);
    }

    /// F-17.
    #[test]
    fn a_primary_that_nobody_has_is_accepted_with_a_warning() {
        let spec = RawStrategy { primary_geo_tag: Some("xx".into()), ..raw("failover") };
        assert_eq!(
            spec.accept().unwrap().warnings(&[tag("eu"), tag("us")]),
            [SpecWarning::UnknownPrimary(tag("xx"), "eu, us".into())]
        );
    }

    #[test]
    fn a_weight_for_a_tag_that_nobody_has_is_warned_about() {
        let spec = RawStrategy {
            weight: [("eu".to_owned(), 5), ("mars".to_owned(), 5)].into(),
            ..raw("roundRobin")
        };
        assert_eq!(
            spec.accept().unwrap().warnings(&[tag("eu")]),
            [SpecWarning::UnknownWeightTag(tag("mars"), "eu".into())]
        );
    }

    #[test]
    fn weights_that_the_coredns_plugin_would_ignore_are_warned_about() {
        let spec = RawStrategy {
            weight: [("eu-1".to_owned(), 5), ("us".to_owned(), 5)].into(),
            ..raw("roundRobin")
        };
        assert_eq!(
            spec.accept().unwrap().warnings(&[tag("eu-1"), tag("us"), tag("za")]),
            [SpecWarning::WeightTagWithDash(tag("eu-1")), SpecWarning::PartialWeights(tag("za"))]
        );
    }
}
