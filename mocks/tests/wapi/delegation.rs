//! `zone_delegated`: create, read, change, delete.

use crate::harness::{Bench, bench, builder, delegation, refusal, server};
use gslb_mocks::wapi::Account;
use serde_json::json;

const REFERENCE: &str =
    "zone_delegated/ZG5zLnpvbmUkLl9kZWZhdWx0LmNvbS5leGFtcGxlLmdzbGI:gslb.example.com/default";

/// §10.1 1 [code].
#[tokio::test]
async fn a_create_answers_201_with_the_bare_reference() {
    let bench = bench();
    let reply = bench.post("zone_delegated", delegation("gslb.example.com")).await;
    assert_eq!((reply.status.as_u16(), reply.content_type.as_str()), (201, "application/json"));
    assert_eq!(reply.text, format!("\"{REFERENCE}\""));
}

/// §10.1 1 [doc].
#[tokio::test]
async fn a_create_may_answer_with_the_object() {
    let bench = bench();
    let mut body = delegation("gslb.example.com");
    body["comment"] = json!("owned by cluster-1");
    let reply = bench.post("zone_delegated?_return_fields%2B=comment&_return_as_object=1", body).await;
    let expected = json!({"result": {
        "_ref": REFERENCE,
        "comment": "owned by cluster-1",
        "delegate_to": [server("ns-eu.example.net", "192.0.2.53")],
        "fqdn": "gslb.example.com",
        "view": "default",
    }});
    assert_eq!((reply.status.as_u16(), reply.json()), (201, expected));
}

/// §10.1 1+2 [code].
#[tokio::test]
async fn a_search_without_match_is_an_empty_list_and_an_unknown_reference_404() {
    let bench = bench();
    let reply = bench.get("zone_delegated?fqdn=gslb.example.com&view=default").await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (200, "[]"));
    let text = format!("Reference {REFERENCE} not found");
    assert_eq!(bench.get(REFERENCE).await.refusal(), refusal(404, "Data.NotFound", &text));
    let invalid = bench.get("zone_delegated/not-a-ref:gslb.example.com/default").await;
    assert_eq!(invalid.refusal(), refusal(400, "Proto", "Invalid reference"));
}

/// §10.1 4 [doc].
#[tokio::test]
async fn a_read_shows_base_fields_and_others_only_when_asked() {
    let bench = bench();
    let reference = bench.delegated().await;
    let base = bench.get(&reference).await.json();
    assert_eq!(base.as_object().unwrap().keys().collect::<Vec<_>>(), ["_ref", "delegate_to", "fqdn", "view"]);
    let fields = "delegated_ttl,use_delegated_ttl,disable,locked,extattrs,zone_format,comment,parent";
    let asked = bench.get(&format!("{reference}?_return_fields={fields}")).await.json();
    let expected = json!({
        "_ref": REFERENCE, "delegated_ttl": 28800, "use_delegated_ttl": false, "disable": false, "locked": false,
        "extattrs": {}, "zone_format": "FORWARD", "parent": "example.com",
    });
    assert_eq!(asked, expected);
}

/// §10.1 5 [inferred].
#[tokio::test]
async fn a_slash_in_a_reference_may_be_encoded_but_nothing_twice_inferred() {
    let bench = bench();
    let reference = bench.delegated().await;
    let (start, view) = reference.rsplit_once('/').unwrap();
    assert_eq!(bench.get(&format!("{start}%2F{view}")).await.status, 200);
    assert_eq!(bench.get(&format!("{start}%252F{view}")).await.status, 404);
}

/// §10.1 4+6 [code].
#[tokio::test]
async fn names_are_stored_in_lower_case() {
    let bench = bench();
    let reference = bench.created("zone_delegated", delegation("GSLB.Example.com")).await;
    assert_eq!(reference, REFERENCE);
    assert_eq!(bench.get("zone_delegated?fqdn=GSLB.Example.com").await.text, "[]");
    let found = bench.get("zone_delegated?fqdn%3A=GSLB.Example.com").await.json();
    assert_eq!(found[0]["_ref"], REFERENCE);
}

/// §10.1 2+4 [inferred].
#[tokio::test]
async fn one_name_per_view_is_one_zone_of_any_kind_inferred() {
    let bench = bench();
    bench.delegated().await;
    let duplicate = "Duplicate object 'gslb.example.com' of type zone exists in the database.";
    let again = bench.post("zone_delegated", delegation("gslb.example.com")).await;
    assert_eq!(again.refusal(), refusal(400, "Data.Conflict", duplicate));
    let other_kind = bench.post("zone_auth", json!({"fqdn": "gslb.example.com"})).await;
    assert_eq!(other_kind.refusal(), refusal(400, "Data.Conflict", duplicate));
    let mut other_view = delegation("gslb.example.com");
    other_view["view"] = json!("internal");
    assert_eq!(bench.post("zone_delegated", other_view).await.status, 201);
    assert_eq!(bench.get("zone_delegated?fqdn=gslb.example.com").await.json().as_array().unwrap().len(), 2);
}

