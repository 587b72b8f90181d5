//! Looks the peers' name server names up, and keeps the book of who exists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::name::DomainName;

use super::ask::PeerQuestions;
use super::glue::PeerZone;
use crate::controller::context::Context;
use crate::controller::{Trigger, Triggers};

/// Names that are looked up at once.
const AT_ONCE: usize = 16;
/// The list of zones is looked at this often at least.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// Looks names up when they are due, until the daemon ends.
pub(crate) async fn run(context: Arc<Context>, questions: Arc<PeerQuestions>, triggers: Triggers) {
    let mut changed = context.glue.changed();
    let mut zones = context.zones.changes();
    loop {
        keep(&context);
        let (due, _) = context.glue.due(context.now());
        futures::stream::iter(due)
            .for_each_concurrent(AT_ONCE, |(peer, ns_name)| look_up(&context, &questions, peer, ns_name))
            .await;
        let absent = context.glue.absent();
        for tag in context.book.tags() {
            context.book.set_absent(&tag, absent.contains(&tag));
        }
        if changed.has_changed().unwrap_or(false) {
            changed.mark_unchanged();
            triggers.send(Trigger::AllZoneDelegations);
        }
        let now = context.now();
        let (_, next) = context.glue.due(now);
        let wait =
            next.and_then(|at| Duration::try_from(at.duration_since(now)).ok()).unwrap_or(LONGEST_LOOK);
        tokio::select! {
            () = tokio::time::sleep(wait.clamp(Duration::from_millis(100), LONGEST_LOOK)) => {}
            // A new zone: its peers are looked up at once.
            Ok(()) = zones.changed() => {}
        }
    }
}

async fn look_up(context: &Context, questions: &PeerQuestions, peer: PeerZone, ns_name: DomainName) {
    let look_up = questions.glue(&ns_name).await;
    let answering = context.book.answers(&peer.1);
    context.glue.hear(&peer, look_up, answering, context.now());
}

/// Every static peer in every zone, with what the ZoneDelegations' status still tells of them.
pub(crate) fn keep(context: &Context) {
    let zones = context.served_zones();
    let mut names: BTreeMap<PeerZone, DomainName> = BTreeMap::new();
    for zone in &zones {
        for tag in context.book.tags() {
            // A name beyond the limits was refused with its zone already.
            if let Ok(ns_name) = zone.ns_name(&context.settings.ns_prefix, &tag) {
                names.insert((zone.name().clone(), tag), ns_name);
            }
        }
    }
    let known: BTreeSet<_> =
        context.zones.select(|_, _| true).into_iter().flat_map(|(_, facts)| facts.servers).collect();
    context.glue.keep(names, &known, context.now());
}
