//! Delegations as DNSEndpoint objects for external-dns, and the zones of a k8gb CoreDNS.

use std::sync::Arc;

use gslb_provider_external_dns::ExternalDns;
use kube::Client;
use serde_json::{Value, json};

use crate::dns::Says;
use crate::objects::{HOST, OWN, annotated, application, gslb, round_robin};
use crate::world::{Cluster, RESOLVER, Running, US, eventually, pass};

const EU_NS: &str = "gslb-ns-eu-cloud.example.com";
const US_NS: &str = "gslb-ns-us-cloud.example.com";
const OBJECT: (&str, &str) = ("externaldns.k8s.io/v1alpha1", "DNSEndpoint");
const NAME: &str = "k8gb-ns-extdns-cloud-example-com";

/// A cluster with peer `us` whose delegation goes through external-dns.
fn cluster() -> Cluster {
    let cluster = Cluster::alone().setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "us");
    cluster.dns.answer(RESOLVER, US_NS, &[US]);
    cluster.dns.say(US, "cloud.example.com", Says::No);
    cluster
}

fn run(cluster: &Cluster) -> Running {
    let client = Client::new(cluster.api.router(), "default");
    cluster.run_with(Some(Arc::new(ExternalDns::new(client, "gslb", "gslb-bridge"))))
}

fn object(cluster: &Cluster) -> Value {
    cluster.api.get(OBJECT.0, OBJECT.1, "gslb", NAME).unwrap_or_default()
}

fn endpoints(names: &[&str], own: bool) -> Value {
    let set = json!({"dnsName": "cloud.example.com", "recordType": "NS", "recordTTL": 30, "targets": names});
    let glue = json!({"dnsName": EU_NS, "recordType": "A", "recordTTL": 30, "targets": ["192.0.2.53"]});
    if own { json!([set, glue]) } else { json!([set]) }
}

async fn publishes(cluster: &Cluster, wanted: &Value) {
    let what = format!("the object holds {wanted}");
    eventually(&what, || (object(cluster)["spec"]["endpoints"] == *wanted).then_some(())).await;
}

fn delete_zone(cluster: &Cluster) {
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
}

fn finalize(cluster: &Cluster) {
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
}

/// Conformance 57, 70.
#[tokio::test(start_paused = true)]
async fn the_delegation_is_a_dnsendpoint_with_the_ns_set_of_the_fleet_and_the_own_glue() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    let labels = json!({"k8gb.io/dnstype": "extdns", "k8gb.absa.oss/dnstype": "extdns"});
    assert_eq!(object(&cluster)["metadata"]["labels"], labels);
    cluster.zone_tells("InSync", "True", "InSync").await;
    let changes = cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
    let providers: Vec<_> = changes.iter().map(|change| change["spec"]["provider"].clone()).collect();
    assert_eq!(providers[0], "external-dns");
}

/// Conformance 58, 59, 62: a peer is listed from the moment on at which it has the zone too.
#[tokio::test(start_paused = true)]
async fn a_zone_lists_this_cluster_first_and_then_the_peer_that_gets_it_too() {
    let cluster = Cluster::alone().setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "us");
    let servers = || cluster.zone()["status"]["dnsServers"].clone();
    let own = json!({"name": EU_NS, "address": "192.0.2.53"});
    cluster.dns.say(RESOLVER, US_NS, Says::No);
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS], true)).await;
    eventually("the status lists this cluster only", || (servers() == json!([own])).then_some(())).await;
    cluster.dns.say(US, "cloud.example.com", Says::No);
    cluster.dns.answer(RESOLVER, US_NS, &[US]);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    let both = json!([own, {"name": US_NS, "address": US}]);
    eventually("the status lists both", || (servers() == both).then_some(())).await;
}

/// Waits until glue, status and records have these addresses.
async fn shows(cluster: &Cluster, glue: &str, addresses: &[&str]) {
    publishes_glue(cluster, glue).await;
    cluster.publishes("app", &[("localtargets-app.cloud.example.com", addresses), (HOST, addresses)]).await;
    eventually("the status tells them", || {
        let exposed = cluster.gslb("app")["status"]["loadBalancer"]["exposedIps"].clone();
        (exposed == json!(addresses)).then_some(())
    })
    .await;
}

async fn publishes_glue(cluster: &Cluster, glue: &str) {
    eventually(&format!("the glue is {glue}"), || {
        let told = cluster.zone()["status"]["dnsServers"][0]["address"] == glue;
        (told && object(cluster)["spec"]["endpoints"][1]["targets"] == json!([glue])).then_some(())
    })
    .await;
}

