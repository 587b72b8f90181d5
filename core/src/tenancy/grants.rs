//! What the annotations of a Namespace permit.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use crate::name::{DomainName, MAX_LABEL};

/// Elements that one sentence names. No outside reference.
const MOST_NAMED: usize = 10;

/// What is permitted under one annotation. Without it, nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Granted<T> {
    is_there: bool,
    elements: BTreeSet<T>,
    /// They permit nothing.
    unreadable: BTreeSet<String>,
}

impl<T: Ord + fmt::Display> Granted<T> {
    /// Reads a list with commas; blanks and a comma at the end mean nothing.
    pub(super) fn read(list: Option<&str>, parse: impl Fn(&str) -> Option<T>) -> Self {
        let mut granted =
            Self { is_there: list.is_some(), elements: BTreeSet::new(), unreadable: BTreeSet::new() };
        let elements = list.into_iter().flat_map(|list| list.split(',')).map(str::trim);
        for element in elements.filter(|element| !element.is_empty()) {
            match parse(element) {
                Some(parsed) => drop(granted.elements.insert(parsed)),
                None => drop(granted.unreadable.insert(element.to_owned())),
            }
        }
        granted
    }

    pub(super) fn any(&self, test: impl Fn(&T) -> bool) -> bool {
        self.elements.iter().any(test)
    }

    /// The limit as part of a sentence about the Namespace.
    pub(super) fn limit(&self, annotation: &str) -> String {
        if !self.is_there {
            return format!("it has no annotation {annotation}");
        }
        let named = self.elements.iter().take(MOST_NAMED).map(ToString::to_string);
        let more = self.elements.len().saturating_sub(MOST_NAMED);
        let mut parts: Vec<String> = named.collect();
        parts.extend((more > 0).then(|| format!("{more} more")));
        parts.extend(self.unreadable.iter().take(MOST_NAMED).map(|text| format!("{text:?}, which is none")));
        if parts.is_empty() {
            return format!("its annotation {annotation} is empty");
        }
        format!("its annotation {annotation} lists {}", parts.join(", "))
    }
}

/// Hosts that a namespace may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostPattern {
    /// `*`
    Any,
    /// `app.example.com`
    Exactly(DomainName),
    /// `*.example.com`: every name below, at any depth, and not the name itself.
    Below(DomainName),
}

impl HostPattern {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        let below = text.strip_prefix("*.");
        let name = DomainName::parse(below.unwrap_or(text)).ok().filter(|name| !name.is_wildcard())?;
        Some(if below.is_some() { Self::Below(name) } else { Self::Exactly(name) })
    }

    pub(super) fn covers(&self, host: &DomainName) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(name) => host == name,
            Self::Below(name) => host.relative_to(name).is_some(),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exactly(name) => name.fmt(f),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

/// Addresses of one prefix; one address is the longest. IPv6 may be listed and covers nothing that is answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressRange {
    network: IpAddr,
    prefix: u8,
}

impl AddressRange {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().ok()?;
        let longest = if network.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(longest);
        (prefix <= longest).then_some(Self { network, prefix })
    }

    pub(super) fn covers(&self, address: Ipv4Addr) -> bool {
        let IpAddr::V4(network) = self.network else { return false };
        let differing = u32::from(network) ^ u32::from(address);
        differing.leading_zeros() >= u32::from(self.prefix)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = if self.network.is_ipv4() { 32 } else { 128 };
        match self.prefix {
            prefix if prefix == longest => self.network.fmt(f),
            prefix => write!(f, "{}/{prefix}", self.network),
        }
    }
}

/// Namespaces whose Gslbs may refer to objects of this one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Referrer {
    /// `*`
    Any,
    /// A namespace by name.
    Namespace(String),
}

impl Referrer {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let letters = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        match text {
            "*" => Some(Self::Any),
            _ if letters && text.len() <= MAX_LABEL => Some(Self::Namespace(text.to_owned())),
            _ => None,
        }
    }

    pub(super) fn covers(&self, namespace: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Namespace(name) => name == namespace,
        }
    }
}

impl fmt::Display for Referrer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Namespace(name) => f.write_str(name),
        }
    }
}
