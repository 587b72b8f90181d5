//! Gateway API: routes and Gateways, of which only a few fields are read, and leniently.

use gslb_core::publication::ServiceName;
use gslb_core::reference::{Backends, ObjectKind};
use gslb_core::target::Shown;
use serde::Deserialize;

use super::referent::{AddressSource, Referent, push_once};
use crate::controller::cache::Key;

const GROUP: &str = "gateway.networking.k8s.io";

/// A route of any kind.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Route {
    spec: Option<RouteSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RouteSpec {
    hostnames: Option<Vec<String>>,
    parent_refs: Option<Vec<ObjectRef>>,
    rules: Option<Vec<Rule>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    backend_refs: Option<Vec<ObjectRef>>,
}

#[derive(Debug, Default, Deserialize)]
struct ObjectRef {
    group: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: String,
}

/// A Gateway.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Gateway {
    status: Option<GatewayStatus>,
}

#[derive(Debug, Default, Deserialize)]
struct GatewayStatus {
    addresses: Option<Vec<Address>>,
}

#[derive(Debug, Default, Deserialize)]
struct Address {
    #[serde(rename = "type")]
    kind: Option<String>,
    value: Option<String>,
}

/// What counts of a Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GatewayFacts {
    pub(crate) shown: Shown,
    /// Addresses of types that nobody can look up, as sentences.
    pub(crate) ignored: Vec<String>,
}

impl Route {
    /// What counts of a route of this kind and key.
    pub(crate) fn referent(self, kind: ObjectKind, key: &Key) -> Referent {
        let spec = self.spec.unwrap_or_default();
        let mut ignored = Vec::new();
        let mut services = Vec::new();
        let rules = spec.rules.into_iter().flatten();
        for backend in rules.flat_map(|rule| rule.backend_refs.unwrap_or_default()) {
            let namespace = backend.namespace.clone().unwrap_or_else(|| key.namespace.clone());
            if backend.is("", "Service") {
                push_once(&mut services, ServiceName { namespace, name: backend.name });
            } else {
                let other = backend.kind.as_deref().unwrap_or("Service");
                let sentence = format!(
                    "backend {other} {namespace}/{} of {} {key} is ignored, because only Services have a health here",
                    backend.name,
                    kind.kind()
                );
                push_once(&mut ignored, sentence);
            }
        }
        let backends = match kind.is_without_hosts() {
            true => Backends::Unnamed(services),
            false => Backends::shared(spec.hostnames.unwrap_or_default(), &services),
        };
        let mut gateways = Vec::new();
        // Two listeners of one Gateway are one Gateway, and a parent of another kind has no address (F-20).
        for parent in spec.parent_refs.into_iter().flatten().filter(|parent| parent.is(GROUP, "Gateway")) {
            let namespace = parent.namespace.unwrap_or_else(|| key.namespace.clone());
            push_once(&mut gateways, Key::new(namespace, parent.name));
        }
        Referent { backends, source: AddressSource::Gateways(gateways), ignored }
    }
}

impl ObjectRef {
    /// Absent fields mean the kind asked for, as in the Gateway API.
    fn is(&self, group: &str, kind: &str) -> bool {
        self.group.as_deref().unwrap_or(group) == group && self.kind.as_deref().unwrap_or(kind) == kind
    }
}

impl Gateway {
    /// What counts of it.
    pub(crate) fn facts(self) -> GatewayFacts {
        let mut ignored = Vec::new();
        let (mut ips, mut names) = (Vec::new(), std::collections::BTreeSet::new());
        for address in self.status.and_then(|status| status.addresses).into_iter().flatten() {
            let Some(value) = address.value else { continue };
            match address.kind.as_deref() {
                None | Some("IPAddress") => ips.push(value),
                Some("Hostname") => drop(names.insert(value)),
                Some(other) => {
                    let sentence = format!("address {value:?} is ignored: unsupported address type {other}");
                    push_once(&mut ignored, sentence);
                }
            }
        }
        let shown = Shown { host_names: names, ..Shown::read(ips.iter().map(String::as_str)) };
        GatewayFacts { shown, ignored }
    }
}

