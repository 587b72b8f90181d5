//! The shapes of records of all types that are written for others. They do not leave this folder.

use gslb_core::sets::RecordType;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Kinds of records that are read at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetKind {
    /// One record of this type.
    Plain(RecordType),
    /// A host, whose addresses and aliases are no records of their own.
    Host,
}

/// All of them, in the order in which a batch asks for them.
pub(super) const KINDS: [SetKind; 5] = [
    SetKind::Plain(RecordType::A),
    SetKind::Plain(RecordType::Aaaa),
    SetKind::Plain(RecordType::Cname),
    SetKind::Plain(RecordType::Txt),
    SetKind::Host,
];

impl SetKind {
    pub(super) fn object(self) -> &'static str {
        match self {
            Self::Plain(RecordType::A) => "record:a",
            Self::Plain(RecordType::Aaaa) => "record:aaaa",
            Self::Plain(RecordType::Cname) => "record:cname",
            Self::Plain(RecordType::Txt) => "record:txt",
            Self::Plain(RecordType::Ns) => "record:ns",
            Self::Host => "record:host",
        }
    }

    /// Every field that is asked for. All of them exist in every 2.x version.
    pub(super) fn fields(self) -> String {
        let value = match self {
            Self::Plain(rtype) => value_field(rtype),
            Self::Host => {
                return "name,view,ipv4addrs,ipv6addrs,aliases,configure_for_dns,ttl,use_ttl,disable"
                    .to_owned();
            }
        };
        format!("name,view,{value},ttl,use_ttl,comment,extattrs,disable")
    }
}

/// The field with what a record says.
pub(super) fn value_field(rtype: RecordType) -> &'static str {
    match rtype {
        RecordType::A => "ipv4addr",
        RecordType::Aaaa => "ipv6addr",
        RecordType::Cname => "canonical",
        RecordType::Ns => "nameserver",
        RecordType::Txt => "text",
    }
}

/// A record as read. A grid leaves out what is empty.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SetObject {
    pub(super) name: String,
    pub(super) view: String,
    #[serde(default)]
    pub(super) ipv4addr: Option<String>,
    #[serde(default)]
    pub(super) ipv6addr: Option<String>,
    #[serde(default)]
    pub(super) canonical: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) ipv4addrs: Option<Vec<HostAddress>>,
    #[serde(default)]
    pub(super) ipv6addrs: Option<Vec<HostAddress>>,
    #[serde(default)]
    pub(super) aliases: Option<Vec<String>>,
    #[serde(default)]
    pub(super) configure_for_dns: Option<bool>,
    #[serde(default)]
    pub(super) ttl: Option<u32>,
    #[serde(default)]
    pub(super) use_ttl: Option<bool>,
    #[serde(default)]
    pub(super) comment: Option<String>,
    #[serde(default)]
    pub(super) extattrs: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) disable: Option<bool>,
}

/// An address of a host.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct HostAddress {
    #[serde(default)]
    pub(super) ipv4addr: Option<String>,
    #[serde(default)]
    pub(super) ipv6addr: Option<String>,
}
