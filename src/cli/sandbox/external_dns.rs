//! The parent zone at a server with dynamic updates, and two external-dns in each cluster, as docs/external-dns.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use gslb_mocks::external_dns::{Instance, ParentZone, Policy, Rules, Write};
use gslb_mocks::{DnsServer, DnsSockets};
use tokio::task::JoinSet;

use super::cluster::Cluster;
use super::gate::{End, Gate};
use super::topology::{PARENT, PARENT_ZONE, Site, ZONE};

/// `--txt-owner-id` of the name servers, and the first part of those of glue.
const FLEET: &str = "fleet";
/// `--txt-prefix`, the same everywhere.
pub(super) const PREFIX: &str = "external-dns-";
/// `--interval`: external-dns itself waits a minute; here people wait too.
const INTERVAL: Duration = Duration::from_secs(2);

/// All of them with the zone that they update, until this is dropped.
#[derive(Debug)]
pub(super) struct ExternalDns {
    zone: ParentZone,
    dns: DnsServer,
    instances: BTreeMap<Site, [Instance; 2]>,
    gate: Arc<Gate>,
    /// Of those that run.
    tasks: Mutex<BTreeMap<Site, JoinSet<()>>>,
}

impl ExternalDns {
    /// Starts the zone, with DNS on a port that only the relay knows, and every external-dns.
    ///
    /// # Errors
    /// No port is free.
    pub(super) async fn start(clusters: &BTreeMap<Site, Cluster>, gate: &Arc<Gate>) -> anyhow::Result<Self> {
        let zone = ParentZone::new(PARENT_ZONE, &format!("ns.{PARENT_ZONE}"), PARENT);
        let sockets = DnsSockets::bind((PARENT, 0).into()).await.context("the parent's DNS cannot listen")?;
        let instances = clusters.iter().map(|(site, cluster)| (*site, pair(*site, cluster, &zone)));
        let this = Self {
            dns: zone.serve_dns(sockets),
            instances: instances.collect(),
            zone,
            gate: Arc::clone(gate),
            tasks: Mutex::default(),
        };
        Site::ALL.into_iter().for_each(|site| this.run(site));
        Ok(this)
    }

    /// Where the zone's DNS really listens.
    pub(super) fn dns(&self) -> Option<SocketAddr> {
        self.dns.address()
    }

    /// Starts both of a site, if they do not run.
    pub(super) fn run(&self, site: Site) {
        let start = || {
            let mut tasks = JoinSet::new();
            for instance in self.instances.get(&site).into_iter().flatten() {
                let gate = Arc::clone(&self.gate);
                let reaches_zone = move || gate.is_open(End::Site(site), End::Parent);
                tasks.spawn(instance.clone().run(INTERVAL, reaches_zone));
            }
            tasks
        };
        self.tasks().entry(site).or_insert_with(start);
    }

    /// Ends both of a site.
    pub(super) fn stop(&self, site: Site) {
        drop(self.tasks().remove(&site));
    }

    /// The zone's delegation: names of servers with their addresses. A server without one has an empty one.
    pub(super) fn stored(&self) -> Vec<(String, String)> {
        let records = self.zone.records();
        let data = |name: &str, rtype: &str| -> BTreeSet<String> {
            records.get(&(name.to_owned(), rtype.to_owned())).map(|set| set.data.clone()).unwrap_or_default()
        };
        let mut stored = Vec::new();
        for name in data(ZONE, "NS") {
            let addresses = data(&name, "A");
            if addresses.is_empty() {
                stored.push((name.clone(), String::new()));
            }
            stored.extend(addresses.into_iter().map(|address| (name.clone(), address)));
        }
        stored
    }

    /// What was written at the zone after the first `seen` writes.
    pub(super) fn writes_after(&self, seen: usize) -> Vec<Write> {
        self.zone.writes_after(seen)
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<Site, JoinSet<()>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pair(site: Site, cluster: &Cluster, zone: &ParentZone) -> [Instance; 2] {
    let instance = |name: &str, rtype: &str, owner: String, policy| {
        let rules = Rules {
            owner,
            prefix: PREFIX.to_owned(),
            managed: [rtype.to_owned()].into(),
            policy,
            domain: PARENT_ZONE.to_owned(),
        };
        Instance::new(&format!("{name} of {site}"), cluster.api(), zone.clone(), rules)
    };
    [
        instance("external-dns for name servers", "NS", FLEET.to_owned(), Policy::UpsertOnly),
        instance("external-dns for glue", "A", format!("{FLEET}-{site}"), Policy::Sync),
    ]
}
