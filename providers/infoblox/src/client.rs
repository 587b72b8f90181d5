//! HTTP only: sends one request as somebody, and says what came back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backon::{ExponentialBuilder, Retryable};
use gslb_provider_contract::ProviderError;
use jiff::Timestamp;
use reqwest::header::COOKIE;
use reqwest::{Method, RequestBuilder, StatusCode};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::answer::{Answer, Failure, Kind, interpret};
use crate::bounds::{LARGEST_REPLY, MOST_VALUES, has_more_values};
use crate::breaker::{Breaker, Outage};
use crate::calls::{CallObserver, Operation};
use crate::connect;
use crate::credentials::Credential;
use crate::login::{LoginGate, LoginMemory};
use crate::master::Master;
use crate::recording::Tape;
use crate::secrets::Secrets;
use crate::session::Session;
use crate::settings::{GridAddress, Settings, SetupError};
use crate::transport;

/// Requests in flight at once (reference.md §1.5: no limit is published; four is what we allow ourselves).
pub(crate) const IN_FLIGHT: usize = 4;
/// A failed read is sent at most twice more.
const READ_RETRIES: usize = 2;
/// A grid that asks for a longer pause is left alone, and the caller told.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Where several operations are sent as one transaction.
pub(crate) const BATCH: &str = "request";

/// One request, without a credential.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Below the base URL, encoded.
    pub(crate) target: String,
    pub(crate) body: Option<Value>,
}

impl Request {
    /// Whether it may change something at the grid. Several searches are sent as one POST.
    fn is_write(&self) -> bool {
        self.method != Method::GET && operation(self) != Operation::ZoneRead
    }
}

pub(crate) struct Client {
    http: reqwest::Client,
    settings: Settings,
    slots: Semaphore,
    session: Session,
    master: Master,
    login: LoginGate,
    breaker: Mutex<Breaker>,
    observer: Arc<dyn CallObserver>,
    pub(crate) secrets: Secrets,
    pub(crate) tape: Option<Arc<Tape>>,
}

