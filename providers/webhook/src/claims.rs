//! Whose a set of records is: the owner that external-dns' TXT record beside it names.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_core::zone::{NsPrefix, Zone};

use crate::listing::Listing;
use crate::protocol::{Endpoint, Ownership, RecordType, companion_name};
use crate::settings::{Settings, TxtPrefix};

/// Longest string of a TXT record, in bytes (RFC 1035 §3.3). Many backends do not split a text.
const LONGEST_STRING: usize = 255;
/// Around a text, as the protocol has it.
const QUOTES: usize = 2;

/// The rule, as an operator set it.
pub(crate) struct Claims<'a> {
    owner: &'a str,
    adopted: &'a BTreeSet<String>,
    prefix: &'a TxtPrefix,
    ns_prefix: &'a NsPrefix,
}

/// Whose a set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Its TXT record names our owner, or one that counts as ours.
    Ours,
    /// No TXT record is about it.
    Nobody,
    /// It is somebody else's. The sentence begins with the TXT record.
    Other(String),
}

impl<'a> Claims<'a> {
    pub(crate) fn of(settings: &'a Settings) -> Self {
        Self {
            owner: &settings.owner,
            adopted: &settings.adopted_owners,
            prefix: &settings.txt_prefix,
            ns_prefix: &settings.ns_prefix,
        }
    }

    /// The name of the TXT record about a set; nothing if that is too long for DNS.
    pub(crate) fn note_name(&self, name: &DomainName, rtype: RecordType) -> Option<DomainName> {
        companion_name(self.prefix.as_str(), rtype.as_str(), name)
    }

    /// The text of a TXT record about what stands for a zone. Equal for all clusters, and one string: where the name of
    /// the zone makes it longer, it says no more than the owner.
    pub(crate) fn note(&self, zone: &DomainName) -> String {
        let owner = self.owner.to_owned();
        let labels = [("resource".to_owned(), resource(zone))].into();
        let note = Ownership { owner: owner.clone(), labels }.to_text();
        match note.len() <= LONGEST_STRING + QUOTES {
            true => note,
            false => Ownership { owner, labels: BTreeMap::new() }.to_text(),
        }
    }

    /// What external-dns keeps about an endpoint, as it sends it to a webhook.
    pub(crate) fn labelled(&self, endpoint: Endpoint, zone: &DomainName) -> Endpoint {
        let labels = [("owner", self.owner.to_owned()), ("resource", resource(zone))];
        Endpoint { labels: labels.map(|(key, value)| (key.to_owned(), value)).into(), ..endpoint }
    }

    /// Whose a set is. Besides the name of today, external-dns once noted owners at the name itself.
    pub(crate) fn holder(&self, listing: &Listing, name: &DomainName, rtype: RecordType) -> Holder {
        let old = DomainName::parse(&format!("{}{name}", self.prefix.as_str())).ok();
        let new = self.note_name(name, rtype);
        let mut ours = false;
        for (at, is_old) in new.into_iter().map(|at| (at, false)).chain(old.map(|at| (at, true))) {
            for text in listing.set(&at, RecordType::Txt).iter().flat_map(|part| &part.targets) {
                match Ownership::parse(text) {
                    Some(note) if self.is_ours(&note.owner) => ours = true,
                    Some(note) => {
                        let owner = quoted(&note.owner);
                        return Holder::Other(format!("the TXT record {at} names the owner {owner}"));
                    }
                    // A text of its own kind stands at a name that is also that of something else.
                    None if is_old => {}
                    None => {
                        let text = quoted(text);
                        return Holder::Other(format!(
                            "the TXT record {at} names no owner that can be read ({text})"
                        ));
                    }
                }
            }
        }
        if ours { Holder::Ours } else { Holder::Nobody }
    }

    /// Why the NS set of a zone is not the fleet's to change, if it is not: its TXT record names somebody else, or it has
    /// none and no cluster is in it. Where a name of the fleet is in it, that is the claim (docs/adr/0004).
    pub(crate) fn bar<'n>(
        &self,
        listing: &Listing,
        zone: &Zone,
        mut ns_names: impl Iterator<Item = &'n DomainName>,
    ) -> Option<String> {
        let owner = self.owner;
        match self.holder(listing, zone.name(), RecordType::Ns) {
            Holder::Ours => None,
            Holder::Other(whose) => Some(format!(
                "{whose}, and ours is {owner}; have that owner give the name servers up, or list it in WEBHOOK_PROVIDER_ADOPT_OWNERS"
            )),
            Holder::Nobody if ns_names.any(|name| zone.geo_tag(self.ns_prefix, name).is_some()) => None,
            Holder::Nobody => {
                let at = self.note_name(zone.name(), RecordType::Ns);
                let at = at.map_or_else(|| "beside it".to_owned(), |at| at.to_string());
                Some(format!(
                    "it has name servers, none of them is of this fleet, and no TXT record says whose they are; to have the fleet join them, make the TXT record {at} with the text {}",
                    self.note(zone.name())
                ))
            }
        }
    }

    /// Whether every text is a note of ours, so that the record is ours to take away.
    pub(crate) fn is_note(&self, parts: &[Endpoint]) -> bool {
        let mut texts = parts.iter().flat_map(|part| &part.targets);
        texts.all(|text| Ownership::parse(text).is_some_and(|note| self.is_ours(&note.owner)))
    }

    fn is_ours(&self, owner: &str) -> bool {
        owner == self.owner || self.adopted.contains(owner)
    }
}

