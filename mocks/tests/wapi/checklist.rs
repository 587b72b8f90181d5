//! What a simulator must reproduce, line by line of reference.md §10.1. Each test of this folder says in its first line
//! of documentation which line it is about, and how certain the fact is: `[code]` seen in a client or a capture, `[doc]`
//! the vendor's words, `[issue]` a report, `[inferred]` our deduction, which the test's name says too.

use std::collections::BTreeSet;
use std::time::Duration;

use gslb_mocks::wapi::{Account, Fault, Rules};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Bench, PASSWORD, USER, bench, builder, delegation, read, refusal, server};

const LINES: std::ops::RangeInclusive<u32> = 1..=18;
const TAGS: [&str; 4] = ["[code]", "[doc]", "[issue]", "[inferred]"];

#[test]
fn every_line_has_a_test_and_every_test_says_its_line_and_tag() {
    let files = [
        include_str!("access.rs"),
        include_str!("checklist.rs"),
        include_str!("delegation.rs"),
        include_str!("dns.rs"),
        include_str!("faults.rs"),
        include_str!("records.rs"),
        include_str!("search.rs"),
        include_str!("transactions.rs"),
    ];
    let mut tested = BTreeSet::new();
    for (name, told) in files.iter().flat_map(|file| tests_of(file)) {
        let (lines, tag) =
            told.strip_prefix("§10.1 ").and_then(|told| told.split_once(' ')).unwrap_or_else(|| {
                panic!("{name} says neither line nor tag: {told}");
            });
        let (tag, _) = tag.split_once('.').unwrap();
        assert!(TAGS.contains(&tag), "{name}: {tag}");
        assert_eq!(tag == "[inferred]", name.contains("inferred"), "{name}: {tag}");
        tested.extend(lines.split('+').map(|line| line.parse::<u32>().unwrap()));
    }
    assert_eq!(tested, LINES.collect());
}

/// Name and first line of documentation of each asynchronous test.
fn tests_of(file: &str) -> Vec<(String, String)> {
    let lines: Vec<_> = file.lines().collect();
    let mut tests = vec![];
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[tokio::test")) {
        let name = lines[index + 1].strip_prefix("async fn ").unwrap_or(line).split('(').next().unwrap();
        let documented = lines[..index].iter().rev().take_while(|line| line.starts_with("/// ")).last();
        tests.push((name.to_owned(), documented.unwrap_or(&"").trim_start_matches("/// ").to_owned()));
    }
    tests
}

/// §10.1 1 [code].
#[tokio::test]
async fn each_method_has_its_status_and_its_body() {
    let bench = bench();
    let made = bench.post("zone_delegated", delegation("gslb.example.com")).await;
    let reference = made.json();
    assert_eq!(made.status, 201);
    let path = reference.as_str().unwrap();
    let changed = bench.put(path, json!({"comment": "x"})).await;
    assert_eq!((changed.status.as_u16(), changed.json()), (200, reference.clone()));
    assert!(bench.get(path).await.json().is_object());
    assert!(bench.get("zone_delegated").await.json().is_array());
    let function =
        bench.post(&format!("{path}?_function=lock_unlock_zone"), json!({"operation": "LOCK"})).await;
    assert_eq!((function.status.as_u16(), function.json()), (200, json!({})));
    let gone = bench.delete(path).await;
    assert_eq!((gone.status.as_u16(), gone.json()), (200, reference));
}

/// §10.1 2 [code].
#[tokio::test]
async fn requests_that_make_no_sense_are_refused_each_in_its_own_words() {
    let bench = bench();
    let create = bench.post("restartservicestatus", json!({})).await.refusal();
    assert_eq!(create, refusal(400, "Proto", "Operation create not allowed for restartservicestatus"));
    let reference = bench.delegated().await;
    let function = bench.get(&format!("{reference}?_function=lock_unlock_zone")).await.refusal();
    assert_eq!(function, refusal(400, "Proto", "Function lock_unlock_zone illegal with this method"));
    let request =
        bench.client.post(format!("{}/zone_delegated", bench.base)).basic_auth(USER, Some(PASSWORD));
    let garbled = read(request.body(b"{\"fqdn\": \"\xff\"}".to_vec()).send().await.unwrap()).await.refusal();
    let text = "JSON Decoding: 'utf8' codec can't decode byte 0xff in position 10: invalid start byte";
    assert_eq!(garbled, refusal(400, "Proto.JSONDecoding", text));
}

