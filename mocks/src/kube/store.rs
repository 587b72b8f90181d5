//! The plain state behind the API: collections, their recent changes, and who owns whom.
//!
//! Nothing here is async or locked: [`super::ApiServer`] is the locked shell around it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::kinds::{Kind, Registry};
use super::object::{self, Key, Object};

/// Group and plural: one collection of objects.
pub(super) type Place = (String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// One write, as watches replay it.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: ChangeKind,
    /// For a deletion the last state, under the version of the deletion.
    pub(super) object: Arc<Object>,
    /// The state before, which selectors need to tell "moved out" from "never in".
    pub(super) before: Option<Arc<Object>>,
}

impl Change {
    pub(super) fn resource_version(&self) -> u64 {
        self.object.resource_version
    }
}

#[derive(Debug)]
pub(super) struct Collection {
    objects: BTreeMap<Key, Arc<Object>>,
    changes: VecDeque<Arc<Change>>,
    /// Watches from before this version get 410.
    pub(super) compacted: u64,
    latest: watch::Sender<u64>,
}

impl Default for Collection {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            changes: VecDeque::new(),
            compacted: 0,
            latest: watch::Sender::new(0),
        }
    }
}

impl Collection {
    /// Objects in the order of namespace and name; of all namespaces with an empty `namespace`.
    pub(super) fn list(&self, namespace: &str) -> impl Iterator<Item = &Arc<Object>> {
        let from = Key::new(namespace, "");
        let wanted = namespace.to_owned();
        self.objects
            .range(from..)
            .map(|(_, object)| object)
            .take_while(move |object| wanted.is_empty() || object.key.namespace == wanted)
    }

    /// Changes after `version`, at most `limit`.
    pub(super) fn changes_after(&self, version: u64, limit: usize) -> Vec<Arc<Change>> {
        let start = self.changes.partition_point(|change| change.resource_version() <= version);
        self.changes.range(start..).take(limit).cloned().collect()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    fn push(&mut self, change: Change, window: usize) {
        let version = change.resource_version();
        self.changes.push_back(Arc::new(change));
        while self.changes.len() > window {
            let dropped = self.changes.pop_front().expect("longer than the window, so not empty");
            self.compacted = dropped.resource_version();
        }
        self.latest.send_replace(version);
    }
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) registry: Registry,
    collections: HashMap<Place, Collection>,
    revision: u64,
    places: HashMap<String, (Place, Key)>,
    dependents: HashMap<String, BTreeSet<(Place, Key)>>,
    /// Changes kept for each collection.
    window: usize,
    /// The garbage collector is slow: dependents outlive their owners.
    pub(super) holds_garbage: bool,
}

impl Store {
    pub(super) fn new(window: usize) -> Self {
        Self {
            registry: Registry::built_in(),
            collections: HashMap::new(),
            revision: 0,
            places: HashMap::new(),
            dependents: HashMap::new(),
            window,
            holds_garbage: false,
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn collection(&mut self, kind: &Kind) -> &mut Collection {
        self.collections.entry(place(kind)).or_default()
    }

    pub(super) fn get(&self, kind: &Kind, key: &Key) -> Option<Arc<Object>> {
        self.get_at(&place(kind), key)
    }

    pub(super) fn get_at(&self, place: &Place, key: &Key) -> Option<Arc<Object>> {
        self.collections.get(place)?.objects.get(key).cloned()
    }

    /// Whether an object with this UID lives here.
    pub(super) fn has_uid(&self, uid: &str) -> bool {
        self.places.contains_key(uid)
    }

    pub(super) fn place_of(&self, uid: &str) -> Option<(Place, Key)> {
        self.places.get(uid).cloned()
    }

    pub(super) fn dependents_of(&self, uid: &str) -> Vec<(Place, Key)> {
        self.each_dependent_of(uid).cloned().collect()
    }

    /// Without a copy: for questions that the first few answer.
    pub(super) fn each_dependent_of(&self, uid: &str) -> impl Iterator<Item = &(Place, Key)> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// All objects in a namespace, of every kind.
    pub(super) fn content_of(&self, namespace: &str) -> Vec<(Place, Key)> {
        let all = self.collections.iter();
        all.flat_map(|(place, collection)| {
            collection.list(namespace).map(|object| (place.clone(), object.key.clone()))
        })
        .collect()
    }

    /// Whether a namespace holds nothing. Asked after each deletion in it, so without a look at what is left.
    pub(super) fn is_empty(&self, namespace: &str) -> bool {
        self.collections.values().all(|collection| collection.list(namespace).next().is_none())
    }

    /// Stores `value`, which is in the stored version, under the next resource version.
    pub(super) fn put(&mut self, place: &Place, value: &mut Value) -> Arc<Object> {
        self.revision += 1;
        object::set_metadata(value, "resourceVersion", Some(json!(self.revision.to_string())));
        let object = Arc::new(Object::new(value, self.revision));
        let window = self.window;
        let collection = self.collections.entry(place.clone()).or_default();
        let before = collection.objects.insert(object.key.clone(), object.clone());
        let kind = if before.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        collection.push(Change { kind, object: object.clone(), before: before.clone() }, window);
        if let Some(before) = before {
            self.unlink(place, &before);
        }
        self.places.insert(object.uid.to_string(), (place.clone(), object.key.clone()));
        for owner in &object.owners {
            self.dependents.entry(owner.clone()).or_default().insert((place.clone(), object.key.clone()));
        }
        object
    }

    /// Removes an object for good. The returned state carries the version of its removal, as the last event does.
    pub(super) fn take(&mut self, place: &Place, key: &Key, last: Option<Value>) -> Option<Arc<Object>> {
        let collection = self.collections.get_mut(place)?;
        let before = collection.objects.remove(key)?;
        self.revision += 1;
        let mut value = last.unwrap_or_else(|| before.value());
        object::set_metadata(&mut value, "resourceVersion", Some(json!(self.revision.to_string())));
        let object = Arc::new(Object::new(&value, self.revision));
        collection.push(
            Change { kind: ChangeKind::Deleted, object: object.clone(), before: Some(before.clone()) },
            self.window,
        );
        self.unlink(place, &before);
        self.places.remove(&*before.uid);
        Some(object)
    }

    /// Lets the watches of a kind look again.
    pub(super) fn wake(&mut self, place: &Place) {
        if let Some(collection) = self.collections.get(place) {
            collection.latest.send_replace(self.revision);
        }
    }

    /// Forgets all changes, so that every watch must list again.
    pub(super) fn compact(&mut self) {
        for collection in self.collections.values_mut() {
            collection.changes.clear();
            // A client that holds the present version must list again too, hence the empty step.
            collection.compacted = self.revision + 1;
            collection.latest.send_replace(self.revision + 1);
        }
        self.revision += 1;
    }

    fn unlink(&mut self, place: &Place, object: &Object) {
        for owner in &object.owners {
            if let Some(set) = self.dependents.get_mut(owner) {
                set.remove(&(place.clone(), object.key.clone()));
                if set.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }
}

pub(super) fn place(kind: &Kind) -> Place {
    (kind.storage.group.clone(), kind.storage.plural.clone())
}
