//! The replies that are not JSON, as the grid's web server and proxies in front of it send them.

use super::error::WapiError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize as _;
use serde_json::Value;

const APACHE_HTML: &str = "text/html; charset=iso-8859-1";

/// 401: bad credentials, unknown user and expired session look the same.
pub(crate) fn unauthorized() -> Response<Body> {
    let body = "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n\
                <title>401 Authorization Required</title>\n</head><body>\n<h1>Authorization Required</h1>\n\
                <p>This server could not verify that you\nare authorized to access the document\nrequested.  \
                Either you supplied the wrong\ncredentials (e.g., bad password), or your\nbrowser doesn't \
                understand how to supply\nthe credentials required.</p>\n</body></html>\n";
    let realm = HeaderValue::from_static("Basic realm=\"InfoBlox ONE Platform\"");
    with_header(plain(401, APACHE_HTML, body), header::WWW_AUTHENTICATE, realm)
}

/// 403: no API access, or the client is blocked. The connection ends.
pub(crate) fn forbidden(path: &str) -> Response<Body> {
    let path = path.replace('&', "&amp;").replace('<', "&lt;");
    let body = format!(
        "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>403 Forbidden</title>\n\
         </head><body>\n<h1>Forbidden</h1>\n<p>You don't have permission to access {path}\non this server.</p>\n\
         </body></html>\n"
    );
    with_header(plain(403, APACHE_HTML, body), header::CONNECTION, HeaderValue::from_static("close"))
}

/// 404 of the web server, for paths outside the WAPI.
pub(crate) fn not_found() -> Response<Body> {
    let body = "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>404 Not Found</title>\n\
                </head><body>\n<h1>Not Found</h1>\n</body></html>\n";
    plain(404, APACHE_HTML, body)
}

/// 400 in plain words, not JSON.
pub(crate) fn version_not_supported(version: &str) -> Response<Body> {
    plain(400, APACHE_HTML, format!("Version {version} not supported"))
}

/// 503 while the grid is busy, starts or is upgraded.
pub(crate) fn unavailable() -> Response<Body> {
    plain(503, "text/plain", "Temporary Unavailable")
}

/// 502 of a load balancer in front of the grid.
pub(crate) fn bad_gateway() -> Response<Body> {
    proxy_page(502, "502 Bad Gateway")
}

/// 504 of the same.
pub(crate) fn gateway_timeout() -> Response<Body> {
    proxy_page(504, "504 Gateway Time-out")
}

fn proxy_page(status: u16, title: &str) -> Response<Body> {
    let body = format!(
        "<html>\n<head><title>{title}</title></head>\n<body>\n<center><h1>{title}</h1></center>\n</body>\n</html>\n"
    );
    plain(status, "text/html", body)
}

/// The log-in page of a proxy that answers in the grid's place: a success that is none, and it leads nowhere else.
pub(crate) fn login_page() -> Response<Body> {
    let body = "<!DOCTYPE html>\n<html>\n<head><title>Log in</title></head>\n<body>\n<form method=\"post\">\n\
                <input name=\"username\">\n<input name=\"password\" type=\"password\">\n</form>\n</body>\n</html>\n";
    plain(200, "text/html", body)
}

/// What a proxy says in the place of the grid's reply.
pub(crate) fn replaced(status: u16) -> Response<Body> {
    plain(status, "text/html", "<html><body>The reply cannot be shown.</body></html>\n")
}

/// What a debugging aid in between says: the request's own headers.
pub(crate) fn echo(headers: &HeaderMap) -> Response<Body> {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
    };
    plain(200, "text/plain", headers.iter().map(line).collect::<String>())
}

/// A list of the same thing, again and again.
pub(crate) fn flood(item: &str, times: usize) -> Response<Body> {
    plain(200, "application/json", format!("[{}]", vec![item; times].join(",")))
}

/// What a member that is not the master answers: a success that is none.
pub(crate) fn meta_refresh(master: &str) -> Response<Body> {
    let body = format!(
        "<HTML><HEAD><META HTTP-EQUIV=\"REFRESH\" CONTENT = \"0; URL=https://{master}\"></HEAD></HTML>\n"
    );
    plain(200, "text/html", body)
}

/// The reply to `logout`: clients look at the status only.
pub(crate) fn logged_out() -> Response<Body> {
    plain(200, APACHE_HTML, "")
}

/// A result, pretty-printed as the grid does, with non-ASCII escaped.
pub(crate) fn json(status: u16, value: &Value, blank_after_comma: bool) -> Response<Body> {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    // A `Value` has only string keys, and a `Vec` takes every byte.
    value.serialize(&mut serializer).ok();
    json_text(status, &String::from_utf8_lossy(&text), blank_after_comma)
}

/// A refusal in the grid's own layout.
pub(crate) fn refusal(error: &WapiError, blank_after_comma: bool) -> Response<Body> {
    json_text(error.status(), &error.body(), blank_after_comma)
}

/// Real grids send JSON in chunks; a stream has no length that could be announced.
fn json_text(status: u16, text: &str, blank_after_comma: bool) -> Response<Body> {
    let text = escape_non_ascii(text);
    // Texts hold no raw line ends, so these are the formatter's.
    let text = if blank_after_comma { text.replace(",\n", ", \n") } else { text };
    let chunk = futures::stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from(text))]);
    let mut response = plain(status, "application/json", "");
    *response.body_mut() = Body::from_stream(chunk);
    response
}

fn escape_non_ascii(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            escaped.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

fn plain(status: u16, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let response = with_header(response, header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let strict = HeaderValue::from_static("max-age=31536000; includeSubDomains");
    with_header(response, header::STRICT_TRANSPORT_SECURITY, strict)
}

pub(crate) fn with_header(
    mut response: Response<Body>,
    name: HeaderName,
    value: HeaderValue,
) -> Response<Body> {
    response.headers_mut().insert(name, value);
    response
}
