//! All records of one name and type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::rtype::{OtherType, RecordType};
use super::text::{BadText, Text};
use crate::name::{DomainName, NameError};
use crate::text::quoted;
use crate::ttl::{Ttl, TtlError};

/// Which set: there is one of each name and type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SetKey {
    /// The owner name.
    pub name: DomainName,
    /// The type.
    pub rtype: RecordType,
}

impl SetKey {
    /// The set of this name and type.
    pub fn new(name: DomainName, rtype: RecordType) -> Self {
        Self { name, rtype }
    }
}

/// As sentences call it.
impl fmt::Display for SetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.rtype, self.name)
    }
}

impl std::str::FromStr for SetKey {
    type Err = BadSet;

    /// Reads what sentences and the change log call it.
    fn from_str(text: &str) -> Result<Self, BadSet> {
        let (rtype, name) = text.split_once(' ').unwrap_or((text, ""));
        Ok(Self::new(DomainName::parse(name)?, rtype.parse()?))
    }
}

/// What one record says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Datum {
    /// Of an A or AAAA record.
    Address(IpAddr),
    /// Of a CNAME or NS record.
    Name(DomainName),
    /// Of a TXT record.
    Text(Text),
}

/// As external-dns writes it.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => name.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The addresses of name servers, which a delegation holds beside their names.
pub type Glue = BTreeMap<DomainName, BTreeSet<IpAddr>>;

/// All records of one name and type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct RecordSet {
    /// Which.
    pub key: SetKey,
    /// `None`: what the zone passes down.
    pub ttl: Option<Ttl>,
    /// Never empty. All of the kind that the type has; a CNAME has one.
    pub data: BTreeSet<Datum>,
    /// Of NS only: as far as they are known.
    pub glue: Glue,
}

