//! The CustomResourceDefinitions of all kinds, as values and as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;

use crate::refine::refine;
use crate::{
    DnsEndpoint, Gslb, ProviderChange, ZoneDelegation, dns_endpoint, gslb, legacy, marks, provider_change,
    zone_delegation,
};

/// The definitions of all kinds, in the order in which they are printed.
pub fn all() -> Vec<CustomResourceDefinition> {
    let mut dns_endpoint = refine(DnsEndpoint::crd(), dns_endpoint::rules());
    dns_endpoint
        .metadata
        .annotations
        .get_or_insert_default()
        .insert(marks::API_APPROVED.to_owned(), marks::API_APPROVED_DNS_ENDPOINT.to_owned());
    vec![
        refine(Gslb::crd(), gslb::rules()),
        legacy::definition(),
        refine(ZoneDelegation::crd(), zone_delegation::rules()),
        dns_endpoint,
        refine(ProviderChange::crd(), provider_change::rules()),
    ]
}

/// All definitions as one stream of YAML documents: what `gslb-bridge crds` prints.
pub fn yaml() -> String {
    all().iter().map(document).collect::<Vec<_>>().join("---\n")
}

/// One object as YAML, keys in alphabetical order.
pub fn document(object: &impl Serialize) -> String {
    let value = serde_json::to_value(object).expect("a definition is plain data");
    let mut text = serde_saphyr::to_string(&value).expect("a definition is plain data");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
