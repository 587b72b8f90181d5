//! Clusters of a delegation that are gone: told after a day, taken out only when somebody asks for it.

use gslb_core::delegation::{Delegation, ObservedDelegation, Presence};
use gslb_provider_contract::ProviderError;
use gslb_provider_memory::Operation;
use serde_json::{Value, json};

use crate::dns::{Says, name};
use crate::objects::{HOST, application, gslb, round_robin};
use crate::world::{Cluster, US, eventually, pass};

const LOCAL: &str = "localtargets-app.cloud.example.com";
const ZONE: &str = "cloud.example.com";
const EU_NS: &str = "gslb-ns-eu-cloud.example.com";
const US_NS: &str = "gslb-ns-us-cloud.example.com";
const ZA_NS: &str = "gslb-ns-za-cloud.example.com";

/// A fleet of three in one delegation; `us` gave its last word then and is silent, `za` speaks.
fn fleet(last_word: &str) -> Cluster {
    let cluster = Cluster::alone().with_peers().with_provider();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    let heard = json!({HOST: {"state": "Lost", "targets": ["198.51.100.10"], "heard": last_word}});
    let stored = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "gslb-bridge-peer-views", "namespace": "gslb"},
        "data": {"us": heard.to_string()},
    });
    cluster.api.apply_object(stored).unwrap();
    cluster.dns.say(US, LOCAL, Says::Nothing);
    cluster.is_served_by(&[(EU_NS, "192.0.2.53"), (US_NS, "198.51.100.53"), (ZA_NS, "203.0.113.53")]);
    cluster
}

/// Two days before the time at which the tests start.
const LONG_AGO: &str = "2025-12-31T03:04:05Z";

impl Cluster {
    fn is_served_by(&self, servers: &[(&str, &str)]) {
        let servers =
            servers.iter().map(|(text, address)| (name(text), [address.parse().unwrap()].into())).collect();
        let delegation = Delegation { zone: name(ZONE), ttl: None, servers };
        let presence = Presence::Present(ObservedDelegation::plain(delegation));
        self.provider.as_ref().unwrap().put(&name(ZONE), presence);
    }

    fn evict(&self, tags: &str) {
        let mut zone = self.zone();
        zone["metadata"]["annotations"]["gslb-bridge.io/evict"] = json!(tags);
        self.api.put_object(zone).unwrap();
    }

    /// Waits until the wish is gone; gives the events that tell what came of it.
    async fn evicts(&self) -> Vec<(String, String)> {
        eventually("the wish is taken away", || {
            self.zone()["metadata"]["annotations"]["gslb-bridge.io/evict"].is_null().then_some(())
        })
        .await;
        pass(1).await;
        let events = self.events("ZoneDelegation", "cloud-example-com");
        events.into_iter().filter(|(reason, _)| reason.ends_with("Evicted")).collect()
    }

    /// The name servers before and after each change, and why.
    fn removals(&self) -> Vec<(Vec<String>, String)> {
        let names = |value: &Value| -> Vec<String> {
            value["servers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
        };
        let log = self.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
        let changes = log.iter().map(|change| &change["spec"]);
        let changes = changes.filter(|spec| names(&spec["before"]).len() > names(&spec["after"]).len());
        changes.map(|spec| (names(&spec["after"]), spec["why"].as_str().unwrap().to_owned())).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_was_silent_for_a_day_is_told_and_stays() {
    // The day is over five minutes after the start.
    let cluster = fleet("2026-01-01T03:09:05Z");
    let _running = cluster.run();
    cluster.zone_tells("StaleMember", "False", "NoneStale").await;
    pass(240).await;
    cluster.zone_tells("StaleMember", "False", "NoneStale").await;
    let told = cluster.zone_tells("StaleMember", "True", "Silent").await;
    assert_eq!(
        told,
        "us of the delegation gave no answer for a day, and resolvers still try their name servers; bring them back, or take each out with: gslb-bridge evict us."
    );
    let events = cluster.events("ZoneDelegation", "cloud-example-com");
    assert_eq!(events.iter().filter(|(reason, _)| reason == "Silent").count(), 1);
    pass(900).await;
    assert_eq!(cluster.removals(), []);
    cluster.dns.say(US, LOCAL, Says::No);
    cluster.zone_tells("StaleMember", "False", "NoneStale").await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_member_is_taken_out_once_when_somebody_asks_for_it_and_the_log_says_so() {
    let cluster = fleet(LONG_AGO);
    let _running = cluster.run();
    cluster.zone_tells("StaleMember", "True", "Silent").await;
    cluster.evict("us");
    assert_eq!(
        cluster.evicts().await,
        [(
            "Evicted".to_owned(),
            "the delegation has no entry of us any more; if it comes back, it adds itself again".to_owned()
        )]
    );
    let why = "this cluster serves the zone at gslb-ns-eu-cloud.example.com (192.0.2.53); gslb-ns-us-cloud.example.com is taken out of delegation cloud.example.com, as the annotation gslb-bridge.io/evict of the ZoneDelegation asks for";
    assert_eq!(cluster.removals(), [(vec![EU_NS.to_owned(), ZA_NS.to_owned()], why.to_owned())]);
    cluster.zone_tells("StaleMember", "False", "NoneStale").await;
    // It comes back, still silent here.
    cluster.is_served_by(&[(EU_NS, "192.0.2.53"), (US_NS, "198.51.100.53"), (ZA_NS, "203.0.113.53")]);
    pass(900).await;
    assert_eq!(cluster.removals().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_speaks_and_who_is_no_other_member_is_not_taken_out_and_the_wish_is_answered() {
    let cluster = fleet(LONG_AGO);
    let _running = cluster.run();
    cluster.zone_tells("StaleMember", "True", "Silent").await;
    cluster.evict("za, eu,jp, b@d");
    let told = cluster.evicts().await;
    let starts = [
        "b@d is not taken out of the delegation: geo tag",
        "eu is not taken out of the delegation: eu is this cluster",
        "the delegation has no entry of jp",
        "za is not taken out of the delegation: za is not known to be silent",
    ];
    let mut notes: Vec<&str> = told.iter().map(|(_, note)| note.as_str()).collect();
    notes.sort_unstable();
    assert_eq!(notes.len(), starts.len(), "{notes:?}");
    assert!(notes.iter().zip(starts).all(|(note, start)| note.starts_with(start)), "{notes:?}");
    assert_eq!(cluster.removals(), []);
}

#[tokio::test(start_paused = true)]
async fn a_wish_waits_for_a_provider_that_does_not_answer() {
    let cluster = fleet(LONG_AGO);
    let _running = cluster.run();
    cluster.zone_tells("StaleMember", "True", "Silent").await;
    for _ in 0..3 {
        let down = ProviderError::Unavailable {
            text: "the grid is down".to_owned(),
            retry_after: None,
            source: None,
        };
        cluster.provider.as_ref().unwrap().fail_next(Operation::Observe, down);
    }
    cluster.evict("us");
    cluster.zone_tells("InSync", "False", "ProviderUnavailable").await;
    assert_eq!(cluster.evicts().await.len(), 1);
    assert_eq!(cluster.removals().len(), 1);
}
