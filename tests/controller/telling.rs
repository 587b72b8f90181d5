//! Statuses and events hold up no record and no delegation.

use std::time::Duration;

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::json;
use tokio::time::Instant;

use crate::objects::{HOST, OWN, application, dns_service, gslb, ingress, round_robin, service, slice};
use crate::world::{Cluster, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const BOTH: [(&str, &[&str]); 2] = [(LOCAL, &[OWN]), (HOST, &[OWN])];
/// What a change may take while others hang: far below the deadline of one call.
const AT_ONCE: Duration = Duration::from_millis(100);

fn hang(cluster: &Cluster, matcher: Matcher) {
    let failure = Failure::Delay(Duration::from_secs(3600));
    cluster.api.faults().inject(Fault { matcher, failure, times: None });
}

fn events() -> Matcher {
    Matcher::new("create", "events.k8s.io", "events")
}

fn statuses(resource: &str) -> Matcher {
    Matcher { subresource: Some("status".into()), ..Matcher::new("patch", "k8gb.io", resource) }
}

async fn served() -> Cluster {
    let cluster = Cluster::alone();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster
}

async fn goes_down_and_up(cluster: &Cluster) {
    for ready in [false, true, false, true] {
        let begun = Instant::now();
        cluster.api.apply_object(slice("app", ready)).unwrap();
        cluster.publishes("app", if ready { &BOTH } else { &[] }).await;
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_about_events_or_status_delays_no_record() {
    for hanging in [vec![events()], vec![statuses("gslbs")], vec![events(), statuses("gslbs")]] {
        let cluster = served().await;
        let _running = cluster.run();
        cluster.tells("app", "Ready", "True", "Ready").await;
        for matcher in hanging {
            hang(&cluster, matcher);
        }
        goes_down_and_up(&cluster).await;
        pass(60).await;
        goes_down_and_up(&cluster).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_latest_status_is_what_is_written_when_that_can_be_done() {
    let cluster = served().await;
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    hang(&cluster, statuses("gslbs"));
    goes_down_and_up(&cluster).await;
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    cluster.api.faults().clear();
    cluster.tells("app", "Serving", "False", "NoHealthySite").await;
    cluster.settle().await;
    pass(120).await;
    assert_eq!(cluster.writes(), []);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_refused_is_written_when_it_is_taken_and_without_any_pass() {
    let cluster = served().await.setting("RECONCILE_REQUEUE_SECONDS", "0");
    cluster.api.faults().fail(statuses("gslbs"), 503, 4);
    let running = cluster.run();
    cluster.publishes("app", &BOTH).await;
    let passes = running.passes("app");
    cluster.tells("app", "Ready", "True", "Ready").await;
    assert_eq!(running.passes("app"), passes);
}

#[tokio::test(start_paused = true)]
async fn an_edit_is_followed_while_a_status_is_being_written() {
    let cluster = served().await;
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    hang(&cluster, statuses("gslbs"));
    goes_down_and_up(&cluster).await;
    let begun = Instant::now();
    let strategy = json!({"type": "roundRobin", "dnsTtlSeconds": 77});
    cluster.api.apply_object(gslb("app", strategy)).unwrap();
    eventually("the record has the new TTL", || {
        let object = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app")?;
        (object["spec"]["endpoints"][0]["recordTTL"] == 77).then_some(())
    })
    .await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn hosts_are_known_although_no_status_could_tell_them() {
    let cluster = served().await;
    hang(&cluster, statuses("gslbs"));
    let _running = cluster.run();
    cluster.publishes("app", &BOTH).await;
    cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
    cluster.publishes("app", &[]).await;
    let object = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    let hosts = object["metadata"]["annotations"]["gslb-bridge.io/hosts"].as_str().unwrap();
    assert_eq!(hosts, json!({HOST: {"answer": "NoData", "ttl": 30}}).to_string());
}

#[tokio::test(start_paused = true)]
async fn hosts_are_known_over_a_restart_although_no_status_could_tell_them() {
    for ready in [true, false] {
        let cluster = served().await;
        cluster.api.apply_object(slice("app", ready)).unwrap();
        cluster.api.faults().inject(Fault {
            matcher: statuses("gslbs"),
            failure: Failure::status(403),
            times: None,
        });
        let running = cluster.run();
        cluster.publishes("app", if ready { &BOTH } else { &[] }).await;
        cluster.settle().await;
        running.kill().await;
        cluster.api.delete("networking.k8s.io/v1", "Ingress", "web", "app").unwrap();
        let _running = cluster.run();
        cluster.publishes("app", &[]).await;
        cluster.settle().await;
        let object = cluster.api.get("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
        let hosts = object["metadata"]["annotations"]["gslb-bridge.io/hosts"].as_str().unwrap();
        assert_eq!(hosts, json!({HOST: {"answer": "NoData", "ttl": 30}}).to_string(), "{ready}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_deleted_gslb_is_not_written_to_the_next_one_of_its_name() {
    let cluster = served().await;
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    let delay = Failure::Delay(Duration::from_secs(3));
    cluster.api.faults().inject(Fault { matcher: statuses("gslbs"), failure: delay, times: Some(1) });
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster.publishes("app", &BOTH).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    assert!(crate::world::told(&cluster.gslb("app"), "Ready", "True", "Ready").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_about_events_or_status_delays_no_delegation() {
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    cluster.settle().await;
    hang(&cluster, events());
    hang(&cluster, statuses("zonedelegations"));
    let provider = cluster.provider.clone().unwrap();
    for address in ["192.0.2.54", "192.0.2.55"] {
        let begun = Instant::now();
        cluster.api.apply_object(dns_service(&[address])).unwrap();
        eventually("the delegation has the new address", || {
            format!("{:?}", provider.writes().last()).contains(address).then_some(())
        })
        .await;
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_of_others_stay_and_cost_no_write() {
    let cluster = served().await;
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    let audited = json!({"type": "example.com/Audited", "status": "True", "reason": "Audited", "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z"});
    let mut object = gslb("app", round_robin());
    object["status"] = json!({"conditions": [audited]});
    cluster.api.apply_object(object).unwrap();
    cluster.settle().await;
    pass(60).await;
    assert_eq!(cluster.writes(), []);
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.tells("app", "Serving", "False", "NoHealthySite").await;
    cluster.api.apply_object(slice("app", true)).unwrap();
    cluster.tells("app", "Serving", "True", "Strategy").await;
    cluster.settle().await;
    let conditions = cluster.gslb("app")["status"]["conditions"].as_array().unwrap().clone();
    assert!(conditions.contains(&audited), "{conditions:?}");
}

/// As behind an admission webhook for one namespace that does not answer.
#[tokio::test(start_paused = true)]
async fn where_the_calls_of_one_namespace_hang_another_one_is_served_and_told_at_once() {
    let cluster = served().await;
    cluster
        .api
        .apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "first"}}))
        .unwrap();
    for number in 0..60 {
        let name = format!("app-{number:02}");
        let host = format!("{name}.cloud.example.com");
        let objects = [
            ingress(&name, &[&host], &[OWN]),
            service(&name),
            slice(&name, true),
            gslb(&name, round_robin()),
        ];
        for mut object in objects {
            object["metadata"]["namespace"] = json!("first");
            cluster.api.apply_object(object).unwrap();
        }
    }
    for matcher in [events(), statuses("gslbs"), Matcher::new("patch", "externaldns.k8s.io", "dnsendpoints")]
    {
        hang(&cluster, Matcher { namespace: Some("first".into()), ..matcher });
    }
    let _running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    pass(60).await;
    goes_down_and_up(&cluster).await;
    let begun = Instant::now();
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.tells("app", "Serving", "False", "NoHealthySite").await;
    let mut zone = cluster.zone();
    zone["spec"]["dnsZoneNegTTL"] = json!(77);
    cluster.api.put_object(zone).unwrap();
    eventually("the ZoneDelegation is told about", || {
        (cluster.zone()["status"]["observedGeneration"] == 2).then_some(())
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_being_deleted_is_asked_for_nothing_again_and_again() {
    let cluster = served().await;
    let running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    for (group, resource) in [("externaldns.k8s.io", "dnsendpoints"), ("events.k8s.io", "events")] {
        for verb in ["create", "patch"] {
            let matcher = Matcher::new(verb, group, resource);
            cluster.api.faults().inject(Fault {
                matcher,
                failure: Failure::NamespaceTerminating,
                times: None,
            });
        }
    }
    cluster.api.delete("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "web", "app").unwrap();
    pass(5).await;
    assert_eq!(cluster.writes().iter().filter(|write| write.resource == "dnsendpoints").count(), 1);
    assert!(!running.metrics().contains("k8gb_gslb_errors_total{namespace=\"web\""), "{}", running.metrics());
}

#[tokio::test(start_paused = true)]
async fn what_was_told_last_is_written_before_the_end() {
    let cluster = served().await;
    let running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    let late = Failure::Delay(Duration::from_millis(300));
    for matcher in [events(), statuses("gslbs")] {
        cluster.api.faults().inject(Fault { matcher, failure: late.clone(), times: None });
    }
    cluster.api.apply_object(slice("app", false)).unwrap();
    cluster.publishes("app", &[]).await;
    running.stop().await;
    assert!(crate::world::told(&cluster.gslb("app"), "Serving", "False", "NoHealthySite").is_some());
    let told = cluster.events("Gslb", "app").into_iter().filter(|(reason, _)| reason == "NoHealthySite");
    assert_eq!(told.count(), 1);
}
