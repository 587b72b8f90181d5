//! The protocol: what external-dns sends, and the status that it understands.
//!
//! external-dns ends at a 4xx and at a dropped connection, and comes again after a 5xx. So whatever may pass, and every
//! set that is refused, is a 5xx; a 4xx is a request that this version cannot read. Source: external-dns 0.21,
//! `provider/webhook`.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures::StreamExt;
use gslb_provider_contract::ProviderError;
use gslb_provider_webhook::protocol::{DomainFilter, Endpoint, MEDIA_TYPE, changes, endpoints};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::convert::adjusted;
use super::desk::{Desk, Trouble};
use super::media::{WrongMedia, accepts, is_sent};
use super::metrics::Metrics;
use super::repeats::Repeats;
use super::report::Report;

/// What is begun at the deadline has this time to end before the request is answered without it.
const GRACE: Duration = Duration::from_secs(1);
/// What an endpoint has on average at most, in bytes: names and texts have bounds, labels are a few.
const BYTES_OF_ENDPOINT: usize = 1024;
/// Bytes in which room is counted.
const UNIT: usize = 1024;
/// Room for a request with few endpoints.
const LEAST_BYTES: usize = 1 << 20;

/// What the handlers share.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) desk: Arc<Desk>,
    pub(super) filter: DomainFilter,
    pub(super) max_endpoints: usize,
    pub(super) deadline: Duration,
    pub(super) metrics: Metrics,
    pub(super) repeats: Arc<Repeats>,
    /// In units of [`UNIT`]: all bodies that are here at once are no more than one may be.
    pub(super) room: Arc<Semaphore>,
}

