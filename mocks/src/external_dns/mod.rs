//! External-dns as clusters and a parent zone meet it: source `crd`, registry `txt`, and a zone that takes dynamic
//! updates and answers DNS.
//!
//! Written from the contract (§9) and from what external-dns 0.21.0 did before BIND (`tests/e2e`, docs/external-dns.md).
//! What is here behaves as there: an object is read by its label, and that is told in its status; sets of one name and
//! type are merged; whose a set is stands in a TXT record beside it; nothing of another owner is altered or deleted; a
//! zone that cannot be read stops a round before anything else.
//!
//! Differences, all on purpose: no wildcards, no set identifiers, no settings for providers; of two sets of one name and
//! type with different TTLs the first is taken.
//!
//! Reading order: `source` (what is wanted), `registry` (whose a set is), `plan` (what is done), `zone` (the
//! parent zone), `Instance` (one external-dns).

mod instance;
mod plan;
mod registry;
mod served;
mod source;
mod zone;

pub use instance::{Instance, Unreachable};
pub use plan::{Policy, Rules};
pub use zone::{ParentZone, RecordSet, Records, Write};
