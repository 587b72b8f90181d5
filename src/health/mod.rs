//! The pages for probes and Prometheus: `/livez` (alias `/healthz`), `/readyz`, `/metrics`.
//!
//! Loops hold a [`Progress`] and tick it; parts that must be up before the daemon is useful hold a
//! [`Readiness`] and say so.

mod pages;
mod progress;
mod readiness;

pub use pages::{BindError, METRICS_TYPE, Pages, bind};
pub use progress::Progress;
pub use readiness::{Component, Readiness};
