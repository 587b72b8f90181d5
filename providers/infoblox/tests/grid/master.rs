//! Several addresses of one grid: the master is found, and nothing is written anywhere else.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use gslb_mocks::wapi::{Entry, Fault, Grid, HttpServer, SimulatorTls};
use gslb_provider_contract::{Observe, Provider};
use gslb_provider_infoblox::{ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider};
use jiff::Timestamp;

use crate::stage::{PASSWORD, approve, builder, credentials, scope, wants};

/// Two grids in one: the databases differ, so that it shows who was asked.
struct Two {
    first: Grid,
    second: Grid,
    provider: Infoblox,
    clock: Arc<AtomicI64>,
    _servers: [HttpServer; 2],
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

fn settings(ports: &[u16], tls: &SimulatorTls) -> Settings {
    let address = |port: &u16| GridAddress::new("127.0.0.1", *port, "2.12.3").unwrap();
    Settings {
        grids: ports.iter().map(address).collect(),
        client_certificate: None,
        view: "default".to_owned(),
        credentials: credentials(PASSWORD),
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: false,
        request_timeout: Duration::from_secs(5),
        retry_pause: Duration::from_millis(1),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
    }
}

fn provider(settings: Settings) -> Infoblox {
    Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap()
}

fn two() -> Two {
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let (first, second) = (builder().build().unwrap(), builder().build().unwrap());
    let servers = [&first, &second].map(|grid| grid.serve_https(listener(), &tls).unwrap());
    let ports = servers.each_ref().map(|server| server.address().port());
    let clock = Arc::new(AtomicI64::new(1_800_000_000));
    let ticking = Arc::clone(&clock);
    let now = move || Timestamp::from_second(ticking.load(Ordering::SeqCst)).unwrap();
    let provider = provider(Settings { clock: Arc::new(now), ..settings(&ports, &tls) });
    Two { first, second, provider, clock, _servers: servers }
}

impl Two {
    async fn create(&self) -> Result<(), gslb_provider_contract::ProviderError> {
        let observed = self.provider.observe(&scope()).await?;
        let history = gslb_core::history::History::default();
        let plan = gslb_core::plan::plan(&wants(&["192.0.2.53"]), &observed, &history, Timestamp::UNIX_EPOCH);
        self.provider.apply(&approve(plan).changes()[0]).await.map(drop)
    }

    fn asked(&self) -> [usize; 2] {
        [&self.first, &self.second].map(|grid| grid.journal().entries().len())
    }

    fn writes(&self) -> [usize; 2] {
        [&self.first, &self.second]
            .map(|grid| grid.journal().entries().iter().filter(|e| Entry::is_write(e)).count())
    }

