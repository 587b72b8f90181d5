//! Searches: limits, pages, filters.

use crate::harness::{Bench, bench, delegation, refusal};
use serde_json::{Value, json};

async fn with_delegations(count: usize) -> Bench {
    let bench = bench();
    for number in 0..count {
        bench
            .grid
            .edit(|admin| admin.create("zone_delegated", delegation(&format!("z{number}.example.com"))))
            .unwrap();
    }
    bench
}

fn names(result: &Value) -> Vec<&str> {
    result.as_array().unwrap().iter().map(|zone| zone["fqdn"].as_str().unwrap()).collect()
}

/// §10.1 7 [doc].
#[tokio::test]
async fn a_positive_limit_truncates_silently_and_a_negative_one_is_an_error() {
    let bench = with_delegations(3).await;
    assert_eq!(bench.get("zone_delegated?_max_results=2").await.json().as_array().unwrap().len(), 2);
    let reply = bench.get("zone_delegated?_max_results=-2").await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "Result set too large (> 2)"));
    assert_eq!(bench.get("zone_delegated?_max_results=-3").await.status, 200);
}

/// §10.1 7 [issue].
#[tokio::test]
async fn more_than_a_thousand_results_are_an_error_unless_limited_or_paged() {
    let bench = with_delegations(1001).await;
    let reply = bench.get("zone_delegated").await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "Result set too large (> 1000)"));
}

/// §10.1 7 [code].
#[tokio::test]
async fn pages_follow_by_their_id_alone() {
    let bench = with_delegations(3).await;
    let first =
        bench.get("zone_delegated?view=default&_paging=1&_return_as_object=1&_max_results=2").await.json();
    assert_eq!(names(&first["result"]), ["z0.example.com", "z1.example.com"]);
    let id = first["next_page_id"].as_str().unwrap();
    let last = bench.get(&format!("zone_delegated?_page_id={id}")).await.json();
    assert_eq!((names(&last["result"]), last.get("next_page_id")), (vec!["z2.example.com"], None));
    let wrapped = bench.get("zone_delegated?fqdn=nosuch.example.com&_return_as_object=1").await.json();
    assert_eq!(wrapped, json!({"result": []}));
}

/// §10.1 7 [code].
#[tokio::test]
async fn paging_without_object_form_is_refused() {
    let reply = bench().get("zone_delegated?_paging=1&_max_results=2").await;
    let text = "_return_as_object needs to be enabled for paging requests.";
    assert_eq!(reply.refusal(), refusal(400, "Proto", text));
}

/// §10.1 6 [code].
#[tokio::test]
async fn filters_are_combined_and_work_on_parents_comments_and_attributes() {
    let bench = with_delegations(2).await;
    let reference = bench.get("zone_delegated?fqdn=z1.example.com").await.json()[0]["_ref"].clone();
    let change = json!({"comment": "Team A", "extattrs": {"Owner": {"value": "cluster-1"}}});
    bench.put(reference.as_str().unwrap(), change).await;
    for query in [
        "comment~=Team",
        "comment:=team%20a",
        "comment%3A~=TEAM",
        "*Owner=cluster-1",
        "*Owner~=%5Eclus",
        "parent=example.com&view=default&zone_format=FORWARD&comment=Team+A",
    ] {
        let found = bench.get(&format!("zone_delegated?{query}")).await.json();
        assert_eq!(names(&found), ["z1.example.com"], "{query}");
    }
    assert_eq!(bench.get("zone_delegated?*Owner=cluster-2").await.text, "[]");
}

/// §10.1 6 [code].
#[tokio::test]
async fn arguments_of_a_search_may_stand_in_the_body() {
    let bench = bench();
    let found = bench.send(reqwest::Method::GET, "view", Some(json!({"name": "default"}))).await.json();
    let expected = json!([{"_ref": "view/ZG5zLnZpZXckLl9kZWZhdWx0:default/true", "is_default": true, "name": "default"}]);
    assert_eq!(found, expected);
}

/// §10.1 6 [code].
#[tokio::test]
async fn what_cannot_be_searched_is_refused_each_in_its_own_words() {
    let bench = bench();
    for (query, text) in [
        ("zone_delegated?nosuch=1", "Unknown argument/field: 'nosuch'"),
        ("zone_delegated?disable=true", "Field is not searchable: disable"),
        ("zone_delegated?delegate_to=x", "Field is not searchable: delegate_to"),
        ("zone_delegated?_nosuch=x", "Unknown argument/field: '_nosuch'"),
        ("record", "Unknown object type (record)"),
    ] {
        assert_eq!(bench.get(query).await.refusal(), refusal(400, "Proto", text));
    }
    let reply = bench.get("zone_delegated?view=nosuchview").await;
    assert_eq!(reply.refusal(), refusal(404, "Data.NotFound", "View nosuchview not found"));
}

/// §10.1 15 [code].
#[tokio::test]
async fn a_type_describes_its_fields() {
    let schema = bench().get("zone_delegated?_schema=1&_schema_version=2&_get_doc=1").await.json();
    let fields = schema["fields"].as_array().unwrap();
    let view = fields.iter().find(|field| field["name"] == "view").unwrap();
    assert_eq!((&view["supports"], &view["standard_field"]), (&json!("rws"), &json!(true)));
}

/// §10.1 5 [inferred].
#[tokio::test]
async fn a_renamed_view_takes_its_zones_along_under_new_references_inferred() {
    let bench = bench();
    let view = bench.get("view?name=internal").await.json()[0]["_ref"].as_str().unwrap().to_owned();
    let zone = bench.get("zone_auth?view=internal").await.json()[0]["_ref"].as_str().unwrap().to_owned();
    assert_eq!(bench.put(&view, json!({"name": "Internal DNS"})).await.status, 200);
    assert_eq!(bench.get(&zone).await.status, 404);
    let found = bench.get("zone_auth?view=Internal%20DNS").await.json();
    let renamed = found[0]["_ref"].as_str().unwrap();
    assert!(renamed.ends_with(":example.com/Internal%20DNS"), "{renamed}");
    assert_eq!(bench.get(renamed).await.status, 200);
}
