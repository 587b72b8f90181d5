//! The daemon: everything that touches the world. Rules live in `gslb-core`.

pub mod config;
mod controller;
pub mod dns;
mod peer;
pub mod question;
