//! The daemon: everything that touches the world. Rules live in `gslb-core`.

pub mod audit;
pub mod config;
mod controller;
pub mod dns;
pub mod health;
mod peer;
pub mod question;
pub mod telemetry;
