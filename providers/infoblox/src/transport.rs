//! Why no reply came, in words that do not change from one try to the next.

use std::error::Error;
use std::io;

use gslb_provider_contract::ProviderError;
use rustls::CertificateError;

use crate::answer::{Failure, Kind, proxy_refuses};

/// What the HTTP library says of a proxy's 407. The type of that error is not public.
const PROXY_WANTS_LOGIN: &str = "proxy authorization required";

/// How the sentence ends for something that passes: the daemon goes on asking.
pub(crate) const BY_ITSELF: &str = "; it is tried again by itself";

pub(crate) fn failure(host: &str, error: reqwest::Error) -> Failure {
    if let Some(problem) = certificate_problem(&error) {
        return untrusted(format!("the certificate of Infoblox at {host} {}", distrust(problem)));
    }
    if wants_certificate(&error) {
        return untrusted(format!(
            "Infoblox at {host} asks for a client certificate that it trusts; set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE"
        ));
    }
    if wants_another_handshake(&error) {
        // It came after the request, which may be carried out all the same.
        let error = ProviderError::Misconfigured {
            text: format!(
                "Infoblox at {host} asks for another TLS handshake after the first one, as servers do that want a client certificate for some paths only; that is never done, so have it ask in the first handshake, and set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE"
            ),
        };
        return Failure { kind: Kind::Slow, error };
    }
    if causes(&error).any(|cause| cause.to_string().contains(PROXY_WANTS_LOGIN)) {
        return proxy_refuses(host);
    }
    let (kind, words) = words(&error);
    let text = format!("Infoblox at {host} is unavailable: {words}{BY_ITSELF}");
    let source = Some(error.without_url().into());
    Failure { kind, error: ProviderError::Unavailable { text, retry_after: None, source } }
}

fn words(error: &reqwest::Error) -> (Kind, &'static str) {
    if error.is_timeout() {
        return (Kind::Slow, "no reply within INFOBLOX_HTTP_REQUEST_TIMEOUT");
    }
    let kinds = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let io = kinds.filter(|kind| *kind != io::ErrorKind::Other).last();
    let words = match io {
        Some(io::ErrorKind::ConnectionRefused) => "the connection was refused",
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => "the connection was reset",
        Some(io::ErrorKind::UnexpectedEof) => "the connection was closed before the reply was complete",
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "it cannot be connected to, there is no route"
        }
        _ if error.is_connect() && causes(error).any(|cause| cause.to_string().contains("dns error")) => {
            "its name does not resolve, so it cannot be connected to"
        }
        _ if error.is_connect() => proxy_words(error).unwrap_or("it cannot be connected to"),
        _ => "the connection was closed before the reply was complete",
    };
    // Only without a connection is it sure that nothing was sent: after that the grid may have carried out a
    // request whose reply never came.
    let kind = if error.is_connect() { Kind::Untaken } else { Kind::Passing };
    (kind, words)
}

/// What a proxy said instead of connecting to it. The HTTP client has no type for it.
fn proxy_words(error: &reqwest::Error) -> Option<&'static str> {
    let said = |words: &str| causes(error).any(|cause| cause.to_string().contains(words));
    match () {
        () if said("tunnel error") => Some("the proxy of HTTPS_PROXY does not connect to it"),
        () => None,
    }
}

/// A server of TLS 1.2 that renegotiates ends the connection once it is told that this is not done; one of TLS 1.3 asks
/// for a certificate after the handshake (RFC 8446 §4.6.2), which may come from nobody who was not told that it is.
fn wants_another_handshake(error: &reqwest::Error) -> bool {
    use rustls::{AlertDescription, Error, HandshakeType, PeerMisbehaved};
    !error.is_connect()
        && causes(error).any(|cause| match cause.downcast_ref() {
            Some(Error::AlertReceived(alert)) => {
                matches!(alert, AlertDescription::HandshakeFailure | AlertDescription::NoRenegotiation)
            }
            Some(Error::InappropriateHandshakeMessage { got_type, .. }) => {
                matches!(got_type, HandshakeType::CertificateRequest | HandshakeType::HelloRequest)
            }
            Some(Error::PeerMisbehaved(how)) => *how == PeerMisbehaved::TooManyRenegotiationRequests,
            _ => false,
        })
}

fn untrusted(text: String) -> Failure {
    Failure { kind: Kind::Untrusted, error: ProviderError::Misconfigured { text } }
}

fn certificate_problem(error: &reqwest::Error) -> Option<&CertificateError> {
    causes(error).find_map(|cause| match cause.downcast_ref()? {
        rustls::Error::InvalidCertificate(problem) => Some(problem),
        _ => None,
    })
}