/// A body, and the room that it takes while it is worked on.
struct Kept {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

/// An answer that is no success.
struct Refused(StatusCode, String);

impl From<WrongMedia> for Refused {
    fn from(WrongMedia(status, text): WrongMedia) -> Self {
        Self(status, text)
    }
}

impl From<Trouble> for Refused {
    fn from(trouble: Trouble) -> Self {
        let status = match &trouble {
            Trouble::Unpaired(_) => StatusCode::BAD_REQUEST,
            Trouble::Provider(ProviderError::Misconfigured { .. } | ProviderError::Refused { .. }) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Trouble::Provider(_) | Trouble::Audit(_) | Trouble::Loss(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(status, trouble.to_string())
    }
}

impl Server {
    /// All that external-dns asks for. As in its own server an unknown path is the negotiation.
    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/records", any(records))
            .route("/adjustendpoints", any(adjust))
            .fallback(any(negotiate))
            .with_state(self)
    }

    /// Counts and logs what is answered, the same error once.
    fn answer(&self, call: &'static str, outcome: Result<Response, Refused>) -> Response {
        let response = match outcome {
            Ok(response) => {
                if self.repeats.is_over(call) {
                    tracing::info!(call, "A request of external-dns is answered again.");
                }
                response
            }
            Err(Refused(status, text)) => {
                if self.repeats.is_news(call, &text) {
                    tracing::warn!(call, status = status.as_u16(), error = %text, "A request of external-dns was refused.");
                }
                (status, text).into_response()
            }
        };
        self.metrics.answered(call, response.status().as_u16());
        response
    }

    /// The body, if it is ours to read.
    async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Kept, Refused> {
        is_sent(headers)?;
        let most = longest_body(self.max_endpoints);
        let too_large = || {
            let text = format!(
                "the body has more than {most} bytes; raise WEBHOOK_MAX_ENDPOINTS, of which each has {BYTES_OF_ENDPOINT}"
            );
            Refused(StatusCode::PAYLOAD_TOO_LARGE, text)
        };
        let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if told.is_some_and(|length| length > most) {
            return Err(too_large());
        }
        let (mut kept, mut stream) = (Kept { bytes: Vec::new(), room: None }, body.into_data_stream());
        let deadline = Instant::now() + self.deadline;
        loop {
            match timeout_at(deadline, stream.next()).await {
                Ok(None) => return Ok(kept),
                Ok(Some(Ok(chunk))) if kept.bytes.len() + chunk.len() > most => return Err(too_large()),
                Ok(Some(Ok(chunk))) => self.keep(&mut kept, &chunk)?,
                Ok(Some(Err(_))) => return Err(bad_request("the body ended too early")),
                Err(_) => {
                    return Err(Refused(
                        StatusCode::REQUEST_TIMEOUT,
                        "the body did not come in time".to_owned(),
                    ));
                }
            }
        }
    }

    fn keep(&self, kept: &mut Kept, chunk: &[u8]) -> Result<(), Refused> {
        let units = |bytes: usize| u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let more = units(kept.bytes.len() + chunk.len()) - units(kept.bytes.len());
        let room = Arc::clone(&self.room).try_acquire_many_owned(more).map_err(|_| {
            let text = "the bodies of other requests take all the room that there is; come again".to_owned();
            Refused(StatusCode::SERVICE_UNAVAILABLE, text)
        })?;
        match &mut kept.room {
            Some(known) => known.merge(room),
            None => kept.room = Some(room),
        }
        kept.bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn check_count(&self, count: usize) -> Result<(), Refused> {
        if count <= self.max_endpoints {
            return Ok(());
        }
        let text = format!(
            "the request has {count} endpoints, and the limit is {} (WEBHOOK_MAX_ENDPOINTS)",
            self.max_endpoints
        );
        Err(Refused(StatusCode::PAYLOAD_TOO_LARGE, text))
    }

    async fn list(&self, headers: &HeaderMap) -> Result<Response, Refused> {
        accepts(headers)?;
        match timeout(self.deadline, self.desk.list()).await {
            Ok(listed) => Ok(in_our_form(&listed?)),
            Err(_) => Err(self.late("the records could not be read")),
        }
    }

    async fn apply(&self, headers: &HeaderMap, body: Body) -> Result<Response, Refused> {
        let Kept { bytes, room: _room } = self.body(headers, body).await?;
        let changes = changes(&bytes)
            .map_err(|error| bad_request(&format!("the body cannot be read as changes: {error}")))?;
        drop(bytes);
        self.check_count(changes.len())?;
        let (desk, deadline) = (Arc::clone(&self.desk), Instant::now() + self.deadline);
        // Nobody who hangs up cuts a change off between its write and its outcome.
        let work = tokio::spawn(async move { desk.apply(changes, deadline).await });
        match timeout_at(deadline + GRACE, work).await {
            Ok(Ok(report)) => reported(&report?),
            Ok(Err(_)) => Err(Refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the changes were given up by a fault of the webhook".to_owned(),
            )),
            Err(_) => Err(self.late(
                "the changes are not all made, or those of the last request are still under way; they go on",
            )),
        }
    }

    async fn adjust(&self, headers: &HeaderMap, body: Body) -> Result<Response, Refused> {
        accepts(headers)?;
        let Kept { bytes, room: _room } = self.body(headers, body).await?;
        let sent = endpoints(&bytes)
            .map_err(|error| bad_request(&format!("the body cannot be read as endpoints: {error}")))?;
        self.check_count(sent.len())?;
        Ok(in_our_form(&sent.into_iter().map(adjusted).collect::<Vec<Endpoint>>()))
    }

    fn late(&self, what: &str) -> Refused {
        let text = format!("{what} within {} seconds (WEBHOOK_DEADLINE_SECONDS)", self.deadline.as_secs());
        Refused(StatusCode::SERVICE_UNAVAILABLE, text)
    }
}

/// The room for bodies.
pub(super) fn room(max_endpoints: usize) -> Arc<Semaphore> {
    let units = longest_body(max_endpoints).div_ceil(UNIT);
    Arc::new(Semaphore::new(units.min(Semaphore::MAX_PERMITS)))
}

/// In bytes.
fn longest_body(max_endpoints: usize) -> usize {
    max_endpoints.saturating_mul(BYTES_OF_ENDPOINT).max(LEAST_BYTES)
}

async fn negotiate(State(server): State<Server>, headers: HeaderMap) -> Response {
    let outcome = accepts(&headers).map(|()| in_our_form(&server.filter)).map_err(Refused::from);
    server.answer("negotiate", outcome)
}

async fn records(State(server): State<Server>, method: Method, headers: HeaderMap, body: Body) -> Response {
    match method {
        Method::GET => server.answer("records", server.list(&headers).await),
        Method::POST => server.answer("apply", server.apply(&headers, body).await),
        _ => server.answer("records", Err(bad_request("/records is read with GET and changed with POST"))),
    }
}

async fn adjust(State(server): State<Server>, method: Method, headers: HeaderMap, body: Body) -> Response {
    let outcome = match method {
        Method::POST => server.adjust(&headers, body).await,
        _ => Err(bad_request("/adjustendpoints is asked with POST")),
    };
    server.answer("adjustendpoints", outcome)
}

fn reported(report: &Report) -> Result<Response, Refused> {
    let Report { made, as_wanted, left, .. } = report;
    if *made > 0 {
        tracing::info!(
            made,
            as_wanted,
            left,
            refused = report.problems.len(),
            "Carried out a request of external-dns."
        );
    }
    if report.is_done() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let status = match report.is_passing() {
        true => StatusCode::SERVICE_UNAVAILABLE,
        false => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Err(Refused(status, report.sentences()))
}

fn bad_request(text: &str) -> Refused {
    Refused(StatusCode::BAD_REQUEST, text.to_owned())
}

fn in_our_form(value: &impl serde::Serialize) -> Response {
    let body = serde_json::to_vec(value).expect("endpoints and filters are JSON");
    ([(CONTENT_TYPE, MEDIA_TYPE)], body).into_response()
}
