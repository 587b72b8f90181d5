//! Sockets: where questions come in.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use arc_swap::ArcSwap;
use hickory_server::Server;
use socket2::{Domain, Protocol, Socket, Type};

use super::handler::Handler;
use super::metrics::Metrics;
use super::snapshot::Snapshot;

/// A silent TCP connection is closed after this time (RFC 7766 §6.2.3 leaves it to the server: "a few seconds").
const TCP_IDLE: Duration = Duration::from_secs(5);
/// Answers that may wait in one TCP connection until the client reads: beyond it, questions wait.
const TCP_ANSWERS: usize = 32;
/// With the default of 208 KiB, 55 ms of a burst of 5 000 questions a second fill the buffer.
const RECEIVE_BUFFER: usize = 4 << 20;
/// One socket per core, but a large machine gains nothing from more at our load.
const MAX_SOCKETS: usize = 4;
/// Attempts to find a port that is free for UDP and TCP when the kernel chooses it.
const PORT_ATTEMPTS: usize = 16;

/// A port that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen for DNS on {address} ({transport}); check that the address is local, the port is free and may be used by this user"
)]
pub struct BindError {
    address: SocketAddr,
    transport: &'static str,
    #[source]
    source: io::Error,
}

/// All sockets of one address.
#[derive(Debug)]
struct Bound {
    address: SocketAddr,
    udp: Vec<UdpSocket>,
    tcp: TcpListener,
}

/// Sockets that are bound, but not read yet.
#[derive(Debug)]
pub struct Listeners(Vec<Bound>);

impl Listeners {
    /// Binds every address for UDP and TCP. Each is bound on its own, so that an answer leaves from the address that
    /// was asked; with `0.0.0.0` the kernel chooses.
    ///
    /// # Errors
    /// Names the address that cannot be used.
    pub fn bind(addresses: &[SocketAddr]) -> Result<Self, BindError> {
        addresses.iter().map(|address| bind(*address)).collect::<Result<_, _>>().map(Self)
    }

    /// The addresses, with the port that the kernel chose where 0 was asked for.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|bound| bound.address).collect()
    }

    /// Starts answering from `snapshot`.
    ///
    /// # Errors
    /// The runtime does not accept a socket.
    pub fn serve(self, snapshot: Arc<ArcSwap<Snapshot>>, metrics: Metrics) -> io::Result<Server<Handler>> {
        let mut server = Server::new(Handler::new(snapshot, metrics));
        for bound in self.0 {
            for udp in bound.udp {
                server.register_socket(tokio::net::UdpSocket::from_std(udp)?);
            }
            let tcp = tokio::net::TcpListener::from_std(bound.tcp)?;
            server.register_listener(tcp, TCP_IDLE, TCP_ANSWERS);
        }
        Ok(server)
    }
}

fn bind(address: SocketAddr) -> Result<Bound, BindError> {
    let mut attempts = if address.port() == 0 { PORT_ATTEMPTS } else { 1 };
    loop {
        attempts -= 1;
        match bind_once(address) {
            Err(error) if attempts == 0 => return Err(error),
            Err(_) => {}
            Ok(bound) => return Ok(bound),
        }
    }
}

fn bind_once(wanted: SocketAddr) -> Result<Bound, BindError> {
    let udp_error = |source| BindError { address: wanted, transport: "UDP", source };
    let tcp_error = |source| BindError { address: wanted, transport: "TCP", source };
    let first = udp_socket(wanted, false).map_err(udp_error)?;
    let address = first.local_addr().map_err(udp_error)?;
    let sockets = available_parallelism().map_or(1, usize::from).min(MAX_SOCKETS);
    let mut udp = vec![first];
    for _ in 1..sockets {
        udp.push(udp_socket(address, true).map_err(udp_error)?);
    }
    let tcp = tcp_socket(address).map_err(tcp_error)?;
    Ok(Bound { address, udp, tcp })
}

/// The first socket of an address is bound alone, so that a second server on the same port is an error and not a
/// silent half of the traffic; only then may others share the port.
fn udp_socket(address: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // The kernel silently grants less if the limit of the machine is lower; that is no reason not to serve.
    if let Err(error) = socket.set_recv_buffer_size(RECEIVE_BUFFER) {
        tracing::debug!(%address, %error, "Receive buffer keeps its size.");
    }
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    if !shared {
        socket.set_reuse_port(true)?;
    }
    Ok(socket.into())
}

fn tcp_socket(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // A restart must not wait for connections of the process before it.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}
