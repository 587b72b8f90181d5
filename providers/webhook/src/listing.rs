//! All that the webhook listed, by name and type, in whatever spelling it has it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use gslb_core::beneath::Beneath;
use gslb_core::delegation::{Delegation, Servers};
use gslb_core::name::DomainName;
use gslb_core::sets::{ObservedSet, ObservedSets};
use gslb_core::text::quoted;
use gslb_core::ttl::Ttl;

use crate::protocol::{DomainFilter, Endpoint, RecordType};

/// Objects beneath a name that are kept: more than anybody wants to lose. No outside reference.
const MOST_BENEATH: usize = 1000;

/// A complete listing.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The domains that the webhook said it takes, right before.
    pub(crate) filter: DomainFilter,
    /// By name and type in capitals. A webhook may list a set in several parts.
    sets: BTreeMap<DomainName, BTreeMap<String, Vec<Endpoint>>>,
    /// Those whose name is none here, such as `a-*.example.com`.
    odd: Vec<Endpoint>,
}

/// A set that cannot be understood, so nothing is concluded from the listing for whoever needs it. Its text is the
/// sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the webhook lists {set} with the target {target}, which is none")]
    Target { set: String, target: String },
    #[error(
        "the webhook lists {set} with the set identifier {identifier}, and one set for all clusters is what can be kept; take routing policies off it"
    )]
    Identifier { set: String, identifier: String },
}

impl Listing {
    /// Labels are what a client of the protocol keeps for itself, and are left out.
    pub(crate) fn new(filter: DomainFilter, endpoints: Vec<Endpoint>) -> Self {
        let mut listing = Self { filter, ..Self::default() };
        for mut endpoint in endpoints {
            endpoint.labels.clear();
            if endpoint.targets.is_empty() {
                continue;
            }
            match endpoint.name() {
                Ok(name) => {
                    let types = listing.sets.entry(name).or_default();
                    types.entry(endpoint.record_type.to_uppercase()).or_default().push(endpoint);
                }
                Err(_) => listing.odd.push(endpoint),
            }
        }
        listing
    }

    /// The parts of one set as they are listed; none: it is not there.
    pub(crate) fn set(&self, name: &DomainName, rtype: RecordType) -> &[Endpoint] {
        let found = self.sets.get(name).and_then(|types| types.get(rtype.as_str()));
        found.map(Vec::as_slice).unwrap_or_default()
    }

    /// One set as one endpoint, its targets in their spelling.
    pub(crate) fn whole(&self, name: &DomainName, rtype: RecordType) -> Option<Endpoint> {
        let (first, rest) = self.set(name, rtype).split_first()?;
        let mut whole = first.clone();
        whole.targets.extend(rest.iter().flat_map(|part| part.targets.clone()));
        Some(whole)
    }

    /// The delegation of a zone: its NS set, with the addresses that are listed for its names. `None`: it has none.
    ///
    /// # Errors
    /// A part of it cannot be understood.
    pub(crate) fn delegation(&self, zone: &DomainName) -> Result<Option<Delegation>, Unreadable> {
        let parts = plain(self.set(zone, RecordType::Ns))?;
        if parts.is_empty() {
            return Ok(None);
        }
        let mut servers = Servers::new();
        for (endpoint, target) in targets(parts) {
            let name = DomainName::parse(target).map_err(|_| no_target(endpoint, target))?;
            let addresses = self.glue(&name)?;
            servers.insert(name, addresses);
        }
        let ttl = parts.iter().filter_map(|part| Ttl::from_secs(part.record_ttl).ok()).filter(is_told).min();
        Ok(Some(Delegation { zone: zone.clone(), ttl, servers }))
    }

    /// The addresses of a name, of both families.
    ///
    /// # Errors
    /// One of them is none.
    pub(crate) fn glue(&self, name: &DomainName) -> Result<BTreeSet<IpAddr>, Unreadable> {
        let mut found = self.addresses(name, RecordType::A)?;
        found.extend(self.addresses(name, RecordType::Aaaa)?);
        Ok(found)
    }

