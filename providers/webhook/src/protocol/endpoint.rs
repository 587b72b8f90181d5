//! A set of records as external-dns has it.

use std::collections::BTreeMap;

use gslb_core::name::{DomainName, NameError};
use gslb_core::sets::RecordType;
use serde::{Deserialize, Deserializer, Serialize};

/// All records of one name and type. What is empty or zero is not written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// The owner name, usually without the final dot.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dns_name: String,
    /// The data of each record, in presentation form; texts of a TXT in quotes or bare.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// The type's mnemonic, upper case.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub record_type: String,
    /// Tells sets of one name and type apart where a provider weighs or routes. Empty for plain DNS.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub set_identifier: String,
    /// Seconds. 0: the provider's default.
    #[serde(rename = "recordTTL", skip_serializing_if = "is_zero")]
    pub record_ttl: i64,
    /// What external-dns keeps about the set: `owner`, `resource`, and any others.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What only some providers understand.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub provider_specific: Vec<Property>,
}

/// A setting of one provider.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Property {
    /// Such as `alias`, or `webhook/ttl-policy`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
}

impl Endpoint {
    /// A set of plain records. A TTL of `None` is the provider's default.
    pub fn new(name: &DomainName, record_type: RecordType, ttl: Option<u32>, targets: Vec<String>) -> Self {
        Self {
            dns_name: name.to_string(),
            targets,
            record_type: record_type.to_string(),
            record_ttl: ttl.map_or(0, i64::from),
            ..Self::default()
        }
    }

    /// The owner name.
    ///
    /// # Errors
    /// It is no domain name.
    pub fn name(&self) -> Result<DomainName, NameError> {
        DomainName::parse(&self.dns_name)
    }

    /// The type, if it is one of those that are written here.
    pub fn known_type(&self) -> Option<RecordType> {
        self.record_type.parse().ok()
    }

    /// A sentence's name for the set, such as `A www.example.com`.
    pub fn title(&self) -> String {
        format!("{} {}", self.record_type, self.dns_name)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// Go writes a list or map that was never made as `null`.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_endpoint_is_written_as_external_dns_has_it() {
        let name = DomainName::parse("WWW.example.com.").unwrap();
        let plain = Endpoint::new(&name, RecordType::A, None, vec!["192.0.2.80".into()]);
        let written = json!({"dnsName": "www.example.com", "targets": ["192.0.2.80"], "recordType": "A"});
        assert_eq!(serde_json::to_value(&plain).unwrap(), written);
        let full = json!({
            "dnsName": "www.example.com", "targets": ["192.0.2.80"], "recordType": "A", "setIdentifier": "eu",
            "recordTTL": 30, "labels": {"owner": "eu"}, "providerSpecific": [{"name": "alias", "value": "true"}],
        });
        let read: Endpoint = serde_json::from_value(full.clone()).unwrap();
        assert_eq!(read.record_ttl, 30);
        assert_eq!(serde_json::to_value(&read).unwrap(), full);
    }

    #[test]
    fn what_is_missing_or_null_is_empty_and_what_is_not_known_is_passed_over() {
        let read: Endpoint = serde_json::from_value(json!({
            "dnsName": "www.example.com", "targets": null, "labels": null, "providerSpecific": null, "newer": 1,
        }))
        .unwrap();
        assert_eq!(read, Endpoint { dns_name: "www.example.com".into(), ..Endpoint::default() });
    }
}
