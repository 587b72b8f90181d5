//! ZoneDelegations: where they come from, what they tell, and how they go.

use std::net::IpAddr;

use gslb_core::change::Change;
use gslb_core::delegation::{Delegation, ObservedDelegation, Presence};
use gslb_core::ttl::Ttl;
use gslb_provider_contract::{Observe, ProviderError, Scope};
use gslb_provider_memory::Operation;
use serde_json::{Value, json};

use crate::dns::name;
use crate::objects::{
    HOST, OWN, application, dns_service, gslb, in_namespace, ingress, labelled, round_robin,
};
use crate::world::{Cluster, eventually, pass};

const EU_NS: &str = "gslb-ns-eu-cloud.example.com";
const US_NS: &str = "gslb-ns-us-cloud.example.com";

/// What stands at the provider, as name server names.
async fn at_provider(cluster: &Cluster) -> Vec<String> {
    let zone =
        gslb_core::zone::Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
    let found = cluster.provider.as_ref().unwrap().observe(&Scope::from(&zone)).await.unwrap();
    let servers = found.delegation().map(|delegation| delegation.servers.clone()).unwrap_or_default();
    servers.keys().map(ToString::to_string).collect()
}

fn delegate_to_us(cluster: &Cluster) {
    let address: IpAddr = "198.51.100.53".parse().unwrap();
    let servers = [(name(US_NS), [address].into())].into();
    let delegation = Delegation { zone: name("cloud.example.com"), ttl: None, servers };
    let presence = Presence::Present(ObservedDelegation::plain(delegation));
    cluster.provider.as_ref().unwrap().put(&name("cloud.example.com"), presence);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_logged_with_what_led_to_it_and_not_with_all_that_was_found() {
    let cluster = Cluster::alone().with_provider();
    let [foreign, stranger]: [IpAddr; 2] = ["203.0.113.1", "203.0.113.53"].map(|text| text.parse().unwrap());
    let servers = [(name("ns1.isp.example"), [foreign].into()), (name(EU_NS), [stranger].into())].into();
    let delegation = Delegation { zone: name("cloud.example.com"), ttl: None, servers };
    let presence = Presence::Present(ObservedDelegation::plain(delegation));
    cluster.provider.as_ref().unwrap().put(&name("cloud.example.com"), presence);
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "True", "ForeignServers").await;
    assert!(message.contains("ns1.isp.example") && message.contains("NS_RECORD_TTL"), "{message}");
    let log = cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
    let why: Vec<_> = log.iter().map(|change| change["spec"]["why"].as_str().unwrap()).collect();
    assert_eq!(
        why,
        [
            "this cluster serves the zone at gslb-ns-eu-cloud.example.com (192.0.2.53); delegation cloud.example.com lists 203.0.113.53 under our own name gslb-ns-eu-cloud.example.com; it is replaced by this cluster's own addresses"
        ]
    );
}

fn delete_zone(cluster: &Cluster) {
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
}

/// Conformance 55, 62; F-41.
#[tokio::test(start_paused = true)]
async fn a_configured_zone_becomes_a_zonedelegation_with_finalizer_status_and_conditions() {
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("Ready", "True", "Ready").await;
    let zone = cluster.zone();
    assert_eq!(
        zone["spec"],
        json!({"loadBalancedZone": "cloud.example.com", "parentZone": "example.com",
            "dnsZoneNegTTL": 30, "doFinalize": false})
    );
    assert_eq!(zone["metadata"]["finalizers"], json!(["k8gb.io/finalizer"]));
    assert_eq!(zone["status"]["dnsServers"], json!([{"name": EU_NS, "address": "192.0.2.53"}]));
    cluster.zone_tells("Accepted", "True", "Accepted").await;
    cluster.zone_tells("Delegated", "True", "Delegated").await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(at_provider(&cluster).await, [EU_NS]);
    let events = cluster.events("ZoneDelegation", "cloud-example-com");
    assert_eq!(events.iter().filter(|(reason, _)| reason == "Ready").count(), 1, "{events:?}");
}