impl Client {
    pub(crate) fn new(
        settings: Settings,
        memory: Arc<dyn LoginMemory>,
        observer: Arc<dyn CallObserver>,
    ) -> Result<Self, SetupError> {
        let http = connect::build(&settings)?;
        let master = Master::among(settings.grids.len(), 0);
        let login = LoginGate::new(memory, settings.request_timeout);
        Ok(Self {
            http,
            settings,
            slots: Semaphore::new(IN_FLIGHT),
            session: Session::default(),
            master,
            login,
            breaker: Mutex::default(),
            observer,
            secrets: Secrets::default(),
            tape: None,
        })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same client for another version of the interface, with a session of its own; nothing if that is no version.
    pub(crate) fn in_version(&self, version: &str) -> Option<Self> {
        let grids = self.settings.grids.iter().map(|grid| grid.in_version(version)).collect::<Option<_>>()?;
        Some(Self {
            http: self.http.clone(),
            settings: Settings { grids, ..self.settings.clone() },
            slots: Semaphore::new(IN_FLIGHT),
            session: Session::default(),
            master: Master::among(self.settings.grids.len(), self.master.current()),
            login: self.login.sharing_memory(),
            breaker: Mutex::default(),
            observer: Arc::clone(&self.observer),
            secrets: Secrets::default(),
            tape: None,
        })
    }

    /// The address that is asked.
    pub(crate) fn grid(&self) -> &GridAddress {
        let grids = &self.settings.grids;
        &grids[self.master.current() % grids.len()]
    }

    /// Reads, and tries again what may pass. If the address does not answer as a master, the next one is asked, and kept.
    /// Only reads are sent to several: a write comes after one, and is sent to nobody else when it fails.
    pub(crate) async fn read(&self, target: String) -> Result<Value, Failure> {
        self.read_all(&Request { method: Method::GET, target, body: None }).await
    }

    /// The same for a batch of nothing but reads.
    pub(crate) async fn read_all(&self, request: &Request) -> Result<Value, Failure> {
        let asked = self.master.current();
        // One that has not let us in yet has not had its turn: a log-in may have to wait as long as that.
        let had_its_turn = self.session.cookie().is_some();
        if had_its_turn && self.master.is_due(asked, self.now()) && self.master.leave(asked).is_some() {
            self.session.forget();
        }
        let mut left = self.settings.grids.len();
        loop {
            let asked = self.master.current();
            let outcome = self.read_here(request).await;
            left -= 1;
            match &outcome {
                Err(failure) if left > 0 && failure.is_elsewhere() => self.move_on(asked, failure),
                _ => return outcome,
            }
        }
    }

    /// The next address, unless another request has gone there already. A session is of one master.
    fn move_on(&self, asked: usize, failure: &Failure) {
        let Some(next) = self.master.leave(asked) else { return };
        self.session.forget();
        if failure.kind != Kind::Elsewhere {
            self.master.doubt(next, self.now());
        }
        let [from, to] = [asked, next].map(|index| self.settings.grids[index].host());
        let error = &failure.error;
        tracing::warn!(from, to, %error, "This address is not the Grid Master now; the next one is asked.");
    }

    /// Only a master takes a write. What says that it is none is not asked again by the next try.
    fn learn_of(&self, asked: usize, outcome: &Result<Value, Failure>) {
        match outcome {
            Ok(_) => self.master.trust(asked),
            Err(failure) if failure.kind == Kind::Elsewhere => {
                self.master.doubt(asked, self.now());
                self.move_on(asked, failure);
            }
            Err(_) => {}
        }
    }

    async fn read_here(&self, request: &Request) -> Result<Value, Failure> {
        let retries = if self.settings.grids.len() > 1 { 0 } else { READ_RETRIES };
        let pauses = ExponentialBuilder::default()
            .with_min_delay(self.settings.retry_pause)
            .with_max_times(retries)
            .with_jitter();
        let send = || self.send(request);
        send.retry(pauses)
            .when(|failure: &Failure| matches!(failure.kind, Kind::Untaken | Kind::Passing))
            .adjust(|failure, pause| Some(pause?.max(hint(failure))).filter(|pause| *pause <= LONGEST_WAIT))
            .await
    }

    /// Sends once, whatever comes of it. Writes use this directly.
    pub(crate) async fn send(&self, request: &Request) -> Result<Value, Failure> {
        let _slot = self.slots.acquire().await.expect("the semaphore is never closed");
        self.admit()?;
        let asked = self.master.current();
        let began = self.tape.as_ref().map(|tape| tape.begin());
        let outcome = self.send_as_somebody(request).await;
        if let (Some(tape), Some(began)) = (&self.tape, began) {
            tape.end(began, request, &outcome);
        }
        let outcome =
            outcome.and_then(|answer| interpret(&self.settings.grids[asked], &self.secrets, answer));
        self.note(&outcome);
        if request.is_write() {
            self.learn_of(asked, &outcome);
        }
        outcome
    }

    /// Ends the session, if there is one.
    pub(crate) async fn logout(&self) -> Result<(), Failure> {
        let Some(cookie) = self.session.cookie() else {
            return Ok(());
        };
        self.session.end(&cookie);
        let request = Request { method: Method::POST, target: "logout".to_owned(), body: None };
        let builder = self.builder(&request).header(COOKIE, cookie);
        let answer = self.exchange(builder, None).await?;
        match answer.status.is_success() {
            true => Ok(()),
            false => interpret(self.grid(), &self.secrets, answer).map(drop),
        }
    }

    /// With the session if there is one, else with the credential, one request at a time.
    async fn send_as_somebody(&self, request: &Request) -> Result<Answer, Failure> {
        if let Some(answer) = self.send_in_session(request).await? {
            return Ok(answer);
        }
        let turn = self.login.turn().await;
        // Another request may have logged in while this one waited.
        if let Some(answer) = self.send_in_session(request).await? {
            return Ok(answer);
        }
        let credential = self.settings.credentials.read().map_err(Failure::here)?;
        let host = self.grid().host();
        let attempt = self.login.begin(turn, host, &credential, self.now()).await.map_err(Failure::here)?;
        let mut answer = self.send_with(request, &credential).await;
        attempt.end_as(&mut answer, self.now()).await;
        answer
    }

    /// Nothing if there is no session, or not any more. A stale session shows as 401, which has done nothing, so the
    /// request may be sent again. Sometimes it shows as 403 (reference.md §1.3), but so does a proxy that does not like
    /// the reply to a write that was made: only a read is sent again then.
    async fn send_in_session(&self, request: &Request) -> Result<Option<Answer>, Failure> {
        let Some(cookie) = self.session.cookie() else {
            return Ok(None);
        };
        let builder = self.builder(request).header(COOKIE, &cookie);
        let answer = self.exchange(builder, Some(request)).await?;
        if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            self.session.end(&cookie);
            if answer.status == StatusCode::UNAUTHORIZED || !request.is_write() {
                return Ok(None);
            }
        }
        Ok(Some(answer))
    }

    async fn send_with(&self, request: &Request, credential: &Credential) -> Result<Answer, Failure> {
        let password = credential.password.expose_secret();
        self.secrets.note(password);
        let builder = self.builder(request).basic_auth(&credential.username, Some(password));
        self.exchange(builder, Some(request)).await
    }

    fn builder(&self, request: &Request) -> RequestBuilder {
        // Never `Url::join`: it takes the `record:` of a reference for a scheme.
        let url = format!("{}/{}", self.grid().base(), request.target);
        let builder = self.http.request(request.method.clone(), url);
        match &request.body {
            Some(body) => builder.json(body),
            None => builder,
        }
    }

