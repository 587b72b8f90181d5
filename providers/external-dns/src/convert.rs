//! Between the endpoints of a DNSEndpoint and a delegation. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use gslb_core::delegation::{Delegation, Servers};
use gslb_core::name::DomainName;
use gslb_core::ttl::Ttl;
use gslb_crds::dns_endpoint::Endpoint;

const NS: &str = "NS";
const A: &str = "A";
const AAAA: &str = "AAAA";

/// An endpoint says something that cannot be read. Nothing is concluded from the object then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its {record_type} endpoint for {dns_name} has the target {target:?}, which is no {wanted}")]
pub(crate) struct Unreadable {
    dns_name: String,
    record_type: String,
    target: String,
    wanted: &'static str,
}

/// What an object says about one zone.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Contents {
    /// `None`: there is no NS set, so the zone is not delegated.
    pub(crate) delegation: Option<Delegation>,
    /// Endpoints that are no part of the delegation: somebody else's.
    pub(crate) others: Vec<Endpoint>,
}

/// Sorts the endpoints of an object into the delegation of `zone` and all others.
pub(crate) fn contents(zone: &DomainName, endpoints: &[Endpoint]) -> Result<Contents, Unreadable> {
    let (sets, rest): (Vec<&Endpoint>, Vec<&Endpoint>) =
        endpoints.iter().partition(|endpoint| endpoint.record_type == NS && is(&endpoint.dns_name, zone));
    let mut servers = Servers::new();
    for set in &sets {
        for target in &set.targets {
            let name = DomainName::parse(target).map_err(|_| unreadable(set, target, "domain name"))?;
            servers.insert(name, BTreeSet::new());
        }
    }
    let mut others = Vec::new();
    for endpoint in rest {
        match glue_of(&mut servers, endpoint) {
            Some(addresses) => addresses.extend(parsed(endpoint)?),
            None => others.push(endpoint.clone()),
        }
    }
    let ttl = sets.iter().find_map(|set| Ttl::from_secs(set.record_ttl?).ok());
    let delegation = Delegation { zone: zone.clone(), ttl, servers };
    Ok(Contents { delegation: (!delegation.servers.is_empty()).then_some(delegation), others })
}

/// The endpoints of an object: NS set first and glue behind it, as k8gb has them, then those of others.
pub(crate) fn endpoints(delegation: Option<&Delegation>, others: &[Endpoint]) -> Vec<Endpoint> {
    let Some(delegation) = delegation else { return others.to_vec() };
    let ttl = delegation.ttl.map(|ttl| i64::from(ttl.as_secs()));
    let endpoint = |dns_name: &DomainName, record_type: &str, targets: Vec<String>| Endpoint {
        dns_name: dns_name.to_string(),
        record_type: record_type.to_owned(),
        record_ttl: ttl,
        targets,
        ..Endpoint::default()
    };
    let names = delegation.servers.keys().map(ToString::to_string).collect();
    let mut endpoints = vec![endpoint(&delegation.zone, NS, names)];
    for (name, addresses) in &delegation.servers {
        let mut by_type: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for address in addresses {
            let record_type = if address.is_ipv4() { A } else { AAAA };
            by_type.entry(record_type).or_default().push(address.to_string());
        }
        endpoints
            .extend(by_type.into_iter().map(|(record_type, targets)| endpoint(name, record_type, targets)));
    }
    let is_glue = |other: &&Endpoint| {
        is_address(other) && delegation.servers.keys().any(|name| is(&other.dns_name, name))
    };
    endpoints.extend(others.iter().filter(|other| !is_glue(other)).cloned());
    endpoints
}

/// The addresses of the name server that an endpoint is the glue of.
fn glue_of<'a>(servers: &'a mut Servers, endpoint: &Endpoint) -> Option<&'a mut BTreeSet<IpAddr>> {
    if !is_address(endpoint) {
        return None;
    }
    servers.get_mut(&DomainName::parse(&endpoint.dns_name).ok()?)
}

fn parsed(endpoint: &Endpoint) -> Result<Vec<IpAddr>, Unreadable> {
    let address = |target: &String| target.parse().map_err(|_| unreadable(endpoint, target, "address"));
    endpoint.targets.iter().map(address).collect()
}