/// Waits until this cluster stands beside the other one.
async fn joined(cluster: &Cluster) {
    let writes = || cluster.provider.as_ref().unwrap().writes().len();
    eventually("the cluster has joined", || (writes() == 1).then_some(())).await;
    eventually("the status says so", || {
        let conditions = cluster.zone()["status"]["conditions"].as_array()?.clone();
        conditions.iter().any(|c| c["type"] == "InSync" && c["status"] == "True").then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_joins_the_others_and_follows_its_own_address() {
    let cluster = Cluster::alone().with_provider();
    delegate_to_us(&cluster);
    let _running = cluster.run();
    joined(&cluster).await;
    assert_eq!(at_provider(&cluster).await, [EU_NS, US_NS]);
    cluster.api.apply_object(dns_service(&["192.0.2.54"])).unwrap();
    eventually("the new address is published", || {
        let last = cluster.provider.as_ref().unwrap().writes().pop()?;
        let Change::Replace { after, .. } = last else { return None };
        after
            .servers
            .get(&name(EU_NS))
            .is_some_and(|own| *own == ["192.0.2.54".parse::<IpAddr>().unwrap()].into())
            .then_some(())
    })
    .await;
    eventually("the status follows", || {
        (cluster.zone()["status"]["dnsServers"][0]["address"] == "192.0.2.54").then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_zone_without_an_own_address_says_what_is_missing() {
    let cluster = Cluster::alone().with_provider();
    cluster.api.apply_object(dns_service(&[])).unwrap();
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "NoGlueAddress").await;
    assert!(message.contains("gslb/dns"), "{message}");
    assert_eq!(cluster.provider.as_ref().unwrap().writes(), []);
    cluster.api.apply_object(dns_service(&["192.0.2.53"])).unwrap();
    cluster.zone_tells("InSync", "True", "InSync").await;
}

#[tokio::test(start_paused = true)]
async fn an_ipv6_address_of_the_dns_service_is_named_and_not_published() {
    let cluster = Cluster::alone().with_provider();
    cluster.api.apply_object(dns_service(&["2001:db8::53"])).unwrap();
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "GlueAddressIgnored").await;
    assert!(message.contains("2001:db8::53 (IPv6)") && message.contains("CLUSTER_EXPOSED_IPS"), "{message}");
    assert_eq!(cluster.provider.as_ref().unwrap().writes(), []);
    cluster.api.apply_object(dns_service(&["192.0.2.53", "2001:db8::53"])).unwrap();
    let message = cluster.zone_tells("InSync", "True", "InSync").await;
    assert!(message.contains("2001:db8::53 (IPv6)"), "{message}");
}

/// F-49, F-52.
#[tokio::test(start_paused = true)]
async fn deletion_without_dofinalize_leaves_the_provider_alone_and_says_so() {
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("Ready", "True", "Ready").await;
    let before = cluster.provider.as_ref().unwrap().writes();
    delete_zone(&cluster);
    eventually("the object is gone", || cluster.zone().is_null().then_some(())).await;
    assert_eq!(cluster.provider.as_ref().unwrap().writes(), before);
    let events = cluster.events("ZoneDelegation", "cloud-example-com");
    assert_eq!(events.iter().filter(|(reason, _)| reason == "DelegationLeft").count(), 1, "{events:?}");
    pass(60).await;
    assert!(cluster.zone().is_null(), "nobody asked for it again (F-49)");
}

/// F-45, F-46.
#[tokio::test(start_paused = true)]
async fn deletion_with_dofinalize_withdraws_the_own_entry_only() {
    let cluster = Cluster::alone().with_provider();
    delegate_to_us(&cluster);
    let _running = cluster.run();
    joined(&cluster).await;
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
    // F-46: without an address of our own, too.
    cluster.api.apply_object(dns_service(&[])).unwrap();
    delete_zone(&cluster);
    eventually("the object is gone", || cluster.zone().is_null().then_some(())).await;
    assert_eq!(at_provider(&cluster).await, [US_NS]);
}

#[tokio::test(start_paused = true)]
async fn a_withdrawn_zone_that_somebody_else_holds_says_that_it_is_withdrawn() {
    let cluster = Cluster::alone().with_provider();
    delegate_to_us(&cluster);
    let running = cluster.run();
    joined(&cluster).await;
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    zone["metadata"]["finalizers"] = json!(["k8gb.io/finalizer", "example.com/audit"]);
    cluster.api.put_object(zone).unwrap();
    delete_zone(&cluster);
    eventually("our finalizer is gone", || {
        (cluster.zone()["metadata"]["finalizers"] == json!(["example.com/audit"])).then_some(())
    })
    .await;
    let status = cluster.zone()["status"].clone();
    let told: Vec<_> = status["conditions"].as_array().unwrap().iter().map(|told| &told["type"]).collect();
    assert_eq!(told, ["InSync", "Ready"]);
    let message = cluster.zone_tells("InSync", "False", "Withdrawn").await;
    assert!(message.ends_with("until its other finalizers are removed (example.com/audit)"), "{message}");
    assert_eq!(at_provider(&cluster).await, [US_NS]);
    // Nobody looks at it any more, after a restart neither.
    cluster.settle().await;
    running.stop().await;
    let _running = cluster.run();
    pass(600).await;
    assert_eq!(cluster.zone()["status"], status);
}

#[tokio::test(start_paused = true)]
async fn deletion_waits_for_a_provider_that_fails() {
    let cluster = Cluster::alone().with_provider();
    delegate_to_us(&cluster);
    let _running = cluster.run();
    joined(&cluster).await;
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
    for _ in 0..8 {
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    }
    delete_zone(&cluster);
    let message = cluster.zone_tells("InSync", "False", "ProviderUnavailable").await;
    assert_eq!(
        message,
        "the grid does not answer; the object is deleted, and stays until this cluster's part is withdrawn; to let it go without, set spec.doFinalize to false"
    );
    assert_eq!(at_provider_after_faults(&cluster).await, [US_NS]);
    assert!(cluster.zone().is_null());
}

async fn at_provider_after_faults(cluster: &Cluster) -> Vec<String> {
    for _ in 0..60 {
        if cluster.zone().is_null() {
            break;
        }
        pass(10).await;
    }
    at_provider(cluster).await
}

fn unavailable() -> ProviderError {
    ProviderError::Unavailable { text: "the grid does not answer".into(), retry_after: None, source: None }
}

/// F-13.
#[tokio::test(start_paused = true)]
async fn a_provider_that_cannot_be_read_is_told_and_not_written_to_and_heals_by_itself() {
    let cluster = Cluster::alone().with_provider();
    for _ in 0..3 {
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, unavailable());
    }
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "ProviderUnavailable").await;
    assert_eq!(message, "the grid does not answer");
    assert_eq!(cluster.provider.as_ref().unwrap().writes(), []);
    cluster.publishes("app", &[("localtargets-app.cloud.example.com", &[OWN]), (HOST, &[OWN])]).await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    let told: Vec<String> = cluster
        .events("ZoneDelegation", "cloud-example-com")
        .into_iter()
        .map(|(reason, _)| reason)
        .filter(|reason| reason == "ProviderUnavailable")
        .collect();
    assert_eq!(told.len(), 1);
}

/// Conformance 63.
#[tokio::test(start_paused = true)]
async fn an_object_that_has_the_zone_already_wins_over_the_configuration() {
    let cluster = Cluster::alone();
    let object = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "earlier"},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 300},
    });
    cluster.api.apply_object(object).unwrap();
    let _running = cluster.run();
    let earlier = || cluster.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "earlier").unwrap();
    let servers = json!([{"name": EU_NS, "address": "192.0.2.53"}]);
    eventually("it is served", || (earlier()["status"]["dnsServers"] == servers).then_some(())).await;
    pass(60).await;
    assert_eq!((earlier()["spec"]["dnsZoneNegTTL"].clone(), cluster.zone()), (json!(300), Value::Null));
}