    fn hold(&self) -> [bool; 2] {
        [&self.first, &self.second].map(|grid| grid.delegation("cloud.example.com", "default").is_some())
    }
}

#[tokio::test]
async fn a_candidate_that_refers_to_the_master_is_left_and_the_master_is_kept() {
    let two = two();
    two.first.faults().inject(Fault::MetaRefresh);
    two.create().await.unwrap();
    assert_eq!(two.hold(), [false, true]);
    assert_eq!(two.asked()[0], 1, "one question, and never again");
    // The other one is promoted.
    two.first.faults().clear();
    two.second.faults().inject(Fault::MetaRefresh);
    two.create().await.unwrap();
    assert_eq!(two.hold(), [true, true]);
    assert_eq!([&two.first, &two.second].map(Grid::bad_logins), [0, 0]);
}

#[tokio::test]
async fn a_master_that_is_busy_or_away_is_looked_for_at_the_other_addresses() {
    for fault in [Fault::Unavailable, Fault::BadGateway, Fault::ResetBeforeCommit] {
        let two = two();
        two.provider.observe(&scope()).await.unwrap();
        two.first.faults().inject(fault);
        two.provider.observe(&scope()).await.unwrap();
        assert!(two.asked()[1] > 0, "{fault:?}");
    }
    // A grid may have counted a log-in whose reply is lost, whichever of its addresses it went to.
    for (fault, seconds) in [(Fault::Unavailable, 0), (Fault::BadGateway, 60), (Fault::ResetBeforeCommit, 60)]
    {
        let two = two();
        two.first.faults().inject(fault);
        if seconds > 0 {
            let held = two.provider.observe(&scope()).await.unwrap_err();
            assert_eq!((held.reason(), two.asked()), ("LoginHeld", [1, 0]), "{fault:?}");
            two.clock.fetch_add(seconds, Ordering::SeqCst);
        }
        two.provider.observe(&scope()).await.unwrap();
        assert!(two.asked()[1] > 0, "{fault:?}");
    }
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap();
    let closed = listener().local_addr().unwrap().port();
    let grid = builder().build().unwrap();
    let server = grid.serve_https(listener(), &tls).unwrap();
    let provider = provider(settings(&[closed, server.address().port()], &tls));
    provider.observe(&scope()).await.unwrap();
}

#[tokio::test]
async fn a_master_that_loses_replies_for_long_holds_up_no_read_at_the_other_address() {
    for fault in [Fault::BadGateway, Fault::ResetBeforeCommit] {
        let two = two();
        two.provider.observe(&scope()).await.unwrap();
        two.first.faults().inject(fault);
        for _ in 0..40 {
            two.provider.observe(&scope()).await.unwrap();
            two.clock.fetch_add(15, Ordering::SeqCst);
        }
        // It is asked once a minute.
        assert!(two.asked()[0] < 20, "{fault:?}: {:?}", two.asked());
    }
}

#[tokio::test]
async fn a_write_is_sent_to_one_address_only_and_what_it_met_is_told() {
    let two = two();
    two.first.faults().inject(Fault::MetaRefresh.on_method("POST"));
    let refused = two.create().await.unwrap_err();
    assert!(
        refused.to_string().contains("is not the Grid Master, it refers to https://gm.example.com"),
        "{refused}"
    );
    assert_eq!((two.hold(), two.asked()[1]), ([false, false], 0));
}

#[tokio::test]
async fn a_candidate_that_lets_read_only_is_left_when_it_refuses_a_write() {
    // It is the first of the list.
    let listed = two();
    listed.first.faults().inject(Fault::MetaRefresh.on_method("POST"));
    assert_eq!(listed.create().await.unwrap_err().reason(), "Misconfigured");
    listed.create().await.unwrap();
    assert_eq!((listed.writes(), listed.hold()), ([1, 1], [false, true]));
    // The master was away for a moment.
    let away = two();
    away.second.faults().inject(Fault::MetaRefresh.on_method("POST"));
    away.first.faults().inject(Fault::Unavailable.times(1));
    assert_eq!(away.create().await.unwrap_err().reason(), "Misconfigured");
    away.create().await.unwrap();
    assert_eq!((away.writes(), away.hold()), ([1, 1], [true, false]));
}

#[tokio::test]
async fn an_address_that_took_the_place_of_one_without_an_answer_is_read_for_a_minute_at_most() {
    let two = two();
    two.first.faults().inject(Fault::Unavailable.times(1));
    let scope = scope();
    let observe = || two.provider.observe(&scope);
    observe().await.unwrap();
    two.clock.fetch_add(59, Ordering::SeqCst);
    let asked = two.asked()[0];
    observe().await.unwrap();
    assert_eq!(two.asked()[0], asked);
    two.clock.fetch_add(1, Ordering::SeqCst);
    let asked = two.asked()[1];
    observe().await.unwrap();
    assert_eq!(two.asked()[1], asked, "the master is well again");
    // One that took a write is the master, and stays.
    two.first.faults().inject(Fault::Unavailable);
    two.create().await.unwrap();
    let asked = two.asked()[0];
    two.clock.fetch_add(600, Ordering::SeqCst);
    observe().await.unwrap();
    assert_eq!((two.asked()[0], two.hold()), (asked, [false, true]));
}

#[tokio::test]
async fn if_no_address_is_a_master_the_last_one_says_why() {
    let two = two();
    two.first.faults().inject(Fault::Unavailable);
    two.second.faults().inject(Fault::MetaRefresh);
    let failed = two.provider.observe(&scope()).await.unwrap_err();
    assert_eq!((failed.reason(), two.asked()), ("Misconfigured", [1, 1]));
}

#[tokio::test]
async fn a_grid_that_asks_for_a_client_certificate_gets_it_in_the_first_handshake() {
    install_crypto_provider();
    let tls = SimulatorTls::generate(&[]).unwrap().requiring_client_certificates().unwrap();
    let grid = builder().build().unwrap();
    let server = grid.serve_https(listener(), &tls).unwrap();
    let without = settings(&[server.address().port()], &tls);
    let with =
        Settings { client_certificate: Some(tls.client_pem().as_bytes().to_vec().into()), ..without.clone() };
    let refused = provider(without).observe(&scope()).await.unwrap_err();
    assert_eq!(
        (refused.reason(), refused.to_string().as_str()),
        (
            "Misconfigured",
            "Infoblox at 127.0.0.1 asks for a client certificate that it trusts; set INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE"
        )
    );
    assert_eq!(grid.journal().entries(), []);
    provider(with.clone()).observe(&scope()).await.unwrap();
    let broken = Settings { client_certificate: Some(b"no PEM".to_vec().into()), ..with };
    let error =
        Infoblox::new(broken, Arc::new(ForgetfulMemory::default()), Arc::new(())).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("the client certificate for Infoblox cannot be used"), "{error}");
}
