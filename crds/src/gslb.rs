//! `Gslb`: one application that several clusters serve under the same host names.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelectorRequirement};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ingress::IngressSpec;
use crate::lenient::{none_if_empty, or_default, spec_may_be_absent};
use crate::refine::{Rules, condition_list};

/// What the owner of the application asks for.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "k8gb.io",
    version = "v1beta1",
    kind = "Gslb",
    plural = "gslbs",
    namespaced,
    status = "GslbStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "An application that several clusters serve under the same host names.",
    printcolumn(name = "Hosts", type_ = "string", json_path = ".status.hosts"),
    printcolumn(name = "Strategy", type_ = "string", json_path = ".spec.strategy.type"),
    printcolumn(name = "GeoTag", type_ = "string", json_path = ".status.geoTag"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Serving", type_ = "string", json_path = ".status.serving.sites"),
    printcolumn(name = "Peers", type_ = "string", json_path = ".status.peersAnswering"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#,
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].message"#,
        priority = 1
    )
)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct GslbSpec {
    /// How the clusters share the traffic.
    #[serde(default, deserialize_with = "or_default")]
    pub strategy: Strategy,
    /// The object that names hosts and Services. Wins over `ingress`.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<ResourceRef>,
    /// An Ingress to be made for the application, with the name of the Gslb. Only looked at without
    /// `resourceRef`.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressSpec>,
    /// Whether a host with several Services is healthy when any of them is, or only when all are.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub service_health_policy: Option<String>,
}
spec_may_be_absent!(GslbSpec);

/// How the clusters share the traffic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// `roundRobin`, `failover` or `geoip`.
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub kind: String,
    /// Share of the traffic per geo tag, 0 to 1000 each. For `roundRobin` only.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub weight: BTreeMap<String, i64>,
    /// Geo tag of the cluster that serves while it is healthy. For `failover` only.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub primary_geo_tag: Option<String>,
    /// Seconds that a resolver may keep an answer. 30 if it is 0 or absent.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub dns_ttl_seconds: Option<i64>,
    /// Seconds that a peer out of reach may stay on other evidence than its own word. Checked, not used yet.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub split_brain_threshold_seconds: Option<i64>,
}

/// A reference by name or by labels to the object that names hosts and Services.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRef {
    /// Group and version of the referenced object.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind of the referenced object.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the referenced object.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the referenced object, if it is not that of the Gslb.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Accepted and not used.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// Accepted and not used.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Accepted and not used.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Labels that the referenced object must have.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on labels that the referenced object must meet, all of them.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LabelRequirement>")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Schema of Kubernetes' own type, with our descriptions.
#[derive(JsonSchema)]
#[schemars(description = "A condition on one label.")]
#[expect(dead_code, reason = "only its schema is used")]
struct LabelRequirement {
    /// Key of the label.
    key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    operator: String,
    /// Values for `In` and `NotIn`, empty for the other two.
    values: Option<Vec<String>>,
}

/// What this cluster observed and publishes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GslbStatus {
    /// Health per host: `Healthy`, `Unhealthy` or `NotFound`.
    #[serde(default, deserialize_with = "or_default")]
    pub service_health: BTreeMap<String, String>,
    /// Addresses that are answered, per host.
    #[serde(default, deserialize_with = "or_default")]
    pub healthy_records: BTreeMap<String, Vec<String>>,
    /// Geo tag of this cluster.
    #[serde(default, deserialize_with = "or_default")]
    pub geo_tag: String,
    /// The hosts, separated by comma and blank.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub hosts: Option<String>,
    /// Where this cluster's application is reached.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Hosts with the Services behind them.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// Accepted, Resolved, Serving, PeersReachable and Ready, each with its reason.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that this status tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What is known of every other cluster.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<PeerStatus>,
    /// How many of the other clusters answer, for example `2/2`.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub peers_answering: Option<String>,
    /// Which clusters the answers point to.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
}

/// Where this cluster's application is reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    /// IPv4 addresses.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub exposed_ips: Vec<String>,
}

/// A host with the Services behind it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// Host name.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Services whose endpoints decide the host's health.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<NamespacedName>,
}

