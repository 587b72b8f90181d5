//! How often a credential may be tried: two bad log-ins, then never again until it changes.
//!
//! A grid blocks a client, and then its whole address, after a handful of bad log-ins (five within seconds were
//! enough on a real one), so the count must hold across restarts. The machine is pure; its memory is plain data
//! that the caller stores.
//!
//! What follows from the end of a try:
//!
//! | How it ended | may be a bad log-in | never accepted | accepted before |
//! |---|---|---|---|
//! | rejected | it is one | again after 60 s, then never | again after 5 minutes, then never |
//! | sent, no reply: reset, time-out, a gateway's 5xx but 503, or the process ended | yes | again after 60 s, 120 s, … 16 minutes | again at once, then after 60 s, 120 s, … 5 minutes |
//! | one of two in this way, the other rejected | yes | never | never |
//! | a reply that is no verdict: 503, 403, a redirect, a page | no: it came in place of a verdict | as if it had not been | as if it had not been |
//! | no connection, so nothing was sent | no | as if it had not been | as if it had not been |
//! | accepted | no | everything is forgotten | everything is forgotten |
//!
//! A restart changes none of it. A session that lives needs no log-in, and one that was accepted is a bad one only if it was
//! changed at the backend during the very outage that keeps the replies: so it is tried once more at once, perhaps at another
//! address, as when a master fails over.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Bad log-ins per credential (design §2.5: "at most two").
pub const MAX_BAD_LOGINS: u8 = 2;
/// Time between the first bad log-in and the second (design §2.5).
pub const BAD_LOGIN_PAUSE: SignedDuration = SignedDuration::from_secs(60);
/// The same for a credential that was accepted before. It was not mistyped: somebody changed it at the grid, or the grid
/// locked the account. A lock of a grid lasts five minutes unless it is set otherwise (reference.md §1.3), and other
/// clusters may use the same account.
pub const PROVEN_LOGIN_PAUSE: SignedDuration = SignedDuration::from_secs(300);
/// Credentials that are remembered. No outside reference: a roll-out has two, an operator who tries some a few more.
pub const MOST_CREDENTIALS: usize = 8;
/// When that many were rejected, one is forgotten for another after this time. No outside reference.
pub const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// Random bytes that make one installation's fingerprints useless for another. The caller draws them once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Salt([u8; 16]);

/// Recognises a credential without being able to give it back: HMAC-SHA-256 under the [`Salt`], cut to 32 bits.
///
/// The memory lies in a ConfigMap, where more people can read it than may read the Secret, and its salt lies
/// beside it. A whole HMAC would be an offline oracle: a brute force would end with the one right password. Of
/// 32 bits about one candidate in four billion matches, so a search through a large space ends with very many
/// candidates that only the grid can tell apart, and the grid locks out. (A short list that holds the password
/// can still be narrowed down: a weak password stays weak.) Two different secrets in a row collide once in four
/// billion changes; then the next change helps.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(u32);

/// A text that is no salt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a salt has 32 hexadecimal digits")]
pub struct SaltError;

/// What is remembered of log-ins with one backend: the credentials that were tried last, each with its own count, so
/// that two processes with different ones (a roll-out with a changed Secret) cannot reset one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginRecord {
    salt: Salt,
    /// At most [`MOST_CREDENTIALS`], in the order of their first try.
    #[serde(default)]
    tries: Vec<Tries>,
}

/// The tries of one credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tries {
    fingerprint: Fingerprint,
    /// It was accepted at some time.
    #[serde(default)]
    proven: bool,
    /// Tries that were rejected since it was last accepted.
    #[serde(default)]
    bad: u8,
    /// Tries whose end nobody saw: the reply was lost, or the process ended first.
    #[serde(default)]
    unanswered: u8,
    /// When it was last tried, if that try counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last: Option<Timestamp>,
}

