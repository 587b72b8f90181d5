//! From a Gslb to its DNSEndpoint, and what moves it.

use serde_json::json;
use tokio::time::Instant;

use crate::objects::{HOST, OWN, application, gslb, ingress, round_robin, service, slice};
use crate::world::{Cluster, US, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";

/// Conformance 9, 22, 45; F-14, F-15.
#[tokio::test(start_paused = true)]
async fn a_gslb_becomes_the_dnsendpoint_of_the_contract() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    let written = cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;

    let object = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    let marks = json!({"k8gb.io/dnstype": "local", "k8gb.absa.oss/dnstype": "local"});
    assert_eq!(object["metadata"]["labels"], marks);
    for key in ["k8gb.io/dnstype", "k8gb.absa.oss/dnstype"] {
        assert_eq!(object["metadata"]["annotations"][key], "local");
    }
    assert_eq!(
        object["metadata"]["ownerReferences"],
        json!([{"apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "name": "app",
            "uid": written["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(
        object["spec"],
        json!({"endpoints": [
            {"dnsName": LOCAL, "recordType": "A", "recordTTL": 30, "targets": [OWN]},
            {"dnsName": HOST, "recordType": "A", "recordTTL": 30, "targets": [OWN],
                "labels": {"strategy": "roundRobin"}},
        ]})
    );
    cluster.tells("app", "Ready", "True", "Ready").await;
    let status = &cluster.gslb("app")["status"];
    assert_eq!(status["serviceHealth"], json!({HOST: "Healthy"}));
    assert_eq!(status["healthyRecords"], json!({HOST: [OWN]}));
    assert_eq!(status["loadBalancer"], json!({"exposedIps": [OWN]}));
    assert_eq!((&status["geoTag"], &status["hosts"]), (&json!("eu"), &json!(HOST)));
    assert_eq!(status["servers"], json!([{"host": HOST, "services": [{"namespace": "web", "name": "app"}]}]));
    assert_eq!(cluster.gslb("app")["spec"], written["spec"]);
}

/// Conformance 37.
#[tokio::test(start_paused = true)]
async fn a_ready_endpoint_in_any_slice_of_the_service_counts() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(slice("app", false)).unwrap();
    let mut later = slice("app", true);
    later["metadata"]["name"] = json!("app-later");
    cluster.api.apply_object(later).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

#[tokio::test(start_paused = true)]
async fn an_application_without_a_ready_endpoint_is_withdrawn_and_the_host_moves() {
    let cluster = Cluster::alone().with_peers();
    cluster.dns.answer(US, LOCAL, &["198.51.100.10"]);
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, "198.51.100.10"])]).await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[(HOST, &["198.51.100.10"])]).await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, "198.51.100.10"])]).await;
}

/// F-09.
#[tokio::test(start_paused = true)]
async fn a_service_and_an_ingress_that_come_after_their_gslb_are_seen_at_once() {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Resolved", "False", "ReferenceNotFound").await;
    cluster.api.apply_object(ingress("app", &[HOST], &[OWN])).unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.tells("app", "Resolved", "False", "ServiceNotFound").await;
    let start = Instant::now();
    cluster.api.apply_object(service("app")).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    assert!(start.elapsed().as_millis() < 100, "it took {:?}", start.elapsed());
}

/// Conformance 29; F-09.
#[tokio::test(start_paused = true)]
async fn a_new_load_balancer_address_is_published() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.apply_object(ingress("app", &[HOST], &["192.0.2.12", "192.0.2.11"])).unwrap();
    let both: &[&str] = &["192.0.2.11", "192.0.2.12"];
    cluster.publishes("app", &[(LOCAL, both), (HOST, both)]).await;
}

#[tokio::test(start_paused = true)]
async fn an_ingress_that_loses_its_address_keeps_it_for_a_minute_with_a_warning() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    let start = Instant::now();
    cluster.api.apply_object(ingress("app", &[HOST], &[])).unwrap();
    cluster.tells("app", "Resolved", "True", "AddressesHeld").await;
    cluster.publishes("app", &[]).await;
    let held = start.elapsed().as_secs_f64();
    assert!((59.9..61.0).contains(&held), "held for {held} s");
    cluster.tells("app", "Resolved", "False", "NoAddresses").await;
    pass(120).await;
    assert_eq!(cluster.records("app"), Some(vec![]));
}

