//! `gslb-bridge record` from outside, against the simulated grid over verified TLS.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use gslb_mocks::recording::load;
use gslb_mocks::wapi::{Account, Grid, HttpServer, SimulatorTls};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

const USER: &str = "svc-dnsops";
const PASSWORD: &str = "correct-horse-7";

/// A grid with one delegation, and a folder with its authority.
struct Bank {
    grid: Grid,
    server: HttpServer,
    folder: TempDir,
}

fn bank() -> Bank {
    let grid = Grid::builder().account(Account::new(USER, PASSWORD)).zone_auth("umbrella.corp", "default");
    let grid = grid.build().unwrap();
    let zone = json!({"fqdn": "payments.umbrella.corp",
        "delegate_to": [{"name": "gslb-ns-eu-payments.umbrella.corp", "address": "10.20.30.40"}]});
    grid.edit(|admin| admin.create("zone_delegated", zone)).unwrap();
    let folder = TempDir::new().unwrap();
    let tls = SimulatorTls::generate(&[]).unwrap().write_ca(&folder.path().join("ca.pem")).unwrap();
    let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
    Bank { grid, server, folder }
}

impl Bank {
    async fn record(&self, to: &Path, more: &[(&str, &str)]) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gslb-bridge"));
        command.arg("record").arg(to).env_clear().envs([
            ("CLUSTER_GEO_TAG", "eu"),
            ("EDGE_DNS_SERVERS", "127.0.0.1"),
            ("DNS_ZONES", "umbrella.corp:payments.umbrella.corp:30"),
            ("INFOBLOX_GRID_HOST", "127.0.0.1"),
            ("INFOBLOX_WAPI_USERNAME", USER),
            ("INFOBLOX_WAPI_PASSWORD", PASSWORD),
        ]);
        command.env("INFOBLOX_WAPI_PORT", self.server.address().port().to_string());
        command.env("INFOBLOX_CA_FILE", self.folder.path().join("ca.pem")).envs(more.iter().copied());
        let Output { status, stdout, stderr } = command.output().await.unwrap();
        (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_written_that_holds_neither_secrets_nor_names_and_the_grid_is_only_read() {
    let bank = bank();
    let folder = bank.folder.path().join("recording");
    let (code, text) = bank.record(&folder, &[]).await;
    assert_eq!(code, 0, "{text}");
    assert!(
        text.starts_with("payments.umbrella.corp: 1 name servers\nrevision attribute: not defined\n"),
        "{text}"
    );
    assert!(text.ends_with("Nothing was written at the grid.\n"), "{text}");
    let names: Vec<_> = load(&folder).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "10-get-zone-delegated-200.json",
            "20-get-extensibleattributedef-200.json",
            "30-get-grid-servicerestart-request-200.json"
        ]
    );
    for entry in std::fs::read_dir(&folder).unwrap() {
        let content = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for private in
            [USER, PASSWORD, "ibapauth", "Basic ", "umbrella", "payments", "10.20.30.40", "127.0.0.1"]
        {
            assert!(!content.contains(private), "{private}: {content}");
        }
    }
    assert!(bank.grid.journal().effective_writes().is_empty());
    assert_eq!((bank.grid.open_sessions(), bank.grid.bad_logins()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_something_in_it_is_left_alone_and_the_grid_is_not_asked() {
    let bank = bank();
    let (code, text) = bank.record(bank.folder.path(), &[]).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("is not empty; name a folder that does not exist yet"), "{text}");
    assert_eq!(bank.grid.journal().entries(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grid_or_a_zone_it_is_the_configuration_that_is_wrong() {
    let bank = bank();
    let folder = bank.folder.path().join("recording");
    for (unset, words) in
        [("INFOBLOX_GRID_HOST", "only Infoblox can be recorded"), ("DNS_ZONES", "no zone is named")]
    {
        let (code, text) = bank.record(&folder, &[(unset, "")]).await;
        assert_eq!(code, 78, "{text}");
        assert!(text.contains(words), "{text}");
    }
    assert!(!folder.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_password_is_sent_once_and_what_the_grid_says_is_recorded() {
    let bank = bank();
    let folder = bank.folder.path().join("recording");
    let (code, text) = bank.record(&folder, &[("INFOBLOX_WAPI_PASSWORD", "wrong-horse-7")]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("rejected the user name or the password"), "{text}");
    assert!(!text.contains("wrong-horse-7"), "{text}");
    assert_eq!((bank.grid.bad_logins(), load(&folder).unwrap().len()), (1, 1));
}
