//! How the grid is connected to: TLS and its authorities, time-outs, no redirects.

use std::time::Duration;

use reqwest::{Certificate, Identity, redirect};
use secrecy::ExposeSecret;

use crate::client::IN_FLIGHT;
use crate::settings::{Settings, SetupError};

/// Longest time to connect; a grid master answers a handshake in milliseconds. No outside reference.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) fn build(settings: &Settings) -> Result<reqwest::Client, SetupError> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(SetupError::NoCryptoProvider);
    }
    if settings.view.trim().is_empty() {
        return Err(SetupError::View);
    }
    let mut roots = vec![];
    for bundle in &settings.ca_bundles {
        let problem = |problem: String| SetupError::CaBundle { problem };
        let certificates =
            Certificate::from_pem_bundle(bundle).map_err(|error| problem(error.to_string()))?;
        if certificates.is_empty() {
            return Err(problem("no BEGIN CERTIFICATE in it".to_owned()));
        }
        roots.extend(certificates);
    }
    if settings.grids.is_empty() {
        return Err(SetupError::NoGrid);
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("gslb-bridge/", env!("CARGO_PKG_VERSION")))
        .http1_only()
        .https_only(true)
        .redirect(redirect::Policy::none())
        .timeout(settings.request_timeout)
        .connect_timeout(CONNECT_TIMEOUT.min(settings.request_timeout))
        .pool_max_idle_per_host(IN_FLIGHT)
        .tls_certs_merge(roots)
        .tls_danger_accept_invalid_certs(!settings.verifies);
    if let Some(pem) = &settings.client_certificate {
        let identity = Identity::from_pem(pem.expose_secret());
        let problem = |error: reqwest::Error| SetupError::ClientCertificate { problem: error.to_string() };
        // Shown in the first handshake, when the server asks: this TLS stack never renegotiates.
        builder = builder.identity(identity.map_err(problem)?);
    }
    builder.build().map_err(|error| SetupError::Client { problem: error.to_string() })
}
