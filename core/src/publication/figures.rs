//! One pass in numbers, over all hosts of the Gslb: what the metrics show (contract §7.4).

use std::collections::BTreeMap;

use super::Publication;
use crate::health::Health;
use crate::name::{DomainName, GeoTag};
use crate::strategy::Strategy;
use crate::target::Targets;

/// The numbers of one Gslb. k8gb shows those of one host at random (F-30); these are sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Addresses of all host records together.
    pub healthy_records: usize,
    /// How many of this cluster's addresses are among them.
    pub healthy_local_records: usize,
    /// Hosts by their health here.
    pub hosts: ByHealth,
    /// The strategy in force; `None`: none was ever accepted.
    pub strategy: Option<StrategyFigures>,
    /// Addresses of each record, the `localtargets-` ones included.
    pub records: BTreeMap<DomainName, usize>,
}

/// What the hosts are answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrategyFigures {
    /// Value of `spec.strategy.type`.
    pub label: &'static str,
    /// Whether this cluster is the primary; only `failover` has one.
    pub primary: Option<bool>,
    /// Addresses of the host records by the health of the hosts here.
    pub targets: ByHealth,
}

/// A number for each health.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByHealth {
    /// For [`Health::Healthy`].
    pub healthy: usize,
    /// For [`Health::Unhealthy`].
    pub unhealthy: usize,
    /// For [`Health::NotFound`].
    pub not_found: usize,
}

impl ByHealth {
    /// Each health with its number.
    pub fn each(self) -> [(Health, usize); 3] {
        [
            (Health::Healthy, self.healthy),
            (Health::Unhealthy, self.unhealthy),
            (Health::NotFound, self.not_found),
        ]
    }

    fn add(&mut self, health: Health, number: usize) {
        let slot = match health {
            Health::Healthy => &mut self.healthy,
            Health::Unhealthy => &mut self.unhealthy,
            Health::NotFound => &mut self.not_found,
        };
        *slot += number;
    }
}

impl Figures {
    /// Counts what a pass of the cluster `own`, whose application has the addresses `exposed`, wants published.
    pub fn of(publication: &Publication, own: &GeoTag, exposed: &Targets) -> Self {
        let mut hosts = ByHealth::default();
        let mut targets = ByHealth::default();
        for host in &publication.hosts {
            hosts.add(host.health, 1);
            targets.add(host.health, host.targets.len());
        }
        let answered: Targets = publication.hosts.iter().flat_map(|host| &host.targets).copied().collect();
        let strategy = publication.accepted.as_ref().map(|accepted| StrategyFigures {
            label: accepted.strategy.label(),
            primary: match &accepted.strategy {
                Strategy::Failover { primary } => Some(primary.as_ref() == Some(own)),
                Strategy::RoundRobin { .. } | Strategy::GeoIp => None,
            },
            targets,
        });
        let records = publication.endpoints.iter();
        Self {
            healthy_records: publication.hosts.iter().map(|host| host.targets.len()).sum(),
            healthy_local_records: exposed.intersection(&answered).count(),
            hosts,
            strategy,
            records: records.map(|record| (record.owner_name.clone(), record.targets.len())).collect(),
        }
    }
}
