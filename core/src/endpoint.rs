//! The records of a Gslb as its DNSEndpoint carries them (contract §3.1).

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::decision::{Answer, Decision};
use crate::name::DomainName;
use crate::strategy::{Accepted, Strategy};
use crate::target::TargetMap;
use crate::ttl::Ttl;
use crate::zone::{HostProblem, local_targets_name};

/// One A record set of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The name that the records sit at.
    pub owner_name: DomainName,
    /// Addresses in the order of the answer; never empty.
    pub targets: Vec<Ipv4Addr>,
    /// Time to live.
    pub ttl: Ttl,
    /// Labels that a DNS server orders the answer by; empty for a local record.
    pub labels: BTreeMap<String, String>,
}

/// The records of one host: its local record before its own, as k8gb's tests want it.
///
/// # Errors
/// The local name would break a limit; the host is not published at all then.
pub fn host_endpoints(
    host: &DomainName,
    decision: &Decision,
    accepted: &Accepted,
) -> Result<Vec<Endpoint>, HostProblem> {
    let local_name = local_targets_name(host)?;
    let local = decision.local.iter().map(|targets| Endpoint {
        owner_name: local_name.clone(),
        targets: targets.iter().copied().collect(),
        ttl: accepted.ttl,
        labels: BTreeMap::new(),
    });
    let answer = match &decision.answer {
        Answer::Targets { by_tag, .. } => Some(Endpoint {
            owner_name: host.clone(),
            targets: by_tag.values().flatten().copied().collect(),
            ttl: accepted.ttl,
            labels: labels(&accepted.strategy, by_tag),
        }),
        Answer::AllDown | Answer::Unsure => None,
    };
    Ok(local.chain(answer).collect())
}

/// `strategy: <type>`, and `weight-<tag>-<index>-<weight>: <address>` for each answered address of a weighted
/// cluster (contract §3.1).
fn labels(strategy: &Strategy, by_tag: &TargetMap) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([("strategy".to_owned(), strategy.label().to_owned())]);
    if let Strategy::RoundRobin { weights } = strategy {
        let weighted = by_tag.iter().filter_map(|(tag, targets)| Some((tag, targets, weights.get(tag)?)));
        for (tag, targets, weight) in weighted {
            for (index, target) in targets.iter().enumerate() {
                labels.insert(format!("weight-{tag}-{index}-{weight}"), target.to_string());
            }
        }
    }
    labels
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
