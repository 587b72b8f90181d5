//! Addresses that a host may be answered with, by cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::name::GeoTag;

/// The addresses of one cluster, in numerical order, each once.
///
/// Only IPv4: k8gb's CoreDNS plugin cannot serve anything else under these names (contract §8.3).
pub type Targets = BTreeSet<Ipv4Addr>;

/// Addresses by the cluster that they belong to, in the order of tags: the order of an answer.
pub type TargetMap = BTreeMap<GeoTag, Targets>;

/// Leaves an address that several clusters share with the first of them only, and drops clusters that keep
/// none, so that an answer lists it once and weights still match the answer (row X3).
pub fn without_duplicates(map: &TargetMap) -> TargetMap {
    let mut seen = Targets::new();
    map.iter()
        .map(|(tag, targets)| {
            (tag.clone(), targets.iter().copied().filter(|target| seen.insert(*target)).collect::<Targets>())
        })
        .filter(|(_, targets)| !targets.is_empty())
        .collect()
}
