//! A provider whose changes somebody has to approve.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_provider_contract::{Approval, Disposition, Held as Task, Provider, ProviderError, Receipt};
use gslb_provider_memory::MemoryProvider;
use serde_json::Value;

use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, eventually, pass};

/// Holds every change back as a task.
struct Held {
    store: MemoryProvider,
    tasks: Mutex<Vec<ApprovedChange>>,
    verdict: Mutex<Option<Approval>>,
    /// What the backend says of tasks about the zone.
    found: Mutex<Option<Task>>,
    /// Replies that get lost on their way.
    lost: Mutex<usize>,
}

impl Held {
    fn new() -> Arc<StandIn<Self>> {
        StandIn::new(Self {
            store: MemoryProvider::new(),
            tasks: Mutex::default(),
            verdict: Mutex::default(),
            found: Mutex::default(),
            lost: Mutex::default(),
        })
    }

    fn tasks(&self) -> usize {
        self.tasks.lock().unwrap().len()
    }

    async fn approve(&self) {
        let change = self.tasks.lock().unwrap().last().unwrap().clone();
        self.store.apply(&change).await.unwrap();
        *self.verdict.lock().unwrap() = Some(Approval::Over);
    }

    fn reject(&self) {
        *self.verdict.lock().unwrap() = Some(Approval::Rejected { text: "the change was rejected".into() });
    }
}

#[async_trait]
impl Manners for Held {
    fn store(&self) -> &MemoryProvider {
        &self.store
    }
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        self.tasks.lock().unwrap().push(change.clone());
        let mut lost = self.lost.lock().unwrap();
        if *lost > 0 {
            *lost -= 1;
            return Err(ProviderError::Uncertain { text: "no reply".into(), source: None });
        }
        let (reference, task) = (format!("task/{}", self.tasks()), self.tasks().to_string());
        Ok(Receipt {
            reference,
            disposition: Disposition::AwaitingApproval { task },
            read_back: None,
            amends: vec![],
        })
    }

    async fn held(&self, _: &DomainName) -> Result<Option<Task>, ProviderError> {
        Ok(self.found.lock().unwrap().clone())
    }

    async fn approval(&self, _: &DomainName, reference: &str) -> Result<Approval, ProviderError> {
        let task = reference.trim_start_matches("task/").to_owned();
        Ok(self.verdict.lock().unwrap().clone().unwrap_or(Approval::Pending { task }))
    }
}

fn results(cluster: &Cluster) -> Vec<Value> {
    let log = cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
    log.iter().map(|change| change["status"]["result"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_change_that_waits_is_made_and_logged_once_however_often_it_is_looked_at() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    let running = cluster.run_with(provider.run());
    let message = cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    assert!(message.contains("as 1 at"), "{message}");
    pass(300).await;
    assert_eq!((provider.tasks(), results(&cluster)), (1, vec!["AwaitingApproval".into()]));
    // A restart does not ask for it again.
    running.stop().await;
    let _running = cluster.run_with(provider.run());
    pass(60).await;
    assert_eq!((provider.tasks(), results(&cluster)), (1, vec!["AwaitingApproval".into()]));
    provider.approve().await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    pass(60).await;
    let logged = vec!["AwaitingApproval".into(), "Applied".into()];
    assert_eq!((provider.tasks(), results(&cluster)), (1, logged));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_rejected_is_logged_as_failed_once_and_not_asked_for_again() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    let _running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    provider.reject();
    let message = cluster.zone_tells("InSync", "False", "Refused").await;
    assert_eq!(message, "the change was rejected");
    pass(300).await;
    let logged = vec!["AwaitingApproval".into(), "Failed".into()];
    assert_eq!((provider.tasks(), results(&cluster)), (1, logged));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_provider_has_forgotten_is_asked_for_anew() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    let _running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    *provider.verdict.lock().unwrap() = Some(Approval::Over);
    eventually("there is a second task", || (provider.tasks() == 2).then_some(())).await;
    *provider.verdict.lock().unwrap() = None;
    pass(120).await;
    let logged = vec!["AwaitingApproval".into(), "NotApplied".into(), "AwaitingApproval".into()];
    assert_eq!((provider.tasks(), results(&cluster)), (2, logged));
}

fn task(by: &str, ours: bool) -> Task {
    Task { task: "7".into(), reference: "task/7".into(), by: Some(by.into()), ours }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_somebody_else_about_the_zone_is_waited_for_and_nothing_is_logged() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    *provider.found.lock().unwrap() = Some(task("alice", false));
    let _running = cluster.run_with(provider.run());
    assert_eq!(
        cluster.zone_tells("InSync", "False", "WaitingForApproval").await,
        "nothing is changed at delegation cloud.example.com: a change by alice waits for approval there as 7 at memory; have it approved or rejected"
    );
    pass(300).await;
    assert_eq!((provider.tasks(), results(&cluster)), (0, vec![]));
    *provider.found.lock().unwrap() = None;
    eventually("it is submitted", || (provider.tasks() == 1).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_reply_is_lost_and_that_waits_for_approval_is_not_submitted_again() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    *provider.lost.lock().unwrap() = 1;
    let _running = cluster.run_with(provider.run());
    eventually("it is submitted", || (provider.tasks() == 1).then_some(())).await;
    *provider.found.lock().unwrap() = Some(task("gslb", true));
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    pass(300).await;
    assert_eq!((provider.tasks(), results(&cluster)), (1, vec!["AwaitingApproval".into()]));
    provider.approve().await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    let logged = vec!["AwaitingApproval".into(), "Applied".into()];
    assert_eq!((provider.tasks(), results(&cluster)), (1, logged));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_account_may_not_see_is_waited_for_and_told() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    let _running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    *provider.verdict.lock().unwrap() = Some(Approval::Unseen { text: "this account sees no tasks".into() });
    eventually("it is told", || {
        let told = crate::world::told(&cluster.zone(), "InSync", "False", "WaitingForApproval");
        told.filter(|text| text == "this account sees no tasks")
    })
    .await;
    pass(3600).await;
    assert_eq!((provider.tasks(), results(&cluster)), (1, vec!["AwaitingApproval".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_zone_delegation_made_anew_waits_for_no_hidden_task_of_the_one_before_it() {
    let (cluster, provider) = (Cluster::alone(), Held::new());
    let running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    *provider.verdict.lock().unwrap() = Some(Approval::Unseen { text: "this account sees no tasks".into() });
    cluster.api.delete("k8gb.io/v1beta1", "ZoneDelegation", "", "cloud-example-com").unwrap();
    eventually("it is gone", || cluster.zone().is_null().then_some(())).await;
    running.stop().await;
    // One that can be seen is waited for, whoever asked for it.
    *provider.found.lock().unwrap() = Some(task("gslb", true));
    let _running = cluster.run_with(provider.run());
    cluster.zone_tells("InSync", "False", "WaitingForApproval").await;
    pass(120).await;
    assert_eq!(provider.tasks(), 1);
    *provider.found.lock().unwrap() = None;
    eventually("it is submitted anew", || (provider.tasks() == 2).then_some(())).await;
}
