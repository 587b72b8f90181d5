//! One cluster of ours in a fleet of k8gb clusters: all of them agree, in both directions.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use gslb_bridge::dns::decide::{Question, decide};
use gslb_bridge::dns::observe::{Delegated, Published, compose};
use gslb_bridge::dns::settings::DnsSettings;
use gslb_bridge::dns::snapshot::{Snapshot, Source};
use gslb_core::zone::NsPrefix;
use gslb_mocks::k8gb;
use hickory_proto::op::{LowerQuery, OpCode, Query};
use hickory_proto::rr::{Name, RData, RecordType};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::dns::Says;
use crate::objects::{HOST, OWN, application, gslb, slice};
use crate::world::{Cluster, PATIENCE, US, ZA};

const LOCAL: &str = "localtargets-app.cloud.example.com";
/// k8gb's pass, shortened.
const POLL: Duration = Duration::from_secs(1);

/// `eu` is ours, `us` and `za` are k8gb.
struct Fleet {
    eu: Cluster,
    others: [(&'static str, k8gb::Cluster); 2],
}

impl Fleet {
    fn new(strategy: &k8gb::Strategy, healthy: [bool; 3]) -> Self {
        let eu = Cluster::alone().with_peers();
        application(&eu.api, "app", &[HOST]);
        eu.api.apply_object(slice("app", healthy[0])).unwrap();
        eu.api.apply_object(gslb("app", spec(strategy))).unwrap();
        let other = |tag, target: &str, healthy| {
            let targets = vec![target.parse().unwrap()];
            let mut cluster = k8gb::Cluster::new(tag, strategy.clone(), HOST, targets);
            cluster.healthy = healthy;
            cluster
        };
        let us = other("us", "198.51.100.10", healthy[1]);
        let za = other("za", "203.0.113.10", healthy[2]);
        Self { eu, others: [(US, us), (ZA, za)] }
    }

    /// Each k8gb cluster asks both others and publishes; its CoreDNS is what we ask.
    fn poll(&mut self) {
        let ours = answer_of(&self.eu, LOCAL);
        let told: BTreeMap<String, Option<Vec<Ipv4Addr>>> = self
            .others
            .iter()
            .map(|(_, other)| (other.geo_tag.clone(), addresses(&other.answer(LOCAL))))
            .chain([("eu".to_owned(), Some(ours))])
            .collect();
        for (server, other) in &mut self.others {
            let mut answers = told.clone();
            answers.remove(&other.geo_tag);
            other.pass(&answers);
            for name in [LOCAL, HOST] {
                let says = match addresses(&other.answer(name)) {
                    Some(addresses) => Says::AddressesWithoutAuthority(addresses),
                    None => Says::NoWithoutAuthority,
                };
                self.eu.dns.say(server, name, says);
            }
        }
    }

    /// What each cluster answers for the host, by tag.
    fn answers(&self) -> BTreeMap<String, Vec<Ipv4Addr>> {
        let others = self.others.iter();
        let others = others.map(|(_, other)| (other.geo_tag.clone(), sorted(addresses(&other.answer(HOST)))));
        others.chain([("eu".to_owned(), sorted(Some(answer_of(&self.eu, HOST))))]).collect()
    }

    /// What k8gb would answer in each place if it saw the whole fleet as it is.
    fn wanted(&self) -> BTreeMap<String, Vec<Ipv4Addr>> {
        let eu_healthy = self.eu.api.get("discovery.k8s.io/v1", "EndpointSlice", "web", "app").unwrap()["endpoints"]
            [0]["conditions"]["ready"]
            == true;
        let strategy = self.others[0].1.strategy.clone();
        let mut all = BTreeMap::from([("eu".to_owned(), (eu_healthy, vec![OWN.parse().unwrap()]))]);
        for (_, other) in &self.others {
            all.insert(other.geo_tag.clone(), (other.healthy, other.targets.clone()));
        }
        let answer = |tag: &String| {
            let peers = all.iter().filter(|(peer, (healthy, _))| *peer != tag && *healthy);
            let inputs = k8gb::Inputs {
                geo_tag: tag.clone(),
                strategy: strategy.clone(),
                host: HOST.to_owned(),
                healthy: all[tag].0,
                targets: all[tag].1.clone(),
                peers: peers.map(|(tag, (_, targets))| (tag.clone(), targets.clone())).collect(),
            };
            sorted(addresses(&k8gb::plugin::answer(&k8gb::decide(&inputs), HOST)))
        };
        all.keys().map(|tag| (tag.clone(), answer(tag))).collect()
    }

    /// Polls until everybody answers as wanted, and some time on: it stays so.
    async fn agrees(&mut self, what: &str) {
        let wanted = self.wanted();
        let deadline = Instant::now() + PATIENCE;
        while self.answers() != wanted {
            assert!(Instant::now() < deadline, "{what}: {:?} instead of {wanted:?}", self.answers());
            self.poll();
            sleep(POLL).await;
        }
        for _ in 0..10 {
            self.poll();
            sleep(POLL).await;
            assert_eq!(self.answers(), wanted, "{what}: it does not stay so");
        }
    }
}

fn spec(strategy: &k8gb::Strategy) -> Value {
    match strategy {
        k8gb::Strategy::RoundRobin(_) => json!({"type": "roundRobin"}),
        k8gb::Strategy::GeoIp => json!({"type": "geoip"}),
        k8gb::Strategy::Failover(primary) => json!({"type": "failover", "primaryGeoTag": primary}),
    }
}

fn addresses(answer: &k8gb::Answer) -> Option<Vec<Ipv4Addr>> {
    match answer {
        k8gb::Answer::Addresses { addresses, .. } => Some(addresses.clone()),
        k8gb::Answer::NoSuchName => None,
    }
}

fn sorted(addresses: Option<Vec<Ipv4Addr>>) -> Vec<Ipv4Addr> {
    let mut addresses = addresses.unwrap_or_default();
    addresses.sort();
    addresses
}

/// What our DNS server makes of the objects of the cluster.
fn answer_of(cluster: &Cluster, name: &str) -> Vec<Ipv4Addr> {
    let read = |api_version, kind| cluster.api.list(api_version, kind, "");
    let published = read("externaldns.k8s.io/v1alpha1", "DNSEndpoint");
    let published: Vec<_> = published
        .into_iter()
        .map(|object| Arc::new(Published::read(&serde_json::from_value(object).unwrap())))
        .collect();
    let delegated = read("k8gb.io/v1beta1", "ZoneDelegation");
    let delegated: Vec<_> = delegated
        .into_iter()
        .map(|object| Arc::new(Delegated::read(&serde_json::from_value(object).unwrap(), None)))
        .collect();
    let settings = DnsSettings {
        listen: Vec::new(),
        metrics_address: String::new(),
        zones: Vec::new(),
        ns_prefix: NsPrefix::default(),
        own_tag: None,
        peer_tags: std::collections::BTreeSet::new(),
        snapshot_file: None,
        drain: Duration::ZERO,
    };
    let (inputs, _) = compose(&settings, &delegated, &published);
    let snapshot = Snapshot::build(&inputs, Source::Watch, &Snapshot::nothing());
    let query = LowerQuery::from(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    let question = Question { op_code: OpCode::Query, query: Some(&query), edns_version: None };
    let plan = decide(&snapshot, &question, 0, &mut rand::rng());
    let address = |data: &RData| match data {
        RData::A(address) => Some(address.0),
        _ => None,
    };
    plan.answers.iter().filter_map(|record| address(&record.data)).collect()
}

fn strategies() -> [k8gb::Strategy; 5] {
    let failover = |primary: &str| k8gb::Strategy::Failover(primary.to_owned());
    [
        k8gb::Strategy::RoundRobin(BTreeMap::new()),
        k8gb::Strategy::GeoIp,
        failover("eu"),
        failover("us"),
        // Nobody has this tag.
        failover("xx"),
    ]
}

/// Conformance 101: rows R1 to R4 and F1 to F9, from every place.
#[tokio::test(start_paused = true)]
async fn every_row_of_the_truth_table_is_answered_alike_in_a_mixed_fleet() {
    for strategy in strategies() {
        for healths in 0..8_u8 {
            let healthy = [healths & 1 != 0, healths & 2 != 0, healths & 4 != 0];
            let mut fleet = Fleet::new(&strategy, healthy);
            let running = fleet.eu.run();
            fleet.agrees(&format!("{strategy:?} with eu, us, za healthy: {healthy:?}")).await;
            running.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_application_that_fails_and_comes_back_moves_the_whole_mixed_fleet() {
    let mut fleet = Fleet::new(&k8gb::Strategy::Failover("us".into()), [true; 3]);
    let _running = fleet.eu.run();
    fleet.agrees("all healthy").await;
    fleet.others[0].1.healthy = false;
    fleet.agrees("the k8gb primary failed").await;
    fleet.eu.api.apply_object(slice("app", false)).unwrap();
    fleet.agrees("ours failed too").await;
    fleet.others[0].1.healthy = true;
    fleet.agrees("the primary is back").await;
    fleet.eu.api.apply_object(slice("app", true)).unwrap();
    fleet.agrees("all are back").await;
}