/// §10.1 2+4 [inferred].
#[tokio::test]
async fn the_closest_enclosing_zone_must_be_authoritative_inferred() {
    let bench = bench();
    let not_found = refusal(400, "Data.Conflict", "The action is not allowed. A parent was not found.");
    assert_eq!(bench.post("zone_delegated", delegation("gslb.example.org")).await.refusal(), not_found);
    assert_eq!(bench.post("zone_delegated", delegation("a.b.example.com")).await.status, 201);
    assert_eq!(bench.post("zone_delegated", delegation("c.a.b.example.com")).await.refusal(), not_found);
    assert_eq!(bench.post("zone_auth", json!({"fqdn": "auth.a.b.example.com"})).await.status, 201);
}

/// §10.1 2 [code].
#[tokio::test]
async fn an_unknown_view_is_404_even_on_create() {
    let bench = bench();
    let mut body = delegation("gslb.example.com");
    body["view"] = json!("nosuchview");
    let reply = bench.post("zone_delegated", body.clone()).await;
    assert_eq!(reply.refusal(), refusal(404, "Data.NotFound", "View nosuchview not found"));
    body["view"] = json!("");
    let reply = bench.post("zone_delegated", body).await;
    assert_eq!(reply.refusal(), refusal(404, "Data.NotFound", "View  not found"));
}

/// §10.1 2 [code].
#[tokio::test]
async fn a_view_that_the_account_may_not_see_has_no_parent_zone() {
    let grid = builder().account(Account::new("guest", "pw").without_view("default")).build().unwrap();
    let bench = Bench::of(grid);
    let request = bench.client.post(format!("{}/zone_delegated", bench.base)).basic_auth("guest", Some("pw"));
    let reply =
        crate::harness::read(request.json(&delegation("gslb.example.com")).send().await.unwrap()).await;
    let text = "The action is not allowed. A parent was not found.";
    assert_eq!(reply.refusal(), refusal(400, "Data.Conflict", text));
}

/// §10.1 4 [code].
#[tokio::test]
async fn a_put_merges_fields_and_replaces_lists_and_attributes_whole() {
    let bench = bench();
    let mut body = delegation("gslb.example.com");
    body["extattrs"] = json!({"Owner": {"value": "cluster-1"}});
    body["comment"] = json!("kept");
    let reference = bench.created("zone_delegated", body).await;
    let list = json!([server("ns-us.example.net", "198.51.100.53")]);
    let reply = bench.put(&reference, json!({"delegate_to": list, "extattrs": {}})).await;
    assert_eq!((reply.status.as_u16(), reply.text), (200, format!("\"{reference}\"")));
    let read = bench.get(&format!("{reference}?_return_fields=delegate_to,extattrs,comment")).await.json();
    assert_eq!(read, json!({"_ref": REFERENCE, "delegate_to": list, "extattrs": {}, "comment": "kept"}));
}

/// §10.1 4 [code].
#[tokio::test]
async fn attributes_can_be_added_and_taken_one_by_one() {
    let grid = builder().attribute("Site").build().unwrap();
    let bench = Bench::of(grid);
    let reference = bench.delegated().await;
    bench.put(&reference, json!({"extattrs+": {"Owner": {"value": "cluster-1"}}})).await;
    bench.put(&reference, json!({"extattrs+": {"Site": {"value": "eu"}}})).await;
    bench.put(&reference, json!({"extattrs-": {"Owner": {}}})).await;
    let zone = bench.grid.delegation("gslb.example.com", "default").unwrap();
    assert_eq!(serde_json::Value::from(zone.extattrs), json!({"Site": "eu"}));
}

/// §10.1 2+6+16 [code].
#[tokio::test]
async fn an_undefined_attribute_is_refused_in_writes_and_searches() {
    let bench = bench();
    let unknown = refusal(400, "Proto", "Unknown extensible attribute: Nope");
    let mut body = delegation("gslb.example.com");
    body["extattrs"] = json!({"Nope": {"value": "x"}});
    assert_eq!(bench.post("zone_delegated", body).await.refusal(), unknown);
    assert_eq!(bench.get("zone_delegated?*Nope=x").await.refusal(), unknown);
    assert_eq!(bench.get("zone_delegated?*Owner=x").await.text, "[]");
}

