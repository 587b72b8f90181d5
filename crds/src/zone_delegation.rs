//! `ZoneDelegation`: one zone that the fleet serves, delegated from its parent.

use gslb_core::name::{DomainName, MAX_LABEL, MAX_NAME};
use gslb_core::ttl::Ttl;
use gslb_core::zone::Zone;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::lenient::{or_default, spec_may_be_absent};
use crate::refine::{Rules, condition_list};

/// Which zone, below which parent.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "k8gb.io",
    version = "v1beta1",
    kind = "ZoneDelegation",
    plural = "zonedelegations",
    shortname = "zd",
    status = "ZoneDelegationStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A zone that the clusters serve, and its delegation from the parent zone.",
    printcolumn(name = "LoadBalancedZone", type_ = "string", json_path = ".spec.loadBalancedZone"),
    printcolumn(name = "ParentZone", type_ = "string", json_path = ".spec.parentZone"),
    printcolumn(name = "NegTTL", type_ = "integer", json_path = ".spec.dnsZoneNegTTL"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Delegated",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Delegated")].status"#
    ),
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
pub struct ZoneDelegationSpec {
    /// The zone that the clusters serve.
    #[serde(default, deserialize_with = "or_default")]
    pub load_balanced_zone: String,
    /// The zone that holds the delegation.
    #[serde(default, deserialize_with = "or_default")]
    pub parent_zone: String,
    /// Seconds that a resolver may keep the answer that a name does not exist.
    #[serde(rename = "dnsZoneNegTTL", default, deserialize_with = "or_default")]
    pub dns_zone_neg_ttl: i64,
    /// Whether this cluster's part of the delegation is withdrawn from the parent when this object is deleted.
    #[serde(default, deserialize_with = "or_default")]
    pub do_finalize: bool,
}
spec_may_be_absent!(ZoneDelegationSpec);

impl ZoneDelegationSpec {
    /// The zone that the spec names. A negative TTL that is none is replaced, which the sentence beside the zone
    /// says: for it alone no zone stops being served.
    ///
    /// # Errors
    /// The sentence that says why the spec names no zone.
    pub fn zone(&self) -> Result<(Zone, Option<String>), String> {
        let parse = |field, text: &str| {
            DomainName::parse(text).map_err(|error| format!("spec.{field} {text:?} is no zone: {error}"))
        };
        let name = parse("loadBalancedZone", &self.load_balanced_zone)?;
        let parent = parse("parentZone", &self.parent_zone)?;
        let (ttl, problem) = match Ttl::from_secs(self.dns_zone_neg_ttl) {
            Ok(ttl) => (ttl, None),
            Err(error) => {
                let ttl = Ttl::NEGATIVE_CAP;
                (ttl, Some(format!("spec.dnsZoneNegTTL is read as {}: {error}", ttl.as_secs())))
            }
        };
        let zone = Zone::new(name, parent, ttl).map_err(|error| error.to_string())?;
        Ok((zone, problem))
    }
}

/// What this cluster observed of the delegation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneDelegationStatus {
    /// Name servers of the zone, one entry per name and address, sorted.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub dns_servers: Vec<DnsServer>,
    /// Accepted, Delegated, InSync and Ready, each with its reason.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "condition_list")]
    pub conditions: Vec<Condition>,
    /// Generation of the spec that this status tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One address of one name server.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsServer {
    /// Name of the name server.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Its address, IPv4 or IPv6.
    #[serde(default, deserialize_with = "or_default")]
    pub address: String,
}

/// What the derive cannot say about the schema.
pub(crate) fn rules() -> Rules {
    Rules {
        required: vec![
            ("spec", vec!["dnsZoneNegTTL", "loadBalancedZone", "parentZone"]),
            ("status.dnsServers[]", vec!["address", "name"]),
        ],
        extra: vec![
            ("spec.doFinalize", json!({ "default": false })),
            (
                "spec",
                json!({ "x-kubernetes-validations": [
                    {
                        "rule": "self.loadBalancedZone != self.parentZone",
                        "message": "loadBalancedZone must not equal parentZone",
                    },
                    {
                        "rule": "self.loadBalancedZone.endsWith('.' + self.parentZone)",
                        "message": "loadBalancedZone must be subdomain",
                    },
                ] }),
            ),
            ("spec.loadBalancedZone", zone_name("loadBalancedZone", "cloud.example.com")),
            ("spec.parentZone", zone_name("parentZone", "example.com")),
            ("status.observedGeneration", json!({ "format": "int64" })),
        ],
    }
}

/// What no name server takes for a name (RFC 1035 §2.3.4): such a zone is served by nobody, k8gb included. Whether
/// the letters of a label are fine is told by a condition, because CoreDNS, and so k8gb, serves more than we do.
fn zone_name(field: &str, example: &str) -> Value {
    // The longest name with its final dot; a bound that the API server needs to know what the rule costs.
    json!({ "maxLength": MAX_NAME + 1, "x-kubernetes-validations": [{
        "rule": format!(
            "self.matches('^([^.[:space:]]{{1,{MAX_LABEL}}}[.])*[^.[:space:]]{{1,{MAX_LABEL}}}[.]?$') \
             && (size(self) <= {MAX_NAME} || self.endsWith('.'))"
        ),
        "message": format!(
            "{field} must be a domain name: at most {MAX_NAME} characters, 1 to {MAX_LABEL} between two dots, no \
             blank among them; for example {example}"
        ),
    }] })
}
