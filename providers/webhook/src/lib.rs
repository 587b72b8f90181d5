//! The webhook protocol of external-dns.
//!
//! [`protocol`] has what goes over the wire, whichever side one is on. Pure.

pub mod protocol;
