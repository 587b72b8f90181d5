//! Our authoritative DNS server: serves what controllers published, and decides nothing about it (design §2.4).
//!
//! Modules in reading order:
//!
//! 1. [`input`], [`order`], [`snapshot`]: what is served.
//! 2. [`decide`], [`fit`]: what one question gets.
//! 3. [`handler`], [`server`], [`metrics`], [`status`]: sockets and pages.

pub mod decide;
pub mod fit;
pub mod handler;
pub mod input;
pub mod metrics;
pub mod order;
pub mod server;
pub mod snapshot;
pub mod status;

#[cfg(test)]
mod builders;
