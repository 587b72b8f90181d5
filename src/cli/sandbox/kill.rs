//! Kills a controller at an exact point of a change, and looks whether the change happens exactly once.

use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::apply::Report;
use super::children::Role;
use super::entry::Entry;
use super::fault::KillPoint;
use super::topology::{Mode, Provider, Site};
use super::world::World;

/// Within this time the controller must notice that its entry is gone: twice its ZoneDelegation period of 5 s,
/// and some for a busy machine.
const NOTICE: Duration = Duration::from_secs(20);
/// Within this time after its death all must be right again: the restart, the wait for a request that may be under way
/// (its time-out of 5 s and some), one period, the grid's restart.
const RECOVERY: Duration = Duration::from_secs(40);
/// The same with external-dns: an API server may work on a request for a minute.
const RECOVERY_AT_API: Duration = Duration::from_secs(95);
/// How long to wait for one more look of the controller at its entry, which must not lead to a write.
const SECOND_LOOK: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(50);

/// What came of it.
#[derive(Debug)]
pub(super) struct Outcome {
    site: Site,
    at: KillPoint,
    /// Before and after.
    pids: (Option<u32>, Option<u32>),
    /// Writes of the site that changed something, since its entry was removed.
    effective_writes: usize,
    entry_is_back: bool,
    /// The change log since then: number and result.
    changes: Vec<(String, String)>,
    took: Duration,
}

/// Removes the site's entry by hand, kills its controller while it puts the entry back, and waits for the end.
///
/// # Errors
/// There is no entry to remove, or the controller does not put it back at all.
pub(super) async fn run(world: &World, site: Site, at: KillPoint) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        world.mode == Mode::Delegation,
        "this injection is about the delegation; start the sandbox without --mode records"
    );
    let start = Instant::now();
    let cluster = world.cluster(site);
    let controller = world.process(site, Role::Controller);
    let known = cluster.changes();
    let entry = Entry { world, site };
    let mut trap = match at {
        KillPoint::AfterIntent => cluster.trap_intent(),
        KillPoint::AfterWrite => entry.trap_write(),
    };
    let removed = entry.remove_by_hand()?;
    let sprung = timeout(NOTICE, trap.sprung()).await;
    let sprung = sprung.with_context(|| format!("the controller of {site} does not put its entry back"))?;
    anyhow::ensure!(sprung, "somebody else cleared the faults");
    let before = controller.pid();
    controller.kill().await;
    let after = controller.running().await;
    let patience = match world.parent.provider() {
        Provider::Infoblox => RECOVERY,
        Provider::ExternalDns => RECOVERY_AT_API,
    };
    timeout(patience, recovered(&entry)).await.unwrap_or_default();
    let now = entry.requests();
    timeout(SECOND_LOOK, looked_again(&entry, now)).await.unwrap_or_default();
    let since = cluster.changes().into_iter().filter(|(name, _)| !known.contains_key(name));
    Ok(Outcome {
        site,
        at,
        pids: (before, after),
        effective_writes: entry.writes_since(removed),
        entry_is_back: entry.is_there(),
        changes: since.map(|(name, change)| (name, change.result)).collect(),
        took: start.elapsed(),
    })
}

/// The entry is there again, and the change log knows what came of every change.
async fn recovered(entry: &Entry<'_>) {
    let cluster = entry.world.cluster(entry.site);
    let settled = || cluster.changes().values().all(|change| is_settled(&change.result));
    while !(entry.is_there() && settled()) {
        sleep(PAUSE).await;
    }
}

/// The controller has read its entry since.
async fn looked_again(entry: &Entry<'_>, requests: u64) {
    while !entry.was_read_since(requests) {
        sleep(PAUSE).await;
    }
}

fn is_settled(result: &str) -> bool {
    !matches!(result, "" | "Unknown")
}

impl Outcome {
    fn is_right(&self) -> bool {
        let settled = self.changes.iter().all(|(_, result)| is_settled(result));
        self.entry_is_back && self.effective_writes == 1 && settled && !self.changes.is_empty()
    }

    /// What happened.
    ///
    /// # Errors
    /// It was not exactly one effective write, or something is still open.
    pub(super) fn report(self) -> anyhow::Result<Report> {
        let Self { site, at, pids, effective_writes, entry_is_back, changes, took } = &self;
        let shown: Vec<String> = changes
            .iter()
            .map(|(name, result)| {
                let result = if result.is_empty() { "open" } else { result };
                format!("{} {result}", name.trim_start_matches('0'))
            })
            .collect();
        let text = format!(
            "the controller of {site} was killed {}; effective writes: {effective_writes}, entry {}, change log: {}",
            at.word().replace('-', " "),
            if *entry_is_back { "back" } else { "missing" },
            shown.join(", "),
        );
        anyhow::ensure!(self.is_right(), "{text}");
        let data = json!({
            "cluster": site, "at": at.word(), "pids": {"before": pids.0, "after": pids.1},
            "effectiveWrites": effective_writes, "entryIsBack": entry_is_back,
            "changes": changes.iter().map(|(name, result)| json!({"name": name, "result": result})).collect::<Vec<_>>(),
            "seconds": took.as_secs_f64(),
        });
        Ok(Report { text, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(effective_writes: usize, results: &[&str]) -> Outcome {
        Outcome {
            site: Site::Eu,
            at: KillPoint::AfterWrite,
            pids: (Some(1), Some(2)),
            effective_writes,
            entry_is_back: true,
            changes: results.iter().map(|result| ("7".to_owned(), (*result).to_owned())).collect(),
            took: Duration::ZERO,
        }
    }

    #[test]
    fn exactly_one_effective_write_with_a_settled_log_is_right() {
        assert!(outcome(1, &["Applied"]).report().is_ok());
        assert!(outcome(1, &["NotApplied", "Applied"]).report().is_ok());
        assert!(outcome(2, &["Applied", "Applied"]).report().is_err());
        assert!(outcome(1, &[""]).report().is_err());
        assert!(outcome(1, &["Unknown"]).report().is_err());
        assert!(outcome(1, &[]).report().is_err());
    }
}
