//! The webhook in front of the simulated grid, asked as external-dns asks.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod books;
mod changes;
mod client;
mod protocol;
mod world;
