//! What a reply means: the status first, then the media type, then the body.

use std::time::Duration;

use gslb_core::text::quoted;
use gslb_provider_contract::ProviderError;
use reqwest::StatusCode;

use crate::protocol::media::{is_another_version, is_ours};
use crate::protocol::{DomainFilter, Endpoint, MEDIA_TYPE, endpoints_up_to};
use crate::settings::WebhookUrl;

/// Most sets that are read: more than the largest zone that anybody has external-dns keep (5 000 are what it is measured
/// with), and some 20 MB. No outside reference.
pub(crate) const MOST_SETS: usize = 50_000;
/// How the sentence ends for something that passes: the daemon goes on asking.
const BY_ITSELF: &str = "; it is tried again by itself";
/// Words of a body that is quoted; the characters are bounded besides.
const WORDS: usize = 60;

/// What is asked of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Negotiate,
    Records,
    Adjust,
    Apply,
}

impl Call {
    /// As a sentence and an operator's log call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Negotiate => "GET /",
            Self::Records => "GET /records",
            Self::Adjust => "POST /adjustendpoints",
            Self::Apply => "POST /records",
        }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Negotiate => "",
            Self::Records | Self::Apply => "/records",
            Self::Adjust => "/adjustendpoints",
        }
    }

    /// Whether the status says that it was done, as external-dns reads it.
    fn is_done(self, status: StatusCode) -> bool {
        match self {
            Self::Negotiate => status.is_success(),
            Self::Records | Self::Adjust => status == StatusCode::OK,
            Self::Apply => status == StatusCode::NO_CONTENT,
        }
    }
}

/// A reply, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) media: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Whether the webhook is done with the request. A webhook that fails says 500; what else there is of that kind comes
    /// from a gateway before it, or from one that goes on behind its answer, as that of this project does at its deadline.
    pub(crate) fn is_last_word(&self) -> bool {
        !self.status.is_server_error() || self.status == StatusCode::INTERNAL_SERVER_ERROR
    }

    /// Whether it says that the call was done.
    ///
    /// # Errors
    /// One for each thing that somebody else has to do about it.
    pub(crate) fn checked(self, url: &WebhookUrl, call: Call) -> Result<Self, ProviderError> {
        if call.is_done(self.status) {
            return Ok(self);
        }
        let (status, said) = (self.status.as_u16(), said(&self.body));
        let text = format!("the webhook at {url} answered {} with HTTP {status}{said}", call.name());
        Err(match status {
            401 | 403 => ProviderError::Forbidden {
                text: format!(
                    "{text}; the protocol knows no log-in, so let whatever asks for one let this cluster pass"
                ),
            },
            406 | 415 => ProviderError::Misconfigured {
                text: format!("{text}; it does not speak {MEDIA_TYPE}, the only form that is spoken here"),
            },
            300..=399 | 404 | 405 => ProviderError::Misconfigured {
                text: format!(
                    "{text}; correct WEBHOOK_PROVIDER_URL to where a webhook provider of external-dns is"
                ),
            },
            429 | 500..=599 => ProviderError::Unavailable {
                text: format!("{text}{BY_ITSELF}"),
                retry_after: self.retry_after,
                source: None,
            },
            400..=499 => ProviderError::Refused { text },
            _ => ProviderError::Unexpected { text },
        })
    }

    /// The filter of a negotiation.
    ///
    /// # Errors
    /// It is another form or version than ours, or no filter.
    pub(crate) fn filter(&self, url: &WebhookUrl) -> Result<DomainFilter, ProviderError> {
        if !is_ours(&self.media) {
            let text = format!(
                "the webhook at {url} answers GET / as {}, and the only form that is spoken here is {MEDIA_TYPE}; use a webhook provider of that version, or correct WEBHOOK_PROVIDER_URL",
                self.media()
            );
            return Err(ProviderError::Misconfigured { text });
        }
        serde_json::from_slice(&self.body).map_err(|error| self.unreadable(url, Call::Negotiate, &error))
    }

    /// The sets of a listing, or of what was adjusted. The client of external-dns does not look at the type here, so
    /// webhooks say many things; but a page is none, and another version may mean another thing by the same fields.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn endpoints(&self, url: &WebhookUrl, call: Call) -> Result<Vec<Endpoint>, ProviderError> {
        if is_another_version(&self.media) {
            let text = format!(
                "the webhook at {url} answers {} as {}, and the only form that is spoken here is {MEDIA_TYPE}",
                call.name(),
                self.media()
            );
            return Err(ProviderError::Misconfigured { text });
        }
        endpoints_up_to(&self.body, MOST_SETS).map_err(|error| self.unreadable(url, call, &error))
    }

    fn unreadable(&self, url: &WebhookUrl, call: Call, error: &serde_json::Error) -> ProviderError {
        let text = format!(
            "the webhook at {url} answers {} as {} with something that is none of the protocol ({}){}",
            call.name(),
            self.media(),
            quoted(&error.to_string()),
            said(&self.body)
        );
        ProviderError::Unexpected { text }
    }

    fn media(&self) -> String {
        if self.media.is_empty() { "nothing in particular".to_owned() } else { quoted(&self.media) }
    }
}

