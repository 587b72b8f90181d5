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
/// The same for a credential that was accepted before. It was not mistyped: somebody changed it at the grid, or the grid
/// locked the account. A lock of a grid lasts five minutes unless it is set otherwise (reference.md §1.3), and other
/// clusters may use the same account.
pub const PROVEN_LOGIN_PAUSE: SignedDuration = SignedDuration::from_secs(300);
/// Credentials that are remembered. No outside reference: a roll-out has two, an operator who tries some a few more.
pub const MOST_CREDENTIALS: usize = 8;
/// When that many were rejected, one is forgotten for another after this time. No outside reference.
pub const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// Tries of a credential that was never accepted whose replies may be lost before the next one waits: an outage at the first
/// start must not look like a wrong password. One less than what blocked a client on a real grid (reference.md §1.3).
pub const FREE_LOST_TRIES: u8 = 4;

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
    /// Tries whose end nobody saw, because the process ended first.
    #[serde(default)]
    unanswered: u8,
    /// Tries in a row whose reply was lost.
    #[serde(default, skip_serializing_if = "is_none")]
    lost: u8,
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
    /// The reply was lost, and the backend may have rejected the credential. Nobody says this of a
    /// [proven](LoginRecord::is_proven) credential, which an outage must not hold up.
    Lost {
        /// When.
        at: Timestamp,
    },
    /// The backend gave no verdict.
    Unanswered {
        /// What [`LoginRecord::last`] said before the try was noted.
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
                *tries = Tries { proven: true, bad: 0, unanswered: 0, lost: 0, last: None, ..*tries };
            }
            // Told again, as nobody knew whether it was stored.
            LoginEnd::Lost { at } if tries.lost > 0 && tries.unanswered == 0 && tries.last == Some(at) => {}
            LoginEnd::Lost { at } => {
                tries.lost = tries.lost.saturating_add(1);
                (tries.unanswered, tries.last) = (unanswered, Some(at));
            }
            LoginEnd::Unanswered { before } => (tries.unanswered, tries.last) = (unanswered, before),
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
            self.tries.push(Tries { fingerprint, proven: false, bad: 0, unanswered: 0, lost: 0, last: None });
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
        self.bad == 0 && self.unanswered == 0 && self.lost == 0
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_none(count: &u8) -> bool {
    *count == 0
}

/// Whether a credential may be sent now. Each one is counted for itself; if too many were rejected, a further one waits
/// until the oldest of them may be forgotten.
pub fn decide(record: &LoginRecord, fingerprint: Fingerprint, now: Timestamp) -> LoginDecision {
    let (last, pause) = match record.of(fingerprint) {
        Some(tries) => match (tries.bad, tries.unanswered) {
            (0, 0) if tries.lost < FREE_LOST_TRIES => return LoginDecision::MayTry,
            (0, 0) => (tries.last, BAD_LOGIN_PAUSE * (1 << (tries.lost - FREE_LOST_TRIES).min(4))),
            // Nobody has rejected it, so it must not be given up; but the tries grow rare.
            (0, unanswered) => (tries.last, BAD_LOGIN_PAUSE * (1 << (unanswered - 1).min(4))),
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
        record.trying(print, at(second)).ended(print, LoginEnd::Rejected { at: at(second) })
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
    fn a_proven_credential_counts_anew_when_rejected_and_waits_longer_for_its_second_try() {
        let print = secret("right");
        let record = LoginRecord::new(SALT).trying(print, at(0)).ended(print, LoginEnd::Accepted);
        assert!(record.is_proven(print));
        assert_eq!(decide(&record, print, at(1)), LoginDecision::MayTry);
        // Without a note: a session was renewed.
        let record = record.ended(print, LoginEnd::Rejected { at: at(600) });
        assert!(!record.is_proven(print));
        assert_eq!(decide(&record, print, at(899)), LoginDecision::WaitUntil(at(900)));
        let record = rejected_at(record, "right", 900);
        assert_eq!(decide(&record, print, at(99_999)), LoginDecision::BlockedUntilChanged);
    }

    #[test]
    fn a_rejection_that_is_told_twice_counts_once() {
        let print = secret("wrong");
        let first = rejected_at(LoginRecord::new(SALT), "wrong", 0);
        let second = rejected_at(first.clone(), "wrong", 60);
        assert_ne!(first, second);
        for (record, second) in [(first, 0), (second, 60)] {
            assert_eq!(record.clone().ended(print, LoginEnd::Rejected { at: at(second) }), record);
        }
    }

    #[test]
    fn a_try_without_a_verdict_leaves_the_count_and_the_pause_as_they_were() {
        let print = secret("wrong");
        for before in [LoginRecord::new(SALT), rejected_at(LoginRecord::new(SALT), "wrong", 0)] {
            let end = LoginEnd::Unanswered { before: before.last(print) };
            assert_eq!(before.clone().trying(print, at(60)).ended(print, end), before);
        }
    }

    /// A grid that blocks a client drops its packets (reference.md §1.3).
    #[test]
    fn tries_whose_reply_is_lost_grow_rare_until_one_is_answered() {
        let print = secret("wrong");
        let mut record = LoginRecord::new(SALT);
        let mut sent = vec![];
        for second in 0..2000 {
            if decide(&record, print, at(second)) == LoginDecision::MayTry {
                let end = LoginEnd::Lost { at: at(second) };
                record = record.trying(print, at(second)).ended(print, end);
                assert_eq!(record.clone().ended(print, end), record, "told twice");
                sent.push(second);
            }
        }
        assert_eq!(sent, [0, 1, 2, 3, 63, 183, 423, 903, 1863]);
        assert!(!record.is_rejected(print));
        let record = record.ended(print, LoginEnd::Accepted);
        assert_eq!(
            (decide(&record, print, at(1861)), record.is_proven(print)),
            (LoginDecision::MayTry, true)
        );
    }

    #[test]
    fn credentials_that_are_tried_in_turn_do_not_reset_one_another() {
        let mut record = LoginRecord::new(SALT);
        let mut sent = 0;
        for second in 0..10_000 {
            let password = ["blue", "green"][usize::try_from(second % 2).unwrap()];
            if decide(&record, secret(password), at(second)) == LoginDecision::MayTry {
                record = rejected_at(record, password, second);
                sent += 1;
            }
        }
        assert_eq!(sent, 4);
    }

    #[test]
    fn more_credentials_than_are_remembered_wait_until_the_oldest_is_forgotten() {
        let mut record = LoginRecord::new(SALT);
        for second in 0..8 {
            record = rejected_at(record, &format!("wrong {second}"), second);
        }
        assert_eq!(decide(&record, secret("another"), at(3599)), LoginDecision::WaitUntil(at(3600)));
        let record = rejected_at(record, "another", 3600);
        assert_eq!(record.tries.len(), MOST_CREDENTIALS);
        assert_eq!(decide(&record, secret("another"), at(3601)), LoginDecision::WaitUntil(at(3660)));
        // A credential that works is forgotten first, as it costs nothing.
        let print = secret("wrong 3");
        let record = record.ended(print, LoginEnd::Accepted);
        assert_eq!(decide(&record, secret("one more"), at(3601)), LoginDecision::MayTry);
        assert_eq!(record.trying(secret("one more"), at(3601)).of(print), None);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_pause_longer() {
        let print = secret("wrong");
        let record = rejected_at(LoginRecord::new(SALT), "wrong", 3600).not_after(at(0));
        assert_eq!(decide(&record, print, at(0)), LoginDecision::WaitUntil(at(60)));
        assert_eq!(record.clone().not_after(at(1)), record);
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
