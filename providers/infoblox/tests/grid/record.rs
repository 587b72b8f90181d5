//! A recording of a grid plays back, and nobody can tell whose grid it was.

use std::path::Path;
use std::sync::Arc;

use gslb_core::name::DomainName;
use gslb_mocks::recording::{Player, load};
use gslb_mocks::wapi::{Account, Fault, Grid, GridBuilder, SimulatorTls};
use gslb_provider_contract::Scope;
use gslb_provider_infoblox::recording::{RecordError, Recording, record, survey};
use gslb_provider_infoblox::{Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::stage::{OnGrid, Wanted};

const USER: &str = "svc-dnsops";
const PASSWORD: &str = "Correct-Horse/Zone:7";
/// What a bank would not send.
const PRIVATE: [&str; 20] = [
    USER,
    "dnsops",
    PASSWORD,
    "Correct",
    "Horse",
    "ibapauth",
    "Basic",
    "umbrella",
    "bank",
    "corp",
    "10.20.30",
    "fd12",
    "jdoe",
    "4711",
    "CostCentre",
    "ticket",
    "Retail",
    "payments",
    "mainframe",
    "127.0.0.1",
];

/// `payments.umbrella.corp` is delegated; `ledger.umbrella.corp` is not, and has something beneath it.
fn bank() -> GridBuilder {
    Grid::builder()
        .account(Account::new(USER, PASSWORD))
        .view("Retail Bank")
        .zone_auth("umbrella.corp", "Retail Bank")
        .attribute("CostCentre")
        .attribute("GslbBridgeRevision")
}

fn wanted() -> Wanted {
    let credentials = Credentials::Values { username: USER.into(), password: PASSWORD.into() };
    Wanted { view: "Retail Bank", credentials, ..Wanted::default() }
}

fn at_a_bank() -> OnGrid {
    let on = OnGrid::with(bank(), wanted());
    let create = |kind: &str, fields: Value| on.grid.edit(|admin| admin.create(kind, fields)).unwrap();
    create(
        "zone_delegated",
        json!({"fqdn": "payments.umbrella.corp", "view": "Retail Bank", "comment": "ticket 4711 of jdoe",
            "delegate_to": [{"name": "gslb-ns-eu-payments.umbrella.corp", "address": "10.20.30.40"},
                {"name": "ns1.mainframe.umbrella.corp", "address": "fd12::53"}],
            "extattrs": {"CostCentre": {"value": "4711"}}, "locked": true}),
    );
    create(
        "record:a",
        json!({"name": "old.ledger.umbrella.corp", "view": "Retail Bank", "ipv4addr": "10.20.30.41"}),
    );
    on
}

fn scopes() -> Vec<Scope> {
    let name = |text| DomainName::parse(text).unwrap();
    let scope = |zone| Scope { zone: name(zone), parent: name("umbrella.corp") };
    vec![scope("payments.umbrella.corp"), scope("ledger.umbrella.corp")]
}

async fn recorded(on: &OnGrid) -> Recording {
    record(on.settings(&wanted()), &scopes()).await.unwrap()
}

fn assert_private(recording: &Recording) {
    for (name, content) in &recording.files {
        for word in PRIVATE {
            let found = content.to_lowercase().find(&word.to_lowercase());
            // The README says what was removed.
            assert!(found.is_none() || name == "README.md", "{word} is in {name}: {content}");
        }
    }
}

fn write(recording: &Recording, folder: &Path) {
    for (name, content) in &recording.files {
        std::fs::write(folder.join(name), content).unwrap();
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Scenario {
    wapi_version: String,
    dns_view: String,
    zones: Vec<ScenarioZone>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScenarioZone {
    parent_zone: DomainName,
    zone: DomainName,
}

/// Asks the recording what was asked of the grid.
async fn played(on: &OnGrid, folder: &Path) -> Vec<String> {
    let scenario: Scenario =
        serde_saphyr::from_str(&std::fs::read_to_string(folder.join("scenario.yaml")).unwrap()).unwrap();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let player = Player::load_https(folder, &tls).unwrap();
    let port = player.url().rsplit(':').next().unwrap().parse().unwrap();
    let settings = Settings {
        grids: vec![GridAddress::new("127.0.0.1", port, &scenario.wapi_version).unwrap()],
        view: scenario.dns_view,
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        ..on.settings(&wanted())
    };
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    let scopes: Vec<_> =
        scenario.zones.into_iter().map(|zone| Scope { zone: zone.zone, parent: zone.parent_zone }).collect();
    let findings = survey(&provider, &scopes).await;
    player.finish().unwrap();
    findings
}

#[tokio::test]
async fn a_recording_only_reads_logs_in_once_and_logs_out() {
    let on = at_a_bank();
    let mark = on.grid.journal().mark();
    let recording = recorded(&on).await;
    let asked: Vec<_> = on
        .grid
        .journal()
        .since(mark)
        .into_iter()
        .map(|entry| format!("{} {}", entry.method, entry.uri.split(['?']).next().unwrap()))
        .collect();
    assert_eq!(
        asked,
        [
            "GET /wapi/v2.12.3/zone_delegated",
            "GET /wapi/v2.12.3/zone_delegated",
            "GET /wapi/v2.12.3/zone_auth",
            "POST /wapi/v2.12.3/request",
            "GET /wapi/v2.12.3/extensibleattributedef",
            "GET /wapi/v2.12.3/grid:servicerestart:request",
            "POST /wapi/v2.12.3/logout",
        ]
    );
    assert_eq!((on.writes(), on.grid.open_sessions()), (vec![], 0));
    assert_eq!(
        recording.findings,
        [
            "payments.umbrella.corp: 2 name servers",
            "ledger.umbrella.corp: absent; beneath it 1 object (record:a old.ledger.umbrella.corp)",
            "revision attribute: defined",
            "DNS service: Infoblox at 127.0.0.1 says that the DNS service of gm.example.com has to be restarted to serve it; have it restarted, or set INFOBLOX_RESTART_POLICY to if-needed",
        ]
    );
}

#[tokio::test]
async fn nothing_of_whose_grid_it_is_is_in_any_byte_and_the_strict_player_plays_it() {
    let on = at_a_bank();
    let recording = recorded(&on).await;
    assert_private(&recording);
    let folder = tempfile::tempdir().unwrap();
    write(&recording, folder.path());
    let names: Vec<_> = load(folder.path()).unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "10-get-zone-delegated-200.json",
            "20-get-zone-delegated-200.json",
            "30-get-zone-auth-200.json",
            "40-post-request-201.json",
            "50-get-extensibleattributedef-200.json",
            "60-get-grid-servicerestart-request-200.json",
        ]
    );
    let findings = played(&on, folder.path()).await;
    assert_eq!(findings.len(), 4);
    assert!(findings.iter().any(|finding| finding.ends_with(": 2 name servers")), "{findings:?}");
    assert!(
        findings.iter().any(|finding| finding.contains("absent; beneath it 1 object (record:a w")),
        "{findings:?}"
    );
}

#[tokio::test]
async fn what_belongs_together_still_does() {
    let recording = recorded(&at_a_bank()).await;
    let (_, file) = &recording.files[0];
    let exchange: Value = serde_json::from_str(file).unwrap();
    let found: Value = serde_json::from_str(exchange["response"]["body"].as_str().unwrap()).unwrap();
    let zone = found[0]["fqdn"].as_str().unwrap();
    let (label, parent) = zone.split_once('.').unwrap();
    let servers = &found[0]["delegate_to"];
    assert_eq!(servers[0]["address"], "192.0.2.1");
    assert_eq!(servers[1]["address"], "2001:db8::1");
    let ours = servers[0]["name"].as_str().unwrap();
    assert!(
        ours.starts_with("gslb-ns-") && ours.ends_with(&format!("-{label}.{parent}")),
        "{ours} in {zone}"
    );
    assert!(servers[1]["name"].as_str().unwrap().ends_with(parent));
    assert!(exchange["request"]["uri"].as_str().unwrap().contains(&format!("fqdn={zone}&")));
    assert_eq!(found[0]["locked"], true);
}

#[tokio::test]
async fn a_search_that_is_read_kind_by_kind_and_page_by_page_plays_back_too() {
    let on = at_a_bank();
    for number in 0..1_100 {
        let fields = json!({"name": format!("h{number}.ledger.umbrella.corp"), "view": "Retail Bank",
            "ipv4addr": "10.20.30.42"});
        on.grid.edit(|admin| admin.create("record:a", fields)).unwrap();
    }
    let recording = recorded(&on).await;
    assert_private(&recording);
    let folder = tempfile::tempdir().unwrap();
    write(&recording, folder.path());
    let findings = played(&on, folder.path()).await;
    assert!(findings.iter().any(|finding| finding.contains("beneath it 1101 objects")), "{findings:?}");
}

#[tokio::test]
async fn replies_that_are_errors_are_recorded_and_play_back() {
    let echo = "User svc-dnsops with Correct-Horse/Zone:7 of umbrella.corp may not read payments";
    for fault in
        [Fault::Unauthorized, Fault::Forbidden, Fault::LoginPage, Fault::BadGateway, Fault::Refuse(echo)]
    {
        let on = at_a_bank();
        on.grid.faults().inject(fault);
        let recording = recorded(&on).await;
        assert_private(&recording);
        let folder = tempfile::tempdir().unwrap();
        write(&recording, folder.path());
        let findings = played(&on, folder.path()).await;
        assert_eq!(findings.len(), recording.findings.len());
    }
}

#[tokio::test]
async fn without_a_reply_there_is_no_recording() {
    let on = at_a_bank();
    on.grid.faults().inject(Fault::ResetBeforeCommit.on_path("extensibleattributedef"));
    let failed = record(on.settings(&wanted()), &scopes()).await.unwrap_err();
    assert!(matches!(failed, RecordError::NoReply(_)));
    assert!(
        failed.to_string().starts_with("nothing is recorded, because a request had no reply: "),
        "{failed}"
    );
}
