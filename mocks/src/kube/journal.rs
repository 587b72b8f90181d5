//! What was asked of the server, for tests that count requests and writes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// One request to a resource; discovery is not recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// As Kubernetes audits it: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: &'static str,
    /// Empty for the core group.
    pub group: String,
    /// The version of the API that was used.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// Empty for cluster-wide kinds and requests over all namespaces.
    pub namespace: String,
    /// Empty for lists.
    pub name: String,
    /// The client, in its own words.
    pub user_agent: String,
    /// The status of the answer; of a watch, of its start.
    pub status_code: u16,
    /// Whether the store differed afterwards.
    pub changed: bool,
}

#[derive(Debug, Default)]
struct Ring {
    entries: VecDeque<JournalEntry>,
    total: u64,
    changes: u64,
}

/// Handle to the requests of one server, the newest some thousands of them; clones share them.
#[derive(Debug, Clone)]
pub struct Journal {
    ring: Arc<Mutex<Ring>>,
    capacity: usize,
}

impl Journal {
    pub(super) fn new(capacity: usize) -> Self {
        Self { ring: Arc::default(), capacity }
    }

    /// Requests that are still kept, oldest first.
    pub fn entries(&self) -> Vec<JournalEntry> {
        self.lock().entries.iter().cloned().collect()
    }

    /// How many of the kept requests fit.
    pub fn count(&self, fits: impl Fn(&JournalEntry) -> bool) -> usize {
        self.lock().entries.iter().filter(|entry| fits(entry)).count()
    }

    /// All requests since the start, kept or not.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// All requests since the start that changed the store, kept or not.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Forgets all requests; the totals stay.
    pub fn clear(&self) {
        self.lock().entries.clear();
    }

    pub(super) fn record(&self, entry: JournalEntry) {
        let mut ring = self.lock();
        ring.total += 1;
        ring.changes += u64::from(entry.changed);
        if ring.entries.len() == self.capacity {
            ring.entries.pop_front();
        }
        ring.entries.push_back(entry);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
