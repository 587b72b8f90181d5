//! The change log on an API server: what is stored, what is shipped, and what happens when things go wrong.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod command;
mod store;
mod world;
