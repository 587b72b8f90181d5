//! The rules in CEL of the definitions: what they refuse, with which words, and what they leave to a condition.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use gslb_crds::ZoneDelegationSpec;
use kube_cel::{CompiledSchema, compile_schema, validate_compiled};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The schema of the definition with this name.
fn schema(name: &str) -> CompiledSchema {
    let crds = gslb_crds::all();
    let crd = crds.iter().find(|crd| crd.metadata.name.as_deref() == Some(name)).unwrap();
    let crd = serde_json::to_value(crd).unwrap();
    let schema = compile_schema(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    assert!(schema.compilation_errors().is_empty());
    schema
}

/// What is refused, each with its field.
fn refused(schema: &CompiledSchema, spec: &Value) -> Vec<(String, String)> {
    let errors = validate_compiled(schema, &json!({ "spec": spec }), None).err().into_iter().flatten();
    errors.map(|error| (error.field_path, error.message)).collect()
}

fn delegation(zone: &str, parent: &str) -> Value {
    json!({ "loadBalancedZone": zone, "parentZone": parent, "dnsZoneNegTTL": 30 })
}

fn gslb(strategy: &Value) -> Value {
    json!({ "strategy": strategy, "serviceHealthPolicy": "Any" })
}

const GSLBS: [&str; 2] = ["gslbs.k8gb.io", "gslbs.k8gb.absa.oss"];
const ZONE_DELEGATIONS: &str = "zonedelegations.k8gb.io";

#[test]
fn a_zone_that_is_no_domain_name_is_refused_with_the_limits_and_an_example() {
    let schema = schema(ZONE_DELEGATIONS);
    let long = "a".repeat(64);
    let message = "loadBalancedZone must be a domain name: at most 253 characters, 1 to 63 between two dots, no blank \
                   among them; for example cloud.example.com";
    for label in ["", "a b", long.as_str()] {
        let zone = format!("{label}.example.com");
        assert_eq!(
            refused(&schema, &delegation(&zone, "example.com")),
            [("spec.loadBalancedZone".to_owned(), message.to_owned())]
        );
    }
    let fields = |zone: &str, parent: &str| {
        refused(&schema, &delegation(zone, parent)).into_iter().map(|(field, _)| field).collect::<Vec<_>>()
    };
    assert_eq!(fields("cloud.", ""), ["spec.parentZone"]);
    let name = format!("{}com", "a.".repeat(125));
    assert_eq!((name.len(), fields(&name, "com")), (253, vec![]));
    assert_eq!(fields(&format!("{name}."), "com."), [""; 0]);
    assert_eq!(fields(&format!("b{name}"), "com"), ["spec.loadBalancedZone"]);
}

#[test]
fn a_negative_time_to_live_is_refused_in_both_groups_with_what_to_write() {
    for name in GSLBS {
        let schema = schema(name);
        let message = "a time to live is not negative; write a number from 0 to 2147483647 (0 means 30)";
        assert_eq!(
            refused(&schema, &gslb(&json!({ "type": "roundRobin", "dnsTtlSeconds": -5 }))),
            [("spec.strategy.dnsTtlSeconds".to_owned(), message.to_owned())]
        );
        for accepted in [json!({ "type": "geoip" }), json!({ "type": "geoip", "dnsTtlSeconds": 0 })] {
            assert_eq!(refused(&schema, &gslb(&accepted)), []);
        }
    }
}

/// F-11, F-13: a refused apply stops everything that is applied with it, a condition stops one Gslb.
#[test]
fn what_a_condition_tells_is_taken_by_the_api_server() {
    for name in GSLBS {
        let schema = schema(name);
        for strategy in [
            json!({ "type": "fastest" }),
            json!({ "type": "roundRobin", "weight": { "us": 10_010 } }),
            json!({ "type": "roundRobin", "weight": { "u_s": 1 } }),
            json!({ "type": "geoip", "weight": { "us": 1 } }),
            json!({ "type": "failover", "primaryGeoTag": "e u" }),
            json!({ "type": "geoip", "dnsTtlSeconds": 4_294_967_296_i64, "splitBrainThresholdSeconds": -1 }),
        ] {
            assert_eq!(refused(&schema, &gslb(&strategy)), [], "{strategy}");
        }
        for reference in [
            json!({}),
            json!({ "kind": "Cronjob", "apiVersion": "v1" }),
            json!({ "name": "shop", "matchLabels": { "app": "shop" } }),
            json!({ "matchExpressions": [{ "key": "app", "operator": "Like" }] }),
        ] {
            let spec = json!({ "strategy": { "type": "geoip" }, "resourceRef": reference, "ingress": {} });
            assert_eq!(refused(&schema, &spec), [], "{spec}");
        }
    }
    let schema = schema(ZONE_DELEGATIONS);
    for zone in ["-a_b.example.com", "*.example.com", "ü.example.com", "Cloud.example.com"] {
        assert_eq!(refused(&schema, &delegation(zone, "example.com")), [], "{zone}");
    }
    let mut odd = delegation("cloud.example.com", "example.com");
    odd["dnsZoneNegTTL"] = json!(-1);
    assert_eq!(refused(&schema, &odd), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The other way round does not hold: what we cannot serve may be somebody else's to serve.
    #[test]
    fn a_zone_that_is_served_is_never_refused(
        labels in "([a-zA-Z0-9_*ü -]{0,3}[.]){0,3}[a-z-]{0,2}",
        long in "[a-z]{61,65}|()",
        parent in "[a-zA-Z. -]{0,4}[.]?",
    ) {
        let zone = format!("{labels}{long}.{parent}");
        let object = delegation(&zone, &parent);
        let spec: ZoneDelegationSpec = serde_json::from_value(object.clone()).unwrap();
        thread_local! { static SCHEMA: CompiledSchema = schema(ZONE_DELEGATIONS); }
        let refused = SCHEMA.with(|schema| refused(schema, &object));
        if spec.zone().is_ok() {
            prop_assert_eq!(refused, []);
        }
    }
}
