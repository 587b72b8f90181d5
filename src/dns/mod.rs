//! Our authoritative DNS server: serves what controllers published, and decides nothing about it (design §2.4).
//!
//! Modules in reading order:
//!
//! 1. [`input`], [`order`], `key`, [`snapshot`]: what is served.
//! 2. [`decide`], [`fit`]: what one question gets.
//! 3. [`handler`], [`server`], [`metrics`], [`status`]: sockets and pages.
//! 4. [`settings`], [`observe`], [`shelf`], [`leaving`], `failing`, [`watch`]: from the cluster's objects to a snapshot.
//! 5. [`file`], [`daemon`]: across restarts, and all of it together.

pub mod daemon;
pub mod decide;
mod failing;
pub mod file;
pub mod fit;
pub mod handler;
pub mod input;
mod key;
pub mod leaving;
pub mod metrics;
pub mod observe;
pub mod order;
pub mod server;
pub mod settings;
pub mod shelf;
pub mod snapshot;
pub mod status;
pub mod watch;

#[cfg(test)]
mod builders;
