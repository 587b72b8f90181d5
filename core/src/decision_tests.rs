//! Every row of the truth table (contract §3.3) and the rules after it (design §2.2), by name.

use super::*;
use crate::given::{
    ALL_DOWN, FRA, NOW, NYC, SIN, UNSURE, answers, failover, given, resorts_to, round_robin, tag, targets,
};
use crate::health::Health::{Healthy, NotFound, Unhealthy};
use crate::peer::Verdict;

/// The strategies of rows R1 to R4, which differ in the label only.
fn by_health() -> [Strategy; 2] {
    [round_robin(), Strategy::GeoIp]
}

/// Conformance 44.
#[test]
fn r1_a_healthy_cluster_alone_answers_itself() {
    for strategy in by_health() {
        let host = given(strategy, "fra", Healthy, FRA).down("nyc", NYC);
        assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA)]));
    }
}

/// Conformance 44.
#[test]
fn r2_a_healthy_cluster_answers_itself_and_all_peers() {
    for strategy in by_health() {
        let host = given(strategy, "fra", Healthy, FRA).good("nyc", NYC).good("sin", SIN);
        assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA), ("nyc", NYC), ("sin", SIN)]));
    }
}

/// Conformance 44.
#[test]
fn r3_an_unhealthy_cluster_answers_all_peers() {
    for strategy in by_health() {
        let host = given(strategy, "fra", Unhealthy, FRA).good("nyc", NYC).good("sin", SIN);
        assert_eq!(host.decide(), answers(None, &[("nyc", NYC), ("sin", SIN)]));
    }
}

#[test]
fn r3_a_cluster_without_the_service_answers_all_peers() {
    for strategy in by_health() {
        let host = given(strategy, "fra", NotFound, FRA).good("nyc", NYC).down("sin", SIN);
        assert_eq!(host.decide(), answers(None, &[("nyc", NYC)]));
    }
}

/// Conformance 44.
#[test]
fn r4_an_unhealthy_cluster_alone_has_no_record() {
    for strategy in by_health() {
        assert_eq!(given(strategy.clone(), "fra", Unhealthy, FRA).decide(), ALL_DOWN);
        assert_eq!(given(strategy, "fra", NotFound, FRA).down("nyc", NYC).decide(), ALL_DOWN);
    }
}

/// Conformance 41, 42, 43.
#[test]
fn f1_a_healthy_primary_answers_itself_only() {
    let host = given(failover("fra"), "fra", Healthy, FRA).good("nyc", NYC).good("sin", SIN);
    assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA)]));
    assert_eq!(given(failover("fra"), "fra", Healthy, FRA).decide(), answers(Some(FRA), &[("fra", FRA)]));
}

/// Conformance 41, 42, 43.
#[test]
fn f2_an_unhealthy_primary_answers_all_peers() {
    let host = given(failover("fra"), "fra", Unhealthy, FRA).good("nyc", NYC).good("sin", SIN);
    assert_eq!(host.decide(), answers(None, &[("nyc", NYC), ("sin", SIN)]));
}

/// Conformance 42.
#[test]
fn f3_an_unhealthy_primary_alone_has_no_record() {
    let host = given(failover("fra"), "fra", NotFound, FRA).down("nyc", NYC).down("sin", SIN);
    assert_eq!(host.decide(), ALL_DOWN);
}

/// Conformance 41, 42.
#[test]
fn f4_a_healthy_secondary_answers_the_primary_only_and_still_tells_its_own_targets() {
    let host = given(failover("fra"), "nyc", Healthy, NYC).good("fra", FRA).good("sin", SIN);
    assert_eq!(host.decide(), answers(Some(NYC), &[("fra", FRA)]));
}

/// Conformance 42.
#[test]
fn f5_an_unhealthy_secondary_answers_the_primary_only() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).good("fra", FRA).good("sin", SIN);
    assert_eq!(host.decide(), answers(None, &[("fra", FRA)]));
}

/// Conformance 41.
#[test]
fn f6_without_the_primary_a_healthy_secondary_answers_itself_and_all_survivors() {
    let host = given(failover("fra"), "nyc", Healthy, NYC).down("fra", FRA).good("sin", SIN);
    assert_eq!(host.decide(), answers(Some(NYC), &[("nyc", NYC), ("sin", SIN)]));
}

#[test]
fn f7_without_the_primary_an_unhealthy_secondary_answers_all_survivors() {
    let host = given(failover("fra"), "nyc", NotFound, NYC).down("fra", FRA).good("sin", SIN);
    assert_eq!(host.decide(), answers(None, &[("sin", SIN)]));
}

/// Conformance 41, 42.
#[test]
fn f8_the_last_healthy_secondary_answers_itself() {
    let host = given(failover("fra"), "nyc", Healthy, NYC).down("fra", FRA).down("sin", SIN);
    assert_eq!(host.decide(), answers(Some(NYC), &[("nyc", NYC)]));
}

