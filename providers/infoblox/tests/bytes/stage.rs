//! A provider in front of the server of bytes, and what it may say.

use std::sync::Arc;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::{ApprovedChange, Limits};
use gslb_core::plan::plan;
use gslb_core::ttl::Ttl;
use gslb_mocks::wapi::SimulatorTls;
use gslb_provider_contract::ProviderError;
use gslb_provider_contract::battery::eu;
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use jiff::Timestamp;

use crate::http::{ByteServer, Request, Script, json};

pub(crate) const USER: &str = "svc-dns";
pub(crate) const PASSWORD: &str = "correct horse battery";
/// `svc-dns:correct horse battery`.
pub(crate) const BASIC: &str = "c3ZjLWRuczpjb3JyZWN0IGhvcnNlIGJhdHRlcnk=";
pub(crate) const FOUND: &str = r#"[{"_ref": "zone_delegated/x:cloud.example.com/default", "fqdn": "cloud.example.com", "view": "default",
    "delegate_to": [{"name": "ns1.isp.example", "address": "203.0.113.53"}], "delegated_ttl": 30, "use_delegated_ttl": true}]"#;
/// Longest text that a condition gets from here. Kubernetes allows 32 KiB; nobody reads that.
pub(crate) const LONGEST_TEXT: usize = 2_000;

pub(crate) fn provider(server: &ByteServer, timeout: Duration) -> Infoblox {
    provider_at(server.port, &server.tls, timeout)
}

pub(crate) fn provider_at(port: u16, tls: &SimulatorTls, timeout: Duration) -> Infoblox {
    install_crypto_provider();
    let settings = Settings {
        grids: vec![GridAddress::new("127.0.0.1", port, "2.12.3").unwrap()],
        client_certificate: None,
        view: "default".to_owned(),
        credentials: Credentials::Values { username: USER.to_owned(), password: PASSWORD.into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: true,
        request_timeout: timeout,
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    };
    Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap()
}

/// Reads are answered as by a grid; whatever else is asked, `script` answers. With `found` the delegation is there.
pub(crate) fn grid_but(found: bool, script: Script) -> impl Fn(&Request) -> Script + Send + 'static {
    move |request| {
        let asked = |path: &str| request.head.starts_with(&format!("GET /wapi/v2.12.3/{path}"));
        match () {
            () if asked("zone_delegated?") => json(if found { FOUND } else { "[]" }),
            () if asked("zone_auth?fqdn=example.com&") => {
                json(r#"[{"_ref": "zone_auth/x", "fqdn": "example.com"}]"#)
            }
            () if asked("extensibleattributedef?") => json("[]"),
            () => script.clone(),
        }
    }
}

pub(crate) fn change(observed: &Presence) -> ApprovedChange {
    let ours: Claimant = eu();
    let desired =
        DesiredDelegation::published(ours.clone(), ["192.0.2.53".parse().unwrap()].into(), Ttl::DEFAULT)
            .unwrap();
    let plan = plan(&desired, observed, &History::default(), Timestamp::UNIX_EPOCH);
    plan.approve(&Limits::for_zones(vec![ours])).unwrap().changes()[0].clone()
}

/// Fit for a condition: of bounded length, on one line, without a secret.
pub(crate) fn assert_presentable(error: &ProviderError) {
    let text = error.to_string();
    assert!(text.len() <= LONGEST_TEXT, "{} bytes: {}", text.len(), &text[..200]);
    assert!(!text.contains(char::is_control), "{text:?}");
    let debug = format!("{error:?} {error}");
    for secret in [PASSWORD, BASIC, "4d1e8a0b"] {
        assert!(!debug.contains(secret), "{secret} in {debug}");
    }
}
