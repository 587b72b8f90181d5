//! Backends that hold any set of records, and not only what a fleet needs.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gslb_core::name::DomainName;
use gslb_core::sets::{ApprovedSetChange, ObservedName, ObservedSets};

use crate::error::ProviderError;
use crate::provider::{Provider, Receipt};

/// Reads and writes sets of records that somebody else decides about, such as external-dns.
#[async_trait]
pub trait RecordSets: Provider {
    /// Reads every set at and beneath a name, of whomever. A set that is missing is not there: the read was complete.
    ///
    /// # Errors
    /// Anything else, a name that no zone of the backend holds included.
    async fn list_sets(&self, domain: &DomainName) -> Result<ObservedSets, ProviderError>;

    /// Reads every set of these names, which may lie in any zone. A name that is missing has none.
    ///
    /// # Errors
    /// As [`Self::list_sets`].
    async fn read_sets(&self, names: &BTreeSet<DomainName>) -> Result<ObservedSets, ProviderError>;

    /// Makes one approved change, all of it or nothing. Applying it twice equals applying it once; deleting what is
    /// absent is done.
    ///
    /// # Errors
    /// [`ProviderError::Stale`] if the name is no longer what the change was planned for; nothing was written then.
    /// After every error but [`ProviderError::Uncertain`] it is known that nothing was written.
    async fn apply_set(&self, change: &ApprovedSetChange) -> Result<Receipt<ObservedName>, ProviderError>;
}
