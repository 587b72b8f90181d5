//! Objects as other writers leave them: absent, `null` and empty read alike, unknown fields are passed over.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use gslb_core::changelog::{
    Action, ChangeResult, Entry, Intent, ObjectRef, Outcome, Proposal, Tail, Verdict, Who, verify,
};
use gslb_crds::gslb::Strategy;
use gslb_crds::{
    DnsEndpoint, DnsEndpointSpec, Endpoint, Gslb, GslbSpec, GslbStatus, LegacyGslb, ProviderChange,
    ProviderChangeSpec, ProviderChangeStatus, ZoneDelegation, marks,
};
use serde_json::{Value, json};

fn gslb(spec: Value) -> Gslb {
    serde_json::from_value(json!({
        "apiVersion": "k8gb.io/v1beta1",
        "kind": "Gslb",
        "metadata": { "name": "app", "namespace": "demo" },
        "spec": spec,
    }))
    .unwrap()
}

#[test]
fn an_object_without_spec_reads_as_one_with_an_empty_spec() {
    let bare = json!({ "apiVersion": "k8gb.io/v1beta1", "kind": "Gslb", "metadata": { "name": "app" } });
    assert_eq!(serde_json::from_value::<Gslb>(bare.clone()).unwrap().spec, GslbSpec::default());
    assert_eq!(serde_json::from_value::<ZoneDelegation>(bare.clone()).unwrap().spec, Default::default());
    assert_eq!(serde_json::from_value::<DnsEndpoint>(bare).unwrap().spec, Default::default());
    assert_eq!(gslb(Value::Null).spec, GslbSpec::default());
}

#[test]
fn empty_null_and_absent_references_are_equal() {
    let absent = gslb(json!({ "strategy": { "type": "roundRobin" } })).spec;
    for empty in [json!({}), Value::Null] {
        let spec = json!({ "strategy": { "type": "roundRobin" }, "ingress": empty, "resourceRef": empty });
        assert_eq!(gslb(spec).spec, absent);
    }
    let blank = json!({
        "strategy": { "type": "roundRobin", "dnsTtlSeconds": 0, "primaryGeoTag": "", "weight": null },
        "resourceRef": { "name": "", "matchLabels": {}, "matchExpressions": [] },
        "ingress": { "rules": null },
        "serviceHealthPolicy": null,
    });
    assert_eq!(gslb(blank).spec, absent);
}

#[test]
fn unknown_fields_are_passed_over() {
    let spec = gslb(json!({
        "strategy": { "type": "failover", "primaryGeoTag": "eu", "futureKnob": true },
        "futurePart": { "a": 1 },
    }))
    .spec;
    let strategy =
        Strategy { kind: "failover".into(), primary_geo_tag: Some("eu".into()), ..Default::default() };
    assert_eq!(spec, GslbSpec { strategy, ..Default::default() });
}

#[test]
fn a_spec_comes_back_as_it_was_written() {
    let spec = json!({
        "strategy": {
            "type": "roundRobin",
            "weight": { "eu": 5, "us": 1 },
            "dnsTtlSeconds": 60,
            "splitBrainThresholdSeconds": 300,
        },
        "resourceRef": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "matchLabels": { "app": "web" },
            "matchExpressions": [{ "key": "tier", "operator": "In", "values": ["front"] }],
        },
        "ingress": {
            "ingressClassName": "nginx",
            "backend": { "resource": { "kind": "Bucket", "name": "files" } },
            "tls": [{ "hosts": ["app.cloud.example.com"], "secretName": "tls" }],
            "rules": [{ "host": "app.cloud.example.com", "http": { "paths": [{
                "path": "/",
                "pathType": "Prefix",
                "backend": { "service": { "name": "web", "port": { "number": 80 } } },
            }] } }],
        },
        "serviceHealthPolicy": "All",
    });
    assert_eq!(serde_json::to_value(gslb(spec.clone()).spec).unwrap(), spec);
}

#[test]
fn a_status_without_any_health_still_has_its_required_maps() {
    let status = serde_json::to_value(GslbStatus::default()).unwrap();
    assert_eq!(status, json!({ "geoTag": "", "healthyRecords": {}, "serviceHealth": {} }));
}

#[test]
fn an_endpoint_writes_neither_empty_collections_nor_absent_values() {
    let endpoint =
        Endpoint { dns_name: "app.cloud.example.com".into(), record_type: "A".into(), ..Default::default() };
    assert_eq!(
        serde_json::to_value(endpoint).unwrap(),
        json!({ "dnsName": "app.cloud.example.com", "recordType": "A" })
    );
    assert_eq!(serde_json::to_value(DnsEndpointSpec::default()).unwrap(), json!({}));
}

