//! What a reply means. Status first, then Content-Type, then JSON: a grid's Content-Type lies on success, and its
//! errors come as JSON, plain text or HTML (reference.md §1.1, §6).

use std::time::Duration;

use gslb_provider_contract::error::BoxError;
use gslb_provider_contract::{ProviderError, retry_after};
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::secrets::Secrets;
use crate::session::cookie_of;
use crate::settings::GridAddress;
use crate::transport::BY_ITSELF;
use crate::wire::ErrorBody;

/// A reply, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: String,
    pub(crate) location: Option<String>,
    /// The session that it begins or goes on with.
    pub(crate) session: Option<HeaderValue>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: String,
    /// The body, if it is JSON.
    pub(crate) json: Option<Value>,
    /// It came in place of the verdict on a credential, which is not sent again for a while.
    pub(crate) costs_login: bool,
}

impl Answer {
    /// Takes over the reply to a request, read to its end.
    pub(crate) fn of(response: &Response, body: Vec<u8>, now: Timestamp) -> Self {
        let headers = response.headers();
        Self {
            status: response.status(),
            content_type: header(headers, &CONTENT_TYPE).unwrap_or_default(),
            location: header(headers, &LOCATION),
            session: cookie_of(headers),
            retry_after: header(headers, &RETRY_AFTER)
                .and_then(|text| retry_after::pause(&text, header(headers, &DATE).as_deref(), now)),
            json: serde_json::from_slice(&body).ok(),
            body: String::from_utf8(body)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            costs_login: false,
        }
    }

    /// Whether the grid's API wrote it, and so looked at the credential, and not a web server, a candidate, a gateway or
    /// a proxy before it, which may speak JSON too.
    pub(crate) fn is_from_wapi(&self) -> bool {
        let Some(json) = &self.json else { return false };
        match self.status.as_u16() {
            // Nobody else begins a session of that name.
            200..=299 => self.is_success() && (self.session.is_some() || is_wapi_reply(json)),
            400 | 404 => ErrorBody::deserialize(json).is_ok_and(|body| body.is_complete()),
            _ => false,
        }
    }

    /// Whether it stands for a reply of the grid that did not come: what the grid did is not known. A 503 is none: it says
    /// that nobody took the request.
    pub(crate) fn is_lost(&self) -> bool {
        self.status.is_server_error() && self.status != StatusCode::SERVICE_UNAVAILABLE
    }

    /// Whether it is what a request was sent for.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_success() && self.json.is_some() && !is_html(self)
    }
}

/// An error with what the provider has to know beyond it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) error: ProviderError,
}

/// What follows from a failure inside the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 404 for a reference: the object is gone, or has another reference by now.
    ReferenceGone,
    /// A zone of that name exists.
    Duplicate,
    /// The grid has not taken the request in: no connection. A read may be sent again; a write was not made.
    Untaken,
    /// Who answers is not the Grid Master and says so. Nothing was done.
    Elsewhere,
    /// A read may be sent again; a write may have been made.
    Passing,
    /// As `Passing`, but a read is not sent again: the wait was long already and the write may still be made, or who
    /// answered is nobody who takes back what was done.
    Slow,
    /// As `Slow`: the answer is larger than is read. A smaller search may do.
    TooLarge,
    /// Sending it again changes nothing, and a write was not made.
    Final,
    /// As `Final`: a proxy in between refused, and the grid was not reached.
    Before,
    /// As `Final`: whose certificate it is, or ours, keeps the two from talking. Nothing was sent.
    Untrusted,
    /// As `Final`: the grid does not speak the version that is asked for.
    Version,
    /// As `Final`, and it says nothing of the grid, because nothing was sent.
    Here,
}

impl Failure {
    pub(crate) fn last(error: ProviderError) -> Self {
        Self { kind: Kind::Final, error }
    }

    /// Whether another address of the grid may be the master.
    pub(crate) fn is_elsewhere(&self) -> bool {
        match self.kind {
            Kind::Elsewhere => true,
            Kind::Untaken | Kind::Passing | Kind::Slow => {
                matches!(self.error, ProviderError::Unavailable { .. })
            }
            Kind::ReferenceGone
            | Kind::Duplicate
            | Kind::TooLarge
            | Kind::Final
            | Kind::Before
            | Kind::Untrusted
            | Kind::Version
            | Kind::Here => false,
        }
    }

