//! The media type of the protocol, as headers write it.

use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use gslb_provider_webhook::protocol::MEDIA_TYPE;
use gslb_provider_webhook::protocol::media::is_ours;

/// A request in a form that this version does not speak, with its status and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongMedia(pub(super) StatusCode, pub(super) String);

/// Whether the reply may be in our form. Who does not say takes anything, such as a probe.
pub(super) fn accepts(headers: &HeaderMap) -> Result<(), WrongMedia> {
    let wanted: Vec<String> = values(headers, ACCEPT);
    let mut types = wanted.iter().flat_map(|value| value.split(','));
    let any = |media: &str| matches!(media.split(';').next().map(str::trim), Some("*/*" | "application/*"));
    if wanted.is_empty() || types.any(|media| any(media) || is_ours(media)) {
        return Ok(());
    }
    let text = format!("Accept is {:?}, and the only form is {MEDIA_TYPE}", wanted.join(", "));
    Err(WrongMedia(StatusCode::NOT_ACCEPTABLE, text))
}

/// Whether the body is in our form.
pub(super) fn is_sent(headers: &HeaderMap) -> Result<(), WrongMedia> {
    let sent = values(headers, CONTENT_TYPE);
    match sent.as_slice() {
        [media] if is_ours(media) => Ok(()),
        _ => {
            let text = format!("Content-Type is {:?}, and must be {MEDIA_TYPE}", sent.join(", "));
            Err(WrongMedia(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
        }
    }
}

fn values(headers: &HeaderMap, name: axum::http::HeaderName) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_one_version_is_spoken_and_no_other() {
        let headers = |name: &axum::http::HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            if !value.is_empty() {
                headers.insert(name, HeaderValue::from_static(value));
            }
            headers
        };
        let cases = [
            (MEDIA_TYPE, true, true),
            ("application/external.dns.webhook+json; Version=\"1\"", true, true),
            ("text/html, application/external.dns.webhook+json;version=1;q=0.5", true, false),
            ("", true, false),
            ("*/*", true, false),
            ("application/*;q=0.8", true, false),
            ("application/json", false, false),
            ("application/external.dns.webhook+json", false, false),
            ("application/external.dns.webhook+json;version=2", false, false),
            ("application/x-www-form-urlencoded", false, false),
        ];
        for (value, accepted, sent) in cases {
            assert_eq!(accepts(&headers(&ACCEPT, value)).is_ok(), accepted, "Accept {value}");
            assert_eq!(is_sent(&headers(&CONTENT_TYPE, value)).is_ok(), sent, "Content-Type {value}");
        }
        let WrongMedia(status, text) = accepts(&headers(&ACCEPT, "text/html")).unwrap_err();
        assert_eq!(status, 406);
        assert_eq!(text, format!("Accept is \"text/html\", and the only form is {MEDIA_TYPE}"));
        assert_eq!(is_sent(&HeaderMap::new()).unwrap_err().0, 415);
    }
}
