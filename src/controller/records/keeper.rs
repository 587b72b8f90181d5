//! Visits the provider for each zone in records mode: once an interval, and whenever a wish changes.

use std::sync::Arc;
use std::time::Duration;

use gslb_core::zone::Zone;
use tokio::sync::watch;
use tokio::time::sleep;

use super::visit::{Memory, visit};
use crate::controller::Pass;

/// Wishes that come together are looked at together: at start those of all Gslbs. No outside reference.
const TOGETHER: Duration = Duration::from_millis(100);
/// Shortest pause between two visits of a zone: whatever goes on, a zone costs a request a second at most. No outside
/// reference.
const SHORTEST: Duration = Duration::from_secs(1);

/// Keeps the records of all zones in records mode, until the daemon ends. `all_gslbs_known`: whether every Gslb of the
/// cluster has been read, so that a record which none of them wants has certainly lost its Gslb.
pub(crate) async fn keep(pass: Arc<Pass>, all_gslbs_known: watch::Receiver<bool>) {
    let settings = &pass.context.settings;
    let zones = settings.zones.iter().filter(|zone| settings.records_zones.contains(zone.name()));
    futures::future::join_all(zones.map(|zone| keep_zone(&pass, zone, &all_gslbs_known))).await;
    // A task of the daemon never ends by itself.
    std::future::pending().await
}

async fn keep_zone(pass: &Pass, zone: &Zone, all_gslbs_known: &watch::Receiver<bool>) {
    let mut wants = pass.context.records.changes();
    let mut memory = Memory::default();
    loop {
        sleep(TOGETHER).await;
        wants.mark_unchanged();
        let all_known = *all_gslbs_known.borrow();
        visit(pass, zone, all_known, &mut memory).await;
        let until = memory.next.duration_since(pass.context.now());
        let wait = Duration::try_from(until).unwrap_or_default().max(SHORTEST);
        if memory.failures > 0 {
            // A new wish is no reason to ask a provider that failed sooner.
            sleep(wait).await;
            continue;
        }
        sleep(SHORTEST - TOGETHER).await;
        tokio::select! {
            () = sleep(wait.saturating_sub(SHORTEST)) => {}
            // The sender lives as long as the daemon.
            Ok(()) = wants.changed() => {}
        }
    }
}
