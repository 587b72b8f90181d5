//! A provider that serves a change only after a restart of services: told, or restarted, as the settings say.

use std::sync::Arc;

use async_trait::async_trait;
use gslb_provider_contract::{Provider, ProviderError, Service};
use gslb_provider_memory::MemoryProvider;
use serde_json::Value;
use tokio::sync::Notify;

use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, PARENT, pass};

const WORDS: &str = "the DNS service of gm.example.com has to be restarted";

/// A provider whose restart ends when it is told to.
struct Slow {
    store: Arc<MemoryProvider>,
    asked: Notify,
    may: Notify,
}

#[async_trait]
impl Manners for Slow {
    fn store(&self) -> &MemoryProvider {
        &self.store
    }
    async fn restart(&self) -> Result<(), ProviderError> {
        self.asked.notify_one();
        self.may.notified().await;
        self.store.restart().await
    }
}

/// A cluster whose parent zone does not show the delegation yet.
fn unserved(provider: MemoryProvider) -> Cluster {
    let mut cluster = Cluster::alone().with_provider();
    provider.tell_service(Service::NeedsRestart { text: WORDS.to_owned() });
    cluster.provider = Some(Arc::new(provider));
    cluster.dns.delegate(PARENT, "cloud.example.com", &[]);
    cluster
}

fn log(cluster: &Cluster) -> Vec<(Value, Value)> {
    let log = cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
    log.iter().map(|change| (change["spec"]["action"].clone(), change["status"]["result"].clone())).collect()
}

#[tokio::test(start_paused = true)]
async fn without_leave_to_restart_the_condition_tells_that_the_provider_waits_for_one() {
    let cluster = unserved(MemoryProvider::new());
    let _running = cluster.run();
    let message = cluster.zone_tells("Delegated", "False", "WaitingForRestart").await;
    assert!(message.ends_with(&format!("; {WORDS}")), "{message}");
    pass(600).await;
    assert_eq!(cluster.provider.as_ref().unwrap().restarts(), 0);
}

#[tokio::test(start_paused = true)]
async fn with_leave_to_restart_it_is_done_once_after_a_minute_and_logged() {
    let cluster = unserved(MemoryProvider::new().restarting());
    let _running = cluster.run();
    cluster.zone_tells("Delegated", "False", "WaitingForRestart").await;
    let restarts = || cluster.provider.as_ref().unwrap().restarts();
    pass(50).await;
    assert_eq!(restarts(), 0);
    pass(30).await;
    assert_eq!(restarts(), 1);
    assert_eq!(log(&cluster), [("Create".into(), "Applied".into()), ("Restart".into(), "Applied".into())]);
    let message = cluster.zone_tells("Delegated", "False", "WaitingForRestart").await;
    pass(600).await;
    assert_eq!((restarts(), log(&cluster).len()), (1, 2), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_delegation_that_is_served_asks_for_no_restart() {
    let mut cluster = Cluster::alone().with_provider();
    let provider = MemoryProvider::new().restarting();
    provider.tell_service(Service::NeedsRestart { text: WORDS.to_owned() });
    cluster.provider = Some(Arc::new(provider));
    let _running = cluster.run();
    cluster.zone_tells("Ready", "True", "Ready").await;
    pass(600).await;
    assert_eq!(cluster.provider.as_ref().unwrap().restarts(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_a_restart_come_to_its_outcome() {
    let cluster = unserved(MemoryProvider::new().restarting());
    let store = cluster.provider.clone().unwrap();
    let provider = StandIn::new(Slow { store, asked: Notify::new(), may: Notify::new() });
    let running = cluster.run_with(Some(Arc::clone(&provider) as Arc<dyn Provider>));
    provider.asked.notified().await;
    let stopped = tokio::spawn(running.stop());
    pass(1).await;
    provider.may.notify_one();
    stopped.await.unwrap();
    assert_eq!(log(&cluster), [("Create".into(), "Applied".into()), ("Restart".into(), "Applied".into())]);
}
