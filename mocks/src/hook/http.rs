//! The protocol: which call a request is, what it does, and what goes wrong with it.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::backend::Set;
use super::{Fault, Hook, MEDIA_TYPE};
use crate::wapi::listen::{Arrived, ConnectionCut, Exchange};

/// Longest body that is read.
const LONGEST_BODY: usize = 32 << 20;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// `GET /`.
    Negotiate,
    /// `GET /records`.
    Records,
    /// `POST /adjustendpoints`.
    Adjust,
    /// `POST /records`.
    Apply,
}

pub(super) struct Served(pub(super) Hook);

impl Exchange for Served {
    fn connected(&self) -> u64 {
        0
    }

    fn answer(
        self: Arc<Self>,
        arrived: Arrived,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionCut>> {
        async move {
            let (parts, body) = arrived.request.into_parts();
            let body = to_bytes(body, LONGEST_BODY).await.map_err(|_| ConnectionCut)?;
            let Some(call) = call(&parts.method, parts.uri.path()) else {
                return Ok(refused(StatusCode::BAD_REQUEST, "no such call"));
            };
            self.0.exchange(call, &parts.headers, &body).await
        }
        .boxed()
    }
}

impl Hook {
    async fn exchange(
        &self,
        call: Call,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response<Body>, ConnectionCut> {
        let fault = {
            let mut state = self.state();
            state.requests.push(call);
            state.faults.get(&call).cloned()
        };
        match fault {
            None => Ok(self.done(call, headers, body)),
            Some(Fault::Cut) => Err(ConnectionCut),
            Some(Fault::Hang) => {
                self.0.healed.notified().await;
                Err(ConnectionCut)
            }
            Some(Fault::LoseReply) => {
                self.done(call, headers, body);
                Err(ConnectionCut)
            }
            Some(Fault::FailAfterwards) => {
                self.done(call, headers, body);
                Ok(refused(StatusCode::INTERNAL_SERVER_ERROR, "failed afterwards"))
            }
            Some(Fault::Status(status, text)) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Ok(refused(status, &text))
            }
            Some(Fault::Busy(seconds)) => {
                let mut response = refused(StatusCode::SERVICE_UNAVAILABLE, "busy");
                response.headers_mut().insert(RETRY_AFTER, seconds.into());
                Ok(response)
            }
            Some(Fault::Html) => Ok(reply("text/html", b"<html><body>Welcome</body></html>".to_vec())),
            Some(Fault::Shape(text)) => Ok(reply(MEDIA_TYPE, text.into_bytes())),
            Some(Fault::Empty) => Ok(reply(MEDIA_TYPE, b"[]".to_vec())),
            Some(Fault::Half) => {
                let whole = self.done(call, headers, body);
                let bytes = to_bytes(whole.into_body(), LONGEST_BODY).await.map_err(|_| ConnectionCut)?;
                Ok(reply(MEDIA_TYPE, bytes[..bytes.len() / 2].to_vec()))
            }
            Some(Fault::Media(media)) => {
                let whole = self.done(call, headers, body);
                let bytes = to_bytes(whole.into_body(), LONGEST_BODY).await.map_err(|_| ConnectionCut)?;
                Ok(reply(&media, bytes.to_vec()))
            }
        }
    }

    /// What the call does, and its reply.
    fn done(&self, call: Call, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
        let has = |name| headers.get(name).is_some_and(|value| value == MEDIA_TYPE);
        let (accept, sent) = (has(ACCEPT), has(CONTENT_TYPE));
        match call {
            Call::Negotiate | Call::Records | Call::Adjust if !accept => {
                refused(StatusCode::NOT_ACCEPTABLE, "Accept")
            }
            Call::Adjust | Call::Apply if !sent => {
                refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type")
            }
            Call::Negotiate => in_our_form(&self.state().filter),
            Call::Records => in_our_form(&self.list()),
            Call::Adjust => match self.adjust(body) {
                Ok(made) => in_our_form(&made),
                Err(why) => refused(StatusCode::BAD_REQUEST, &why),
            },
            Call::Apply => match self.apply(body) {
                Ok(()) => Response::builder()
                    .status(StatusCode::NO_CONTENT)
                    .body(Body::empty())
                    .expect("a status is a reply"),
                Err(why) => refused(StatusCode::INTERNAL_SERVER_ERROR, &why),
            },
        }
    }

    fn list(&self) -> Value {
        let mut state = self.state();
        let habits = state.habits;
        let listed = state.backend.sets().flat_map(|set| habits.listed(set));
        let listed = listed.map(|set| set.endpoint()).collect();
        for set in std::mem::take(&mut state.meanwhile) {
            state.backend.put(set);
        }
        Value::Array(listed)
    }

    fn adjust(&self, body: &[u8]) -> Result<Value, String> {
        let sent: Vec<Value> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let habits = self.state().habits;
        let mut made = Vec::new();
        for endpoint in sent {
            if let Some(set) = habits.adjusted(Set::of(&endpoint)?) {
                made.push(set.endpoint());
            }
        }
        Ok(json!(made))
    }

    fn apply(&self, body: &[u8]) -> Result<(), String> {
        let changes: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let mut state = self.state();
        let habits = state.habits;
        let mut after = state.backend.after(&changes)?;
        let lost: Vec<Set> = after.sets().filter(|set| !habits.keeps(set)).cloned().collect();
        lost.iter().for_each(|set| after.remove(set));
        state.backend = after;
        state.writes.push(changes);
        Ok(())
    }
}

fn call(method: &Method, path: &str) -> Option<Call> {
    match (method.as_str(), path) {
        ("GET", "/") => Some(Call::Negotiate),
        ("GET", "/records") => Some(Call::Records),
        ("POST", "/records") => Some(Call::Apply),
        ("POST", "/adjustendpoints") => Some(Call::Adjust),
        _ => None,
    }
}

fn in_our_form(value: &Value) -> Response<Body> {
    reply(MEDIA_TYPE, value.to_string().into_bytes())
}

fn reply(media: &str, body: Vec<u8>) -> Response<Body> {
    Response::builder()
        .header(CONTENT_TYPE, media)
        .body(Body::from(body))
        .expect("media types of tests are headers")
}

fn refused(status: StatusCode, why: &str) -> Response<Body> {
    Response::builder().status(status).body(Body::from(why.to_owned())).expect("a status is a reply")
}
