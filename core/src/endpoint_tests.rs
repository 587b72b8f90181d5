//! The worked examples of contract §3.5 (E8 is delegation), each compared whole.

use super::*;
use crate::given::{FRA, Given, NYC, SIN, addresses, failover, given, name, round_robin, weighted};
use crate::health::Health::{Healthy, NotFound, Unhealthy};

const SHOP: &str = "shop.glb.example.org";
const PAY: &str = "pay.glb.example.org";
const API: &str = "api.glb.example.org";
const OLD: &str = "old.glb.example.org";

/// The records of one host of a Gslb.
fn published(host: &str, ttl: i64, given: &Given) -> Vec<Endpoint> {
    let accepted =
        Accepted { strategy: given.0.strategy.clone(), ttl: Ttl::from_secs(ttl).unwrap(), hold: None };
    host_endpoints(&name(host), &given.decide(), &accepted).unwrap()
}

/// An A record set as the examples write it.
fn record(owner_name: &str, ttl: i64, targets: &[&str], labels: &[(&str, &str)]) -> Endpoint {
    Endpoint {
        owner_name: name(owner_name),
        targets: addresses(targets),
        ttl: Ttl::from_secs(ttl).unwrap(),
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}

/// Conformance 47.
#[test]
fn e1_a_healthy_cluster_alone_under_round_robin() {
    let shop = given(round_robin(), "fra", Healthy, FRA);

    assert_eq!(
        published(SHOP, 30, &shop),
        [
            record("localtargets-shop.glb.example.org", 30, &["192.0.2.10", "192.0.2.11"], &[]),
            record(SHOP, 30, &["192.0.2.10", "192.0.2.11"], &[("strategy", "roundRobin")]),
        ]
    );
}

/// Conformance 46.
#[test]
fn e2_weighted_round_robin_with_all_clusters_healthy() {
    let weights = weighted(&[("fra", 50), ("nyc", 30), ("sin", 0)]);
    let shop = given(weights, "fra", Healthy, FRA).good("nyc", NYC).good("sin", SIN);

    assert_eq!(
        published(SHOP, 30, &shop),
        [
            record("localtargets-shop.glb.example.org", 30, &["192.0.2.10", "192.0.2.11"], &[]),
            record(
                SHOP,
                30,
                &["192.0.2.10", "192.0.2.11", "198.51.100.20", "198.51.100.21", "203.0.113.30"],
                &[
                    ("strategy", "roundRobin"),
                    ("weight-fra-0-50", "192.0.2.10"),
                    ("weight-fra-1-50", "192.0.2.11"),
                    ("weight-nyc-0-30", "198.51.100.20"),
                    ("weight-nyc-1-30", "198.51.100.21"),
                    ("weight-sin-0-0", "203.0.113.30"),
                ],
            ),
        ]
    );
}

/// Conformance 45.
#[test]
fn e3_failover_on_the_healthy_primary() {
    let pay = given(failover("fra"), "fra", Healthy, FRA).good("nyc", NYC).good("sin", SIN);

    assert_eq!(
        published(PAY, 5, &pay),
        [
            record("localtargets-pay.glb.example.org", 5, &["192.0.2.10", "192.0.2.11"], &[]),
            record(PAY, 5, &["192.0.2.10", "192.0.2.11"], &[("strategy", "failover")]),
        ]
    );
}

#[test]
fn e4_failover_on_the_unhealthy_primary() {
    let pay = given(failover("fra"), "fra", Unhealthy, FRA).good("nyc", NYC).good("sin", SIN);

    assert_eq!(
        published(PAY, 5, &pay),
        [record(PAY, 5, &["198.51.100.20", "198.51.100.21", "203.0.113.30"], &[("strategy", "failover")])]
    );
}

#[test]
fn e5_failover_on_a_healthy_secondary_still_tells_its_own_targets() {
    let pay = given(failover("fra"), "nyc", Healthy, NYC).good("fra", FRA).good("sin", SIN);

    assert_eq!(
        published(PAY, 5, &pay),
        [
            record("localtargets-pay.glb.example.org", 5, &["198.51.100.20", "198.51.100.21"], &[]),
            record(PAY, 5, &["192.0.2.10", "192.0.2.11"], &[("strategy", "failover")]),
        ]
    );
}

#[test]
fn e6_failover_on_a_healthy_secondary_without_the_primary() {
    let pay = given(failover("fra"), "nyc", Healthy, NYC).down("fra", FRA).good("sin", SIN);

    assert_eq!(
        published(PAY, 5, &pay),
        [
            record("localtargets-pay.glb.example.org", 5, &["198.51.100.20", "198.51.100.21"], &[]),
            record(PAY, 5, &["198.51.100.20", "198.51.100.21", "203.0.113.30"], &[("strategy", "failover")]),
        ]
    );
}

/// Conformance 99.
#[test]
fn e7_geoip_with_one_served_host_and_one_without_any_cluster() {
    let api = given(Strategy::GeoIp, "sin", Healthy, SIN).good("fra", FRA);
    let old = given(Strategy::GeoIp, "sin", NotFound, SIN).down("fra", FRA);

    assert_eq!(
        [published(API, 30, &api), published(OLD, 30, &old)],
        [
            vec![
                record("localtargets-api.glb.example.org", 30, &["203.0.113.30"], &[]),
                record(API, 30, &["192.0.2.10", "192.0.2.11", "203.0.113.30"], &[("strategy", "geoip")]),
            ],
            vec![],
        ]
    );
}

#[test]
fn x5_a_host_that_no_cluster_serves_has_no_record_at_all() {
    let down = given(round_robin(), "fra", Unhealthy, FRA).down("nyc", NYC);
    let unsure = given(round_robin(), "fra", Unhealthy, FRA).never_heard("nyc");
    let without_addresses = given(failover("fra"), "fra", Healthy, &[]);

    assert_eq!(published(SHOP, 30, &down), []);
    assert_eq!(published(SHOP, 30, &unsure), []);
    assert_eq!(published(SHOP, 30, &without_addresses), []);
}

#[test]
fn the_last_resort_is_published_without_a_local_record() {
    let shop = given(round_robin(), "fra", Unhealthy, FRA).silent("nyc", NYC, 60);

    assert_eq!(
        published(SHOP, 30, &shop),
        [record(SHOP, 30, &["198.51.100.20", "198.51.100.21"], &[("strategy", "roundRobin")])]
    );
}

/// F-06.
#[test]
fn targets_are_ordered_by_cluster_and_then_as_numbers() {
    let nyc = &["198.51.100.100", "198.51.100.20", "198.51.100.3"];
    let shop = given(Strategy::GeoIp, "sin", Healthy, SIN).good("nyc", nyc).good("fra", FRA);

    assert_eq!(
        published(SHOP, 30, &shop),
        [
            record("localtargets-shop.glb.example.org", 30, &["203.0.113.30"], &[]),
            record(
                SHOP,
                30,
                &[
                    "192.0.2.10",
                    "192.0.2.11",
                    "198.51.100.3",
                    "198.51.100.20",
                    "198.51.100.100",
                    "203.0.113.30"
                ],
                &[("strategy", "geoip")],
            ),
        ]
    );
}

/// Conformance 47.
#[test]
fn every_weight_has_its_label_and_0_too() {
    for [fra, nyc, sin] in [[35, 50, 15], [1, 0, 0], [0, 1, 0]] {
        let weights = weighted(&[("fra", fra), ("nyc", nyc), ("sin", sin)]);
        let shop = given(weights, "fra", Healthy, FRA).good("nyc", NYC).good("sin", SIN);
        let labels = [
            ("strategy".to_owned(), "roundRobin".to_owned()),
            (format!("weight-fra-0-{fra}"), "192.0.2.10".to_owned()),
            (format!("weight-fra-1-{fra}"), "192.0.2.11".to_owned()),
            (format!("weight-nyc-0-{nyc}"), "198.51.100.20".to_owned()),
            (format!("weight-nyc-1-{nyc}"), "198.51.100.21".to_owned()),
            (format!("weight-sin-0-{sin}"), "203.0.113.30".to_owned()),
        ];
        assert_eq!(published(SHOP, 30, &shop)[1].labels, BTreeMap::from(labels));
    }
}

#[test]
fn weights_label_answered_targets_only() {
    let weights = weighted(&[("fra", 1), ("nyc", 2)]);
    let shop = given(weights, "fra", Unhealthy, FRA).good("nyc", NYC).good("sin", SIN);

    assert_eq!(
        published(SHOP, 30, &shop),
        [record(
            SHOP,
            30,
            &["198.51.100.20", "198.51.100.21", "203.0.113.30"],
            &[
                ("strategy", "roundRobin"),
                ("weight-nyc-0-2", "198.51.100.20"),
                ("weight-nyc-1-2", "198.51.100.21"),
            ],
        )]
    );
}

#[test]
fn x3_a_shared_address_has_one_weight_label_so_that_weights_go_on_working() {
    let weights = weighted(&[("fra", 1), ("nyc", 2)]);
    let shop = given(weights, "fra", Healthy, FRA).good("nyc", &["192.0.2.11", "198.51.100.20"]);

    assert_eq!(
        published(SHOP, 30, &shop),
        [
            record("localtargets-shop.glb.example.org", 30, &["192.0.2.10", "192.0.2.11"], &[]),
            record(
                SHOP,
                30,
                &["192.0.2.10", "192.0.2.11", "198.51.100.20"],
                &[
                    ("strategy", "roundRobin"),
                    ("weight-fra-0-1", "192.0.2.10"),
                    ("weight-fra-1-1", "192.0.2.11"),
                    ("weight-nyc-0-2", "198.51.100.20"),
                ],
            ),
        ]
    );
}

/// Conformance 48.
#[test]
fn a_host_whose_local_name_would_be_too_long_is_refused_healthy_or_not() {
    let host = name(&format!("{}.glb.example.org", "a".repeat(51)));
    let accepted = Accepted { strategy: round_robin(), ttl: Ttl::DEFAULT, hold: None };
    let too_long = HostProblem::TooLong { host: host.clone(), label: 51, length: 67 };
    for health in [Healthy, Unhealthy] {
        let decision = given(round_robin(), "fra", health, FRA).decide();
        assert_eq!(host_endpoints(&host, &decision, &accepted), Err(too_long.clone()));
    }
}