    /// Whether the request was sent, and no reply came.
    pub(crate) fn is_lost(&self) -> bool {
        let ProviderError::Unavailable { source, .. } = &self.error else { return false };
        // One that took too long to connect was not sent.
        let unsent = |source: &BoxError| source.downcast_ref().is_some_and(reqwest::Error::is_connect);
        matches!(self.kind, Kind::Passing | Kind::Slow) && !source.as_ref().is_some_and(unsent)
    }

    /// Whether the grid understood and said no to this very request.
    pub(crate) fn is_refusal(&self) -> bool {
        self.kind == Kind::Final && matches!(self.error, ProviderError::Refused { .. })
    }

    fn elsewhere(error: ProviderError) -> Self {
        Self { kind: Kind::Elsewhere, error }
    }

    /// Something on our side keeps the request from being sent.
    pub(crate) fn here(error: ProviderError) -> Self {
        Self { kind: Kind::Here, error }
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned)
}

/// Reads one reply.
pub(crate) fn interpret(grid: &GridAddress, secrets: &Secrets, answer: Answer) -> Result<Value, Failure> {
    let host = grid.host();
    let status = answer.status.as_u16();
    match status {
        200..=299 => success(host, secrets, answer),
        301 | 302 | 307 | 308 => Err(redirected(host, secrets, &answer)),
        401 => Err(Failure::last(ProviderError::Unauthenticated {
            text: format!(
                "Infoblox at {host} rejected the user name or the password (HTTP 401); correct the credentials, changed ones are tried at once"
            ),
        })),
        // A page that the grid did not write may come after the work was done.
        403 => Err(slow(ProviderError::Forbidden {
            text: format!(
                "Infoblox at {host} refuses this account or this client's address (HTTP 403); allow the account's group to use the API, or wait until the grid's block after bad log-ins ends"
            ),
        })),
        407 => Err(proxy_refuses(host)),
        429 | 500..=599 => Err(unavailable(host, &answer)),
        400..=499 => Err(client_error(grid, secrets, &answer)),
        // No grid says this, so it does not say either that nothing was done.
        _ => Err(unexpected(format!(
            "Infoblox at {host} answered with HTTP {status}, which no grid does; check what stands between this cluster and the grid"
        ))),
    }
}

/// A proxy in between wants to know who asks. Asking again and again would lock that account, too.
pub(crate) fn proxy_refuses(host: &str) -> Failure {
    let error = ProviderError::Forbidden {
        text: format!(
            "the proxy on the way to Infoblox at {host} asks for a user name and a password, or refuses those it has (HTTP 407); correct HTTPS_PROXY, or name the host in NO_PROXY"
        ),
    };
    Failure { kind: Kind::Before, error }
}

fn success(host: &str, secrets: &Secrets, answer: Answer) -> Result<Value, Failure> {
    if answer.body.trim().is_empty() {
        return Err(unexpected(format!(
            "Infoblox at {host} gave an empty answer (HTTP {}); check what stands between this cluster and the grid",
            answer.status.as_u16()
        )));
    }
    if !is_html(&answer) {
        return answer.json.ok_or_else(|| {
            let said = secrets.quote(&answer.body);
            unexpected(format!("Infoblox at {host} answered with something that is not JSON: {said}"))
        });
    }
    Err(match refresh_target(&answer.body).map(|target| secrets.quote(target)) {
        Some(target) => Failure::elsewhere(ProviderError::Misconfigured {
            text: format!(
                "Infoblox at {host} is not the Grid Master, it refers to {target}; set INFOBLOX_GRID_HOST to the Grid Master"
            ),
        }),
        None => unexpected(format!(
            "Infoblox at {host} answered with an HTML page instead of JSON; check that INFOBLOX_GRID_HOST is a Grid Master and that no proxy answers in its place"
        )),
    })
}

/// A success whose content makes no sense. A write may have been made.
fn unexpected(text: String) -> Failure {
    slow(ProviderError::Unexpected { text })
}

fn slow(error: ProviderError) -> Failure {
    Failure { kind: Kind::Slow, error }
}

fn redirected(host: &str, secrets: &Secrets, answer: &Answer) -> Failure {
    let target =
        answer.location.as_deref().map_or("another address".to_owned(), |target| secrets.quote(target));
    Failure::elsewhere(ProviderError::Misconfigured {
        text: format!(
            "Infoblox at {host} redirects to {target} (HTTP {}), which is not followed; set INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT to the Grid Master's API",
            answer.status.as_u16()
        ),
    })
}

