//! Host names, addresses and ports as they stand in settings.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use gslb_core::name::DomainName;

/// A host: an address or a name that the system's resolver knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name.
    Name(DomainName),
}

impl Host {
    /// Parses an IPv4 address or a host name without a final dot.
    pub(super) fn parse_v4(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        if text.is_empty() {
            return Err("the host is empty".to_owned());
        }
        if text.contains([':', '[']) {
            return Err("IPv6 addresses are not supported here".to_owned());
        }
        if text.ends_with('.') {
            return Err("a host name has no dot at its end".to_owned());
        }
        let name = DomainName::parse(text).map_err(|problem| problem.to_string())?;
        // RFC 1123 §2.1: a name whose last label is a number is a mistyped address.
        let numeric =
            name.labels().next_back().is_some_and(|label| label.bytes().all(|b| b.is_ascii_digit()));
        if numeric || name.is_wildcard() {
            return Err("it is neither an IPv4 address nor a host name".to_owned());
        }
        Ok(Self::Name(name))
    }

    /// As [`Self::parse_v4`], and IPv6 addresses too.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) => Self::parse_v4(text),
        }
    }
}

/// As it stands in a URL: IPv6 addresses in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerAddress {
    /// Host.
    pub host: Host,
    /// Port, never 0 where a server is asked.
    pub port: u16,
}

impl ServerAddress {
    /// Parses `host`, `ipv4`, `host:port` or `ipv4:port`; port 0 only where `any_port` says so.
    pub(super) fn parse(text: &str, default_port: u16, any_port: bool) -> Result<Self, String> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host, parse_port(port)?),
            Some(_) => return Err("IPv6 addresses are not supported here".to_owned()),
            None => (text, default_port),
        };
        if port == 0 && !any_port {
            return Err("port 0 is not between 1 and 65535".to_owned());
        }
        Ok(Self { host: Host::parse_v4(host)?, port })
    }

    /// The socket address, if the host is an address.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        match self.host {
            Host::Address(address) => Some(SocketAddr::new(address, self.port)),
            Host::Name(_) => None,
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("port {text:?} is not a number between 1 and 65535"))
}
