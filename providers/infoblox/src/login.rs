//! One log-in at a time, and never more bad ones than [`gslb_core::login`] allows.

use std::error::Error as _;
use std::future::Future;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::login::{Fingerprint, LoginDecision, LoginEnd, LoginRecord, Salt, decide};
use gslb_provider_contract::ProviderError;
use gslb_provider_contract::error::BoxError;
use jiff::{Timestamp, Unit};
use reqwest::StatusCode;
use secrecy::ExposeSecret;
use tokio::sync::{Mutex, MutexGuard};

use crate::answer::{Answer, Failure, Kind};
use crate::credentials::Credential;

/// Longest wait for the memory: well above a slow Kubernetes API, and no pass hangs on it. No outside reference.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// Tries to store how a log-in ended while other processes store as well. What is left is stored before the next one.
const STORE_TRIES: usize = 3;

/// Where the count of bad log-ins lives, so that it survives a restart.
#[async_trait]
pub trait LoginMemory: Send + Sync {
    /// What was stored last; nothing before the first time.
    ///
    /// # Errors
    /// It could not be read. Then there is no log-in.
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError>;

    /// Stores a record in the place of `before`, which was loaded or stored last.
    ///
    /// # Errors
    /// It could not be stored, or something else than `before` stands there: another process was faster. Then there
    /// is no log-in.
    async fn store(&self, before: Option<&LoginRecord>, record: &LoginRecord) -> Result<(), BoxError>;
}

/// A memory that lasts as long as the process: for tests and for commands that run once.
#[derive(Debug, Default)]
pub struct ForgetfulMemory(StdMutex<Option<LoginRecord>>);

#[async_trait]
impl LoginMemory for ForgetfulMemory {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn store(&self, before: Option<&LoginRecord>, record: &LoginRecord) -> Result<(), BoxError> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.as_ref() != before {
            return Err("another process stored meanwhile".into());
        }
        *stored = Some(record.clone());
        Ok(())
    }
}

/// Lets one request at a time send a credential.
pub(crate) struct LoginGate {
    memory: Arc<dyn LoginMemory>,
    patience: Duration,
    own: Mutex<Own>,
}

/// What this process knows beyond the memory.
#[derive(Default)]
pub(crate) struct Own {
    /// How the last log-in ended, until that is stored. Before that there is no other one.
    unsaved: Option<(Fingerprint, LoginEnd)>,
    /// Whose log-in was accepted last. The first log-in of each process is noted, so a memory that cannot be written
    /// is found out before a password is sent; after that a session is renewed without a note.
    accepted: Option<Fingerprint>,
}

/// The right to send a credential once. Whoever holds it must say how it ended.
pub(crate) struct Attempt<'a> {
    gate: &'a LoginGate,
    fingerprint: Fingerprint,
    /// When the credential was last tried before this.
    before: Option<Timestamp>,
    /// When it is tried.
    at: Timestamp,
    /// What is stored.
    stored: Option<LoginRecord>,
    own: MutexGuard<'a, Own>,
}

impl LoginGate {
    pub(crate) fn new(memory: Arc<dyn LoginMemory>, request_timeout: Duration) -> Self {
        Self { memory, patience: LONGEST_WAIT.min(request_timeout), own: Mutex::default() }
    }

    /// Another gate that counts in the same memory. Only one of the two may be used at a time.
    pub(crate) fn sharing_memory(&self) -> Self {
        Self::new(Arc::clone(&self.memory), self.patience)
    }