/// The object that asks for it, which is called like the zone.
fn resource(zone: &DomainName) -> String {
    format!("zonedelegation/{}", zone.dashed())
}

#[cfg(test)]
pub(crate) mod tests {
    use gslb_core::ttl::Ttl;

    use super::*;
    use crate::listing::tests::{listing, name};

    /// What the tests of this crate are set up with: prefix `x-`, owner `fleet`, and `old` counts as ours.
    pub(crate) struct Given {
        adopted: BTreeSet<String>,
        prefix: TxtPrefix,
        ns_prefix: NsPrefix,
    }

    impl Given {
        pub(crate) fn new() -> Self {
            let prefix = TxtPrefix::parse("x-").unwrap();
            Self { adopted: ["old".to_owned()].into(), prefix, ns_prefix: NsPrefix::default() }
        }

        pub(crate) fn claims(&self) -> Claims<'_> {
            let Self { adopted, prefix, ns_prefix } = self;
            Claims { owner: "fleet", adopted, prefix, ns_prefix }
        }
    }

    pub(crate) fn note(at: &str, owner: &str) -> String {
        format!("TXT {at} 0 \"heritage=external-dns,external-dns/owner={owner}\"")
    }

    #[test]
    fn a_set_is_whose_its_text_record_says() {
        let given = Given::new();
        let holder =
            |sets: &[&str]| given.claims().holder(&listing(sets), &name("cloud.example.com"), RecordType::Ns);
        let (at, old_at) = ("x-ns-cloud.example.com", "x-cloud.example.com");
        assert_eq!(holder(&[]), Holder::Nobody);
        assert_eq!(holder(&[&note(at, "fleet")]), Holder::Ours);
        assert_eq!(holder(&[&note("X-NS-cloud.example.com.", "old")]), Holder::Ours);
        assert_eq!(holder(&[&note(old_at, "fleet")]), Holder::Ours);
        assert_eq!(holder(&[&note("ns-cloud.example.com", "other")]), Holder::Nobody);
        assert_eq!(holder(&[&note("x-a-cloud.example.com", "other")]), Holder::Nobody);
        assert_eq!(holder(&["TXT x-cloud.example.com 0 v=spf1"]), Holder::Nobody);
        let other = |text: &str| Holder::Other(text.to_owned());
        let theirs = "the TXT record x-ns-cloud.example.com names the owner other";
        assert_eq!(holder(&[&note(at, "other")]), other(theirs));
        assert_eq!(holder(&[&note(at, "fleet"), &note(at, "other")]), other(theirs));
        assert_eq!(
            holder(&[&note(at, "fleet"), &note(old_at, "other")]),
            other("the TXT record x-cloud.example.com names the owner other")
        );
        assert_eq!(
            holder(&["TXT x-ns-cloud.example.com 0 c2VjcmV0"]),
            other("the TXT record x-ns-cloud.example.com names no owner that can be read (c2VjcmV0)")
        );
    }

    /// C067.
    #[test]
    fn a_note_is_one_string_of_a_text_record() {
        let given = Given::new();
        let long = name(&[vec!["x".repeat(60); 3].join("."), "example.com".to_owned()].join("."));
        for zone in [name("cloud.example.com"), long] {
            let note = given.claims().note(&zone);
            assert!(note.len() <= 257, "{}", note.len());
            assert_eq!(Ownership::parse(&note).unwrap().owner, "fleet");
        }
    }

    #[test]
    fn the_name_servers_of_a_zone_are_the_fleets_by_text_or_by_name() {
        let given = Given::new();
        let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
        let bar = |sets: &[&str], names: &[&str]| {
            let names: Vec<_> = names.iter().map(|text| name(text)).collect();
            given.claims().bar(&listing(sets), &zone, names.iter())
        };
        let (us, isp) = ("gslb-ns-us-cloud.example.com", "ns1.isp.example");
        assert_eq!(bar(&[], &[us, isp]), None);
        assert_eq!(bar(&[&note("x-ns-cloud.example.com", "fleet")], &[isp]), None);
        assert_eq!(
            bar(&[&note("x-ns-cloud.example.com", "other")], &[us]).unwrap(),
            "the TXT record x-ns-cloud.example.com names the owner other, and ours is fleet; have that owner give the name servers up, or list it in WEBHOOK_PROVIDER_ADOPT_OWNERS"
        );
        assert_eq!(
            bar(&[], &[isp]).unwrap(),
            "it has name servers, none of them is of this fleet, and no TXT record says whose they are; to have the fleet join them, make the TXT record x-ns-cloud.example.com with the text \"heritage=external-dns,external-dns/owner=fleet,external-dns/resource=zonedelegation/cloud-example-com\""
        );
    }
}
