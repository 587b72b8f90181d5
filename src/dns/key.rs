//! Names as keys of a snapshot.
//!
//! A key is the lower-case wire form without the root (RFC 1035 §3.1), so the keys of a name's ancestors are its own
//! tails: walking up costs neither a copy nor an allocation.

use std::borrow::Borrow;

use gslb_core::name::DomainName;
use hickory_proto::rr::LowerName;

/// Longest name on the wire (RFC 1035 §2.3.4).
const MAX_WIRE: usize = 255;

/// The key of a published name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(Box<[u8]>);

/// The key of a name in a question, without an allocation.
#[derive(Debug)]
pub(super) struct QueryKey {
    bytes: [u8; MAX_WIRE],
    length: usize,
}

impl Key {
    pub(super) fn new(domain: &DomainName) -> Self {
        let mut bytes = Vec::with_capacity(domain.as_str().len() + 1);
        for label in domain.labels() {
            bytes.push(label_length(label.as_bytes()));
            bytes.extend_from_slice(label.as_bytes());
        }
        Self(bytes.into())
    }

    pub(super) fn copied(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl QueryKey {
    pub(super) fn new(name: &LowerName) -> Self {
        let mut key = Self { bytes: [0; MAX_WIRE], length: 0 };
        for label in name.iter() {
            key.push(&[label_length(label)]);
            key.push(label);
        }
        key
    }

    fn push(&mut self, more: &[u8]) {
        let end = self.length + more.len();
        // The codec has refused longer names before.
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(more);
            self.length = end;
        }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The key of the name above, or nothing above the root.
pub(super) fn parent(key: &[u8]) -> Option<&[u8]> {
    let (length, rest) = key.split_first()?;
    rest.get(usize::from(*length)..)
}

fn label_length(label: &[u8]) -> u8 {
    u8::try_from(label.len()).expect("a label has at most 63 octets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::rr::Name;

    #[test]
    fn a_question_finds_a_published_name_in_any_case_and_walks_up_to_the_root() {
        let published = Key::new(&DomainName::parse("App.cloud.example").unwrap());
        let asked = QueryKey::new(&LowerName::new(&Name::from_ascii("aPP.Cloud.EXAMPLE.").unwrap()));
        assert_eq!(published.as_slice(), b"\x03app\x05cloud\x07example");
        assert_eq!(asked.as_slice(), published.as_slice());
        let up: Vec<&[u8]> = std::iter::successors(Some(asked.as_slice()), |key| parent(key)).collect();
        assert_eq!(up, [&b"\x03app\x05cloud\x07example"[..], b"\x05cloud\x07example", b"\x07example", b""]);
    }

    #[test]
    fn the_longest_name_fits() {
        let text = format!("{}.{}.{}.{}.", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
        let asked = QueryKey::new(&LowerName::new(&Name::from_ascii(&text).unwrap()));
        assert_eq!(asked.as_slice(), Key::new(&DomainName::parse(&text).unwrap()).as_slice());
    }
}
