//! In which order the targets of a set stand in an answer (contract §8.5).
//!
//! Most clients take the first address, so order is how traffic is shared.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// The label that names the strategy.
const STRATEGY: &str = "strategy";
/// Every label that starts so makes the order weighted.
const WEIGHT: &str = "weight";

/// How the targets of a set are ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As in the DNSEndpoint.
    Fixed,
    /// At random for each answer.
    Shuffle,
    /// Groups drawn at random by weight, without putting back.
    Weighted(Vec<Group>),
}

/// The targets of one cluster with their common weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Relative chance to be drawn; 0 is drawn last.
    pub weight: u32,
    /// Positions in the set, each position of the set in exactly one group.
    pub members: Vec<usize>,
}

impl Order {
    /// Reads the labels of an endpoint.
    ///
    /// k8gb's plugin gives up where a tag contains a dash, where an address has no weight and where labels name
    /// an address that is not a target (contract §8.5). Here keys are read from the right, so a tag may
    /// contain dashes; a target without weight comes last, as one with weight 0; a label for an address that
    /// is no target is ignored.
    pub fn from_labels(labels: &BTreeMap<String, String>, targets: &[Ipv4Addr]) -> Self {
        if labels.keys().any(|key| key.starts_with(WEIGHT)) {
            return Self::weighted(labels, targets).unwrap_or(Self::Fixed);
        }
        let strategy = labels.get(STRATEGY).map(String::as_str).unwrap_or_default();
        if labels.len() == 1 && strategy.eq_ignore_ascii_case("roundRobin") {
            return Self::Shuffle;
        }
        Self::Fixed
    }

    fn weighted(labels: &BTreeMap<String, String>, targets: &[Ipv4Addr]) -> Option<Self> {
        let mut groups: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
        let mut free: Vec<bool> = vec![true; targets.len()];
        for (key, value) in labels {
            let Some((tag, weight)) = parse_key(key) else { continue };
            let Ok(address) = value.parse::<Ipv4Addr>() else { continue };
            let Some(position) = targets.iter().position(|target| *target == address) else { continue };
            // An address that two clusters share is counted for the first.
            if std::mem::replace(&mut free[position], false) {
                groups.entry((tag, weight)).or_default().push(position);
            }
        }
        if groups.is_empty() {
            return None;
        }
        let mut groups: Vec<Group> =
            groups.into_iter().map(|((_, weight), members)| Group { weight, members }).collect();
        let unweighted: Vec<usize> = (0..targets.len()).filter(|position| free[*position]).collect();
        if !unweighted.is_empty() {
            groups.push(Group { weight: 0, members: unweighted });
        }
        Some(Self::Weighted(groups))
    }

    /// Puts the records of a set in the order of one answer.
    pub fn arrange<'r, T>(&self, records: &'r [T], rng: &mut impl Rng) -> Vec<&'r T> {
        match self {
            Self::Fixed => records.iter().collect(),
            Self::Shuffle => {
                let mut all: Vec<&T> = records.iter().collect();
                all.shuffle(rng);
                all
            }
            Self::Weighted(groups) => {
                let drawn = draw(groups, rng).into_iter().flat_map(|group| {
                    let mut members = group.members.clone();
                    members.shuffle(rng);
                    members
                });
                drawn.filter_map(|position| records.get(position)).collect()
            }
        }
    }
}

/// `weight-<tag>-<index>-<weight>`.
fn parse_key(key: &str) -> Option<(&str, u32)> {
    let mut parts = key.strip_prefix(WEIGHT)?.strip_prefix('-')?.rsplitn(3, '-');
    let weight = parts.next()?.parse().ok()?;
    parts.next()?.parse::<u32>().ok()?;
    Some((parts.next()?, weight))
}

