//! The model of k8gb against the worked examples of the contract.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use gslb_mocks::k8gb::{Answer, Cluster, Endpoint, Strategy};

const HOST: &str = "shop.glb.example.org";
const FRA: &[&str] = &["192.0.2.10", "192.0.2.11"];
const NYC: &[&str] = &["198.51.100.20", "198.51.100.21"];
const SIN: &[&str] = &["203.0.113.30"];

fn addresses(texts: &[&str]) -> Vec<Ipv4Addr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The records of a cluster after one pass in which these peers named their addresses.
fn published(
    tag: &str,
    strategy: Strategy,
    own: &[&str],
    healthy: bool,
    peers: &[(&str, &[&str])],
) -> Vec<Endpoint> {
    let mut cluster = Cluster::new(tag, strategy, HOST, addresses(own));
    cluster.healthy = healthy;
    cluster.pass(&peers.iter().map(|(tag, its)| ((*tag).to_owned(), Some(addresses(its)))).collect());
    cluster.endpoints().to_vec()
}
fn record(name: &str, targets: &[&[&str]], labels: &[(&str, &str)]) -> Endpoint {
    Endpoint {
        dns_name: name.to_owned(),
        targets: targets.iter().flat_map(|targets| addresses(targets)).collect(),
        ttl: 30,
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
    }
}
fn local(own: &[&str]) -> Endpoint {
    record("localtargets-shop.glb.example.org", &[own], &[])
}
fn round_robin() -> Strategy {
    Strategy::RoundRobin(BTreeMap::new())
}
fn failover() -> Strategy {
    Strategy::Failover("fra".into())
}

#[test]
fn round_robin_answers_with_everybody_who_names_addresses() {
    let label = &[("strategy", "roundRobin")];
    assert_eq!(published("fra", round_robin(), FRA, true, &[]), [local(FRA), record(HOST, &[FRA], label)]);
    let peers = [("nyc", NYC), ("sin", SIN)];
    let all = record(HOST, &[FRA, NYC, SIN], label);
    assert_eq!(published("fra", round_robin(), FRA, true, &peers), [local(FRA), all]);
    assert_eq!(published("fra", round_robin(), FRA, false, &[("nyc", NYC)]), [record(HOST, &[NYC], label)]);
    assert_eq!(published("fra", round_robin(), FRA, false, &[]), []);
}

/// Contract §3.5, E2.
#[test]
fn weights_become_labels_by_tag_and_index() {
    let weights = [("fra", 50), ("nyc", 30), ("sin", 0)].map(|(tag, weight)| (tag.to_owned(), weight));
    let peers = [("nyc", NYC), ("sin", SIN)];
    let labels = [
        ("strategy", "roundRobin"),
        ("weight-fra-0-50", "192.0.2.10"),
        ("weight-fra-1-50", "192.0.2.11"),
        ("weight-nyc-0-30", "198.51.100.20"),
        ("weight-nyc-1-30", "198.51.100.21"),
        ("weight-sin-0-0", "203.0.113.30"),
    ];
    let all = record(HOST, &[FRA, NYC, SIN], &labels);
    assert_eq!(published("fra", Strategy::RoundRobin(weights.into()), FRA, true, &peers), [local(FRA), all]);
}

/// Contract §3.5, E3 to E6.
#[test]
fn failover_answers_with_the_primary_or_with_all_who_are_left() {
    let host = |targets: &[&[&str]]| record(HOST, targets, &[("strategy", "failover")]);
    let peers = [("nyc", NYC), ("sin", SIN)];
    assert_eq!(published("fra", failover(), FRA, true, &peers), [local(FRA), host(&[FRA])]);
    assert_eq!(published("fra", failover(), FRA, false, &peers), [host(&[NYC, SIN])]);
    let seen_from_nyc = [("fra", FRA), ("sin", SIN)];
    assert_eq!(published("nyc", failover(), NYC, true, &seen_from_nyc), [local(NYC), host(&[FRA])]);
    assert_eq!(published("nyc", failover(), NYC, true, &[("sin", SIN)]), [local(NYC), host(&[NYC, SIN])]);
}

#[test]
fn its_coredns_answers_names_in_any_case_and_knows_nodata_only_as_nxdomain() {
    let mut cluster = Cluster::new("fra", round_robin(), HOST, addresses(FRA));
    assert_eq!(cluster.answer(HOST), Answer::NoSuchName);
    cluster.pass(&BTreeMap::from([("nyc".to_owned(), None)]));
    assert_eq!(cluster.answer(HOST), Answer::Addresses { addresses: addresses(FRA), ttl: 30 });
    assert_eq!(
        cluster.answer("Shop.glb.example.org"),
        Answer::Addresses { addresses: addresses(FRA), ttl: 60 }
    );
    cluster.targets.clear();
    cluster.pass(&BTreeMap::new());
    assert_eq!(cluster.answer(&cluster.question()), Answer::NoSuchName);
}
