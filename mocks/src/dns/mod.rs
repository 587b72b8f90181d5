//! An authoritative DNS server for whatever a stand-in holds: what is served comes from a [`Source`].
//!
//! Reading order: `answer` (one question, one answer), then the sockets here.

mod answer;
pub(crate) mod name;

pub(crate) use answer::resolve;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{Name, Record, RecordType};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

/// How long a TCP connection may be idle; RFC 7766 §6.2.3 recommends seconds.
const TCP_IDLE: Duration = Duration::from_secs(10);
/// Tries to find a port that is free for UDP and TCP.
const PORT_TRIES: usize = 16;

/// A UDP and a TCP socket on one address and port.
#[derive(Debug)]
pub struct DnsSockets {
    udp: UdpSocket,
    tcp: TcpListener,
}

impl DnsSockets {
    /// Binds both sockets; port 0 finds one that is free for both.
    ///
    /// # Errors
    /// When the address is not local or the port is taken.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            let tcp = TcpListener::bind(address).await?;
            match UdpSocket::bind(tcp.local_addr()?).await {
                Ok(udp) => return Ok(Self { udp, tcp }),
                Err(_) if address.port() == 0 && tries < PORT_TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the sockets listen.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }
}

/// A running DNS server; dropping it ends it.
#[derive(Debug)]
pub struct DnsServer {
    address: Option<SocketAddr>,
    // Aborts the tasks when dropped.
    _tasks: JoinSet<()>,
}

impl DnsServer {
    /// Where the server listens; `None` only if the operating system did not say.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }
}

/// What a server answers from. Each question is answered from one state.
pub(crate) trait Source: Send + Sync {
    /// Fills in the answer for one name and type, by [`resolve`] over what is served now.
    fn resolve(&self, name: &Name, rtype: RecordType, response: &mut Message) -> ResponseCode;
}

/// The data of one moment. Names are in stored form.
pub(crate) trait Served {
    /// An authoritative zone, or a cut in one.
    type Zone: Copy;

    /// Where a zone or a cut lies.
    fn name(&self, zone: Self::Zone) -> &str;

    /// The closest authoritative zone of a name.
    fn apex(&self, name: &str) -> Option<Self::Zone>;

    /// The cut that a name is at or below: the highest one, where the zone ends.
    fn cut(&self, name: &str, apex: Self::Zone) -> Option<Self::Zone>;

    /// The NS records of a cut, one per name.
    fn ns_records(&self, cut: Self::Zone, apex: Self::Zone) -> Vec<Record>;

    /// Addresses that a referral carries along.
    fn glue(&self, cut: Self::Zone, apex: Self::Zone) -> Vec<Record>;

    /// All records at a name, but not below a cut.
    fn records_at(&self, name: &str, apex: Self::Zone) -> Vec<Record>;

    /// Whether anything lies at or below a name, so that it exists (RFC 8020).
    fn exists(&self, name: &str, apex: Self::Zone) -> bool;

    /// The zone's SOA, with the negative TTL of RFC 2308 §3 as its own.
    fn soa(&self, apex: Self::Zone) -> Record;
}

/// Starts answering. Needs a Tokio runtime.
pub(crate) fn serve(source: Arc<dyn Source>, sockets: DnsSockets) -> DnsServer {
    let address = sockets.address().ok();
    let mut tasks = JoinSet::new();
    tasks.spawn(serve_udp(Arc::clone(&source), sockets.udp));
    tasks.spawn(serve_tcp(source, sockets.tcp));
    DnsServer { address, _tasks: tasks }
}

async fn serve_udp(source: Arc<dyn Source>, socket: UdpSocket) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        // Errors here belong to single datagrams, such as an ICMP message for an earlier answer.
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some(reply) = answer::reply(&*source, &buffer[..length], answer::Transport::Udp) {
            socket.send_to(&reply, peer).await.ok();
        }
    }
}

async fn serve_tcp(source: Arc<dyn Source>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let source = Arc::clone(&source);
                    connections.spawn(async move { serve_connection(&*source, stream).await.unwrap_or_default() });
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// RFC 1035 §4.2.2: every message follows its length in two octets.
async fn serve_connection(source: &dyn Source, mut stream: TcpStream) -> io::Result<()> {
    loop {
        let length = tokio::time::timeout(TCP_IDLE, stream.read_u16()).await.map_err(io::Error::other)??;
        let mut message = vec![0; usize::from(length)];
        tokio::time::timeout(TCP_IDLE, stream.read_exact(&mut message)).await.map_err(io::Error::other)??;
        let Some(reply) = answer::reply(source, &message, answer::Transport::Tcp) else { return Ok(()) };
        let length = u16::try_from(reply.len()).map_err(io::Error::other)?;
        let framed = [&length.to_be_bytes()[..], &reply].concat();
        stream.write_all(&framed).await?;
    }
}
