//! A provider in front of a recording.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::{ApprovedChange, Limits};
use gslb_core::plan::{Plan, plan};
use gslb_core::ttl::Ttl;
use gslb_mocks::recording::Player;
use gslb_mocks::wapi::SimulatorTls;
use gslb_provider_contract::battery::{Stage, eu, scope};
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt};
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use jiff::Timestamp;

/// A provider in front of a recording, whose other writers have been recorded too.
pub(crate) struct OnRecording {
    player: Mutex<Option<Player>>,
    pub(crate) provider: Infoblox,
    port: u16,
    tls: SimulatorTls,
}

pub(crate) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mocks/infoblox")
}

pub(crate) fn on_recording(case: &str) -> OnRecording {
    on_folder(&recordings().join(case.replace('_', "-")))
}

pub(crate) fn on_folder(folder: &Path) -> OnRecording {
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let player = Player::load_https(folder, &tls).unwrap();
    let port = player.url().rsplit(':').next().unwrap().parse().unwrap();
    let provider = provider(port, &tls, "default");
    OnRecording { player: Mutex::new(Some(player)), provider, port, tls }
}

fn provider(port: u16, tls: &SimulatorTls, view: &str) -> Infoblox {
    let settings = Settings {
        grids: vec![GridAddress::new("127.0.0.1", port, "v2.12.3").unwrap()],
        client_certificate: None,
        view: view.to_owned(),
        credentials: Credentials::Values { username: "svc-dns".to_owned(), password: "s3cret".into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: false,
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    };
    Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap()
}

impl OnRecording {
    /// Another provider in front of the same recording, for another view.
    pub(crate) fn in_view(&self, view: &str) -> Infoblox {
        provider(self.port, &self.tls, view)
    }

    pub(crate) async fn observe(&self) -> Result<Presence, ProviderError> {
        self.provider.observe(&scope()).await
    }

    /// Observe, plan for our one address, approve, apply.
    pub(crate) async fn pass(&self) -> Result<Receipt, ProviderError> {
        pass(&self.provider).await
    }
}

pub(crate) async fn pass(provider: &Infoblox) -> Result<Receipt, ProviderError> {
    let change = change(&provider.observe(&scope()).await?);
    provider.apply(&change).await
}

/// What we want is 192.0.2.53 of cluster `eu`.
pub(crate) fn planned(observed: &Presence) -> Plan {
    let desired =
        DesiredDelegation::published(eu(), ["192.0.2.53".parse().unwrap()].into(), Ttl::DEFAULT).unwrap();
    plan(&desired, observed, &History::default(), Timestamp::UNIX_EPOCH)
}

pub(crate) fn change(observed: &Presence) -> ApprovedChange {
    planned(observed).approve(&Limits::for_zones(vec![eu()])).unwrap().changes()[0].clone()
}

/// Name and address of every entry.
pub(crate) fn entries(presence: &Presence) -> Vec<(String, String)> {
    let pairs = presence.delegation().unwrap().pairs();
    pairs.into_iter().map(|(name, address)| (name.to_string(), address.unwrap().to_string())).collect()
}

#[async_trait]
impl Stage for OnRecording {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn another_writer(&self, _: Presence) {}

    async fn break_reads(&self) {}

    async fn heal(&self) {}

    async fn hide_parent(&self) {}

    async fn finish(&self) {
        self.provider.close().await.unwrap();
        self.player.lock().unwrap().take().unwrap().finish().unwrap();
    }
}
