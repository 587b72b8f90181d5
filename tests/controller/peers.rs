//! What the other clusters say, and what becomes of it.

use std::time::Duration;

use gslb_mocks::kube::Matcher;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::dns::Says;
use crate::objects::{HOST, OWN, application, gslb, round_robin, slice};
use crate::world::{Cluster, RESOLVER, US, ZA, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const US_TARGET: &str = "198.51.100.10";
const ZA_TARGET: &str = "203.0.113.10";

/// A fleet of three with a Gslb `app` and its application here.
fn fleet() -> Cluster {
    let cluster = Cluster::alone().with_peers();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster
}

impl Cluster {
    /// `(tag, state, addresses)` of each peer as the status tells it.
    fn peers(&self) -> Vec<(String, String, Value)> {
        let peers = self.gslb("app")["status"]["peers"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        peers.iter().map(|p| (text(&p["geoTag"]), text(&p["state"]), p["addresses"].clone())).collect()
    }

    async fn sees(&self, wanted: [(&str, &str, Value); 2]) {
        let wanted = wanted.map(|(tag, state, addresses)| (tag.to_owned(), state.to_owned(), addresses));
        eventually(&format!("the peers are {wanted:?}"), || (self.peers() == wanted).then_some(())).await;
    }

    fn told_of_peers(&self) -> Vec<(String, String)> {
        let events = self.events("Gslb", "app");
        events.into_iter().filter(|(_, note)| note.starts_with("PeersReachable")).collect()
    }
}

/// Conformance 44.
#[tokio::test(start_paused = true)]
async fn each_peer_adds_the_targets_that_it_names() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.sees([("us", "Answered", json!([US_TARGET])), ("za", "NoTargets", Value::Null)]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    cluster.dns.answer(ZA, LOCAL, &[ZA_TARGET]);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET, ZA_TARGET])]).await;
    cluster.dns.say(US, LOCAL, Says::No);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, ZA_TARGET])]).await;
    assert_eq!(cluster.told_of_peers(), []);
}

#[tokio::test(start_paused = true)]
async fn answering_peers_are_heard_before_the_first_publication() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.dns.answer(ZA, LOCAL, &[ZA_TARGET]);
    let start = Instant::now();
    let _running = cluster.run();
    let hosts = |records: Vec<(String, Vec<String>)>| records.into_iter().find(|(name, _)| name == HOST);
    let first = eventually("the host is published", || hosts(cluster.records("app")?)).await;
    assert_eq!(first.1, [OWN, US_TARGET, ZA_TARGET]);
    assert!(start.elapsed() < Duration::from_millis(300), "it took {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_delays_the_first_publication_by_three_seconds_at_most() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.dns.silence(ZA, true);
    let start = Instant::now();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN])]).await;
    assert!(start.elapsed() < Duration::from_millis(300), "local targets took {:?}", start.elapsed());
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    let waited = start.elapsed().as_secs_f64();
    assert!((2.0..3.3).contains(&waited), "the host took {waited} s");
    let message = cluster.tells("app", "PeersReachable", "False", "PeerSilent").await;
    assert_eq!(
        message,
        "za is Unknown; status.peers says why; check the way to the DNS servers of these clusters"
    );
    let told = cluster.told_of_peers();
    assert_eq!(told.len(), 1, "{told:?}");
}