/// The beginning of a body, behind a colon.
fn said(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let words = start.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" ");
    if words.is_empty() { String::new() } else { format!(": {}", quoted(&words)) }
}

/// The sentence for a webhook that did not answer.
pub(crate) fn silent(url: &WebhookUrl, words: &str) -> String {
    format!("the webhook at {url} is unavailable: {words}{BY_ITSELF}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url() -> WebhookUrl {
        WebhookUrl::parse("http://localhost:8888").unwrap()
    }

    fn answer(status: u16, media: &str, body: &str) -> Answer {
        Answer {
            status: StatusCode::from_u16(status).unwrap(),
            media: media.to_owned(),
            retry_after: None,
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_status_means_what_somebody_has_to_do_about_it() {
        let table = [
            (Call::Negotiate, 204, None),
            (Call::Records, 200, None),
            (Call::Records, 204, Some("UnexpectedAnswer")),
            (Call::Adjust, 201, Some("UnexpectedAnswer")),
            (Call::Apply, 204, None),
            (Call::Apply, 200, Some("UnexpectedAnswer")),
            (Call::Apply, 400, Some("Refused")),
            (Call::Apply, 413, Some("Refused")),
            (Call::Records, 302, Some("Misconfigured")),
            (Call::Records, 404, Some("Misconfigured")),
            (Call::Negotiate, 406, Some("Misconfigured")),
            (Call::Records, 403, Some("Forbidden")),
            (Call::Records, 429, Some("ProviderUnavailable")),
            (Call::Records, 500, Some("ProviderUnavailable")),
            (Call::Apply, 503, Some("ProviderUnavailable")),
        ];
        for (call, status, reason) in table {
            let found = answer(status, MEDIA_TYPE, "").checked(&url(), call).err();
            assert_eq!(found.map(|error| error.reason()), reason, "{call:?} {status}");
        }
    }

    #[test]
    fn a_refusal_quotes_what_was_said_in_one_bounded_line() {
        let body = format!("<html>\n  no\tway {}", "x".repeat(5000));
        let told = answer(500, "", &body).checked(&url(), Call::Apply).unwrap_err().to_string();
        let start =
            "the webhook at http://localhost:8888 answered POST /records with HTTP 500: <html> no way xx";
        assert!(told.starts_with(start) && told.ends_with("…; it is tried again by itself"), "{told}");
        assert!(told.len() < 500, "{}", told.len());
    }

    #[test]
    fn a_negotiation_in_another_form_names_both() {
        let filter = |media: &str, body: &str| answer(200, media, body).filter(&url());
        assert_eq!(filter(MEDIA_TYPE, "{}").unwrap(), DomainFilter::default());
        for media in ["application/external.dns.webhook+json;version=2", "text/html"] {
            let error = filter(media, "{}").unwrap_err();
            assert_eq!(error.reason(), "Misconfigured");
            assert!(error.to_string().contains(media) && error.to_string().contains(MEDIA_TYPE), "{error}");
        }
        assert!(filter("", "{}").unwrap_err().to_string().contains("as nothing in particular"));
        for body in ["", "<html>", r#"{"include": ["a"], "regexInclude": "b"}"#, r#"{"include":"#] {
            assert_eq!(filter(MEDIA_TYPE, body).unwrap_err().reason(), "UnexpectedAnswer", "{body}");
        }
    }

    #[test]
    fn a_listing_is_a_list_of_endpoints_whatever_type_it_says_it_is() {
        let list = |media: &str, body: &str| answer(200, media, body).endpoints(&url(), Call::Records);
        for media in [MEDIA_TYPE, "application/json", "text/plain; charset=utf-8", ""] {
            assert_eq!(list(media, "null").unwrap(), [], "{media}");
        }
        let error = list("application/external.dns.webhook+json;version=3", "[]").unwrap_err();
        assert_eq!(error.reason(), "Misconfigured");
        for body in ["", "<html>hello</html>", r#"[{"dnsName":"#, r#"{"items":[]}"#, "[1]"] {
            let error = list(MEDIA_TYPE, body).unwrap_err();
            assert_eq!(error.reason(), "UnexpectedAnswer", "{body}");
        }
        assert!(list("text/html", "<html>hello").unwrap_err().to_string().ends_with(": <html>hello"));
    }
}
