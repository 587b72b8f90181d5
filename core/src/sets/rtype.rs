//! The types of records that are written for others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The types that external-dns manages at an enterprise's DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RecordType {
    /// IPv4 address (RFC 1035 §3.4.1).
    A,
    /// IPv6 address (RFC 3596 §2.1).
    Aaaa,
    /// Alias (RFC 1035 §3.3.1).
    Cname,
    /// Name server (RFC 1035 §3.3.11).
    Ns,
    /// Texts (RFC 1035 §3.3.14).
    Txt,
}

impl RecordType {
    /// Each of them.
    pub const ALL: [Self; 5] = [Self::A, Self::Aaaa, Self::Cname, Self::Ns, Self::Txt];

    /// The mnemonic.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Cname => "CNAME",
            Self::Ns => "NS",
            Self::Txt => "TXT",
        }
    }
}

impl fmt::Display for RecordType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A type that is not written here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the types A, AAAA, CNAME, NS and TXT")]
pub struct OtherType(pub String);

impl FromStr for RecordType {
    type Err = OtherType;

    fn from_str(text: &str) -> Result<Self, OtherType> {
        let known = Self::ALL.into_iter().find(|known| known.as_str() == text);
        known.ok_or_else(|| OtherType(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_its_mnemonic_alone() {
        assert_eq!(RecordType::ALL.map(|known| known.to_string().parse()), RecordType::ALL.map(Ok));
        assert_eq!(
            "MX".parse::<RecordType>().unwrap_err().to_string(),
            r#""MX" is none of the types A, AAAA, CNAME, NS and TXT"#
        );
    }
}
