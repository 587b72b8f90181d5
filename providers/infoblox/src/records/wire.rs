//! The shapes of records. They do not leave this folder.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Kinds of objects that count at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    A,
    Aaaa,
    Cname,
    Host,
}

/// All of them, in the order in which a batch asks for them.
pub(super) const KINDS: [RecordKind; 4] =
    [RecordKind::A, RecordKind::Aaaa, RecordKind::Cname, RecordKind::Host];

impl RecordKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::A => "record:a",
            Self::Aaaa => "record:aaaa",
            Self::Cname => "record:cname",
            Self::Host => "record:host",
        }
    }

    /// The field with the address.
    pub(super) fn address_field(self) -> &'static str {
        match self {
            Self::A => "ipv4addr",
            Self::Aaaa => "ipv6addr",
            Self::Cname | Self::Host => "",
        }
    }

    /// Every field that is asked for. All of them exist in every 2.x version.
    pub(super) fn fields(self) -> &'static str {
        match self {
            Self::A => "name,view,ipv4addr,ttl,use_ttl,comment,disable,extattrs",
            Self::Aaaa => "name,view,ipv6addr,ttl,use_ttl,comment,disable,extattrs",
            Self::Cname => "name,view,canonical",
            Self::Host => "name,view",
        }
    }
}

/// An object as read. A grid leaves out what is empty.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RecordObject {
    #[serde(rename = "_ref")]
    pub(super) reference: String,
    pub(super) name: String,
    pub(super) view: String,
    #[serde(default)]
    pub(super) ipv4addr: Option<String>,
    #[serde(default)]
    pub(super) ipv6addr: Option<String>,
    #[serde(default)]
    pub(super) canonical: Option<String>,
    #[serde(default)]
    pub(super) ttl: Option<u32>,
    #[serde(default)]
    pub(super) use_ttl: Option<bool>,
    #[serde(default)]
    pub(super) comment: Option<String>,
    #[serde(default)]
    pub(super) disable: Option<bool>,
    #[serde(default)]
    pub(super) extattrs: Option<Map<String, Value>>,
}
