//! Explicit addresses: the annotations `k8gb.io/exposed-ip-addresses` and `k8gb.io/exposed-hostnames`.

use crate::dns::Says;
use crate::objects::{HOST, OWN, annotated, application, gslb, round_robin};
use crate::world::{Cluster, RESOLVER, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const ADDRESSES: &str = "k8gb.io/exposed-ip-addresses";
const HOST_NAMES: &str = "k8gb.io/exposed-hostnames";

/// A cluster with an application whose Ingress shows our address.
fn cluster() -> Cluster {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    cluster
}

async fn is_answered_with(cluster: &Cluster, addresses: &[&str]) {
    cluster.publishes("app", &[(LOCAL, addresses), (HOST, addresses)]).await;
}

fn annotate(cluster: &Cluster, key: &str, value: &str) {
    cluster.api.apply_object(annotated(gslb("app", round_robin()), key, value)).unwrap();
}

/// Case C073. Conformance 30, 32; F-09.
#[tokio::test(start_paused = true)]
async fn listed_addresses_win_over_those_of_the_ingress_and_their_edits_are_seen_at_once() {
    let cluster = cluster();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    for list in ["192.0.2.1,192.0.2.2", "192.0.2.2 , 192.0.2.1", "192.0.2.1,::ffff:192.0.2.2,"] {
        annotate(&cluster, ADDRESSES, list);
        is_answered_with(&cluster, &["192.0.2.1", "192.0.2.2"]).await;
        annotate(&cluster, ADDRESSES, "192.0.2.3,");
        is_answered_with(&cluster, &["192.0.2.3"]).await;
    }
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let mut plain = cluster.gslb("app");
    plain["metadata"]["annotations"] = serde_json::json!({});
    cluster.api.put_object(plain).unwrap();
    is_answered_with(&cluster, &[OWN]).await;
}

/// Case C073. Conformance 30.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_wrong_keeps_the_old_addresses_and_is_quoted() {
    let cluster = cluster();
    annotate(&cluster, ADDRESSES, "192.0.2.1");
    let running = cluster.run();
    is_answered_with(&cluster, &["192.0.2.1"]).await;
    for bad in ["name.example.com", "300.1.1.1", "192.0.2.7,300.1.1.2", "", "2001:db8::1"] {
        annotate(&cluster, ADDRESSES, "192.0.2.1");
        cluster.tells("app", "Resolved", "True", "Resolved").await;
        annotate(&cluster, ADDRESSES, bad);
        let message = cluster.tells("app", "Resolved", "False", "ExposedAddressesInvalid").await;
        let quoted = bad.rsplit(',').next().unwrap();
        assert!(message.contains(quoted) && message.contains(ADDRESSES), "{message}");
        assert!(message.ends_with("the last addresses go on meanwhile"), "{message}");
        pass(100).await;
        is_answered_with(&cluster, &["192.0.2.1"]).await;
    }
    // Neither does a restart take them away.
    running.stop().await;
    let _running = cluster.run();
    pass(100).await;
    is_answered_with(&cluster, &["192.0.2.1"]).await;
}

/// Case C074. Conformance 33; F-27.
#[tokio::test(start_paused = true)]
async fn a_listed_ipv6_address_is_left_out_with_a_word() {
    let cluster = cluster();
    annotate(&cluster, ADDRESSES, "2001:db8::1, 192.0.2.1");
    let _running = cluster.run();
    is_answered_with(&cluster, &["192.0.2.1"]).await;
    let message = cluster.tells("app", "Resolved", "True", "SomeAddressesIgnored").await;
    assert!(message.contains("2001:db8::1 (IPv6)"), "{message}");
}

/// Contract §2.6. Conformance 31, 32.
#[tokio::test(start_paused = true)]
async fn host_names_win_over_addresses_win_over_the_configuration_wins_over_the_ingress() {
    let cluster = cluster().setting("CLUSTER_EXPOSED_IPS", "192.0.2.99");
    cluster.dns.answer(RESOLVER, "one.example.com", &["192.0.2.1"]);
    cluster.dns.answer(RESOLVER, "two.example.com", &["192.0.2.2", "192.0.2.1"]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    is_answered_with(&cluster, &["192.0.2.99"]).await;
    annotate(&cluster, ADDRESSES, "192.0.2.7");
    is_answered_with(&cluster, &["192.0.2.7"]).await;
    let both = annotated(gslb("app", round_robin()), ADDRESSES, "192.0.2.7");
    cluster.api.apply_object(annotated(both, HOST_NAMES, "One.example.com, two.example.com,")).unwrap();
    is_answered_with(&cluster, &["192.0.2.1", "192.0.2.2"]).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
}

/// Conformance 31.
#[tokio::test(start_paused = true)]
async fn host_names_that_are_wrong_or_unknown_are_told_by_name() {
    let cluster = cluster();
    cluster.dns.answer(RESOLVER, "one.example.com", &["192.0.2.1"]);
    annotate(&cluster, HOST_NAMES, "one.example.com");
    let _running = cluster.run();
    is_answered_with(&cluster, &["192.0.2.1"]).await;
    for bad in ["", " , ", "not a name", "192.0.2.1"] {
        annotate(&cluster, HOST_NAMES, bad);
        let message = cluster.tells("app", "Resolved", "False", "ExposedAddressesInvalid").await;
        assert!(message.contains(HOST_NAMES) && message.contains(bad.trim_matches([' ', ','])), "{message}");
        annotate(&cluster, HOST_NAMES, "one.example.com");
        cluster.tells("app", "Resolved", "True", "Resolved").await;
    }
    cluster.dns.say(RESOLVER, "missing.example.com", Says::No);
    annotate(&cluster, HOST_NAMES, "one.example.com,missing.example.com");
    let message = cluster.tells("app", "Resolved", "True", "NameNotResolved").await;
    assert!(
        message.contains("host name missing.example.com of annotation k8gb.io/exposed-hostnames"),
        "{message}"
    );
    pass(100).await;
    is_answered_with(&cluster, &["192.0.2.1"]).await;
}
