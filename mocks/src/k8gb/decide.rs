//! k8gb's decision over one host (contract §3.1 to 3.3).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::Endpoint;

const TTL: u32 = 30;

/// `spec.strategy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// `roundRobin` with its weights, which may be empty.
    RoundRobin(BTreeMap<String, u32>),
    /// `geoip`
    GeoIp,
    /// `failover` with its primary.
    Failover(String),
}

/// What one decision is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// The deciding cluster.
    pub geo_tag: String,
    /// The strategy.
    pub strategy: Strategy,
    /// The host.
    pub host: String,
    /// Its health here.
    pub healthy: bool,
    /// The addresses here.
    pub targets: Vec<Ipv4Addr>,
    /// The peers that named addresses.
    pub peers: BTreeMap<String, Vec<Ipv4Addr>>,
}

/// The records of the host: `localtargets-` first. Rows X1 and X2, endpoints without targets, included.
pub fn decide(inputs: &Inputs) -> Vec<Endpoint> {
    let mut endpoints = Vec::new();
    if inputs.healthy {
        let dns_name = format!("localtargets-{}", inputs.host);
        endpoints.push(Endpoint {
            dns_name,
            targets: inputs.targets.clone(),
            ttl: TTL,
            labels: BTreeMap::new(),
        });
    }
    let map = targets(inputs);
    if !map.is_empty() {
        endpoints.push(Endpoint {
            dns_name: inputs.host.clone(),
            targets: map.values().flatten().copied().collect(),
            ttl: TTL,
            labels: labels(&inputs.strategy, &map),
        });
    }
    endpoints
}

/// The final map from geo tag to addresses.
fn targets(inputs: &Inputs) -> BTreeMap<String, Vec<Ipv4Addr>> {
    let own = (inputs.geo_tag.clone(), inputs.targets.clone());
    let mut all = inputs.peers.clone();
    if inputs.healthy {
        all.insert(own.0.clone(), own.1.clone());
    }
    let Strategy::Failover(primary) = &inputs.strategy else { return all };
    if *primary == inputs.geo_tag {
        return if inputs.healthy { BTreeMap::from([own]) } else { all };
    }
    match inputs.peers.get(primary) {
        Some(addresses) => BTreeMap::from([(primary.clone(), addresses.clone())]),
        None => all,
    }
}

fn labels(strategy: &Strategy, map: &BTreeMap<String, Vec<Ipv4Addr>>) -> BTreeMap<String, String> {
    let (kind, weights) = match strategy {
        Strategy::RoundRobin(weights) => ("roundRobin", weights.clone()),
        Strategy::GeoIp => ("geoip", BTreeMap::new()),
        Strategy::Failover(_) => ("failover", BTreeMap::new()),
    };
    let mut labels = BTreeMap::from([("strategy".to_owned(), kind.to_owned())]);
    for (tag, weight) in weights {
        for (index, address) in map.get(&tag).into_iter().flatten().enumerate() {
            labels.insert(format!("weight-{tag}-{index}-{weight}"), address.to_string());
        }
    }
    labels
}