/// Conformance 53.
#[tokio::test(start_paused = true)]
async fn with_configured_addresses_no_service_is_needed() {
    let cluster = Cluster::alone().with_provider().setting("CLUSTER_EXPOSED_IPS", "192.0.2.99");
    cluster.api.delete("v1", "Service", "gslb", "dns").unwrap();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(cluster.zone()["status"]["dnsServers"], json!([{"name": EU_NS, "address": "192.0.2.99"}]));
}

/// Conformance 54.
#[tokio::test(start_paused = true)]
async fn without_dns_service_the_own_addresses_are_found_by_labels() {
    let labelled_service = || labelled(dns_service(&["192.0.2.54"]), "app.kubernetes.io/name", "coredns");
    let labelled_ingress = || {
        let ingress = in_namespace(ingress("dns", &["dns.example.com"], &["192.0.2.55"]), "gslb");
        labelled(ingress, "k8gb.io/ip-source", "true")
    };
    let cases = [
        ("LoadBalancer", "DnsServiceAmbiguous", labelled_service(), "192.0.2.54"),
        ("ClusterIP", "NoGlueSource", labelled_ingress(), "192.0.2.55"),
    ];
    for (kind, reason, source, address) in cases {
        let cluster = Cluster::alone().with_provider().setting("DNS_SERVICE", "");
        let cluster = cluster.setting("COREDNS_SERVICE_TYPE", kind);
        let _running = cluster.run();
        cluster.zone_tells("InSync", "False", reason).await;
        cluster.api.apply_object(source).unwrap();
        cluster.zone_tells("InSync", "True", "InSync").await;
        let servers = json!([{"name": EU_NS, "address": address}]);
        eventually("the address is told", || {
            (cluster.zone()["status"]["dnsServers"] == servers).then_some(())
        })
        .await;
    }
}

