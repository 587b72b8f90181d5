//! Where a Gslb's addresses in this cluster come from: annotations, configuration, or the referenced object
//! (contract §2.6).

use std::collections::BTreeSet;

use crate::name::DomainName;
use crate::target::{LeftOut, Shown, Targets};

/// What a Gslb and the configuration say about its addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawExposure<'a> {
    /// Annotation `k8gb.io/exposed-hostnames`.
    pub host_names: Option<&'a str>,
    /// Annotation `k8gb.io/exposed-ip-addresses`.
    pub addresses: Option<&'a str>,
    /// `CLUSTER_EXPOSED_IPS`, if given.
    pub configured: Option<Targets>,
}

/// Where the addresses come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exposure {
    /// From DNS.
    Names(BTreeSet<DomainName>),
    /// They are listed, with those that cannot be answered with.
    Listed(Shown),
    /// They are configured for the whole cluster.
    Configured(Targets),
    /// From the status of the referenced object.
    Referent,
}

/// Why an annotation says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExposureProblem {
    /// No element at all.
    #[error("annotation {annotation} is empty; list {wanted} in it, or remove it")]
    Empty {
        /// Its key.
        annotation: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// An element that is none.
    #[error("annotation {annotation} has {element:?}: {problem}")]
    BadElement {
        /// Its key.
        annotation: &'static str,
        /// As written.
        element: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Only addresses that are not answered.
    #[error("annotation {annotation} lists no address that can be answered: {ignored}; add an IPv4 address")]
    NoneUsable {
        /// Its key.
        annotation: &'static str,
        /// The addresses and why.
        ignored: String,
    },
}

impl ExposureProblem {
    /// The key of the annotation.
    pub fn annotation(&self) -> &'static str {
        match self {
            Self::Empty { annotation, .. }
            | Self::BadElement { annotation, .. }
            | Self::NoneUsable { annotation, .. } => annotation,
        }
    }
}

/// Annotation of a Gslb: comma list of names whose addresses to answer with; wins over the list of addresses.
pub const HOST_NAMES: &str = "k8gb.io/exposed-hostnames";
/// Annotation of a Gslb: comma list of the addresses to answer with, instead of discovered ones.
pub const ADDRESSES: &str = "k8gb.io/exposed-ip-addresses";

impl RawExposure<'_> {
    /// Takes the first that is there. One that is there and wrong is not passed over: what was in force stays.
    ///
    /// # Errors
    /// The annotation that counts is empty, or has an element that is none.
    pub fn accept(self) -> Result<Exposure, ExposureProblem> {
        match (self.host_names, self.addresses, self.configured) {
            (Some(list), _, _) => names(list).map(Exposure::Names),
            (None, Some(list), _) => addresses(list).map(Exposure::Listed),
            (None, None, Some(configured)) => Ok(Exposure::Configured(configured)),
            (None, None, None) => Ok(Exposure::Referent),
        }
    }
}

/// The elements of a list with commas; blanks and a comma at the end mean nothing.
fn elements(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|element| !element.is_empty())
}

fn names(list: &str) -> Result<BTreeSet<DomainName>, ExposureProblem> {
    let bad = |element: &str, problem: String| ExposureProblem::BadElement {
        annotation: HOST_NAMES,
        element: element.to_owned(),
        problem,
    };
    let name = |element: &str| {
        if element.parse::<std::net::IpAddr>().is_ok() {
            return Err(bad(element, format!("this is an address; list it in {ADDRESSES} instead")));
        }
        DomainName::parse(element)
            .map_err(|error| bad(element, format!("{error}; list host names, separated by commas")))
    };
    let names = elements(list).map(name).collect::<Result<BTreeSet<_>, _>>()?;
    if names.is_empty() {
        return Err(ExposureProblem::Empty { annotation: HOST_NAMES, wanted: "host names" });
    }
    Ok(names)
}

