//! The HTTP side: lets requests in, applies faults, and turns results into replies.

use super::access::{Admission, Credentials, Rejection};
use super::account::Account;
use super::api::{self, Operation, Verb};
use super::error::WapiError;
use super::fault::Fault;
use super::grid::Shared;
use super::journal::Entry;
use super::listen::{Arrived, ConnectionCut, Exchange};
use super::reference::percent_decode;
use super::{pages, query};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use futures::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Requests are small; what is larger is no WAPI request.
const MAX_BODY: usize = 16 << 20;

/// A request with its body read.
struct Request {
    method: String,
    uri: String,
    headers: HeaderMap,
    body: Bytes,
    peer: SocketAddr,
}

/// A reply, and what the journal keeps of it.
struct Reply {
    response: Response<Body>,
    user: Option<String>,
    effective: bool,
}

impl Exchange for Shared {
    fn connected(&self) -> u64 {
        self.journal.connected()
    }

    fn answer(
        self: Arc<Self>,
        arrived: Arrived,
    ) -> BoxFuture<'static, Result<Response<Body>, ConnectionCut>> {
        async move {
            let connection = arrived.connection;
            let (parts, body) = arrived.request.into_parts();
            let body = axum::body::to_bytes(body, MAX_BODY).await.map_err(|_| ConnectionCut)?;
            let uri = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
            let method = parts.method.as_str().to_owned();
            let request = Request { method, uri, headers: parts.headers, body, peer: arrived.peer };
            self.exchange(request, connection).await
        }
        .boxed()
    }
}

impl Shared {
    async fn exchange(&self, request: Request, connection: u64) -> Result<Response<Body>, ConnectionCut> {
        let _under_way = self.journal.begin();
        let cookies = request.headers.get(header::COOKIE).and_then(|value| value.to_str().ok());
        self.turns.take(cookies).await;
        let hits = self.faults.hit(&targets(&request));
        let delay: Duration = hits.iter().filter_map(|fault| fault.delay()).sum();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let fault = hits.into_iter().find(|fault| fault.delay().is_none());
        let reply = match fault {
            Some(Fault::ResetBeforeCommit) => None,
            Some(fault) => Some(self.faulty(fault, &request)),
            None => Some(self.carry_out(&request)),
        };
        let cut = matches!(fault, Some(Fault::ResetBeforeCommit | Fault::ResetAfterCommit));
        let effective = reply.as_ref().is_some_and(|reply| reply.effective);
        let caught = effective.then(|| self.faults.catch_write_of(request.peer.ip())).flatten();
        self.journal.record(entry(&request, connection, reply.as_ref(), cut || caught.is_some()));
        if let Some(caught) = caught {
            return caught.hold().await;
        }
        match reply {
            Some(reply) if !cut => Ok(reply.response),
            _ => Err(ConnectionCut),
        }
    }

    /// The reply under a fault; after a fault that loses the reply, the work is done all the same.
    fn faulty(&self, fault: Fault, request: &Request) -> Reply {
        let page = match fault {
            Fault::Unauthorized => {
                let mut state = self.state();
                state.access.bad_login(request.peer.ip(), Instant::now());
                pages::unauthorized()
            }
            Fault::Forbidden => pages::forbidden(path(&request.uri)),
            Fault::Unavailable => pages::unavailable(),
            Fault::Busy(pause) => {
                pages::with_header(pages::unavailable(), header::RETRY_AFTER, HeaderValue::from_static(pause))
            }
            Fault::BadGateway => pages::bad_gateway(),
            Fault::GatewayTimeout => pages::gateway_timeout(),
            Fault::Refuse(text) => {
                let blank = self.state().rules.blank_after_comma;
                pages::refusal(&WapiError::Conflict(text.to_owned()), blank)
            }
            Fault::LoginPage => pages::login_page(),
            Fault::MetaRefresh => pages::meta_refresh(&self.member),
            Fault::Replaced(status) => {
                return Reply { response: pages::replaced(status), ..self.carry_out(request) };
            }
            Fault::Echo => pages::echo(&request.headers),
            Fault::Flood(item, times) => pages::flood(item, times),
            Fault::ResetAfterCommit | Fault::ResetBeforeCommit | Fault::Slow(_) => {
                return self.carry_out(request);
            }
        };
        Reply { response: page, user: None, effective: false }
    }

