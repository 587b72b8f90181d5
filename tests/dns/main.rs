//! The DNS server over real sockets, and against an API server in memory.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod client;
mod cluster;
mod process;
mod sockets;
