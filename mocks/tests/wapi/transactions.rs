//! Batches, scheduled and approved writes.

use crate::harness::{Bench, PASSWORD, USER, bench, builder, delegation, read, refusal, server};
use gslb_mocks::wapi::{Account, Rules};
use serde_json::{Value, json};

fn compare_and_set(owner: &str) -> Value {
    json!([
        {"method": "GET", "object": "zone_delegated", "data": {"fqdn": "gslb.example.com", "view": "default", "*Owner": owner},
         "args": {"_return_fields": "delegate_to"}, "assign_state": {"ZREF": "_ref"}, "discard": true},
        {"method": "PUT", "object": "##STATE:ZREF:##", "enable_substitution": true,
         "data": {"delegate_to": [server("ns-us.example.net", "198.51.100.53")]}, "discard": true},
        {"method": "GET", "object": "##STATE:ZREF:##", "enable_substitution": true,
         "assign_state": {"OWNER": "*Owner", "FIRST": "delegate_to[0]"}, "discard": true},
        {"method": "STATE:DISPLAY"},
    ])
}

async fn owned(bench: &Bench) -> String {
    let mut body = delegation("gslb.example.com");
    body["extattrs"] = json!({"Owner": {"value": "cluster-1"}});
    bench.created("zone_delegated", body).await
}

/// §10.1 12 [inferred].
#[tokio::test]
async fn a_batch_compares_and_sets_with_state_variables_inferred() {
    let bench = bench();
    let reference = owned(&bench).await;
    let reply = bench.post("request", compare_and_set("cluster-1")).await;
    let first = server("ns-us.example.net", "198.51.100.53");
    let expected = json!([{"ZREF": reference, "OWNER": "cluster-1", "FIRST": first}]);
    assert_eq!((reply.status.as_u16(), reply.json()), (201, expected));
    let zone = bench.grid.delegation("gslb.example.com", "default").unwrap();
    assert_eq!(zone.delegate_to[0].name, "ns-us.example.net");
}

/// §10.1 12 [code].
#[tokio::test]
async fn a_batch_whose_compare_finds_nothing_changes_nothing() {
    let bench = bench();
    owned(&bench).await;
    assert_eq!(bench.post("request", compare_and_set("cluster-2")).await.status, 400);
    let zone = bench.grid.delegation("gslb.example.com", "default").unwrap();
    assert_eq!(zone.delegate_to[0].name, "ns-eu.example.net");
    assert_eq!(bench.grid.journal().effective_writes().len(), 1);
}

/// §10.1 12 [doc].
#[tokio::test]
async fn a_failing_operation_takes_back_those_before_it() {
    let bench = bench();
    let batch = json!([
        {"method": "POST", "object": "zone_delegated", "data": delegation("gslb.example.com")},
        {"method": "POST", "object": "zone_delegated", "data": delegation("gslb.example.com")},
    ]);
    let text = "Duplicate object 'gslb.example.com' of type zone exists in the database.";
    assert_eq!(bench.post("request", batch).await.refusal(), refusal(400, "Data.Conflict", text));
    assert_eq!(bench.grid.delegations(), []);
}

/// §10.1 14 [doc].
#[tokio::test]
async fn a_write_that_needs_approval_answers_with_a_task_and_happens_when_approved() {
    let bench = bench();
    bench.grid.set_needs_approval(USER, true);
    let task = bench.created("zone_delegated", delegation("gslb.example.com")).await;
    assert_eq!(task, "scheduledtask/b25lLnF1ZXVlZF90YXNrJDE:1/PENDING");
    assert_eq!(bench.grid.delegations(), []);
    bench.grid.edit(|admin| admin.approve(1)).unwrap();
    assert_eq!(bench.grid.delegations().len(), 1);
    // The old status in the reference is good enough to ask by.
    let done = json!({
        "_ref": "scheduledtask/b25lLnF1ZXVlZF90YXNrJDE:1/COMPLETED",
        "approval_status": "APPROVED", "execution_status": "COMPLETED", "task_id": 1,
    });
    assert_eq!(bench.get(&task).await.json(), done);
}