fn unavailable(host: &str, answer: &Answer) -> Failure {
    let status = answer.status.as_u16();
    let kind = match status {
        // A proxy says so of a grid that took the request in and did not answer, too (reference.md §6.2: look again).
        502 | 503 if !answer.costs_login => Kind::Passing,
        429 => Kind::Final,
        // A 500 or 504 may be the end of a long wait, and the grid may still be at work.
        _ => Kind::Slow,
    };
    let text = format!("Infoblox at {host} is unavailable (HTTP {status}){BY_ITSELF}");
    Failure {
        kind,
        error: ProviderError::Unavailable { text, retry_after: answer.retry_after, source: None },
    }
}

/// 400 and 404: JSON, or plain text for a version that the grid does not know.
fn client_error(grid: &GridAddress, secrets: &Secrets, answer: &Answer) -> Failure {
    let (host, status) = (grid.host(), answer.status.as_u16());
    let body = answer.json.as_ref().and_then(|json| ErrorBody::deserialize(json).ok());
    let Some((text, code)) = body.and_then(|body| Some((body.text.or(body.error)?, body.code))) else {
        return not_json_error(grid, secrets, answer);
    };
    let code = code.unwrap_or_default();
    let said = format!("Infoblox at {host} says: {}", secrets.quote(&text));
    let misconfigured = |fix: &str| {
        Failure::last(ProviderError::Misconfigured {
            text: format!("{said} {fix}").replace(". ;", ";").replace(" ;", ";"),
        })
    };
    if status == 404 && text.starts_with("View ") {
        return misconfigured("; set INFOBLOX_DNS_VIEW to the name of a DNS view that the account may see");
    }
    if status == 404 || code.ends_with("NotFound") {
        let error = ProviderError::Refused { text: said };
        return Failure { kind: Kind::ReferenceGone, error };
    }
    if text.contains("A parent was not found") {
        return misconfigured(
            "; there must be an authoritative parent zone in the view of INFOBLOX_DNS_VIEW, and the account must see it",
        );
    }
    // Never by status or code alone: duplicate, rule and missing permission are all 400 Conflict.
    let duplicate = text.starts_with("Duplicate object") || text.contains("already exists");
    let kind = if duplicate { Kind::Duplicate } else { Kind::Final };
    Failure { kind, error: ProviderError::Refused { text: said } }
}

/// Whether JSON has the shape of a success (reference.md §2): objects that were found, or results of a batch; a reference;
/// an object, a page of a search or a schema.
fn is_wapi_reply(json: &Value) -> bool {
    match json {
        Value::Array(results) => !results.iter().any(|result| result.is_number() || result.is_boolean()),
        Value::String(reference) => reference.contains('/') && reference.contains(':'),
        Value::Object(object) => {
            ["_ref", "result", "requested_version", "supported_versions", "supported_objects"]
                .iter()
                .any(|key| object.contains_key(*key))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn not_json_error(grid: &GridAddress, secrets: &Secrets, answer: &Answer) -> Failure {
    let (host, status) = (grid.host(), answer.status.as_u16());
    let body = answer.body.trim();
    if body.starts_with("Version ") && body.contains("not supported") {
        let text = format!(
            "Infoblox at {host} says: {}; set INFOBLOX_WAPI_VERSION to a version that the grid supports",
            secrets.quote(body)
        );
        return Failure { kind: Kind::Version, error: ProviderError::Misconfigured { text } };
    }
    let what = match (is_html(answer), &answer.json) {
        (true, _) => "an HTML page",
        (false, None) => "a text",
        (false, Some(_)) => "other JSON",
    };
    slow(ProviderError::Unexpected {
        text: format!(
            "Infoblox at {host} answered with {what} instead of WAPI's JSON (HTTP {status}); check that INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT lead to a grid's API"
        ),
    })
}

fn is_html(answer: &Answer) -> bool {
    let start = answer.body.trim_start();
    // A JSON document never starts like this, whatever the header says.
    start.starts_with('<')
        || (answer.content_type.starts_with("text/html") && !start.starts_with(['[', '{', '"']))
}

/// Where a candidate's page leads: `<META HTTP-EQUIV="REFRESH" CONTENT="0; URL=https://…">`.
fn refresh_target(html: &str) -> Option<&str> {
    let lower = html.to_ascii_lowercase();
    let meta = lower.find("http-equiv=\"refresh\"")?;
    let start = meta + lower[meta..].find("url=")? + "url=".len();
    let rest = html.get(start..)?;
    let end = rest.find(['"', '\'', '>', ' ']).unwrap_or(rest.len());
    rest.get(..end)
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
