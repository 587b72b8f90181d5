//! Peers that nobody lists: they are found in the delegation, at the parent's servers and at the provider.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use gslb_core::delegation::{Delegation, ObservedDelegation, Presence, Servers};
use gslb_mocks::kube::Matcher;
use gslb_provider_contract::ProviderError;
use gslb_provider_memory::Operation;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dns::name;
use crate::objects::{HOST, OWN, application, dns_service, gslb, round_robin, slice};
use crate::world::{Cluster, PARENT, RESOLVER, US, ZA, eventually, pass};

const ZONE: &str = "cloud.example.com";
const LOCAL: &str = "localtargets-app.cloud.example.com";
const EU_NS: &str = "gslb-ns-eu-cloud.example.com";
const US_NS: &str = "gslb-ns-us-cloud.example.com";
const ZA_NS: &str = "gslb-ns-za-cloud.example.com";
const US_TARGET: &str = "198.51.100.10";
const ZA_TARGET: &str = "203.0.113.10";

/// A cluster that finds its peers, with a Gslb `app` and its application. The clusters `us` and `za` live, and no
/// delegation shows them.
fn fleet() -> Cluster {
    let cluster =
        Cluster::alone().with_found_peers().setting("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "30");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    for (ns_name, server, target) in [(US_NS, US, US_TARGET), (ZA_NS, ZA, ZA_TARGET)] {
        cluster.dns.answer(RESOLVER, ns_name, &[server]);
        cluster.dns.answer(server, LOCAL, &[target]);
    }
    cluster
}

impl Cluster {
    /// What the grid holds for the zone.
    fn grid(&self, name_servers: &[&str]) {
        let address: IpAddr = "192.0.2.53".parse().unwrap();
        let servers: Servers = name_servers.iter().map(|text| (name(text), [address].into())).collect();
        let delegation = Delegation { zone: name(ZONE), ttl: None, servers };
        let presence = Presence::Present(ObservedDelegation::plain(delegation));
        self.provider.as_ref().unwrap().put(&name(ZONE), presence);
    }

    async fn serves(&self, targets: &[&str]) {
        self.publishes("app", &[(LOCAL, &[OWN]), (HOST, targets)]).await;
    }

    /// The name server names that the status tells.
    fn name_servers(&self) -> BTreeSet<String> {
        let servers = self.zone()["status"]["dnsServers"].as_array().cloned().unwrap_or_default();
        servers.iter().map(|server| server["name"].as_str().unwrap().to_owned()).collect()
    }

    async fn lists(&self, names: &[&str]) {
        let wanted: BTreeSet<String> = names.iter().map(|text| (*text).to_owned()).collect();
        eventually(&format!("the status lists {wanted:?}"), || (self.name_servers() == wanted).then_some(()))
            .await;
    }

    /// Events about who came and went, in no order.
    fn moves(&self) -> Vec<(String, String)> {
        let events = self.events("ZoneDelegation", "cloud-example-com").into_iter();
        events.filter(|(reason, _)| reason == "PeerFound" || reason == "PeerLeft").collect()
    }

    fn stored_views(&self) -> Value {
        let stored = self.api.get("v1", "ConfigMap", "gslb", "gslb-bridge-peer-views").unwrap_or_default();
        stored["data"].clone()
    }
}

fn unavailable() -> ProviderError {
    ProviderError::Unavailable { text: "the grid does not answer".into(), retry_after: None, source: None }
}

/// Conformance 68.
#[tokio::test(start_paused = true)]
async fn peers_are_found_in_the_referral_of_the_parents_servers_and_heard_before_the_first_publication() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    let start = Instant::now();
    let _running = cluster.run();
    let hosts = |records: Vec<(String, Vec<String>)>| records.into_iter().find(|(name, _)| name == HOST);
    let first = eventually("the host is published", || hosts(cluster.records("app")?)).await;
    assert_eq!(first.1, [OWN, US_TARGET]);
    assert!(start.elapsed() < Duration::from_millis(500), "it took {:?}", start.elapsed());
    cluster.lists(&[EU_NS, US_NS]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    let note = "cluster us stands in the delegation of cloud.example.com, so it is a member of the fleet";
    assert_eq!(cluster.moves(), [("PeerFound".to_owned(), note.to_owned())]);
}

