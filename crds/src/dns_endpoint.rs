//! `DNSEndpoint`: records as external-dns and k8gb's DNS server read them.

use std::collections::BTreeMap;

use gslb_core::published::UnansweredHosts;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::gslb::Strategy;
use crate::lenient::{none_if_empty, or_default, spec_may_be_absent};
use crate::marks;
use crate::refine::Rules;

/// The records.
#[derive(CustomResource, Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "externaldns.k8s.io",
    version = "v1alpha1",
    kind = "DNSEndpoint",
    root = "DnsEndpoint",
    plural = "dnsendpoints",
    namespaced,
    status = "DnsEndpointStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "DNS records that a DNS server or external-dns publishes."
)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct DnsEndpointSpec {
    /// One entry per RRset.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
}
spec_may_be_absent!(DnsEndpointSpec);

/// Records of one name and type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// Owner name of the records, without the final dot.
    #[serde(default, deserialize_with = "or_default")]
    pub dns_name: String,
    /// Type of the records, for example `A`.
    #[serde(default, deserialize_with = "or_default")]
    pub record_type: String,
    /// Seconds that a resolver may keep the records.
    #[serde(rename = "recordTTL", default, skip_serializing_if = "Option::is_none")]
    pub record_ttl: Option<i64>,
    /// Data of the records.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Labels of this entry.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Tells entries of the same name and type apart where a provider allows several.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub set_identifier: Option<String>,
    /// Settings for one provider.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub provider_specific: Vec<ProviderSpecific>,
}

/// A setting for one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderSpecific {
    /// Name of the setting.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Its value.
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
}

/// What external-dns reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DnsEndpointStatus {
    /// Generation that external-dns has seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl DnsEndpoint {
    /// The hosts that have no record, from the annotation, and sentences about what cannot be read in it; none
    /// if it is absent.
    pub fn unanswered_hosts(&self) -> (UnansweredHosts, Vec<String>) {
        self.annotation(marks::UNANSWERED_HOSTS).map(UnansweredHosts::parse).unwrap_or_default()
    }

    /// The last accepted strategy, from the annotation.
    ///
    /// # Errors
    /// The annotation is not what we write.
    pub fn accepted_strategy(&self) -> Result<Option<Strategy>, serde_json::Error> {
        self.annotation(marks::ACCEPTED_STRATEGY).map(serde_json::from_str).transpose()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }
}

/// What the derive cannot say about the schema.
pub(crate) fn rules() -> Rules {
    Rules {
        required: Vec::new(),
        extra: vec![
            ("spec.endpoints[].recordTTL", json!({ "format": "int64" })),
            ("status.observedGeneration", json!({ "format": "int64" })),
        ],
    }
}
