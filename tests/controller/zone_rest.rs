//! A zone that cannot go on waits; it does not spin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

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