/// F-43: in the other section too, and at a server for which no glue came along.
#[tokio::test(start_paused = true)]
async fn peers_are_found_in_the_answer_of_a_server_that_holds_the_zone_itself() {
    let cluster = fleet();
    cluster.dns.delegate_in_answer(PARENT, ZONE, &[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
}

/// F-43.
#[tokio::test(start_paused = true)]
async fn all_servers_of_the_parent_are_asked_those_that_another_resolver_names_too() {
    const OTHER: &str = "203.0.113.9";
    let cluster = fleet().setting("EDGE_DNS_SERVERS", &format!("{RESOLVER},{OTHER}"));
    cluster.dns.silence(PARENT, true);
    cluster.dns.delegate(OTHER, "example.com", &["ns2.example.com"]);
    cluster.dns.answer(RESOLVER, "ns2.example.com", &["203.0.113.3"]);
    cluster.dns.delegate("203.0.113.3", ZONE, &[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
}

/// Conformance 68.
#[tokio::test(start_paused = true)]
async fn a_peer_that_only_the_provider_shows_is_found() {
    let cluster = fleet();
    cluster.grid(&[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    pass(600).await;
    cluster.serves(&[OWN, US_TARGET]).await;
    assert_eq!(cluster.moves().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_lists_any_number_of_clusters_makes_so_many_members_and_the_others_are_told() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    let more: Vec<String> = (0..64).map(|number| format!("gslb-ns-c{number:02}-cloud.example.com")).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    cluster.dns.delegate(PARENT, ZONE, &[&[EU_NS, US_NS], &more[..]].concat());
    let message = cluster.zone_tells("Accepted", "True", "PeersLeftOut").await;
    assert!(message.starts_with("c63 of the delegation are no members of the fleet"), "{message}");
    assert_eq!(cluster.moves().len(), 64);
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.zone_tells("Accepted", "True", "Accepted").await;
}

/// F-44.
#[tokio::test(start_paused = true)]
async fn foreign_name_servers_are_no_peers() {
    const ISP: &str = "203.0.113.77";
    let cluster = fleet();
    let foreign = ["ns1.isp.example", "gslb-ns-us-other.example.com", "gslb-ns-eu-cloud.example.com"];
    for foreign in foreign.iter().take(2) {
        cluster.dns.answer(RESOLVER, foreign, &[ISP]);
    }
    cluster.dns.delegate(PARENT, ZONE, &[&foreign[..], &[US_NS]].concat());
    cluster.grid(&[&foreign[..], &[US_NS]].concat());
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    pass(60).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    assert_eq!(cluster.dns.asked(ISP), 0);
    assert_eq!(cluster.moves().len(), 1);
}

/// Conformance 67, 68; F-39.
#[tokio::test(start_paused = true)]
async fn tags_with_dashes_are_read_from_names_of_both_prefixes() {
    const OTHER: &str = "198.51.100.54";
    let cluster = fleet().setting("GLUEA_PREFIX", "my-");
    let own = "my-eu-cloud.example.com";
    let tagged = ["my-1-test-cloud.example.com", "gslb-ns-1-test-cloud.example.com"];
    for (ns_name, server) in [(own, "192.0.2.53"), (tagged[0], US), (tagged[1], OTHER)] {
        cluster.dns.answer(RESOLVER, ns_name, &[server]);
    }
    cluster.dns.delegate(PARENT, ZONE, &[own, tagged[0], tagged[1]]);
    // Two names, two addresses, one cluster; the second one answers alone.
    cluster.dns.silence(US, true);
    cluster.dns.answer(OTHER, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    // In the order of the tags.
    cluster.serves(&[US_TARGET, OWN]).await;
    cluster.lists(&[own, tagged[0], tagged[1]]).await;
    let peers = cluster.gslb("app")["status"]["peers"].clone();
    assert_eq!((peers[0]["geoTag"].clone(), peers.as_array().unwrap().len()), (json!("1-test"), 1));
    assert_eq!(cluster.moves().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_joins_is_asked_at_once_and_nobody_waits_for_it() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    cluster.settle().await;
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS, ZA_NS]);
    eventually("the cluster is found", || cluster.moves().get(1).cloned()).await;
    let found = Instant::now();
    cluster.serves(&[OWN, US_TARGET, ZA_TARGET]).await;
    assert!(found.elapsed() < Duration::from_secs(5), "it took {:?}", found.elapsed());
    cluster.lists(&[EU_NS, US_NS, ZA_NS]).await;
    let writes = cluster.writes();
    assert_eq!(writes.iter().filter(|entry| entry.resource == "dnsendpoints").count(), 1);
    pass(120).await;
    assert_eq!(cluster.moves().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_silent_cluster_that_joins_takes_no_record_away() {
    let cluster = fleet();
    let _running = cluster.run();
    cluster.serves(&[OWN]).await;
    cluster.settle().await;
    cluster.dns.silence(US, true);
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.tells("app", "PeersReachable", "False", "PeerSilent").await;
    pass(60).await;
    let writes = cluster.writes();
    assert_eq!(writes.iter().filter(|entry| entry.resource == "dnsendpoints").count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_leaves_after_several_reads_of_the_parent_and_the_provider_without_it() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.grid(&[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    eventually("its views are stored", || cluster.stored_views().get("us").cloned()).await;
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS]);
    pass(300).await;
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.grid(&[EU_NS]);
    cluster.serves(&[OWN]).await;
    cluster.lists(&[EU_NS]).await;
    cluster.tells("app", "PeersReachable", "True", "NoPeers").await;
    eventually("its views are forgotten", || cluster.stored_views().get("us").is_none().then_some(())).await;
    let reasons: BTreeSet<String> = cluster.moves().into_iter().map(|(reason, _)| reason).collect();
    assert_eq!((cluster.moves().len(), reasons), (2, ["PeerFound".into(), "PeerLeft".into()].into()));
    let asked = cluster.dns.asked(US);
    pass(60).await;
    assert_eq!(cluster.dns.asked(US), asked, "it is not asked any more");

    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.serves(&[OWN, US_TARGET]).await;
}

/// F-42, F-43: failed reads, over a restart too.
#[tokio::test(start_paused = true)]
async fn silence_of_the_parent_and_the_provider_loses_nobody() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    let running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    cluster.settle().await;
    for server in [PARENT, RESOLVER] {
        cluster.dns.silence(server, true);
    }
    for _ in 0..100 {
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    }
    pass(600).await;
    running.stop().await;
    let _running = cluster.run();
    pass(600).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    let writes = cluster.writes();
    assert_eq!(writes.iter().filter(|entry| entry.resource == "dnsendpoints").count(), 0);
    assert_eq!(cluster.moves().len(), 1);
}

/// A read without a peer that an earlier run knew counts as one, no more.
#[tokio::test(start_paused = true)]
async fn what_the_status_told_before_a_restart_stands_until_definite_reads_say_otherwise() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    let running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[EU_NS, US_NS]).await;
    running.stop().await;
    cluster.dns.deny(PARENT, ZONE);
    cluster.api.faults().fail(Matcher::new("get", "", "configmaps"), 403, u32::MAX);
    let start = Instant::now();
    let _running = cluster.run();
    pass(2).await;
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.serves(&[OWN]).await;
    assert!(start.elapsed() > Duration::from_secs(2), "it took {:?}", start.elapsed());
    cluster.lists(&[EU_NS]).await;
}

#[tokio::test(start_paused = true)]
async fn stored_views_of_a_cluster_are_used_once_it_is_found_again() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.api.apply_object(slice("app", false)).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
    cluster.settle().await;
    running.stop().await;

    // Nothing but the stored views tells of the cluster, and it is silent.
    let mut zone = cluster.zone();
    zone["metadata"]["finalizers"] = json!([]);
    cluster.api.put_object(zone).unwrap();
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    for server in [US, PARENT] {
        cluster.dns.silence(server, true);
    }
    for _ in 0..8 {
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    }
    let _running = cluster.run();
    cluster.tells("app", "PeersReachable", "Unknown", "WaitingForPeers").await;
    pass(10).await;
    assert!(cluster.stored_views().get("us").is_some());
    cluster.dns.silence(PARENT, false);
    cluster.tells("app", "Serving", "True", "LastResort").await;
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
}

/// Conformance 68: as contract §4.2 says.
#[tokio::test(start_paused = true)]
async fn a_zone_that_the_parent_does_not_know_has_no_peers_and_delays_nothing() {
    let cluster = fleet();
    cluster.dns.deny(PARENT, ZONE);
    let start = Instant::now();
    let _running = cluster.run();
    cluster.serves(&[OWN]).await;
    assert!(start.elapsed() < Duration::from_millis(500), "it took {:?}", start.elapsed());
    cluster.tells("app", "PeersReachable", "True", "NoPeers").await;
    cluster.lists(&[EU_NS]).await;
    assert_eq!(cluster.moves(), []);
}

/// Conformance 68: where k8gb fails the pass.
#[tokio::test(start_paused = true)]
async fn a_fleet_that_nobody_tells_of_delays_the_first_publication_by_three_seconds_and_is_found_soon_after()
{
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.dns.silence(RESOLVER, true);
    cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    for _ in 0..20 {
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    }
    let start = Instant::now();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN])]).await;
    cluster.serves(&[OWN]).await;
    let waited = start.elapsed().as_secs_f64();
    assert!((2.9..3.3).contains(&waited), "the host took {waited} s");
    let message = cluster.tells("app", "PeersReachable", "Unknown", "WaitingForPeers").await;
    assert!(message.contains("could not be read"), "{message}");
    cluster.dns.silence(RESOLVER, false);
    let start = Instant::now();
    cluster.serves(&[OWN, US_TARGET]).await;
    assert!(start.elapsed() < Duration::from_secs(15), "it took {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_a_name_server_address_finds_the_others_too() {
    let cluster = fleet();
    cluster.api.apply_object(dns_service(&[])).unwrap();
    cluster.dns.delegate(PARENT, ZONE, &[US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.lists(&[US_NS]).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_a_peer_in_the_zones_that_show_it_and_in_no_other() {
    let zones = "example.com:cloud.example.com:30;example.com:other.example.com:30";
    let cluster = fleet().setting("DNS_ZONES", zones);
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.dns.delegate(PARENT, "other.example.com", &["gslb-ns-eu-other.example.com"]);
    cluster.dns.answer(RESOLVER, "gslb-ns-eu-other.example.com", &["192.0.2.53"]);
    application(&cluster.api, "other", &["app.other.example.com"]);
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.tells("other", "PeersReachable", "True", "NoPeers").await;
    pass(30).await;
    cluster.tells("other", "PeersReachable", "True", "NoPeers").await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
}

/// Conformance 68: a list, with Infoblox too, is the fleet.
#[tokio::test(start_paused = true)]
async fn listed_tags_are_the_fleet_whatever_the_delegation_shows() {
    let cluster = fleet().setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "za");
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.grid(&[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, ZA_TARGET]).await;
    pass(60).await;
    cluster.lists(&[EU_NS, ZA_NS]).await;
    assert_eq!((cluster.dns.asked(US), cluster.moves()), (0, vec![]));
}

/// The proof that the delegation is served is asked for on its own schedule, and finds peers as well.
#[tokio::test(start_paused = true)]
async fn at_rest_nothing_is_written_and_the_parent_is_asked_with_the_period_only() {
    let cluster = fleet();
    cluster.dns.delegate(PARENT, ZONE, &[EU_NS, US_NS]);
    cluster.grid(&[EU_NS, US_NS]);
    let _running = cluster.run();
    cluster.serves(&[OWN, US_TARGET]).await;
    cluster.settle().await;
    let before = cluster.dns.asked(PARENT);
    pass(300).await;
    assert_eq!(cluster.writes(), []);
    let asked = cluster.dns.asked(PARENT) - before;
    assert!((9..=22).contains(&asked), "it was asked {asked} times");
}
