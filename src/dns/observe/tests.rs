use std::time::Duration;

use gslb_core::name::GeoTag;
use gslb_core::zone::NsPrefix;
use serde_json::{Value, json};

use super::super::builders::*;
use super::*;

fn endpoint_object(name: &str, created: &str, endpoints: Value, hosts: &str) -> Arc<Published> {
    let object: DnsEndpoint = serde_json::from_value(json!({
        "apiVersion": "externaldns.k8s.io/v1alpha1",
        "kind": "DNSEndpoint",
        "metadata": {
            "namespace": "demo",
            "name": name,
            "creationTimestamp": created,
            "annotations": { "gslb-bridge.io/hosts": hosts },
        },
        "spec": { "endpoints": endpoints },
    }))
    .unwrap();
    Arc::new(Published::read(&object))
}

fn published(name: &str, created: &str, endpoints: Value) -> Arc<Published> {
    endpoint_object(name, created, endpoints, "{}")
}

fn delegated(zone: &str, parent: &str, negative_ttl: i64, servers: &[&str]) -> Arc<Delegated> {
    Arc::new(Delegated::read(&delegation(zone, parent, negative_ttl, servers), None))
}

fn delegation(zone: &str, parent: &str, negative_ttl: i64, servers: &[&str]) -> ZoneDelegation {
    let servers: Vec<Value> =
        servers.iter().map(|name| json!({ "name": name, "address": "192.0.2.53" })).collect();
    serde_json::from_value(json!({
        "apiVersion": "k8gb.io/v1beta1",
        "kind": "ZoneDelegation",
        "metadata": { "name": zone.replace('.', "-"), "creationTimestamp": OLD },
        "spec": { "loadBalancedZone": zone, "parentZone": parent, "dnsZoneNegTTL": negative_ttl },
        "status": { "dnsServers": servers },
    }))
    .unwrap()
}

fn settings(zones: Vec<Zone>, own: Option<&str>, peers: &[&str]) -> DnsSettings {
    let tag = |text: &str| GeoTag::parse(text).unwrap();
    DnsSettings {
        listen: vec![],
        metrics_address: String::new(),
        zones,
        ns_prefix: NsPrefix::default(),
        own_tag: own.map(tag),
        peer_tags: peers.iter().map(|text| tag(text)).collect(),
        snapshot_file: None,
        drain: Duration::ZERO,
    }
}

fn cloud() -> Zone {
    Zone::new(name("cloud.example.com"), name("example.com"), ttl(17)).unwrap()
}

/// Owner names with their A addresses, or with the answer for an empty one.
fn served(inputs: &Inputs) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = inputs
        .hosts
        .iter()
        .map(|host| {
            let data = match host.sets.first().map(|set| &set.data) {
                Some(SetData::A(targets)) => format!("{targets:?}"),
                Some(other) => format!("{other:?}"),
                None => format!("{:?} {}", host.empty, host.ttl.as_secs()),
            };
            (host.owner_name.to_string(), data)
        })
        .collect();
    lines.sort();
    lines
}

fn pairs(lines: &[(&str, &str)]) -> Vec<(String, String)> {
    lines.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect()
}

const OLD: &str = "2026-11-30T10:00:00Z";
const NEW: &str = "2026-11-30T11:00:00Z";

/// A Gslb that was never accepted says only that its hosts exist.
#[test]
fn an_object_that_only_holds_places_gives_way_to_a_younger_one_with_records() {
    let held = r#"{"app.cloud.example.com":{"answer":"NoData","ttl":30}}"#;
    let place = endpoint_object("a-place", OLD, json!([]), held);
    let record = json!([{"dnsName": "app.cloud.example.com", "recordType": "A", "targets": ["192.0.2.10"]}]);
    let serving = published("serving", NEW, record);
    let zones = [delegated("cloud.example.com", "example.com", 30, &[])];
    let served = |objects: &[Arc<Published>]| {
        let (inputs, problems) = compose(&settings(vec![], None, &[]), &zones, objects);
        let host = inputs.hosts.iter().find(|host| host.owner_name.as_str() == "app.cloud.example.com");
        (host.map(|host| host.sets.len()), problems)
    };
    assert_eq!(served(std::slice::from_ref(&place)), (Some(0), vec![]));
    assert_eq!(served(&[place, serving]), (Some(1), vec![]));
}