#[cfg(test)]
mod tests {
    use gslb_core::publication::Server;
    use serde_json::{Value, json};

    use super::*;

    fn route(kind: ObjectKind, spec: Value) -> Referent {
        let route: Route = serde_json::from_value(json!({"spec": spec})).unwrap();
        route.referent(kind, &Key::new("web", "shop"))
    }
    fn service(namespace: &str, name: &str) -> ServiceName {
        ServiceName { namespace: namespace.into(), name: name.into() }
    }

    /// Conformance 25.
    #[test]
    fn the_backends_of_all_rules_stand_behind_every_host() {
        let spec = json!({"hostnames": ["a.example.org", "b.example.org"], "rules": [
            {"backendRefs": [{"name": "one", "port": 80}, {"name": "two", "namespace": "other"}]},
            {"backendRefs": [{"name": "one", "kind": "Service", "group": ""}]}, {}]});
        let services = vec![service("web", "one"), service("other", "two")];
        let server = |host: &str| Server { host: host.into(), services: services.clone() };
        for kind in [ObjectKind::HttpRoute, ObjectKind::GrpcRoute, ObjectKind::TlsRouteV1Alpha3] {
            let backends = Backends::ByHost(vec![server("a.example.org"), server("b.example.org")]);
            assert_eq!(route(kind, spec.clone()).backends, backends);
        }
        for kind in [ObjectKind::TcpRouteV1, ObjectKind::UdpRouteV1Alpha2] {
            assert_eq!(route(kind, spec.clone()).backends, Backends::Unnamed(services.clone()));
        }
    }

    /// F-20.
    #[test]
    fn a_backend_that_is_no_service_is_skipped_with_a_word() {
        let spec = json!({"hostnames": ["a.example.org"], "rules": [{"backendRefs": [
            {"name": "bucket", "kind": "Bucket", "group": "x.example.net"}, {"name": "one"}]}]});
        let referent = route(ObjectKind::HttpRoute, spec);
        assert_eq!(referent.backends, Backends::shared(["a.example.org".into()], &[service("web", "one")]));
        assert!(referent.ignored[0].contains("backend Bucket web/bucket of HTTPRoute web/shop"));
    }

    /// F-20.
    #[test]
    fn two_listeners_of_one_gateway_are_one_gateway_and_other_parents_are_none() {
        let parents = json!([
            {"name": "edge", "sectionName": "http"}, {"name": "edge", "namespace": "web", "sectionName": "https"},
            {"name": "mesh", "kind": "Service", "group": ""}, {"name": "x", "group": "other.example.net", "kind": "Gateway"},
        ]);
        let referent = route(ObjectKind::HttpRoute, json!({"parentRefs": parents}));
        assert_eq!(referent.source, AddressSource::Gateways(vec![Key::new("web", "edge")]));
    }

    /// Conformance 29.
    #[test]
    fn the_addresses_of_a_gateway_are_addresses_and_host_names() {
        let status = json!({"addresses": [{"value": "192.0.2.1"}, {"type": "IPAddress", "value": "192.0.2.2"},
            {"type": "Hostname", "value": "lb.example.net"}, {"type": "NamedAddress", "value": "x"}]});
        let gateway: Gateway = serde_json::from_value(json!({"status": status})).unwrap();
        let facts = gateway.facts();
        let host_names = ["lb.example.net".to_owned()].into();
        assert_eq!(facts.shown, Shown { host_names, ..Shown::read(["192.0.2.1", "192.0.2.2"]) });
        assert_eq!(facts.ignored, ["address \"x\" is ignored: unsupported address type NamedAddress"]);
    }

    #[test]
    fn a_route_that_is_not_shaped_like_one_is_an_error() {
        assert!(serde_json::from_value::<Route>(json!({"spec": {"hostnames": "a.example.org"}})).is_err());
    }
}
