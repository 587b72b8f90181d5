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
use secrecy::ExposeSecret;
use tokio::sync::{Mutex, MutexGuard};

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
    /// It was accepted before, and not rejected since.
    proven: bool,
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
        let (before, proven) = (record.last(fingerprint), record.is_proven(fingerprint));
        // Taken: a try that ends with its caller is one whose end nobody saw, so the next one is noted.
        let stored = match own.accepted.take() == Some(fingerprint) && proven {
            true => stored,
            false => self.replace(stored, record.trying(fingerprint, now)).await?,
        };
        Ok(Attempt { gate: self, fingerprint, before, proven, stored, own })
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
    pub(crate) async fn rejected(self, now: Timestamp) {
        self.end(LoginEnd::Rejected { at: now }).await;
    }

    pub(crate) async fn accepted(self) {
        self.end(LoginEnd::Accepted).await;
    }

    /// It was sent, and the reply was lost. A credential that was never accepted may be a wrong one then, and the grid may
    /// have counted it.
    pub(crate) async fn lost(self, now: Timestamp) {
        match self.proven {
            true => self.unanswered().await,
            false => self.end(LoginEnd::Lost { at: now }).await,
        }
    }

    /// The grid gave no verdict on the credential.
    pub(crate) async fn unanswered(self) {
        let before = self.before;
        self.end(LoginEnd::Unanswered { before }).await;
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
        false => "gave no answer to the last log-ins, and may have counted them as bad ones",
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
