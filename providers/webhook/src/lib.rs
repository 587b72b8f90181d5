//! The webhook protocol of external-dns.
//!
//! [`protocol`] has what goes over the wire, whichever side one is on, [`adoption`] whose records count as ours. Pure.

pub mod adoption;
pub mod protocol;
