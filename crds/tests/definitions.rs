//! The published definitions: in step with the types, and in step with the contract.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gslb_crds::definitions::document;
use serde_json::{Value, json};

/// Set to rewrite the files instead of comparing them.
const REWRITE: &str = "GSLB_CRDS_REWRITE";

fn file_of(name: &str) -> PathBuf {
    let (plural, group) = name.split_once('.').unwrap();
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{group}_{plural}.yaml"))
}

#[test]
fn the_files_beside_the_types_are_what_the_types_say() {
    for crd in gslb_crds::all() {
        let path = file_of(crd.metadata.name.as_deref().unwrap());
        let text = document(&crd);
        if std::env::var_os(REWRITE).is_some() {
            fs::write(&path, &text).unwrap();
        }
        let file = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(file, text, "{} is out of date: run the test with {REWRITE}=1", path.display());
    }
}

#[test]
fn the_printed_stream_holds_every_definition() {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&gslb_crds::yaml()).unwrap();
    let expected: Vec<Value> =
        gslb_crds::all().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    assert_eq!(documents, expected);
}

/// Flattens a schema to one line per property: path, type, keywords, and `required`.
fn facts(crd: &Value) -> Vec<String> {
    fn walk(path: &str, schema: &Value, required: bool, lines: &mut Vec<String>) {
        let mut words = vec![path.to_owned(), schema["type"].as_str().unwrap_or("any").to_owned()];
        for key in ["default", "enum", "format", "x-kubernetes-map-type", "x-kubernetes-list-type"] {
            if let Some(value) = schema.get(key) {
                words.push(format!("{}={value}", key.trim_start_matches("x-kubernetes-")));
            }
        }
        for key in ["nullable", "x-kubernetes-preserve-unknown-fields"] {
            if schema.get(key).is_some() {
                words.push(key.to_owned());
            }
        }
        if required {
            words.push("required".to_owned());
        }
        lines.push(words.join(" "));
        let names =
            |name: &String| schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            walk(&path, property, names(name), lines);
        }
        for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
            if let Some(nested) = schema.get(key) {
                walk(&format!("{path}{mark}"), nested, false, lines);
            }
        }
    }
    let mut lines = Vec::new();
    walk("", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], false, &mut lines);
    lines.split_off(1)
}

/// The definition of a kind; of the legacy group only by its full name.
fn definition(plural: &str) -> Value {
    let crds: BTreeMap<String, Value> = gslb_crds::all()
        .iter()
        .map(|crd| match crd.spec.group.as_str() {
            "k8gb.absa.oss" => (crd.metadata.name.clone().unwrap(), serde_json::to_value(crd).unwrap()),
            _ => (crd.spec.names.plural.clone(), serde_json::to_value(crd).unwrap()),
        })
        .collect();
    crds[plural].clone()
}

fn columns(crd: &Value) -> Vec<(String, String)> {
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    columns.into_iter().flatten().map(|column| (text(&column["name"]), text(&column["jsonPath"]))).collect()
}