/// What is wrong with the grid's certificate, and what to do about it. The TLS library's own words for a time have
/// the time in them, which would make a new sentence of each try.
fn distrust(problem: &CertificateError) -> String {
    use CertificateError as C;
    match problem {
        C::UnknownIssuer => "is of an authority that is not trusted here; name a PEM file with the certificate of that authority in INFOBLOX_CA_FILE".to_owned(),
        C::BadSignature => "is signed with another key than that of the authority of the same name that is trusted here; name a PEM file with the certificate that this authority has now in INFOBLOX_CA_FILE".to_owned(),
        C::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => "is itself that of an authority, as the one is that a grid is shipped with; have the grid's HTTPS certificate made anew, signed by an authority".to_owned(),
        C::NotValidForName => misnamed(&[]),
        C::NotValidForNameContext { presented, .. } => misnamed(presented),
        C::Expired | C::ExpiredContext { .. } => "has expired; have the grid's HTTPS certificate made anew".to_owned(),
        C::NotValidYet | C::NotValidYetContext { .. } => "is not valid yet; compare the clocks of this cluster and of the grid".to_owned(),
        other => format!("cannot be trusted: {other}; give its CA with INFOBLOX_CA_FILE and use a host name that stands in the certificate"),
    }
}

/// The library shows a name as `DnsName("gm.example.com")`.
fn misnamed(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| name.split('"').nth(1).unwrap_or(name)).collect();
    let there = if names.is_empty() { String::new() } else { format!(", only {}", names.join(", ")) };
    format!(
        "does not name this host{there}; set INFOBLOX_GRID_HOST to a name in it, or have the grid's HTTPS certificate made anew with this name as a subject alternative name"
    )
}

/// The server ended the handshake for want of a certificate of ours, or because of it.
fn wants_certificate(error: &reqwest::Error) -> bool {
    use rustls::AlertDescription::{BadCertificate, CertificateExpired, CertificateRequired, UnknownCA};
    causes(error).any(|cause| match cause.downcast_ref() {
        Some(rustls::Error::AlertReceived(alert)) => {
            matches!(alert, BadCertificate | CertificateExpired | CertificateRequired | UnknownCA)
        }
        _ => false,
    })
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| below(*cause))
}

/// The next cause. An I/O error that wraps another error names as its source the source of that one, so the
/// wrapped error itself would be skipped.
fn below<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use rustls::pki_types::{ServerName, UnixTime};

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_told_with_the_fix_and_without_a_time() {
        use CertificateError as C;
        let at = |second| UnixTime::since_unix_epoch(Duration::from_secs(second));
        let misnamed = |presented: &[&str]| C::NotValidForNameContext {
            expected: ServerName::try_from("gm.example.com").unwrap(),
            presented: presented.iter().map(|name| (*name).to_owned()).collect(),
        };
        let renew = "set INFOBLOX_GRID_HOST to a name in it, or have the grid's HTTPS certificate made anew with this name as a subject alternative name";
        let cases = [
            (C::UnknownIssuer, "is of an authority that is not trusted here; name a PEM file with the certificate of that authority in INFOBLOX_CA_FILE".to_owned()),
            (misnamed(&[]), format!("does not name this host; {renew}")),
            (
                misnamed(&["DnsName(\"ns1.example.com\")", "IpAddress(192.0.2.1)"]),
                format!("does not name this host, only ns1.example.com, IpAddress(192.0.2.1); {renew}"),
            ),
            (C::Expired, "has expired; have the grid's HTTPS certificate made anew".to_owned()),
            (
                C::ExpiredContext { time: at(2), not_after: at(1) },
                "has expired; have the grid's HTTPS certificate made anew".to_owned(),
            ),
            (
                C::NotValidYetContext { time: at(1), not_before: at(2) },
                "is not valid yet; compare the clocks of this cluster and of the grid".to_owned(),
            ),
        ];
        for (problem, expected) in cases {
            assert_eq!(distrust(&problem), expected, "{problem:?}");
        }
    }

    #[tokio::test]
    async fn a_proxy_that_refuses_its_user_is_told_as_that_and_not_asked_again_at_once() {
        crate::install_crypto_provider();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://svc:hunter2@{}", listener.local_addr().unwrap());
        let proxy = std::thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = connection.read(&mut request).unwrap();
            assert!(request.starts_with(b"CONNECT ") && request[..length].ends_with(b"\r\n\r\n"));
            let reply = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
            connection.write_all(reply).unwrap();
        });
        let client = reqwest::Client::builder().proxy(reqwest::Proxy::all(url).unwrap()).build().unwrap();
        let error = client.get("https://gm.example.com/").send().await.unwrap_err();
        let failure = failure("gm.example.com", error);
        proxy.join().unwrap();
        assert_eq!(failure.kind, Kind::Before);
        assert_eq!(
            failure.error.to_string(),
            "the proxy on the way to Infoblox at gm.example.com asks for a user name and a password, or refuses those it has (HTTP 407); correct HTTPS_PROXY, or name the host in NO_PROXY"
        );
        assert_eq!(failure.error.reason(), "Forbidden");
    }
}
