//! The contract battery on recordings in `mocks/infoblox/`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::delegation::Presence;
use gslb_mocks::recording::Player;
use gslb_mocks::wapi::SimulatorTls;
use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{Provider, contract_tests};
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use jiff::Timestamp;

/// A provider in front of a recording, whose other writers have been recorded too.
struct OnRecording {
    player: Mutex<Option<Player>>,
    provider: Infoblox,
}

fn on_recording(case: &str) -> OnRecording {
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let scenario = case.replace('_', "-");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mocks/infoblox").join(scenario);
    let player = Player::load_https(&folder, &tls).unwrap();
    let port = player.url().rsplit(':').next().unwrap().parse().unwrap();
    let settings = Settings {
        grid: GridAddress::new("127.0.0.1", port, "v2.12.3").unwrap(),
        view: "default".to_owned(),
        credentials: Credentials::Values { username: "svc-dns".to_owned(), password: "s3cret".into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    };
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    OnRecording { player: Mutex::new(Some(player)), provider }
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

contract_tests!(infoblox, on_recording);
