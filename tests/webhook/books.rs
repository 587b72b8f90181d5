//! The change log: one entry for each set, in a chain of its own, and nothing without it.

use gslb_core::changelog::{Line, verify, verify_from};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use gslb_mocks::kube::{Failure, Fault, Matcher};
use gslb_mocks::wapi::Fault as GridFault;
use serde_json::json;

use crate::world::{Stage, USER, create, delete, endpoint, update};

fn lines(stage: &Stage) -> Vec<Line> {
    let mut lines: Vec<Line> = stage.log().iter().flat_map(ProviderChange::lines).collect();
    lines.sort_by_key(|line| line.line);
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_of_a_set_is_an_entry_with_its_outcome_in_the_chain_of_its_owner() {
    let stage = Stage::new();
    let mut www = endpoint("www", "A", 30, &["192.0.2.1"]);
    www.labels.insert("resource".into(), "ingress/default/app".into());
    stage.apply(&create(&[www.clone()])).await;
    stage.apply(&update(www, endpoint("www", "A", 30, &["192.0.2.2"]))).await;
    stage.apply(&delete(&[endpoint("www", "A", 30, &["192.0.2.2"])])).await;
    assert_eq!(
        stage.entries(),
        [
            "Create A www.example.com Applied",
            "Replace A www.example.com Applied",
            "Delete A www.example.com Applied"
        ]
    );
    let first = stage.log().remove(0);
    assert_eq!(first.metadata.name.as_deref(), Some("webhook-eu-00000000000000000001"));
    let intent = &first.spec.intent.change;
    assert_eq!(
        (intent.why.as_str(), intent.zone.as_str(), intent.who.actor.as_str(), intent.who.cluster.as_str()),
        ("external-dns asked for it, for ingress/default/app", "example.com", "gslb-bridge webhook", "eu")
    );
    let log = LogName::new("webhook-eu").unwrap();
    assert!(verify_from(&log.start(), &lines(&stage), None).is_clean());
    assert!(!verify(&lines(&stage), None).is_clean(), "no chain passes for that of another log");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_without_a_stored_intent() {
    let stage = Stage::new();
    let matcher = Matcher::new("create", "gslb-bridge.io", "providerchanges");
    stage.api.faults().inject(Fault { matcher, failure: Failure::status(403), times: None });
    let answer = stage.apply(&create(&[endpoint("www", "A", 0, &["192.0.2.1"])])).await;
    assert_eq!(answer.status, 503);
    assert!(
        answer.body.starts_with("nothing is changed because the change log cannot be written"),
        "{}",
        answer.body
    );
    assert_eq!(stage.list().await, []);
}

/// C046.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_nobody_saw_the_end_of_is_settled_by_reading_before_the_next() {
    let stage = Stage::new();
    stage.apply(&create(&[endpoint("first", "A", 0, &["192.0.2.9"])])).await;
    // The write itself: before it one name is read twice, by the plan and by the write.
    stage.grid.faults().inject(GridFault::ResetBeforeCommit.on_path("/request").after(2).times(1));
    let www = [endpoint("www", "A", 0, &["192.0.2.1"])];
    let answer = stage.apply(&create(&www)).await;
    assert!(
        answer.body.contains("it is not known whether the last change of A www.example.com was made"),
        "{answer:?}"
    );
    let unknown = ["Create A first.example.com Applied", "Create A www.example.com Unknown"];
    assert_eq!(stage.entries(), unknown);

    let stage = stage.restarted();
    let answer = stage.apply(&create(&www)).await;
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("nothing is written there until then"), "{answer:?}");
    assert_eq!(stage.entries(), unknown);
    // The request of a dead process cannot come any more.
    stage.advance(60);
    assert_eq!(stage.apply(&create(&www)).await.status, 204);
    assert_eq!(
        stage.entries(),
        [
            "Create A first.example.com Applied",
            "Create A www.example.com NotApplied",
            "Create A www.example.com Applied"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_settles_what_shows() {
    let stage = Stage::new();
    stage.apply(&create(&[endpoint("first", "A", 0, &["192.0.2.9"])])).await;
    let matcher = Matcher::new("update", "gslb-bridge.io", "providerchanges");
    stage.api.faults().inject(Fault { matcher, failure: Failure::status(403), times: None });
    stage.apply(&create(&[endpoint("www", "A", 0, &["192.0.2.1"])])).await;
    assert_eq!(stage.entries()[1], "Create A www.example.com Unknown");
    stage.api.faults().clear();
    let stage = stage.restarted();
    assert_eq!(stage.list().await.len(), 2);
    assert_eq!(stage.entries()[1], "Create A www.example.com Applied");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_approval_is_not_submitted_twice_also_after_a_restart() {
    let stage = Stage::new();
    stage.grid.set_needs_approval(USER, true);
    let www = [endpoint("www", "A", 0, &["192.0.2.1"])];
    let waits = "A www.example.com waits for approval at the grid as task 1";
    let told = stage.apply(&create(&www)).await;
    assert_eq!((told.status, told.body.as_str()), (500, waits));
    assert_eq!(stage.apply(&create(&www)).await.body, waits);
    let stage = stage.restarted();
    assert_eq!(stage.apply(&create(&www)).await.body, waits);
    assert_eq!(stage.entries(), ["Create A www.example.com AwaitingApproval"]);
    stage.grid.edit(|admin| admin.approve(1)).unwrap();
    assert_eq!(stage.apply(&create(&www)).await.status, 204);
    assert_eq!(stage.list().await.len(), 1);
}

/// The text of somebody who edited our record by hand, with the characters that are escaped where it is written down.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_change_of_any_text_is_settled_before_its_set_is_written_again() {
    let stage = Stage::new();
    let note = [endpoint("note", "TXT", 0, &["one"])];
    stage.apply(&create(&note)).await;
    stage.grid.edit(|admin| {
        let found = admin.find("record:txt", &[]).unwrap().remove(0);
        admin.update(found["_ref"].as_str().unwrap(), json!({"text": r#""a\\b\"c""#})).unwrap();
    });
    stage.grid.faults().inject(GridFault::ResetBeforeCommit.on_path("/request").after(2).times(1));
    assert_eq!(stage.apply(&create(&note)).await.status, 500);
    let stage = stage.restarted();
    let answer = stage.apply(&create(&note)).await;
    assert!(answer.body.contains("nothing is written there until then"), "{answer:?}");
    stage.advance(60);
    assert_eq!(stage.apply(&create(&note)).await.status, 204);
    assert_eq!(
        stage.entries(),
        [
            "Create TXT note.example.com Applied",
            "Replace TXT note.example.com NotApplied",
            "Replace TXT note.example.com Applied"
        ]
    );
}