#[test]
fn our_annotations_of_a_dns_endpoint_are_read_back() {
    let mut object = DnsEndpoint::new("app", DnsEndpointSpec::default());
    assert_eq!(object.unanswered_hosts(), Default::default());
    assert_eq!(object.accepted_strategy().unwrap(), None);

    object.metadata.annotations = Some(
        [
            (marks::UNANSWERED_HOSTS, r#"{"a.cloud.example.com":{"answer":"NoData","ttl":30}}"#),
            (marks::ACCEPTED_STRATEGY, r#"{"type":"roundRobin"}"#),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
    );
    let (hosts, problems) = object.unanswered_hosts();
    assert_eq!(hosts.to_annotation(), r#"{"a.cloud.example.com":{"answer":"NoData","ttl":30}}"#);
    assert!(problems.is_empty());
    let strategy = Strategy { kind: "roundRobin".into(), ..Default::default() };
    assert_eq!(object.accepted_strategy().unwrap(), Some(strategy));
}

#[test]
fn a_provider_change_stores_its_two_lines_to_the_byte() {
    for view in [None, Some("external".to_owned())] {
        stores_its_two_lines(view);
    }
}

fn stores_its_two_lines(view: Option<String>) {
    let at = "2026-01-02T03:04:05.678Z".parse().unwrap();
    let change = Proposal {
        change_id: "change-7".into(),
        plan_id: "plan-1".into(),
        who: Who { actor: "gslb-bridge".into(), cluster: "eu".into(), pod: "gslb-bridge-0".into() },
        object: ObjectRef {
            kind: "ZoneDelegation".into(),
            namespace: None,
            name: "cloud-example-com".into(),
            uid: "6e0f".into(),
            generation: 3,
        },
        why: "the zone has no delegation".into(),
        provider: "infoblox".into(),
        view,
        zone: "cloud.example.com".into(),
        action: Action::Create,
        before: None,
        after: Some(
            json!({ "delegate_to": [{ "name": "ns.example.com", "port": 53, "share": 0.5, "note": null }] }),
        ),
    };
    let verdict = Verdict {
        result: ChangeResult::Applied,
        reference: None,
        error: None,
        duration_millis: 41,
        settled_by_reading: false,
        amends: vec![],
    };
    let first = Tail::START.next(Entry::Intent(Box::new(Intent { sequence: 1, at, change })), None).unwrap();
    let second =
        Tail::START.after(&first).next(Entry::Outcome(Outcome { sequence: 1, at, verdict }), None).unwrap();

    let mut object = ProviderChange::of(ProviderChangeSpec::of(&first).unwrap(), &Default::default());
    object.status = ProviderChangeStatus::of(&second);
    let read: ProviderChange = serde_json::from_str(&serde_json::to_string(&object).unwrap()).unwrap();

    assert_eq!(read.metadata.name.as_deref(), Some("00000000000000000001"));
    let lines: Vec<_> = read.lines().collect();
    assert_eq!(lines, [first, second]);
    assert!(verify(&lines, None).is_clean());
}

/// F-82.
#[test]
fn a_legacy_gslb_becomes_one_of_today_with_what_users_wrote() {
    let spec = json!({
        "strategy": { "type": "roundRobin", "weight": { "eu": 5 }, "splitBrainThresholdSeconds": 300 },
        "resourceRef": { "kind": "Service", "apiVersion": "v1", "matchLabels": { "a": "b" } },
    });
    let legacy: LegacyGslb = serde_json::from_value(json!({
        "metadata": {
            "name": "app", "namespace": "demo", "uid": "1", "resourceVersion": "2", "finalizers": ["x"],
            "labels": { "team": "a", "k8gb.io/migration-requested": "true", "k8gb.io/migrated-to-k8gb-io": "false" },
            "annotations": { "k8gb.io/hostname": "h", "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        },
        "spec": spec, "status": { "geoTag": "eu" },
    }))
    .unwrap();
    assert_eq!(
        serde_json::to_value(legacy.canonical()).unwrap(),
        json!({
            "apiVersion": "k8gb.io/v1beta1", "kind": "Gslb",
            "metadata": {
                "name": "app", "namespace": "demo",
                "labels": { "team": "a" }, "annotations": { "k8gb.io/hostname": "h" },
            },
            "spec": spec,
        })
    );
}

/// Case C075.
#[test]
fn an_annotation_counts_under_its_old_prefix_and_the_new_one_wins() {
    let mut object = gslb(json!({}));
    let mut annotate = |key: &str, value: &str| {
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
        marks::annotation(&object, marks::HOSTNAME).map(str::to_owned)
    };
    assert_eq!(annotate("k8gb.absa.oss/other", "x"), None);
    assert_eq!(annotate("k8gb.absa.oss/hostname", "old").as_deref(), Some("old"));
    assert_eq!(annotate("k8gb.io/hostname", "new").as_deref(), Some("new"));
}