/// Conformance 96.
#[test]
fn a_bad_entry_is_left_out_and_the_others_are_served() {
    let object = published(
        "app",
        OLD,
        json!([
            { "dnsName": "a..cloud.example.com", "recordType": "A", "targets": ["192.0.2.1"] },
            { "dnsName": "b.cloud.example.com", "recordType": "A", "targets": ["192.0.2.2", "2001:db8::1", "lb.example.net"] },
            { "dnsName": "c.cloud.example.com", "recordType": "A", "targets": ["not-an-address"] },
            { "dnsName": "d.cloud.example.com", "recordType": "CNAME", "targets": ["e.example.net"] },
            { "dnsName": "f.example.net", "recordType": "A", "targets": ["192.0.2.3"] },
            { "dnsName": "G.cloud.example.com", "targets": ["192.0.2.4", "192.0.2.4"] },
        ]),
    );
    let (inputs, problems) = compose(&settings(vec![cloud()], None, &[]), &[], &[object]);
    let expected = [
        ("b.cloud.example.com", "[192.0.2.2]"),
        ("g.cloud.example.com", "[192.0.2.4]"),
        ("localtargets-b.cloud.example.com", "NoData 60"),
        ("localtargets-g.cloud.example.com", "NoData 60"),
    ];
    assert_eq!(served(&inputs), pairs(&expected));
    assert_eq!(problems.len(), 7, "{problems:#?}");
    assert!(problems.iter().all(|problem| problem.starts_with("DNSEndpoint demo/app: ")), "{problems:#?}");
}

/// Conformance 97.
#[test]
fn a_record_has_the_ttl_that_its_object_says() {
    let entry = json!([{ "dnsName": "app.cloud.example.com", "recordType": "A", "recordTTL": 123, "targets": ["192.0.2.1"] }]);
    let (inputs, _) = compose(&settings(vec![cloud()], None, &[]), &[], &[published("app", OLD, entry)]);
    let ttls = inputs.hosts.iter().flat_map(|host| &host.sets).map(|set| set.ttl).collect::<Vec<_>>();
    assert_eq!(ttls, [ttl(123)]);
}

