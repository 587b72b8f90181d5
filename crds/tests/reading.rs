//! Objects as other writers leave them: absent, `null` and empty read alike, unknown fields are passed over.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use gslb_crds::dns_endpoint::EmptyAnswer;
use gslb_crds::gslb::Strategy;
use gslb_crds::{DnsEndpoint, DnsEndpointSpec, Endpoint, Gslb, GslbSpec, GslbStatus, ZoneDelegation, marks};
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
    assert_eq!(object.empty_hosts().unwrap(), Default::default());
    assert_eq!(object.accepted_strategy().unwrap(), None);

    object.metadata.annotations = Some(
        [
            (marks::EMPTY_HOSTS, r#"{"a.cloud.example.com":"NoData","b.cloud.example.com":"ServFail"}"#),
            (marks::ACCEPTED_STRATEGY, r#"{"type":"roundRobin"}"#),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
    );
    let hosts = [("a", EmptyAnswer::NoData), ("b", EmptyAnswer::ServFail)]
        .map(|(label, answer)| (format!("{label}.cloud.example.com"), answer));
    assert_eq!(object.empty_hosts().unwrap(), hosts.into());
    let strategy = Strategy { kind: "roundRobin".into(), ..Default::default() };
    assert_eq!(object.accepted_strategy().unwrap(), Some(strategy));
}
