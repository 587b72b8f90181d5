//! Whose a set of records is: a TXT record beside it (contract §9.4).

use super::zone::{RecordSet, Records};

/// Where the owner of a set is noted.
pub(super) fn note_name(prefix: &str, name: &str, rtype: &str) -> String {
    format!("{prefix}{}-{name}", rtype.to_lowercase())
}

/// The note itself.
pub(super) fn note(owner: &str, resource: &str, ttl: u32) -> RecordSet {
    let text = format!("heritage=external-dns,external-dns/owner={owner},external-dns/resource={resource}");
    RecordSet { ttl, data: [text].into() }
}

/// The noted owner of a set; nothing if nobody noted one under this prefix.
pub(super) fn owner_of<'r>(records: &'r Records, prefix: &str, name: &str, rtype: &str) -> Option<&'r str> {
    let note = records.get(&(note_name(prefix, name, rtype), "TXT".to_owned()))?;
    let note = note.data.iter().find(|text| text.split(',').any(|part| part == "heritage=external-dns"))?;
    note.split(',').find_map(|part| part.strip_prefix("external-dns/owner="))
}
