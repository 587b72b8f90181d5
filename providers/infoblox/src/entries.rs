//! Name server lists as the grid writes them, and what somebody else changed in one while we wrote another. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::lower::writable;
use crate::wire::ExtServer;

/// What an entry is told from others by: name and address (F-62). An address that is none stays the text that it is,
/// so that no entry is ever taken for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    name: String,
    address: String,
}

impl Key {
    pub(crate) fn of(entry: &ExtServer) -> Self {
        let text = entry.address.as_deref().unwrap_or_default();
        let address = text.parse().map_or_else(|_| text.to_owned(), |address: IpAddr| address.to_string());
        Self { name: entry.name.trim_end_matches('.').to_ascii_lowercase(), address }
    }
}

/// The same entries with all that a client may write of them, in the same order: whether nobody wrote in between.
pub(crate) fn same(one: &[ExtServer], other: &[ExtServer]) -> bool {
    whole(one) == whole(other)
}

/// The list that we want, with what others changed since we last looked: `expected` was to stand there, `found` did.
/// Their entries are as they left them, members that we do not know and the order included. Entries under our own
/// names are ours to say, so what happened to them is left out.
pub(crate) fn rebase(
    wanted: &[ExtServer],
    expected: &[ExtServer],
    found: &[ExtServer],
    ours: &BTreeSet<String>,
) -> Vec<ExtServer> {
    let (asked, before, after) = (by_key(wanted), by_key(expected), by_key(found));
    let theirs = |key: &Key| !ours.contains(&key.name);
    let stays = |entry: &ExtServer| {
        let key = Key::of(entry);
        match (theirs(&key), asked.get(&key)) {
            (true, Some(_)) => Some(writable(entry)),
            // Without `asked` it is one that we took out, or one that came since.
            (true, None) => (!before.contains_key(&key)).then(|| writable(entry)),
            (false, asked) => asked.map(|entry| (*entry).clone()),
        }
    };
    let new = |entry: &&ExtServer| {
        let key = Key::of(entry);
        !(after.contains_key(&key) || theirs(&key) && before.contains_key(&key))
    };
    found.iter().filter_map(stays).chain(wanted.iter().filter(new).cloned()).collect()
}

/// What others did to their part between `expected` and `found`: the entries that they added or changed, and those
/// that they removed. If they moved some only, these are all that they have.
pub(crate) fn edited(
    expected: &[ExtServer],
    found: &[ExtServer],
    ours: &BTreeSet<String>,
) -> (Vec<ExtServer>, Vec<ExtServer>) {
    let part = |list: &[ExtServer]| -> Vec<ExtServer> {
        list.iter().filter(|entry| !ours.contains(&Key::of(entry).name)).map(writable).collect()
    };
    let (expected, found) = (part(expected), part(found));
    let (before, after) = (by_key(&expected), by_key(&found));
    let is_news = |entry: &&ExtServer| {
        let known = before.get(&Key::of(entry));
        known.is_none_or(|known| known.other != entry.other)
    };
    let came: Vec<_> = found.iter().filter(is_news).cloned().collect();
    let gone: Vec<_> =
        expected.iter().filter(|entry| !after.contains_key(&Key::of(entry))).cloned().collect();
    if came.is_empty() && gone.is_empty() && !same(&expected, &found) {
        return (found, gone);
    }
    (came, gone)
}

fn whole(list: &[ExtServer]) -> Vec<(Key, Map<String, Value>)> {
    list.iter().map(|entry| (Key::of(entry), writable(entry).other)).collect()
}

fn by_key(list: &[ExtServer]) -> BTreeMap<Key, &ExtServer> {
    list.iter().map(|entry| (Key::of(entry), entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(&str, &str)]) -> Vec<ExtServer> {
        let entry = |(name, address): &(&str, &str)| ExtServer {
            name: (*name).to_owned(),
            address: Some((*address).to_owned()),
            other: Default::default(),
        };
        entries.iter().map(entry).collect()
    }

    const EU: (&str, &str) = ("ns-eu.example.com", "192.0.2.53");
    const US: (&str, &str) = ("ns-us.example.com", "198.51.100.53");
    const ZA: (&str, &str) = ("ns-za.example.com", "203.0.113.53");

    #[test]
    fn what_others_brought_and_took_away_meanwhile_is_kept_and_our_own_part_is_ours_to_say() {
        let ours = BTreeSet::from([EU.0.to_owned()]);
        let cases = [
            ("nobody wrote", list(&[US, EU]), list(&[US]), list(&[US]), list(&[US, EU])),
            ("one came", list(&[EU]), list(&[]), list(&[US]), list(&[US, EU])),
            ("one left", list(&[EU, US]), list(&[US]), list(&[]), list(&[EU])),
            (
                "one moved",
                list(&[EU, US]),
                list(&[US]),
                list(&[(US.0, "198.51.100.54")]),
                list(&[(US.0, "198.51.100.54"), EU]),
            ),
            ("ours was taken", list(&[EU, US]), list(&[EU, US]), list(&[US, ZA]), list(&[US, ZA, EU])),
            ("theirs were moved", list(&[US, ZA, EU]), list(&[US, ZA]), list(&[ZA, US]), list(&[ZA, US, EU])),
            ("ours was put back", list(&[US]), list(&[US]), list(&[EU, US]), list(&[US])),
            (
                "spelled otherwise",
                list(&[EU, US]),
                list(&[US]),
                list(&[("NS-US.example.com.", US.1)]),
                list(&[("NS-US.example.com.", US.1), EU]),
            ),
        ];
        for (what, wanted, expected, found, merged) in cases {
            assert_eq!(rebase(&wanted, &expected, &found, &ours), merged, "{what}");
        }
    }

    #[test]
    fn what_others_changed_within_an_entry_is_kept_and_told() {
        let ours = BTreeSet::from([EU.0.to_owned()]);
        let mut found = list(&[US, ZA]);
        found[0].other.insert("stealth".to_owned(), true.into());
        found[1].other.insert("shared_with_ms_parent_delegation".to_owned(), false.into());
        let merged = rebase(&list(&[US, ZA, EU]), &list(&[US, ZA]), &found, &ours);
        let mut expected = list(&[US, ZA, EU]);
        expected[0].other.insert("stealth".to_owned(), true.into());
        assert_eq!(merged, expected);
        assert_eq!(edited(&list(&[US, ZA]), &found, &ours), (vec![expected[0].clone()], vec![]));
        assert_eq!(edited(&list(&[EU, US]), &list(&[ZA]), &ours), (list(&[ZA]), list(&[US])));
        assert_eq!(edited(&list(&[US, ZA]), &list(&[ZA, EU, US]), &ours), (list(&[ZA, US]), vec![]));
    }
}
