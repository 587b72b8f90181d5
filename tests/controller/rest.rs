//! What the controller does when nothing happens, and when the API server does not work.

use std::collections::BTreeMap;

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::{Value, json};

use crate::objects::{HOST, OWN, application, gslb, round_robin, slice};
use crate::world::{Cluster, US, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";

/// Our definitions without what k8gb's do not have: such a server prunes it.
fn k8gb_shaped() -> String {
    let mut crds = gslb_crds::all();
    crds.retain(|crd| crd.spec.names.kind != "ProviderChange");
    let prune = |crd: &_| {
        let mut crd: Value = serde_json::to_value(crd).unwrap();
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        for extra in ["conditions", "observedGeneration", "peers", "peersAnswering", "serving"] {
            if let Some(properties) = schema["status"]["properties"].as_object_mut() {
                properties.remove(extra);
            }
        }
        crd.to_string()
    };
    crds.iter().map(prune).collect::<Vec<_>>().join("\n---\n")
}

async fn ten_passes_write_nothing(cluster: Cluster) {
    let cluster = cluster.with_peers();
    cluster.dns.answer(US, LOCAL, &["198.51.100.10"]);
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    // One that is wrong must not write for ever either.
    cluster.api.apply_object(gslb("wrong", json!({"type": "fastest"}))).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN, "198.51.100.10"])]).await;
    cluster.settle().await;
    pass(330).await;
    assert_eq!(cluster.writes(), []);
}

/// Conformance 105; F-06, F-07.
#[tokio::test(start_paused = true)]
async fn ten_passes_without_a_change_write_nothing() {
    ten_passes_write_nothing(Cluster::alone()).await;
}

