//! How the lines of the change log hang together.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entry::Entry;

/// Largest integer that canonical JSON writes exactly (RFC 8785 §3.2.2.3 takes numbers as IEEE 754 doubles).
const MAX_EXACT: u64 = 1 << 53;

/// SHA-256, or HMAC-SHA-256, as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What stands before the first line.
    pub const ZERO: Self = Self([0; 32]);
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes).map_err(serde::de::Error::custom)?;
        // One hash has one text, so that no altered letter goes unseen.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(serde::de::Error::custom("a hash is written in lower case"));
        }
        Ok(Self(bytes))
    }
}

/// A key that seals lines: who does not have it cannot rewrite the chain.
#[derive(Clone)]
pub struct SealKey(Vec<u8>);

impl SealKey {
    /// Takes the bytes of a key as they are.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    fn seal(&self, hash: &Hash) -> Hash {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(&hash.0);
        Hash(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// One line of the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Line {
    /// Position over intents and outcomes together, from 1.
    pub line: u64,
    /// Hash of the line before.
    pub previous: Hash,
    /// What the line says.
    pub entry: Entry,
    /// SHA-256 over line, previous and entry in canonical JSON.
    pub hash: Hash,
    /// HMAC-SHA-256 over the bytes of `hash`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Hash>,
}

impl Line {
    /// The line in canonical JSON.
    pub fn canonical(&self) -> String {
        canonical(self)
    }

    /// The hash that the content asks for.
    pub fn expected_hash(&self) -> Hash {
        hash(self.line, &self.previous, &self.entry)
    }

    /// Whether the seal is there and was made with this key.
    pub fn is_sealed_with(&self, key: &SealKey) -> bool {
        self.seal == Some(key.seal(&self.hash))
    }
}

/// Where a chain stands: all that is needed to append. A chain whose older lines are gone goes on from the
/// tail that its checkpoint keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tail {
    /// Number of the last line.
    pub line: u64,
    /// Sequence of the last intent.
    pub sequence: u64,
    /// Hash of the last line.
    pub hash: Hash,
}

/// An entry that canonical JSON cannot hold exactly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{number} is too large for the change log: canonical JSON holds integers up to 2^53 exactly")]
pub struct Inexact {
    /// As JSON writes it.
    pub number: String,
}

impl Tail {
    /// Before the first line.
    pub const START: Self = Self { line: 0, sequence: 0, hash: Hash::ZERO };

    /// Before the first line of a log that has a name, so that no line of one log follows in another. The log without a
    /// name is that of the controller.
    pub fn start_of(log: &str) -> Self {
        match log {
            "" => Self::START,
            log => Self { hash: Hash(Sha256::digest(log).into()), ..Self::START },
        }
    }

    /// The line that would come next. The tail moves on only once the line is stored: [`Tail::after`].
    ///
    /// # Errors
    /// A number in the entry would not survive.
    pub fn next(&self, entry: Entry, key: Option<&SealKey>) -> Result<Line, Inexact> {
        if let Entry::Intent(intent) = &entry {
            intent.change.before.iter().chain(&intent.change.after).try_for_each(check_exact)?;
        }
        let line = self.line + 1;
        let hash = hash(line, &self.hash, &entry);
        Ok(Line { line, previous: self.hash, entry, hash, seal: key.map(|key| key.seal(&hash)) })
    }

    /// The tail once a line is stored.
    pub fn after(&self, line: &Line) -> Self {
        let sequence = match &line.entry {
            Entry::Intent(intent) => intent.sequence,
            Entry::Outcome(_) => self.sequence,
        };
        Self { line: line.line, sequence, hash: line.hash }
    }
}

fn check_exact(value: &Value) -> Result<(), Inexact> {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
            if magnitude.is_some_and(|magnitude| magnitude > MAX_EXACT) {
                return Err(Inexact { number: number.to_string() });
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(check_exact),
        Value::Object(fields) => fields.values().try_for_each(check_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

fn hash(line: u64, previous: &Hash, entry: &Entry) -> Hash {
    #[derive(Serialize)]
    struct Hashed<'a> {
        line: u64,
        previous: &'a Hash,
        entry: &'a Entry,
    }
    Hash(Sha256::digest(canonical(&Hashed { line, previous, entry })).into())
}

fn canonical(value: &impl Serialize) -> String {
    serde_json_canonicalizer::to_string(value).expect("lines have string keys and finite numbers")
}
