//! Carries datagrams and streams between the public sockets and what listens behind them, as far as the gate lets.
//!
//! What may not pass is met with silence, as on a broken link, not with a refusal.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::task::JoinSet;

use super::gate::{End, Gate};
use super::loopback::Pair;

/// DNS over UDP has no longer messages.
const DATAGRAM: usize = 65_535;
/// Questions that may be open at once; an older one is forgotten.
const OPEN_QUESTIONS: usize = 4096;
/// How long a cut stream stays silent before it is closed. Clients give up earlier; no outside reference.
const SILENCE: Duration = Duration::from_secs(60);
/// Pause after a socket error, so that one that persists does not eat the processor.
const PAUSE: Duration = Duration::from_millis(20);

/// Relays DNS to a private server for as long as the tasks live.
pub(super) fn dns(tasks: &mut JoinSet<()>, gate: &Arc<Gate>, public: Pair, to: End, private: SocketAddr) {
    let way = Way { gate: Arc::clone(gate), to, private, source: None };
    tasks.spawn(datagrams(way.clone(), public.udp));
    tasks.spawn(streams(way, public.tcp, End::of));
}

/// Relays one site's connections to the grid, which sees them come from the site's address.
pub(super) fn wapi(
    tasks: &mut JoinSet<()>,
    gate: &Arc<Gate>,
    public: TcpListener,
    from: (End, Ipv4Addr),
    private: SocketAddr,
) {
    let (end, source) = from;
    let way = Way { gate: Arc::clone(gate), to: End::Parent, private, source: Some(source) };
    tasks.spawn(streams(way, public, move |_| end));
}

#[derive(Debug, Clone)]
struct Way {
    gate: Arc<Gate>,
    to: End,
    private: SocketAddr,
    /// The address that the private server sees.
    source: Option<Ipv4Addr>,
}

/// All questions go out of one socket, under ids of our own: no socket and no timer per question.
async fn datagrams(way: Way, public: UdpSocket) {
    let Ok(behind) = connected(way.private).await else {
        tracing::error!(server = %way.private, "No socket to the DNS server behind the relay.");
        return;
    };
    let questions = Mutex::new(Questions::default());
    let lock = || questions.lock().unwrap_or_else(PoisonError::into_inner);
    let asking = async {
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let Ok((length, asker)) = public.recv_from(&mut buffer).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if way.gate.is_open(End::of(asker.ip()), way.to)
                && let Some(message) = buffer.get_mut(..length)
                && lock().send(message, asker)
            {
                // Nobody listens there at the moment: then the question is lost, as on any network.
                behind.send(message).await.ok();
            }
        }
    };
    let answering = async {
        let mut buffer = vec![0; DATAGRAM];
        loop {
            let Ok(length) = behind.recv(&mut buffer).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Some(message) = buffer.get_mut(..length) else { continue };
            let asker = lock().take(message);
            if let Some(asker) = asker.filter(|asker| way.gate.is_open(End::of(asker.ip()), way.to)) {
                public.send_to(message, asker).await.ok();
            }
        }
    };
    tokio::join!(asking, answering);
}

async fn connected(private: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((private.ip(), 0)).await?;
    socket.connect(private).await?;
    Ok(socket)
}

/// Who asked what is open: the place in the ring follows from our id.
#[derive(Debug)]
struct Questions {
    next: u16,
    open: Vec<Option<Question>>,
}

#[derive(Debug, Clone)]
struct Question {
    asker: SocketAddr,
    /// The asker's id.
    id: [u8; 2],
    /// Ours.
    sent_as: [u8; 2],
}

impl Default for Questions {
    fn default() -> Self {
        Self { next: 0, open: vec![None; OPEN_QUESTIONS] }
    }
}

impl Questions {
    /// Gives the message our id; `false` if it is too short to have one.
    fn send(&mut self, message: &mut [u8], asker: SocketAddr) -> bool {
        let Some(id) = message.first_chunk_mut::<2>() else { return false };
        self.next = self.next.wrapping_add(1);
        let sent_as = self.next.to_be_bytes();
        let question = Question { asker, id: *id, sent_as };
        *id = sent_as;
        if let Some(place) = self.open.get_mut(usize::from(self.next) % OPEN_QUESTIONS) {
            *place = Some(question);
        }
        true
    }