    /// Waits until no other request is logging in.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, Own> {
        self.own.lock().await
    }

    /// Asks whether the credential may be sent, and notes that it will be.
    pub(crate) async fn begin<'a>(
        &'a self,
        mut own: MutexGuard<'a, Own>,
        host: &str,
        credential: &Credential,
        now: Timestamp,
    ) -> Result<Attempt<'a>, ProviderError> {
        let stored = self.load().await?;
        let record = match &stored {
            Some(record) => record.clone(),
            None => LoginRecord::new(new_salt()?),
        };
        let unsaved = own.unsaved;
        let record =
            unsaved.iter().fold(record, |record, (print, end)| record.ended(*print, *end)).not_after(now);
        let stored = self.replace(stored, record.clone()).await?;
        own.unsaved = None;
        let password = credential.password.expose_secret();
        let fingerprint = Fingerprint::of(record.salt(), &credential.username, password);
        let rejected = record.is_rejected(fingerprint);
        match decide(&record, fingerprint, now) {
            LoginDecision::MayTry => {}
            LoginDecision::WaitUntil(until) => return Err(held(host, rejected, Some(until))),
            LoginDecision::BlockedUntilChanged => return Err(held(host, rejected, None)),
        }
        let before = record.last(fingerprint);
        let noted = own.accepted.take() != Some(fingerprint) || !record.is_proven(fingerprint);
        let stored = match noted {
            true => self.replace(stored, record.trying(fingerprint, now)).await?,
            false => stored,
        };
        // Until it is told otherwise: a try that ends with its caller is one whose end nobody saw.
        own.unsaved = Some((fingerprint, LoginEnd::Lost { at: now }));
        Ok(Attempt { gate: self, fingerprint, before, at: now, stored, own })
    }

    async fn load(&self) -> Result<Option<LoginRecord>, ProviderError> {
        self.in_time(self.memory.load()).await
    }

    /// Stores what differs from what is stored, and gives what is stored then.
    async fn replace(
        &self,
        stored: Option<LoginRecord>,
        record: LoginRecord,
    ) -> Result<Option<LoginRecord>, ProviderError> {
        if stored.as_ref() != Some(&record) {
            self.in_time(self.memory.store(stored.as_ref(), &record)).await?;
        }
        Ok(Some(record))
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, BoxError>>) -> Result<T, ProviderError> {
        let answer = tokio::time::timeout(self.patience, call).await;
        answer.unwrap_or_else(|late| Err(late.into())).map_err(unusable)
    }
}

impl Attempt<'_> {
    /// What came back says how it ended. What cost a log-in is marked as nothing to send again at once, as the next one may
    /// have to wait.
    pub(crate) async fn end_as(self, outcome: &mut Result<Answer, Failure>, now: Timestamp) {
        let (at, before) = (self.at, self.before);
        let end = match outcome {
            Ok(answer) if answer.status == StatusCode::UNAUTHORIZED => LoginEnd::Rejected { at: now },
            // Only WAPI itself has looked at the password: a 403, a 503 or a page may come from before it.
            Ok(answer) if answer.is_from_wapi() => LoginEnd::Accepted,
            Ok(answer) if answer.is_lost() => {
                answer.costs_login = true;
                LoginEnd::Lost { at }
            }
            Err(failure) if failure.is_lost() => {
                failure.kind = Kind::Slow;
                LoginEnd::Lost { at }
            }
            Ok(_) | Err(_) => LoginEnd::Unheard { at, before },
        };
        self.end(end).await;
    }

    async fn end(mut self, end: LoginEnd) {
        self.own.accepted = matches!(end, LoginEnd::Accepted).then_some(self.fingerprint);
        self.own.unsaved = Some((self.fingerprint, end));
        match self.save(end).await {
            Ok(()) => self.own.unsaved = None,
            Err(error) => {
                let cause = error.source().map(ToString::to_string);
                tracing::warn!(%error, cause, "The end of a log-in could not be stored; there is no other log-in before it is.");
            }
        }
    }

    async fn save(&mut self, end: LoginEnd) -> Result<(), ProviderError> {
        let mut stored = self.stored.take();
        let mut tries = STORE_TRIES;
        loop {
            // Somebody deleted the memory, to begin anew.
            let Some(record) = &stored else { return Ok(()) };
            let record = record.clone().ended(self.fingerprint, end);
            tries -= 1;
            match self.gate.replace(stored, record).await {
                Ok(_) => return Ok(()),
                Err(error) if tries == 0 => return Err(error),
                // Another process may have stored meanwhile.
                Err(_) => stored = self.gate.load().await?,
            }
        }
    }
}

fn held(host: &str, rejected: bool, until: Option<Timestamp>) -> ProviderError {
    let what = match rejected {
        true => "rejected the user name or the password (HTTP 401)",
        false => "gave no answer to the last log-in, and may have counted it as a bad one",
    };
    let when = match until {
        Some(until) => format!("tried once more at {}", until.round(Unit::Second).unwrap_or(until)),
        None => "not tried again before it changes".to_owned(),
    };
    let text = format!(
        "Infoblox at {host} {what}; to keep the account from being locked the same credential is {when}; correct it if it is wrong"
    );
    ProviderError::LoginHeld { text, until }
}

fn unusable(source: BoxError) -> ProviderError {
    let text =
        "the count of bad log-ins at Infoblox cannot be read or stored, so there is no log-in".to_owned();
    ProviderError::Unavailable { text, retry_after: None, source: Some(source) }
}

fn new_salt() -> Result<Salt, ProviderError> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    Ok(Salt::new(bytes))
}

/// Fills with random bytes.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), ProviderError> {
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(bytes).map_err(|_| unusable("the system gives no random numbers".into()))
}
