//! What the change log holds of a change whose outcome is late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::limits::ApprovedChange;
use gslb_mocks::kube::{Failure, Fault, Matcher};
use gslb_provider_contract::{Provider, ProviderError, Receipt};
use gslb_provider_memory::MemoryProvider;
use serde_json::Value;
use tokio::sync::Notify;

use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, eventually, pass};

const LOG: (&str, &str) = ("gslb-bridge.io/v1alpha1", "ProviderChange");

fn log(cluster: &Cluster) -> Vec<Value> {
    cluster.api.list(LOG.0, LOG.1, "")
}

fn writes(cluster: &Cluster) -> usize {
    cluster.provider.as_ref().unwrap().writes().len()
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_made_is_not_told_as_none_while_its_outcome_is_not_logged() {
    let cluster = Cluster::alone().with_provider();
    let matcher = Matcher::new("update", "gslb-bridge.io", "providerchanges");
    cluster.api.faults().inject(Fault { matcher, failure: Failure::status(500), times: None });
    let _running = cluster.run();
    let message = cluster.zone_tells("InSync", "False", "OutcomeNotLogged").await;
    assert!(message.contains("took a change") && !message.contains("nothing is changed"), "{message}");
    assert_eq!((writes(&cluster), log(&cluster).len()), (1, 1));
    pass(60).await;
    cluster.zone_tells("InSync", "False", "OutcomeNotLogged").await;
    cluster.api.faults().clear();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!((writes(&cluster), log(&cluster).len()), (1, 1));
    eventually("the outcome is settled", || {
        (log(&cluster)[0]["status"]["result"] == "Applied").then_some(())
    })
    .await;
}

/// A provider that answers a write when it is told to.
struct Deliberate {
    store: MemoryProvider,
    asked: Notify,
    may: Notify,
}

#[async_trait]
impl Manners for Deliberate {
    fn store(&self) -> &MemoryProvider {
        &self.store
    }
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        self.asked.notify_one();
        self.may.notified().await;
        self.store.apply(change).await
    }

    fn longest_aftermath(&self) -> Duration {
        AFTERMATH
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_a_change_come_to_its_outcome() {
    let cluster = Cluster::alone().with_provider();
    let provider =
        StandIn::new(Deliberate { store: MemoryProvider::new(), asked: Notify::new(), may: Notify::new() });
    let running = cluster.run_with(provider.run());
    provider.asked.notified().await;
    let stopped = tokio::spawn(running.stop());
    pass(1).await;
    provider.may.notify_one();
    stopped.await.unwrap();
    let outcomes: Vec<Value> =
        log(&cluster).iter().map(|change| change["status"]["result"].clone()).collect();
    assert_eq!(outcomes, ["Applied"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let cluster = Cluster::alone().with_provider();
    let provider =
        StandIn::new(Deliberate { store: MemoryProvider::new(), asked: Notify::new(), may: Notify::new() });
    let running = cluster.run_with(provider.run());
    provider.asked.notified().await;
    running.stop().await;
    assert_eq!(log(&cluster).len(), 1);
}

/// How long the slow provider may carry out what nobody waits for any more.
const AFTERMATH: Duration = Duration::from_secs(20);

/// A provider whose first write takes long.
struct Slow {
    store: MemoryProvider,
    /// What the caller of the first write sees: an error, or nothing at all.
    gives_up: bool,
    first: Mutex<Option<ApprovedChange>>,
}

impl Slow {
    fn new(gives_up: bool) -> Arc<StandIn<Self>> {
        StandIn::new(Self { store: MemoryProvider::new(), gives_up, first: Mutex::default() })
    }

    /// Waits until the first write is under way.
    async fn is_asked(&self) {
        eventually("a write is under way", || self.first.lock().unwrap().clone().map(drop)).await;
    }

    /// Carries the first write out.
    async fn commit(&self) {
        let first = self.first.lock().unwrap().clone().unwrap();
        self.store.apply(&first).await.unwrap();
    }
}

#[async_trait]
impl Manners for Slow {
    fn store(&self) -> &MemoryProvider {
        &self.store
    }
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let is_first = self.first.lock().unwrap().is_none();
        if !is_first {
            return self.store.apply(change).await;
        }
        *self.first.lock().unwrap() = Some(change.clone());
        if self.gives_up {
            return Err(ProviderError::Uncertain { text: "no answer".into(), source: None });
        }
        std::future::pending().await
    }

    fn longest_aftermath(&self) -> Duration {
        AFTERMATH
    }
}

fn results(cluster: &Cluster) -> Vec<Value> {
    log(cluster).iter().map(|change| change["status"]["result"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_carried_out_after_the_kill_is_told_as_applied_and_not_sent_again() {
    let (cluster, provider) = (Cluster::alone(), Slow::new(false));
    let running = cluster.run_with(provider.run());
    provider.is_asked().await;
    running.kill().await;
    let _running = cluster.run_with(provider.run());
    let message = cluster.zone_tells("InSync", "False", "OutcomeUnknown").await;
    assert!(
        message.contains("may still be under way at memory, so nothing is written before 2026-"),
        "{message}"
    );
    pass(15).await;
    assert_eq!((results(&cluster), provider.store.writes().len()), (vec![Value::Null], 0));
    provider.commit().await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    pass(60).await;
    assert_eq!((results(&cluster), provider.store.writes().len()), (vec!["Applied".into()], 1));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_never_carried_out_is_made_again_once_its_request_is_over() {
    let (cluster, provider) = (Cluster::alone(), Slow::new(false));
    let running = cluster.run_with(provider.run());
    provider.is_asked().await;
    running.kill().await;
    let _running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "OutcomeUnknown").await;
    pass(19).await;
    assert_eq!((results(&cluster), provider.store.writes().len()), (vec![Value::Null], 0));
    pass(2).await;
    assert_eq!(results(&cluster), ["NotApplied", "Applied"]);
    assert_eq!(provider.store.writes().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_is_carried_out_after_its_time_out_is_not_sent_again() {
    let (cluster, provider) = (Cluster::alone(), Slow::new(true));
    let _running = cluster.run_with(provider.run());
    provider.is_asked().await;
    pass(15).await;
    assert_eq!((results(&cluster), provider.store.writes().len()), (vec![Value::Null], 0));
    provider.commit().await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    pass(60).await;
    assert_eq!((results(&cluster), provider.store.writes().len()), (vec!["Applied".into()], 1));
}
