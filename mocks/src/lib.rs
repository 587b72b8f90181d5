//! Stand-ins for the outside world, for tests and the sandbox only.

mod dns;
pub mod external_dns;
pub mod hook;
pub mod k8gb;
pub mod kube;
pub mod recording;
mod trap;
pub mod wapi;

pub use dns::{DnsServer, DnsSockets};
pub use trap::Trap;