/// Weighted random order without replacement; groups of weight 0 come last, in random order.
fn draw<'g>(groups: &'g [Group], rng: &mut impl Rng) -> Vec<&'g Group> {
    let (mut rest, mut last): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(|group| group.weight > 0);
    let mut drawn = Vec::with_capacity(groups.len());
    while !rest.is_empty() {
        let total: u64 = rest.iter().map(|group| u64::from(group.weight)).sum();
        let mut ticket = rng.random_range(0..total);
        let chosen = rest.iter().position(|group| {
            let weight = u64::from(group.weight);
            let hit = ticket < weight;
            ticket = ticket.saturating_sub(weight);
            hit
        });
        drawn.push(rest.swap_remove(chosen.unwrap_or_default()));
    }
    last.shuffle(rng);
    drawn.append(&mut last);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    fn address(last: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 0, 2, last)
    }

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    /// How often each target came first in 2 000 answers.
    fn firsts(order: &Order, targets: &[Ipv4Addr]) -> BTreeMap<Ipv4Addr, u32> {
        let mut rng = StdRng::seed_from_u64(1);
        let mut counts = BTreeMap::new();
        for _ in 0..2000 {
            let answer = order.arrange(targets, &mut rng);
            assert_eq!(answer.len(), targets.len());
            *counts.entry(*answer[0]).or_default() += 1;
        }
        counts
    }

    /// Conformance 98.
    #[test]
    fn round_robin_alone_is_shuffled_and_everything_else_keeps_its_order() {
        let targets = [address(1), address(2)];
        let order = |pairs: &[(&str, &str)]| Order::from_labels(&labels(pairs), &targets);
        assert_eq!(order(&[("strategy", "roundRobin")]), Order::Shuffle);
        assert_eq!(order(&[("strategy", "RoundRobin")]), Order::Shuffle);
        assert_eq!(order(&[]), Order::Fixed);
        assert_eq!(order(&[("strategy", "failover")]), Order::Fixed);
        assert_eq!(order(&[("strategy", "roundRobin"), ("owner", "me")]), Order::Fixed);
        assert_eq!(order(&[("strategy", "roundRobin"), ("weight-eu-0-x", "192.0.2.1")]), Order::Fixed);
    }

    /// Conformance 98.
    #[test]
    fn weights_decide_how_often_a_cluster_comes_first() {
        let targets = [address(1), address(2), address(3)];
        let order = Order::from_labels(
            &labels(&[
                ("strategy", "roundRobin"),
                ("weight-eu-0-80", "192.0.2.1"),
                ("weight-eu-1-80", "192.0.2.2"),
                ("weight-us-0-20", "192.0.2.3"),
            ]),
            &targets,
        );
        let counts = firsts(&order, &targets);
        assert!((340..460).contains(&counts[&address(3)]), "{counts:?}");
        assert!((700..900).contains(&counts[&address(1)]), "{counts:?}");
    }

    /// Conformance 98.
    #[test]
    fn a_target_of_weight_0_or_without_weight_stays_in_the_answer_and_never_comes_first() {
        let targets = [address(1), address(2), address(3)];
        let order = Order::from_labels(
            &labels(&[("weight-eu-0-0", "192.0.2.1"), ("weight-us-0-1", "192.0.2.2")]),
            &targets,
        );
        assert_eq!(firsts(&order, &targets), BTreeMap::from([(address(2), 2000)]));
    }

    #[test]
    fn a_tag_with_dashes_keeps_its_weight() {
        let targets = [address(1), address(2)];
        let order = Order::from_labels(
            &labels(&[("weight-eu-west-1-0-0", "192.0.2.1"), ("weight-us-east-1-0-5", "192.0.2.2")]),
            &targets,
        );
        assert_eq!(firsts(&order, &targets), BTreeMap::from([(address(2), 2000)]));
    }

    /// Conformance 98.
    #[test]
    fn labels_for_addresses_that_are_no_targets_are_ignored() {
        let targets = [address(1)];
        let order = Order::from_labels(&labels(&[("weight-eu-0-5", "198.51.100.1")]), &targets);
        assert_eq!(order, Order::Fixed);
    }

    #[test]
    fn only_zero_weights_are_shuffled() {
        let targets = [address(1), address(2)];
        let order = Order::from_labels(
            &labels(&[("weight-eu-0-0", "192.0.2.1"), ("weight-us-0-0", "192.0.2.2")]),
            &targets,
        );
        assert!(firsts(&order, &targets).values().all(|count| (900..1100).contains(count)));
    }
}
