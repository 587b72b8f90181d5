//! The provider at a webhook in memory, over HTTP.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod contract;
mod errors;
mod fleet;
mod inspect;
mod stage;
mod writes;
