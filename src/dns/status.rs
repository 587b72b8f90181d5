//! Whether the server is well, and the pages that say so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use super::metrics::Metrics;
use crate::health::METRICS_TYPE;

/// What the probes ask about.
#[derive(Debug, Default)]
pub struct Status {
    synced: AtomicBool,
    watching: AtomicBool,
    stopping: AtomicBool,
}

impl Status {
    /// All watches have synced once.
    pub fn set_synced(&self) {
        self.synced.store(true, Ordering::Relaxed);
    }

    /// Whether all watches work at the moment.
    pub fn set_watching(&self, watching: bool) {
        self.watching.store(watching, Ordering::Relaxed);
    }

    /// Whether all watches work, so that what is served is what the cluster says.
    pub fn watching(&self) -> bool {
        self.watching.load(Ordering::Relaxed)
    }

    /// The process has been asked to stop.
    pub fn set_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Why no new questions should be sent here, or nothing if they should.
    pub fn not_ready(&self) -> Option<&'static str> {
        if self.stopping.load(Ordering::Relaxed) {
            return Some("stopping");
        }
        (!self.synced.load(Ordering::Relaxed)).then_some("the watches have not synced yet")
    }
}

/// `/livez` (`/healthz`), `/readyz` and `/metrics`.
pub fn pages(status: Arc<Status>, metrics: Metrics) -> Router {
    let live = || async { "ok" };
    let ready = move || async move {
        match status.not_ready() {
            None => (StatusCode::OK, "ok"),
            Some(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
        }
    };
    let page = move || async move {
        ([(header::CONTENT_TYPE, METRICS_TYPE)], metrics.page(jiff::Timestamp::now().as_second()))
            .into_response()
    };
    Router::new()
        .route("/livez", get(live))
        .route("/healthz", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(page))
}
