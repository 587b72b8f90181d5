//! The parent zone: sets of records that clients alter by dynamic updates, and that are answered over DNS.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::dns::{self, DnsServer, DnsSockets};

/// A name in stored form (lower-case, without the final dot) and a type.
pub(super) type Key = (String, String);

/// All sets of records, by name and type.
pub type Records = BTreeMap<(String, String), RecordSet>;

/// The records of one name and type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSet {
    /// Seconds.
    pub ttl: u32,
    /// As in a zone file, names without the final dot, texts without quotes.
    pub data: BTreeSet<String>,
}

/// One edit of a set, as an update sends it: what its author saw is taken out, what it wants is put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) key: Key,
    pub(super) before: Option<RecordSet>,
    pub(super) after: Option<RecordSet>,
}

/// What one edit did to the zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Who sent it.
    pub by: String,
    /// The name that was edited.
    pub name: String,
    /// Its type.
    pub rtype: String,
    /// What stands there since; nothing if it is gone.
    pub data: BTreeSet<String>,
}

/// One zone with its server. Clones are handles to the same one.
#[derive(Debug, Clone)]
pub struct ParentZone {
    apex: String,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) records: Records,
    pub(super) serial: u32,
    writes: Vec<Write>,
}

impl ParentZone {
    /// A zone with nothing but its own name server.
    pub fn new(apex: &str, name_server: &str, address: std::net::Ipv4Addr) -> Self {
        let set = |data: String| RecordSet { ttl: 3600, data: [data].into() };
        let records = [
            ((apex.to_owned(), "NS".to_owned()), set(name_server.to_owned())),
            ((name_server.to_owned(), "A".to_owned()), set(address.to_string())),
        ];
        let state = State { records: records.into(), serial: 1, writes: Vec::new() };
        Self { apex: apex.to_owned(), state: Arc::new(Mutex::new(state)) }
    }

    /// Answers DNS for the zone until the server is dropped. Needs a Tokio runtime.
    pub fn serve_dns(&self, sockets: DnsSockets) -> DnsServer {
        dns::serve(Arc::new(self.clone()), sockets)
    }

    /// Everything that it holds, its own name server too.
    pub fn records(&self) -> Records {
        self.state().records.clone()
    }

    /// Counts the updates that changed something.
    pub fn serial(&self) -> u32 {
        self.state().serial
    }

    /// What was written after the first `seen` writes.
    pub fn writes_after(&self, seen: usize) -> Vec<Write> {
        self.state().writes.get(seen..).unwrap_or_default().to_vec()
    }

    /// Replaces a set, or deletes it, as somebody would by hand.
    pub fn edit(&self, name: &str, rtype: &str, after: Option<RecordSet>) {
        let key = (name.to_owned(), rtype.to_owned());
        let before = self.state().records.get(&key).cloned();
        self.update("somebody by hand", &[Change { key, before, after }]);
    }

    /// Carries out one update as a whole. What others wrote meanwhile into the same sets stays.
    pub(super) fn update(&self, by: &str, changes: &[Change]) {
        let mut state = self.state();
        let before = state.records.clone();
        for Change { key, before, after } in changes {
            let mut data = state.records.remove(key).map(|set| set.data).unwrap_or_default();
            let seen = |text: &String| before.as_ref().is_some_and(|set| set.data.contains(text));
            data.retain(|text| !seen(text));
            data.extend(after.iter().flat_map(|set| &set.data).cloned());
            let ttl = after.as_ref().or(before.as_ref()).map_or(0, |set| set.ttl);
            if !data.is_empty() {
                state.records.insert(key.clone(), RecordSet { ttl, data: data.clone() });
            }
        }
        if state.records != before {
            state.serial += 1;
        }
        for key in changes.iter().map(|change| &change.key) {
            let after = state.records.get(key).cloned();
            if after.as_ref() != before.get(key) {
                let (name, rtype) = key.clone();
                let data = after.map(|set| set.data).unwrap_or_default();
                state.writes.push(Write { by: by.to_owned(), name, rtype, data });
            }
        }
    }

    pub(super) fn apex(&self) -> &str {
        &self.apex
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
