//! What a watch has shown, reduced to the facts that a pass needs.
//!
//! A whole object is never kept: facts are small, and an update that changes none of them triggers nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Resource, ResourceExt};
use tokio::sync::watch;

/// Namespace (empty for cluster-scoped kinds) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    pub(crate) fn of<K: Resource>(object: &K) -> Self {
        Self::new(object.namespace().unwrap_or_default(), object.name_any())
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Facts of one kind, by key.
#[derive(Debug)]
pub(crate) struct Cache<V> {
    facts: Mutex<BTreeMap<Key, Arc<V>>>,
    synced: watch::Sender<bool>,
    version: watch::Sender<u64>,
}

/// One fact that changed; `None`: absent.
pub(crate) struct Changed<'a, V> {
    pub(crate) key: &'a Key,
    pub(crate) before: Option<&'a V>,
    pub(crate) after: Option<&'a V>,
}

impl<V: Clone + PartialEq> Cache<V> {
    pub(crate) fn new() -> Self {
        Self {
            facts: Mutex::new(BTreeMap::new()),
            synced: watch::Sender::new(false),
            version: watch::Sender::new(0),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<V> {
        self.lock().get(key).map(|fact| V::clone(fact))
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.lock().contains_key(key)
    }

    /// Facts that satisfy a test, in the order of keys.
    pub(crate) fn select(&self, test: impl Fn(&Key, &V) -> bool) -> Vec<(Key, V)> {
        let facts = self.lock();
        facts
            .iter()
            .filter(|(key, fact)| test(key, fact))
            .map(|(key, fact)| (key.clone(), V::clone(fact)))
            .collect()
    }

    /// Whether the first list has been read whole.
    pub(crate) fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Waits until the first list has been read whole. Nothing may be taken for absent before.
    pub(crate) async fn synced(&self) {
        // The sender lives as long as `self`.
        drop(self.synced.subscribe().wait_for(|synced| *synced).await);
    }

    /// Tells when a fact changes.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Follows a watch until it ends, telling every fact that changed: those of a new list together, so that an
    /// index is whole before anybody is woken.
    pub(crate) async fn follow<K>(
        &self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        project: impl Fn(K) -> V,
        mut on_change: impl FnMut(&[Changed<'_, V>]),
    ) where
        K: Resource,
    {
        let mut events = std::pin::pin!(events);
        let mut listed = BTreeMap::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.insert(Key::of(&object), Arc::new(project(object)));
                }
                Ok(Event::InitDone) => {
                    self.replace(std::mem::take(&mut listed), &mut on_change);
                    self.version.send_modify(|version| *version += 1);
                }
                Ok(Event::Apply(object)) => {
                    let key = Key::of(&object);
                    let after = Arc::new(project(object));
                    let before = self.lock().insert(key.clone(), Arc::clone(&after));
                    if before.as_ref() != Some(&after) {
                        on_change(&[Changed { key: &key, before: before.as_deref(), after: Some(&*after) }]);
                        self.version.send_modify(|version| *version += 1);
                    }
                }
                Ok(Event::Delete(object)) => {
                    let key = Key::of(&object);
                    let before = self.lock().remove(&key);
                    if before.is_some() {
                        on_change(&[Changed { key: &key, before: before.as_deref(), after: None }]);
                        self.version.send_modify(|version| *version += 1);
                    }
                }
                // The watcher starts again by itself; what was read stays in force.
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), kind = short_kind::<K>(), "A watch failed; it is tried again.")
                }
            }
        }
    }

    fn replace(&self, listed: BTreeMap<Key, Arc<V>>, on_change: &mut impl FnMut(&[Changed<'_, V>])) {
        let before = std::mem::replace(&mut *self.lock(), listed.clone());
        // Before anybody is woken: what is not in the list is absent from now on.
        self.synced.send_replace(true);
        let old = before.iter().filter(|(key, old)| listed.get(*key) != Some(*old)).map(|(key, old)| {
            Changed { key, before: Some(&**old), after: listed.get(key).map(AsRef::as_ref) }
        });
        let new = listed.iter().filter(|(key, _)| !before.contains_key(*key));
        let new = new.map(|(key, new)| Changed { key, before: None, after: Some(&**new) });
        on_change(&old.chain(new).collect::<Vec<_>>());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<V>>> {
        self.facts.lock().expect("no panic while the facts are locked")
    }
}

fn short_kind<K>() -> &'static str {
    std::any::type_name::<K>().rsplit("::").next().unwrap_or_default()
}

/// An error with its causes on one line.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn std::error::Error);

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}