/// Conformance 42.
#[test]
fn f9_an_unhealthy_secondary_alone_has_no_record() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).down("fra", FRA).down("sin", SIN);
    assert_eq!(host.decide(), ALL_DOWN);
}

#[test]
fn failover_without_a_primary_answers_every_healthy_cluster() {
    for strategy in [Strategy::Failover { primary: None }, failover("nobody")] {
        let healthy = given(strategy.clone(), "nyc", Healthy, NYC).good("fra", FRA).good("sin", SIN);
        assert_eq!(healthy.decide(), answers(Some(NYC), &[("fra", FRA), ("nyc", NYC), ("sin", SIN)]));
        let unhealthy = given(strategy.clone(), "nyc", Unhealthy, NYC).good("fra", FRA);
        assert_eq!(unhealthy.decide(), answers(None, &[("fra", FRA)]));
        let alone = given(strategy.clone(), "nyc", Healthy, NYC).down("fra", FRA);
        assert_eq!(alone.decide(), answers(Some(NYC), &[("nyc", NYC)]));
        assert_eq!(given(strategy, "nyc", Unhealthy, NYC).down("fra", FRA).decide(), ALL_DOWN);
    }
}

#[test]
fn failover_leaves_a_silent_primary_for_the_clusters_that_are_known_to_serve() {
    let host = given(failover("fra"), "nyc", Healthy, NYC).silent("fra", FRA, 10).good("sin", SIN);
    assert_eq!(host.decide(), answers(Some(NYC), &[("nyc", NYC), ("sin", SIN)]));
}

/// F-26.
#[test]
fn x1_a_healthy_cluster_without_addresses_tells_nothing_and_answers_its_peers() {
    for strategy in by_health() {
        let host = given(strategy.clone(), "fra", Healthy, &[]).good("nyc", NYC);
        assert_eq!(host.decide(), answers(None, &[("nyc", NYC)]));
        assert_eq!(given(strategy, "fra", Healthy, &[]).down("nyc", NYC).decide(), ALL_DOWN);
    }
}

/// F-26.
#[test]
fn x1_a_healthy_secondary_without_addresses_has_no_record_of_its_own() {
    let host = given(failover("fra"), "nyc", Healthy, &[]).down("fra", FRA).down("sin", SIN);
    assert_eq!(host.decide(), ALL_DOWN);
}

/// F-26.
#[test]
fn x2_a_healthy_primary_without_addresses_answers_its_peers() {
    let host = given(failover("fra"), "fra", Healthy, &[]).good("nyc", NYC).good("sin", SIN);
    assert_eq!(host.decide(), answers(None, &[("nyc", NYC), ("sin", SIN)]));
}

#[test]
fn x3_an_address_of_two_clusters_is_answered_once_under_the_first_tag() {
    for strategy in by_health() {
        let shared = &["192.0.2.11", "198.51.100.20"];
        let host = given(strategy, "fra", Healthy, FRA).good("nyc", shared);
        assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA), ("nyc", &["198.51.100.20"])]));
    }
}

#[test]
fn x3_a_cluster_whose_addresses_all_belong_to_another_is_left_out_but_tells_them() {
    let host = given(round_robin(), "nyc", Healthy, FRA).good("fra", FRA);
    assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA)]));
}

#[test]
fn x4_each_host_is_decided_alone() {
    let (api, old) =
        (given(Strategy::GeoIp, "sin", Healthy, SIN), given(Strategy::GeoIp, "sin", NotFound, SIN));
    assert_eq!(
        [api.good("fra", FRA).decide(), old.down("fra", FRA).decide()],
        [answers(Some(SIN), &[("fra", FRA), ("sin", SIN)]), ALL_DOWN]
    );
}

#[test]
fn x5_no_host_with_a_record_leaves_neither_a_local_nor_a_host_record() {
    assert_eq!(given(failover("fra"), "fra", Healthy, &[]).decide(), ALL_DOWN);
}

/// F-37.
#[test]
fn x6_peers_that_could_not_be_looked_up_are_unknown_and_not_absent() {
    let unhealthy = given(round_robin(), "fra", Unhealthy, FRA).never_heard("nyc").never_heard("sin");
    assert_eq!(unhealthy.decide(), UNSURE);
    let healthy = given(round_robin(), "fra", Healthy, FRA).never_heard("nyc").silent("sin", SIN, 20);
    assert_eq!(healthy.decide(), answers(Some(FRA), &[("fra", FRA)]));
}

