//! What 100 new zones cost a grid that takes 50 ms for each call, and what they cost it at rest.
//!
//! `cargo bench --bench grid`. The controller of one cluster writes over verified TLS to the simulated grid, in real time.
//! Fails if a limit is not kept.

#![allow(clippy::unwrap_used, reason = "a benchmark that fails has nothing to report")]
#![allow(clippy::print_stdout, reason = "the report")]
#![allow(dead_code, reason = "shared with the tests, which use all of it")]

#[path = "../tests/controller/dns.rs"]
mod dns;
#[path = "../tests/controller/objects.rs"]
mod objects;
#[path = "../tests/controller/world.rs"]
mod world;

use std::fmt::Display;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gslb_mocks::wapi::{Fault, Grid, HttpServer, RestartMode, SimulatorTls};
use gslb_provider_contract::Provider;
use gslb_provider_infoblox::{
    Credentials, ForgetfulMemory, GridAddress, Infoblox, Settings, install_crypto_provider,
};
use jiff::Timestamp;

use crate::world::{Cluster, PARENT, RESOLVER, pass};

const ZONES: usize = 100;
/// What a call takes: as the issue has it. Zone writes of real grids take seconds, reads less.
const CALL: Duration = Duration::from_millis(50);
/// Until all are delegated.
const LIMIT: Duration = Duration::from_secs(15);
/// Requests at once.
const AT_ONCE: usize = 4;
/// `ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS`, short so that the rest is.
const INTERVAL: u64 = 30;
/// Intervals at rest.
const INTERVALS: u64 = 2;
/// After this the reads that follow each write are over: the last one comes ten seconds later.
const AFTERMATH: u64 = 15;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(measure());
}

async fn measure() {
    let (grid, provider, _server) = grid();
    let cluster = cluster();
    let start = Instant::now();
    let running = cluster.run_with(Some(provider));
    while grid.delegations().len() < ZONES {
        assert!(
            start.elapsed() < 2 * LIMIT,
            "{} zones after {:?}",
            grid.delegations().len(),
            start.elapsed()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let took = start.elapsed();
    report(
        &format!("{ZONES} new zones, {} ms a call", CALL.as_millis()),
        format!("{:.1} s", took.as_secs_f64()),
    );
    report("  calls for them", grid.journal().entries().len());
    assert!(took <= LIMIT, "{took:?}");

    pass(AFTERMATH).await;
    let mark = grid.journal().mark();
    pass(INTERVAL * INTERVALS).await;
    let rest = grid.journal().since(mark);
    let (writes, reads): (Vec<_>, Vec<_>) = rest.iter().partition(|entry| entry.is_write());
    let per_zone = reads.len() as f64 / (ZONES as f64 * INTERVALS as f64);
    report(
        &format!("{INTERVALS} intervals of {INTERVAL} s at rest: reads per zone and interval"),
        format!("{per_zone:.2}"),
    );
    report("  writes", writes.len());
    let at_once = grid.journal().most_at_once();
    report("most calls at once", at_once);
    report("sessions that were opened", grid.open_sessions());
    // Where the rest begins within an interval is chance, so a zone may be read once more at its end.
    assert!(reads.len() <= ZONES * (usize::try_from(INTERVALS).unwrap() + 1), "{} reads", reads.len());
    assert_eq!((writes.len(), grid.open_sessions()), (0, 1));
    assert!(at_once <= AT_ONCE, "{at_once}");
    running.stop().await;
    report("sessions after the stop", grid.open_sessions());
}

fn report(what: &str, figure: impl Display) {
    println!("{what:64} {figure:>8}");
}

fn grid() -> (Grid, Arc<dyn Provider>, HttpServer) {
    install_crypto_provider();
    let grid = Grid::builder().username("svc-dns").password("secret").zone_auth("example.com", "default");
    let grid = grid.restart(RestartMode::Immediate).build().unwrap();
    grid.faults().inject(Fault::Slow(CALL));
    let tls = SimulatorTls::generate(&[]).unwrap();
    let server = grid.serve_https(TcpListener::bind("127.0.0.1:0").unwrap(), &tls).unwrap();
    let settings = Settings {
        grids: vec![GridAddress::new("127.0.0.1", server.address().port(), "2.12.3").unwrap()],
        client_certificate: None,
        view: "default".to_owned(),
        credentials: Credentials::Values { username: "svc-dns".to_owned(), password: "secret".into() },
        ca_bundles: vec![tls.ca_pem().as_bytes().to_vec()],
        verifies: true,
        restarts: false,
        request_timeout: Duration::from_secs(20),
        retry_pause: Duration::from_millis(250),
        clock: Arc::new(Timestamp::now),
    };
    let provider = Infoblox::new(settings, Arc::new(ForgetfulMemory::default()), Arc::new(())).unwrap();
    (grid, Arc::new(provider), server)
}

/// A cluster of one with all zones, which the parent's server refers to.
fn cluster() -> Cluster {
    let zones: Vec<_> = (0..ZONES).map(|number| format!("z{number:02}.example.com")).collect();
    let listed: Vec<_> = zones.iter().map(|zone| format!("example.com:{zone}:30")).collect();
    let cluster = Cluster::alone()
        .with_found_peers()
        .setting("DNS_ZONES", &listed.join(";"))
        .setting("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", &INTERVAL.to_string());
    for zone in &zones {
        let ours = format!("gslb-ns-eu-{}", zone);
        cluster.dns.answer(RESOLVER, &ours, &["192.0.2.53"]);
        cluster.dns.delegate(PARENT, zone, &[&ours]);
    }
    cluster
}
