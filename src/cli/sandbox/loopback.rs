//! Finds free ports on the loopback, and says what is missing where its addresses are not local.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::Context;
use tokio::net::{TcpListener, UdpSocket};

use super::topology::{PARENT, Ports, PrivatePorts, Provider, Site};

/// Tries to find a port that is free on several addresses at once; one nearly always does.
const TRIES: usize = 64;
/// The port that browsers use without being told.
const HTTP: u16 = 80;

/// Both sockets of one DNS server.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) udp: UdpSocket,
    pub(super) tcp: TcpListener,
}

/// Everything that listens for others, already bound so that nobody takes it.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) parent_dns: Pair,
    pub(super) dns: BTreeMap<Site, Pair>,
    /// Nothing if there is no grid.
    pub(super) grid: Option<GridSockets>,
    pub(super) applications: BTreeMap<Site, TcpListener>,
}

/// Of a grid, all at its address.
#[derive(Debug)]
pub(super) struct GridSockets {
    /// Its own.
    pub(super) own: TcpListener,
    /// Each site's way to it.
    pub(super) ways: BTreeMap<Site, TcpListener>,
}

impl GridSockets {
    async fn bind() -> anyhow::Result<Self> {
        let own = one(PARENT).await.context("no port is free for the grid")?;
        let mut ways = BTreeMap::new();
        for site in Site::ALL {
            ways.insert(site, one(PARENT).await.context("no port is free for a way to the grid")?);
        }
        Ok(Self { own, ways })
    }

    fn ports(&self) -> io::Result<BTreeMap<Site, u16>> {
        self.ways.iter().map(|(site, way)| Ok((*site, way.local_addr()?.port()))).collect()
    }
}

/// Binds everything; `dns_port` 0 picks a free one.
///
/// # Errors
/// An address is not local, or the wanted port is taken or privileged.
pub(super) async fn bind(dns_port: u16, provider: Provider) -> anyhow::Result<(Ports, Sockets)> {
    let servers: Vec<Ipv4Addr> = Site::ALL.map(Site::dns).into_iter().collect();
    let targets: Vec<Ipv4Addr> = Site::ALL.map(Site::target).into_iter().collect();
    check_local(servers.iter().chain(&targets)).await?;
    let everyone: Vec<Ipv4Addr> = [PARENT].into_iter().chain(servers.iter().copied()).collect();
    let mut pairs = shared(&everyone, dns_port, pair).await.with_context(|| match dns_port {
        0 => "no port is free for DNS on all addresses".to_owned(),
        port => format!("port {port} cannot be used for DNS on {}", listed(&everyone)),
    })?;
    let grid = match provider {
        Provider::Infoblox => Some(GridSockets::bind().await?),
        Provider::ExternalDns => None,
    };
    let applications = match shared(&targets, HTTP, listener).await {
        Ok(listeners) => listeners,
        // Privileged, or taken by another sandbox.
        Err(_) => shared(&targets, 0, listener).await.context("no port is free for the applications")?,
    };
    let parent_dns = pairs.remove(0);
    let mut private = BTreeMap::new();
    for site in Site::ALL {
        private.insert(site, private_ports(site).await.context("no port is free for a site")?);
    }
    let ports = Ports {
        dns: parent_dns.tcp.local_addr()?.port(),
        wapi: grid.as_ref().map(GridSockets::ports).transpose()?.unwrap_or_default(),
        application: applications.first().map_or(Ok(HTTP), |first| first.local_addr().map(|a| a.port()))?,
        private,
    };
    let sockets = Sockets {
        parent_dns,
        dns: Site::ALL.into_iter().zip(pairs).collect(),
        grid,
        applications: Site::ALL.into_iter().zip(applications).collect(),
    };
    Ok((ports, sockets))
}

/// One port on all addresses; what is bound stays bound.
async fn shared<T, F>(addresses: &[Ipv4Addr], port: u16, bind: impl Fn(SocketAddr) -> F) -> io::Result<Vec<T>>
where
    F: Future<Output = io::Result<(T, u16)>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        let mut bound = Vec::new();
        let mut common = port;
        let mut failed = None;
        for address in addresses {
            match bind(SocketAddr::from((*address, common))).await {
                Ok((socket, taken)) => {
                    common = taken;
                    bound.push(socket);
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        match failed {
            None => return Ok(bound),
            Some(error) if port != 0 || tries == TRIES => return Err(error),
            Some(_) => {}
        }
    }
}

async fn one(address: Ipv4Addr) -> io::Result<TcpListener> {
    TcpListener::bind((address, 0)).await
}

async fn pair(address: SocketAddr) -> io::Result<(Pair, u16)> {
    let tcp = TcpListener::bind(address).await?;
    let taken = tcp.local_addr()?;
    let udp = UdpSocket::bind(taken).await?;
    Ok((Pair { udp, tcp }, taken.port()))
}

async fn listener(address: SocketAddr) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(address).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Ports for a site's processes. They are let go again: the processes bind them themselves.
async fn private_ports(site: Site) -> io::Result<PrivatePorts> {
    let address = [site.dns()];
    let free = || shared(&address, 0, pair);
    let (dns, controller, pages) = (free().await?, free().await?, free().await?);
    let port = |pairs: &[Pair]| pairs.first().map_or(Ok(0), |pair| pair.tcp.local_addr().map(|a| a.port()));
    Ok(PrivatePorts { dns: port(&dns)?, controller_pages: port(&controller)?, dns_pages: port(&pages)? })
}

async fn check_local(addresses: impl Iterator<Item = &Ipv4Addr>) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for address in addresses {
        match UdpSocket::bind((IpAddr::V4(*address), 0)).await {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => missing.push(*address),
            Err(error) => return Err(error).with_context(|| format!("{address} cannot be used")),
        }
    }
    anyhow::ensure!(missing.is_empty(), "{}", advice(&missing, cfg!(target_os = "macos")));
    Ok(())
}

/// What to type so that the addresses become local.
fn advice(missing: &[Ipv4Addr], bsd: bool) -> String {
    let command = |address: &Ipv4Addr| match bsd {
        true => format!("\n  sudo ifconfig lo0 alias {address} up"),
        false => format!("\n  sudo ip address add {address}/8 dev lo"),
    };
    let commands: String = missing.iter().map(command).collect();
    format!("not all addresses of 127.0.0.0/8 are local here; add these aliases and start again:{commands}")
}

fn listed(addresses: &[Ipv4Addr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_dns_servers_share_one_port() {
        let addresses = [Ipv4Addr::new(127, 0, 0, 1), Ipv4Addr::new(127, 0, 0, 2)];
        let pairs = shared(&addresses, 0, pair).await.unwrap();
        let ports: Vec<_> = pairs.iter().map(|pair| pair.udp.local_addr().unwrap().port()).collect();
        assert_eq!(ports[0], ports[1]);
        assert!(shared(&addresses, ports[0], pair).await.is_err(), "a wanted port that is taken is an error");
    }

    #[test]
    fn the_missing_alias_is_named() {
        let text = advice(&[Ipv4Addr::new(127, 0, 1, 53)], true);
        assert!(text.ends_with("\n  sudo ifconfig lo0 alias 127.0.1.53 up"), "{text}");
    }
}