/// How a try ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginEnd {
    /// The backend rejected the credential.
    Rejected {
        /// When.
        at: Timestamp,
    },
    /// The backend accepted it.
    Accepted,
    /// It was sent and the reply was lost: the backend may have rejected the credential.
    Lost {
        /// When the try was noted, or would have been.
        at: Timestamp,
    },
    /// Nothing was sent, or something came in place of a verdict.
    Unheard {
        /// When the try was noted, or would have been.
        at: Timestamp,
        /// What [`LoginRecord::last`] said before that.
        before: Option<Timestamp>,
    },
}

/// Whether a credential may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginDecision {
    /// It may.
    MayTry,
    /// It was rejected once; not before this time.
    WaitUntil(Timestamp),
    /// It was rejected twice; only another credential may be tried.
    BlockedUntilChanged,
}

impl Salt {
    /// Takes 16 random bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for Salt {
    type Error = SaltError;
    fn try_from(text: String) -> Result<Self, SaltError> {
        let bytes = hex::decode(text).map_err(|_| SaltError)?;
        bytes.try_into().map(Self).map_err(|_| SaltError)
    }
}

impl From<Salt> for String {
    fn from(salt: Salt) -> Self {
        hex::encode(salt.0)
    }
}

impl Fingerprint {
    /// The fingerprint of a user name and a password.
    pub fn of(salt: &Salt, username: &str, password: &str) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(&salt.0).expect("HMAC takes a key of any length");
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        mac.update(&(username.len() as u64).to_be_bytes());
        mac.update(username.as_bytes());
        mac.update(password.as_bytes());
        let bytes = mac.finalize().into_bytes();
        Self(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(…)")
    }
}

impl LoginRecord {
    /// Nothing tried yet.
    pub fn new(salt: Salt) -> Self {
        Self { salt, tries: vec![] }
    }

    /// The salt for [`Fingerprint::of`].
    pub fn salt(&self) -> &Salt {
        &self.salt
    }

    /// When the credential was last tried, if that try counts.
    pub fn last(&self, fingerprint: Fingerprint) -> Option<Timestamp> {
        self.of(fingerprint)?.last
    }

    /// Whether the backend rejected the credential since it was last accepted.
    pub fn is_rejected(&self, fingerprint: Fingerprint) -> bool {
        self.of(fingerprint).is_some_and(|tries| tries.bad > 0)
    }

    /// Whether the credential was accepted, and not rejected since.
    pub fn is_proven(&self, fingerprint: Fingerprint) -> bool {
        self.of(fingerprint).is_some_and(|tries| tries.proven && tries.is_settled())
    }

    /// The record to store before a credential is sent: the try is noted first, so that processes that end in the
    /// middle cannot repeat it without a pause. A process whose own log-in with a [proven](Self::is_proven) credential
    /// was accepted may leave it out, so that a session that is renewed costs no write.
    #[must_use]
    pub fn trying(mut self, fingerprint: Fingerprint, now: Timestamp) -> Self {
        let tries = self.entry(fingerprint);
        tries.unanswered = tries.unanswered.saturating_add(1);
        tries.last = Some(now);
        self
    }

    /// The record after a try that was noted, or needed no note.
    #[must_use]
    pub fn ended(mut self, fingerprint: Fingerprint, end: LoginEnd) -> Self {
        let tries = self.entry(fingerprint);
        let unanswered = tries.unanswered.saturating_sub(1);
        match end {
            // Told again, as nobody knew whether it was stored.
            LoginEnd::Rejected { at } if tries.is_counted(at) => {}
            LoginEnd::Rejected { at } => {
                tries.bad = tries.bad.saturating_add(1);
                (tries.unanswered, tries.last) = (unanswered, Some(at));
            }
            LoginEnd::Accepted => {
                *tries = Tries { proven: true, bad: 0, unanswered: 0, last: None, ..*tries };
            }
            // It was noted, or told before.
            LoginEnd::Lost { at } if tries.unanswered > 0 && tries.last == Some(at) => {}
            LoginEnd::Lost { at } => {
                (tries.unanswered, tries.last) = (tries.unanswered.saturating_add(1), Some(at));
            }
            LoginEnd::Unheard { at, before } if tries.last == Some(at) => {
                (tries.unanswered, tries.last) = (unanswered, before);
            }
            // It was not noted, or told before.
            LoginEnd::Unheard { .. } => {}
        }
        // What was never accepted nor rejected need not be remembered.
        self.tries.retain(|tries| tries.proven || !tries.is_settled());
        self
    }

