//! Serves a stand-in over HTTP or HTTPS, with connections that can be cut.

use super::tls::SimulatorTls;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response};
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use futures::future::BoxFuture;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{fmt, io};
use tower::Service;

/// Answers requests; an error cuts the connection.
pub(crate) trait Exchange: Send + Sync + 'static {
    /// A new connection; the number comes back with its requests.
    fn connected(&self) -> u64;

    /// Answers one request.
    fn answer(self: Arc<Self>, request: Arrived)
    -> BoxFuture<'static, Result<Response<Body>, ConnectionCut>>;
}

/// A request with its connection.
pub(crate) struct Arrived {
    pub(crate) request: Request<Body>,
    pub(crate) peer: SocketAddr,
    pub(crate) connection: u64,
}

/// The connection ends without a reply.
#[derive(Debug, thiserror::Error)]
#[error("connection cut on purpose")]
pub(crate) struct ConnectionCut;

/// A running server; dropping it ends it and all its connections.
pub struct HttpServer {
    address: SocketAddr,
    scheme: &'static str,
    handle: axum_server::Handle<SocketAddr>,
    task: tokio::task::JoinHandle<io::Result<()>>,
}

impl HttpServer {
    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:8443`, without a final slash.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Connections that are open now.
    pub fn open_connections(&self) -> usize {
        self.handle.connection_count()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.handle.shutdown();
        self.task.abort();
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpServer").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// Starts serving on a bound listener. Needs a Tokio runtime.
///
/// # Errors
/// When the listener cannot be used.
pub(crate) fn serve<E: Exchange>(
    exchange: Arc<E>,
    listener: TcpListener,
    tls: Option<&SimulatorTls>,
) -> io::Result<HttpServer> {
    let address = listener.local_addr()?;
    let handle = axum_server::Handle::new();
    let server = axum_server::from_tcp(listener)?.http1_only().handle(handle.clone());
    let connections = Connections(exchange);
    let task = match tls {
        Some(tls) => {
            let acceptor = RustlsAcceptor::new(RustlsConfig::from_config(tls.server_config()));
            tokio::spawn(server.acceptor(acceptor).serve(connections))
        }
        None => tokio::spawn(server.serve(connections)),
    };
    let scheme = if tls.is_some() { "https" } else { "http" };
    Ok(HttpServer { address, scheme, handle, task })
}

/// Makes a service for every connection.
struct Connections<E>(Arc<E>);

impl<E: Exchange> Service<SocketAddr> for Connections<E> {
    type Response = Connection<E>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, peer: SocketAddr) -> Self::Future {
        let connection = self.0.connected();
        std::future::ready(Ok(Connection { exchange: Arc::clone(&self.0), peer, connection }))
    }
}

/// One connection's service.
struct Connection<E> {
    exchange: Arc<E>,
    peer: SocketAddr,
    connection: u64,
}

impl<E> Clone for Connection<E> {
    fn clone(&self) -> Self {
        Self { exchange: Arc::clone(&self.exchange), peer: self.peer, connection: self.connection }
    }
}

impl<E, B> Service<Request<B>> for Connection<E>
where
    E: Exchange,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    type Response = Response<Body>;
    type Error = ConnectionCut;
    type Future = BoxFuture<'static, Result<Response<Body>, ConnectionCut>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let request = request.map(Body::new);
        Arc::clone(&self.exchange).answer(Arrived { request, peer: self.peer, connection: self.connection })
    }
}
