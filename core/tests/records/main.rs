//! Records mode: which changes several clusters may make to the records of one host.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod approve;
mod given;
mod laws;
mod plan;
mod reap;
