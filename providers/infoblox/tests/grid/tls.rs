//! TLS is verified unless that is switched off.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use gslb_mocks::wapi::{Grid, HttpServer, SimulatorTls};
use gslb_provider_contract::Observe;
use gslb_provider_infoblox::{
    ForgetfulMemory, GridAddress, Infoblox, Settings, SetupError, install_crypto_provider,
};
use jiff::Timestamp;

use crate::stage::{PASSWORD, builder, credentials, scope};

pub(crate) fn settings(port: u16, ca: &str) -> Settings {
    Settings {
        grids: vec![GridAddress::new("127.0.0.1", port, "2.12.3").unwrap()],
        client_certificate: None,
        view: "default".to_owned(),
        credentials: credentials(PASSWORD),
        ca_bundles: vec![ca.as_bytes().to_vec()],
        verifies: true,
        restarts: false,
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    }
}

/// A grid, and settings that trust another authority than that of its certificate.
fn of_an_unknown_authority() -> (Grid, Settings, HttpServer) {
    install_crypto_provider();
    let grid = builder().build().unwrap();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
    let other = SimulatorTls::generate(&[]).unwrap();
    let settings = settings(server.address().port(), other.ca_pem());
    (grid, settings, server)
}

/// F-55.
#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_before_anything_is_sent() {
    let (grid, settings, _server) = of_an_unknown_authority();
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    let failed = provider.observe(&scope()).await.unwrap_err();
    assert_eq!(failed.reason(), "Misconfigured", "{failed}");
    assert!(failed.to_string().contains("INFOBLOX_CA_FILE"), "{failed}");
    assert_eq!(grid.journal().entries(), []);
}

/// F-55.
#[tokio::test]
async fn a_certificate_is_left_unchecked_only_where_that_is_switched_off_and_the_provider_says_so() {
    let (_grid, settings, _server) = of_an_unknown_authority();
    let unchecked = Settings { verifies: false, ..settings.clone() };
    let provider =
        |settings| Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    let unchecked = provider(unchecked);
    unchecked.observe(&scope()).await.unwrap();
    assert!(unchecked.capabilities().unverified);
    assert!(!provider(settings).capabilities().unverified);
}

#[tokio::test]
async fn a_grid_that_does_not_listen_is_unavailable() {
    install_crypto_provider();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let memory = Arc::new(ForgetfulMemory::default());
    let provider = Infoblox::new(settings(port, tls.ca_pem()), memory, Arc::new(())).unwrap();
    let failed = provider.observe(&scope()).await.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "Infoblox at 127.0.0.1 is unavailable: the connection was refused; it is tried again by itself"
    );
}

#[test]
fn a_ca_bundle_without_a_certificate_is_refused_at_start() {
    install_crypto_provider();
    let memory = Arc::new(ForgetfulMemory::default());
    let refused = Infoblox::new(settings(443, "no PEM"), memory, Arc::new(())).map(|_| ()).unwrap_err();
    assert!(matches!(refused, SetupError::CaBundle { .. }), "{refused}");
}