/// §10.1 14 [doc].
#[tokio::test]
async fn a_rejected_task_leaves_the_grid_as_it_was() {
    let bench = bench();
    bench.grid.set_needs_approval(USER, true);
    bench.created("zone_delegated", delegation("gslb.example.com")).await;
    bench.grid.edit(|admin| admin.reject(1)).unwrap();
    assert_eq!(bench.grid.delegations(), []);
    assert!(bench.grid.edit(|admin| admin.approve(1)).is_err());
}

/// §10.1 14 [doc].
#[tokio::test]
async fn a_scheduled_write_waits_for_its_time() {
    let bench = bench();
    let path = "zone_delegated?_schedinfo.scheduled_time=1767225600";
    let reply = bench.post(path, delegation("gslb.example.com")).await;
    assert_eq!(reply.json(), "scheduledtask/b25lLnF1ZXVlZF90YXNrJDE:1/WAITING_EXECUTION");
    assert_eq!(bench.grid.delegations(), []);
}

/// §10.1 16 [code].
#[tokio::test]
async fn only_superusers_define_extensible_attributes() {
    let bench = Bench::of(builder().account(Account::new("writer", "pw")).build().unwrap());
    let definition = json!({"name": "Revision", "type": "STRING"});
    let as_user = async |user: &str, password: &str| {
        let request = bench.client.post(format!("{}/extensibleattributedef", bench.base));
        read(request.basic_auth(user, Some(password)).json(&definition).send().await.unwrap()).await
    };
    let text = "Cannot create extensible attribute definition 'Revision'. Only superusers can manage extensible \
                attribute definition";
    assert_eq!(as_user("writer", "pw").await.refusal(), refusal(400, "Data.Conflict", text));
    assert_eq!(as_user(USER, PASSWORD).await.status, 201);
    let found = bench.get("extensibleattributedef?name=Revision").await.json();
    assert_eq!((&found[0]["name"], &found[0]["type"]), (&json!("Revision"), &json!("STRING")));
}

/// §10.1 16 [inferred].
#[tokio::test]
async fn mandatory_attributes_are_enforced_only_when_the_rules_say_so_inferred() {
    let bench = bench();
    let definition = json!({"name": "Site", "type": "STRING", "flags": "M"});
    bench.created("extensibleattributedef", definition).await;
    bench.created("zone_delegated", delegation("a.example.com")).await;
    bench.grid.set_rules(Rules { enforces_mandatory_attributes: true, ..Rules::default() });
    assert_eq!(bench.post("zone_delegated", delegation("b.example.com")).await.status, 400);
}

/// §10.1 18 [inferred].
#[tokio::test]
async fn a_read_only_candidate_refuses_writes_inferred() {
    let bench = bench();
    bench.grid.set_rules(Rules { read_only_candidate: true, ..Rules::default() });
    assert_eq!(bench.post("zone_delegated", delegation("a.example.com")).await.status, 400);
    assert_eq!(bench.get("zone_delegated").await.status, 200);
}

/// §10.1 13 [code].
#[tokio::test]
async fn the_restart_status_shows_what_was_true_when_it_was_requested() {
    let bench = bench();
    let grid = bench.get("grid").await.json()[0]["_ref"].as_str().unwrap().to_owned();
    let status = async || {
        let path = format!("{grid}?_function=requestrestartservicestatus");
        assert_eq!(bench.post(&path, json!({"service_option": "DNS"})).await.status, 200);
        bench.get("restartservicestatus").await.json()[0]["dns_status"].clone()
    };
    assert_eq!(status().await, "NO");
    bench.delegated().await;
    assert_eq!(status().await, "YES");
    bench.post(&format!("{grid}?_function=restartservices"), json!({"service_option": "ALL"})).await;
    assert_eq!(status().await, "NO");
    assert_eq!(bench.grid.journal().effective_writes().len(), 1, "asking for the status changes nothing");
    let unknown = bench.post(&format!("{grid}?_function=csv_export"), json!({})).await;
    assert_eq!(unknown.refusal(), refusal(400, "Proto", "Function csv_export is not valid for this object"));
}