    /// Gives the message its asker's id back.
    fn take(&mut self, message: &mut [u8]) -> Option<SocketAddr> {
        let id = message.first_chunk_mut::<2>()?;
        let place = self.open.get_mut(usize::from(u16::from_be_bytes(*id)) % OPEN_QUESTIONS)?;
        let question = place.take_if(|question| question.sent_as == *id)?;
        *id = question.id;
        Some(question.asker)
    }
}

async fn streams(way: Way, public: TcpListener, from: impl Fn(std::net::IpAddr) -> End) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = public.accept() => match accepted {
                Ok((stream, peer)) => drop(open.spawn(stream_through(way.clone(), stream, from(peer.ip())))),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
            Some(_) = open.join_next() => {}
        }
    }
}

async fn stream_through(way: Way, mut client: TcpStream, from: End) {
    let carried = async {
        let mut server = way.connect().await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
    };
    tokio::select! {
        biased;
        () = way.gate.until(from, way.to, false) => {}
        // However a connection ends, both ends learn it by its closing.
        _ended = carried => return,
    }
    let opened = way.gate.until(from, way.to, true);
    // Whether it opens or not, the connection is of no use any more.
    tokio::time::timeout(SILENCE, opened).await.ok();
}

impl Way {
    async fn connect(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        if let Some(source) = self.source {
            socket.bind(SocketAddr::from((source, 0)))?;
        }
        socket.connect(self.private).await
    }
}

#[cfg(test)]
mod tests {
    use super::super::topology::Site;
    use super::*;

    const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;

    #[test]
    fn two_askers_with_one_id_get_their_own_answers() {
        let mut questions = Questions::default();
        let askers: [SocketAddr; 2] = ["127.0.0.1:1000".parse().unwrap(), "127.0.0.1:2000".parse().unwrap()];
        let mut messages = [[7, 7, 1], [7, 7, 2]];
        for (message, asker) in messages.iter_mut().zip(askers) {
            assert!(questions.send(message, asker));
        }
        assert_ne!(messages[0][..2], messages[1][..2]);
        for (message, asker) in messages.iter_mut().zip(askers).rev() {
            assert_eq!(questions.take(message), Some(asker));
            assert_eq!(message[..2], [7, 7]);
        }
        assert_eq!(questions.take(&mut [7, 7, 1]), None, "an answer that nobody asked for is dropped");
    }

    #[tokio::test]
    async fn an_isolated_site_meets_silence_and_is_heard_again_after_it_rejoined() {
        let behind = UdpSocket::bind((LOCAL, 0)).await.unwrap();
        let public = Pair {
            udp: UdpSocket::bind((LOCAL, 0)).await.unwrap(),
            tcp: TcpListener::bind((LOCAL, 0)).await.unwrap(),
        };
        let at = public.udp.local_addr().unwrap();
        let gate = Arc::new(Gate::default());
        let mut tasks = JoinSet::new();
        dns(&mut tasks, &gate, public, End::Parent, behind.local_addr().unwrap());
        let eu = UdpSocket::bind((Site::Eu.dns(), 0)).await.unwrap();

        gate.isolate(Site::Eu);
        eu.send_to(b"lost", at).await.unwrap();
        // Datagrams of one sender to one socket keep their order, so the first to arrive tells.
        tokio::task::yield_now().await;
        let outside = UdpSocket::bind((LOCAL, 0)).await.unwrap();
        outside.send_to(b"xxfrom outside", at).await.unwrap();
        let mut buffer = [0; 64];
        let (length, _) = behind.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[2..length], b"from outside");

        gate.rejoin(Site::Eu);
        eu.send_to(b"xxhello", at).await.unwrap();
        let (length, relay) = behind.recv_from(&mut buffer).await.unwrap();
        assert_eq!(&buffer[2..length], b"hello");
        behind.send_to(&buffer[..length], relay).await.unwrap();
        let length = eu.recv(&mut buffer).await.unwrap();
        assert_eq!(&buffer[..length], b"xxhello");
    }
}