    /// The addresses of a name, of the family of that type.
    ///
    /// # Errors
    /// One of them is none.
    pub(crate) fn addresses(
        &self,
        name: &DomainName,
        rtype: RecordType,
    ) -> Result<BTreeSet<IpAddr>, Unreadable> {
        let read = |(endpoint, target): (&Endpoint, &str)| {
            let address: Option<IpAddr> = target.trim().parse().ok();
            address.filter(|address| family(*address) == rtype).ok_or_else(|| no_target(endpoint, target))
        };
        targets(plain(self.set(name, rtype))?).map(read).collect()
    }

    /// What stands at and beneath a name.
    pub(crate) fn beneath(&self, zone: &DomainName) -> Beneath {
        let within = self.sets.iter().filter(|(name, _)| name.is_within(zone));
        let sets = within.flat_map(|(name, types)| types.keys().map(move |rtype| format!("{rtype} {name}")));
        let ends = format!(".{zone}");
        let odd =
            self.odd.iter().filter(|odd| odd.dns_name.trim_end_matches('.').to_lowercase().ends_with(&ends));
        let all: BTreeSet<String> = sets.chain(odd.map(Endpoint::title)).map(|set| quoted(&set)).collect();
        let more = all.len() > MOST_BENEATH;
        Beneath::new(all.into_iter().take(MOST_BENEATH).collect(), more)
    }

    /// Which sets there are at and beneath a name, without what they say.
    pub(crate) fn keys_within(&self, parent: &DomainName) -> ObservedSets {
        let within = self.sets.iter().filter(|(name, _)| name.is_within(parent));
        let known = |types: &BTreeMap<String, Vec<Endpoint>>| {
            types.keys().filter_map(|rtype| Some((rtype.parse().ok()?, ObservedSet::default()))).collect()
        };
        within.map(|(name, types)| (name.clone(), known(types))).collect()
    }
}

/// The type of an address.
pub(crate) fn family(address: IpAddr) -> RecordType {
    if address.is_ipv4() { RecordType::A } else { RecordType::Aaaa }
}

/// A TTL of 0 is what a webhook says that does not tell.
fn is_told(ttl: &Ttl) -> bool {
    ttl.as_secs() > 0
}

fn targets(parts: &[Endpoint]) -> impl Iterator<Item = (&Endpoint, &str)> {
    parts.iter().flat_map(|part| part.targets.iter().map(move |target| (part, target.as_str())))
}

fn plain(parts: &[Endpoint]) -> Result<&[Endpoint], Unreadable> {
    match parts.iter().find(|part| !part.set_identifier.is_empty()) {
        None => Ok(parts),
        Some(part) => Err(Unreadable::Identifier {
            set: quoted(&part.title()),
            identifier: quoted(&part.set_identifier),
        }),
    }
}

