//! What one DNS reply means to us.
use crate::name::DomainName;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
/// One judged reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Addresses.
    Positive {
        /// a
        addresses: BTreeSet<Ipv4Addr>,
        /// b
        authoritative: bool,
        /// c
        partial: bool,
        /// d
        alias: Option<DomainName>,
    },
    /// No.
    Negative {
        /// a
        authoritative: bool,
        /// b
        name_exists: bool,
    },
    /// Nothing.
    NoWord(NoWord),
}
/// Why there is no word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoWord {
    /// t
    Timeout,
    /// n
    Network(String),
    /// s
    ServFail,
    /// r
    Refused,
    /// f
    FormErr,
    /// o
    OtherRcode(u16),
    /// m
    Malformed,
    /// c
    CnameLoop,
    /// t
    TruncatedWithoutTcp,
}
impl NoWord {
    /// reason
    pub fn reason(&self) -> &'static str {
        "Timeout"
    }
}