/// Conformance 105; F-07.
#[tokio::test(start_paused = true)]
async fn ten_passes_write_nothing_where_our_status_fields_are_pruned() {
    ten_passes_write_nothing(Cluster::with_crds(&k8gb_shaped())).await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_prunes_our_status_costs_one_refused_write_of_its_kind() {
    let cluster = Cluster::with_crds(&k8gb_shaped());
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    for ready in [false, true, false] {
        pass(10).await;
        cluster.api.apply_object(slice("app", ready)).unwrap();
    }
    pass(10).await;
    assert_eq!(cluster.gslb("app")["status"]["serviceHealth"][HOST], "Unhealthy");
    let refused: Vec<String> = cluster
        .writes()
        .into_iter()
        .filter(|entry| entry.subresource == "status" && entry.status_code >= 400)
        .map(|entry| entry.resource)
        .collect();
    assert_eq!(refused.iter().filter(|kind| *kind == "gslbs").count(), 1, "{refused:?}");
    assert!(refused.len() <= 2, "{refused:?}");
}

/// Conformance 62, 105; F-07.
#[tokio::test(start_paused = true)]
async fn ten_passes_with_a_provider_write_nothing() {
    ten_passes_write_nothing(Cluster::alone().with_provider()).await;
}

/// F-28.
#[tokio::test(start_paused = true)]
async fn one_endpointslice_costs_the_calls_of_one_gslb() {
    let cluster = Cluster::alone();
    for number in 0..30 {
        let name = format!("app-{number:02}");
        application(&cluster.api, &name, &[&format!("{name}.cloud.example.com")]);
        cluster.api.apply_object(gslb(&name, round_robin())).unwrap();
    }
    let _running = cluster.run();
    cluster.tells("app-29", "Ready", "True", "Ready").await;
    cluster.settle().await;
    cluster.api.apply_object(slice("app-07", false)).unwrap();
    pass(20).await;
    let calls: Vec<String> = cluster
        .writes()
        .iter()
        .map(|e| format!("{} {}/{} {}", e.verb, e.resource, e.subresource, e.name))
        .collect();
    let events = calls.iter().filter(|call| call.contains("events")).count();
    let others: Vec<&String> = calls.iter().filter(|call| !call.contains("events")).collect();
    assert_eq!(others, ["patch dnsendpoints/ app-07", "patch gslbs/status app-07"]);
    assert_eq!(events, 1, "{calls:?}");
    assert_eq!(cluster.api.journal().count(|entry| matches!(entry.verb, "get" | "list")), 0);
}

/// F-50.
#[tokio::test(start_paused = true)]
async fn an_own_write_starts_no_pass() {
    for crds in [gslb_crds::yaml(), k8gb_shaped()] {
        let cluster = Cluster::with_crds(&crds);
        application(&cluster.api, "app", &[HOST]);
        cluster.api.apply_object(gslb("app", round_robin())).unwrap();
        let running = cluster.run();
        cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
        cluster.settle().await;
        let before = running.passes("app");
        cluster.api.apply_object(slice("app", false)).unwrap();
        cluster.publishes("app", &[]).await;
        pass(20).await;
        assert_eq!(running.passes("app") - before, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn expired_and_broken_watches_lose_nothing() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    cluster.api.expire_watches();
    pass(20).await;
    assert_eq!(cluster.writes(), []);
    cluster.api.faults().drop_watches();
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.api.expire_watches();
    cluster.publishes("app", &[]).await;
}

/// F-08: what cannot be read is not absent.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_fails_withdraws_nothing() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    let down = || Fault { matcher: Matcher::default(), failure: Failure::status(500), times: None };
    cluster.api.faults().inject(down());
    cluster.api.expire_watches();
    pass(120).await;
    assert_eq!(cluster.records("app").unwrap().len(), 2);
    // Nor does a start against such a server.
    running.stop().await;
    let _running = cluster.run();
    pass(120).await;
    assert_eq!(cluster.records("app").unwrap().len(), 2);
    cluster.api.faults().clear();
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_made_again_and_told_once() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.faults().fail(Matcher::new("patch", "externaldns.k8s.io", "dnsendpoints"), 500, 3);
    cluster.api.faults().fail(Matcher::new("patch", "k8gb.io", "gslbs"), 503, 3);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    let events = cluster.events("Gslb", "app");
    assert_eq!(events.iter().filter(|(reason, _)| reason == "Ready").count(), 1, "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_record_that_the_api_server_refuses_is_told_while_dns_goes_on() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.settle().await;
    let matcher = Matcher::new("patch", "externaldns.k8s.io", "dnsendpoints");
    cluster.api.faults().inject(Fault { matcher, failure: Failure::status(403), times: None });
    cluster.api.apply_object(slice("app", false)).unwrap();
    let message = cluster.tells("app", "Ready", "False", "NotPublished").await;
    assert_eq!(
        message,
        "DNSEndpoint web/app could not be written (injected fault 403), so DNS goes on with what it holds; permit gslb-bridge to write it, or mend what refuses it"
    );
    pass(120).await;
    let told = cluster.events("Gslb", "app").into_iter().filter(|(reason, _)| reason == "NotPublished");
    assert_eq!(told.count(), 1);
    cluster.api.faults().clear();
    cluster.publishes("app", &[]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
}

/// A written object whose answer got lost is not written again for ever.
#[tokio::test(start_paused = true)]
async fn a_lost_answer_of_the_api_server_leads_to_rest() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    for resource in ["dnsendpoints", "gslbs"] {
        let matcher =
            Matcher { resource: Some(resource.into()), verb: Some("patch".into()), ..Matcher::default() };
        cluster.api.faults().inject(Fault { matcher, failure: Failure::LoseAnswer, times: Some(1) });
    }
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    pass(100).await;
    assert_eq!(cluster.writes(), []);
}

/// Each kind that is watched, and how often a watch of it was begun.
fn watches(cluster: &Cluster) -> BTreeMap<String, usize> {
    let mut begun = BTreeMap::new();
    for entry in cluster.api.journal().entries().into_iter().filter(|entry| entry.verb == "watch") {
        *begun.entry(format!("{}.{}", entry.resource, entry.group)).or_default() += 1;
    }
    begun
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_silent_is_begun_anew_within_a_minute() {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    let before = watches(&cluster);
    cluster.api.faults().freeze_watches(true);
    pass(60).await;
    let after = watches(&cluster);
    let silent: Vec<&String> = before.keys().filter(|kind| after[*kind] <= before[*kind]).collect();
    assert_eq!((before.len() > 6, silent), (true, vec![]), "{before:?}, {after:?}");
}

/// A kind that is not installed, as the legacy one here, is no failure.
#[tokio::test(start_paused = true)]
async fn a_list_or_watch_that_fails_is_counted_by_its_kind() {
    let mut crds = gslb_crds::all();
    crds.retain(|crd| crd.spec.group != "k8gb.absa.oss");
    let crds: Vec<String> = crds.iter().map(|crd| json!(crd).to_string()).collect();
    let cluster = Cluster::with_crds(&crds.join("\n---\n"));
    cluster.api.faults().fail(Matcher::new("list", "", "services"), 503, 2);
    let running = cluster.run();
    cluster.zone_tells("Accepted", "True", "Accepted").await;
    let text = running.metrics();
    let counted = text.lines().filter(|line| line.starts_with("gslb_bridge_watch_failures_total{"));
    assert_eq!(counted.collect::<Vec<_>>(), ["gslb_bridge_watch_failures_total{kind=\"Service\"} 2"]);
}
