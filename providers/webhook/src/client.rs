//! HTTP only: asks the webhook, and says what came back.

use std::sync::Arc;
use std::time::Duration;

use gslb_provider_contract::{ProviderError, retry_after};
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{RequestBuilder, redirect};
use serde::Serialize;

use crate::answer::{Answer, Call, silent};
use crate::protocol::{Changes, DomainFilter, Endpoint, MEDIA_TYPE};
use crate::settings::{Settings, SetupError, WebhookUrl};

/// Largest reply that is read: 40 000 records, and a quarter of what external-dns reads. No outside reference.
const LARGEST_REPLY: usize = 8 << 20;
/// Longest time to connect: a webhook is next door. No outside reference.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Visits to one provider at once, beside which nothing is asked.
const IN_FLIGHT: usize = 4;

/// Is told of every exchange.
pub trait CallObserver: Send + Sync {
    /// One request, and whether its reply was what it was sent for.
    fn on_call(&self, success: bool);
}

/// For callers that do not measure.
impl CallObserver for () {
    fn on_call(&self, _: bool) {}
}

/// Why a call did not do what it was sent for.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) reached: Reached,
    pub(crate) error: ProviderError,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// It was not sent.
    Nobody,
    /// It may be carried out, now or later: no reply came, or one that does not say that it is over.
    Perhaps,
    /// The webhook is done with it, and what it did it does not say.
    Somebody,
}

pub(crate) struct Client {
    http: reqwest::Client,
    settings: Settings,
    observer: Arc<dyn CallObserver>,
}

impl Client {
    /// The environment's proxies are for what lies outside; a webhook does not.
    pub(crate) fn new(settings: Settings, observer: Arc<dyn CallObserver>) -> Result<Self, SetupError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            return Err(SetupError::NoCryptoProvider);
        }
        let http = reqwest::Client::builder()
            .user_agent(concat!("gslb-bridge/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(settings.request_timeout)
            .connect_timeout(CONNECT_TIMEOUT.min(settings.request_timeout))
            .pool_max_idle_per_host(IN_FLIGHT)
            .build()
            .map_err(|error| SetupError::Client { problem: error.to_string() })?;
        Ok(Self { http, settings, observer })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn url(&self) -> &WebhookUrl {
        &self.settings.url
    }

    /// Which names the webhook takes.
    pub(crate) async fn negotiate(&self) -> Result<DomainFilter, ProviderError> {
        let request = self.http.get(self.target(Call::Negotiate)).header(ACCEPT, MEDIA_TYPE);
        self.send(Call::Negotiate, request, |answer| answer.filter(self.url())).await.map_err(|f| f.error)
    }

    /// Everything that it has.
    pub(crate) async fn records(&self) -> Result<Vec<Endpoint>, ProviderError> {
        let request = self.http.get(self.target(Call::Records)).header(ACCEPT, MEDIA_TYPE);
        let read = |answer: &Answer| answer.endpoints(self.url(), Call::Records);
        self.send(Call::Records, request, read).await.map_err(|failure| failure.error)
    }

    /// What it would make of these. Writes nothing.
    pub(crate) async fn adjust(&self, endpoints: &[Endpoint]) -> Result<Vec<Endpoint>, ProviderError> {
        let request = self.posted(Call::Adjust, endpoints).header(ACCEPT, MEDIA_TYPE);
        let read = |answer: &Answer| answer.endpoints(self.url(), Call::Adjust);
        self.send(Call::Adjust, request, read).await.map_err(|failure| failure.error)
    }

    /// Has it make changes. Sent once, whatever comes of it.
    pub(crate) async fn apply(&self, changes: &Changes) -> Result<(), Failure> {
        self.send(Call::Apply, self.posted(Call::Apply, changes), |_| Ok(())).await
    }

    fn target(&self, call: Call) -> String {
        self.url().join(call.path())
    }

    /// The type is compared byte by byte by some, so it is not that of the library.
    fn posted<T: Serialize + ?Sized>(&self, call: Call, body: &T) -> RequestBuilder {
        let body = serde_json::to_vec(body).expect("endpoints are JSON");
        self.http.post(self.target(call)).header(CONTENT_TYPE, MEDIA_TYPE).body(body)
    }

    /// One request and what it was sent for.
    async fn send<T>(
        &self,
        call: Call,
        request: RequestBuilder,
        read: impl FnOnce(&Answer) -> Result<T, ProviderError>,
    ) -> Result<T, Failure> {
        let outcome = match self.exchange(request).await {
            Ok(answer) => {
                let reached = if answer.is_last_word() { Reached::Somebody } else { Reached::Perhaps };
                let read = answer.checked(self.url(), call).and_then(|answer| read(&answer));
                read.map_err(|error| Failure { reached, error })
            }
            Err(failure) => Err(failure),
        };
        tracing::debug!(call = call.name(), success = outcome.is_ok(), "Called the webhook.");
        self.observer.on_call(outcome.is_ok());
        outcome
    }

    async fn exchange(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let failed = |error: reqwest::Error| self.unanswered(error);
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let media = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let date = header(response.headers(), &DATE);
        let hint = header(response.headers(), &RETRY_AFTER);
        let now = (self.settings.clock)();
        let retry_after = hint.and_then(|hint| retry_after::pause(&hint, date.as_deref(), now));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_REPLY {
                let text = format!("the webhook at {} gave an answer of more than 8 MiB", self.url());
                let error = ProviderError::Unexpected { text };
                return Err(Failure { reached: Reached::Perhaps, error });
            }
        }
        Ok(Answer { status, media, retry_after, body })
    }

    fn unanswered(&self, error: reqwest::Error) -> Failure {
        let words = match () {
            () if error.is_timeout() => "no reply within WEBHOOK_PROVIDER_TIMEOUT_SECONDS",
            () if error.is_connect() => "it cannot be connected to",
            () => "the connection was closed before the reply was complete",
        };
        let reached =
            if error.is_connect() || error.is_builder() { Reached::Nobody } else { Reached::Perhaps };
        let text = silent(self.url(), words);
        let source = Some(error.without_url().into());
        Failure { reached, error: ProviderError::Unavailable { text, retry_after: None, source } }
    }
}

fn header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
