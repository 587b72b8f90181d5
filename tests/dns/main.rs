//! The DNS server over real sockets.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod client;
mod sockets;