fn addresses(list: &str) -> Result<Shown, ExposureProblem> {
    let shown = Shown::read(elements(list));
    for left_out in &shown.left_out {
        let (element, problem) = match left_out {
            // Dual stack is a fact of life; it is told, and the IPv4 addresses count.
            LeftOut::Ipv6(_) => continue,
            LeftOut::Unreadable(text) => (text.clone(), "this is no IP address"),
            LeftOut::LeadsNowhere(address) => (address.to_string(), "no client can be sent there"),
        };
        let problem = format!("{problem}; list IPv4 addresses, separated by commas");
        return Err(ExposureProblem::BadElement { annotation: ADDRESSES, element, problem });
    }
    match shown.ignored() {
        _ if !shown.targets.is_empty() => Ok(shown),
        Some(ignored) => Err(ExposureProblem::NoneUsable { annotation: ADDRESSES, ignored }),
        None => Err(ExposureProblem::Empty { annotation: ADDRESSES, wanted: "IPv4 addresses" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::given::{name, targets};

    fn listed(addresses: &str) -> Result<Exposure, ExposureProblem> {
        RawExposure { addresses: Some(addresses), ..RawExposure::default() }.accept()
    }
    fn named(host_names: &str) -> Result<Exposure, ExposureProblem> {
        RawExposure { host_names: Some(host_names), ..RawExposure::default() }.accept()
    }

    /// Case C073. Conformance 30, 34: k8gb refuses a comma at the end.
    #[test]
    fn blanks_and_a_comma_at_the_end_mean_nothing() {
        let two = Shown { targets: targets(&["192.0.2.1", "192.0.2.2"]), ..Shown::default() };
        for list in [
            "192.0.2.1,192.0.2.2",
            " 192.0.2.1 , 192.0.2.2",
            "192.0.2.2,192.0.2.1,",
            "192.0.2.1,::ffff:192.0.2.2",
        ] {
            assert_eq!(listed(list), Ok(Exposure::Listed(two.clone())), "{list:?}");
        }
        let names = BTreeSet::from([name("a.example.com"), name("b.example.com")]);
        assert_eq!(named("A.example.com, b.example.com.,"), Ok(Exposure::Names(names)));
    }

    /// Conformance 30, 31.
    #[test]
    fn an_element_that_is_none_is_quoted_with_what_to_do() {
        let bad = [
            ("192.0.2.1,name.example.com", "name.example.com"),
            ("300.1.1.1", "300.1.1.1"),
            ("0.0.0.0", "0.0.0.0"),
            ("192.0.2.1 192.0.2.2", "192.0.2.1 192.0.2.2"),
        ];
        for (list, quoted) in bad {
            let problem = listed(list).unwrap_err().to_string();
            assert!(problem.contains(&format!("{quoted:?}")) && problem.contains("IPv4"), "{problem}");
        }
        for (list, quoted) in [("192.0.2.1", "192.0.2.1"), ("a b.example.com", "a b.example.com")] {
            let problem = named(list).unwrap_err().to_string();
            assert!(problem.contains(&format!("{quoted:?}")), "{problem}");
        }
    }

    /// Conformance 30, 31.
    #[test]
    fn an_empty_list_is_told_and_not_passed_over() {
        for list in ["", " ", ",", " , "] {
            assert!(matches!(listed(list), Err(ExposureProblem::Empty { annotation: ADDRESSES, .. })));
            let both = RawExposure { host_names: Some(list), addresses: Some("192.0.2.1"), configured: None };
            assert!(matches!(both.accept(), Err(ExposureProblem::Empty { annotation: HOST_NAMES, .. })));
        }
    }

    /// Case C074. Conformance 33; F-27.
    #[test]
    fn ipv6_beside_ipv4_is_left_out_and_alone_is_a_problem() {
        let Ok(Exposure::Listed(shown)) = listed("2001:db8::1,192.0.2.1") else { panic!("a list") };
        assert_eq!(shown.targets, targets(&["192.0.2.1"]));
        assert!(shown.ignored().unwrap().contains("2001:db8::1"));
        assert!(listed("2001:db8::1").unwrap_err().to_string().contains("2001:db8::1"));
    }

    /// Contract §2.6. Conformance 31, 32.
    #[test]
    fn host_names_win_over_addresses_over_the_configuration_over_the_object() {
        let configured = Some(targets(&["192.0.2.9"]));
        let all = RawExposure {
            host_names: Some("lb.example.com"),
            addresses: Some("192.0.2.1"),
            configured: configured.clone(),
        };
        assert_eq!(all.accept(), Ok(Exposure::Names([name("lb.example.com")].into())));
        let addresses =
            RawExposure { addresses: Some("192.0.2.1"), configured: configured.clone(), host_names: None };
        assert!(matches!(addresses.accept(), Ok(Exposure::Listed(_))));
        let configuration = RawExposure { configured, ..RawExposure::default() };
        assert_eq!(configuration.accept(), Ok(Exposure::Configured(targets(&["192.0.2.9"]))));
        assert_eq!(RawExposure::default().accept(), Ok(Exposure::Referent));
    }
}
