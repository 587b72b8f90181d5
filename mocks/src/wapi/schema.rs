//! Object types and their fields: what can be read, written, searched and is shown unasked.

pub(crate) use super::types::{TYPES, object_type};
use serde_json::{Value, json};

/// A type of WAPI object.
#[derive(Debug)]
pub(crate) struct ObjectType {
    /// `zone_delegated`, `record:a`, …
    pub(crate) name: &'static str,
    /// Letters of `c`reate, `u`pdate, `d`elete.
    pub(crate) operations: &'static str,
    pub(crate) fields: &'static [Field],
}

impl ObjectType {
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub(crate) fn is_zone(&self) -> bool {
        self.name.starts_with("zone_")
    }

    pub(crate) fn is_record(&self) -> bool {
        self.name.starts_with("record:")
    }
}

/// What values a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A domain name, stored lower-case and without the final dot.
    Name,
    /// The name of a zone: a domain name, or a network for reverse zones.
    ZoneName,
    Ipv4,
    Ipv6,
    Uint,
    Bool,
    Choice(&'static [&'static str]),
    /// The text of a TXT record.
    CharacterStrings,
    Attributes,
    /// Elements with `name` and `address`.
    Servers,
    /// Elements with `name`.
    Members,
    HostIpv4,
    HostIpv6,
    /// Elements with `address`.
    NsAddresses,
    TextList,
    /// A list that the simulator stores as it is.
    List,
    /// An attribute's default value: text or number.
    Any,
}

/// What a read shows for a field that was never set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unset {
    Absent,
    Bool(bool),
    Number(u64),
    Text(&'static str),
    List,
    Map,
}

/// One field of an object type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Letters of `r`ead, `w`rite on create, `u`pdate, `s`earch, as `supports` in the WAPI's own schema.
    pub(crate) supports: &'static str,
    /// Search modifiers, characters of `= ! : ~ < >`.
    pub(crate) searchable_by: &'static str,
    /// Shown without being asked for.
    pub(crate) base: bool,
    pub(crate) required: bool,
    pub(crate) unset: Unset,
}

impl Field {
    pub(crate) const fn new(name: &'static str, kind: Kind, supports: &'static str) -> Self {
        let searchable_by = "";
        Self { name, kind, supports, searchable_by, base: false, required: false, unset: Unset::Absent }
    }

    pub(crate) const fn search(mut self, searchable_by: &'static str) -> Self {
        self.searchable_by = searchable_by;
        self
    }

    pub(crate) const fn base(mut self) -> Self {
        self.base = true;
        self
    }

    pub(crate) const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    pub(crate) const fn unset(mut self, unset: Unset) -> Self {
        self.unset = unset;
        self
    }

    pub(crate) fn supports(&self, letter: char) -> bool {
        self.supports.contains(letter)
    }

    /// The value of a field that was never set, if a read shows one.
    pub(crate) fn unset_value(&self) -> Option<Value> {
        match self.unset {
            Unset::Absent => None,
            Unset::Bool(value) => Some(json!(value)),
            Unset::Number(value) => Some(json!(value)),
            Unset::Text(value) => Some(json!(value)),
            Unset::List => Some(json!([])),
            Unset::Map => Some(json!({})),
        }
    }

    /// The words of the WAPI's schema for the kind, and whether the field is a list.
    pub(crate) fn schema_type(&self) -> (&'static str, bool) {
        match self.kind {
            Kind::Text | Kind::Name | Kind::ZoneName | Kind::Ipv4 | Kind::Ipv6 | Kind::Any => {
                ("string", false)
            }
            Kind::CharacterStrings => ("string", false),
            Kind::Uint => ("uint", false),
            Kind::Bool => ("bool", false),
            Kind::Choice(_) => ("enum", false),
            Kind::Attributes => ("extattr", false),
            Kind::Servers => ("extserver", true),
            Kind::Members => ("memberserver", true),
            Kind::HostIpv4 => ("record:host_ipv4addr", true),
            Kind::HostIpv6 => ("record:host_ipv6addr", true),
            Kind::NsAddresses => ("zonenameserver", true),
            Kind::TextList | Kind::List => ("string", true),
        }
    }
}
