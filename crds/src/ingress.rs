//! The Ingress inside a Gslb: as `networking.k8s.io/v1`, with the differences of contract §1.2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient::{none_if_empty, or_default};

/// An Ingress to be made for the application, with the name of the Gslb.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressSpec {
    /// Name of the IngressClass.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub ingress_class_name: Option<String>,
    /// Where requests go that no rule matches.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub backend: Option<IngressBackend>,
    /// Certificates and their hosts.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<IngressTls>,
    /// Hosts and their paths.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<IngressRule>,
}

/// A certificate and its hosts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressTls {
    /// Hosts of the certificate.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Name of the Secret with the certificate.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// A host and its paths.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressRule {
    /// Host name.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Paths.
    #[serde(default, deserialize_with = "or_default")]
    pub http: HttpIngressRule,
}

/// The paths of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpIngressRule {
    /// Paths in the order in which they are tried.
    #[serde(default, deserialize_with = "or_default")]
    pub paths: Vec<HttpIngressPath>,
}

/// A path and where its requests go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpIngressPath {
    /// Path of the request.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `Exact`, `Prefix` or `ImplementationSpecific`.
    #[serde(default, deserialize_with = "or_default")]
    pub path_type: String,
    /// Where the requests go.
    #[serde(default, deserialize_with = "or_default")]
    pub backend: IngressBackend,
}

/// Where requests go: a Service or another object, not both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressBackend {
    /// A Service in the namespace of the Gslb.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceBackend>,
    /// Another object in the namespace of the Gslb.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceBackend>,
}

/// A port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceBackend {
    /// Name of the Service.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// Its port.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub port: Option<ServicePort>,
}

/// A port by name or by number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Name of the port.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of the port.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub number: Option<i32>,
}

/// An object other than a Service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceBackend {
    /// API group; the core group if absent.
    #[serde(default, deserialize_with = "none_if_empty", skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind.
    #[serde(default, deserialize_with = "or_default")]
    pub kind: String,
    /// Name.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}
