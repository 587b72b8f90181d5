//! Which Gateway the addresses of a route come from, and which Service is the load balancer of an Istio Gateway
//! (contract §2.6).

use std::collections::BTreeMap;

use super::AddressProblem;

/// The one Gateway that an object names. `field` is where, `what` the object in sentences.
///
/// # Errors
/// There is none, or more than one.
pub fn only_gateway<T>(gateways: Vec<T>, field: &'static str, what: &str) -> Result<T, AddressProblem> {
    let found = gateways.len();
    let mut gateways = gateways.into_iter();
    match (gateways.next(), found) {
        (Some(only), 1) => Ok(only),
        _ => Err(AddressProblem::NotOneGateway { what: what.to_owned(), field, found }),
    }
}

/// An Istio Gateway: the labels of its load balancer's Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IstioGateway<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// `spec.selector`.
    pub selector: &'a BTreeMap<String, String>,
}

impl IstioGateway<'_> {
    /// Whether there is anything to look for.
    ///
    /// # Errors
    /// The selector is empty, which every Service would match.
    pub fn check(&self) -> Result<(), AddressProblem> {
        match self.selector.is_empty() {
            true => Err(AddressProblem::EmptySelector { gateway: self.what() }),
            false => Ok(()),
        }
    }

    /// Whether a Service with these labels may be its load balancer.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.iter().all(|(label, value)| labels.get(label) == Some(value))
    }

    /// The load balancer among the Services that it [selects](Self::selects): the one in its namespace, or else the
    /// one anywhere (F-21).
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn load_balancer<T>(
        &self,
        selected: Vec<T>,
        namespace: impl Fn(&T) -> &str,
    ) -> Result<T, AddressProblem> {
        let (near, far): (Vec<T>, Vec<T>) =
            selected.into_iter().partition(|service| namespace(service) == self.namespace);
        let mut candidates = if near.is_empty() { far } else { near };
        match (candidates.pop(), candidates.len()) {
            (Some(only), 0) => Ok(only),
            (last, others) => {
                let labels = self.selector.iter().map(|(label, value)| format!("{label}={value}"));
                let selector = labels.collect::<Vec<_>>().join(",");
                let found = others + usize::from(last.is_some());
                Err(AddressProblem::NotOneService { gateway: self.what(), selector, found })
            }
        }
    }

    fn what(&self) -> String {
        format!("Gateway {}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Last;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn addresses_come_from_the_one_gateway_that_is_named() {
        assert_eq!(only_gateway(vec!["web/edge"], "spec.parentRefs", "HTTPRoute web/shop"), Ok("web/edge"));
        for (gateways, last) in [(vec![], Last::Gone), (vec!["a", "b"], Last::Kept)] {
            let found = gateways.len();
            let problem = only_gateway(gateways, "spec.gateways", "VirtualService web/shop").unwrap_err();
            let what = "VirtualService web/shop".to_owned();
            assert_eq!(problem, AddressProblem::NotOneGateway { what, field: "spec.gateways", found });
            assert_eq!(problem.last(), last);
        }
    }

    #[test]
    fn an_istio_gateway_selects_services_with_all_of_its_labels_and_never_all_services() {
        let selector = labels(&[("app", "edge"), ("istio", "ingress")]);
        let gateway = IstioGateway { namespace: "web", name: "edge", selector: &selector };
        assert_eq!(gateway.check(), Ok(()));
        for (has, expected) in [
            (labels(&[("app", "edge"), ("istio", "ingress"), ("team", "net")]), true),
            (labels(&[("app", "edge")]), false),
            (labels(&[("app", "edge"), ("istio", "egress")]), false),
            (labels(&[]), false),
        ] {
            assert_eq!(gateway.selects(&has), expected, "{has:?}");
        }
        let none = labels(&[]);
        let open = IstioGateway { selector: &none, ..gateway };
        assert_eq!(open.check(), Err(AddressProblem::EmptySelector { gateway: "Gateway web/edge".into() }));
    }

    /// F-21.
    #[test]
    fn the_load_balancer_of_an_istio_gateway_is_near_it_or_the_only_one_elsewhere() {
        let selector = labels(&[("app", "edge"), ("istio", "ingress")]);
        let gateway = IstioGateway { namespace: "web", name: "edge", selector: &selector };
        let cases: &[(&[&str], Result<&str, usize>)] = &[
            (&["web/a"], Ok("web/a")),
            (&["mesh/a", "web/b", "other/c"], Ok("web/b")),
            (&["mesh/a"], Ok("mesh/a")),
            (&[], Err(0)),
            (&["web/a", "web/b"], Err(2)),
            (&["mesh/a", "other/b", "other/c"], Err(3)),
        ];
        for (services, expected) in cases {
            let found =
                gateway.load_balancer(services.to_vec(), |service| service.split('/').next().unwrap());
            let expected = expected.map_err(|found| AddressProblem::NotOneService {
                gateway: "Gateway web/edge".into(),
                selector: "app=edge,istio=ingress".into(),
                found,
            });
            assert_eq!(found, expected, "{services:?}");
        }
    }
}