/// Conformance 103.
#[tokio::test(start_paused = true)]
async fn one_lost_packet_at_the_start_costs_no_peer() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.dns.say_once(US, LOCAL, Says::Nothing);
    let _running = cluster.run();
    let hosts = |records: Vec<(String, Vec<String>)>| records.into_iter().find(|(name, _)| name == HOST);
    let first = eventually("the host is published", || hosts(cluster.records("app")?)).await;
    assert_eq!(first.1, [OWN, US_TARGET]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_said_no_and_falls_silent_is_told_as_lost_within_the_bound_and_stays_down() {
    let cluster = fleet().setting("PEER_SWEEP_SECONDS", "1");
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    let start = Instant::now();
    cluster.dns.silence(US, true);
    let sentence = cluster.tells("app", "PeersReachable", "False", "PeerSilent").await;
    assert!(sentence.starts_with("us is Lost; "), "{sentence}");
    let lost = start.elapsed().as_secs_f64();
    assert!((2.5..5.5).contains(&lost), "lost after {lost} s");
    cluster.sees([("us", "Lost", Value::Null), ("za", "NoTargets", Value::Null)]).await;
    assert_eq!(cluster.gslb("app")["status"]["peersAnswering"], "1/2");
    let series = "gslb_bridge_peer_views{peer=\"us\",state=\"Lost\"} 1";
    assert!(running.metrics().lines().any(|line| line == series), "{}", running.metrics());
    pass(60).await;
    cluster.dns.silence(US, false);
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    cluster.sees([("us", "NoTargets", Value::Null), ("za", "NoTargets", Value::Null)]).await;
    assert_eq!(cluster.told_of_peers().len(), 2);
}

/// F-40.
#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_lost_within_the_bound_and_told_once_each_way() {
    let cluster = fleet().setting("PEER_SWEEP_SECONDS", "1");
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    let start = Instant::now();
    cluster.dns.silence(US, true);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let lost = start.elapsed().as_secs_f64();
    assert!((2.5..5.5).contains(&lost), "lost after {lost} s");
    cluster.tells("app", "PeersReachable", "False", "PeerSilent").await;
    cluster.sees([("us", "Lost", json!([US_TARGET])), ("za", "NoTargets", Value::Null)]).await;
    pass(60).await;
    cluster.dns.silence(US, false);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
    pass(60).await;
    let reasons: Vec<String> = cluster.told_of_peers().into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    for reason in ["PeerSilent", "AllAnswered"] {
        assert!(reasons.contains(&reason.to_owned()), "{reasons:?}");
    }
}

/// Conformance 103; F-34.
#[tokio::test(start_paused = true)]
async fn a_reloading_coredns_and_a_failing_server_change_no_answer() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.settle().await;
    let before = cluster.dns.asked(US);
    for says in [Says::NoWithoutAuthority, Says::ServFail, Says::Nothing] {
        cluster.dns.say_once(US, LOCAL, says);
        pass(20).await;
    }
    assert!(cluster.dns.asked(US) > before + 6);
    assert_eq!(cluster.writes(), []);
}

/// Conformance 64, 102; F-31.
#[tokio::test(start_paused = true)]
async fn one_dead_dns_address_of_a_peer_changes_no_answer() {
    let cluster = fleet();
    cluster.dns.answer(RESOLVER, "gslb-ns-us-cloud.example.com", &[US, "198.51.100.54"]);
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_cluster_whose_application_dies_answers_the_last_known_site() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    for server in [US, ZA, RESOLVER] {
        cluster.dns.silence(server, true);
    }
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
    cluster.tells("app", "Serving", "True", "LastResort").await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_views_of_silent_peers() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.api.apply_object(slice("app", false)).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
    cluster.settle().await;
    running.stop().await;
    let views = cluster.api.get("v1", "ConfigMap", "gslb", "gslb-bridge-peer-views").unwrap();
    assert!(views["data"]["us"].as_str().unwrap().contains(US_TARGET), "{views}");

    cluster.dns.silence(US, true);
    let _running = cluster.run();
    // Doubt, then the last resort: the record stands all the time.
    pass(10).await;
    cluster.tells("app", "Serving", "True", "LastResort").await;
    assert_eq!(cluster.records("app").unwrap(), [(HOST.to_owned(), vec![US_TARGET.to_owned()])]);
    assert_eq!(cluster.writes().iter().filter(|entry| entry.resource == "dnsendpoints").count(), 0);
}

#[tokio::test(start_paused = true)]
async fn stored_views_that_cannot_be_read_are_not_overwritten_and_used_once_they_can() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.api.apply_object(slice("app", false)).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
    running.stop().await;
    let stored = || cluster.api.get("v1", "ConfigMap", "gslb", "gslb-bridge-peer-views").unwrap();
    let before = stored();

    cluster.dns.silence(US, true);
    cluster.api.faults().fail(Matcher::new("get", "", "configmaps"), 403, u32::MAX);
    let running = cluster.run();
    pass(60).await;
    running.stop().await;
    assert_eq!(stored(), before);

    let _running = cluster.run();
    pass(60).await;
    cluster.api.faults().clear();
    cluster.tells("app", "Serving", "True", "LastResort").await;
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
}

