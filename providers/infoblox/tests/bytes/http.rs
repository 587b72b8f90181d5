//! A server of bytes over verified TLS: what it answers is no HTTP unless the test says so.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gslb_mocks::wapi::SimulatorTls;
use rustls::{ServerConnection, StreamOwned};

/// What is sent after a request; then the connection ends.
#[derive(Debug, Clone)]
pub(crate) enum Script {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A head, then the same bytes until nobody takes them any more.
    Endless(Vec<u8>, Vec<u8>),
    /// A head, then one byte after the other, with a pause before each, until nobody takes them any more.
    Trickle(Vec<u8>, Duration),
}

type Answers = Box<dyn Fn(&Request) -> Script + Send>;

/// A request as it came.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Listens until it is dropped; its threads end with their connections.
pub(crate) struct ByteServer {
    pub(crate) port: u16,
    pub(crate) tls: SimulatorTls,
    answers: Arc<Mutex<Answers>>,
    taken: Arc<AtomicU64>,
}

impl ByteServer {
    pub(crate) fn start() -> Self {
        let tls = SimulatorTls::generate(&[]).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers: Answers = Box::new(|_| Script::Bytes(vec![]));
        let server = Self { port, tls, answers: Arc::new(Mutex::new(answers)), taken: Arc::default() };
        let (config, answers, taken) =
            (server.tls.server_config(), Arc::downgrade(&server.answers), Arc::clone(&server.taken));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(answers) = answers.upgrade() else { return };
                let (config, taken) = (Arc::clone(&config), Arc::clone(&taken));
                thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    // A client that has heard enough ends the connection, which is what is asked for.
                    drop(serve(StreamOwned::new(connection, stream.unwrap()), &answers, &taken));
                });
            }
        });
        server
    }

    /// From now on.
    pub(crate) fn answer(&self, answers: impl Fn(&Request) -> Script + Send + 'static) {
        self.taken.store(0, Ordering::SeqCst);
        *self.answers.lock().unwrap() = Box::new(answers);
    }

    /// Bytes of answers that were handed over since then. Some of them are still on their way.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }
}

impl Drop for ByteServer {
    fn drop(&mut self) {
        // The next connection finds that nobody answers any more.
        let port = self.port;
        self.answers = Arc::new(Mutex::new(Box::new(|_| Script::Bytes(vec![]))));
        drop(TcpStream::connect(("127.0.0.1", port)));
    }
}

type Stream = StreamOwned<ServerConnection, TcpStream>;

fn serve(mut stream: Stream, answers: &Mutex<Answers>, taken: &AtomicU64) -> std::io::Result<()> {
    let request = read(&mut stream)?;
    let script = (answers.lock().unwrap())(&request);
    let send = |stream: &mut Stream, bytes: &[u8]| {
        stream.write_all(bytes)?;
        stream.flush()?;
        taken.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok::<_, std::io::Error>(())
    };
    match script {
        Script::Bytes(bytes) => send(&mut stream, &bytes)?,
        Script::Endless(head, again) => {
            send(&mut stream, &head)?;
            loop {
                send(&mut stream, &again)?;
            }
        }
        Script::Trickle(head, pause) => {
            send(&mut stream, &head)?;
            loop {
                thread::sleep(pause);
                send(&mut stream, b" ")?;
            }
        }
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    stream.sock.shutdown(Shutdown::Write)
}

fn read(stream: &mut Stream) -> std::io::Result<Request> {
    let (mut bytes, mut chunk) = (vec![], [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(Request { head: head.to_owned(), body: body.to_owned() });
            }
        }
        match stream.read(&mut chunk)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// A whole reply.
pub(crate) fn reply(status: u16, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status} Said\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) fn json(body: &str) -> Script {
    Script::Bytes(reply(200, "application/json", body.as_bytes()))
}
