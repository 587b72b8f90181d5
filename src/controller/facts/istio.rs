//! Istio: VirtualServices and Gateways, of which only a few fields are read, and leniently.

use std::collections::BTreeMap;

use gslb_core::publication::ServiceName;
use gslb_core::reference::Backends;
use serde::Deserialize;

use super::referent::{AddressSource, Referent, push_once};
use crate::controller::cache::Key;

/// The name that stands for all sidecars instead of a Gateway.
const MESH: &str = "mesh";

/// A VirtualService.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct VirtualService {
    spec: Option<VirtualServiceSpec>,
}

#[derive(Debug, Default, Deserialize)]
struct VirtualServiceSpec {
    hosts: Option<Vec<String>>,
    gateways: Option<Vec<String>>,
    http: Option<Vec<Routes>>,
    tls: Option<Vec<Routes>>,
    tcp: Option<Vec<Routes>>,
}

#[derive(Debug, Default, Deserialize)]
struct Routes {
    route: Option<Vec<RouteDestination>>,
}

#[derive(Debug, Default, Deserialize)]
struct RouteDestination {
    destination: Option<Destination>,
}

#[derive(Debug, Default, Deserialize)]
struct Destination {
    host: Option<String>,
}

/// A Gateway.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Gateway {
    spec: Option<GatewaySpec>,
}

#[derive(Debug, Default, Deserialize)]
struct GatewaySpec {
    selector: Option<BTreeMap<String, String>>,
}

/// What counts of a Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GatewayFacts {
    /// Labels of its load balancer's Service.
    pub(crate) selector: BTreeMap<String, String>,
}

impl Gateway {
    /// What counts of it.
    pub(crate) fn facts(self) -> GatewayFacts {
        GatewayFacts { selector: self.spec.and_then(|spec| spec.selector).unwrap_or_default() }
    }
}

impl VirtualService {
    /// What counts of the one of this key.
    pub(crate) fn referent(self, key: &Key) -> Referent {
        let spec = self.spec.unwrap_or_default();
        let (mut services, mut ignored) = (Vec::new(), Vec::new());
        let routes = [spec.http, spec.tls, spec.tcp].into_iter().flatten().flatten();
        let destinations = routes.flat_map(|routes| routes.route.unwrap_or_default());
        for host in destinations.filter_map(|route| route.destination?.host) {
            match destination(&host, &key.namespace) {
                Some(service) => push_once(&mut services, service),
                None => push_once(
                    &mut ignored,
                    format!(
                        "destination {host:?} of VirtualService {key} is ignored, because it is no Service of this cluster"
                    ),
                ),
            }
        }
        let mut gateways = Vec::new();
        for gateway in spec.gateways.into_iter().flatten().filter(|gateway| gateway != MESH) {
            push_once(&mut gateways, gateway_key(&gateway, &key.namespace));
        }
        let backends = Backends::shared(spec.hosts.unwrap_or_default(), &services);
        Referent { backends, source: AddressSource::IstioGateways(gateways), ignored }
    }
}

/// `namespace/name`, or a name in the own namespace (F-21).
fn gateway_key(gateway: &str, namespace: &str) -> Key {
    match gateway.split_once('/') {
        // Istio writes "." for the own namespace.
        Some((".", name)) => Key::new(namespace, name),
        Some((other, name)) => Key::new(other, name),
        None => Key::new(namespace, gateway),
    }
}

/// The Service behind a destination: `name`, `name.namespace`, `name.namespace.svc` with or without the cluster's
/// domain (F-21). Anything else is a host outside.
fn destination(host: &str, namespace: &str) -> Option<ServiceName> {
    let labels: Vec<&str> = host.trim_end_matches('.').split('.').collect();
    let (name, namespace) = match labels.as_slice() {
        [name] => (*name, namespace),
        [name, namespace] => (*name, *namespace),
        [name, namespace, "svc", ..] => (*name, *namespace),
        _ => return None,
    };
    let whole = !name.is_empty() && !namespace.is_empty() && name != "*";
    whole.then(|| ServiceName { namespace: namespace.to_owned(), name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use gslb_core::publication::Server;
    use serde_json::{Value, json};

    use super::*;

    fn virtual_service(spec: Value) -> Referent {
        let object: VirtualService = serde_json::from_value(json!({"spec": spec})).unwrap();
        object.referent(&Key::new("web", "shop"))
    }
    fn service(namespace: &str, name: &str) -> ServiceName {
        ServiceName { namespace: namespace.into(), name: name.into() }
    }

    /// Conformance 27.
    #[test]
    fn the_destinations_of_all_routes_stand_behind_every_host() {
        let to = |host: &str| json!({"route": [{"destination": {"host": host}}]});
        let spec = json!({"hosts": ["a.example.org", "b.example.org"], "tcp": [to("three")],
            "http": [to("one"), {"route": [{"destination": {"host": "two"}}, {"destination": {"host": "one"}}]}]});
        let services = vec![service("web", "one"), service("web", "two"), service("web", "three")];
        let server = |host: &str| Server { host: host.into(), services: services.clone() };
        let backends = Backends::ByHost(vec![server("a.example.org"), server("b.example.org")]);
        assert_eq!(virtual_service(spec).backends, backends);
    }

    /// F-21.
    #[test]
    fn every_form_of_a_destination_leads_to_its_service() {
        let own = Some(service("web", "api"));
        let other = Some(service("shop", "api"));
        let forms = [
            ("api", own.clone()),
            ("api.web.svc", own),
            ("api.shop", other.clone()),
            ("api.shop.svc", other.clone()),
            ("api.shop.svc.cluster.local", other.clone()),
            ("api.shop.svc.corp.example.", other),
            ("www.api.example.com", None),
            ("*", None),
            ("", None),
        ];
        for (host, service) in forms {
            assert_eq!(destination(host, "web"), service, "{host}");
        }
        let spec = json!({"hosts": ["a.example.org"], "http": [{"route": [{"destination": {"host": "www.api.example.com"}}]}]});
        assert!(virtual_service(spec).ignored[0].contains("www.api.example.com"));
    }

    /// F-21.
    #[test]
    fn gateways_are_named_with_or_without_namespace_and_mesh_is_none() {
        let gateways = json!(["mesh", "edge", "web/edge", "./edge", "istio-system/public"]);
        assert_eq!(
            virtual_service(json!({"gateways": gateways})).source,
            AddressSource::IstioGateways(vec![Key::new("web", "edge"), Key::new("istio-system", "public")])
        );
    }
}
