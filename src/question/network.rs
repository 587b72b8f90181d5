//! The real network: one socket per query, so that every query has a port of its own to guess.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use async_trait::async_trait;
use gslb_core::reply::NoWord;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, UdpSocket};
use tokio::time::{Instant, timeout_at};

use super::transport::{Attempt, Heard, Protocol, Query, Transport};
use super::wire::{self, Arrival, Sent};

/// Room for a datagram. More than we announce, because some servers send more than asked for.
const DATAGRAM: usize = 4096;

/// Sockets of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Network {
    source: Option<IpAddr>,
}

impl Network {
    /// Asks from `source`, where it is given and of the server's family; else the system picks the address.
    pub fn from_source(source: Option<IpAddr>) -> Self {
        Self { source }
    }

    /// Port 0: the system picks a random one.
    fn source_for(self, server: SocketAddr) -> SocketAddr {
        let any = match server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let source = self.source.filter(|source| source.is_ipv4() == server.is_ipv4());
        SocketAddr::new(source.unwrap_or(any), 0)
    }
}

#[async_trait]
impl Transport for Network {
    async fn exchange(&self, server: SocketAddr, attempt: Attempt, query: &Query) -> Result<Heard, NoWord> {
        let sent = wire::encode(query).ok_or(NoWord::Malformed)?;
        let deadline = Instant::now() + attempt.deadline;
        match attempt.protocol {
            Protocol::Udp => over_udp(self.source_for(server), server, &sent, deadline).await,
            Protocol::Tcp => {
                match timeout_at(deadline, over_tcp(self.source_for(server), server, &sent)).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(NoWord::Timeout),
                }
            }
        }
    }
}

/// Listens until the right reply or the deadline: a forged or late datagram must not end the wait.
async fn over_udp(
    source: SocketAddr,
    server: SocketAddr,
    sent: &Sent,
    deadline: Instant,
) -> Result<Heard, NoWord> {
    let socket = open_udp(source, server, sent).await.map_err(|error| network(&error))?;
    let mut buffer = vec![0; DATAGRAM];
    let mut silence = NoWord::Timeout;
    loop {
        let Ok(received) = timeout_at(deadline, socket.recv(&mut buffer)).await else {
            return Err(silence);
        };
        let length = received.map_err(|error| network(&error))?;
        match sent.match_reply(buffer.get(..length).unwrap_or_default()) {
            Arrival::Reply(heard) => return Ok(heard),
            Arrival::Stranger => {}
            Arrival::Garbage => silence = NoWord::Malformed,
        }
    }
}

/// The socket is connected: the kernel drops what comes from elsewhere, and
/// tells of a port where nobody listens.
async fn open_udp(source: SocketAddr, server: SocketAddr, sent: &Sent) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(source).await?;
    socket.connect(server).await?;
    socket.send(&sent.octets).await?;
    Ok(socket)
}

async fn over_tcp(source: SocketAddr, server: SocketAddr, sent: &Sent) -> Result<Heard, NoWord> {
    let octets = transfer(source, server, sent).await.map_err(|error| network(&error))?;
    match sent.match_reply(&octets) {
        Arrival::Reply(heard) => Ok(heard),
        Arrival::Stranger | Arrival::Garbage => Err(NoWord::Malformed),
    }
}

/// RFC 1035 §4.2.2: two octets of length before each message; both in one write (RFC 7766 §8).
async fn transfer(source: SocketAddr, server: SocketAddr, sent: &Sent) -> io::Result<Vec<u8>> {
    let length = u16::try_from(sent.octets.len()).map_err(io::Error::other)?;
    let mut stream = connect(source, server).await?;
    stream.write_all(&[&length.to_be_bytes()[..], &sent.octets].concat()).await?;
    let mut octets = vec![0; usize::from(stream.read_u16().await?)];
    stream.read_exact(&mut octets).await?;
    Ok(octets)
}

async fn connect(source: SocketAddr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = if server.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if !source.ip().is_unspecified() {
        socket.bind(source)?;
    }
    socket.connect(server).await
}

/// The kind of an error is stable, its text is not.
fn network(error: &io::Error) -> NoWord {
    NoWord::Network(error.kind().to_string())
}