/// Conformance 50, 51, 52.
#[tokio::test(start_paused = true)]
async fn configured_addresses_are_shown_everywhere_and_listed_ones_in_the_records_only() {
    let cluster = cluster().setting("CLUSTER_EXPOSED_IPS", "192.0.2.99");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let running = run(&cluster);
    shows(&cluster, "192.0.2.99", &["192.0.2.99"]).await;
    let listed = annotated(gslb("app", round_robin()), "k8gb.io/exposed-ip-addresses", "192.0.2.7");
    cluster.api.apply_object(listed).unwrap();
    shows(&cluster, "192.0.2.99", &["192.0.2.7"]).await;
    let mut plain = cluster.gslb("app");
    plain["metadata"]["annotations"] = json!({});
    cluster.api.put_object(plain).unwrap();
    shows(&cluster, "192.0.2.99", &["192.0.2.99"]).await;
    running.stop().await;
    let cluster = cluster.setting("CLUSTER_EXPOSED_IPS", "");
    let _running = run(&cluster);
    shows(&cluster, "192.0.2.53", &[OWN]).await;
}

/// Conformance 103; F-42, F-45: a resolver that says nothing takes no peer out of the NS set, not over a restart either.
#[tokio::test(start_paused = true)]
async fn a_silent_resolver_takes_no_peer_out_of_the_ns_set() {
    let cluster = cluster();
    let running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    eventually("the status knows the peer", || {
        (cluster.zone()["status"]["dnsServers"][1]["name"] == US_NS).then_some(())
    })
    .await;
    running.stop().await;
    cluster.dns.silence(RESOLVER, true);
    cluster.settle().await;
    let _running = run(&cluster);
    pass(700).await;
    assert_eq!(object(&cluster)["spec"]["endpoints"], endpoints(&[EU_NS, US_NS], true));
    let edits = cluster.writes().into_iter().filter(|entry| entry.name == NAME).count();
    assert_eq!(edits, 0);
}

/// Conformance 60, 61, 104; F-45, F-47.
#[tokio::test(start_paused = true)]
async fn a_deleted_zone_leaves_its_object_to_the_peers_until_the_last_of_them_is_gone() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    finalize(&cluster);
    delete_zone(&cluster);
    publishes(&cluster, &endpoints(&[US_NS], false)).await;
    cluster.dns.silence(RESOLVER, true);
    pass(600).await;
    assert_eq!(object(&cluster)["spec"]["endpoints"], endpoints(&[US_NS], false), "silence is no departure");
    assert!(!cluster.zone().is_null());
    cluster.dns.silence(RESOLVER, false);
    cluster.dns.say(RESOLVER, US_NS, Says::No);
    eventually("object and zone are gone", || {
        (object(&cluster).is_null() && cluster.zone().is_null()).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_foreign_name_in_the_object_is_named_and_holds_no_deleted_zone() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    let mut edited = object(&cluster);
    edited["spec"]["endpoints"] = endpoints(&[EU_NS, US_NS, "ns1.isp.example"], true);
    cluster.api.put_object(edited).unwrap();
    finalize(&cluster);
    delete_zone(&cluster);
    publishes(&cluster, &endpoints(&[US_NS, "ns1.isp.example"], false)).await;
    let message = cluster.zone_tells("InSync", "True", "OthersRemain").await;
    assert!(message.contains(&format!("its object lists {US_NS} until")), "{message}");
    assert!(message.contains("also lists ns1.isp.example"), "{message}");
    cluster.dns.say(RESOLVER, US_NS, Says::No);
    eventually("the zone is gone", || cluster.zone().is_null().then_some(())).await;
    assert_eq!(object(&cluster)["spec"]["endpoints"], endpoints(&["ns1.isp.example"], false));
    let events = cluster.events("ZoneDelegation", "cloud-example-com");
    let told = |note: &str| !note.starts_with("InSync") && note.contains("ns1.isp.example");
    assert!(events.iter().any(|(reason, note)| reason == "ForeignServers" && told(note)), "{events:?}");
}

/// F-45.
#[tokio::test(start_paused = true)]
async fn a_restart_while_a_zone_leaves_takes_no_peer_for_gone() {
    for silent in [false, true] {
        let cluster = cluster();
        let running = run(&cluster);
        publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
        finalize(&cluster);
        delete_zone(&cluster);
        publishes(&cluster, &endpoints(&[US_NS], false)).await;
        pass(20).await;
        assert_eq!(cluster.zone()["status"]["dnsServers"], json!([{"name": US_NS, "address": US}]));
        running.stop().await;
        cluster.dns.silence(RESOLVER, silent);
        let _running = run(&cluster);
        pass(300).await;
        assert_eq!(object(&cluster)["spec"]["endpoints"], endpoints(&[US_NS], false), "silent: {silent}");
        assert!(!cluster.zone().is_null());
    }
}

/// F-48.
#[tokio::test(start_paused = true)]
async fn an_object_that_somebody_deleted_blocks_no_deletion() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    finalize(&cluster);
    delete_zone(&cluster);
    publishes(&cluster, &endpoints(&[US_NS], false)).await;
    cluster.api.delete(OBJECT.0, OBJECT.1, "gslb", NAME).unwrap();
    eventually("the zone is gone", || cluster.zone().is_null().then_some(())).await;
    assert!(object(&cluster).is_null());
}

