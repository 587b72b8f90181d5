//! `Delegated` is True only if everybody who has a say was heard.

use crate::dns::Says;
use crate::world::{Cluster, PARENT, RESOLVER, pass};

const EU_NS: &str = "gslb-ns-eu-cloud.example.com";

#[tokio::test(start_paused = true)]
async fn an_own_name_that_no_resolver_answers_for_is_not_known() {
    let cluster = Cluster::alone();
    cluster.dns.say(RESOLVER, EU_NS, Says::ServFail);
    let _running = cluster.run();
    let message = cluster.zone_tells("Delegated", "Unknown", "GlueUnknown").await;
    assert!(message.contains(EU_NS) && message.contains("192.0.2.53"), "{message}");
    cluster.dns.answer(RESOLVER, EU_NS, &["192.0.2.53"]);
    cluster.zone_tells("Delegated", "True", "Delegated").await;
}

#[tokio::test(start_paused = true)]
async fn a_parent_server_that_nobody_can_find_is_one_that_was_not_asked() {
    let cluster = Cluster::alone();
    cluster.dns.delegate(RESOLVER, "example.com", &["ns1.example.com", "ns2.example.com"]);
    cluster.dns.say(RESOLVER, "ns2.example.com", Says::ServFail);
    let _running = cluster.run();
    let message = cluster.zone_tells("Delegated", "Unknown", "ParentUnreachable").await;
    assert!(message.contains("ns2.example.com of example.com"), "{message}");
    pass(60).await;
    cluster.zone_tells("Delegated", "Unknown", "ParentUnreachable").await;
    cluster.dns.answer(RESOLVER, "ns2.example.com", &["203.0.113.3"]);
    cluster.dns.delegate("203.0.113.3", "cloud.example.com", &[EU_NS]);
    cluster.zone_tells("Delegated", "True", "Delegated").await;
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_is_given_by_name_is_asked_for_the_parents_servers() {
    const LOOPBACK: &str = "127.0.0.1";
    let cluster = Cluster::alone().setting("EDGE_DNS_SERVERS", "localhost");
    cluster.dns.answer(LOOPBACK, EU_NS, &["192.0.2.53"]);
    cluster.dns.answer(LOOPBACK, "ns1.example.com", &[PARENT]);
    cluster.dns.delegate(LOOPBACK, "example.com", &["ns1.example.com"]);
    let _running = cluster.run();
    cluster.zone_tells("Delegated", "True", "Delegated").await;
}