#[tokio::test(start_paused = true)]
async fn views_that_cannot_be_stored_are_tried_less_and_less_often() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    cluster.api.faults().fail(Matcher::new("patch", "", "configmaps"), 503, u32::MAX);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    pass(300).await;
    // Each a second after pauses of 1, 2, 4, 8, 16, 32, 60, 60 and 60 seconds.
    let tries = cluster.writes().iter().filter(|entry| entry.name == "gslb-bridge-peer-views").count();
    assert_eq!(tries, 10);
    cluster.api.faults().clear();
    let stored = || cluster.api.get("v1", "ConfigMap", "gslb", "gslb-bridge-peer-views");
    eventually("the views are stored", stored).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_remembers_when_each_peer_was_last_heard() {
    let cluster = fleet().setting("LAST_RESORT_SECONDS", "600");
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    // Nothing changes for longer than the last resort lasts, so nothing is stored.
    pass(1200).await;
    running.stop().await;
    for server in [US, ZA] {
        cluster.dns.silence(server, true);
    }
    cluster.api.apply_object(slice("app", false)).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Serving", "True", "LastResort").await;
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_among_answering_peers_changes_nothing_and_tells_nothing() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    cluster.settle().await;
    running.stop().await;
    cluster.api.journal().clear();
    let _running = cluster.run();
    pass(60).await;
    // The views are stored with their new times, and nothing else.
    let writes: Vec<String> =
        cluster.writes().iter().map(|e| format!("{} {} {}", e.verb, e.resource, e.name)).collect();
    assert_eq!(writes, ["patch configmaps gslb-bridge-peer-views"]);
}

/// Conformance 55, 65, 103; F-42.
#[tokio::test(start_paused = true)]
async fn a_resolver_that_fails_takes_no_peer_away() {
    let cluster = fleet();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    let servers = json!([
        {"name": "gslb-ns-eu-cloud.example.com", "address": "192.0.2.53"},
        {"name": "gslb-ns-us-cloud.example.com", "address": US},
        {"name": "gslb-ns-za-cloud.example.com", "address": ZA},
    ]);
    eventually("the status lists all name servers", || {
        (cluster.zone()["status"]["dnsServers"] == servers).then_some(())
    })
    .await;
    cluster.dns.silence(RESOLVER, true);
    pass(600).await;
    assert_eq!(cluster.zone()["status"]["dnsServers"], servers);
    assert_eq!(cluster.records("app").unwrap()[1].1, [OWN, US_TARGET]);
}

/// Conformance 65.
#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_exist_yet_delays_nothing_and_is_found_when_it_comes() {
    let cluster = fleet();
    cluster.dns.say(RESOLVER, "gslb-ns-za-cloud.example.com", Says::No);
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let start = Instant::now();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET])]).await;
    assert!(start.elapsed() < Duration::from_millis(500), "it took {:?}", start.elapsed());
    let message = cluster.tells("app", "PeersReachable", "False", "PeerSilent").await;
    assert!(message.starts_with("za is Absent"), "{message}");
    cluster.dns.answer(ZA, LOCAL, &[ZA_TARGET]);
    cluster.dns.answer(RESOLVER, "gslb-ns-za-cloud.example.com", &[ZA]);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, US_TARGET, ZA_TARGET])]).await;
    cluster.tells("app", "PeersReachable", "True", "AllAnswered").await;
}

/// F-32.
#[tokio::test(start_paused = true)]
async fn a_silent_peer_with_many_hosts_does_not_slow_the_own_reaction() {
    let cluster = Cluster::alone().with_peers();
    let names: Vec<String> = (0..50).map(|number| format!("app-{number:02}")).collect();
    for name in &names {
        application(&cluster.api, name, &[&format!("{name}.cloud.example.com")]);
        cluster.api.apply_object(gslb(name, round_robin())).unwrap();
    }
    cluster.dns.silence(US, true);
    let _running = cluster.run();
    let host = "app-07.cloud.example.com";
    cluster.publishes("app-07", &[("localtargets-app-07.cloud.example.com", &[OWN]), (host, &[OWN])]).await;
    let start = Instant::now();
    cluster.api.apply_object(slice("app-07", false)).unwrap();
    cluster.publishes("app-07", &[]).await;
    assert!(start.elapsed() < Duration::from_millis(50), "it took {:?}", start.elapsed());
}

/// Case C089.
#[tokio::test(start_paused = true)]
async fn a_failover_and_the_way_back_are_one_event_each() {
    let cluster = Cluster::alone().with_peers();
    application(&cluster.api, "app", &[HOST]);
    let strategy = json!({"type": "failover", "primaryGeoTag": "eu"});
    cluster.api.apply_object(gslb("app", strategy)).unwrap();
    cluster.dns.answer(US, LOCAL, &[US_TARGET]);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[(HOST, &[US_TARGET])]).await;
    cluster.settle().await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    let told: Vec<String> = cluster.events("Gslb", "app").into_iter().map(|(_, note)| note).collect();
    let moves = [
        "Ready: the records are published",
        "Serving: every host is answered by us (Unhealthy here)",
        "Serving: every host is answered by eu",
    ];
    assert_eq!(told, moves);
}
