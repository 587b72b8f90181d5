//! Everything the grid remembers, behind one lock.

use super::access::Access;
use super::account::Rules;
use super::store::{Object, Store};
use super::task::Waiting;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// When a change to a zone goes live in DNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartMode {
    /// With the write itself.
    Immediate,
    /// The grid restarts its DNS service this long after the first waiting change.
    After(Duration),
    /// Only when somebody calls `restartservices`.
    Manual,
}

impl Default for RestartMode {
    /// One second: short enough for a demonstration, long enough to be noticed.
    fn default() -> Self {
        Self::After(Duration::from_secs(1))
    }
}

/// What a page id stands for.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) ids: Vec<u64>,
    pub(crate) size: usize,
    pub(crate) fields: Vec<String>,
}

/// The grid's state. All logic is in plain functions over it; [`super::Grid`] holds the lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) rules: Rules,
    /// The newest WAPI version that the grid answers.
    pub(crate) version: String,
    pub(crate) access: Access,
    pub(crate) pages: BTreeMap<String, Page>,
    pub(crate) waiting: BTreeMap<u64, Waiting>,
    pub(crate) restart: RestartMode,
    served: Vec<Object>,
    served_revision: u64,
    pending_since: Option<Instant>,
    counter: u64,
    tasks: u64,
}

/// Versions that grids answer; a grid knows those up to its own.
const VERSIONS: [&str; 47] = [
    "1.0", "1.1", "1.2", "1.2.1", "1.3", "1.4", "1.4.1", "1.4.2", "1.5", "1.6", "1.7", "1.7.1", "1.7.2",
    "1.7.3", "1.7.4", "1.7.5", "2.0", "2.1", "2.1.1", "2.2", "2.2.1", "2.2.2", "2.3", "2.3.1", "2.4", "2.5",
    "2.6", "2.6.1", "2.7", "2.7.1", "2.7.3", "2.9", "2.9.1", "2.9.5", "2.9.7", "2.10", "2.10.1", "2.10.3",
    "2.10.5", "2.11", "2.11.1", "2.12", "2.12.1", "2.12.2", "2.12.3", "2.13", "2.13.1",
];

impl State {
    pub(crate) fn new(
        store: Store,
        access: Access,
        version: String,
        restart: RestartMode,
        rules: Rules,
    ) -> Self {
        Self {
            store,
            rules,
            version,
            access,
            pages: BTreeMap::new(),
            waiting: BTreeMap::new(),
            restart,
            served: Vec::new(),
            served_revision: 0,
            pending_since: None,
            counter: 0,
            tasks: 0,
        }
    }

    /// The versions that the grid answers, oldest first.
    pub(crate) fn versions(&self) -> Vec<&'static str> {
        let numbers =
            |version: &str| version.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>();
        let own = numbers(&self.version);
        VERSIONS.iter().copied().filter(|version| numbers(version) <= own).collect()
    }

    /// Keeps what is left of a search and returns its opaque id.
    pub(crate) fn keep_page(&mut self, page: Page) -> String {
        self.counter += 1;
        let id = format!("789c{}", hex::encode(Sha256::digest(self.counter.to_be_bytes())));
        self.pages.insert(id.clone(), page);
        id
    }

    pub(crate) fn next_task_id(&mut self) -> u64 {
        self.tasks += 1;
        self.tasks
    }

    /// Brings DNS up to date with time: call before every access to the state.
    pub(crate) fn settle(&mut self, now: Instant) {
        if self.store.zone_revision() == self.served_revision {
            self.pending_since = None;
            return;
        }
        let since = *self.pending_since.get_or_insert(now);
        match self.restart {
            RestartMode::Immediate => self.publish(),
            RestartMode::After(delay) if now.duration_since(since) >= delay => self.publish(),
            RestartMode::After(_) | RestartMode::Manual => {}
        }
    }

    /// Restarts the DNS service: what is stored becomes what is served.
    pub(crate) fn publish(&mut self) {
        self.served = self.store.all().filter(|object| object.kind.is_zone()).cloned().collect();
        self.served_revision = self.store.zone_revision();
        self.pending_since = None;
    }

    /// Whether a change waits for a service restart.
    pub(crate) fn needs_restart(&self) -> bool {
        self.store.zone_revision() != self.served_revision
    }

    /// The zones as DNS knows them.
    pub(crate) fn served_zones(&self) -> &[Object] {
        &self.served
    }

    /// Whether a restart is needed, as the grid's list of requests for restarts has it.
    pub(crate) fn refresh_restart_requests(&mut self) {
        let needed = if self.needs_restart() { "YES" } else { "NO" };
        let object = self.store.of_type("grid:servicerestart:request").next().cloned();
        if let Some(mut object) = object {
            object.fields.insert("needed".to_owned(), needed.into());
            self.store.replace(object.id, object.fields);
        }
    }

    /// `restartservicestatus` shows what was true when it was last requested.
    pub(crate) fn refresh_restart_status(&mut self) {
        let status = if self.needs_restart() { "YES" } else { "NO" };
        let object = self.store.of_type("restartservicestatus").next().cloned();
        if let Some(mut object) = object {
            object.fields.insert("dns_status".to_owned(), status.into());
            self.store.replace(object.id, object.fields);
        }
    }
}
