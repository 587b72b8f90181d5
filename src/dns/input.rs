//! What a snapshot is made of: plain values, also as they stand on disk.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_core::published::EmptyAnswer;
use gslb_core::ttl::Ttl;
use serde::{Deserialize, Serialize};

use super::order::Order;

/// Everything that is served, in the order in which claims were settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// Every zone once.
    pub zones: Vec<ZoneInput>,
    /// Every owner name once.
    pub hosts: Vec<Arc<HostInput>>,
}

/// A zone with what stands at its apex.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneInput {
    /// The name of the zone.
    pub apex: DomainName,
    /// The delegation: what was observed and what the configuration says.
    pub ns_names: BTreeSet<DomainName>,
    /// This cluster's own name server name, if it is known.
    pub own_ns_name: Option<DomainName>,
    /// How long a resolver may keep a negative answer about a name that no Gslb has.
    pub negative_ttl: Ttl,
}

/// What is known about one owner name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInput {
    /// The name.
    pub owner_name: DomainName,
    /// Its records, at most one set of each type. Empty: the name exists, and `empty` is answered.
    pub sets: Vec<SetInput>,
    /// What is answered while there is no record of any type.
    pub empty: EmptyAnswer,
    /// The Gslb's TTL, which limits how long a negative answer about this name may be kept.
    pub ttl: Ttl,
}

/// The records of one type at a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetInput {
    /// How long a resolver may keep them.
    pub ttl: Ttl,
    /// Their data, without duplicates.
    pub data: SetData,
    /// In which order they stand in an answer.
    pub order: Order,
}

/// The data of one set, in the order of the DNSEndpoint's targets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetData {
    /// IPv4 addresses.
    A(Vec<Ipv4Addr>),
    /// IPv6 addresses.
    Aaaa(Vec<Ipv6Addr>),
    /// The strings of one TXT record (contract §8.4: all targets of an endpoint are one record).
    Txt(Vec<String>),
}
