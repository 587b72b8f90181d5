//! Reaching the grid, trusting it, logging in, its version.

use std::net::TcpListener;
use std::sync::Arc;

use gslb_mocks::wapi::{Account, Fault, SimulatorTls};
use gslb_provider_contract::Observe;
use gslb_provider_infoblox::{ForgetfulMemory, Infoblox, install_crypto_provider};

use super::{Report, builder, guest, healthy, looked, only, stage, stage_with};
use crate::stage::{OnGrid, PASSWORD, USER, Wanted, credentials, eu};
use crate::tls::settings;

const REST: &str = "unknown rest: account, views, attributes, restarts, parent zones and delegations were not looked at -> correct what keeps this command out, and check again";

/// What is said once the lines have been, where nobody is let in.
fn kept_out(lines: &[&str]) -> Report {
    Report::lines(&[lines, &[REST]].concat())
}

const REACHED: &str = "ok reach: 127.0.0.1 answers";
const TRUSTED: &str = "ok tls: the certificate of 127.0.0.1 is trusted, names it and is valid";

async fn look_with(tls: &SimulatorTls, trusted: &str) -> Report {
    install_crypto_provider();
    let grid = builder(guest()).build().unwrap();
    let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), tls).unwrap();
    let settings = settings(server.address().port(), trusted);
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    let report = Report::of(&provider.inspect(&only(eu())).await);
    assert_eq!(grid.journal().entries(), []);
    report
}

const CERTIFICATE: &str =
    "the grid's certificate is at Grid > Grid Manager > Members > Certificates > HTTPS Cert";

#[tokio::test]
async fn everything_that_can_be_wrong_with_a_certificate_is_told_apart() {
    let good = SimulatorTls::generate(&[]).unwrap();
    let renewed = SimulatorTls::generate(&[]).unwrap();
    let another = SimulatorTls::of_another_host("gm.example.com").unwrap();
    let expired = SimulatorTls::expired().unwrap();
    let shipped = SimulatorTls::as_shipped().unwrap();
    let asking = SimulatorTls::generate(&[]).unwrap().requiring_client_certificates().unwrap();
    let of_grid = "the certificate of Infoblox at 127.0.0.1";
    // What the server shows, whose authority is trusted, and what is said.
    let cases = [
        (&good, &another, format!("{of_grid} is of an authority that is not trusted here; name a PEM file with the certificate of that authority in INFOBLOX_CA_FILE")),
        (&good, &renewed, format!("{of_grid} is signed with another key than that of the authority of the same name that is trusted here; name a PEM file with the certificate that this authority has now in INFOBLOX_CA_FILE")),
        (&shipped, &shipped, format!("{of_grid} is itself that of an authority, as the one is that a grid is shipped with; have the grid's HTTPS certificate made anew, signed by an authority")),
        (&another, &another, format!("{of_grid} does not name this host, only gm.example.com; set INFOBLOX_GRID_HOST to a name in it, or have the grid's HTTPS certificate made anew with this name as a subject alternative name")),
        (&expired, &expired, format!("{of_grid} has expired; have the grid's HTTPS certificate made anew")),
        (&asking, &asking, "Infoblox at 127.0.0.1 asks for a client certificate that it trusts; set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE".to_owned()),
    ];
    for (shown, trusted, why) in cases {
        let expected = kept_out(&[REACHED, &format!("error tls: {why} -> {CERTIFICATE}")]);
        assert_eq!(look_with(shown, trusted.ca_pem()).await, expected);
    }
}

const WAY: &str = "INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT must lead to the Grid Master, and firewalls, NetworkPolicies and HTTPS_PROXY must let this cluster through";

#[tokio::test]
async fn a_grid_that_does_not_answer_is_an_error_and_what_lies_behind_is_unknown() {
    install_crypto_provider();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ca = SimulatorTls::generate(&[]).unwrap();
    let memory = Arc::new(ForgetfulMemory::default());
    let provider = Infoblox::new(settings(port, ca.ca_pem()), memory, Arc::new(())).unwrap();
    assert_eq!(
        Report::of(&provider.inspect(&only(eu())).await),
        kept_out(&[&format!(
            "error reach: Infoblox at 127.0.0.1 is unavailable: the connection was refused -> {WAY}"
        )])
    );
    let on = stage();
    on.grid.faults().inject(Fault::Unavailable);
    let busy = format!("error reach: Infoblox at 127.0.0.1 is unavailable (HTTP 503) -> {WAY}");
    assert_eq!(looked(&on).await, kept_out(&[&busy]));
}

