//! The HTTP side.

use std::io;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::net::TcpListener;

use super::progress::Progress;
use super::readiness::Readiness;
use crate::config::ServerAddress;

/// Media type of the metrics page (OpenMetrics 1.0).
pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the pages tell about.
#[derive(Debug, Clone)]
pub struct Pages {
    /// `/livez`.
    pub progress: Progress,
    /// `/readyz`.
    pub readiness: Readiness,
    /// `/metrics`. Everything is registered before the pages are served; families may grow and shrink later.
    pub registry: Arc<Registry>,
}

/// The metrics address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on METRICS_ADDRESS {address}")]
pub struct BindError {
    /// The address.
    pub address: ServerAddress,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Opens the listener, so that a wrong address ends the start and not a task.
///
/// # Errors
/// The address is not ours, taken, or its port needs rights.
pub async fn bind(address: &ServerAddress) -> Result<TcpListener, BindError> {
    let opened = match address.socket_address() {
        Some(socket_address) => TcpListener::bind(socket_address).await,
        None => TcpListener::bind(address.to_string()).await,
    };
    opened.map_err(|source| BindError { address: address.clone(), source })
}

impl Pages {
    /// The routes, to be served with `axum::serve(listener, pages.router())`.
    pub fn router(self) -> Router {
        Router::new()
            .route("/livez", get(live))
            .route("/healthz", get(live))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(self)
    }
}

async fn live(State(pages): State<Pages>) -> Response {
    match pages.progress.stuck_for() {
        None => Json(json!({ "live": true })).into_response(),
        Some(stuck) => {
            let reason = format!("the main loop has not moved for {} s", stuck.as_secs());
            let body = Json(json!({ "live": false, "reason": reason }));
            (StatusCode::SERVICE_UNAVAILABLE, body).into_response()
        }
    }
}

async fn ready(State(pages): State<Pages>) -> Response {
    let components = pages.readiness.components();
    let ready = components.iter().all(|component| component.ready);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": ready, "components": components }))).into_response()
}

async fn metrics(State(pages): State<Pages>) -> Response {
    let mut text = String::new();
    match encode(&mut text, &pages.registry) {
        Ok(()) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use prometheus_client::metrics::counter::Counter;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;
    use crate::config::{RawConfig, Settings};

    fn pages() -> Pages {
        let mut registry = Registry::default();
        let passes: Counter = Counter::default();
        passes.inc();
        registry.register("k8gb_gslb_errors", "Passes that failed", passes);
        Pages {
            progress: Progress::with_limit(Duration::from_secs(10)),
            readiness: Readiness::waiting_for(["inputs"]),
            registry: Arc::new(registry),
        }
    }
    async fn fetch(pages: &Pages, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = pages.clone().router().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
    async fn fetch_json(pages: &Pages, path: &str) -> (u16, Value) {
        let (status, body) = fetch(pages, path).await;
        (status, serde_json::from_str(&body).unwrap())
    }
    fn metrics_address(text: &str) -> ServerAddress {
        let lookup = |name: &str| match name {
            "CLUSTER_GEO_TAG" => Some("eu".to_owned()),
            "EDGE_DNS_SERVERS" => Some("192.0.2.53".to_owned()),
            "METRICS_ADDRESS" => Some(text.to_owned()),
            _ => None,
        };
        Settings::resolve(&RawConfig::read(lookup)).unwrap().metrics_address
    }

    #[tokio::test(start_paused = true)]
    async fn the_process_is_alive_while_its_loop_moves() {
        let pages = pages();
        for path in ["/livez", "/healthz"] {
            assert_eq!(fetch_json(&pages, path).await, (200, json!({ "live": true })));
        }
        tokio::time::advance(Duration::from_secs(11)).await;
        let stuck = json!({ "live": false, "reason": "the main loop has not moved for 11 s" });
        for path in ["/livez", "/healthz"] {
            assert_eq!(fetch_json(&pages, path).await, (503, stuck.clone()));
        }
        pages.progress.tick();
        assert_eq!(fetch(&pages, "/livez").await.0, 200);
    }

    #[tokio::test]
    async fn readiness_lists_what_is_waited_for() {
        let pages = pages();
        assert_eq!(
            fetch_json(&pages, "/readyz").await,
            (
                503,
                json!({
                    "ready": false,
                    "components": [{ "component": "inputs", "ready": false, "reason": "not started yet" }],
                })
            )
        );
        pages.readiness.set_ready("inputs");
        assert_eq!(
            fetch_json(&pages, "/readyz").await,
            (200, json!({ "ready": true, "components": [{ "component": "inputs", "ready": true }] }))
        );
    }

    #[tokio::test]
    async fn metrics_have_the_contracts_names() {
        let (status, body) = fetch(&pages(), "/metrics").await;
        assert_eq!(status, 200);
        assert!(body.contains("\nk8gb_gslb_errors_total 1\n"), "{body}");
    }

    #[tokio::test]
    async fn an_address_that_is_taken_is_named() {
        let first = bind(&metrics_address("127.0.0.1:0")).await.unwrap();
        let taken = metrics_address(&first.local_addr().unwrap().to_string());
        let error = bind(&taken).await.unwrap_err();
        assert_eq!(error.to_string(), format!("cannot listen on METRICS_ADDRESS {taken}"));
        assert_eq!(error.source.kind(), io::ErrorKind::AddrInUse);
    }

    #[tokio::test]
    async fn an_address_may_be_a_name() {
        assert!(bind(&metrics_address("localhost:0")).await.is_ok());
    }
}
