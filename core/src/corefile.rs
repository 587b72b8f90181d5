//! Server blocks of a k8gb CoreDNS: one entry of its ConfigMap for each zone (contract §5.4).

use std::collections::{BTreeMap, BTreeSet};

use crate::name::DomainName;

/// What has to change in the ConfigMap's data: a new text for a key, or `None` to remove it.
pub type Edits = BTreeMap<String, Option<String>>;

/// The key of a zone's block.
pub fn key(zone: &DomainName) -> String {
    format!("{}.conf", zone.dashed())
}

/// The block of a zone, byte for byte as k8gb writes it.
pub fn block(zone: &DomainName) -> String {
    format!("{zone}:5353 {{\n  import k8gbplugins\n}}\n")
}

/// Compares what is there with the zones that are to be served. Only entries that we would have written ourselves are
/// removed: everything else in the ConfigMap is somebody else's (F-51).
pub fn edits(zones: &BTreeSet<DomainName>, live: &BTreeMap<String, String>) -> Edits {
    let wanted: BTreeMap<String, String> = zones.iter().map(|zone| (key(zone), block(zone))).collect();
    let stale = live.iter().filter(|(key, text)| !wanted.contains_key(*key) && is_ours(key, text));
    let mut edits: Edits = stale.map(|(key, _)| (key.clone(), None)).collect();
    for (key, text) in wanted {
        if live.get(&key) != Some(&text) {
            edits.insert(key, Some(text));
        }
    }
    edits
}

fn is_ours(found: &str, text: &str) -> bool {
    let zone = text.split_once(":5353 ").and_then(|(zone, _)| DomainName::parse(zone).ok());
    zone.is_some_and(|zone| found == key(&zone) && text == block(&zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "cloud.example.com:5353 {\n  import k8gbplugins\n}\n";

    fn zones(names: &[&str]) -> BTreeSet<DomainName> {
        names.iter().map(|name| DomainName::parse(name).unwrap()).collect()
    }
    fn data(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
    }

    /// Conformance 56.
    #[test]
    fn a_zone_has_one_entry_with_k8gbs_exact_text() {
        let edits = edits(&zones(&["cloud.example.com"]), &data(&[]));
        assert_eq!(edits, Edits::from([("cloud-example-com.conf".to_owned(), Some(BLOCK.to_owned()))]));
    }

    /// F-87.
    #[test]
    fn what_stands_there_already_is_not_written_again() {
        let live = data(&[("cloud-example-com.conf", BLOCK)]);
        assert_eq!(edits(&zones(&["cloud.example.com"]), &live), Edits::new());
    }

    /// Conformance 56, 60.
    #[test]
    fn an_altered_block_is_put_right_and_that_of_a_zone_that_went_is_removed() {
        let live = data(&[("cloud-example-com.conf", BLOCK), ("other-example-com.conf", "# gone\n")]);
        let wanted = Edits::from([
            ("cloud-example-com.conf".to_owned(), None),
            (
                "other-example-com.conf".to_owned(),
                Some(block(&zones(&["other.example.com"]).pop_first().unwrap())),
            ),
        ]);
        assert_eq!(edits(&zones(&["other.example.com"]), &live), wanted);
    }

    /// F-51.
    #[test]
    fn entries_of_others_stay() {
        let live = data(&[("mine.conf", "# mine\n"), ("misnamed.conf", BLOCK), ("a.conf", "a:5353 {\n}\n")]);
        assert_eq!(edits(&zones(&[]), &live), Edits::new());
    }
}
