//! Whether the grid defines our revision attribute, remembered for a while, and values for it.

use std::sync::{Mutex, PoisonError};

use gslb_provider_contract::ProviderError;
use jiff::{SignedDuration, Timestamp};

use crate::login::random;
use crate::provider::Infoblox;
use crate::swap::REVISION;

/// How long an answer counts: a definition that an operator adds is in use within that time. No outside reference.
const KNOWN_FOR: SignedDuration = SignedDuration::from_mins(10);

/// What is known of the definition, and since when.
#[derive(Default)]
pub(crate) struct Revisions(Mutex<Option<(bool, Timestamp)>>);

impl Revisions {
    pub(crate) fn known(&self, now: Timestamp) -> Option<bool> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |at: Timestamp| at <= now && now.duration_since(at) < KNOWN_FOR;
        known.filter(|(_, at)| fresh(*at)).map(|(known, _)| known)
    }

    pub(crate) fn learn(&self, known: bool, now: Timestamp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((known, now));
    }
}

impl Infoblox {
    /// The grid refused a write with our attribute. If it took the same write without, the definition is of another
    /// type, not allowed on this object, or gone: for a while we do without it.
    pub(crate) fn revisions_refused(&self, taken_without: bool) {
        if taken_without {
            self.revisions.learn(false, (self.client.settings().clock)());
            tracing::warn!(
                attribute = REVISION,
                "The grid refuses writes with this attribute; define it as STRING, allowed on delegated zones."
            );
        }
    }

    /// A revision that nobody has used: a counter would come again after somebody cleared it.
    pub(crate) fn new_revision(&self) -> Result<String, ProviderError> {
        let mut bytes = [0; 8];
        random(&mut bytes)?;
        Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
    }
}
