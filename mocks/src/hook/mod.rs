//! A webhook provider of external-dns in memory: strict about what it takes, with habits and faults of real ones.
//!
//! [`backend`] holds the sets and says what a request does to them, [`habit`] in which form they are told, [`http`] the
//! protocol, [`fault`] what goes wrong with it.

mod backend;
mod fault;
mod habit;
mod http;

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::Notify;

pub use backend::Set;
pub use fault::Fault;
pub use habit::Habits;
pub use http::Call;

use crate::wapi::HttpServer;
use crate::wapi::listen;
use backend::Backend;

/// The form and version that it speaks.
pub const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

/// A webhook, which may be served several times.
#[derive(Clone, Debug)]
pub struct Hook(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Ends those replies that hang.
    healed: Notify,
}

#[derive(Debug)]
struct State {
    backend: Backend,
    filter: Value,
    habits: Habits,
    faults: BTreeMap<Call, Fault>,
    /// Every request that came, in order.
    requests: Vec<Call>,
    /// The body of every request that changed something.
    writes: Vec<Value>,
    /// Another writer's work between a client's reading and its write.
    meanwhile: Vec<Set>,
}

impl Default for Hook {
    fn default() -> Self {
        Self::new()
    }
}

impl Hook {
    /// One that takes every name and has nothing.
    pub fn new() -> Self {
        let state = State {
            backend: Backend::default(),
            filter: json!({}),
            habits: Habits::default(),
            faults: BTreeMap::new(),
            requests: Vec::new(),
            writes: Vec::new(),
            meanwhile: Vec::new(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), healed: Notify::new() }))
    }

    /// Serves it over HTTP on a free loopback port. Needs a Tokio runtime.
    ///
    /// # Errors
    /// When no port is free.
    pub fn serve(&self) -> io::Result<HttpServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listen::serve(Arc::new(http::Served(self.clone())), listener, None)
    }

    /// It takes these domains from now on, as they are on the wire.
    pub fn take_only(&self, filter: Value) {
        self.state().filter = filter;
    }

    /// It tells and takes sets in this way from now on.
    pub fn behave(&self, habits: Habits) {
        self.state().habits = habits;
    }

    /// This goes wrong with every such call from now on.
    pub fn fail(&self, call: Call, fault: Fault) {
        self.state().faults.insert(call, fault);
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.state().faults.clear();
        self.0.healed.notify_waiters();
    }

    /// Somebody makes a set, in the place of what there was: `NS cloud.example.com 30 a.example.com b.example.com`.
    pub fn put(&self, line: &str) {
        self.state().backend.put(Set::parse(line));
    }

    /// Somebody takes a set away: `NS cloud.example.com`.
    pub fn remove(&self, line: &str) {
        self.state().backend.remove(&Set::parse(line));
    }

    /// Somebody makes this set right after the next listing was given out.
    pub fn put_after_listing(&self, line: &str) {
        self.state().meanwhile.push(Set::parse(line));
    }

    /// All sets in words, in order: what [`put`](Self::put) takes.
    pub fn sets(&self) -> Vec<String> {
        self.state().backend.lines()
    }

    /// One set in words, without its TTL; nothing if it is not there.
    pub fn targets(&self, record_type: &str, name: &str) -> Option<Vec<String>> {
        self.state().backend.targets(record_type, name)
    }

    /// What was asked so far, in order.
    pub fn requests(&self) -> Vec<Call> {
        self.state().requests.clone()
    }

    /// The bodies of the requests that changed something, in order.
    pub fn writes(&self) -> Vec<Value> {
        self.state().writes.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
