//! From an HTTP request to what it asks: target, verb, options.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, Method, header};

use super::gc::{DeleteOptions, Propagation};
use super::protobuf;
use super::status::ApiError;
use super::table::Include;
use super::write::FieldValidation;

/// The resource that a path names. Empty strings stand for parts that it leaves out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) namespace: String,
    pub(super) resource: String,
    pub(super) name: String,
    pub(super) subresource: String,
}

impl Target {
    /// `None` for paths that are not of resources, such as discovery.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decode).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let target = |namespace: &str, resource: &str, name: &str, subresource: &str| Self {
            group: group.into(),
            version: version.into(),
            namespace: namespace.into(),
            resource: resource.into(),
            name: name.into(),
            subresource: subresource.into(),
        };
        Some(match rest {
            ["namespaces", name, sub @ ("status" | "finalize")] => target("", "namespaces", name, sub),
            ["namespaces", namespace, resource] => target(namespace, resource, "", ""),
            ["namespaces", namespace, resource, name] => target(namespace, resource, name, ""),
            ["namespaces", namespace, resource, name, sub] => target(namespace, resource, name, sub),
            [resource] => target("", resource, "", ""),
            [resource, name] => target("", resource, name, ""),
            [resource, name, sub] => target("", resource, name, sub),
            _ => return None,
        })
    }
}

/// The verb as Kubernetes' authorisation and audit name it.
pub(super) fn verb(method: &Method, target: &Target, query: &Query) -> Option<&'static str> {
    let named = !target.name.is_empty();
    Some(match (method.as_str(), named) {
        ("GET" | "HEAD", _) if query.flag("watch") => "watch",
        ("GET" | "HEAD", true) => "get",
        ("GET" | "HEAD", false) => "list",
        ("POST", _) => "create",
        ("PUT", true) => "update",
        ("PATCH", true) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => return None,
    })
}

/// The parameters of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let form = |text: &str| decode(&text.replace('+', " "));
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(key, value)| (form(key), form(value)))
                .collect(),
        )
    }

    pub(super) fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| matches!(value.as_str(), "true" | "1" | ""))
    }

    /// A flag that may be left out; then it is neither.
    pub(super) fn choice(&self, key: &str) -> Option<bool> {
        self.0.get(key).map(|_| self.flag(key))
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, ApiError> {
        match self.get(key) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!(
                    "{key}: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }

    pub(super) fn dry_run(&self) -> bool {
        self.get("dryRun") == "All"
    }

    pub(super) fn field_validation(&self) -> FieldValidation {
        match self.get("fieldValidation") {
            "Strict" => FieldValidation::Strict,
            "Ignore" => FieldValidation::Ignore,
            _ => FieldValidation::Warn,
        }
    }

    pub(super) fn include(&self) -> Include {
        match self.get("includeObject") {
            "None" => Include::None,
            "Object" => Include::Object,
            _ => Include::Metadata,
        }
    }
}

/// How the answer shall look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Table(Include),
    MetadataOnly,
}

/// Takes the first form of `Accept` that we have; plain JSON when there is none.
pub(super) fn format(headers: &HeaderMap, query: &Query) -> Format {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    for clause in accept.split(',') {
        let mut parameters = clause.split(';').map(str::trim);
        let media = parameters.next().unwrap_or_default();
        if !["application/json", "*/*", "application/*"].contains(&media) {
            continue;
        }
        let parameters: BTreeMap<&str, &str> =
            parameters.filter_map(|parameter| parameter.split_once('=')).collect();
        match (parameters.get("as").copied(), parameters.get("v").copied()) {
            (Some("Table"), Some("v1")) => return Format::Table(query.include()),
            (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("v1")) => {
                return Format::MetadataOnly;
            }
            (None, _) => return Format::Plain,
            _ => {}
        }
    }
    Format::Plain
}

/// The options of a DELETE; those of the body win over those of the query.
pub(super) fn delete_options(body: &serde_json::Value, query: &Query) -> DeleteOptions {
    let policy = body["propagationPolicy"].as_str().unwrap_or_else(|| query.get("propagationPolicy"));
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    DeleteOptions {
        propagation: match policy {
            "Foreground" => Propagation::Foreground,
            "Orphan" => Propagation::Orphan,
            _ => Propagation::Background,
        },
        uid: text(&body["preconditions"]["uid"]),
        resource_version: text(&body["preconditions"]["resourceVersion"]),
    }
}

/// The body as a value: JSON, YAML, of which JSON is a part, or one of the few messages we know.
pub(super) fn parse_body(bytes: &[u8]) -> Result<serde_json::Value, ApiError> {
    if bytes.is_empty() {
        return Ok(serde_json::Value::Null);
    }
    if let Some(object) = protobuf::decode(bytes) {
        return Ok(object);
    }
    serde_json::from_slice(bytes).or_else(|json| {
        serde_saphyr::from_slice(bytes)
            .map_err(|_| ApiError::bad_request(format!("the object provided is unrecognized: {json}")))
    })
}

/// Percent-decoding (RFC 3986 §2.1); what is not encoded well stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while place < bytes.len() {
        let escaped = (bytes[place] == b'%').then(|| text.get(place + 1..place + 3)).flatten();
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                place += 3;
            }
            None => {
                decoded.push(bytes[place]);
                place += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_group_namespace_and_subresource() {
        let target = Target::parse("/apis/k8gb.io/v1beta1/namespaces/demo/gslbs/web/status").unwrap();
        let expected = Target {
            group: "k8gb.io".into(),
            version: "v1beta1".into(),
            namespace: "demo".into(),
            resource: "gslbs".into(),
            name: "web".into(),
            subresource: "status".into(),
        };
        assert_eq!(target, expected);
        let namespace = Target::parse("/api/v1/namespaces/demo").unwrap();
        assert_eq!((namespace.resource.as_str(), namespace.name.as_str()), ("namespaces", "demo"));
        assert_eq!(Target::parse("/apis/k8gb.io/v1beta1"), None);
    }

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+%28d%29&watch=1");
        assert_eq!(query.get("labelSelector"), "a=b,c in (d)");
        assert!(query.flag("watch"));
    }
}
