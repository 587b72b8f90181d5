//! Why no reply came, in words that do not change from one try to the next.

use std::error::Error;
use std::io;

use gslb_provider_contract::ProviderError;

use crate::answer::{Failure, Kind};

pub(crate) fn failure(host: &str, error: reqwest::Error) -> Failure {
    if let Some(problem) = certificate_problem(&error) {
        return Failure::last(ProviderError::Misconfigured {
            text: format!(
                "the certificate of Infoblox at {host} cannot be trusted: {problem}; give its CA with INFOBLOX_CA_FILE and use a host name that stands in the certificate"
            ),
        });
    }
    if wants_certificate(&error) {
        return Failure::last(ProviderError::Misconfigured {
            text: format!(
                "Infoblox at {host} asks for a client certificate that it trusts; set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE"
            ),
        });
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
    let (kind, words) = words(&error);
    let text = format!("Infoblox at {host} is unavailable: {words}; it is tried again by itself");
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
        () if said("proxy authorization required") => {
            Some("the proxy of HTTPS_PROXY asks for another user name or password")
        }
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

fn certificate_problem(error: &reqwest::Error) -> Option<String> {
    causes(error).find_map(|cause| match cause.downcast_ref()? {
        rustls::Error::InvalidCertificate(problem) => Some(problem.to_string()),
        _ => None,
    })
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
