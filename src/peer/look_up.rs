//! Looks the peers' name server names up, and keeps the book of who exists.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::name::GeoTag;

use super::ask::PeerQuestions;
use super::fleet;
use super::glue::PeerName;
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
    let mut fleet = context.fleet.changed();
    loop {
        if keep(&context) {
            triggers.send(Trigger::AllGslbs);
        }
        let (due, _) = context.glue.due(context.now());
        futures::stream::iter(due)
            .for_each_concurrent(AT_ONCE, |(peer, tag)| look_up(&context, &questions, peer, tag))
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
            // A new zone or a new peer is looked up at once.
            Ok(()) = zones.changed() => {}
            Ok(()) = fleet.changed() => {}
        }
    }
}

async fn look_up(context: &Context, questions: &PeerQuestions, peer: PeerName, tag: GeoTag) {
    let look_up = questions.glue(&peer.1).await;
    let answering = context.book.answers(&tag);
    context.glue.hear(&peer, look_up, answering, context.now());
}

/// Every peer in every zone, with what the ZoneDelegations' status still tells of them. Gives whether other peers
/// are members than before.
pub(crate) fn keep(context: &Context) -> bool {
    let changed = fleet::keep(context);
    let names = || context.fleet.names(&context.served_zones());
    context.glue.keep(|| (names(), context.known_servers()), context.now());
    changed
}
