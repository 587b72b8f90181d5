//! What the change log holds of a change whose outcome is late.

use gslb_mocks::kube::{Failure, Fault, Matcher};
use serde_json::Value;

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
