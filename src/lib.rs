//! The daemon: everything that touches the world. Rules live in `gslb-core`.

pub mod config;
pub mod health;
pub mod question;
pub mod telemetry;
