//! The readings of all objects of one kind, as a watch delivers them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use gslb_crds::{DnsEndpoint, ZoneDelegation};
use kube::Resource;
use kube::core::DeserializeGuard;
use kube::runtime::watcher::Event;

use super::observe::{Delegated, Published, object_name};

/// A kind of object and what is read from it.
pub trait Readable: Resource {
    /// What is kept of an object.
    type Reading: PartialEq + Debug;
    /// The kind, for messages and metrics.
    const KIND: &'static str;
    /// Reads an object; what did not change is taken from the earlier reading.
    fn read(&self, earlier: Option<&Self::Reading>) -> Self::Reading;
}

impl Readable for DnsEndpoint {
    type Reading = Published;
    const KIND: &'static str = "DNSEndpoint";
    fn read(&self, earlier: Option<&Published>) -> Published {
        let reading = Published::read(self);
        match earlier {
            Some(earlier) => reading.keep_unchanged(earlier),
            None => reading,
        }
    }
}

impl Readable for ZoneDelegation {
    type Reading = Delegated;
    const KIND: &'static str = "ZoneDelegation";
    fn read(&self, earlier: Option<&Delegated>) -> Delegated {
        Delegated::read(self, earlier)
    }
}

/// All objects of one kind.
#[derive(Debug)]
pub struct Shelf<K: Readable> {
    held: BTreeMap<String, Held<K::Reading>>,
    /// What a list has brought so far; it replaces `held` once it is complete.
    incoming: BTreeMap<String, Held<K::Reading>>,
    replaced: Vec<Replaced<K::Reading>>,
    synced: bool,
}

/// A reading of an object, and the one that took its place, unless the object is gone.
pub type Replaced<R> = (Arc<R>, Option<Arc<R>>);

#[derive(Debug, PartialEq)]
struct Held<R> {
    /// The last form of the object that could be read, if there was one.
    reading: Option<Arc<R>>,
    /// Why its present form cannot be read.
    problem: Option<String>,
}

impl<K: Readable> Default for Shelf<K> {
    fn default() -> Self {
        Self { held: BTreeMap::new(), incoming: BTreeMap::new(), replaced: Vec::new(), synced: false }
    }
}

impl<K: Readable> Shelf<K> {
    /// Takes one event and says whether anything is different now.
    pub fn take(&mut self, event: Event<DeserializeGuard<K>>) -> bool {
        match event {
            Event::Init => self.incoming.clear(),
            Event::InitApply(object) => {
                let (name, held) = self.read(object);
                self.incoming.insert(name, held);
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.incoming);
                let changed = !self.synced || self.held != listed;
                let before = std::mem::replace(&mut self.held, listed);
                for (name, held) in before {
                    self.note_replaced(&name, held);
                }
                self.synced = true;
                return changed;
            }
            Event::Apply(object) => {
                let (name, held) = self.read(object);
                let changed = self.held.get(&name) != Some(&held);
                if let Some(before) = self.held.insert(name.clone(), held) {
                    self.note_replaced(&name, before);
                }
                return changed;
            }
            Event::Delete(object) => {
                let name = object_name(object.meta());
                let Some(before) = self.held.remove(&name) else { return false };
                self.note_replaced(&name, before);
                return true;
            }
        }
        false
    }

    fn note_replaced(&mut self, name: &str, before: Held<K::Reading>) {
        let Some(before) = before.reading else { return };
        let after = self.held.get(name).and_then(|held| held.reading.clone());
        if after.as_ref().is_none_or(|after| !Arc::ptr_eq(after, &before)) {
            self.replaced.push((before, after));
        }
    }

    /// Readings that are no more since this was asked last.
    pub fn take_replaced(&mut self) -> Vec<Replaced<K::Reading>> {
        std::mem::take(&mut self.replaced)
    }

    /// An object that cannot be read keeps what it said before: an invalid edit never stops what is served.
    fn read(&self, object: DeserializeGuard<K>) -> (String, Held<K::Reading>) {
        let name = object_name(object.meta());
        let earlier = self.held.get(&name).and_then(|held| held.reading.clone());
        let held = match object.0 {
            Ok(object) => {
                let reading = object.read(earlier.as_deref());
                let unchanged = earlier.filter(|earlier| **earlier == reading);
                Held { reading: Some(unchanged.unwrap_or_else(|| Arc::new(reading))), problem: None }
            }
            Err(invalid) => {
                let kept = if earlier.is_some() { "it keeps its last valid form" } else { "it is left out" };
                let problem = format!("{} {name}: {kept}: {}", K::KIND, invalid.error);
                Held { reading: earlier, problem: Some(problem) }
            }
        };
        (name, held)
    }

    /// Whether one list has been complete.
    pub fn synced(&self) -> bool {
        self.synced
    }

    /// Everything that could be read, by name.
    pub fn readings(&self) -> Vec<Arc<K::Reading>> {
        self.held.values().filter_map(|held| held.reading.clone()).collect()
    }

    /// Sentences about objects that cannot be read.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.held.values().filter_map(|held| held.problem.clone())
    }
}

#[cfg(test)]
mod tests;