/// §10.1 4 [inferred].
#[tokio::test]
async fn a_delegation_to_nobody_or_without_an_address_is_refused_on_create_inferred() {
    let bench = bench();
    for servers in [json!([]), json!([{"name": "ns-eu.example.net"}])] {
        let body = json!({"fqdn": "gslb.example.com", "delegate_to": servers});
        assert_eq!(bench.post("zone_delegated", body).await.status, 400);
    }
}

/// §10.1 5 [code].
#[tokio::test]
async fn a_new_value_or_name_of_any_record_makes_a_new_reference_and_the_old_one_unknown() {
    let bench = bench();
    let cases = [
        ("record:aaaa", json!({"ipv6addr": "2001:db8::10"}), json!({"ipv6addr": "2001:db8::11"})),
        ("record:txt", json!({"text": "one"}), json!({"text": "two"})),
        (
            "record:host",
            json!({"ipv4addrs": [{"ipv4addr": "192.0.2.20"}]}),
            json!({"name": "new.example.com"}),
        ),
        ("record:cname", json!({"canonical": "a.example.net"}), json!({"name": "alias.example.com"})),
    ];
    for (index, (kind, mut fields, change)) in cases.into_iter().enumerate() {
        fields["name"] = json!(format!("r{index}.example.com"));
        let old = bench.created(kind, fields).await;
        let new = bench.put(&old, change).await.json();
        assert_ne!(new, old.as_str(), "{kind}");
        assert_eq!(bench.get(&old).await.status, 404, "{kind}");
        assert_eq!(bench.get(new.as_str().unwrap()).await.status, 200, "{kind}");
    }
}

