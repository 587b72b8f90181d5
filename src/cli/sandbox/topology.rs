//! Who is who on the loopback: three sites, one parent, and how they find each other.
//!
//! Glue carries no port, so all DNS servers share one. Each site has its own addresses, and asks from one of
//! them, so that whoever receives a question knows the site that asks: isolation needs no root.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::ValueEnum;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use serde::{Deserialize, Serialize};

/// The zone that the sites serve.
pub(super) const ZONE: &str = "cloud.example.com";
/// Its parent, which the grid serves.
pub(super) const PARENT_ZONE: &str = "example.com";
/// The host of the sample application.
pub(super) const HOST: &str = "app.cloud.example.com";
/// Where the sample application lives in each cluster.
pub(super) const NAMESPACE: &str = "demo";
/// Where the daemon lives in each cluster.
pub(super) const OWN_NAMESPACE: &str = "gslb-bridge";
/// Negative TTL of the zone, in seconds.
pub(super) const NEGATIVE_TTL: u32 = 30;
/// The grid if there is one, and the parent's DNS.
pub(super) const PARENT: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// What takes the zone to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Provider {
    /// The clusters write at an Infoblox grid, which serves the parent zone.
    #[default]
    Infoblox,
    /// The clusters keep DNSEndpoints, which their external-dns take to a server with dynamic updates.
    ExternalDns,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Infoblox => "infoblox",
            Self::ExternalDns => "external-dns",
        })
    }
}

/// How the zone gets to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Mode {
    /// The parent refers to the clusters' DNS servers.
    #[default]
    Delegation,
    /// The grid answers the host itself, with records that the clusters keep there.
    Records,
}

/// One simulated cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Site {
    /// 127.0.1.x
    Eu,
    /// 127.0.2.x
    Us,
    /// 127.0.3.x
    Za,
}

impl Site {
    pub(super) const ALL: [Self; 3] = [Self::Eu, Self::Us, Self::Za];

    /// The geo tag, which is also the context in the kubeconfig.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Eu => "eu",
            Self::Us => "us",
            Self::Za => "za",
        }
    }

    fn net(self) -> u8 {
        match self {
            Self::Eu => 1,
            Self::Us => 2,
            Self::Za => 3,
        }
    }

    /// Its DNS server, and the source of everything that it sends to others.
    pub(super) fn dns(self) -> Ipv4Addr {
        Ipv4Addr::new(127, 0, self.net(), 53)
    }

    /// Its sample application: the target of the Ingress.
    pub(super) fn target(self) -> Ipv4Addr {
        Ipv4Addr::new(127, 0, self.net(), 80)
    }

    /// The site that an address belongs to.
    pub(super) fn of(address: IpAddr) -> Option<Self> {
        Self::ALL.into_iter().find(|site| address == site.dns() || address == site.target())
    }

    /// The sites that stand in a delegation with exactly their address; it is given as names of servers with addresses.
    pub(super) fn in_delegation(stored: &[(String, String)]) -> Vec<Self> {
        let stands = |site: &Self| {
            let (name, address) = (site.name_server().to_string(), site.dns().to_string());
            stored.iter().any(|entry| (&entry.0, &entry.1) == (&name, &address))
        };
        Self::ALL.into_iter().filter(stands).collect()
    }

    /// The name of its server in the parent zone (contract §4.1).
    pub(super) fn name_server(self) -> DomainName {
        let tag = GeoTag::parse(self.tag()).expect("the sandbox's tags are tags");
        zone().ns_name(&NsPrefix::new("gslb-ns-"), &tag).expect("the sandbox's names are short")
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// The zone with its parent.
fn zone() -> Zone {
    let ttl = Ttl::from_secs(i64::from(NEGATIVE_TTL)).expect("a small TTL");
    Zone::new(name(ZONE), name(PARENT_ZONE), ttl).expect("the zone is below its parent")
}

/// One of the sandbox's own names.
pub(super) fn name(text: &str) -> DomainName {
    DomainName::parse(text).expect("the sandbox's names are names")
}

/// The ports, all found free at start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ports {
    /// Of all DNS servers, the parent's too.
    pub(super) dns: u16,
    /// Of each site's own way to the grid, on the grid's address: all sites know the grid by one name, and the way
    /// still tells them apart. Empty if there is no grid.
    pub(super) wapi: BTreeMap<Site, u16>,
    /// Of the sample applications.
    pub(super) application: u16,
    /// Those that no other site knows.
    pub(super) private: BTreeMap<Site, PrivatePorts>,
}

/// Ports on a site's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PrivatePorts {
    /// The DNS server behind the relay.
    pub(super) dns: u16,
    /// Pages of the controller.
    pub(super) controller_pages: u16,
    /// Pages of the DNS server.
    pub(super) dns_pages: u16,
}

impl Ports {
    /// Where everybody asks a site's DNS.
    pub(super) fn dns_of(&self, site: Site) -> SocketAddr {
        SocketAddr::from((site.dns(), self.dns))
    }

    /// The parent's DNS.
    pub(super) fn parent_dns(&self) -> SocketAddr {
        SocketAddr::from((PARENT, self.dns))
    }

    /// The controller's metrics.
    pub(super) fn metrics_of(&self, site: Site) -> String {
        format!("http://{}:{}/metrics", site.dns(), self.private_of(site).controller_pages)
    }

    /// A site's application, for a browser.
    pub(super) fn application_of(&self, site: Site) -> String {
        match self.application {
            80 => format!("http://{}/", site.target()),
            port => format!("http://{}:{port}/", site.target()),
        }
    }

    /// The port at which a site's daemons find the grid.
    pub(super) fn wapi_of(&self, site: Site) -> u16 {
        *self.wapi.get(&site).expect("every site has its way to the grid")
    }

    pub(super) fn private_of(&self, site: Site) -> PrivatePorts {
        *self.private.get(&site).expect("every site has its ports")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_site() {
        assert_eq!(Site::of("127.0.2.53".parse().unwrap()), Some(Site::Us));
        assert_eq!(Site::of("127.0.3.80".parse().unwrap()), Some(Site::Za));
        assert_eq!(Site::of("127.0.0.1".parse().unwrap()), None);
    }

    #[test]
    fn name_servers_are_named_as_the_contract_says() {
        assert_eq!(Site::Eu.name_server().to_string(), "gslb-ns-eu-cloud.example.com");
    }
}
