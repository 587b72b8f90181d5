//! How often a credential may be tried: two bad log-ins, then never again until it changes.
//!
//! A grid blocks a client, and then its whole address, after a handful of bad log-ins (five within seconds were
//! enough on a real one), so the count must hold across restarts. The machine is pure; its memory is plain data
//! that the caller stores.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Bad log-ins per credential (design §2.5: "at most two").
pub const MAX_BAD_LOGINS: u8 = 2;
/// Time between the first bad log-in and the second (design §2.5).
pub const BAD_LOGIN_PAUSE: SignedDuration = SignedDuration::from_secs(60);

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

/// What is remembered of log-ins with one backend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginRecord {
    salt: Salt,
    /// The credential that was tried last.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    fingerprint: Option<Fingerprint>,
    /// It was accepted since it was last rejected. Such a credential needs no note before it is used again.
    #[serde(default)]
    proven: bool,
    /// Tries that were rejected.
    #[serde(default)]
    bad: u8,
    /// Tries whose end nobody saw, because the process ended first.
    #[serde(default)]
    unanswered: u8,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    last_bad: Option<Timestamp>,
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
        Self { salt, fingerprint: None, proven: false, bad: 0, unanswered: 0, last_bad: None }
    }

    /// The salt for [`Fingerprint::of`].
    pub fn salt(&self) -> &Salt {
        &self.salt
    }

    /// The record to store before a credential is sent. The try of an unproven credential is noted first, so that
    /// processes that end in the middle cannot repeat it without a pause; a proven one changes nothing, so that a
    /// session that is renewed costs no write.
    #[must_use]
    pub fn trying(self, fingerprint: Fingerprint, now: Timestamp) -> Self {
        let known = self.fingerprint == Some(fingerprint);
        if known && self.proven {
            return self;
        }
        let (bad, unanswered) = if known { (self.bad, self.unanswered.saturating_add(1)) } else { (0, 1) };
        Self { fingerprint: Some(fingerprint), proven: false, bad, unanswered, last_bad: Some(now), ..self }
    }

    /// The record after the backend rejected what was [`trying`](Self::trying).
    #[must_use]
    pub fn rejected(self, fingerprint: Fingerprint, now: Timestamp) -> Self {
        let bad = if self.proven { 1 } else { self.bad.saturating_add(1) };
        let unanswered = self.unanswered.saturating_sub(1);
        Self { fingerprint: Some(fingerprint), proven: false, bad, unanswered, last_bad: Some(now), ..self }
    }

    /// The record after the backend accepted it.
    #[must_use]
    pub fn accepted(self, fingerprint: Fingerprint) -> Self {
        Self { fingerprint: Some(fingerprint), proven: true, bad: 0, unanswered: 0, last_bad: None, ..self }
    }
}

/// Whether a credential may be sent now. A different fingerprint starts anew.
pub fn decide(record: &LoginRecord, fingerprint: Fingerprint, now: Timestamp) -> LoginDecision {
    if record.fingerprint != Some(fingerprint) {
        return LoginDecision::MayTry;
    }
    let Some(last) = record.last_bad else { return LoginDecision::MayTry };
    let pause = match (record.bad, record.unanswered) {
        (0, 0) => return LoginDecision::MayTry,
        // Nobody has rejected it, so it must not be given up; but the tries grow rare.
        (0, tries) => BAD_LOGIN_PAUSE * (1 << (tries - 1).min(4)),
        (1, 0) => BAD_LOGIN_PAUSE,
        _ => return LoginDecision::BlockedUntilChanged,
    };
    match last.checked_add(pause) {
        Ok(until) if until > now => LoginDecision::WaitUntil(until),
        Ok(_) | Err(_) => LoginDecision::MayTry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt([7; 16]);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn secret(password: &str) -> Fingerprint {
        Fingerprint::of(&SALT, "svc-dns", password)
    }

    fn rejected_at(record: LoginRecord, password: &str, second: i64) -> LoginRecord {
        let print = secret(password);
        record.trying(print, at(second)).rejected(print, at(second))
    }

    #[test]
    fn the_second_try_waits_60_seconds_and_there_is_no_third() {
        let record = rejected_at(LoginRecord::new(SALT), "wrong", 0);
        assert_eq!(decide(&record, secret("wrong"), at(59)), LoginDecision::WaitUntil(at(60)));
        assert_eq!(decide(&record, secret("wrong"), at(60)), LoginDecision::MayTry);
        let record = rejected_at(record, "wrong", 60);
        assert_eq!(decide(&record, secret("wrong"), at(9999)), LoginDecision::BlockedUntilChanged);
    }

    #[test]
    fn a_changed_secret_may_be_tried_at_once_and_is_counted_from_the_start() {
        let record = rejected_at(rejected_at(LoginRecord::new(SALT), "wrong", 0), "wrong", 60);
        assert_eq!(decide(&record, secret("right"), at(61)), LoginDecision::MayTry);
        let record = rejected_at(record, "worse", 61);
        assert_eq!(decide(&record, secret("worse"), at(62)), LoginDecision::WaitUntil(at(121)));
    }

    #[test]
    fn tries_without_an_end_survive_a_restart_grow_rare_and_block_nothing_for_ever() {
        let print = secret("wrong");
        let record = LoginRecord::new(SALT).trying(print, at(0));
        let stored = serde_json::to_string(&record).unwrap();
        let record: LoginRecord = serde_json::from_str(&stored).unwrap();
        assert_eq!(decide(&record, print, at(1)), LoginDecision::WaitUntil(at(60)));
        let record = record.trying(print, at(60));
        assert_eq!(decide(&record, print, at(179)), LoginDecision::WaitUntil(at(180)));
        assert_eq!(decide(&record, print, at(180)), LoginDecision::MayTry);
        // One rejection and one try without an end may have been two rejections.
        let record = rejected_at(LoginRecord::new(SALT), "wrong", 0).trying(print, at(60));
        assert_eq!(decide(&record, print, at(9999)), LoginDecision::BlockedUntilChanged);
    }

    #[test]
    fn a_proven_credential_is_used_again_without_a_note_and_counts_anew_when_rejected() {
        let print = secret("right");
        let record = LoginRecord::new(SALT).trying(print, at(0)).accepted(print);
        assert_eq!(record.clone().trying(print, at(600)), record);
        let record = record.rejected(print, at(600));
        assert_eq!(decide(&record, print, at(601)), LoginDecision::WaitUntil(at(660)));
    }

    #[test]
    fn the_stored_memory_holds_neither_name_nor_secret() {
        let stored = serde_json::to_string(&rejected_at(LoginRecord::new(SALT), "hunter2", 0)).unwrap();
        assert!(!stored.contains("hunter2") && !stored.contains("svc-dns"), "{stored}");
        let print = serde_json::to_value(secret("hunter2")).unwrap();
        assert!(print.as_u64().is_some_and(|bits| bits <= u64::from(u32::MAX)));
    }

    #[test]
    fn name_and_password_are_kept_apart() {
        assert_ne!(Fingerprint::of(&SALT, "ab", "c"), Fingerprint::of(&SALT, "a", "bc"));
        assert_ne!(secret("x"), Fingerprint::of(&Salt([8; 16]), "svc-dns", "x"));
    }
}