/// §10.1 6 [code].
#[tokio::test]
async fn each_modifier_of_a_search_means_what_it_says_on_lower_case_data() {
    let bench = bench();
    bench.delegated().await;
    for (query, found) in [
        ("fqdn=gslb.example.com", 1),
        ("fqdn=GSLB.example.com", 0),
        ("fqdn:=GSLB.example.com", 1),
        ("fqdn~=^gs", 1),
        ("fqdn~=^GS", 0),
        ("fqdn:~=^GS", 1),
        ("fqdn~=slb", 1),
        ("fqdn=gslb.example.com&view=internal", 0),
    ] {
        let reply = bench.get(&format!("zone_delegated?{query}")).await.json();
        assert_eq!(reply.as_array().unwrap().len(), found, "{query}");
    }
    let refused = bench.get("zone_delegated?view:=default").await.refusal();
    assert_eq!(refused, refusal(400, "Proto", "Search modifier ':' not allowed for field: view"));
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_cname_is_alone_at_its_name_and_everything_else_lives_together() {
    let kinds = [
        ("record:a", json!({"ipv4addr": "192.0.2.10"})),
        ("record:aaaa", json!({"ipv6addr": "2001:db8::10"})),
        ("record:txt", json!({"text": "one"})),
        ("record:host", json!({"ipv4addrs": [{"ipv4addr": "192.0.2.20"}]})),
    ];
    let named = |fields: &Value| {
        let mut fields = fields.clone();
        fields["name"] = json!("www.example.com");
        fields
    };
    let together = bench();
    for (kind, fields) in &kinds {
        together.created(kind, named(fields)).await;
        assert_eq!(together.post(kind, named(fields)).await.status, 400, "a second equal {kind}");
    }
    together.created("record:a", named(&json!({"ipv4addr": "192.0.2.11"}))).await;
    let other_host = named(&json!({"ipv4addrs": [{"ipv4addr": "192.0.2.99"}]}));
    assert_eq!(together.post("record:host", other_host).await.status, 400, "a host is one per name");
    let alias = json!({"name": "www.example.com", "canonical": "example.net"});
    let exists = refusal(400, "Data.Conflict", "The record 'www.example.com' already exists.");
    for (kind, fields) in &kinds {
        let (first, second) = (bench(), bench());
        first.created(kind, named(fields)).await;
        assert_eq!(first.post("record:cname", alias.clone()).await.refusal(), exists, "{kind} before");
        second.created("record:cname", alias.clone()).await;
        assert_eq!(second.post(kind, named(fields)).await.refusal(), exists, "{kind} after");
    }
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_text_is_read_as_the_grid_writes_its_strings() {
    let bench = bench();
    for (index, (sent, shown)) in [
        ("token123", "token123"),
        ("\"token123\"", "token123"),
        ("\"hello world\"", "\"hello world\""),
        ("This a host server", "This a host server"),
        ("\"v=DKIM1; p=AAA\" \"BBB\"", "\"v=DKIM1; p=AAA\" BBB"),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({"name": format!("t{index}.example.com"), "text": sent});
        let reference = bench.created("record:txt", body).await;
        assert_eq!(bench.get(&reference).await.json()["text"], shown);
    }
}

/// §10.1 8 [code].
#[tokio::test]
async fn a_name_has_at_most_253_characters_whatever_the_text_says() {
    let bench = bench();
    let name = |length: usize| {
        let labels = format!("{0}.{0}.{0}.", "a".repeat(60));
        format!("{labels}{}.example.com", "b".repeat(length - labels.len() - ".example.com".len()))
    };
    let create =
        async |length| bench.post("record:a", json!({"name": name(length), "ipv4addr": "192.0.2.10"})).await;
    assert_eq!(create(253).await.status, 201);
    let text = "A fully qualified DNS name cannot be longer than 255 characters";
    assert_eq!(create(254).await.refusal(), refusal(400, "Data.Conflict", text));
    let label = "A domain label is longer than 63 characters.";
    assert_eq!(create(260).await.refusal(), refusal(400, "Data", label));
}

/// §10.1 9 [code]. QA-derived: the vendor's own regression test.
#[tokio::test]
async fn qa_derived_an_authoritative_zone_below_a_delegation_may_be_made_and_holds_hosts() {
    let bench = bench();
    bench.delegated().await;
    bench.created("zone_auth", json!({"fqdn": "auth.gslb.example.com"})).await;
    let host = json!({"name": "app01.auth.gslb.example.com", "ipv4addrs": [{"ipv4addr": "192.0.2.20"}]});
    bench.created("record:host", host).await;
}

/// §10.1 11 [code].
#[tokio::test]
async fn a_proxy_that_waited_too_long_says_so_in_html() {
    let bench = bench();
    bench.grid.faults().inject(Fault::GatewayTimeout);
    let reply = bench.get("grid").await;
    assert_eq!((reply.status.as_u16(), reply.content_type.as_str()), (504, "text/html"));
    assert!(reply.text.contains("504 Gateway Time-out"), "{}", reply.text);
    assert_eq!("wapi-504".parse(), Ok(Fault::GatewayTimeout));
}

/// §10.1 11 [doc]. Zone writes take seconds, record writes fractions of one.
#[tokio::test]
async fn writes_of_zones_can_be_slow_while_the_rest_is_not() {
    let bench = bench();
    bench.grid.faults().inject(Fault::Slow(Duration::from_secs(3600)).on_method("POST").on_path("/zone_"));
    bench.created("record:a", json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"})).await;
    let request =
        bench.client.post(format!("{}/zone_delegated", bench.base)).basic_auth(USER, Some(PASSWORD));
    let request = request.json(&delegation("gslb.example.com")).timeout(Duration::from_millis(50));
    assert!(request.send().await.unwrap_err().is_timeout());
}

/// §10.1 12 [doc].
#[tokio::test]
async fn a_batch_assigns_and_discards_and_shows_what_it_keeps() {
    let bench = bench();
    let batch = json!([
        {"method": "STATE:ASSIGN", "data": {"NAME": "gslb.example.com"}},
        {"method": "POST", "object": "zone_delegated", "discard": true, "enable_substitution": true,
         "data": {"fqdn": "##STATE:NAME:##", "delegate_to": [server("ns-eu.example.net", "192.0.2.53")]}},
        {"method": "GET", "object": "zone_delegated", "data": {"fqdn": "gslb.example.com"},
         "args": {"_return_fields": "fqdn"}, "assign_state": {"ZREF": "_ref"}},
        {"method": "STATE:DISPLAY"},
    ]);
    let reply = bench.post("request", batch).await.json();
    let reference = reply[1]["ZREF"].clone();
    assert_eq!(
        reply,
        json!([[{"_ref": reference, "fqdn": "gslb.example.com"}], {"NAME": "gslb.example.com", "ZREF": reference}])
    );
}

/// §10.1 14 [doc].
#[tokio::test]
async fn an_object_with_a_pending_task_is_locked_for_other_changes_until_it_is_decided() {
    let bench = Bench::of(builder().account(Account::new("junior", "pw").needs_approval()).build().unwrap());
    let reference = bench.delegated().await;
    let request = bench.client.put(format!("{}/{reference}", bench.base)).basic_auth("junior", Some("pw"));
    let task = read(request.json(&json!({"comment": "later"})).send().await.unwrap()).await.json();
    assert!(task.as_str().unwrap().starts_with("scheduledtask/"), "{task}");
    let text = "another change waits";
    bench.grid.set_rules(Rules { pending_text: text.to_owned(), ..Rules::default() });
    let refused = refusal(400, "Data.Conflict", text);
    assert_eq!(bench.put(&reference, json!({"comment": "now"})).await.refusal(), refused);
    assert_eq!(bench.delete(&reference).await.refusal(), refused);
    bench.grid.edit(|admin| admin.approve(1)).unwrap();
    assert_eq!(bench.put(&reference, json!({"comment": "now"})).await.status, 200);
}

/// §10.1 14 [doc].
#[tokio::test]
async fn a_restart_needs_no_approval() {
    let bench = bench();
    bench.delegated().await;
    bench.grid.set_needs_approval(USER, true);
    let grid = bench.get("grid").await.json()[0]["_ref"].as_str().unwrap().to_owned();
    let path = format!("{grid}?_function=restartservices");
    let reply =
        bench.post(&path, json!({"service_option": "DNS", "restart_option": "RESTART_IF_NEEDED"})).await;
    assert_eq!((reply.status.as_u16(), reply.json()), (200, json!({})));
    assert!(!bench.grid.needs_restart());
}

/// §10.1 16 [doc].
#[tokio::test]
async fn a_definition_that_is_deleted_takes_its_values_along() {
    let bench = bench();
    let mut body = delegation("gslb.example.com");
    body["extattrs"] = json!({"Owner": {"value": "cluster-1"}});
    let reference = bench.created("zone_delegated", body).await;
    let definition = bench.get("extensibleattributedef?name=Owner").await.json()[0]["_ref"].clone();
    assert_eq!(bench.delete(definition.as_str().unwrap()).await.status, 200);
    assert_eq!(
        bench.get(&format!("{reference}?_return_fields=extattrs")).await.json()["extattrs"],
        json!({})
    );
}

/// §10.1 17 [inferred]. The real text is not known, so it is a switch.
#[tokio::test]
async fn what_is_said_of_a_lock_can_be_chosen_inferred() {
    let bench = bench();
    let reference = bench.delegated().await;
    bench.grid.edit(|admin| admin.update(&reference, json!({"locked": true}))).unwrap();
    let text = "The zone is locked by dns-team.";
    bench.grid.set_rules(Rules { locked_text: text.to_owned(), ..Rules::default() });
    let refused = bench.put(&reference, json!({"comment": "mine"})).await.refusal();
    assert_eq!(refused, refusal(400, "Data.Conflict", text));
}

/// §10.1 18 [inferred].
#[tokio::test]
async fn whether_a_list_may_be_empty_or_hold_an_entry_twice_is_a_switch_inferred() {
    let bench = bench();
    let reference = bench.delegated().await;
    let entry = server("ns-eu.example.net", "192.0.2.53");
    let lists = [json!([]), json!([entry, entry])];
    for list in &lists {
        assert_eq!(bench.put(&reference, json!({"delegate_to": list})).await.status, 200);
    }
    let strict =
        Rules { accepts_empty_delegate_to: false, accepts_duplicate_server: false, ..Rules::default() };
    bench.grid.set_rules(strict);
    for list in &lists {
        assert_eq!(bench.put(&reference, json!({"delegate_to": list})).await.status, 400);
    }
}

/// §10.1 18 [inferred].
#[tokio::test]
async fn whether_a_delegation_may_lie_below_another_is_a_switch_inferred() {
    let bench = bench();
    bench.delegated().await;
    assert_eq!(bench.post("zone_delegated", delegation("eu.gslb.example.com")).await.status, 400);
    bench.grid.set_rules(Rules { accepts_delegation_below_delegation: true, ..Rules::default() });
    assert_eq!(bench.post("zone_delegated", delegation("eu.gslb.example.com")).await.status, 201);
}

/// §10.1 18 [code].
#[tokio::test]
async fn the_blank_after_a_comma_of_older_releases_can_be_left_out() {
    let bench = bench();
    let reference = bench.delegated().await;
    assert!(bench.get(&reference).await.text.contains(", \n"));
    bench.grid.set_rules(Rules { blank_after_comma: false, ..Rules::default() });
    assert!(!bench.send(Method::GET, &reference, None).await.text.contains(", \n"));
}