/// Conformance 110; F-46.
#[tokio::test(start_paused = true)]
async fn a_zone_whose_dns_service_was_deleted_first_is_withdrawn_all_the_same() {
    let cluster = Cluster::alone().with_provider();
    delegate_to_us(&cluster);
    let _running = cluster.run();
    joined(&cluster).await;
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
    cluster.api.delete("v1", "Service", "gslb", "dns").unwrap();
    delete_zone(&cluster);
    eventually("the object is gone", || cluster.zone().is_null().then_some(())).await;
    assert_eq!(at_provider(&cluster).await, [US_NS]);
}

/// Conformance 4.
#[tokio::test(start_paused = true)]
async fn a_zone_that_is_not_below_its_parent_is_refused_by_the_api_server() {
    let cluster = Cluster::alone();
    for (zone, sentence) in [
        ("example.com", "loadBalancedZone must not equal parentZone"),
        ("xexample.com", "loadBalancedZone must be subdomain"),
    ] {
        let object = json!({
            "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "wrong"},
            "spec": {"loadBalancedZone": zone, "parentZone": "example.com", "dnsZoneNegTTL": 30},
        });
        let refused = cluster.api.put_object(object).unwrap_err();
        assert!(refused.message.contains(sentence), "{refused}");
    }
}

/// Conformance 108; F-03.
#[tokio::test(start_paused = true)]
async fn the_younger_of_two_zones_with_one_dashed_name_is_refused() {
    let cluster = Cluster::alone();
    let _running = cluster.run();
    cluster.zone_tells("Accepted", "True", "Accepted").await;
    let object = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "younger"},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30},
    });
    cluster.api.apply_object(object).unwrap();
    eventually("the younger is told", || {
        let zone = cluster.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "younger")?;
        let conditions = zone["status"]["conditions"].as_array()?.clone();
        conditions.into_iter().find(|condition| condition["reason"] == "ZoneTaken")
    })
    .await;
}

/// Nothing else would say why the zone is not delegated.
#[tokio::test(start_paused = true)]
async fn a_zone_whose_object_name_another_zone_has_is_told_and_created_once_that_is_gone() {
    let cluster = Cluster::alone();
    let zone = |name: &str, zone: &str| {
        json!({
            "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": name},
            "spec": {"loadBalancedZone": zone, "parentZone": "example.com", "dnsZoneNegTTL": 30},
        })
    };
    cluster.api.apply_object(zone("cloud-example-com", "other.example.com")).unwrap();
    let _running = cluster.run();
    let told = eventually("it is told", || {
        let mut events = cluster.events("ZoneDelegation", "cloud-example-com").into_iter();
        events.find_map(|(reason, note)| (reason == "NameTaken").then_some(note))
    });
    assert_eq!(
        told.await,
        "zone cloud.example.com of DNS_ZONES gets no ZoneDelegation while this one of another zone has its name; create one for cloud.example.com under another name, or delete this one"
    );
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("the zone has its object", || {
        let object = cluster.api.get("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com")?;
        (object["spec"]["loadBalancedZone"] == "cloud.example.com").then_some(())
    })
    .await;
}
