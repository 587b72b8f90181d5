//! A DNS server on a loopback port that answers as a script says.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::rdata::{A, CNAME};
use hickory_proto::rr::{Name, RData, Record};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use crate::question::Protocol;

/// What the server does with one question, in order.
pub(super) enum Act {
    /// Sends octets back.
    Send(Vec<u8>),
    /// Sends octets back from another port.
    SendFromElsewhere(Vec<u8>),
    /// Keeps a TCP connection open without a word.
    Hang,
}

/// One question that arrived.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) query: Message,
    pub(super) protocol: Protocol,
    pub(super) from: SocketAddr,
}

impl Seen {
    pub(super) fn name(&self) -> &Name {
        self.query.queries[0].name()
    }
}

type Script = dyn Fn(&Seen) -> Vec<Act> + Send + Sync;

/// Ends with its value.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(script: impl Fn(&Seen) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let (udp, tcp) = same_port().await;
        let script: Arc<Script> = Arc::new(script);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let address = udp.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_udp(udp, Arc::clone(&script), Arc::clone(&seen)));
        tasks.spawn(serve_tcp(tcp, script, Arc::clone(&seen)));
        Self { address, seen, _tasks: tasks }
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn protocols(&self) -> Vec<Protocol> {
        self.seen().iter().map(|seen| seen.protocol).collect()
    }
}

async fn same_port() -> (UdpSocket, TcpListener) {
    loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
}

async fn serve_udp(socket: UdpSocket, script: Arc<Script>, log: Arc<Mutex<Vec<Seen>>>) {
    let elsewhere = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut buffer = [0; 512];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        let query = Message::from_vec(&buffer[..length]).unwrap();
        let seen = Seen { query, protocol: Protocol::Udp, from };
        log.lock().unwrap().push(seen.clone());
        for act in script(&seen) {
            match act {
                Act::Send(octets) => socket.send_to(&octets, from).await.unwrap(),
                Act::SendFromElsewhere(octets) => elsewhere.send_to(&octets, from).await.unwrap(),
                Act::Hang => 0,
            };
        }
    }
}

async fn serve_tcp(listener: TcpListener, script: Arc<Script>, log: Arc<Mutex<Vec<Seen>>>) {
    let mut silent = Vec::new();
    loop {
        let (mut stream, from) = listener.accept().await.unwrap();
        let query = read_frame(&mut stream).await;
        let seen = Seen { query, protocol: Protocol::Tcp, from };
        log.lock().unwrap().push(seen.clone());
        for act in script(&seen) {
            match act {
                Act::Send(octets) | Act::SendFromElsewhere(octets) => {
                    stream.write_u16(octets.len().try_into().unwrap()).await.unwrap();
                    stream.write_all(&octets).await.unwrap();
                }
                Act::Hang => {
                    silent.push(stream);
                    break;
                }
            }
        }
    }
}

async fn read_frame(stream: &mut TcpStream) -> Message {
    let mut octets = vec![0; stream.read_u16().await.unwrap().into()];
    stream.read_exact(&mut octets).await.unwrap();
    Message::from_vec(&octets).unwrap()
}

/// The reply that a plain server would start with.
pub(super) fn reply(seen: &Seen) -> Message {
    let mut message = seen.query.clone();
    message.metadata.message_type = MessageType::Response;
    message.edns = None;
    message
}

/// A reply with one address at each owner.
pub(super) fn with_addresses(seen: &Seen, records: &[(&str, &str)]) -> Message {
    let mut message = reply(seen);
    for (owner, address) in records {
        message.add_answer(record(owner, RData::A(A(address.parse().unwrap()))));
    }
    message
}

/// A reply with one CNAME at each owner.
pub(super) fn with_cnames(seen: &Seen, records: &[(&str, &str)]) -> Message {
    let mut message = reply(seen);
    for (owner, target) in records {
        message.add_answer(record(owner, RData::CNAME(CNAME(Name::from_ascii(target).unwrap()))));
    }
    message
}

/// A reply with one CNAME to any sequence of octets.
pub(super) fn with_cname(seen: &Seen, owner: &str, target: Name) -> Message {
    let mut message = reply(seen);
    message.add_answer(record(owner, RData::CNAME(CNAME(target))));
    message
}

/// An empty reply with a response code.
pub(super) fn with_rcode(seen: &Seen, code: u16) -> Message {
    let mut message = reply(seen);
    message.metadata.response_code = code.into();
    message
}

fn record(owner: &str, data: RData) -> Record {
    Record::from_rdata(Name::from_ascii(owner).unwrap(), 30, data)
}

pub(super) fn send(message: &Message) -> Act {
    Act::Send(message.to_vec().unwrap())
}
