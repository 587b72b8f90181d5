//! The rules of gslb-bridge: pure, total, deterministic.
//!
//! Nothing here reads a clock, the environment, a file or the network, and nothing here logs: `now` is a
//! parameter, every refusal is a value. The same inputs give the same bytes on every replica, in any input
//! order (`clippy.toml` of this package enforces it).
//!
//! Modules in reading order:
//!
//! 1. [`name`], [`ttl`], [`zone`]: what everything is called.
//! 2. [`claim`], [`delegation`], [`change`], [`history`], [`mod@plan`], [`limits`]: a zone delegation, from what was
//!    observed to an approved plan; [`delegation_proof`]: whether it is served; [`login`]: how often a
//!    credential may be tried.

pub mod change;
pub mod claim;
pub mod delegation;
pub mod delegation_proof;
pub mod history;
pub mod limits;
pub mod login;
pub mod name;
pub mod plan;
pub mod ttl;
pub mod zone;