    fn carry_out(&self, request: &Request) -> Reply {
        let now = Instant::now();
        let mut state = self.state();
        state.settle(now);
        let text = |name: HeaderName| request.headers.get(name).and_then(|value| value.to_str().ok());
        let cookies = text(header::COOKIE);
        let authorization = text(header::AUTHORIZATION);
        let shown = Credentials { authorization, cookies, client: request.peer.ip() };
        let admission = match state.access.admit(shown, now) {
            Ok(admission) => admission,
            Err(rejection) => {
                let response = match rejection {
                    Rejection::Unauthorized => pages::unauthorized(),
                    Rejection::Forbidden => pages::forbidden(path(&request.uri)),
                };
                return Reply { response, user: None, effective: false };
            }
        };
        let before = state.store.revision();
        let Admission { account, new_cookie } = admission;
        let response = if is_logout(request) {
            state.access.log_out(new_cookie.as_deref().or(cookies));
            return Reply { response: pages::logged_out(), user: Some(account.name), effective: false };
        } else {
            respond(&mut state, &account, request)
        };
        state.settle(now);
        let effective = state.store.revision() != before;
        let cookie = new_cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok());
        let response = match cookie {
            Some(cookie) => pages::with_header(response, header::SET_COOKIE, cookie),
            None => response,
        };
        Reply { response, user: Some(account.name), effective }
    }
}

impl Fault {
    fn delay(&self) -> Option<Duration> {
        match self {
            Self::Slow(delay) => Some(*delay),
            _ => None,
        }
    }
}

/// The reply to a request that was let in.
fn respond(state: &mut super::state::State, account: &Account, request: &Request) -> Response<Body> {
    let (path, query) = request.uri.split_once('?').unwrap_or((&request.uri, ""));
    let Some(rest) = path.strip_prefix("/wapi/v") else { return pages::not_found() };
    let (version, object) = rest.split_once('/').unwrap_or((rest, ""));
    if !state.versions().contains(&version) {
        return pages::version_not_supported(version);
    }
    let blank = state.rules.blank_after_comma;
    let result =
        operation(request, object, query).and_then(|operation| api::execute(state, account, &operation));
    match result {
        Ok(answer) => pages::json(answer.status, &answer.body, blank),
        Err(error) => pages::refusal(&error, blank),
    }
}

fn operation(request: &Request, object: &str, args: &str) -> Result<Operation, WapiError> {
    let verb = match request.method.as_str() {
        "GET" => Verb::Get,
        "POST" => Verb::Post,
        "PUT" => Verb::Put,
        "DELETE" => Verb::Delete,
        other => return Err(WapiError::Proto(format!("Method {other} is not supported"))),
    };
    let object = percent_decode(object.trim_end_matches('/'));
    Ok(Operation { verb, object, args: query::split(args), body: parse_body(&request.body)? })
}

fn parse_body(body: &[u8]) -> Result<Option<Value>, WapiError> {
    if body.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(body).map_err(|error| {
        let position = error.valid_up_to();
        let byte = body.get(position).copied().unwrap_or_default();
        WapiError::JsonDecoding(format!(
            "JSON Decoding: 'utf8' codec can't decode byte 0x{byte:02x} in position {position}: invalid start byte"
        ))
    })?;
    let value = serde_json::from_str(text);
    value.map(Some).map_err(|error| WapiError::JsonDecoding(format!("JSON Decoding: {error}")))
}

/// What a request is for faults: itself, and of a batch each operation in it, with the type that the batch is about.
fn targets(request: &Request) -> Vec<(String, String)> {
    let mut targets = vec![(request.method.clone(), request.uri.clone())];
    if !path(&request.uri).ends_with("/request") {
        return targets;
    }
    let operations: Vec<Value> = serde_json::from_slice(&request.body).unwrap_or_default();
    let text = |operation: &Value, member| operation[member].as_str().unwrap_or_default().to_owned();
    let about = operations.first().map(|operation| text(operation, "object")).unwrap_or_default();
    targets.extend(operations.iter().map(|operation| {
        let object = text(operation, "object");
        let object = if object.starts_with("##STATE:") { about.clone() } else { object };
        (text(operation, "method"), format!("/{object}?"))
    }));
    targets
}

fn is_logout(request: &Request) -> bool {
    request.method == "POST"
        && path(&request.uri).starts_with("/wapi/v")
        && path(&request.uri).ends_with("/logout")
}

fn path(uri: &str) -> &str {
    uri.split('?').next().unwrap_or(uri)
}

fn entry(request: &Request, connection: u64, reply: Option<&Reply>, cut: bool) -> Entry {
    let body = (!request.body.is_empty()).then(|| String::from_utf8_lossy(&request.body).into_owned());
    let user_agent = request.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    Entry {
        number: 0,
        method: request.method.clone(),
        uri: request.uri.clone(),
        body,
        status: reply.filter(|_| !cut).map(|reply| reply.response.status().as_u16()),
        user_agent: user_agent.map(str::to_owned),
        user: reply.and_then(|reply| reply.user.clone()),
        peer: request.peer,
        connection,
        effective: reply.is_some_and(|reply| reply.effective),
    }
}
