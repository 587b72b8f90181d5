//! Endpoints of external-dns and sets of records.

use gslb_core::name::DomainName;
use gslb_core::sets::{BadSet, ObservedSets, RecordSet, RecordType, SetKey, SetRefusal, SetRequest};
use gslb_core::text::quoted;
use gslb_provider_webhook::protocol::{Changes, Endpoint, Unpaired};

/// All that stands, as external-dns has it. A set of which nothing can be read is left out: what external-dns asks of it
/// is refused.
pub(super) fn endpoints(observed: &ObservedSets) -> Vec<Endpoint> {
    let sets =
        observed.iter().flat_map(|(name, sets)| sets.iter().map(move |(rtype, set)| (name, *rtype, set)));
    let readable = sets.filter(|(_, _, set)| !set.records.is_empty());
    readable
        .map(|(name, rtype, set)| {
            let targets = set.records.keys().map(ToString::to_string).collect();
            Endpoint::new(name, rtype, set.ttl().map(gslb_core::ttl::Ttl::as_secs), targets)
        })
        .collect()
}

/// What one request asks for, and which parts of it cannot be read.
///
/// # Errors
/// It cannot be told which sets are to be altered.
pub(super) fn request(changes: &Changes) -> Result<(SetRequest, Vec<SetRefusal>), Unpaired> {
    let mut refused = Vec::new();
    let mut read = |endpoint: &Endpoint| set(endpoint).map_err(|refusal| refused.push(refusal)).ok();
    let request = SetRequest {
        creates: changes.create.iter().filter_map(&mut read).collect(),
        updates: changes
            .updates()?
            .filter_map(|(before, after)| Some((read(before)?, read(after)?)))
            .collect(),
        deletes: changes.delete.iter().filter_map(&mut read).collect(),
    };
    Ok((request, refused))
}

/// An endpoint as it would be listed once it is written, so that external-dns finds no difference. What cannot be
/// written stays as it is: taken out, it would look as if it were to be deleted. Properties of one provider are passed
/// over, because no grid has them.
pub(super) fn adjusted(endpoint: Endpoint) -> Endpoint {
    let Ok(set) = set(&endpoint) else { return endpoint };
    Endpoint {
        dns_name: set.key.name.to_string(),
        targets: set.targets(),
        provider_specific: Vec::new(),
        ..endpoint
    }
}

fn set(endpoint: &Endpoint) -> Result<RecordSet, SetRefusal> {
    let unreadable =
        |why: String| SetRefusal::Unreadable { set: quoted(&endpoint.title()), key: key(endpoint), why };
    if !endpoint.set_identifier.is_empty() {
        let identifier = quoted(&endpoint.set_identifier);
        return Err(unreadable(format!(
            "it has the set identifier {identifier}, and a grid has one set of each name and type; leave weights and routing policies out"
        )));
    }
    let Endpoint { dns_name, record_type, record_ttl, targets, .. } = endpoint;
    let set = RecordSet::parse(dns_name, record_type, *record_ttl, targets);
    set.map_err(|bad: BadSet| unreadable(bad.to_string()))
}

fn key(endpoint: &Endpoint) -> Option<SetKey> {
    let rtype: RecordType = endpoint.record_type.parse().ok()?;
    Some(SetKey::new(DomainName::parse(&endpoint.dns_name).ok()?, rtype))
}

#[cfg(test)]
mod tests {
    use gslb_provider_webhook::protocol::Property;

    use super::*;

    fn endpoint(name: &str, record_type: &str, targets: &[&str]) -> Endpoint {
        Endpoint {
            dns_name: name.into(),
            record_type: record_type.into(),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            ..Endpoint::default()
        }
    }

    /// C064, C067.
    #[test]
    fn an_endpoint_is_adjusted_to_what_will_be_listed() {
        let adjust = |name: &str, record_type: &str, targets: &[&str]| {
            let adjusted = adjusted(endpoint(name, record_type, targets));
            (adjusted.dns_name, adjusted.targets)
        };
        let is = |name: &str, targets: &[&str]| {
            (name.to_owned(), targets.iter().map(|target| (*target).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            adjust("WWW.example.com.", "A", &["192.0.2.2", "192.0.2.1"]),
            is("www.example.com", &["192.0.2.1", "192.0.2.2"])
        );
        assert_eq!(
            adjust("www.example.com", "AAAA", &["2001:DB8:0::1"]),
            is("www.example.com", &["2001:db8::1"])
        );
        assert_eq!(
            adjust("www.example.com", "CNAME", &["LB.example.net."]),
            is("www.example.com", &["lb.example.net"])
        );
        assert_eq!(
            adjust("www.example.com", "TXT", &["v=spf1 -all"]),
            is("www.example.com", &["\"v=spf1 -all\""])
        );
        assert_eq!(adjust("WWW.example.com", "MX", &["10 Mx."]), is("WWW.example.com", &["10 Mx."]));
    }

    #[test]
    fn properties_are_passed_over_and_a_set_identifier_is_refused() {
        let property = Property { name: "alias".into(), value: "true".into() };
        let special = Endpoint {
            provider_specific: vec![property],
            record_ttl: 30,
            ..endpoint("www.example.com", "A", &["192.0.2.1"])
        };
        assert_eq!(
            adjusted(special),
            Endpoint { record_ttl: 30, ..endpoint("www.example.com", "A", &["192.0.2.1"]) }
        );
        let weighted =
            Endpoint { set_identifier: "eu".into(), ..endpoint("www.example.com", "A", &["192.0.2.1"]) };
        assert_eq!(adjusted(weighted.clone()), weighted);
        let changes = Changes { create: vec![weighted], ..Changes::default() };
        let (request, refused) = request(&changes).unwrap();
        assert_eq!(request, SetRequest::default());
        assert_eq!(
            refused[0].to_string(),
            "A www.example.com is refused: it has the set identifier eu, and a grid has one set of each name and type; leave weights and routing policies out"
        );
    }
}
