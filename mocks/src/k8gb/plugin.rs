//! What k8gb's CoreDNS plugin answers to an address question (contract §8.3, 8.4).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::Endpoint;

/// TTL of a record without one, and of a name that was asked for in another spelling.
const FALLBACK_TTL: u32 = 60;

/// An answer. AA is never set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// NOERROR with these addresses.
    Addresses {
        /// Each once, in the order of the targets.
        addresses: Vec<Ipv4Addr>,
        /// TTL in seconds.
        ttl: u32,
    },
    /// NXDOMAIN: no such record, or one without targets.
    NoSuchName,
}

/// The answer from the published records; names match whatever their case, TTLs only in the exact spelling.
pub fn answer(endpoints: &[Endpoint], name: &str) -> Answer {
    let found = endpoints.iter().filter(|endpoint| endpoint.dns_name.eq_ignore_ascii_case(name));
    let mut once = BTreeSet::new();
    let targets = found.flat_map(|endpoint| endpoint.targets.iter().copied());
    let addresses: Vec<Ipv4Addr> = targets.filter(|address| once.insert(*address)).collect();
    if addresses.is_empty() {
        return Answer::NoSuchName;
    }
    let exact = endpoints.iter().find(|endpoint| endpoint.dns_name == name);
    let ttl = exact.map(|endpoint| endpoint.ttl).filter(|ttl| *ttl > 0).unwrap_or(FALLBACK_TTL);
    Answer::Addresses { addresses, ttl }
}