fn is_address(endpoint: &Endpoint) -> bool {
    endpoint.record_type == A || endpoint.record_type == AAAA
}

/// Upper case and a final dot are spellings of the same name.
fn is(written: &str, name: &DomainName) -> bool {
    DomainName::parse(written).is_ok_and(|written| written == *name)
}

fn unreadable(endpoint: &Endpoint, target: &str, wanted: &'static str) -> Unreadable {
    Unreadable {
        dns_name: endpoint.dns_name.clone(),
        record_type: endpoint.record_type.clone(),
        target: target.to_owned(),
        wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EU: &str = "gslb-ns-eu-cloud.example.com";
    const US: &str = "gslb-ns-us-cloud.example.com";

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn endpoint(dns_name: &str, record_type: &str, targets: &[&str]) -> Endpoint {
        Endpoint {
            dns_name: dns_name.into(),
            record_type: record_type.into(),
            record_ttl: Some(30),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            ..Endpoint::default()
        }
    }
    fn delegation(entries: &[(&str, &[&str])]) -> Delegation {
        let glue = |glue: &[&str]| glue.iter().map(|address| address.parse().unwrap()).collect();
        let servers = entries.iter().map(|(ns_name, addresses)| (name(ns_name), glue(addresses))).collect();
        Delegation { zone: name("cloud.example.com"), ttl: Some(Ttl::DEFAULT), servers }
    }
    fn read(endpoints: &[Endpoint]) -> Result<Contents, Unreadable> {
        contents(&name("cloud.example.com"), endpoints)
    }

    /// Contract §3.4, E8. Conformance 57.
    #[test]
    fn the_ns_set_comes_first_and_the_glue_of_this_cluster_behind_it() {
        let delegation = delegation(&[(EU, &["192.0.2.53", "192.0.2.54"]), (US, &[])]);
        let wanted = [
            endpoint("cloud.example.com", "NS", &[EU, US]),
            endpoint(EU, "A", &["192.0.2.53", "192.0.2.54"]),
        ];
        assert_eq!(endpoints(Some(&delegation), &[]), wanted);
        assert_eq!(read(&wanted), Ok(Contents { delegation: Some(delegation), others: vec![] }));
    }

    #[test]
    fn spellings_of_a_name_and_ipv6_glue_are_understood() {
        let found = read(&[
            endpoint("Cloud.Example.com.", "NS", &["GSLB-NS-EU-cloud.example.com."]),
            endpoint(EU, "AAAA", &["2001:db8::53"]),
        ]);
        assert_eq!(found.unwrap().delegation, Some(delegation(&[(EU, &["2001:db8::53"])])));
        let written = endpoints(Some(&delegation(&[(EU, &["2001:db8::53"])])), &[]);
        assert_eq!(written[1], endpoint(EU, "AAAA", &["2001:db8::53"]));
    }

    #[test]
    fn endpoints_of_others_are_kept_behind_ours_and_old_glue_under_our_name_is_not() {
        let other = endpoint("www.example.com", "CNAME", &["app.cloud.example.com"]);
        let stray = endpoint(EU, "A", &["192.0.2.99"]);
        let found = read(&[stray.clone(), other.clone()]).unwrap();
        assert_eq!(found, Contents { delegation: None, others: vec![stray, other.clone()] });
        let wanted =
            [endpoint("cloud.example.com", "NS", &[EU]), endpoint(EU, "A", &["192.0.2.53"]), other.clone()];
        assert_eq!(endpoints(Some(&delegation(&[(EU, &["192.0.2.53"])])), &found.others), wanted);
        assert_eq!(endpoints(None, std::slice::from_ref(&other)), std::slice::from_ref(&other));
    }

    #[test]
    fn an_object_that_cannot_be_read_is_no_absence() {
        let no_name = read(&[endpoint("cloud.example.com", "NS", &["a..b"])]).unwrap_err();
        assert_eq!(
            no_name.to_string(),
            r#"its NS endpoint for cloud.example.com has the target "a..b", which is no domain name"#
        );
        let set = endpoint("cloud.example.com", "NS", &[EU]);
        assert!(read(&[set, endpoint(EU, "A", &["eu"])]).is_err());
    }
}
