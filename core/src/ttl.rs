//! Times that stand in DNS records.

use serde::{Deserialize, Deserializer, Serialize};

/// Time a resolver may keep an answer: whole seconds, 0 to 2^31 - 1.
///
/// Resolvers read anything larger as zero (RFC 2181 §8), so [`Ttl::from_secs`] refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Ttl(u32);

/// A number of seconds that is no TTL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a TTL has 0 to 2147483647 seconds, not {0}")]
pub struct TtlError(pub i64);

impl Ttl {
    /// What k8gb publishes when a Gslb says nothing (contract §1.2).
    pub const DEFAULT: Self = Self(30);
    /// The longest time that a negative answer about a Gslb's own name may be kept: a site that comes back
    /// must not stay hidden behind a resolver's cache (design §2.4).
    pub const NEGATIVE_CAP: Self = Self(30);

    /// # Errors
    /// The number is negative or above 2^31 - 1.
    pub fn from_secs(seconds: i64) -> Result<Self, TtlError> {
        match u32::try_from(seconds) {
            Ok(value) if value <= i32::MAX as u32 => Ok(Self(value)),
            Ok(_) | Err(_) => Err(TtlError(seconds)),
        }
    }

    /// Whole seconds.
    pub fn as_secs(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_secs(i64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_that_resolvers_would_read_as_zero_is_refused() {
        assert_eq!(Ttl::from_secs(-1), Err(TtlError(-1)));
        assert_eq!(Ttl::from_secs(1 << 31), Err(TtlError(1 << 31)));
        assert_eq!(Ttl::from_secs((1 << 31) - 1).unwrap().as_secs(), 2_147_483_647);
    }
}
