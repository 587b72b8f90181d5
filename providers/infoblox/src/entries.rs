//! Name server lists as the grid writes them, and what somebody else changed in one while we wrote another. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

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

/// The same entries, whatever their order and their other members.
pub(crate) fn same(one: &[ExtServer], other: &[ExtServer]) -> bool {
    keys(one) == keys(other)
}

/// The list that we want, with what others changed since we last looked: `expected` was to stand there, `found` did.
/// Entries under our own names are ours to say, so what happened to them is left out.
pub(crate) fn rebase(
    wanted: &[ExtServer],
    expected: &[ExtServer],
    found: &[ExtServer],
    ours: &BTreeSet<String>,
) -> Vec<ExtServer> {
    let (before, after) = (by_key(expected), by_key(found));
    let theirs = |key: &Key| !ours.contains(&key.name);
    let gone = |key: &Key| theirs(key) && before.contains_key(key) && !after.contains_key(key);
    let mut list: Vec<_> = wanted.iter().filter(|entry| !gone(&Key::of(entry))).cloned().collect();
    let there = keys(&list);
    let came = found.iter().filter(|entry| {
        let key = Key::of(entry);
        theirs(&key) && !before.contains_key(&key) && !there.contains(&key)
    });
    list.extend(came.cloned());
    list
}

fn keys(list: &[ExtServer]) -> BTreeSet<Key> {
    list.iter().map(Key::of).collect()
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
            ("nobody wrote", list(&[EU, US]), list(&[US]), list(&[US]), list(&[EU, US])),
            ("one came", list(&[EU]), list(&[]), list(&[US]), list(&[EU, US])),
            ("one left", list(&[EU, US]), list(&[US]), list(&[]), list(&[EU])),
            (
                "one moved",
                list(&[EU, US]),
                list(&[US]),
                list(&[(US.0, "198.51.100.54")]),
                list(&[EU, (US.0, "198.51.100.54")]),
            ),
            ("ours was taken", list(&[EU, US]), list(&[EU, US]), list(&[US, ZA]), list(&[EU, US, ZA])),
            ("ours was put back", list(&[US]), list(&[US]), list(&[EU, US]), list(&[US])),
            (
                "spelled otherwise",
                list(&[EU, US]),
                list(&[US]),
                list(&[("NS-US.example.com.", US.1)]),
                list(&[EU, US]),
            ),
        ];
        for (what, wanted, expected, found, merged) in cases {
            assert_eq!(rebase(&wanted, &expected, &found, &ours), merged, "{what}");
        }
    }
}
