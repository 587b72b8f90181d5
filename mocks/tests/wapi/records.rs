//! Records: which exclude each other, how they are spelt, and what their references do.

use crate::harness::{bench, refusal};
use serde_json::json;

/// §10.1 5 [code].
#[tokio::test]
async fn a_new_address_makes_a_new_reference_and_the_old_one_unknown() {
    let bench = bench();
    let old = bench.created("record:a", json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"})).await;
    let key = "ZG5zLmJpbmRfYSQuX2RlZmF1bHQuY29tLmV4YW1wbGUsd3d3LDE5Mi4wLjIuMTA";
    assert_eq!(old, format!("record:a/{key}:www.example.com/default"));
    let reply = bench.put(&old, json!({"ipv4addr": "192.0.2.11"})).await;
    let key = "ZG5zLmJpbmRfYSQuX2RlZmF1bHQuY29tLmV4YW1wbGUsd3d3LDE5Mi4wLjIuMTE";
    assert_eq!(reply.json(), json!(format!("record:a/{key}:www.example.com/default")));
    assert_eq!(bench.get(&old).await.status, 404);
}

/// §10.1 8 [code].
#[tokio::test]
async fn an_ipv6_address_is_read_in_canonical_form() {
    let bench = bench();
    let body = json!({"name": "www.example.com", "ipv6addr": "2001:0db8:0000:0000:0000:ff00:0042:8329"});
    let reference = bench.created("record:aaaa", body).await;
    assert_eq!(bench.get(&reference).await.json()["ipv6addr"], "2001:db8::ff00:42:8329");
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_cname_excludes_every_other_type_in_both_directions() {
    let bench = bench();
    let exists = refusal(400, "Data.Conflict", "The record 'www.example.com' already exists.");
    let address = json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"});
    let alias = json!({"name": "www.example.com", "canonical": "example.net"});
    let reference = bench.created("record:a", address.clone()).await;
    assert_eq!(bench.post("record:cname", alias.clone()).await.refusal(), exists);
    assert_eq!(bench.post("record:a", address.clone()).await.refusal(), exists);
    bench.delete(&reference).await;
    bench.created("record:cname", alias).await;
    assert_eq!(bench.post("record:a", address).await.refusal(), exists);
    let apex = bench.post("record:cname", json!({"name": "example.com", "canonical": "example.net"})).await;
    assert_eq!(
        apex.refusal(),
        refusal(400, "Data.Conflict", "Zone 'example.com' cannot have an empty CNAME.")
    );
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_text_is_read_in_canonical_form_and_several_live_at_one_name() {
    let bench = bench();
    let text = |text: &str| json!({"name": "owner.example.com", "text": text});
    let first = bench.created("record:txt", text("\"heritage=demo,owner=cluster-1\"")).await;
    let key =
        "ZG5zLmJpbmRfdHh0JC5fZGVmYXVsdC5jb20uZXhhbXBsZS5vd25lci4iaGVyaXRhZ2U9ZGVtbyxvd25lcj1jbHVzdGVyLTEi";
    assert_eq!(first, format!("record:txt/{key}:owner.example.com/default"));
    bench.created("record:txt", text("\"managed by cluster-1\"")).await;
    let found = bench.get("record:txt?name=owner.example.com&view=default").await.json();
    assert_eq!(found[0]["text"], "heritage=demo,owner=cluster-1");
    assert_eq!(found[1]["text"], "\"managed by cluster-1\"");
    let by_text = bench.get("record:txt?text=%22heritage%3Ddemo,owner%3Dcluster-1%22").await.json();
    assert_eq!(by_text.as_array().unwrap().len(), 1);
}

/// §10.1 8 [inferred].
/// `[inferred]` from what Ansible's module for host records sends after each change.
#[tokio::test]
async fn inferred_an_address_of_a_host_is_changed_by_its_own_reference() {
    let bench = bench();
    let host = json!({"name": "app01.example.com", "ipv4addrs": [{"ipv4addr": "192.0.2.20"}, {"ipv4addr": "192.0.2.21"}]});
    let host = bench.created("record:host", host).await;
    let addresses = bench.get(&host).await.json()["ipv4addrs"].clone();
    let second = addresses[1]["_ref"].as_str().unwrap();
    let reply = bench.put(second, json!({"use_for_ea_inheritance": true})).await;
    assert_eq!(reply.json(), addresses[1]["_ref"]);
    let mut expected = addresses.clone();
    expected[1]["use_for_ea_inheritance"] = json!(true);
    assert_eq!(bench.get(&host).await.json()["ipv4addrs"], expected);
    let unknown = second.replace("192.0.2.21", "192.0.2.22");
    assert_eq!(bench.put(&unknown, json!({"use_for_ea_inheritance": true})).await.status, 404);
    let refused = bench.put(second, json!({"name": "app02"})).await;
    assert_eq!(refused.refusal(), refusal(400, "Proto", "Unknown argument/field: 'name'"));
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_host_shows_its_addresses_as_objects_and_is_not_found_as_an_address_record() {
    let bench = bench();
    let addresses = json!([{"ipv4addr": "192.0.2.20"}, {"ipv4addr": "192.0.2.21"}]);
    let host =
        bench.created("record:host", json!({"name": "app01.example.com", "ipv4addrs": addresses})).await;
    assert_eq!(
        host,
        "record:host/ZG5zLmhvc3QkLl9kZWZhdWx0LmNvbS5leGFtcGxlLmFwcDAx:app01.example.com/default"
    );
    let key = "ZG5zLmhvc3RfYWRkcmVzcyQuX2RlZmF1bHQuY29tLmV4YW1wbGUuYXBwMDEuMTkyLjAuMi4yMC4";
    let expected = json!({
        "_ref": format!("record:host_ipv4addr/{key}:192.0.2.20/app01.example.com/default"),
        "configure_for_dhcp": false, "host": "app01.example.com", "ipv4addr": "192.0.2.20",
    });
    assert_eq!(bench.get(&host).await.json()["ipv4addrs"][0], expected);
    assert_eq!(bench.get("record:a?name=app01.example.com").await.text, "[]");
    let by_address =
        bench.get("record:host?ipv4addr=192.0.2.21&_return_fields=ipv4addrs.ipv4addr").await.json();
    assert_eq!(by_address[0]["ipv4addrs"][1]["ipv4addr"], "192.0.2.21");
    assert_eq!(by_address[0]["ipv4addrs"][1].get("host"), None);
}

/// §10.1 8 [code].
#[tokio::test]
async fn names_that_break_the_policy_or_are_too_long_are_refused() {
    let bench = bench();
    let create = async |name: String| {
        bench.post("record:a", json!({"name": name, "ipv4addr": "192.0.2.10"})).await.refusal()
    };
    let policy = "RR name 'yo p' does not comply with policy 'Allow Underscore'";
    assert_eq!(create("yo p.example.com".into()).await, refusal(400, "Data.Conflict", policy));
    let foreign = "RR name 'ddd\u{e4}ddd' does not comply with policy 'Allow Underscore'";
    assert_eq!(create("ddd\u{c4}ddd.example.com".into()).await, refusal(400, "Data.Conflict", foreign));
    let label = format!("{}.example.com", "a".repeat(64));
    let text = "A domain label is longer than 63 characters.";
    assert_eq!(create(label).await, refusal(400, "Data", text));
    let parent = "The action is not allowed. A parent was not found.";
    assert_eq!(create("www.example.org".into()).await, refusal(400, "Data.Conflict", parent));
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_name_server_record_is_no_substitute_for_a_delegation() {
    let bench = bench();
    let body = json!({"name": "gslb.example.com", "nameserver": "ns.example.net"});
    let missing = refusal(400, "Proto", "field for create missing: addresses");
    assert_eq!(bench.post("record:ns", body.clone()).await.refusal(), missing);
    let mut body = body;
    body["addresses"] = json!([{"address": "192.0.2.53"}]);
    let refused = refusal(400, "Data.Conflict", "Cannot add a manual NS record");
    assert_eq!(bench.post("record:ns", body).await.refusal(), refused);
}

/// §10.1 8 [code].
#[tokio::test]
async fn non_ascii_is_escaped_in_replies() {
    let bench = bench();
    let reference = bench.delegated().await;
    bench.put(&reference, json!({"comment": "gr\u{fc}n"})).await;
    let reply = bench.get(&format!("{reference}?_return_fields=comment")).await;
    assert!(reply.text.contains("\"comment\": \"gr\\u00fcn\""), "{}", reply.text);
}