#[tokio::test]
async fn somebody_else_in_the_grids_place_is_told() {
    let on = stage();
    on.grid.faults().inject(Fault::MetaRefresh.times(1));
    assert_eq!(
        looked(&on).await,
        kept_out(&[
            "error reach: Infoblox at 127.0.0.1 is not the Grid Master, it refers to https://gm.example.com; set INFOBLOX_GRID_HOST to the Grid Master -> Grid > Grid Manager > Members shows which member is the Grid Master; list the candidates too, comma separated"
        ])
    );
    on.grid.faults().inject(Fault::LoginPage.times(1));
    assert_eq!(
        looked(&on).await,
        kept_out(&[
            "error reach: Infoblox at 127.0.0.1 answered with an HTML page instead of JSON; check that INFOBLOX_GRID_HOST is a Grid Master and that no proxy answers in its place -> INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT must lead to the WAPI of a Grid Master, not to a portal or a proxy"
        ])
    );
}

#[tokio::test]
async fn a_version_that_the_grid_does_not_have_is_told_with_the_newest_that_it_has() {
    let on = OnGrid::with(builder(guest()).version("2.11.1"), Wanted::default());
    let unsupported = "error version: Infoblox at 127.0.0.1 says: Version 2.12.3 not supported; set INFOBLOX_WAPI_VERSION to a version that the grid supports";
    let fix = "set INFOBLOX_WAPI_VERSION to 2.11.1, the newest that this grid has, or to an older one";
    assert_eq!(looked(&on).await, kept_out(&[REACHED, TRUSTED, &format!("{unsupported} -> {fix}")]));
    let last = on.grid.journal().entries().pop().unwrap();
    assert_eq!(last.uri, "/wapi/v1.0/logout", "the session of the other version is ended");

    let old = stage_with(builder(guest()), Wanted { version: "2.9.7", ..Wanted::default() });
    let supported = "ok version: the grid has WAPI 2.9.7; the newest is 2.12.3";
    assert_eq!(looked(&old).await, healthy().but("version", &[supported]));
}

/// As the daemon: at most two log-ins with one wrong password, the second a minute after the first, however often this
/// is run.
#[tokio::test]
async fn a_wrong_password_is_told_and_never_locks_the_account() {
    let memory: Arc<ForgetfulMemory> = Arc::default();
    let wrong = || Wanted {
        credentials: credentials("wrong"),
        memory: Arc::clone(&memory) as _,
        ..Wanted::default()
    };
    let on = OnGrid::with(builder(guest()), wrong());
    assert_eq!(
        looked(&on).await,
        kept_out(&[
            REACHED,
            TRUSTED,
            "error login: Infoblox at 127.0.0.1 rejected the user name or the password (HTTP 401); correct the credentials, changed ones are tried at once -> at Administration > Administrators > Admins the account must exist and not be disabled; this check has used up one of the two tries of this password"
        ])
    );
    let held = |when| {
        kept_out(&[&format!(
            "error login: Infoblox at 127.0.0.1 rejected the user name or the password (HTTP 401); to keep the account from being locked the same credential is {when}; correct it if it is wrong -> correct the credentials; if they are right and the account was unlocked, delete the ConfigMap gslb-bridge-login"
        )])
    };
    for _ in 0..5 {
        let again = on.another(wrong()).inspect(&only(eu())).await;
        assert_eq!(Report::of(&again), held("tried once more at 2027-01-15T08:01:00Z"));
    }
    assert_eq!(on.grid.bad_logins(), 1);
    on.advance(60);
    looked(&on).await;
    on.advance(86_400);
    assert_eq!(looked(&on).await, held("not tried again before it changes"));
    assert_eq!(on.grid.bad_logins(), 2);
}

#[tokio::test]
async fn an_account_without_access_to_the_api_is_told() {
    let account = Account::new(USER, PASSWORD).without_api_access();
    let on = OnGrid::with(builder(account), Wanted::default());
    assert_eq!(
        looked(&on).await,
        kept_out(&[
            REACHED,
            TRUSTED,
            "error login: Infoblox at 127.0.0.1 refuses this account or this client's address (HTTP 403); allow the account's group to use the API, or wait until the grid's block after bad log-ins ends -> at Administration > Administrators > Groups the account's group must have API among its Allowed Interfaces"
        ])
    );
}