fn lines(table: &str) -> Vec<String> {
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Contract §1.2 and §1.3; `conditions`, `observedGeneration`, `peers`, `peersAnswering` and `serving` of the status are ours.
const GSLB: &str = r#"
    apiVersion string
    kind string
    metadata object
    spec object
    spec.ingress object
    spec.ingress.backend object
    spec.ingress.backend.resource object map-type="atomic"
    spec.ingress.backend.resource.apiGroup string
    spec.ingress.backend.resource.kind string required
    spec.ingress.backend.resource.name string required
    spec.ingress.backend.service object
    spec.ingress.backend.service.name string required
    spec.ingress.backend.service.port object map-type="atomic"
    spec.ingress.backend.service.port.name string
    spec.ingress.backend.service.port.number integer format="int32"
    spec.ingress.ingressClassName string
    spec.ingress.rules array
    spec.ingress.rules[] object
    spec.ingress.rules[].host string
    spec.ingress.rules[].http object required
    spec.ingress.rules[].http.paths array list-type="atomic" required
    spec.ingress.rules[].http.paths[] object
    spec.ingress.rules[].http.paths[].backend object required
    spec.ingress.rules[].http.paths[].backend.resource object map-type="atomic"
    spec.ingress.rules[].http.paths[].backend.resource.apiGroup string
    spec.ingress.rules[].http.paths[].backend.resource.kind string required
    spec.ingress.rules[].http.paths[].backend.resource.name string required
    spec.ingress.rules[].http.paths[].backend.service object
    spec.ingress.rules[].http.paths[].backend.service.name string required
    spec.ingress.rules[].http.paths[].backend.service.port object map-type="atomic"
    spec.ingress.rules[].http.paths[].backend.service.port.name string
    spec.ingress.rules[].http.paths[].backend.service.port.number integer format="int32"
    spec.ingress.rules[].http.paths[].path string
    spec.ingress.rules[].http.paths[].pathType string required
    spec.ingress.tls array
    spec.ingress.tls[] object
    spec.ingress.tls[].hosts array list-type="atomic"
    spec.ingress.tls[].hosts[] string
    spec.ingress.tls[].secretName string
    spec.resourceRef object map-type="atomic"
    spec.resourceRef.apiVersion string
    spec.resourceRef.fieldPath string
    spec.resourceRef.kind string
    spec.resourceRef.matchExpressions array list-type="atomic"
    spec.resourceRef.matchExpressions[] object
    spec.resourceRef.matchExpressions[].key string required
    spec.resourceRef.matchExpressions[].operator string required
    spec.resourceRef.matchExpressions[].values array list-type="atomic"
    spec.resourceRef.matchExpressions[].values[] string
    spec.resourceRef.matchLabels object
    spec.resourceRef.matchLabels{} string
    spec.resourceRef.name string
    spec.resourceRef.namespace string
    spec.resourceRef.resourceVersion string
    spec.resourceRef.uid string
    spec.serviceHealthPolicy string default="Any" enum=["Any","All"]
    spec.strategy object required
    spec.strategy.dnsTtlSeconds integer
    spec.strategy.primaryGeoTag string
    spec.strategy.splitBrainThresholdSeconds integer
    spec.strategy.type string required
    spec.strategy.weight object
    spec.strategy.weight{} integer
    status object
    status.conditions array list-type="map"
    status.conditions[] object
    status.conditions[].lastTransitionTime string format="date-time" required
    status.conditions[].message string required
    status.conditions[].observedGeneration integer format="int64"
    status.conditions[].reason string required
    status.conditions[].status string enum=["True","False","Unknown"] required
    status.conditions[].type string required
    status.geoTag string required
    status.healthyRecords object required
    status.healthyRecords{} array
    status.healthyRecords{}[] string
    status.hosts string
    status.loadBalancer object
    status.loadBalancer.exposedIps array
    status.loadBalancer.exposedIps[] string
    status.observedGeneration integer format="int64"
    status.peers array
    status.peers[] object
    status.peers[].addresses array
    status.peers[].addresses[] string
    status.peers[].geoTag string required
    status.peers[].reason string
    status.peers[].since string format="date-time"
    status.peers[].state string required
    status.peersAnswering string
    status.servers array
    status.servers[] object
    status.servers[].host string
    status.servers[].services array
    status.servers[].services[] object
    status.servers[].services[].name string required
    status.servers[].services[].namespace string required
    status.serviceHealth object required
    status.serviceHealth{} string
    status.serving object
    status.serving.hosts array
    status.serving.hosts[] object
    status.serving.hosts[].host string required
    status.serving.hosts[].reason string
    status.serving.hosts[].sites array
    status.serving.hosts[].sites[] string
    status.serving.sites string
"#;

const ZONE_DELEGATION: &str = r#"
    apiVersion string
    kind string
    metadata object
    spec object
    spec.dnsZoneNegTTL integer required
    spec.doFinalize boolean default=false
    spec.loadBalancedZone string required
    spec.parentZone string required
    status object
    status.conditions array list-type="map"
    status.conditions[] object
    status.conditions[].lastTransitionTime string format="date-time" required
    status.conditions[].message string required
    status.conditions[].observedGeneration integer format="int64"
    status.conditions[].reason string required
    status.conditions[].status string enum=["True","False","Unknown"] required
    status.conditions[].type string required
    status.dnsServers array
    status.dnsServers[] object
    status.dnsServers[].address string required
    status.dnsServers[].name string required
    status.observedGeneration integer format="int64"
"#;

const DNS_ENDPOINT: &str = r#"
    apiVersion string
    kind string
    metadata object
    spec object
    spec.endpoints array
    spec.endpoints[] object
    spec.endpoints[].dnsName string
    spec.endpoints[].labels object
    spec.endpoints[].labels{} string
    spec.endpoints[].providerSpecific array
    spec.endpoints[].providerSpecific[] object
    spec.endpoints[].providerSpecific[].name string
    spec.endpoints[].providerSpecific[].value string
    spec.endpoints[].recordTTL integer format="int64"
    spec.endpoints[].recordType string
    spec.endpoints[].setIdentifier string
    spec.endpoints[].targets array
    spec.endpoints[].targets[] string
    status object
    status.observedGeneration integer format="int64"
"#;

/// Ours: the entries of the change log with their place in the chain.
const PROVIDER_CHANGE: &str = r#"
    apiVersion string
    kind string
    metadata object
    spec object
    spec.action string enum=["Create","Replace","Delete","Restart"] required
    spec.after any x-kubernetes-preserve-unknown-fields
    spec.at string format="date-time" required
    spec.before any x-kubernetes-preserve-unknown-fields
    spec.chain object required
    spec.chain.hash string required
    spec.chain.line integer format="int64" required
    spec.chain.previous string required
    spec.chain.seal string
    spec.changeId string required
    spec.object object required
    spec.object.generation integer format="int64" required
    spec.object.kind string required
    spec.object.name string required
    spec.object.namespace string
    spec.object.uid string required
    spec.planId string required
    spec.provider string required
    spec.sequence integer format="int64" required
    spec.view string
    spec.who object required
    spec.who.actor string required
    spec.who.cluster string required
    spec.who.pod string required
    spec.why string required
    spec.zone string required
    status object
    status.amends array
    status.amends[] object
    status.amends[].error string
    status.amends[].lost any x-kubernetes-preserve-unknown-fields
    status.at string format="date-time" required
    status.chain object required
    status.chain.hash string required
    status.chain.line integer format="int64" required
    status.chain.previous string required
    status.chain.seal string
    status.durationMillis integer format="int64" required
    status.error string
    status.reference string
    status.result string enum=["Applied","Failed","AwaitingApproval","NotApplied","Unknown"] required
    status.sequence integer format="int64" required
    status.settledByReading boolean required
"#;

/// Conformance 2.
#[test]
fn fields_types_defaults_and_requirements_agree_with_the_contract() {
    for (plural, table) in [
        ("gslbs", GSLB),
        ("zonedelegations", ZONE_DELEGATION),
        ("dnsendpoints", DNS_ENDPOINT),
        ("providerchanges", PROVIDER_CHANGE),
    ] {
        assert_eq!(facts(&definition(plural)), lines(table), "{plural}");
    }
}

/// Contract §1.1 and §1.2: the same kind, but for one field.
#[test]
fn the_legacy_gslb_is_the_canonical_one_without_a_health_policy() {
    let legacy = definition("gslbs.k8gb.absa.oss");
    let mut wanted = lines(GSLB);
    wanted.retain(|line| !line.starts_with("spec.serviceHealthPolicy"));
    assert_eq!(facts(&legacy), wanted);
    let canonical = definition("gslbs");
    let of = |pointer: &str| (legacy.pointer(pointer).cloned(), canonical.pointer(pointer).cloned());
    for same in [
        "/spec/names",
        "/spec/scope",
        "/spec/versions/0/name",
        "/spec/versions/0/additionalPrinterColumns",
        "/spec/versions/0/subresources",
    ] {
        let (legacy, canonical) = of(same);
        assert!(legacy.is_some() && legacy == canonical, "{same}");
    }
    assert_eq!(legacy["spec"]["group"], "k8gb.absa.oss");
}

/// Conformance 3.
#[test]
fn groups_versions_scopes_and_names_agree_with_the_contract() {
    let facts = |plural: &str| {
        let crd = definition(plural);
        let version = &crd["spec"]["versions"][0];
        json!([
            crd["metadata"]["name"],
            version["name"],
            crd["spec"]["scope"],
            crd["spec"]["names"],
            [version["served"], version["storage"], version["subresources"]],
        ])
    };
    let stored = json!([true, true, { "status": {} }]);
    assert_eq!(
        facts("gslbs"),
        json!(["gslbs.k8gb.io", "v1beta1", "Namespaced",
            { "kind": "Gslb", "plural": "gslbs", "singular": "gslb" }, stored])
    );
    assert_eq!(
        facts("zonedelegations"),
        json!(["zonedelegations.k8gb.io", "v1beta1", "Cluster",
            { "kind": "ZoneDelegation", "plural": "zonedelegations", "singular": "zonedelegation", "shortNames": ["zd"] },
            stored])
    );
    assert_eq!(
        facts("dnsendpoints"),
        json!(["dnsendpoints.externaldns.k8s.io", "v1alpha1", "Namespaced",
            { "kind": "DNSEndpoint", "plural": "dnsendpoints", "singular": "dnsendpoint" }, stored])
    );
    assert_eq!(
        facts("providerchanges"),
        json!(["providerchanges.gslb-bridge.io", "v1alpha1", "Cluster",
            { "kind": "ProviderChange", "plural": "providerchanges", "singular": "providerchange", "shortNames": ["pchg"] },
            stored])
    );
    let approved = &definition("dnsendpoints")["metadata"]["annotations"]["api-approved.kubernetes.io"];
    assert_eq!(approved, "https://github.com/kubernetes-sigs/external-dns/pull/2007");
}

/// Conformance 4.
#[test]
fn a_zone_that_is_not_below_its_parent_is_refused_by_the_definition() {
    let crd = definition("zonedelegations");
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(
        spec["x-kubernetes-validations"],
        json!([
            {
                "rule": "self.loadBalancedZone != self.parentZone",
                "message": "loadBalancedZone must not equal parentZone",
            },
            {
                "rule": "self.loadBalancedZone.endsWith('.' + self.parentZone)",
                "message": "loadBalancedZone must be subdomain",
            },
        ])
    );
}

#[test]
fn what_the_change_log_says_cannot_be_edited() {
    let crd = definition("providerchanges");
    let properties = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    for part in ["spec", "status"] {
        assert_eq!(properties[part]["x-kubernetes-validations"][0]["rule"], "self == oldSelf");
    }
}

#[test]
fn kubectl_get_wide_shows_why_an_object_is_not_ready() {
    for plural in ["gslbs", "zonedelegations"] {
        let crd = definition(plural);
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
        let wide = columns.iter().filter(|column| column["priority"] == 1);
        let paths: Vec<&str> = wide.map(|column| column["jsonPath"].as_str().unwrap()).collect();
        assert_eq!(
            paths,
            [
                r#".status.conditions[?(@.type=="Ready")].reason"#,
                r#".status.conditions[?(@.type=="Ready")].message"#
            ],
            "{plural}"
        );
    }
}

#[test]
fn kubectl_get_shows_what_each_kind_is_asked_for() {
    let names = |plural: &str| {
        columns(&definition(plural)).into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("gslbs"), "Hosts Strategy GeoTag Ready Serving Peers Age Reason Message");
    assert_eq!(
        names("zonedelegations"),
        "LoadBalancedZone ParentZone NegTTL Ready Delegated Age Reason Message"
    );
    assert_eq!(names("dnsendpoints"), "");
    assert_eq!(names("providerchanges"), "Who Object Zone Action Outcome Age Why Pod Provider View");
}
