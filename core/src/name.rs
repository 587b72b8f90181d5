//! Domain names and geo tags: parsed at the door, trusted inside.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

/// Longest domain name in text form without the final dot (RFC 1035 §2.3.4: 255 octets on the wire).
pub const MAX_NAME: usize = 253;
/// Longest label (RFC 1035 §2.3.4).
pub const MAX_LABEL: usize = 63;

/// An absolute domain name: lower-case, without the final dot, at most 253 characters.
///
/// The final dot is left out because every wire that this product writes to (DNSEndpoint targets, WAPI
/// `fqdn`, extserver names) must not carry it. Labels hold letters, digits, `-` and `_`; a leftmost label
/// `*` is a wildcard (RFC 4592).
///
/// Copies share their text: the name of a host stands in the memory of every peer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(Arc<str>);

/// Why a text is no domain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing is left after the final dot is taken away.
    #[error("the name is empty")]
    Empty,
    /// Beyond [`MAX_NAME`].
    #[error("{name} has {length} characters; a domain name has at most {MAX_NAME}")]
    TooLong {
        /// The name as parsed.
        name: String,
        /// Its length in characters.
        length: usize,
    },
    /// A label beyond [`MAX_LABEL`].
    #[error("label {label} of {name} has {length} characters; a label has at most {MAX_LABEL}")]
    LabelTooLong {
        /// The whole name.
        name: String,
        /// The label.
        label: String,
        /// Its length in characters.
        length: usize,
    },
    /// Two dots in a row, or a leading dot.
    #[error("{name} has an empty label")]
    EmptyLabel {
        /// The whole name.
        name: String,
    },
    /// A character outside letters, digits, `-` and `_`, or `-` at an end of a label.
    #[error(
        "label {label} of {name} is not made of letters, digits and inner dashes; write an international name in its xn-- form"
    )]
    BadLabel {
        /// The whole name.
        name: String,
        /// The label.
        label: String,
    },
}

impl DomainName {
    /// Parses a name of any case, with or without the final dot.
    ///
    /// # Errors
    /// [`NameError`] says which rule of RFC 1035 §2.3.1 or RFC 1123 §2.1 is broken, and where.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        for (index, label) in name.split('.').enumerate() {
            check_label(&name, index, label)?;
        }
        if name.len() > MAX_NAME {
            let length = name.len();
            return Err(NameError::TooLong { name, length });
        }
        Ok(Self(name.into()))
    }

    /// The name in lower case without the final dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Labels from left to right.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }

    /// The leftmost label.
    pub fn first_label(&self) -> &str {
        self.0.split('.').next().unwrap_or_default()
    }

    /// Whether the leftmost label is `*`.
    pub fn is_wildcard(&self) -> bool {
        self.first_label() == "*"
    }

    /// What stands left of `.ancestor`, or nothing if this name does not lie below `ancestor`.
    ///
    /// Whole labels are compared: `xglb.example.org` is not below `glb.example.org`.
    pub fn relative_to(&self, ancestor: &Self) -> Option<&str> {
        self.0.strip_suffix(&*ancestor.0)?.strip_suffix('.')
    }

    /// Whether this name is `ancestor` or lies below it.
    pub fn is_within(&self, ancestor: &Self) -> bool {
        self == ancestor || self.relative_to(ancestor).is_some()
    }

    /// The name with dots turned into dashes: the object name of a zone (contract §5.2).
    pub fn dashed(&self) -> String {
        self.0.replace('.', "-")
    }
}

fn check_label(name: &str, index: usize, label: &str) -> Result<(), NameError> {
    if label.is_empty() {
        return Err(NameError::EmptyLabel { name: name.to_owned() });
    }
    let length = label.chars().count();
    if length > MAX_LABEL {
        return Err(NameError::LabelTooLong { name: name.to_owned(), label: label.to_owned(), length });
    }
    let wildcard = index == 0 && label == "*";
    let letters = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if wildcard || (letters && !label.starts_with('-') && !label.ends_with('-')) {
        return Ok(());
    }
    Err(NameError::BadLabel { name: name.to_owned(), label: label.to_owned() })
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for DomainName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl Serialize for DomainName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for DomainName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The short name of a cluster in its fleet, for example `eu` or `us-west-1`: lower-case letters, digits and
/// inner dashes.
///
/// Lower-cased when parsed, because it becomes part of a domain name and a server may change its case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GeoTag(Arc<str>);

/// A text that cannot be a geo tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("geo tag {0:?} is not made of 1 to 63 letters, digits and inner dashes")]
pub struct GeoTagError(pub String);

impl GeoTag {
    /// Parses a tag of any case.
    ///
    /// # Errors
    /// The tag is empty, longer than a label, or has other characters (it becomes part of a label, RFC 1123
    /// §2.1).
    pub fn parse(text: &str) -> Result<Self, GeoTagError> {
        let tag = text.to_ascii_lowercase();
        let letters = tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let dashes = tag.starts_with('-') || tag.ends_with('-');
        if tag.is_empty() || tag.len() > MAX_LABEL || !letters || dashes {
            return Err(GeoTagError(text.to_owned()));
        }
        Ok(Self(tag.into()))
    }

    /// The tag in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GeoTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GeoTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl FromStr for GeoTag {
    type Err = GeoTagError;
    fn from_str(text: &str) -> Result<Self, GeoTagError> {
        Self::parse(text)
    }
}

impl Serialize for GeoTag {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for GeoTag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }

    /// Conformance 34, 108; F-04.
    #[test]
    fn a_name_is_kept_in_lower_case_without_the_final_dot() {
        assert_eq!(name("App.Cloud.Example.com.").as_str(), "app.cloud.example.com");
    }

    /// Conformance 108; F-01.
    #[test]
    fn a_zone_contains_whole_labels_only() {
        let zone = name("glb.example.org");
        assert!(name("a.glb.example.org").is_within(&zone));
        assert!(zone.is_within(&zone));
        assert!(!name("xglb.example.org").is_within(&zone));
        assert!(!name("glb.example.org.evil.net").is_within(&zone));
    }

    /// Conformance 66.
    #[test]
    fn every_broken_rule_is_named() {
        let long = "a".repeat(64);
        assert_eq!(DomainName::parse("."), Err(NameError::Empty));
        assert_eq!(DomainName::parse("a..b"), Err(NameError::EmptyLabel { name: "a..b".into() }));
        assert_eq!(
            DomainName::parse(&format!("{long}.b")),
            Err(NameError::LabelTooLong { name: format!("{long}.b"), label: long.clone(), length: 64 })
        );
        assert_eq!(
            DomainName::parse("-a.b"),
            Err(NameError::BadLabel { name: "-a.b".into(), label: "-a".into() })
        );
        let name = [["a"; 127].join("."), "b".into()].join(".");
        assert_eq!(DomainName::parse(&name), Err(NameError::TooLong { name: name.clone(), length: 255 }));
    }

    #[test]
    fn a_wildcard_stands_alone_in_the_leftmost_label() {
        assert!(name("*.apps.example.org").is_wildcard());
        assert!(DomainName::parse("a.*.example.org").is_err());
        assert!(DomainName::parse("*a.example.org").is_err());
    }

    #[test]
    fn a_geo_tag_is_letters_digits_and_inner_dashes() {
        assert_eq!(GeoTag::parse("EU-West-1").unwrap().as_str(), "eu-west-1");
        for bad in ["", "-eu", "eu-", "e u", "eü", "eu.west"] {
            assert_eq!(GeoTag::parse(bad), Err(GeoTagError(bad.into())));
        }
    }
}
