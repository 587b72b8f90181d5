//! What holds for every input of the decision, whatever the row.

use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::{Just, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::select;
use proptest::strategy::Strategy as Generate;

use super::*;
use crate::given::{LAST_RESORT, NOW, round_robin, tag};

/// Few tags and addresses, so that clusters often share both a primary and targets.
fn any_tag() -> impl Generate<Value = GeoTag> {
    select(vec!["fra", "nyc", "sin", "gru"]).prop_map(tag)
}

fn any_targets() -> impl Generate<Value = Targets> {
    btree_set((1_u8..6).prop_map(|last| [192, 0, 2, last].into()), 0..4)
}

fn any_strategy() -> impl Generate<Value = Strategy> {
    prop_oneof![
        Just(round_robin()),
        Just(Strategy::GeoIp),
        option::of(any_tag()).prop_map(|primary| Strategy::Failover { primary }),
    ]
}

fn any_own() -> impl Generate<Value = Own> {
    (select(vec![Health::Healthy, Health::Unhealthy, Health::NotFound]), any_targets())
        .prop_map(|(health, targets)| Own { tag: tag("own"), health, targets })
}

fn any_sight() -> impl Generate<Value = Sight> {
    let age = option::of((0_i64..7200).prop_map(|age| NOW - SignedDuration::from_secs(age)));
    (select(vec![Tier::Good, Tier::Unknown, Tier::Down]), any_targets(), age)
        .prop_map(|(tier, targets, heard)| Sight { tier, targets, heard })
}

fn any_inputs() -> impl Generate<Value = Inputs> {
    (any_strategy(), any_own(), btree_map(any_tag(), any_sight(), 0..5))
        .prop_map(|(strategy, own, peers)| Inputs { strategy, own, peers, last_resort: LAST_RESORT })
}

fn by_tag(answer: &Answer) -> TargetMap {
    match answer {
        Answer::Targets { by_tag, .. } => by_tag.clone(),
        Answer::AllDown | Answer::Unsure => TargetMap::new(),
    }
}

fn any_peer(inputs: &Inputs, tier: Tier) -> bool {
    inputs.peers.values().any(|sight| sight.tier == tier && !sight.targets.is_empty())
}

proptest! {
    #[test]
    fn an_answer_lists_no_address_twice_and_no_cluster_without_addresses(inputs in any_inputs()) {
        let answered = by_tag(&decide(&inputs, NOW).answer);
        let all: Vec<_> = answered.values().flatten().collect();
        let distinct: BTreeMap<_, ()> = all.iter().map(|target| (**target, ())).collect();
        prop_assert_eq!(all.len(), distinct.len());
        prop_assert!(answered.values().all(|targets| !targets.is_empty()));
    }

    /// F-26.
    #[test]
    fn an_answer_with_targets_is_never_empty(inputs in any_inputs()) {
        let answer = decide(&inputs, NOW).answer;
        prop_assert_eq!(matches!(answer, Answer::Targets { .. }), !by_tag(&answer).is_empty());
    }

    /// F-26.
    #[test]
    fn no_cluster_that_is_down_or_ineligible_is_answered(inputs in any_inputs()) {
        let answered = by_tag(&decide(&inputs, NOW).answer);
        let down = inputs.peers.iter().filter(|(_, sight)| sight.tier == Tier::Down).map(|(tag, _)| tag);
        prop_assert!(down.into_iter().all(|tag| !answered.contains_key(tag)));
        prop_assert!(inputs.own.eligible() || !answered.contains_key(&inputs.own.tag));
    }

    #[test]
    fn every_answered_address_was_named_by_its_cluster(inputs in any_inputs()) {
        let named = |tag: &GeoTag| {
            if *tag == inputs.own.tag { &inputs.own.targets } else { &inputs.peers[tag].targets }
        };
        let answered = by_tag(&decide(&inputs, NOW).answer);
        prop_assert!(answered.iter().all(|(tag, targets)| targets.is_subset(named(tag))));
    }

    #[test]
    fn a_cluster_tells_its_targets_exactly_while_it_is_healthy_and_has_some(
        inputs in any_inputs(), other in any_strategy(),
    ) {
        let eligible = inputs.own.health == Health::Healthy && !inputs.own.targets.is_empty();
        let expected = eligible.then(|| inputs.own.targets.clone());
        prop_assert_eq!(&decide(&inputs, NOW).local, &expected);
        let otherwise = Inputs { strategy: other, ..inputs };
        prop_assert_eq!(&decide(&otherwise, NOW).local, &expected);
    }

    #[test]
    fn whether_anything_is_answered_and_why_does_not_depend_on_the_strategy(
        inputs in any_inputs(), other in any_strategy(),
    ) {
        let otherwise = Inputs { strategy: other, ..inputs.clone() };
        prop_assert_eq!(decide(&inputs, NOW).answer.reason(), decide(&otherwise, NOW).answer.reason());
    }

    #[test]
    fn the_last_resort_is_reached_only_when_nothing_is_known_to_serve(inputs in any_inputs()) {
        let serves = inputs.own.eligible() || any_peer(&inputs, Tier::Good);
        prop_assert_eq!(decide(&inputs, NOW).answer.reason() == "Strategy", serves);
    }

    #[test]
    fn no_record_is_certain_exactly_when_no_cluster_is_unknown(inputs in any_inputs()) {
        let unknown = inputs.peers.values().any(|sight| sight.tier == Tier::Unknown);
        let answer = decide(&inputs, NOW).answer;
        prop_assert!(answer != Answer::AllDown || !unknown);
        prop_assert!(answer != Answer::Unsure || unknown);
    }

    /// F-06.
    #[test]
    fn the_order_in_which_peers_became_known_is_irrelevant(
        (inputs, shuffled) in any_inputs().prop_flat_map(|inputs| {
            let peers: Vec<_> = inputs.peers.clone().into_iter().collect();
            (Just(inputs), Just(peers).prop_shuffle())
        }),
    ) {
        let again = Inputs { peers: shuffled.into_iter().collect(), ..inputs.clone() };
        prop_assert_eq!(decide(&inputs, NOW), decide(&again, NOW));
    }
}
