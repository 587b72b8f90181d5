//! Serves a recording and keeps account of what did not fit.

use super::exchange::{CameIn, Exchange, RecordedResponse, RecordingError, load, number};
use crate::wapi::listen::{self, Arrived, ConnectionCut};
use crate::wapi::{HttpServer, SimulatorTls};
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use futures::future::{BoxFuture, FutureExt as _};
use std::collections::VecDeque;
use std::fmt;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The status of a reply to a request that is not the next one. No real server uses it.
const UNMATCHED: u16 = 599;
/// Set by the server for the body at hand.
const FRAMING: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

/// A running playback. Call [`Player::finish`] at the end of the test.
#[derive(Debug)]
pub struct Player {
    tape: Arc<Tape>,
    server: HttpServer,
}

impl Player {
    /// Serves a folder's recording over HTTP on a free loopback port. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When the folder is no recording, or no port is free.
    pub fn load(folder: &Path) -> Result<Self, RecordingError> {
        Self::serve(folder, None)
    }

    /// Serves a folder's recording over HTTPS.
    ///
    /// # Errors
    /// When the folder is no recording, or no port is free.
    pub fn load_https(folder: &Path, tls: &SimulatorTls) -> Result<Self, RecordingError> {
        Self::serve(folder, Some(tls))
    }

    fn serve(folder: &Path, tls: Option<&SimulatorTls>) -> Result<Self, RecordingError> {
        let left = load(folder)?.into();
        let tape = Arc::new(Tape(Mutex::new(Reel { left, unmatched: Vec::new() })));
        let server = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listen::serve(Arc::clone(&tape), listener, tls))
            .map_err(|source| RecordingError::Io { path: folder.to_owned(), source })?;
        Ok(Self { tape, server })
    }

    /// `http://127.0.0.1:8080`, without a final slash.
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// Ends the playback.
    ///
    /// # Errors
    /// When a request was not the next recorded one, or a recording is left over; both are listed.
    pub fn finish(self) -> Result<(), Mismatch> {
        let reel = self.tape.reel();
        let unused = reel
            .left
            .iter()
            .map(|(name, recorded)| format!("{name}: {} {}", recorded.request.method, recorded.request.uri));
        let mismatch = Mismatch { unmatched: reel.unmatched.clone(), unused: unused.collect() };
        if mismatch.unmatched.is_empty() && mismatch.unused.is_empty() { Ok(()) } else { Err(mismatch) }
    }
}

/// What did not fit between a recording and the requests that came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Mismatch {
    /// Requests that were not the next recorded one, with the differences.
    pub unmatched: Vec<String>,
    /// Recordings that nobody asked for: file, method and URI.
    pub unused: Vec<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "requests and recording differ")?;
        for request in &self.unmatched {
            write!(f, "\n  unmatched request {request}")?;
        }
        for recording in &self.unused {
            write!(f, "\n  unused recording {recording}")?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Tape(Mutex<Reel>);

#[derive(Debug)]
struct Reel {
    left: VecDeque<(String, Exchange)>,
    unmatched: Vec<String>,
}

impl Reel {
    /// The next reply if the request is the next one, else what differs. Of exchanges with the same number, which were
    /// under way together, each may be the next.
    fn advance(&mut self, came: &CameIn<'_>) -> Result<Option<RecordedResponse>, String> {
        let (method, uri) = (came.method, came.uri);
        let Some((name, next)) = self.left.front() else {
            return Err(format!("{method} {uri}: the recording is over"));
        };
        let together = self.left.iter().take_while(|(other, _)| number(other) == number(name));
        let found = together.enumerate().find(|(_, (_, next))| next.request.differences(came).is_empty());
        match found.map(|(index, _)| index) {
            Some(index) => Ok(self.left.remove(index).and_then(|(_, next)| next.response)),
            None => {
                let differences = next.request.differences(came);
                Err(format!("{method} {uri}: next is {name}; {}", differences.join("; ")))
            }
        }
    }
}

impl Tape {
    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn play(&self, came: &CameIn<'_>) -> Result<Response<Body>, ConnectionCut> {
        let mut reel = self.reel();
        let (status, headers, body) = match reel.advance(came) {
            Ok(Some(recorded)) => (recorded.status, recorded.headers, recorded.body),
            Ok(None) => return Err(ConnectionCut),
            Err(difference) => {
                reel.unmatched.push(difference.clone());
                (UNMATCHED, Default::default(), difference)
            }
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in headers {
            let parsed = (HeaderName::try_from(&name), HeaderValue::try_from(&value));
            if let (Ok(name), Ok(value)) = parsed
                && !FRAMING.contains(&name.as_str())
            {
                response.headers_mut().append(name, value);
            }
        }
        Ok(response)
    }
}

impl listen::Exchange for Tape {
    fn connected(&self) -> u64 {
        0
    }

    fn answer(
        self: Arc<Self>,
        arrived: Arrived,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionCut>> {
        async move {
            let (parts, body) = arrived.request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.map_err(|_| ConnectionCut)?;
            let uri = parts.uri.path_and_query().map_or("/", |uri| uri.as_str());
            let body = String::from_utf8_lossy(&body);
            let came = CameIn { method: parts.method.as_str(), uri, headers: &parts.headers, body: &body };
            self.play(&came)
        }
        .boxed()
    }
}
