//! Which Gslb depends on what, and which Gslb serves which host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use gslb_core::name::DomainName;
use gslb_core::publication::ServiceName;
use jiff::{SignedDuration, Timestamp};

use super::cache::Key;

/// One object that a pass over a Gslb reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dependency {
    /// The referenced Ingress.
    Ingress(Key),
    /// A Service behind a host.
    Service(ServiceName),
}

/// A Gslb that wants a host. Orders by age: the first one serves it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claimant {
    pub(crate) created: Option<Timestamp>,
    pub(crate) key: Key,
}

/// What one Gslb wants, as its last pass found it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    /// Its hosts, with the time that evidence may hold a peer's last word.
    pub(crate) hosts: BTreeMap<DomainName, SignedDuration>,
    pub(crate) created: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Plain {
    dependencies: BTreeMap<Key, BTreeSet<Dependency>>,
    dependents: BTreeMap<Dependency, BTreeSet<Key>>,
    wants: BTreeMap<Key, Wants>,
    claimants: BTreeMap<DomainName, BTreeSet<Claimant>>,
}

/// Handle around the index.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Plain>);

impl Registry {
    /// Adds dependencies. Called before the objects are read, so that a change in between is not lost.
    pub(crate) fn depend(&self, gslb: &Key, dependencies: impl IntoIterator<Item = Dependency>) {
        let mut plain = self.lock();
        for dependency in dependencies {
            plain.dependents.entry(dependency.clone()).or_default().insert(gslb.clone());
            plain.dependencies.entry(gslb.clone()).or_default().insert(dependency);
        }
    }

    /// Keeps exactly these dependencies, at the end of a pass.
    pub(crate) fn depend_only(&self, gslb: &Key, keep: &BTreeSet<Dependency>) {
        let mut plain = self.lock();
        let old = plain.dependencies.insert(gslb.clone(), keep.clone()).unwrap_or_default();
        for gone in old.difference(keep) {
            plain.remove_dependent(gone, gslb);
        }
    }

    /// Gslbs to look at when an object changed.
    pub(crate) fn dependents(&self, dependency: &Dependency) -> Vec<Key> {
        self.lock().dependents.get(dependency).into_iter().flatten().cloned().collect()
    }

    /// Records what a Gslb wants; gives the other Gslbs whose hosts changed hands, and nothing if it wants what
    /// it wanted before.
    pub(crate) fn want(&self, gslb: &Key, wants: Wants) -> Option<Vec<Key>> {
        self.lock().want(gslb, wants)
    }

    /// Forgets a deleted Gslb; gives the other Gslbs whose hosts changed hands.
    pub(crate) fn forget(&self, gslb: &Key) -> Vec<Key> {
        let mut plain = self.lock();
        for dependency in plain.dependencies.remove(gslb).unwrap_or_default() {
            plain.remove_dependent(&dependency, gslb);
        }
        plain.want(gslb, Wants::default()).unwrap_or_default()
    }

    /// The older Gslb that serves a host, if it is not this one.
    pub(crate) fn winner_over(&self, gslb: &Key, host: &DomainName) -> Option<Key> {
        let plain = self.lock();
        let first = plain.claimants.get(host)?.first()?;
        (first.key != *gslb).then(|| first.key.clone())
    }

    /// All hosts of all Gslbs, each with the longest time that evidence may hold.
    pub(crate) fn hosts(&self) -> BTreeMap<DomainName, SignedDuration> {
        let mut hosts: BTreeMap<DomainName, SignedDuration> = BTreeMap::new();
        for (host, hold) in self.lock().wants.values().flat_map(|wants| &wants.hosts) {
            let longest = hosts.entry(host.clone()).or_insert(*hold);
            *longest = (*longest).max(*hold);
        }
        hosts
    }

    /// Gslbs that want a host.
    pub(crate) fn gslbs_of(&self, host: &DomainName) -> Vec<Key> {
        let plain = self.lock();
        plain.claimants.get(host).into_iter().flatten().map(|claimant| claimant.key.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.0.lock().expect("no panic while the registry is locked")
    }
}

impl Plain {
    fn want(&mut self, gslb: &Key, wants: Wants) -> Option<Vec<Key>> {
        let old = self.wants.get(gslb).cloned().unwrap_or_default();
        if old == wants {
            return None;
        }
        let mut affected = BTreeSet::new();
        let claimant = |wants: &Wants| Claimant { created: wants.created, key: gslb.clone() };
        for host in old.hosts.keys() {
            let claimants = self.claimants.entry(host.clone()).or_default();
            claimants.remove(&claimant(&old));
            affected.extend(claimants.iter().map(|other| other.key.clone()));
        }
        for host in wants.hosts.keys() {
            let claimants = self.claimants.entry(host.clone()).or_default();
            affected.extend(claimants.iter().map(|other| other.key.clone()));
            claimants.insert(claimant(&wants));
        }
        self.claimants.retain(|_, claimants| !claimants.is_empty());
        if wants.hosts.is_empty() {
            self.wants.remove(gslb);
        } else {
            self.wants.insert(gslb.clone(), wants);
        }
        Some(affected.into_iter().collect())
    }

    fn remove_dependent(&mut self, dependency: &Dependency, gslb: &Key) {
        if let Some(dependents) = self.dependents.get_mut(dependency) {
            dependents.remove(gslb);
            if dependents.is_empty() {
                self.dependents.remove(dependency);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("web", name)
    }
    fn host() -> DomainName {
        DomainName::parse("app.cloud.example.com").unwrap()
    }
    fn wants(created: &str) -> Wants {
        Wants { hosts: [(host(), SignedDuration::ZERO)].into(), created: Some(created.parse().unwrap()) }
    }

    #[test]
    fn the_older_gslb_serves_a_host_whichever_was_seen_first() {
        let registry = Registry::default();
        registry.want(&key("young"), wants("2026-01-02T00:00:00Z"));
        assert_eq!(registry.winner_over(&key("young"), &host()), None);
        let affected = registry.want(&key("old"), wants("2026-01-01T00:00:00Z"));
        assert_eq!(affected, Some(vec![key("young")]));
        assert_eq!(registry.want(&key("old"), wants("2026-01-01T00:00:00Z")), None);
        assert_eq!(registry.winner_over(&key("young"), &host()), Some(key("old")));
        assert_eq!(registry.winner_over(&key("old"), &host()), None);
    }

    #[test]
    fn a_deleted_gslb_hands_its_hosts_over() {
        let registry = Registry::default();
        registry.want(&key("old"), wants("2026-01-01T00:00:00Z"));
        registry.want(&key("young"), wants("2026-01-02T00:00:00Z"));
        assert_eq!(registry.forget(&key("old")), [key("young")]);
        assert_eq!(registry.winner_over(&key("young"), &host()), None);
    }

    #[test]
    fn dependencies_that_a_pass_no_longer_has_trigger_nothing() {
        let registry = Registry::default();
        let (a, b) = (Dependency::Ingress(key("a")), Dependency::Ingress(key("b")));
        registry.depend(&key("g"), [a.clone(), b.clone()]);
        registry.depend_only(&key("g"), &[b.clone()].into());
        assert_eq!(registry.dependents(&a), []);
        assert_eq!(registry.dependents(&b), [key("g")]);
    }
}