fn no_target(endpoint: &Endpoint, target: &str) -> Unreadable {
    Unreadable::Target { set: quoted(&endpoint.title()), target: quoted(target) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    /// `NS cloud.example.com 30 a b`.
    pub(crate) fn endpoint(text: &str) -> Endpoint {
        let mut words = text.split(' ').map(str::to_owned);
        let (record_type, dns_name) = (words.next().unwrap(), words.next().unwrap());
        let record_ttl = words.next().unwrap().parse().unwrap();
        Endpoint { dns_name, record_type, record_ttl, targets: words.collect(), ..Endpoint::default() }
    }

    pub(crate) fn listing(sets: &[&str]) -> Listing {
        Listing::new(DomainFilter::default(), sets.iter().map(|text| endpoint(text)).collect())
    }

    fn read(sets: &[&str]) -> (Option<u32>, Vec<String>) {
        let found = listing(sets).delegation(&name("cloud.example.com")).unwrap().unwrap();
        let pair = |(name, address): (&DomainName, Option<IpAddr>)| match address {
            Some(address) => format!("{name} {address}"),
            None => name.to_string(),
        };
        (found.ttl.map(Ttl::as_secs), found.pairs().into_iter().map(pair).collect())
    }

    /// C064.
    #[test]
    fn a_delegation_is_the_same_in_every_spelling() {
        let plain = ["NS cloud.example.com 30 a.example.com b.example.net", "A a.example.com 30 192.0.2.53"];
        let expected = (Some(30), vec!["a.example.com 192.0.2.53".to_owned(), "b.example.net".to_owned()]);
        assert_eq!(read(&plain), expected);
        let spelled: &[&[&str]] = &[
            &["A A.Example.com. 30 192.0.2.53", "ns CLOUD.example.com. 30 B.example.net. a.EXAMPLE.com."],
            // In parts, as webhooks do that list each record.
            &["NS cloud.example.com 30 b.example.net", plain[1], "NS cloud.example.com 30 a.example.com"],
            &[plain[0], plain[1], "MX cloud.example.com 30 10", "A *.example.com 0 192.0.2.1"],
        ];
        for sets in spelled {
            assert_eq!(read(sets), expected, "{sets:?}");
        }
    }

    #[test]
    fn a_ttl_of_zero_is_none_and_addresses_are_those_of_both_families() {
        let sets = [
            "NS cloud.example.com 0 a.example.com",
            "A a.example.com 0 192.0.2.54 192.0.2.53",
            "AAAA a.example.com 0 2001:DB8:0::1",
        ];
        let pairs = ["192.0.2.53", "192.0.2.54", "2001:db8::1"];
        assert_eq!(read(&sets), (None, pairs.map(|address| format!("a.example.com {address}")).to_vec()));
    }

    #[test]
    fn what_has_no_targets_is_not_there() {
        assert_eq!(listing(&[]).delegation(&name("cloud.example.com")), Ok(None));
        assert_eq!(listing(&["NS cloud.example.com 30"]).delegation(&name("cloud.example.com")), Ok(None));
    }

    #[test]
    fn what_cannot_be_understood_is_no_absence() {
        let told = |sets: &[&str], identifier: &str| {
            let mut endpoints: Vec<_> = sets.iter().map(|text| endpoint(text)).collect();
            endpoints[0].set_identifier = identifier.to_owned();
            let listing = Listing::new(DomainFilter::default(), endpoints);
            listing.delegation(&name("cloud.example.com")).unwrap_err().to_string()
        };
        let ns = "NS cloud.example.com 30 a.example.com";
        assert_eq!(
            told(&["NS cloud.example.com 30 a..b"], ""),
            "the webhook lists NS cloud.example.com with the target a..b, which is none"
        );
        assert_eq!(
            told(&["A a.example.com 30 2001:db8::1", ns], ""),
            "the webhook lists A a.example.com with the target 2001:db8::1, which is none"
        );
        assert!(
            told(&[ns], "eu")
                .starts_with("the webhook lists NS cloud.example.com with the set identifier eu")
        );
    }

    #[test]
    fn what_lies_at_and_beneath_a_name_is_found_and_its_neighbours_are_not() {
        let sets = [
            "A cloud.example.com 0 192.0.2.1",
            "TXT www.Cloud.example.com. 0 \"x\"",
            "A a.*.cloud.example.com 0 192.0.2.1",
            "A mycloud.example.com 0 192.0.2.1",
            "A www.example.com 0 192.0.2.1",
        ];
        assert_eq!(
            listing(&sets).beneath(&name("cloud.example.com")).to_string(),
            "3 objects (A a.*.cloud.example.com, A cloud.example.com, TXT www.cloud.example.com)"
        );
        assert!(listing(&sets[3..]).beneath(&name("cloud.example.com")).is_empty());
    }
}
