//! The rules of gslb-bridge: pure, total, deterministic.
//!
//! Nothing here reads a clock, the environment, a file or the network, and nothing here logs: `now` is a
//! parameter, every refusal is a value. The same inputs give the same bytes on every replica, in any input
//! order (`clippy.toml` of this package enforces it).
//!
//! Modules in reading order:
//!
//! 1. [`name`], [`ttl`], [`zone`]: what everything is called.
//! 2. [`published`]: what a DNSEndpoint says besides its records.
//! 3. [`changelog`]: what was written at providers, in a form that an auditor can check.

pub mod changelog;
pub mod name;
pub mod published;
pub mod ttl;
pub mod zone;
