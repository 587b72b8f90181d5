//! What every DNS provider adapter promises.
//!
//! [`provider`] has the two traits: who holds an [`Observe`] cannot write, and only an
//! [`ApprovedChange`](gslb_core::limits::ApprovedChange) can be applied. [`error`] has one variant for each thing
//! that a caller does differently. [`sets`] is for backends that hold any records. [`finding`] is what a look at a backend tells people. [`retry_after`] reads a backend's hint. [`battery`] is the test suite
//! that every adapter passes, [`record_battery`] that of those that hold the records of hosts.

pub mod battery;
pub mod error;
pub mod finding;
pub mod provider;
pub mod record_battery;
pub mod retry_after;
pub mod sets;

pub use error::{ProviderError, Retry};
pub use finding::{Delegated, Finding, Inspected, RecordsZone, Severity};
pub use provider::{
    Approval, Capabilities, Disposition, Held, Observe, Provider, ProviderId, Receipt, Scope, Service,
};
pub use sets::RecordSets;
