//! A zone that cannot go on waits; it does not spin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gslb_core::delegation::Presence;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::dns::name;
use crate::objects::dns_service;
use crate::world::{Cluster, pass};

/// Counts passes: each is one span of kube's.
#[derive(Clone, Default)]
struct Passes(Arc<AtomicUsize>);

impl Subscriber for Passes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span()
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        if span.metadata().name() == "reconciling object" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_lost_its_address_waits_for_one() {
    let passes = Passes::default();
    // While there is only one subscriber, a test on another thread may settle for all that spans are not wanted.
    let _second = tracing::Dispatch::new(Passes::default());
    let _counting = tracing::subscriber::set_default(passes.clone());
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    // Of the two times that are remembered one has passed, and then both.
    pass(20).await;
    cluster.api.apply_object(dns_service(&[])).unwrap();
    cluster.zone_tells("InSync", "False", "NoGlueAddress").await;
    pass(60).await;
    let before = passes.0.load(Ordering::Relaxed);
    assert_ne!(before, 0, "passes are counted");
    pass(60).await;
    let made = passes.0.load(Ordering::Relaxed) - before;
    assert!(made <= 10, "{made} passes in a minute");
    cluster.api.apply_object(dns_service(&["192.0.2.53"])).unwrap();
    cluster.zone_tells("InSync", "True", "InSync").await;
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_back_holds_up_no_visit_and_what_is_logged_has_its_time() {
    let cluster = Cluster::alone().with_provider();
    let _running = cluster.run();
    cluster.zone_tells("InSync", "True", "InSync").await;
    pass(20).await;
    cluster.set_back(Duration::from_secs(7_200));
    let provider = cluster.provider.as_ref().unwrap();
    provider.put(&name("cloud.example.com"), Presence::Absent);
    pass(310).await;
    let made: Vec<_> = provider.writes().iter().map(|change| change.action().as_str()).collect();
    assert_eq!(made, ["Create", "Create"], "the period of a zone is 300 seconds");
    let log = cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
    let hours: Vec<_> =
        log.iter().map(|entry| entry["spec"]["at"].as_str().unwrap()[..13].to_owned()).collect();
    assert_eq!(hours, ["2026-01-02T03", "2026-01-02T01"]);
}
