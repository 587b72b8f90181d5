use serde_json::{Value, json};

use super::*;

fn object(name: &str, spec: Value) -> DeserializeGuard<DnsEndpoint> {
    serde_json::from_value(json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": { "namespace": "demo", "name": name, "creationTimestamp": "2026-11-30T10:00:00Z" },
        "spec": spec,
    }))
    .unwrap()
}

fn valid(name: &str, target: &str) -> DeserializeGuard<DnsEndpoint> {
    let endpoint =
        json!({ "dnsName": format!("{name}.cloud.example.com"), "recordType": "A", "targets": [target] });
    object(name, json!({ "endpoints": [endpoint] }))
}

fn broken(name: &str) -> DeserializeGuard<DnsEndpoint> {
    object(name, json!({ "endpoints": "none" }))
}

fn synced(objects: Vec<DeserializeGuard<DnsEndpoint>>) -> Shelf<DnsEndpoint> {
    let mut shelf = Shelf::default();
    assert!(!shelf.take(Event::Init));
    for object in objects {
        assert!(!shelf.take(Event::InitApply(object)));
        assert!(!shelf.synced());
    }
    assert!(shelf.take(Event::InitDone));
    assert!(shelf.synced());
    shelf
}

#[test]
fn a_broken_object_is_reported_and_its_neighbours_are_read() {
    let shelf = synced(vec![valid("a", "192.0.2.1"), broken("b"), valid("c", "192.0.2.3")]);
    assert_eq!(shelf.readings().len(), 2);
    let problems: Vec<String> = shelf.problems().collect();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("DNSEndpoint demo/b: it is left out: "), "{problems:?}");
}

#[test]
fn an_object_that_breaks_keeps_its_last_valid_form_until_it_is_deleted() {
    let mut shelf = synced(vec![valid("a", "192.0.2.1")]);
    let before = shelf.readings();
    assert!(shelf.take(Event::Apply(broken("a"))));
    assert_eq!(shelf.readings(), before);
    assert!(shelf.problems().next().unwrap().contains("keeps its last valid form"));
    shelf.take(Event::Init);
    shelf.take(Event::InitApply(broken("a")));
    assert!(!shelf.take(Event::InitDone));
    assert_eq!(shelf.readings(), before);
    assert!(shelf.take(Event::Delete(broken("a"))));
    assert!(shelf.readings().is_empty());
}

#[test]
fn an_event_that_changes_nothing_is_no_change() {
    let mut shelf = synced(vec![valid("a", "192.0.2.1")]);
    let before = shelf.readings();
    assert!(!shelf.take(Event::Apply(valid("a", "192.0.2.1"))));
    assert!(Arc::ptr_eq(&before[0], &shelf.readings()[0]), "nothing is built again");
    assert!(shelf.take(Event::Apply(valid("a", "192.0.2.2"))));
}

#[test]
fn a_new_list_replaces_everything_at_once() {
    let mut shelf = synced(vec![valid("a", "192.0.2.1"), valid("b", "192.0.2.2")]);
    shelf.take(Event::Init);
    shelf.take(Event::InitApply(valid("b", "192.0.2.2")));
    assert_eq!(shelf.readings().len(), 2, "an unfinished list removes nothing");
    assert!(shelf.take(Event::InitDone));
    assert_eq!(shelf.readings().len(), 1);
}
