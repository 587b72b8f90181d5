//! No change at a provider without a line in the change log.

use gslb_mocks::kube::{Failure, Fault, Matcher};
use gslb_provider_contract::ProviderError;
use gslb_provider_memory::Operation;
use serde_json::Value;

use crate::objects::{HOST, OWN, application, gslb, round_robin};
use crate::world::{Cluster, eventually, pass};

impl Cluster {
    fn log(&self) -> Vec<Value> {
        self.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "")
    }

    fn provider_writes(&self) -> usize {
        self.provider.as_ref().unwrap().writes().len()
    }
}

fn failing(verb: &str, code: u16) -> Fault {
    let matcher = Matcher::new(verb, "gslb-bridge.io", "providerchanges");
    Fault { matcher, failure: Failure::status(code), times: None }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_logged_before_it_is_made_and_completed_after() {
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    let log = cluster.log();
    assert_eq!(log.len(), 1);
    let (spec, status) = (&log[0]["spec"], &log[0]["status"]);
    assert_eq!(spec["who"]["cluster"], "eu");
    assert_eq!(spec["who"]["pod"], "gslb-bridge-0");
    assert_eq!(spec["object"]["name"], "cloud-example-com");
    assert_eq!(spec["object"]["uid"], cluster.zone()["metadata"]["uid"]);
    assert_eq!((&spec["action"], &spec["zone"]), (&Value::from("Create"), &Value::from("cloud.example.com")));
    assert!(spec["why"].as_str().unwrap().contains("gslb-ns-eu-cloud.example.com"));
    assert!(spec["before"].is_null() && !spec["after"].is_null());
    assert_eq!(status["result"], "Applied");
    assert_eq!(status["settledByReading"], false);
}

#[tokio::test(start_paused = true)]
async fn without_a_change_log_nothing_is_changed_at_the_provider_and_everything_else_goes_on() {
    let cluster = Cluster::alone().with_provider();
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
    cluster.api.faults().inject(failing("list", 500));
    let _running = cluster.run();
    cluster.publishes("app", &[("localtargets-app.cloud.example.com", &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    let message = eventually("the zone tells", || {
        let conditions = cluster.zone()["status"]["conditions"].as_array()?.clone();
        let in_sync = conditions.into_iter().find(|condition| condition["type"] == "InSync")?;
        (in_sync["status"] == "False").then(|| in_sync["message"].to_string())
    });
    let message = message.await;
    assert!(message.contains("change log"), "{message}");
    pass(60).await;
    assert_eq!(cluster.provider_writes(), 0);
    cluster.api.faults().clear();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(cluster.provider_writes(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_intent_that_cannot_be_stored_is_no_change() {
    let cluster = Cluster::alone().with_provider();
    cluster.api.faults().inject(failing("create", 403));
    let _running = cluster.run();
    pass(60).await;
    assert_eq!((cluster.provider_writes(), cluster.log().len()), (0, 0));
    cluster.api.faults().clear();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!((cluster.provider_writes(), cluster.log().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_outcome_could_not_be_stored_is_settled_without_a_restart() {
    let cluster = Cluster::alone().with_provider();
    cluster.api.faults().inject(failing("update", 500));
    let _running = cluster.run();
    eventually("the change is made", || (cluster.provider_writes() == 1).then_some(())).await;
    pass(60).await;
    cluster.api.faults().clear();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!(cluster.provider_writes(), 1);
    let log = cluster.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["status"]["result"], "Applied");
    assert_eq!(log[0]["status"]["settledByReading"], true);
}

#[tokio::test(start_paused = true)]
async fn a_change_that_a_crash_left_open_is_settled_after_the_restart() {
    let cluster = Cluster::alone().with_provider();
    cluster.api.faults().inject(failing("update", 500));
    let running = cluster.run();
    eventually("the change is made", || (cluster.provider_writes() == 1).then_some(())).await;
    running.stop().await;
    assert!(cluster.log()[0]["status"].is_null());
    cluster.api.faults().clear();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!((cluster.provider_writes(), cluster.log().len()), (1, 1));
    assert_eq!(cluster.log()[0]["status"]["result"], "Applied");
}

#[tokio::test(start_paused = true)]
async fn a_crash_before_the_call_is_settled_as_not_applied_and_made_good() {
    let cluster = Cluster::alone().with_provider();
    let lost = ProviderError::Uncertain { text: "no answer".into(), source: None };
    cluster.provider.as_ref().unwrap().fail_next(Operation::Apply, lost);
    cluster.api.faults().inject(failing("update", 500));
    let running = cluster.run();
    eventually("the intent is stored", || (cluster.log().len() == 1).then_some(())).await;
    running.stop().await;
    cluster.api.faults().clear();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    let results: Vec<Value> = cluster.log().iter().map(|change| change["status"]["result"].clone()).collect();
    assert_eq!(results, ["NotApplied", "Applied"]);
    assert_eq!(cluster.provider_writes(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_got_lost_is_settled_by_reading() {
    let cluster = Cluster::alone().with_provider();
    let lost = ProviderError::Uncertain { text: "no answer".into(), source: None };
    cluster.provider.as_ref().unwrap().fail_next(Operation::ReplyOfApply, lost);
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    assert_eq!((cluster.provider_writes(), cluster.log().len()), (1, 1));
    assert_eq!(cluster.log()[0]["status"]["settledByReading"], true);
}