#[test]
fn when_nothing_is_known_to_serve_the_unknown_clusters_are_the_last_resort() {
    for strategy in by_health() {
        let host = given(strategy, "fra", Unhealthy, FRA).silent("nyc", NYC, 30).silent("sin", SIN, 40);
        assert_eq!(host.decide(), resorts_to(&[("nyc", NYC), ("sin", SIN)]));
    }
}

#[test]
fn a_cluster_that_is_down_is_never_resurrected() {
    let host = given(round_robin(), "fra", Unhealthy, FRA).silent("nyc", NYC, 30).down("sin", SIN);
    assert_eq!(host.decide(), resorts_to(&[("nyc", NYC)]));
}

#[test]
fn a_cluster_that_is_known_to_serve_leaves_no_room_for_the_last_resort() {
    let host = given(round_robin(), "fra", Unhealthy, FRA).silent("nyc", NYC, 30).good("sin", SIN);
    assert_eq!(host.decide(), answers(None, &[("sin", SIN)]));
}

#[test]
fn a_healthy_isolated_cluster_answers_itself_under_every_strategy() {
    for strategy in [round_robin(), Strategy::GeoIp, failover("fra"), failover("nyc")] {
        let host = given(strategy, "fra", Healthy, FRA).silent("nyc", NYC, 1).silent("sin", SIN, 1);
        assert_eq!(host.decide(), answers(Some(FRA), &[("fra", FRA)]));
    }
}

#[test]
fn a_last_word_of_3600_seconds_serves_as_the_last_resort_and_one_of_3601_does_not() {
    let host = given(round_robin(), "fra", Unhealthy, FRA).silent("nyc", NYC, 3600).silent("sin", SIN, 3601);
    assert_eq!(host.decide(), resorts_to(&[("nyc", NYC)]));
}

#[test]
fn when_all_last_words_are_too_old_nobody_knows() {
    let host = given(round_robin(), "fra", Unhealthy, FRA).silent("nyc", NYC, 3601).down("sin", SIN);
    assert_eq!(host.decide(), UNSURE);
}

#[test]
fn one_unknown_cluster_among_many_that_are_down_leaves_us_unsure() {
    let host = given(round_robin(), "fra", NotFound, FRA).down("nyc", NYC).never_heard("sin");
    assert_eq!(host.decide(), UNSURE);
}

#[test]
fn the_last_resort_of_failover_is_the_primary_if_it_is_unknown() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).silent("fra", FRA, 600).silent("sin", SIN, 5);
    assert_eq!(host.decide(), resorts_to(&[("fra", FRA)]));
}

#[test]
fn the_last_resort_of_failover_is_all_unknown_clusters_if_the_primary_is_down() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).down("fra", FRA).silent("sin", SIN, 5);
    assert_eq!(host.decide(), resorts_to(&[("sin", SIN)]));
}

#[test]
fn the_last_resort_of_an_unhealthy_primary_is_all_unknown_clusters() {
    let host = given(failover("fra"), "fra", Unhealthy, FRA).silent("nyc", NYC, 5).silent("sin", SIN, 5);
    assert_eq!(host.decide(), resorts_to(&[("nyc", NYC), ("sin", SIN)]));
}

#[test]
fn an_unknown_primary_whose_last_word_is_too_old_is_passed_over() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).silent("fra", FRA, 3601).silent("sin", SIN, 5);
    assert_eq!(host.decide(), resorts_to(&[("sin", SIN)]));
}

#[test]
fn an_unknown_primary_that_named_no_address_is_passed_over() {
    let host = given(failover("fra"), "nyc", Unhealthy, NYC).silent("fra", &[], 5).silent("sin", SIN, 5);
    assert_eq!(host.decide(), resorts_to(&[("sin", SIN)]));
}

#[test]
fn every_answer_tells_its_reason_and_its_sites() {
    let told = |decision: Decision| (decision.answer.reason(), decision.answer.sites().cloned().collect());
    let cases: [(Decision, (&str, Vec<GeoTag>)); 4] = [
        (answers(None, &[("nyc", NYC), ("sin", SIN)]), ("Strategy", vec![tag("nyc"), tag("sin")])),
        (resorts_to(&[("sin", SIN)]), ("LastResort", vec![tag("sin")])),
        (ALL_DOWN, ("NoHealthySite", vec![])),
        (UNSURE, ("SiteUnknown", vec![])),
    ];
    for (decision, expected) in cases {
        assert_eq!(told(decision), expected);
    }
}

#[test]
fn a_view_lends_the_decision_its_tier_its_targets_and_their_age() {
    let mut view = View::new(NOW);
    assert_eq!(Sight::from(&view), Sight { tier: Tier::Unknown, targets: targets(&[]), heard: None });
    view.hear(Verdict::Positive(targets(NYC)), NOW);
    assert_eq!(Sight::from(&view), Sight { tier: Tier::Good, targets: targets(NYC), heard: Some(NOW) });
}