    /// One request and its reply, measured if it is about a zone.
    async fn exchange(&self, builder: RequestBuilder, measured: Option<&Request>) -> Result<Answer, Failure> {
        let (started, asked) = (Instant::now(), self.master.current());
        let answer = self.answer(builder).await;
        // A session of an address that was left meanwhile is of no use at the next one.
        if let (Some(_), Ok(answer), true) = (measured, &answer, self.master.current() == asked) {
            self.keep_session(answer);
        }
        // A function is about the grid, not about a zone.
        if let Some(request) = measured.filter(|request| !request.target.contains("?_function=")) {
            let status = answer.as_ref().ok().map(|answer| answer.status.as_u16());
            let success = answer.as_ref().is_ok_and(Answer::is_success);
            self.observer.on_call(operation(request), success, started.elapsed());
            tracing::debug!(method = %request.method, target = %request.target, status, "Called WAPI.");
        }
        answer
    }

    async fn answer(&self, builder: RequestBuilder) -> Result<Answer, Failure> {
        let host = self.grid().host();
        let failed = |error| transport::failure(host, error);
        let request = builder.build().map_err(failed)?;
        self.secrets.note_headers(request.headers());
        let mut response = self.http.execute(request).await.map_err(failed)?;
        let too_large = |text: &str| {
            let text = format!("Infoblox at {host} gave an answer of more than {text}");
            Failure { kind: Kind::TooLarge, error: ProviderError::Unexpected { text } }
        };
        let mut body = vec![];
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST_REPLY {
                return Err(too_large("1 MiB"));
            }
        }
        if has_more_values(&body, MOST_VALUES) {
            return Err(too_large(&format!("{MOST_VALUES} values")));
        }
        Ok(Answer::of(&response, body, self.now()))
    }

    /// Takes over the session of a reply whose request was let in: a rejected one, a page and a log-out set cookies
    /// too, which belong to no session. A 400 or 404 of WAPI is let in, and its session would stay open unused.
    fn keep_session(&self, answer: &Answer) {
        let let_in = answer.status.is_success()
            || matches!(answer.status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
        if let (true, true, Some(cookie)) = (let_in, answer.is_from_wapi(), &answer.session) {
            self.session.renew(cookie.clone());
        }
    }

    fn admit(&self) -> Result<(), Failure> {
        let now = self.now();
        self.breaker().admit(now).map_err(|(pause, outage)| {
            Failure::last(match outage {
                Outage::Unavailable(text) => {
                    let retry_after = Duration::try_from(pause).ok();
                    ProviderError::Unavailable { text, retry_after, source: None }
                }
                Outage::Forbidden(text) => ProviderError::Forbidden { text },
            })
        })
    }

    fn note(&self, outcome: &Result<Value, Failure>) {
        let now = self.now();
        let mut breaker = self.breaker();
        if matches!(outcome, Err(Failure { kind: Kind::Here, .. })) {
            return;
        }
        match outcome.as_ref().map_err(|failure| &failure.error) {
            Err(ProviderError::Unavailable { text, retry_after, .. }) => {
                breaker.failed(Outage::Unavailable(text.clone()), now);
                // A shorter pause the read makes that met it.
                if let Some(pause) = retry_after.filter(|pause| *pause > LONGEST_WAIT) {
                    breaker.told(Outage::Unavailable(text.clone()), pause, now);
                }
            }
            Err(ProviderError::Forbidden { text }) => breaker.failed(Outage::Forbidden(text.clone()), now),
            Ok(_) | Err(_) => breaker.succeeded(),
        }
    }

    fn breaker(&self) -> std::sync::MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        (self.settings.clock)()
    }
}

fn operation(request: &Request) -> Operation {
    let is_get = |operation: &Value| operation["method"] == "GET";
    let operations = request.body.as_ref().and_then(Value::as_array).filter(|_| request.target == BATCH);
    match (request.method.as_str(), operations) {
        (_, Some(all)) if all.iter().all(is_get) => Operation::ZoneRead,
        (_, Some(all)) if all.iter().any(|operation| operation["method"] == "DELETE") => {
            Operation::ZoneDelete
        }
        (_, Some(_)) => Operation::ZoneUpdate,
        ("POST", None) => Operation::ZoneCreate,
        ("PUT", None) => Operation::ZoneUpdate,
        ("DELETE", None) => Operation::ZoneDelete,
        (_, None) => Operation::ZoneRead,
    }
}

fn hint(failure: &Failure) -> Duration {
    if let ProviderError::Unavailable { retry_after, .. } = &failure.error {
        return retry_after.unwrap_or_default();
    }
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_of_searches_is_no_write() {
        let request = |method, target: &str, body| Request { method, target: target.to_owned(), body };
        let search = || serde_json::json!({"method": "GET"});
        let cases = [
            (request(Method::GET, "grid", None), false),
            (request(Method::POST, BATCH, Some(serde_json::json!([search(), search()]))), false),
            (request(Method::POST, BATCH, Some(serde_json::json!([search(), {"method": "PUT"}]))), true),
            (request(Method::POST, "zone_delegated", Some(search())), true),
            (request(Method::POST, "grid/x?_function=restartservices", None), true),
        ];
        for (request, writes) in cases {
            assert_eq!(request.is_write(), writes, "{request:?}");
        }
    }
}
