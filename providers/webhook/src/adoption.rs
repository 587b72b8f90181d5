//! Whose records count as ours although they have no claim: those of another webhook, by the TXT records of
//! external-dns.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::sets::{Datum, ObservedSets, RecordType, SetKey};

use crate::protocol::{Ownership, companion_name};

/// The names at which the TXT records of these sets stand.
pub fn companions<'a>(keys: impl IntoIterator<Item = &'a SetKey>, prefix: &str) -> BTreeSet<DomainName> {
    keys.into_iter().filter_map(|key| companion(key, prefix)).collect()
}

/// Those of these sets whose TXT record without a claim names one of the owners; a TXT record that does so itself is one
/// of them.
pub fn adopted<'a>(
    keys: impl IntoIterator<Item = &'a SetKey>,
    observed: &ObservedSets,
    owners: &BTreeSet<String>,
    prefix: &str,
) -> BTreeSet<SetKey> {
    let names_owner = |name: &DomainName| {
        let texts = observed.get(name).and_then(|name| name.get(&RecordType::Txt));
        // One with a claim was written by one of ours, which would have claimed the record, too: what stands there without a
        // claim came from somebody else.
        let mut records = texts.into_iter().flat_map(|texts| &texts.records);
        records.any(|(text, record)| record.claim.is_none() && names_one_of(text, owners))
    };
    let is_adopted = |key: &&SetKey| {
        names_owner(&key.name) && key.rtype == RecordType::Txt
            || companion(key, prefix).is_some_and(|name| names_owner(&name))
    };
    keys.into_iter().filter(is_adopted).cloned().collect()
}

fn companion(key: &SetKey, prefix: &str) -> Option<DomainName> {
    match key.rtype {
        RecordType::Txt => None,
        RecordType::A | RecordType::Aaaa | RecordType::Cname | RecordType::Ns => {
            companion_name(prefix, key.rtype.as_str(), &key.name)
        }
    }
}

fn names_one_of(text: &Datum, owners: &BTreeSet<String>) -> bool {
    match text {
        Datum::Text(text) => {
            Ownership::parse(text.as_str()).is_some_and(|ownership| owners.contains(&ownership.owner))
        }
        Datum::Address(_) | Datum::Name(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use gslb_core::sets::{ObservedRecord, ObservedSet, RecordSet};

    use super::*;

    #[test]
    fn a_set_is_adopted_by_its_text_with_the_right_owner_and_prefix() {
        let key = |text: &str| {
            let (rtype, name) = text.split_once(' ').unwrap();
            SetKey::new(DomainName::parse(name).unwrap(), rtype.parse().unwrap())
        };
        let text = "\"heritage=external-dns,external-dns/owner=k8gb-eu\"".to_owned();
        let txt = RecordSet::parse("old-a-www.example.com", "TXT", 0, &[text]).unwrap();
        let records = txt.data.iter().map(|datum| (datum.clone(), ObservedRecord::default())).collect();
        let set = ObservedSet { records, ..ObservedSet::default() };
        let observed: ObservedSets = [(txt.key.name.clone(), [(RecordType::Txt, set)].into())].into();
        let keys = [key("A www.example.com"), key("AAAA www.example.com"), key("TXT old-a-www.example.com")];
        let adopted_by = |owner: &str, prefix: &str| {
            let adopted = adopted(&keys, &observed, &[owner.to_owned()].into(), prefix);
            adopted.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(adopted_by("k8gb-eu", "old-"), ["TXT old-a-www.example.com", "A www.example.com"]);
        assert_eq!(adopted_by("k8gb-eu", ""), ["TXT old-a-www.example.com"]);
        assert_eq!(adopted_by("k8gb-us", "old-"), [""; 0]);
        let names = companions(&keys, "old-");
        assert_eq!(names.len(), 2);
        let mut claimed = observed.clone();
        for record in
            claimed.values_mut().flat_map(|name| name.values_mut()).flat_map(|set| set.records.values_mut())
        {
            record.claim = Some("webhook/eu".parse().unwrap());
        }
        assert_eq!(adopted(&keys, &claimed, &["k8gb-eu".to_owned()].into(), "old-"), [].into());
    }
}