/// Conformance 70.
#[tokio::test(start_paused = true)]
async fn an_edit_of_the_object_is_put_right_at_once_and_what_others_added_stays() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    cluster.settle().await;
    let mut edited = object(&cluster);
    edited["metadata"]["annotations"] = json!({"team": "ddi"});
    edited["spec"]["endpoints"] = endpoints(&[EU_NS], true);
    cluster.api.put_object(edited).unwrap();
    pass(2).await;
    assert_eq!(object(&cluster)["spec"]["endpoints"], endpoints(&[EU_NS, US_NS], true));
    assert_eq!(object(&cluster)["metadata"]["annotations"], json!({"team": "ddi"}));
}

fn writes(cluster: &Cluster, name: &str) -> usize {
    cluster.writes().iter().filter(|entry| entry.name == name).count()
}

#[tokio::test(start_paused = true)]
async fn a_second_writer_of_the_object_is_told_and_fought_with_growing_pauses() {
    let cluster = cluster();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    cluster.settle().await;
    for _ in 0..120 {
        let mut edited = object(&cluster);
        edited["spec"]["endpoints"] = endpoints(&[EU_NS], true);
        cluster.api.put_object(edited).unwrap();
        pass(1).await;
    }
    let written = writes(&cluster, NAME);
    assert!((6..=12).contains(&written), "{written} writes");
    let message = cluster.zone_tells("InSync", "False", "OtherWriter").await;
    assert!(message.contains("somebody else keeps changing"), "{message}");
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    pass(301).await;
    cluster.zone_tells("InSync", "True", "InSync").await;
}

#[tokio::test(start_paused = true)]
async fn a_younger_zonedelegation_with_a_wrong_parent_moves_no_name_of_the_fleet() {
    let cluster = cluster();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = run(&cluster);
    publishes(&cluster, &endpoints(&[EU_NS, US_NS], true)).await;
    cluster.settle().await;
    let object = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "zz"},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "com", "dnsZoneNegTTL": 30},
    });
    cluster.api.apply_object(object).unwrap();
    let before = cluster.dns.asked_for(RESOLVER, US_NS);
    pass(600).await;
    assert_eq!(cluster.dns.asked_for(RESOLVER, "gslb-ns-us-cloud-example.com"), 0);
    assert!(cluster.dns.asked_for(RESOLVER, US_NS) > before);
    assert_eq!(crate::external_dns::object(&cluster)["spec"]["endpoints"], endpoints(&[EU_NS, US_NS], true));
}

fn corefile(cluster: &Cluster) -> Value {
    cluster.api.get("v1", "ConfigMap", "gslb", "k8gb-zone-delegation").unwrap_or_default()["data"].clone()
}

/// Conformance 56, 60; F-51.
#[tokio::test(start_paused = true)]
async fn a_k8gb_coredns_is_told_the_zones_and_entries_of_others_stay() {
    let cluster = Cluster::alone();
    let mine = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "k8gb-zone-delegation", "namespace": "gslb"}, "data": {"mine.conf": "# mine\n"}});
    cluster.api.apply_object(mine).unwrap();
    let _running = cluster.run();
    let block = "cloud.example.com:5353 {\n  import k8gbplugins\n}\n";
    let both = json!({"mine.conf": "# mine\n", "cloud-example-com.conf": block});
    eventually("the zone has its block", || (corefile(&cluster) == both).then_some(())).await;
    cluster.settle().await;
    let mut emptied = cluster.api.get("v1", "ConfigMap", "gslb", "k8gb-zone-delegation").unwrap();
    emptied["data"] = json!({"mine.conf": "# mine\n"});
    cluster.api.put_object(emptied).unwrap();
    eventually("the block is back", || (corefile(&cluster) == both).then_some(())).await;
    delete_zone(&cluster);
    eventually("the block went with its zone", || {
        (corefile(&cluster) == json!({"mine.conf": "# mine\n"})).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_second_writer_of_the_zones_of_coredns_is_fought_with_growing_pauses() {
    let cluster = Cluster::alone();
    let _running = cluster.run();
    eventually("the zone has its block", || corefile(&cluster).is_object().then_some(())).await;
    cluster.settle().await;
    for _ in 0..60 {
        let mut emptied = cluster.api.get("v1", "ConfigMap", "gslb", "k8gb-zone-delegation").unwrap();
        emptied["data"] = json!({"mine.conf": "# mine\n"});
        cluster.api.put_object(emptied).unwrap();
        pass(2).await;
    }
    let written = writes(&cluster, "k8gb-zone-delegation");
    assert!((6..=12).contains(&written), "{written} writes");
    eventually("the block is back", || {
        corefile(&cluster)["cloud-example-com.conf"].is_string().then_some(())
    })
    .await;
}
