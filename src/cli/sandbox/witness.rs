//! Asks the DNS servers what they answer, as a user of `dig` would: from outside.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use gslb_core::name::DomainName;
use gslb_core::reply::Reply;
use serde_json::{Value, json};

use super::topology::{HOST, Ports, Site, ZONE, name};
use crate::question::{Attempt, Client, Network, Options, Protocol, Question};

/// One short try: everything is on this machine.
const ONCE: Options = Options {
    attempts: &[Attempt { protocol: Protocol::Udp, deadline: Duration::from_millis(500) }],
    recursion: false,
};

/// What a cluster answers for the sample's host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// These addresses.
    Addresses(BTreeSet<Ipv4Addr>),
    /// The name exists and has no address.
    NoData,
    /// There is no such name.
    NxDomain,
    /// No answer, and why.
    Silence(String),
}

impl Answer {
    /// Whether it is exactly the targets of these sites.
    pub(super) fn is_from(&self, sites: &BTreeSet<Site>) -> bool {
        match self {
            Self::Addresses(addresses) => *addresses == sites.iter().map(|site| site.target()).collect(),
            Self::NoData => sites.is_empty(),
            Self::NxDomain | Self::Silence(_) => false,
        }
    }

    /// For programs.
    pub(super) fn data(&self) -> Value {
        match self {
            Self::Addresses(addresses) => json!({"host": HOST, "addresses": addresses}),
            Self::NoData | Self::NxDomain | Self::Silence(_) => {
                json!({"host": HOST, "addresses": [], "reason": self.to_string()})
            }
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses(addresses) => {
                let shown: Vec<String> = addresses.iter().map(|address| shown(*address)).collect();
                f.write_str(&shown.join(" "))
            }
            Self::NoData => f.write_str("no address (NODATA)"),
            Self::NxDomain => f.write_str("no such name (NXDOMAIN)"),
            Self::Silence(why) => f.write_str(why),
        }
    }
}

/// An address with the site that it belongs to.
fn shown(address: Ipv4Addr) -> String {
    Site::of(address.into()).map_or_else(|| address.to_string(), |site| format!("{address} ({site})"))
}

/// Asks from outside.
#[derive(Clone)]
pub(super) struct Witness {
    client: Client,
    ports: Ports,
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness").field("ports", &self.ports).finish_non_exhaustive()
    }
}

impl Witness {
    pub(super) fn new(ports: Ports) -> Self {
        Self { client: Client::new(Network::default(), []), ports }
    }

    /// What a cluster's DNS answers for the sample's host.
    pub(super) async fn answer_of(&self, site: Site) -> Answer {
        self.answer_at(self.ports.dns_of(site)).await
    }

    /// What the grid's own DNS answers for it.
    pub(super) async fn answer_of_parent(&self) -> Answer {
        self.answer_at(self.ports.parent_dns()).await
    }

    async fn answer_at(&self, server: SocketAddr) -> Answer {
        let question = Question::addresses(name(HOST));
        match self.client.ask(server, &question, &ONCE).await {
            Reply::Positive { addresses, .. } => Answer::Addresses(addresses),
            Reply::Negative { name_exists: true, .. } => Answer::NoData,
            Reply::Negative { name_exists: false, .. } => Answer::NxDomain,
            Reply::NoWord(why) => Answer::Silence(why.to_string()),
        }
    }

    /// The sites whose name server and address the parent's DNS gives in its referral.
    pub(super) async fn referred(&self) -> BTreeSet<Site> {
        let referral = self.client.ask_name_servers(self.ports.parent_dns(), &name(ZONE), &ONCE).await;
        let Ok(referral) = referral else { return BTreeSet::new() };
        let mut sites = BTreeSet::new();
        for site in Site::ALL {
            let server = site.name_server();
            let addresses = match referral.glue.get(&server) {
                Some(addresses) => addresses.clone(),
                // Not every server sends addresses of names beside the cut along.
                None if referral.name_servers.contains(&server) => self.addresses_of(&server).await,
                None => continue,
            };
            if addresses.contains(&site.dns()) {
                sites.insert(site);
            }
        }
        sites
    }

    async fn addresses_of(&self, server: &DomainName) -> BTreeSet<Ipv4Addr> {
        let question = Question::addresses(server.clone());
        match self.client.ask(self.ports.parent_dns(), &question, &ONCE).await {
            Reply::Positive { addresses, .. } => addresses,
            Reply::Negative { .. } | Reply::NoWord(_) => BTreeSet::new(),
        }
    }
}
