//! Appending: what is stored, what is shipped, who may write.

use gslb_bridge::audit::{AuditError, ChangeLog, Shipper};
use gslb_core::changelog::{
    ChangeResult, Fault, Line, SealKey, Verdict, verify, verify_against, verify_from,
};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use gslb_mocks::kube::{ApiServer, Failure};
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::world::*;

#[tokio::test]
async fn a_change_is_an_object_with_intent_and_outcome_and_two_shipped_lines() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;

    let pending = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap();
    let before_the_call = stored(&server);
    log.complete(pending, applied(), now()).await.unwrap();

    assert_eq!(before_the_call.len(), 1);
    assert_eq!(before_the_call[0].spec.intent.change, proposal("pod-0", "change-1"));
    assert_eq!(before_the_call[0].status, None);

    let change = &stored(&server)[0];
    assert_eq!(change.metadata.name.as_deref(), Some("00000000000000000001"));
    assert_eq!(change.status.as_ref().unwrap().outcome.verdict, applied());

    let report = verify_against(&lines(&server), None, &shipped.bytes());
    assert_eq!((report.lines, report.changes, report.unsettled, report.faults), (2, 1, vec![], vec![]));
}

#[tokio::test]
async fn changes_that_run_side_by_side_make_one_chain() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;
    let ids: Vec<String> = (0..8).map(|number| format!("change-{number}")).collect();

    futures::future::join_all(ids.iter().map(|id| record(&log, "pod-0", id))).await;

    let report = verify_against(&lines(&server), None, &shipped.bytes());
    assert_eq!((report.lines, report.changes, report.faults), (16, 8, vec![]));
}

#[tokio::test]
async fn a_log_that_is_opened_again_goes_on_where_it_was() {
    let server = api_server();
    let key = SealKey::new(*b"documentation");
    let (log, first) = open_sealed(&server, "pod-0/1", Some(key.clone())).await;
    record(&log, "pod-0", "change-1").await;
    drop(log);

    let (log, second) = open_sealed(&server, "pod-0/2", Some(key.clone())).await;
    record(&log, "pod-0", "change-2").await;

    let shipped = [first.bytes(), second.bytes()].concat();
    let report = verify_against(&lines(&server), Some(&key), &shipped);
    assert_eq!((report.lines, report.changes, report.faults), (4, 2, vec![]));
}

#[tokio::test]
async fn opening_a_settled_log_writes_nothing() {
    let server = api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    let revision = server.revision();

    let (log, _) = open(&server, "pod-0/2").await;
    assert!(log.unsettled().await.unwrap().is_empty());

    assert_eq!(server.revision(), revision);
}

#[tokio::test]
async fn an_intent_that_cannot_be_stored_gives_nothing_to_call_the_provider_with() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;

    fail(&server, "create", Failure::status(403), 1);
    let refused = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap_err();
    assert_eq!(refused.reason(), "ChangeLogRefused");
    assert_eq!((stored(&server).len(), shipped.bytes().len()), (0, 0));

    record(&log, "pod-0", "change-2").await;
    assert!(verify_against(&lines(&server), None, &shipped.bytes()).is_clean());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_long_leaves_doubt_and_the_end_is_read_again() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;

    fail(&server, "create", Failure::status(503), 5);
    let away = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap_err();
    assert_eq!(away.reason(), "ChangeLogUnavailable");

    record(&log, "pod-0", "change-2").await;
    assert!(verify_against(&lines(&server), None, &shipped.bytes()).is_clean());
}

