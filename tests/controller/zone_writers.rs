//! Other writers of a delegation, and a provider that hides it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gslb_core::changelog::Amends;
use gslb_core::delegation::{Delegation, ObservedDelegation, Presence};
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt, Scope, Service};
use gslb_provider_memory::MemoryProvider;
use serde_json::{Value, json};

use crate::dns::name;
use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, PARENT, eventually, pass};

const EU: &str = "gslb-ns-eu-cloud.example.com";

/// A provider beside which somebody else writes.
struct Rival {
    store: MemoryProvider,
    /// What the other one makes of the zone right after a write.
    undone: Mutex<Option<Presence>>,
    /// Whether a read right after the write shows that.
    at_once: bool,
    /// Whether the account sees nothing any more.
    hidden: Mutex<bool>,
    /// What the next write takes from others, and how often putting it back fails.
    lost: Mutex<Option<Value>>,
    failures: Mutex<usize>,
    amended: Mutex<Vec<Value>>,
}

impl Rival {
    fn new(at_once: bool) -> Arc<StandIn<Self>> {
        StandIn::new(Self {
            store: MemoryProvider::new().restarting(),
            undone: Mutex::default(),
            at_once,
            hidden: Mutex::default(),
            lost: Mutex::default(),
            failures: Mutex::default(),
            amended: Mutex::default(),
        })
    }
}

#[async_trait]
impl Manners for Rival {
    fn store(&self) -> &MemoryProvider {
        &self.store
    }
    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        if *self.hidden.lock().unwrap() {
            return Ok(Presence::Absent);
        }
        self.store.observe(scope).await
    }
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let mut receipt = self.store.apply(change).await?;
        if let Some(lost) = self.lost.lock().unwrap().take() {
            receipt.amends = vec![Amends { lost, error: Some("HTTP 503".into()) }];
        }
        if let Some(undone) = self.undone.lock().unwrap().clone() {
            self.store.put(change.change().zone(), undone.clone());
            if self.at_once {
                receipt.read_back = Some(undone);
            }
        }
        Ok(receipt)
    }
    async fn amend(&self, _: &DomainName, lost: &Value) -> Result<String, ProviderError> {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err(ProviderError::Refused { text: "not now".into() });
        }
        self.amended.lock().unwrap().push(lost.clone());
        Ok("zone/1".into())
    }
    async fn restart(&self) -> Result<(), ProviderError> {
        self.store.restart().await
    }
}

fn only(ns_name: &str) -> Presence {
    let servers = [(name(ns_name), ["198.51.100.53".parse().unwrap()].into())].into();
    let ttl = gslb_core::ttl::Ttl::from_secs(30).ok();
    Presence::Present(ObservedDelegation::plain(Delegation { zone: name("cloud.example.com"), ttl, servers }))
}

fn log(cluster: &Cluster) -> Vec<Value> {
    cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "")
}

