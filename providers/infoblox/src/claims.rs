//! Whose a record is: where its claim stands, and how it is written.

use gslb_core::records::{Challenge, RecordClaim};
use gslb_core::ttl::Ttl;
use gslb_provider_contract::ProviderError;
use serde_json::{Map, Value};

use crate::provider::Infoblox;

/// Name of the extensible attribute, of type STRING, with the claim of a record. An operator defines it; we never do.
pub(crate) const CLAIM: &str = "GslbBridgeClaim";
/// The same with a challenge.
pub(crate) const CHALLENGE: &str = "GslbBridgeChallenge";
/// Comment of an object whose claim stands in an attribute. Written on creation and never again.
pub(crate) const COMMENT: &str = "created by gslb-bridge";
/// Longest comment that a grid takes (reference.md §3.1).
pub(crate) const LONGEST_COMMENT: usize = 256;
/// What our marker in a comment starts with.
const MARKER: &str = "gslb-bridge: ";
/// What a challenge in it starts with.
const ASKED: &str = ", challenged by ";

/// Where the claim of a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// In our extensible attributes.
    Attributes,
    /// In the comment of an object that we made, where the grid does not define the attributes.
    Comment,
}

/// Claim and challenge of an object, and where they stand. The attribute wins, and one that cannot be read is nobody's.
pub(crate) fn mark_of(
    attributes: Option<&Map<String, Value>>,
    comment: Option<&str>,
) -> Option<(Mark, RecordClaim, Option<Challenge>)> {
    let attribute = |name: &str| attributes?.get(name)?.get("value")?.as_str();
    if let Some(claim) = attribute(CLAIM) {
        let challenge = attribute(CHALLENGE).and_then(|text| text.parse().ok());
        return Some((Mark::Attributes, claim.parse().ok()?, challenge));
    }
    let (claim, challenge) = read_comment(comment?)?;
    Some((Mark::Comment, claim, challenge))
}

/// Our marker, if the comment is nothing else.
fn read_comment(comment: &str) -> Option<(RecordClaim, Option<Challenge>)> {
    let rest = comment.strip_prefix(MARKER)?;
    match rest.split_once(ASKED) {
        None => Some((rest.parse().ok()?, None)),
        Some((claim, challenge)) => Some((claim.parse().ok()?, Some(challenge.parse().ok()?))),
    }
}

/// The comment that says so.
pub(crate) fn comment(claim: &RecordClaim, challenge: Option<&Challenge>) -> String {
    match challenge {
        None => format!("{MARKER}{claim}"),
        Some(challenge) => format!("{MARKER}{claim}{ASKED}{challenge}"),
    }
}

/// The TTL of an object of its own. Without its flag the value is the one that the zone passes down (reference.md §2.8).
pub(crate) fn ttl_of(seconds: Option<u32>, used: Option<bool>) -> Option<Ttl> {
    let seconds = seconds.filter(|_| used == Some(true))?;
    Ttl::from_secs(i64::from(seconds.min(i32::MAX as u32))).ok()
}

impl Infoblox {
    /// Whether an operator defined our attributes, both of them; asked before a record is made, and seldom.
    pub(crate) async fn has_claims(&self) -> Result<bool, ProviderError> {
        let now = (self.client.settings().clock)();
        if let Some(known) = self.claims.known(now) {
            return Ok(known);
        }
        let known = self.defines(CLAIM).await? && self.defines(CHALLENGE).await?;
        self.claims.learn(known, now);
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_read_as_it_is_written() {
        let claim: RecordClaim = "cloud.example.com/eu".parse().unwrap();
        let challenge: Challenge = "us 2026-01-02T03:04:05Z".parse().unwrap();
        for challenge in [None, Some(&challenge)] {
            let text = comment(&claim, challenge);
            assert_eq!(read_comment(&text), Some((claim.clone(), challenge.cloned())), "{text}");
        }
    }
}