#[tokio::test(start_paused = true)]
async fn lost_answers_neither_repeat_nor_lose_a_line() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;

    fail(&server, "create", Failure::LoseAnswer, 1);
    let pending = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap();
    fail(&server, "update", Failure::LoseAnswer, 1);
    log.complete(pending, applied(), now()).await.unwrap();

    let report = verify_against(&lines(&server), None, &shipped.bytes());
    assert_eq!((report.lines, report.faults), (2, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_intent_whose_every_answer_was_lost_is_unsettled_and_its_line_is_shipped_late() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;

    fail(&server, "create", Failure::LoseAnswer, 1);
    fail(&server, "create", Failure::status(503), 4);
    log.intend(proposal("pod-0", "change-1"), now()).await.unwrap_err();

    let mut unsettled = log.unsettled().await.unwrap();
    let pending = unsettled.pop().unwrap();
    assert_eq!(pending.intent().change.change_id, "change-1");
    let not_applied = Verdict { result: ChangeResult::NotApplied, settled_by_reading: true, ..applied() };
    log.complete(pending, not_applied, now()).await.unwrap();

    let report = verify_against(&lines(&server), None, &shipped.bytes());
    assert_eq!((report.lines, report.unsettled, report.faults), (2, vec![], vec![]));
}

#[tokio::test]
async fn what_a_crash_left_open_is_found_and_settled_by_reading() {
    let server = api_server();
    let (crashed, first) = open(&server, "pod-0/1").await;
    drop(crashed.intend(proposal("pod-0", "change-1"), now()).await.unwrap());
    drop(crashed);
    assert_eq!(verify(&lines(&server), None).unsettled, [1]);

    let (log, second) = open(&server, "pod-0/2").await;
    let mut unsettled = log.unsettled().await.unwrap();
    assert_eq!(unsettled.len(), 1);
    let pending = unsettled.pop().unwrap();
    log.complete(pending, Verdict { settled_by_reading: true, ..applied() }, now()).await.unwrap();

    let shipped = [first.bytes(), second.bytes()].concat();
    let report = verify_against(&lines(&server), None, &shipped);
    assert_eq!((report.lines, report.unsettled, report.faults), (2, vec![], vec![]));
}

#[tokio::test]
async fn a_line_that_a_killed_writer_stored_and_never_shipped_is_shipped_by_the_next() {
    let server = api_server();
    let (killed, first) = open(&server, "pod-0/1").await;
    record(&killed, "pod-0", "change-1").await;
    let until_the_kill = first.bytes();
    drop(killed.intend(proposal("pod-0", "change-2"), now()).await.unwrap());

    let (log, second) = open(&server, "pod-0/2").await;
    for pending in log.unsettled().await.unwrap() {
        log.complete(pending, applied(), now()).await.unwrap();
    }

    let shipped = [until_the_kill, second.bytes()].concat();
    assert_eq!(verify_against(&lines(&server), None, &shipped).faults, []);
}

#[tokio::test]
async fn a_change_that_is_under_way_is_not_unsettled() {
    let server = api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    let pending = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap();
    assert!(log.unsettled().await.unwrap().is_empty());
    drop(pending);
    assert_eq!(log.unsettled().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stale_leader_is_stopped_at_its_next_intent() {
    let server = api_server();
    let (stale, _) = open(&server, "pod-0/1").await;
    let (leader, _) = open(&server, "pod-1/1").await;
    record(&leader, "pod-1", "change-1").await;

    for change in ["change-2", "change-3"] {
        let error = stale.intend(proposal("pod-0", change), now()).await.unwrap_err();
        assert!(matches!(error, AuditError::Superseded { by } if by == "pod-1"));
    }
    assert_eq!(stored(&server).len(), 1);
    assert!(verify(&lines(&server), None).is_clean());
}

#[tokio::test]
async fn a_stale_leader_cannot_add_an_outcome_to_what_another_took_over() {
    let server = api_server();
    let (stale, _) = open(&server, "pod-0/1").await;
    let pending = stale.intend(proposal("pod-0", "change-1"), now()).await.unwrap();

    let (leader, _) = open(&server, "pod-1/1").await;
    let late = stale.complete(pending, applied(), now()).await.unwrap_err();
    assert!(matches!(late, AuditError::Superseded { by } if by == "pod-1/1"));

    for pending in leader.unsettled().await.unwrap() {
        leader.complete(pending, applied(), now()).await.unwrap();
    }
    let report = verify(&lines(&server), None);
    assert_eq!((report.lines, report.unsettled, report.faults), (2, vec![], vec![]));
}

#[tokio::test]
async fn the_api_server_refuses_to_edit_what_the_log_says() {
    let server = api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    let changes: Api<ProviderChange> = Api::all(client(&server));
    let name = "00000000000000000001";

    let why = Patch::Merge(json!({ "spec": { "why": "nothing to see here" } }));
    let spec = changes.patch(name, &PatchParams::default(), &why).await.unwrap_err();
    assert!(spec.to_string().contains("a change is written once and never edited"), "{spec}");

    let result = Patch::Merge(json!({ "status": { "result": "Failed" } }));
    let status = changes.patch_status(name, &PatchParams::default(), &result).await.unwrap_err();
    assert!(status.to_string().contains("an outcome is written once and never edited"), "{status}");
}

#[tokio::test]
async fn a_label_that_somebody_adds_meanwhile_does_not_stop_the_outcome() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;
    let pending = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap();
    tamper(&server, 1, |object| object["metadata"]["labels"] = json!({ "reviewed": "yes" }));

    log.complete(pending, applied(), now()).await.unwrap();
    assert!(verify_against(&lines(&server), None, &shipped.bytes()).is_clean());
}

#[tokio::test]
async fn an_intent_that_was_deleted_meanwhile_is_reported_and_the_log_goes_on() {
    let server = api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    let pending = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap();
    server.delete(API_VERSION, "ProviderChange", "", "00000000000000000001").unwrap();

    let error = log.complete(pending, applied(), now()).await.unwrap_err();
    assert_eq!(error.reason(), "ChangeLogVanished");
    record(&log, "pod-0", "change-2").await;
    assert_eq!(stored(&server)[0].metadata.name.as_deref(), Some("00000000000000000002"));
}

#[tokio::test]
async fn a_server_that_stores_something_else_is_found_out_before_the_provider_is_called() {
    // A definition without the field, as an older or foreign one would be: the server prunes it.
    let server =
        foreign_api_server(|spec| drop(spec["properties"].as_object_mut().unwrap().remove("before")));
    let (log, _) = open(&server, "pod-0/1").await;
    let error = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap_err();
    assert_eq!(error.reason(), "ChangeLogAltered");
}

#[tokio::test]
async fn a_missing_definition_is_named() {
    let server = ApiServer::builder().build();
    let error = try_open(&server, "pod-0/1").await.err().unwrap();
    assert_eq!(error.to_string(), "the API server refused providerchanges");
}

#[tokio::test]
async fn an_object_that_cannot_be_read_does_not_stop_the_log() {
    let server = foreign_api_server(|spec| spec["required"] = json!([]));
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    let mut broken = server.list(API_VERSION, "ProviderChange", "").remove(0);
    broken["metadata"] = json!({ "name": "00000000000000000000" });
    broken["spec"].as_object_mut().unwrap().remove("zone");
    server.put_object(broken).unwrap();

    let (log, _) = open(&server, "pod-0/2").await;
    record(&log, "pod-0", "change-2").await;
    let names: Vec<_> = server
        .list(API_VERSION, "ProviderChange", "")
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap().trim_start_matches('0').to_owned())
        .collect();
    assert_eq!(names, ["", "1", "2"]);
}

/// A server that lets go of a field, so that an object can be spoiled.
fn lenient_api_server() -> ApiServer {
    foreign_api_server(|spec| spec["required"] = json!([]))
}

fn spoil(server: &ApiServer, sequence: u64) {
    lift_rules(server);
    tamper(server, sequence, |object| drop(object["spec"].as_object_mut().unwrap().remove("zone")));
}

#[tokio::test]
async fn a_newest_object_that_cannot_be_read_is_left_out_and_shows_as_a_gap() {
    let server = lenient_api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    record(&log, "pod-0", "change-2").await;
    spoil(&server, 2);

    let (log, _) = open(&server, "pod-0/2").await;
    record(&log, "pod-0", "change-3").await;

    let report = verify(&readable_lines(&server), None);
    assert_eq!(report.faults, [Fault::SequenceBroken { line: 3, expected: 2, found: 3 }]);
}

#[tokio::test]
async fn a_log_whose_only_object_cannot_be_read_goes_on_behind_it() {
    let server = lenient_api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    spoil(&server, 1);

    let (log, _) = open(&server, "pod-0/2").await;
    record(&log, "pod-0", "change-2").await;
    assert_eq!(verify(&readable_lines(&server), None).changes, 1);
}

#[tokio::test]
async fn an_object_that_appears_unreadable_under_the_next_name_leaves_doubt_and_no_successor() {
    let server = lenient_api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    let mut broken = server.list(API_VERSION, "ProviderChange", "").remove(0);
    broken["metadata"] = json!({ "name": "00000000000000000002" });
    broken["spec"].as_object_mut().unwrap().remove("zone");
    server.put_object(broken).unwrap();

    let error = log.intend(proposal("pod-0", "change-2"), now()).await.unwrap_err();
    assert_eq!(error.reason(), "ChangeLogUnavailable");
    record(&log, "pod-0", "change-3").await;
    assert_eq!(verify(&readable_lines(&server), None).changes, 2);
}

#[tokio::test]
async fn an_object_that_is_deleted_between_conflict_and_look_leaves_doubt_and_no_successor() {
    let server = api_server();
    let (log, shipped) = open(&server, "pod-0/1").await;
    let message = "it was there a moment ago".into();
    let exists = Failure::Status { code: 409, reason: "AlreadyExists".into(), message };
    fail(&server, "create", exists, 1);

    let error = log.intend(proposal("pod-0", "change-1"), now()).await.unwrap_err();
    assert_eq!(error.reason(), "ChangeLogUnavailable");
    record(&log, "pod-0", "change-2").await;
    assert!(verify_against(&lines(&server), None, &shipped.bytes()).is_clean());
}

#[tokio::test]
async fn a_misnamed_object_does_not_stop_the_log() {
    let server = api_server();
    let (log, _) = open(&server, "pod-0/1").await;
    record(&log, "pod-0", "change-1").await;
    let mut copy = server.list(API_VERSION, "ProviderChange", "").remove(0);
    copy["metadata"] = json!({ "name": "00000000000000000002" });
    server.put_object(copy).unwrap();

    let (log, _) = open(&server, "pod-0/2").await;
    record(&log, "pod-0", "change-2").await;
}

/// A webhook beside the controller.
#[tokio::test]
async fn two_logs_are_written_side_by_side_and_each_is_a_chain_of_its_own() {
    let server = api_server();
    let name = LogName::new("webhook-eu").unwrap();
    let named =
        |writer: &str| ChangeLog::new(client(&server), writer, None, Shipper::none()).named(name.clone());
    let (run, _shipped) = open(&server, "pod-0/1").await;
    let webhook = named("webhook-0/1");
    record(&run, "pod-0", "change-1").await;
    record(&webhook, "webhook-0", "change-1").await;
    record(&run, "pod-0", "change-2").await;
    drop(webhook.intend(proposal("webhook-0", "change-2"), now()).await.unwrap());
    let names: Vec<_> = stored(&server).into_iter().map(|change| change.metadata.name.unwrap()).collect();
    assert_eq!(
        names,
        [
            "00000000000000000001",
            "00000000000000000002",
            "webhook-eu-00000000000000000001",
            "webhook-eu-00000000000000000002"
        ]
    );
    let lines_of = |log: &LogName| {
        let of = |change: &ProviderChange| log.number_of(&change.name_any()).is_some();
        let mut lines: Vec<Line> =
            stored(&server).iter().filter(|change| of(change)).flat_map(ProviderChange::lines).collect();
        lines.sort_by_key(|line| line.line);
        lines
    };
    let run_name = LogName::default();
    assert!(verify_from(&run_name.start(), &lines_of(&run_name), None).is_clean());
    assert!(verify_from(&name.start(), &lines_of(&name), None).is_clean());
    // Neither takes over what the other one left open.
    assert!(run.unsettled().await.unwrap().is_empty());
    assert_eq!(named("webhook-0/2").unsettled().await.unwrap().len(), 1);
    record(&run, "pod-0", "change-3").await;
}