#[test]
fn hosts_without_records_exist_with_the_answer_that_the_controller_chose() {
    let object = endpoint_object(
        "app",
        OLD,
        json!([{ "dnsName": "localtargets-up.cloud.example.com", "recordType": "A", "recordTTL": 5, "targets": ["192.0.2.1"] }]),
        r#"{"down.cloud.example.com":{"answer":"NoData","ttl":20},"unsure.cloud.example.com":{"answer":"ServFail","ttl":30}}"#,
    );
    let (inputs, problems) = compose(&settings(vec![cloud()], None, &[]), &[], &[object]);
    let expected = [
        ("down.cloud.example.com", "NoData 20"),
        ("localtargets-down.cloud.example.com", "NoData 20"),
        ("localtargets-unsure.cloud.example.com", "NoData 30"),
        ("localtargets-up.cloud.example.com", "[192.0.2.1]"),
        ("unsure.cloud.example.com", "ServFail 30"),
        ("up.cloud.example.com", "NoData 5"),
    ];
    assert_eq!(served(&inputs), pairs(&expected));
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Conformance 109; F-25.
#[test]
fn the_oldest_object_keeps_a_name_in_any_input_order() {
    let entry = |target: &str| json!([{ "dnsName": "app.cloud.example.com", "recordType": "A", "targets": [target] }]);
    let older = published("z", OLD, entry("192.0.2.1"));
    let same_age = published("b", NEW, entry("192.0.2.2"));
    let newer = published("c", NEW, entry("192.0.2.3"));
    let settings = settings(vec![cloud()], None, &[]);
    let first = compose(&settings, &[], &[Arc::clone(&newer), Arc::clone(&older), Arc::clone(&same_age)]);
    let second = compose(&settings, &[], &[Arc::clone(&same_age), newer.clone(), older]);
    assert_eq!(first, second);
    assert_eq!(served(&first.0)[0], ("app.cloud.example.com".into(), "[192.0.2.1]".into()));
    assert_eq!(first.1.len(), 2);
    let (inputs, _) = compose(&settings, &[], &[newer, same_age]);
    assert_eq!(served(&inputs)[0], ("app.cloud.example.com".into(), "[192.0.2.2]".into()));
}

/// Conformance 63.
#[test]
fn the_ns_set_is_what_was_observed_and_what_is_configured() {
    let seen = delegated(
        "cloud.example.com",
        "example.com",
        300,
        &["gslb-ns-za-cloud.example.com", "ns1.isp.example", "bad..name"],
    );
    let (inputs, problems) = compose(&settings(vec![cloud()], Some("eu"), &["us", "eu"]), &[seen], &[]);
    let names: Vec<&str> = inputs.zones[0].ns_names.iter().map(DomainName::as_str).collect();
    assert_eq!(
        names,
        [
            "gslb-ns-eu-cloud.example.com",
            "gslb-ns-us-cloud.example.com",
            "gslb-ns-za-cloud.example.com",
            "ns1.isp.example"
        ]
    );
    assert_eq!(inputs.zones[0].own_ns_name, Some(name("gslb-ns-eu-cloud.example.com")));
    assert_eq!(inputs.zones[0].negative_ttl, ttl(300), "the object wins over the configuration");
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_configured_zone_is_served_before_its_object_is_seen() {
    let (inputs, _) = compose(&settings(vec![cloud()], Some("eu"), &["us"]), &[], &[]);
    assert_eq!(inputs.zones.len(), 1);
    assert_eq!(inputs.zones[0].ns_names.len(), 2);
    assert_eq!(inputs.zones[0].negative_ttl, ttl(17));
}

#[test]
fn a_zone_that_is_not_below_its_parent_is_left_out_with_a_sentence() {
    let good = delegated("b.example.com", "example.com", -1, &[]);
    let bad = delegated("cloud.example.com", "example.net", 30, &[]);
    let (inputs, problems) = compose(&settings(vec![], None, &[]), &[bad, good], &[]);
    assert_eq!(inputs.zones.len(), 1);
    assert_eq!(inputs.zones[0].negative_ttl, ttl(30), "a negative number is no TTL");
    assert_eq!(problems.len(), 2, "{problems:#?}");
}

#[test]
fn an_invalid_edit_of_a_zone_keeps_it_as_it_was() {
    let good = Delegated::read(&delegation("cloud.example.com", "example.com", 17, &[]), None);
    let edited = delegation("cloud.example.com", "example.net", 30, &["gslb-ns-us-cloud.example.com"]);
    let bad = Arc::new(Delegated::read(&edited, Some(&good)));
    let (inputs, problems) = compose(&settings(vec![], None, &[]), &[bad], &[]);
    assert_eq!((&inputs.zones[0].apex, inputs.zones[0].negative_ttl), (&name("cloud.example.com"), ttl(17)));
    assert_eq!(inputs.zones[0].ns_names, [name("gslb-ns-us-cloud.example.com")].into());
    assert!(problems.len() == 1 && problems[0].contains("keeps its last valid form"), "{problems:?}");
}

#[test]
fn an_unchanged_host_of_a_changed_object_is_kept() {
    let entry = |name: &str, target: &str| json!({ "dnsName": name, "recordType": "A", "targets": [target] });
    let (a, b) = ("a.cloud.example.com", "b.cloud.example.com");
    let first = published("app", OLD, json!([entry(a, "192.0.2.1"), entry(b, "192.0.2.2")]));
    let second = published("app", OLD, json!([entry(a, "192.0.2.1"), entry(b, "192.0.2.3")]));
    let kept = Published::clone(&second).keep_unchanged(&first);
    assert_eq!(kept, *second);
    assert!(Arc::ptr_eq(&kept.hosts[0], &first.hosts[0]));
    assert!(!Arc::ptr_eq(&kept.hosts[1], &first.hosts[1]));
}
