//! The daemon: everything that touches the world. Rules live in `gslb-core`.

pub mod audit;
pub mod cli;
mod clock;
pub mod config;
mod controller;
pub mod daemon;
pub mod dns;
pub mod health;
mod kube_call;
mod kube_client;
pub mod metrics;
mod peer;
pub mod providers;
mod provision;
pub mod question;
pub mod telemetry;
mod watch_retry;
pub mod webhook;