/// Conformance 33; F-27.
#[tokio::test(start_paused = true)]
async fn an_ipv6_address_of_an_ingress_is_named_and_never_answered() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(ingress("app", &[HOST], &[OWN, "2001:db8::10"])).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "True", "SomeAddressesIgnored").await;
    assert!(message.contains("2001:db8::10 (IPv6)"), "{message}");
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
}

/// Conformance 33; F-27.
#[tokio::test(start_paused = true)]
async fn an_ingress_with_an_ipv6_address_only_is_told_what_to_do() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(ingress("app", &[HOST], &["2001:db8::10"])).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Resolved", "False", "AddressIgnored").await;
    assert!(message.contains("2001:db8::10 (IPv6)") && message.contains("CLUSTER_EXPOSED_IPS"), "{message}");
    cluster.publishes("app", &[]).await;
}

/// F-08.
#[tokio::test(start_paused = true)]
async fn a_deleted_ingress_withdraws_at_once() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let start = Instant::now();
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.publishes("app", &[]).await;
    assert!(start.elapsed().as_secs() < 1);
    cluster.tells("app", "Ready", "False", "ReferenceNotFound").await;
}

/// Conformance 109; F-24.
#[tokio::test(start_paused = true)]
async fn a_foreign_dnsendpoint_of_the_same_name_is_left_alone() {
    let cluster = Cluster::alone();
    let foreign = json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {"name": "app", "namespace": "web", "labels": {"team": "mail"}},
        "spec": {"endpoints": [{"dnsName": "mx.example.com", "recordType": "A", "targets": ["192.0.2.99"]}]},
    });
    let before = cluster.api.apply_object(foreign).unwrap();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    let message = cluster.tells("app", "Ready", "False", "DNSEndpointForeign").await;
    assert!(message.contains("web/app"), "{message}");
    assert_eq!(cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app"), Some(before));
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
}

#[tokio::test(start_paused = true)]
async fn records_that_somebody_edits_or_deletes_come_back() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let mut object = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    object["spec"]["endpoints"] = json!([]);
    cluster.api.put_object(object).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
}

/// Conformance 109; F-25.
#[tokio::test(start_paused = true)]
async fn of_two_gslbs_for_one_host_the_older_serves_until_it_is_deleted() {
    let cluster = Cluster::alone();
    for name in ["app", "newer"] {
        application(&cluster.api, name, &[HOST]);
    }
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.api.apply_object(gslb("newer", round_robin())).unwrap();
    cluster.publishes("newer", &[]).await;
    let message = cluster.tells("newer", "Accepted", "False", "HostTaken").await;
    assert!(message.contains("web/app") && message.contains(HOST), "{message}");
    assert_eq!(cluster.records("app").unwrap().len(), 2);
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    cluster.publishes("newer", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("newer", "Ready", "True", "Ready").await;
}

#[tokio::test(start_paused = true)]
async fn a_gslb_whose_ingress_is_gone_leaves_its_host_to_one_that_can_serve_it() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    application(&cluster.api, "other", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    cluster.tells("other", "Accepted", "False", "HostTaken").await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.tells("other", "Ready", "True", "Ready").await;
    let local = format!("localtargets-{HOST}");
    cluster.publishes("other", &[(&local, &[OWN]), (HOST, &[OWN])]).await;
}

/// A server-side apply leaves null where a map lost its last field, which the definition refuses.
#[tokio::test(start_paused = true)]
async fn the_status_follows_when_nothing_is_answered_any_more() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Serving", "True", "Strategy").await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.tells("app", "Serving", "False", "NoHealthySite").await;
    assert_eq!(cluster.gslb("app")["status"]["healthyRecords"], json!({}));
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.tells("app", "Resolved", "False", "ReferenceNotFound").await;
    cluster.api.apply_object(ingress("app", &[HOST], &[OWN])).unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.tells("app", "Serving", "True", "Strategy").await;
}
