//! A k8gb cluster as its peers and its resolvers meet it: the other half of a mixed fleet.
//!
//! [`decide`] is its decision, [`Cluster`] its polling, [`plugin`] what its CoreDNS answers. Written from the contract
//! (§3, §4.4, §8.3 to 8.5) and sharing nothing with the product's own rules, so that the two can disagree.

mod decide;
pub mod plugin;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

pub use decide::{Inputs, Strategy, decide};
pub use plugin::Answer;

/// One record set of an application DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Owner name.
    pub dns_name: String,
    /// Addresses, in order.
    pub targets: Vec<Ipv4Addr>,
    /// TTL in seconds.
    pub ttl: u32,
    /// What the plugin's shuffling looks at.
    pub labels: BTreeMap<String, String>,
}

/// One k8gb cluster with one Gslb of one host.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// `CLUSTER_GEO_TAG`.
    pub geo_tag: String,
    /// The Gslb's strategy.
    pub strategy: Strategy,
    /// The Gslb's host.
    pub host: String,
    /// Whether a Service behind the host has a ready endpoint.
    pub healthy: bool,
    /// The Ingress's addresses.
    pub targets: Vec<Ipv4Addr>,
    endpoints: Vec<Endpoint>,
}

impl Cluster {
    /// A cluster that has not made a pass yet: its CoreDNS knows no host.
    pub fn new(geo_tag: &str, strategy: Strategy, host: &str, targets: Vec<Ipv4Addr>) -> Self {
        let (geo_tag, host) = (geo_tag.to_owned(), host.to_owned());
        Self { geo_tag, strategy, host, healthy: true, targets, endpoints: Vec::new() }
    }

    /// The name that peers are asked for.
    pub fn question(&self) -> String {
        format!("localtargets-{}", self.host)
    }

    /// One pass: takes the peers' answers to [`Self::question`], or `None` where nothing came, and publishes anew.
    pub fn pass(&mut self, answers: &BTreeMap<String, Option<Vec<Ipv4Addr>>>) {
        let peers = answers.iter().filter_map(|(tag, answer)| {
            let mut addresses = answer.clone().unwrap_or_default();
            // Sorted as text; an answer without addresses is no answer.
            addresses.sort_by_key(ToString::to_string);
            (!addresses.is_empty()).then(|| (tag.clone(), addresses))
        });
        let inputs = Inputs {
            geo_tag: self.geo_tag.clone(),
            strategy: self.strategy.clone(),
            host: self.host.clone(),
            healthy: self.healthy,
            targets: self.targets.clone(),
            peers: peers.collect(),
        };
        self.endpoints = decide(&inputs);
    }

    /// What its CoreDNS answers to an address question.
    pub fn answer(&self, name: &str) -> Answer {
        plugin::answer(&self.endpoints, name)
    }

    /// What it published last.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }
}