/// §10.1 2 [code].
#[tokio::test]
async fn create_only_read_only_and_unknown_fields_are_refused_each_in_its_own_words() {
    let bench = bench();
    let reference = bench.delegated().await;
    for (body, text) in [
        (json!({"view": "default"}), "Field is not allowed for update: view"),
        (json!({"zone_format": "FORWARD"}), "Field is not allowed for update: zone_format"),
        (json!({"parent": "example.com"}), "Field is not writable: parent"),
        (json!({"nosuch": 1}), "Unknown argument/field: 'nosuch'"),
    ] {
        assert_eq!(bench.put(&reference, body).await.refusal(), refusal(400, "Proto", text));
    }
    let reply = bench.post("zone_delegated", json!({"delegate_to": []})).await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "field for create missing: fqdn"));
    let reply = bench.get("zone_delegated?_return_fields=nosuch").await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "Unknown argument/field: 'nosuch'"));
}

/// §10.1 4 [doc].
#[tokio::test]
async fn a_ttl_counts_only_with_its_flag() {
    let bench = bench();
    let reference = bench.delegated().await;
    let ttl = || async {
        let read = bench.get(&format!("{reference}?_return_fields=delegated_ttl")).await.json();
        read["delegated_ttl"].as_u64()
    };
    bench.put(&reference, json!({"delegated_ttl": 30})).await;
    assert_eq!(ttl().await, Some(28800));
    bench.put(&reference, json!({"delegated_ttl": 30, "use_delegated_ttl": true})).await;
    assert_eq!(ttl().await, Some(30));
}

/// §10.1 4 [code].
#[tokio::test]
async fn the_update_of_k8gb_is_accepted() {
    let bench = bench();
    let reference = bench.delegated().await;
    let body = json!({
        "comment": "updated", "delegate_to": [server("ns-eu.example.net", "192.0.2.53")], "delegated_ttl": 30,
        "disable": false, "extattrs": {}, "locked": false, "ns_group": null, "use_delegated_ttl": true,
    });
    assert_eq!(bench.put(&reference, body.clone()).await.status, 200);
    assert_eq!(bench.put(&reference, body).await.status, 200);
    let writes = bench.grid.journal().effective_writes();
    assert_eq!(writes.len(), 2, "the second, equal update changes nothing");
}

/// §10.1 1 [code].
#[tokio::test]
async fn a_delete_answers_with_the_reference_and_again_404() {
    let bench = bench();
    let reference = bench.delegated().await;
    let reply = bench.delete(&reference).await;
    assert_eq!((reply.status.as_u16(), reply.text), (200, format!("\"{reference}\"")));
    assert_eq!(bench.delete(&reference).await.status, 404);
    assert_eq!(bench.grid.delegations(), []);
}

/// §10.1 9 [code]. QA-derived: the vendor's own regression test.
#[tokio::test]
async fn qa_derived_a_new_delegation_makes_records_below_vanish_and_refuses_new_ones_even_when_disabled() {
    let bench = bench();
    let record = |name: &str| json!({"name": name, "ipv4addr": "192.0.2.10"});
    bench.created("record:a", record("a.gslb.example.com")).await;
    bench.created("record:a", record("www.example.com")).await;
    let mut body = delegation("gslb.example.com");
    body["disable"] = json!(true);
    bench.created("zone_delegated", body).await;
    assert_eq!(bench.get("record:a?name=a.gslb.example.com").await.text, "[]");
    assert_eq!(bench.get("record:a?name=www.example.com").await.json().as_array().unwrap().len(), 1);
    assert_eq!(bench.post("record:a", record("b.gslb.example.com")).await.status, 400);
}

/// §10.1 17 [doc].
#[tokio::test]
async fn a_lock_keeps_others_out_until_it_is_lifted() {
    let bench = bench();
    let reference = bench.delegated().await;
    bench.grid.edit(|admin| admin.update(&reference, json!({"locked": true}))).unwrap();
    let refused = bench.put(&reference, json!({"comment": "mine"})).await;
    assert_eq!(refused.status, 400);
    let zone = bench.grid.delegation("gslb.example.com", "default").unwrap();
    assert_eq!(zone.locked_by.as_deref(), Some("dns-team"));
    let unlock =
        bench.post(&format!("{reference}?_function=lock_unlock_zone"), json!({"operation": "UNLOCK"})).await;
    assert_eq!(unlock.status, 200);
    assert_eq!(bench.put(&reference, json!({"comment": "mine"})).await.status, 200);
}

/// §10.1 4 [code].
#[tokio::test]
async fn a_name_server_group_takes_the_place_of_the_list_which_reads_null() {
    let bench = bench();
    let body = json!({"fqdn": "gslb.example.com", "delegate_to": null, "ns_group": "outside"});
    let reference = bench.created("zone_delegated", body).await;
    let read = bench.get(&format!("{reference}?_return_fields=delegate_to,ns_group")).await.json();
    assert_eq!(read, json!({"_ref": REFERENCE, "delegate_to": null, "ns_group": "outside"}));
    let neither = bench.post("zone_delegated", json!({"fqdn": "apps.example.com", "ns_group": null})).await;
    assert_eq!(neither.refusal(), refusal(400, "Proto", "field for create missing: delegate_to"));
}
