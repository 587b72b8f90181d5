//! The TXT records by which external-dns knows its own.

use std::collections::BTreeMap;

use gslb_core::name::DomainName;

const HERITAGE: &str = "heritage=external-dns";
const PREFIX: &str = "external-dns/";
const OWNER: &str = "owner";

/// What the TXT companion of a set says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ownership {
    /// Who manages the set: `--txt-owner-id`. Everybody else leaves it alone.
    pub owner: String,
    /// Everything else, by key without `external-dns/`.
    pub labels: BTreeMap<String, String>,
}

impl Ownership {
    /// Reads the text of a TXT record, in quotes or bare. `None`: it is about something else, or it is encrypted.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        let mut tokens = text.split(',');
        if tokens.next() != Some(HERITAGE) {
            return None;
        }
        let label = |token: &str| {
            let (key, value) = token.strip_prefix(PREFIX)?.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        };
        let mut labels: BTreeMap<_, _> = tokens.filter_map(label).collect();
        Some(Self { owner: labels.remove(OWNER)?, labels })
    }

    /// The text of a TXT record, in quotes, as external-dns writes it. Values must be free of commas and equal signs.
    pub fn to_text(&self) -> String {
        let owner = (OWNER, &self.owner);
        let mut labels: Vec<_> =
            self.labels.iter().map(|(key, value)| (key.as_str(), value)).chain([owner]).collect();
        labels.sort();
        let labels: String = labels.iter().map(|(key, value)| format!(",{PREFIX}{key}={value}")).collect();
        format!("\"{HERITAGE}{labels}\"")
    }
}

/// The name of the TXT companion of a set, such as `gslb-a-www.example.com` with the prefix `gslb-`
/// (`--txt-prefix`, without a placeholder of its own). `None` if it is too long for DNS.
pub fn companion_name(prefix: &str, record_type: &str, name: &DomainName) -> Option<DomainName> {
    DomainName::parse(&format!("{prefix}{}-{name}", record_type.to_lowercase())).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str =
        r#""heritage=external-dns,external-dns/owner=k8gb-eu,external-dns/resource=crd/gslb/k8gb-ns-extdns""#;

    #[test]
    fn the_text_of_external_dns_is_understood_and_written() {
        let labels = BTreeMap::from([("resource".to_owned(), "crd/gslb/k8gb-ns-extdns".to_owned())]);
        let ownership = Ownership { owner: "k8gb-eu".into(), labels };
        assert_eq!(Ownership::parse(TEXT), Some(ownership.clone()));
        assert_eq!(Ownership::parse(TEXT.trim_matches('"')), Some(ownership.clone()));
        assert_eq!(ownership.to_text(), TEXT);
    }

    #[test]
    fn other_texts_are_no_ownership() {
        for text in [
            "",
            "v=spf1 -all",
            "heritage=external-dns",
            "heritage=external-dns,external-dns/resource=a",
            "\"heritage=external-dns,owner=eu\"",
            "heritage=other,external-dns/owner=eu",
        ] {
            assert_eq!(Ownership::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_companion_has_prefix_and_type_in_its_first_label() {
        let name = |text: &str| DomainName::parse(text).unwrap();
        let companion = companion_name("k8gb-eu-", "NS", &name("glb.example.org"));
        assert_eq!(companion, Some(name("k8gb-eu-ns-glb.example.org")));
        let long = name(&format!("{}.example.org", "a".repeat(60)));
        assert_eq!(companion_name("", "A", &long), Some(name(&format!("a-{long}"))));
        assert_eq!(companion_name("x", "AAAA", &long), None);
        // A wildcard is none behind a prefix, and no name that DNS could hold.
        assert_eq!(companion_name("", "A", &name("*.example.org")), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(owner in "[a-z0-9-]{1,20}", keys in proptest::collection::btree_map("[a-z0-9/.-]{1,12}", "[ -+--<>-~&&[^\"]]{0,12}", 0..4)) {
            let mut labels = keys;
            labels.remove(OWNER);
            let ownership = Ownership { owner, labels };
            prop_assert_eq!(Ownership::parse(&ownership.to_text()), Some(ownership));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            drop(Ownership::parse(&text));
        }
    }
}
