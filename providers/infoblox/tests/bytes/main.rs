//! The provider against a server that is no grid: whatever bytes come, an error comes of it in time, which tells no
//! secret, and a write that may have been made is never called undone.

#![allow(clippy::unwrap_used, reason = "tests")]

mod bounds;
mod handshake;
mod http;
mod property;
mod secrets;
mod stage;
