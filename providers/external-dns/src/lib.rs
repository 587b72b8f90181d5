//! Delegations as DNSEndpoint objects of this cluster, which an external-dns publishes in the parent zone.
//!
//! Each cluster has an object of its own (contract §3.4): the NS set of the whole fleet, because one record set has
//! one writer, and the glue of this cluster only. What others put into the object stays: annotations, labels and
//! endpoints of other names.

mod convert;
mod provider;

pub use provider::ExternalDns;
