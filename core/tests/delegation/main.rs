//! Planning and approving one zone's delegation, from given to then.

#![allow(clippy::unwrap_used, reason = "tests")]

mod approve;
mod given;
mod laws;
mod plan;