/// Something that is no set of records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSet {
    /// No name of DNS.
    #[error("{0}")]
    Name(#[from] NameError),
    /// A wildcard in the middle: external-dns makes such names of its TXT records.
    #[error(
        "{0} has a * that is no label of its own; give external-dns --txt-wildcard-replacement, for example with the word any"
    )]
    Wildcard(String),
    /// Not one of ours.
    #[error("{0}")]
    Type(#[from] OtherType),
    /// No TTL.
    #[error("{0}")]
    Ttl(#[from] TtlError),
    /// Nothing.
    #[error("it has no target")]
    Empty,
    /// An alias leads to one name.
    #[error("a CNAME has one target, and it has {0}")]
    Aliases(usize),
    /// Not of its type.
    #[error("its target {0} is no {1}")]
    Datum(String, &'static str),
    /// A text that is not kept.
    #[error("{0}")]
    Text(#[from] BadText),
}

impl RecordSet {
    /// Reads a set as external-dns sends it. A TTL of 0 is what the zone passes down.
    ///
    /// # Errors
    /// It is no set that can be written.
    pub fn parse(name: &str, rtype: &str, ttl: i64, targets: &[String]) -> Result<Self, BadSet> {
        let rtype: RecordType = rtype.parse()?;
        let wildcard = name.split('.').any(|label| label.len() > 1 && label.contains('*'));
        if wildcard {
            return Err(BadSet::Wildcard(quoted(name)));
        }
        let key = SetKey::new(DomainName::parse(name)?, rtype);
        let data = targets.iter().map(|target| datum(rtype, target)).collect::<Result<BTreeSet<_>, _>>()?;
        let ttl = if ttl == 0 { None } else { Some(Ttl::from_secs(ttl)?) };
        match (data.len(), rtype) {
            (0, _) => Err(BadSet::Empty),
            (2.., RecordType::Cname) => Err(BadSet::Aliases(data.len())),
            _ => Ok(Self { key, ttl, data, glue: Glue::new() }),
        }
    }

    /// The data as external-dns writes them, in order.
    pub fn targets(&self) -> Vec<String> {
        self.data.iter().map(ToString::to_string).collect()
    }
}

fn datum(rtype: RecordType, target: &str) -> Result<Datum, BadSet> {
    let bad = |what| BadSet::Datum(quoted(target), what);
    let name = || DomainName::parse(target).map(Datum::Name).map_err(|_| bad("domain name"));
    match rtype {
        RecordType::A => {
            let address = target.parse::<Ipv4Addr>().map_err(|_| bad("IPv4 address"))?;
            Ok(Datum::Address(address.into()))
        }
        RecordType::Aaaa => {
            let address = target.parse::<Ipv6Addr>().map_err(|_| bad("IPv6 address"))?;
            Ok(Datum::Address(address.into()))
        }
        RecordType::Cname | RecordType::Ns => name(),
        RecordType::Txt => Ok(Datum::Text(Text::of_target(target)?)),
    }
}

/// A set as the change log has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    name: String,
    r#type: RecordType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<Ttl>,
    data: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    glue: Glue,
}

impl From<RecordSet> for Written {
    fn from(set: RecordSet) -> Self {
        let data = set.targets();
        let RecordSet { key, ttl, data: _, glue } = set;
        Self { name: key.name.to_string(), r#type: key.rtype, ttl, data, glue }
    }
}

impl TryFrom<Written> for RecordSet {
    type Error = BadSet;

    /// Everything that may stand at a provider may be in the log, also what nobody could ask for.
    fn try_from(written: Written) -> Result<Self, BadSet> {
        let Written { name, r#type, ttl, data, glue } = written;
        let read = |text: &String| match r#type {
            RecordType::Txt => Ok(Datum::Text(Text::of_quoted(text))),
            RecordType::A | RecordType::Aaaa | RecordType::Cname | RecordType::Ns => datum(r#type, text),
        };
        let data = data.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { key: SetKey::new(DomainName::parse(&name)?, r#type), ttl, data, glue })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, rtype: &str, ttl: i64, targets: &[&str]) -> Result<RecordSet, String> {
        let targets: Vec<_> = targets.iter().map(|target| (*target).to_owned()).collect();
        RecordSet::parse(name, rtype, ttl, &targets).map_err(|bad| bad.to_string())
    }

    /// C064.
    #[test]
    fn case_and_final_dots_order_and_doubles_are_spellings() {
        let plain = parse("www.example.com", "A", 0, &["192.0.2.1", "192.0.2.2"]);
        assert_eq!(parse("WWW.example.com.", "A", 0, &["192.0.2.2", "192.0.2.1", "192.0.2.2"]), plain);
        let alias = parse("www.example.com", "CNAME", 30, &["lb.example.net"]);
        assert_eq!(parse("www.example.com", "CNAME", 30, &["LB.example.net."]), alias);
        let six = parse("www.example.com", "AAAA", 30, &["2001:db8::1"]);
        assert_eq!(parse("www.example.com", "AAAA", 30, &["2001:DB8:0:0::1"]), six);
    }

    #[test]
    fn what_is_no_set_is_told_in_a_sentence() {
        let table = [
            (parse("", "A", 0, &["192.0.2.1"]), "the name is empty"),
            (
                parse("www.example.com", "MX", 0, &["10 mx"]),
                r#""MX" is none of the types A, AAAA, CNAME, NS and TXT"#,
            ),
            (parse("www.example.com", "A", -1, &["192.0.2.1"]), "a TTL has 0 to 2147483647 seconds, not -1"),
            (parse("www.example.com", "A", 0, &[]), "it has no target"),
            (parse("www.example.com", "A", 0, &["2001:db8::1"]), "its target 2001:db8::1 is no IPv4 address"),
            (parse("www.example.com", "AAAA", 0, &["192.0.2.1"]), "its target 192.0.2.1 is no IPv6 address"),
            (parse("www.example.com", "NS", 0, &["a b"]), "its target a b is no domain name"),
            (
                parse("www.example.com", "CNAME", 0, &["a.example", "b.example"]),
                "a CNAME has one target, and it has 2",
            ),
            (
                parse("a-*.example.com", "TXT", 0, &["x"]),
                "a-*.example.com has a * that is no label of its own; give external-dns --txt-wildcard-replacement, for example with the word any",
            ),
        ];
        for (read, told) in table {
            assert_eq!(read.unwrap_err(), told);
        }
    }

    #[test]
    fn a_set_is_read_from_the_log_as_it_was_written() {
        let mut delegation = parse("glb.example.com", "NS", 30, &["ns1.example.com"]).unwrap();
        let server = DomainName::parse("ns1.example.com").unwrap();
        delegation.glue = [(server, ["192.0.2.53".parse().unwrap()].into())].into();
        let text = parse("www.example.com", "TXT", 0, &["v=spf1 -all"]).unwrap();
        for set in [delegation, text, parse("*.example.com", "A", 30, &["192.0.2.1"]).unwrap()] {
            let written = serde_json::to_value(&set).unwrap();
            assert_eq!(serde_json::from_value::<RecordSet>(written).unwrap(), set);
        }
    }

    #[test]
    fn a_set_is_known_by_what_sentences_call_it() {
        for key in ["TXT note.example.com", "A *.example.com"] {
            assert_eq!(key.parse::<SetKey>().unwrap().to_string(), key);
        }
        for other in ["", "TXT", "zone example.com", "A "] {
            assert!(other.parse::<SetKey>().is_err(), "{other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_text_stands_at_a_grid_is_read_from_the_log_as_it_was(list in r#"[ -~äö\\"\n]{0,40}"#) {
            let key = SetKey::new(DomainName::parse("note.example.com").unwrap(), RecordType::Txt);
            let data = [Datum::Text(Text::of_strings(&list))].into();
            let set = RecordSet { key, ttl: None, data, glue: Glue::new() };
            let written = serde_json::to_value(&set).unwrap();
            proptest::prop_assert_eq!(serde_json::from_value::<RecordSet>(written).unwrap(), set);
        }
    }
}
