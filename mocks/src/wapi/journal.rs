//! What was asked of the grid, for tests to look at. Secrets never get in here.

use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// One request and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1.
    pub number: u64,
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query as they were sent.
    pub uri: String,
    /// The body, if there was one.
    pub body: Option<String>,
    /// The status of the reply; `None` when the client never got one.
    pub status: Option<u16>,
    /// The header `User-Agent`.
    pub user_agent: Option<String>,
    /// The account that was let in.
    pub user: Option<String>,
    /// Where the request came from.
    pub peer: SocketAddr,
    /// The connection that it came on, counted from 1.
    pub connection: u64,
    /// Whether the request changed what the grid stores.
    pub effective: bool,
}

impl Entry {
    /// Whether the method is one that may write. A batch is one if an operation in it is.
    pub fn is_write(&self) -> bool {
        let writes = matches!(self.method.as_str(), "POST" | "PUT" | "DELETE");
        writes && !self.uri.ends_with("/logout") && !self.is_batch_of_reads()
    }

    fn is_batch_of_reads(&self) -> bool {
        let body = self.body.as_deref().filter(|_| self.uri.ends_with("/request"));
        let operations = body.and_then(|body| serde_json::from_str::<Vec<Value>>(body).ok());
        operations.is_some_and(|all| all.iter().all(|operation| operation["method"] == "GET"))
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.number, self.method, self.uri)?;
        match self.status {
            Some(status) => write!(f, " → {status}"),
            None => write!(f, " → reset"),
        }
    }
}

/// The requests so far, oldest first.
#[derive(Debug)]
pub struct Journal {
    inner: Mutex<Inner>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Vec<Entry>,
    connections: u64,
    at_once: usize,
    most_at_once: usize,
}

/// A request that is under way, until it is dropped.
pub(crate) struct UnderWay<'a>(&'a Journal);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().at_once -= 1;
    }
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// All requests so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    /// Requests after the entry of that number; 0 for all.
    pub fn since(&self, number: u64) -> Vec<Entry> {
        self.lock().entries.iter().filter(|entry| entry.number > number).cloned().collect()
    }

    /// The number of the newest entry, 0 if there is none: a mark for [`Journal::since`].
    pub fn mark(&self) -> u64 {
        self.lock().entries.last().map_or(0, |entry| entry.number)
    }

    /// How many requests pass the test.
    pub fn count(&self, test: impl Fn(&Entry) -> bool) -> usize {
        self.lock().entries.iter().filter(|entry| test(entry)).count()
    }

    /// The requests that changed what the grid stores.
    pub fn effective_writes(&self) -> Vec<Entry> {
        self.lock().entries.iter().filter(|entry| entry.effective).cloned().collect()
    }

    /// Connections accepted so far.
    pub fn connections(&self) -> u64 {
        self.lock().connections
    }

    /// The most requests that were under way at once.
    pub fn most_at_once(&self) -> usize {
        self.lock().most_at_once
    }

    /// Waits until an entry passes the test; `None` when the time is over.
    pub async fn wait_for(&self, deadline: Duration, test: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let mut changes = self.changed.subscribe();
        let found = async {
            loop {
                if let Some(entry) = self.lock().entries.iter().find(|entry| test(entry)).cloned() {
                    return Some(entry);
                }
                changes.changed().await.ok()?;
            }
        };
        tokio::time::timeout(deadline, found).await.ok().flatten()
    }

    pub(crate) fn begin(&self) -> UnderWay<'_> {
        let mut inner = self.lock();
        inner.at_once += 1;
        inner.most_at_once = inner.most_at_once.max(inner.at_once);
        UnderWay(self)
    }

    pub(crate) fn connected(&self) -> u64 {
        let mut inner = self.lock();
        inner.connections += 1;
        inner.connections
    }

    /// Writes an entry and gives it its number.
    pub(crate) fn record(&self, mut entry: Entry) {
        let number = {
            let mut inner = self.lock();
            entry.number = inner.entries.len() as u64 + 1;
            let number = entry.number;
            inner.entries.push(entry);
            number
        };
        self.changed.send_replace(number);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