    /// Without times that lie ahead: the clock was set back since, and a pause must not become longer by that.
    #[must_use]
    pub fn not_after(mut self, now: Timestamp) -> Self {
        for tries in &mut self.tries {
            tries.last = tries.last.map(|last| last.min(now));
        }
        self
    }

    fn of(&self, fingerprint: Fingerprint) -> Option<&Tries> {
        self.tries.iter().find(|tries| tries.fingerprint == fingerprint)
    }

    fn entry(&mut self, fingerprint: Fingerprint) -> &mut Tries {
        let known = self.tries.iter().position(|tries| tries.fingerprint == fingerprint);
        let index = known.unwrap_or_else(|| {
            if self.tries.len() >= MOST_CREDENTIALS
                && let Some(oldest) = self.oldest()
            {
                self.tries.remove(oldest);
            }
            self.tries.push(Tries { fingerprint, proven: false, bad: 0, unanswered: 0, last: None });
            self.tries.len() - 1
        });
        &mut self.tries[index]
    }

    /// What is forgotten first: a credential without bad tries, else the one that was tried the longest time ago.
    fn oldest(&self) -> Option<usize> {
        let all = self.tries.iter().enumerate();
        all.min_by_key(|(_, tries)| tries.last).map(|(index, _)| index)
    }
}

impl Tries {
    /// Whether a rejection at that time is in the count already.
    fn is_counted(&self, at: Timestamp) -> bool {
        self.bad > 0 && self.unanswered == 0 && self.last == Some(at)
    }

    fn is_settled(&self) -> bool {
        self.bad == 0 && self.unanswered == 0
    }
}

/// Whether a credential may be sent now. Each one is counted for itself; if too many were rejected, a further one waits
/// until the oldest of them may be forgotten.
pub fn decide(record: &LoginRecord, fingerprint: Fingerprint, now: Timestamp) -> LoginDecision {
    let (last, pause) = match record.of(fingerprint) {
        Some(tries) => match (tries.bad, tries.unanswered) {
            (0, 0) => return LoginDecision::MayTry,
            // Nobody has rejected it, so it must not be given up; but the tries grow rare.
            (0, unanswered) => match unanswered_pause(unanswered, tries.proven) {
                Some(pause) => (tries.last, pause),
                None => return LoginDecision::MayTry,
            },
            (1, 0) if tries.proven => (tries.last, PROVEN_LOGIN_PAUSE),
            (1, 0) => (tries.last, BAD_LOGIN_PAUSE),
            _ => return LoginDecision::BlockedUntilChanged,
        },
        None if record.tries.len() < MOST_CREDENTIALS => return LoginDecision::MayTry,
        None => (record.oldest().and_then(|oldest| record.tries[oldest].last), FORGOTTEN_AFTER),
    };
    match last.and_then(|last| last.checked_add(pause).ok()) {
        Some(until) if until > now => LoginDecision::WaitUntil(until),
        Some(_) | None => LoginDecision::MayTry,
    }
}

/// The pause after so many tries without an end, if there is one.
fn unanswered_pause(unanswered: u8, proven: bool) -> Option<SignedDuration> {
    let doublings = unanswered.checked_sub(if proven { 2 } else { 1 })?;
    let pause = BAD_LOGIN_PAUSE * (1 << doublings.min(4));
    Some(if proven { pause.min(PROVEN_LOGIN_PAUSE) } else { pause })
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