fn results(cluster: &Cluster) -> Vec<String> {
    log(cluster).iter().map(|change| change["status"]["result"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_another_writer_takes_away_again_and_again_is_written_with_growing_pauses_and_told() {
    for at_once in [true, false] {
        let (cluster, rival) = (Cluster::alone(), Rival::new(at_once));
        *rival.undone.lock().unwrap() = Some(only("gslb-ns-us-cloud.example.com"));
        rival.store.put(&name("cloud.example.com"), only("gslb-ns-us-cloud.example.com"));
        rival.store.tell_service(Service::NeedsRestart { text: "restart it".into() });
        cluster.dns.delegate(PARENT, "cloud.example.com", &[]);
        let running = cluster.run_with(rival.run());
        let message = cluster.zone_tells("InSync", "False", "OtherWriter").await;
        assert!(message.contains("does not stay there"), "{message}");
        pass(60).await;
        rival.store.tell_service(Service::NeedsRestart { text: "restart it".into() });
        let early = rival.store.writes().len();
        pass(600).await;
        let late = rival.store.writes().len();
        assert!(early <= 12 && late - early <= 20, "{early} and {late} writes");
        assert_eq!(rival.store.restarts(), 0, "a fight needs no restart");
        if at_once {
            assert!(!results(&cluster).contains(&"Applied".to_owned()), "{:?}", results(&cluster));
        }
        *rival.undone.lock().unwrap() = None;
        eventually("it is in sync", || {
            crate::world::told(&cluster.zone(), "InSync", "False", "OtherWriter").map(|_| ())
        })
        .await;
        pass(420).await;
        cluster.zone_tells("InSync", "True", "InSync").await;
        running.stop().await;
    }
}

fn ask_to_leave(cluster: &Cluster) {
    let mut zone = cluster.zone();
    zone["spec"]["doFinalize"] = json!(true);
    cluster.api.put_object(zone).unwrap();
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_others_lost_by_a_deletion_is_put_back_before_the_zone_may_go_over_restarts_too() {
    // Not in the configuration, so that no start makes it again.
    let (cluster, rival) = (Cluster::alone().setting("DNS_ZONES", ""), Rival::new(false));
    let zone = json!({
        "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation", "metadata": {"name": "cloud-example-com"},
        "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30},
    });
    cluster.api.apply_object(zone).unwrap();
    let running = cluster.run_with(rival.run());
    cluster.zone_tells("InSync", "True", "InSync").await;
    let lost = json!({"delegate_to": [{"name": "ns1.isp.example", "address": "203.0.113.53"}]});
    *rival.lost.lock().unwrap() = Some(lost.clone());
    *rival.failures.lock().unwrap() = 1000;
    ask_to_leave(&cluster);
    let message = cluster.zone_tells("InSync", "False", "OthersLost").await;
    assert!(message.contains("took away what others wrote"), "{message}");
    pass(60).await;
    assert!(!cluster.zone().is_null());
    running.stop().await;
    *rival.failures.lock().unwrap() = 0;
    let _running = cluster.run_with(rival.run());
    eventually("the object may go", || cluster.zone().is_null().then_some(())).await;
    assert_eq!(*rival.amended.lock().unwrap(), std::slice::from_ref(&lost));
    let log = log(&cluster);
    assert_eq!(log[1]["status"]["amends"], json!([{"lost": lost, "error": "HTTP 503"}]));
    let last = log.last().unwrap();
    assert_eq!((&last["spec"]["after"], &last["status"]["result"]), (&lost, &json!("Applied")));
    assert_eq!(last["status"]["amends"], json!([{"lost": lost}]));
    let told = cluster.events("ZoneDelegation", "cloud-example-com");
    assert!(
        told.iter().any(|(reason, note)| reason == "OthersPutBack" && note.contains("ns1.isp")),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_the_provider_hides_while_dns_refers_to_it_is_not_let_go() {
    let (cluster, rival) = (Cluster::alone(), Rival::new(false));
    let _running = cluster.run_with(rival.run());
    cluster.zone_tells("InSync", "True", "InSync").await;
    *rival.hidden.lock().unwrap() = true;
    ask_to_leave(&cluster);
    let message = cluster.zone_tells("InSync", "False", "StillDelegated").await;
    assert!(message.contains(&format!("still refer to {EU}")), "{message}");
    pass(300).await;
    assert!(!cluster.zone().is_null());
    // Nobody speaks for the parent: what was seen counts.
    cluster.dns.silence(PARENT, true);
    eventually("memory speaks", || {
        let told = crate::world::told(&cluster.zone(), "InSync", "False", "StillDelegated");
        told.filter(|text| text.contains("it had been seen with"))
    })
    .await;
    cluster.dns.silence(PARENT, false);
    cluster.dns.delegate(PARENT, "cloud.example.com", &[]);
    eventually("the object may go", || cluster.zone().is_null().then_some(())).await;
}
