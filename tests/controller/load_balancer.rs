//! Load balancers that have a host name instead of an address.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::dns::{Says, name};
use crate::objects::{HOST, OWN, application, gslb, ingress, ingress_at, round_robin};
use crate::world::{Cluster, RESOLVER, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const LB: &str = "lb-1.example.com";
const TWO: &[&str] = &["192.0.2.10", "192.0.2.11"];

/// A cluster whose application has only the host name [`LB`], and a bystander with an address.
fn cluster() -> Cluster {
    let cluster = Cluster::alone().setting("RECONCILE_REQUEUE_SECONDS", "0");
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(ingress_at("app", HOST, LB)).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster
}

async fn is_answered_with(cluster: &Cluster, addresses: &[&str]) {
    cluster.publishes("app", &[(LOCAL, addresses), (HOST, addresses)]).await;
}

async fn bystander_is_served(cluster: &Cluster) {
    application(&cluster.api, "other", &["other.cloud.example.com"]);
    cluster.api.apply_object(gslb("other", round_robin())).unwrap();
    let other = [("localtargets-other.cloud.example.com", &[OWN][..]), ("other.cloud.example.com", &[OWN])];
    cluster.publishes("other", &other).await;
}

/// Case C019. Conformance 34.
#[tokio::test(start_paused = true)]
async fn a_cname_chain_is_followed_in_one_reply_and_over_several() {
    let addresses = || TWO.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<_>>();
    let one = cluster();
    let chain = vec![name("lb-2.example.com"), name("lb-3.example.com")];
    one.dns.say(RESOLVER, LB, Says::Chain(chain, addresses()));
    let several = cluster();
    several.dns.say(RESOLVER, LB, Says::Alias(name("lb-2.example.com")));
    several.dns.say(RESOLVER, "lb-2.example.com", Says::Alias(name("lb-3.example.com")));
    several.dns.say(RESOLVER, "lb-3.example.com", Says::Addresses(addresses()));
    for cluster in [one, several] {
        let _running = cluster.run();
        is_answered_with(&cluster, TWO).await;
        cluster.tells("app", "Ready", "True", "Ready").await;
        let events = cluster.events("Gslb", "app");
        assert!(events.iter().all(|(_, note)| !note.contains(LB)), "{events:?}");
    }
}

/// Case C019. F-08, F-90.
#[tokio::test(start_paused = true)]
async fn a_name_that_stops_resolving_keeps_its_addresses_and_is_told_once() {
    for bad in [Says::Nothing, Says::ServFail, Says::Alias(name(LB))] {
        let cluster = cluster();
        cluster.dns.answer(RESOLVER, LB, TWO);
        let running = cluster.run();
        is_answered_with(&cluster, TWO).await;
        cluster.tells("app", "Ready", "True", "Ready").await;
        cluster.dns.say(RESOLVER, LB, bad);
        let start = Instant::now();
        let message = cluster.tells("app", "Resolved", "True", "NameNotResolved").await;
        assert!(
            message.contains("host name lb-1.example.com of Ingress web/app is not resolved"),
            "{message}"
        );
        assert!(start.elapsed().as_secs() < 15, "before the answer has expired: {:?}", start.elapsed());
        bystander_is_served(&cluster).await;
        pass(3600).await;
        is_answered_with(&cluster, TWO).await;
        let told = cluster.events("Gslb", "app");
        assert_eq!(told.iter().filter(|(reason, _)| reason == "NameNotResolved").count(), 1, "{told:?}");
        // A restart still knows them.
        running.stop().await;
        let _running = cluster.run();
        pass(300).await;
        is_answered_with(&cluster, TWO).await;
        cluster.dns.answer(RESOLVER, LB, &["192.0.2.12"]);
        is_answered_with(&cluster, &["192.0.2.12"]).await;
        cluster.tells("app", "Resolved", "True", "Resolved").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_gone_for_certain_is_withdrawn_after_a_minute_of_warning() {
    let cluster = cluster();
    cluster.dns.answer(RESOLVER, LB, TWO);
    let _running = cluster.run();
    is_answered_with(&cluster, TWO).await;
    cluster.dns.say(RESOLVER, LB, Says::No);
    let message = cluster.tells("app", "Resolved", "True", "AddressesHeld").await;
    assert!(message.contains("host name lb-1.example.com") && message.contains("for a minute"), "{message}");
    let start = Instant::now();
    cluster.publishes("app", &[]).await;
    assert!((59..61).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    cluster.tells("app", "Resolved", "False", "NameNotResolved").await;
    cluster.dns.answer(RESOLVER, LB, TWO);
    is_answered_with(&cluster, TWO).await;
}

/// F-90.
#[tokio::test(start_paused = true)]
async fn answers_that_rotate_do_not_make_the_records_flap() {
    let cluster = cluster();
    cluster.dns.answer(RESOLVER, LB, &["192.0.2.10"]);
    let _running = cluster.run();
    is_answered_with(&cluster, &["192.0.2.10"]).await;
    cluster.dns.answer(RESOLVER, LB, &["192.0.2.11"]);
    is_answered_with(&cluster, TWO).await;
    cluster.tells("app", "Resolved", "True", "Resolved").await;
    cluster.settle().await;
    for round in 0..20 {
        cluster.dns.answer(RESOLVER, LB, &[TWO[round % 2]]);
        pass(30).await;
    }
    assert_eq!(cluster.writes(), []);
    // One that moved for good leaves when three TTLs are over.
    cluster.dns.answer(RESOLVER, LB, &["192.0.2.12"]);
    pass(60).await;
    assert_eq!(cluster.records("app").unwrap()[0].1, ["192.0.2.10", "192.0.2.11", "192.0.2.12"]);
    is_answered_with(&cluster, &["192.0.2.12"]).await;
}

/// F-16: nothing is asked by passes, and one name is asked for once, however many want it.
#[tokio::test(start_paused = true)]
async fn a_name_that_many_gslbs_want_is_asked_for_once() {
    let cluster = cluster();
    cluster.dns.answer(RESOLVER, LB, TWO);
    for number in 0..20 {
        let (app, host) = (format!("app-{number}"), format!("app-{number}.cloud.example.com"));
        application(&cluster.api, &app, &[&host]);
        cluster.api.apply_object(ingress_at(&app, &host, LB)).unwrap();
        cluster.api.apply_object(gslb(&app, round_robin())).unwrap();
    }
    let _running = cluster.run();
    cluster.tells("app-19", "Ready", "True", "Ready").await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    pass(5).await;
    let before = cluster.dns.asked(RESOLVER);
    pass(100).await;
    let asked = cluster.dns.asked(RESOLVER) - before;
    assert!(asked <= 30, "{asked} questions in 100 s");
    // Nobody wants it any more.
    for object in cluster.api.list("k8gb.io/v1beta1", "Gslb", "web") {
        let object_name = object["metadata"]["name"].as_str().unwrap();
        cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", object_name).unwrap();
    }
    pass(60).await;
    let before = cluster.dns.asked_for(RESOLVER, LB);
    pass(300).await;
    assert_eq!(cluster.dns.asked_for(RESOLVER, LB), before);
}

/// F-89: the DNS Service's host name counts as its address does.
#[tokio::test(start_paused = true)]
async fn the_host_name_of_the_dns_service_is_glue() {
    let cluster = Cluster::alone().with_provider();
    let mut service = crate::objects::dns_service(&["192.0.2.53"]);
    service["status"]["loadBalancer"]["ingress"] =
        json!([{"ip": "192.0.2.53"}, {"hostname": "dns.example.com"}]);
    cluster.api.apply_object(service).unwrap();
    cluster.dns.say(RESOLVER, "dns.example.com", Says::ServFail);
    let running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "GlueNameNotResolved").await;
    assert!(message.contains("host name dns.example.com of DNS Service gslb/dns"), "{message}");
    cluster.dns.answer(RESOLVER, "dns.example.com", &["192.0.2.54"]);
    cluster.zone_tells("InSync", "True", "InSync").await;
    let own = |cluster: &Cluster| {
        let servers = cluster.zone()["status"]["dnsServers"].as_array().cloned().unwrap_or_default();
        servers.iter().map(|server| server["address"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(own(&cluster), ["192.0.2.53", "192.0.2.54"]);
    // A restart without a word about the name takes nothing away.
    running.stop().await;
    cluster.dns.say(RESOLVER, "dns.example.com", Says::ServFail);
    let _running = cluster.run();
    cluster.zone_tells("InSync", "False", "GlueNameNotResolved").await;
    pass(100).await;
    assert_eq!(own(&cluster), ["192.0.2.53", "192.0.2.54"]);
}

/// How long the first publication takes while nobody says a word about these names.
async fn first_publication(names: &[&str]) -> Duration {
    let cluster = cluster();
    let mut object = ingress("app", &[HOST], &[OWN]);
    for name in names {
        cluster.dns.say(RESOLVER, name, Says::Nothing);
        let shown = object["status"]["loadBalancer"]["ingress"].as_array_mut().unwrap();
        shown.push(json!({"hostname": name}));
    }
    cluster.api.apply_object(object).unwrap();
    let start = Instant::now();
    let _running = cluster.run();
    is_answered_with(&cluster, &[OWN]).await;
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn several_silent_names_are_waited_for_as_one() {
    let one = first_publication(&[LB]).await;
    let two = first_publication(&[LB, "lb-2.example.com"]).await;
    assert!(one > Duration::from_secs(1), "{one:?}");
    assert!(two < one + Duration::from_millis(100), "{two:?} for two, {one:?} for one");
}
