//! What counts of a ZoneDelegation.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use gslb_core::name::DomainName;
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use jiff::Timestamp;
use kube::Resource;

use super::{Guarded, preflight};
use crate::controller::cache::{Cache, Key};

/// The zone of a ZoneDelegation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneFacts {
    /// As the spec names it, or as it last did: an invalid edit never stops what is served.
    pub(crate) zone: Option<Zone>,
    /// What is wrong with the object as it is now.
    pub(crate) problem: Option<String>,
    pub(crate) created: Option<Timestamp>,
    /// Name servers as the status lists them: what is known before the first look-up.
    pub(crate) servers: BTreeSet<(DomainName, Ipv4Addr)>,
    /// What its annotation says about hiding records of the parent: known here, so that a change of it is noticed.
    pub(crate) adopts: Option<bool>,
    /// Whether the object is on its way out.
    pub(crate) deleting: bool,
}

impl ZoneFacts {
    /// `earlier` holds what was read of the object before.
    pub(crate) fn read(guarded: Guarded, earlier: &Cache<Self>) -> Self {
        let earlier = earlier.get(&Key::of(&guarded));
        let metadata = guarded.meta();
        let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
        let deleting = metadata.deletion_timestamp.is_some();
        let servers = match &guarded.0 {
            Ok(object) => servers(object),
            Err(_) => earlier.as_ref().map(|facts| facts.servers.clone()).unwrap_or_default(),
        };
        let adopts = guarded.0.as_ref().ok().and_then(preflight::annotated);
        let named = match guarded.0 {
            Ok(object) => object.spec.zone(),
            Err(invalid) => Err(invalid.error),
        };
        let (zone, problem) = match named {
            Ok((zone, problem)) => (Some(zone), problem),
            Err(problem) => (earlier.and_then(|facts| facts.zone), Some(problem)),
        };
        Self { zone, problem, created, servers, adopts, deleting }
    }
}

fn servers(object: &ZoneDelegation) -> BTreeSet<(DomainName, Ipv4Addr)> {
    let servers = object.status.iter().flat_map(|status| &status.dns_servers);
    servers
        .filter_map(|server| Some((DomainName::parse(&server.name).ok()?, server.address.parse().ok()?)))
        .collect()
}