/// A name in a namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedName {
    /// Namespace.
    #[serde(default, deserialize_with = "or_default")]
    pub namespace: String,
    /// Name.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// What is known of one other cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeerStatus {
    /// Its geo tag.
    #[serde(default, deserialize_with = "or_default")]
    pub geo_tag: String,
    /// State of our view, for example `Answered` or `Lost`.
    #[serde(default, deserialize_with = "or_default")]
    pub state: String,
    /// Why the view is in that state.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when, in RFC 3339.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Addresses that it announced.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// Which clusters the answers point to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Serving {
    /// Geo tags over all hosts, separated by commas.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub sites: Option<String>,
    /// The same per host.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ServingHost>,
}

/// Which clusters the answers for one host point to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServingHost {
    /// Host name.
    #[serde(default, deserialize_with = "or_default")]
    pub host: String,
    /// Geo tags.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<String>,
    /// Why these.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the derive cannot say about the schema.
pub(crate) fn rules() -> Rules {
    Rules {
        required: vec![
            ("spec", vec!["strategy"]),
            ("spec.strategy", vec!["type"]),
            ("spec.resourceRef.matchExpressions[]", vec!["key", "operator"]),
            ("spec.ingress.backend.resource", vec!["kind", "name"]),
            ("spec.ingress.backend.service", vec!["name"]),
            ("spec.ingress.rules[]", vec!["http"]),
            ("spec.ingress.rules[].http", vec!["paths"]),
            ("spec.ingress.rules[].http.paths[]", vec!["backend", "pathType"]),
            ("spec.ingress.rules[].http.paths[].backend.resource", vec!["kind", "name"]),
            ("spec.ingress.rules[].http.paths[].backend.service", vec!["name"]),
            ("status", vec!["geoTag", "healthyRecords", "serviceHealth"]),
            ("status.servers[].services[]", vec!["name", "namespace"]),
            ("status.peers[]", vec!["geoTag", "state"]),
            ("status.serving.hosts[]", vec!["host"]),
        ],
        extra: vec![
            ("spec.serviceHealthPolicy", json!({ "default": "Any", "enum": ["Any", "All"] })),
            // A negative share means nothing; the upper end is a sentence in a condition, as in k8gb.
            ("spec.strategy.weight", json!({ "additionalProperties": { "type": "integer", "minimum": 0 } })),
            // Neither is a negative time to live; k8gb takes no such Gslb in either.
            (
                "spec.strategy.dnsTtlSeconds",
                json!({ "x-kubernetes-validations": [{
                    "rule": "self >= 0",
                    // The API server quotes the value before it. To do so here would cost, by its estimate, too much.
                    "message": "a time to live is not negative; write a number from 0 to 2147483647 (0 means 30)",
                }] }),
            ),
            ("spec.resourceRef", json!({ "x-kubernetes-map-type": "atomic" })),
            ("spec.resourceRef.matchExpressions", json!({ "x-kubernetes-list-type": "atomic" })),
            ("spec.resourceRef.matchExpressions[].values", json!({ "x-kubernetes-list-type": "atomic" })),
            ("spec.ingress.backend.resource", json!({ "x-kubernetes-map-type": "atomic" })),
            ("spec.ingress.backend.service.port", json!({ "x-kubernetes-map-type": "atomic" })),
            ("spec.ingress.backend.service.port.number", json!({ "format": "int32" })),
            ("spec.ingress.rules[].http.paths", json!({ "x-kubernetes-list-type": "atomic" })),
            (
                "spec.ingress.rules[].http.paths[].backend.resource",
                json!({ "x-kubernetes-map-type": "atomic" }),
            ),
            (
                "spec.ingress.rules[].http.paths[].backend.service.port",
                json!({ "x-kubernetes-map-type": "atomic" }),
            ),
            ("spec.ingress.rules[].http.paths[].backend.service.port.number", json!({ "format": "int32" })),
            ("spec.ingress.tls[].hosts", json!({ "x-kubernetes-list-type": "atomic" })),
            ("status.observedGeneration", json!({ "format": "int64" })),
            ("status.peers[].since", json!({ "format": "date-time" })),
        ],
    }
}
