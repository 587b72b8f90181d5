//! One log-in at a time, and never more bad ones than [`gslb_core::login`] allows.

use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use async_trait::async_trait;
use gslb_core::login::{Fingerprint, LoginDecision, LoginRecord, Salt, decide};
use gslb_provider_contract::ProviderError;
use gslb_provider_contract::error::BoxError;
use jiff::Timestamp;
use secrecy::ExposeSecret;
use tokio::sync::{Mutex, MutexGuard};

use crate::credentials::Credential;

/// Where the count of bad log-ins lives, so that it survives a restart.
#[async_trait]
pub trait LoginMemory: Send + Sync {
    /// What was stored last; nothing before the first time.
    ///
    /// # Errors
    /// It could not be read. Then there is no log-in.
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError>;

    /// Stores a record.
    ///
    /// # Errors
    /// It could not be stored. Then there is no log-in.
    async fn store(&self, record: &LoginRecord) -> Result<(), BoxError>;
}

/// A memory that lasts as long as the process: for tests and for commands that run once.
#[derive(Debug, Default)]
pub struct ForgetfulMemory(StdMutex<Option<LoginRecord>>);

#[async_trait]
impl LoginMemory for ForgetfulMemory {
    async fn load(&self) -> Result<Option<LoginRecord>, BoxError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    async fn store(&self, record: &LoginRecord) -> Result<(), BoxError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(record.clone());
        Ok(())
    }
}

/// Lets one request at a time send a credential.
pub(crate) struct LoginGate {
    memory: Arc<dyn LoginMemory>,
    turn: Mutex<()>,
}

/// The right to send a credential once. Whoever holds it must say how it ended.
pub(crate) struct Attempt<'a> {
    memory: &'a dyn LoginMemory,
    fingerprint: Fingerprint,
    before: LoginRecord,
    noted: LoginRecord,
    _turn: MutexGuard<'a, ()>,
}

impl LoginGate {
    pub(crate) fn new(memory: Arc<dyn LoginMemory>) -> Self {
        Self { memory, turn: Mutex::new(()) }
    }

    /// Another gate that counts in the same memory. Only one of the two may be used at a time.
    pub(crate) fn sharing_memory(&self) -> Self {
        Self::new(Arc::clone(&self.memory))
    }

    /// Waits until no other request is logging in.
    pub(crate) async fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Asks whether the credential may be sent, and notes that it will be.
    pub(crate) async fn begin<'a>(
        &'a self,
        turn: MutexGuard<'a, ()>,
        host: &str,
        credential: &Credential,
        now: Timestamp,
    ) -> Result<Attempt<'a>, ProviderError> {
        let memory = &*self.memory;
        let stored = memory.load().await.map_err(unusable)?;
        let before = match stored {
            Some(record) => record,
            None => LoginRecord::new(new_salt()?),
        };
        let password = credential.password.expose_secret();
        let fingerprint = Fingerprint::of(before.salt(), &credential.username, password);
        match decide(&before, fingerprint, now) {
            LoginDecision::MayTry => {}
            LoginDecision::WaitUntil(until) => return Err(held(host, Some(until))),
            LoginDecision::BlockedUntilChanged => return Err(held(host, None)),
        }
        let noted = before.clone().trying(fingerprint, now);
        if noted != before {
            memory.store(&noted).await.map_err(unusable)?;
        }
        Ok(Attempt { memory, fingerprint, before, noted, _turn: turn })
    }
}

impl Attempt<'_> {
    pub(crate) async fn rejected(self, now: Timestamp) {
        let record = self.noted.clone().rejected(self.fingerprint, now);
        self.settle(record).await;
    }

    pub(crate) async fn accepted(self) {
        let record = self.noted.clone().accepted(self.fingerprint);
        self.settle(record).await;
    }

    /// The grid gave no verdict on the credential.
    pub(crate) async fn unanswered(self) {
        let record = self.before.clone();
        self.settle(record).await;
    }

    /// What was noted before errs on the safe side, so a failure here is no more than a warning.
    async fn settle(self, record: LoginRecord) {
        if record != self.noted
            && let Err(error) = self.memory.store(&record).await
        {
            tracing::warn!(%error, "The end of a log-in could not be stored; it counts as rejected.");
        }
    }
}

fn held(host: &str, until: Option<Timestamp>) -> ProviderError {
    let when = match until {
        Some(_) => "tried once more after a minute",
        None => "not tried again before it changes",
    };
    let text = format!(
        "Infoblox at {host} rejected the user name or the password (HTTP 401), or never answered an earlier log-in; to keep the account from being locked the same credential is {when}; correct it if it is wrong"
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
