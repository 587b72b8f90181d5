//! Which Gslb depends on what, and which Gslb serves which host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use gslb_core::contest::{Contest, Wants};
use gslb_core::few::Few;
use gslb_core::name::DomainName;
use gslb_core::publication::ServiceName;
use gslb_core::reference::ObjectKind;
use jiff::SignedDuration;

use super::cache::Key;
use super::gslb::group::Id;
use super::slices::service_key;

/// One thing that a pass over a Gslb reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dependency {
    /// An object; for a Service, its slices too.
    Object(ObjectKind, Key),
    /// Any object of a kind in a namespace; in an empty one: anywhere.
    Any(ObjectKind, String),
    /// Whether the kind can be read at all.
    Kind(ObjectKind),
    /// What a host name of a load balancer resolves to.
    Name(DomainName),
}

impl Dependency {
    /// A Service behind a host.
    pub(crate) fn service(service: &ServiceName) -> Self {
        Self::Object(ObjectKind::Service, service_key(service))
    }
}

#[derive(Debug, Default)]
struct Plain {
    dependencies: BTreeMap<Id, Few<Dependency>>,
    dependents: BTreeMap<Dependency, Few<Id>>,
    /// By name: of two Gslbs of one name, one serves.
    contest: Contest<Key>,
}

/// Handle around the index.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Plain>);

impl Registry {
    /// Adds dependencies. Called before the objects are read, so that a change in between is not lost.
    pub(crate) fn depend(&self, gslb: &Id, dependencies: impl IntoIterator<Item = Dependency>) {
        let mut plain = self.lock();
        for dependency in dependencies {
            plain.dependents.entry(dependency.clone()).or_default().insert(gslb.clone());
            plain.dependencies.entry(gslb.clone()).or_default().insert(dependency);
        }
    }

    /// Keeps exactly these dependencies, at the end of a pass.
    pub(crate) fn depend_only(&self, gslb: &Id, keep: &BTreeSet<Dependency>) {
        let mut plain = self.lock();
        let kept = keep.iter().cloned().collect();
        let old = plain.dependencies.insert(gslb.clone(), kept).unwrap_or_default();
        for gone in old.iter().filter(|dependency| !keep.contains(dependency)) {
            plain.remove_dependent(gone, gslb);
        }
    }

    /// Gslbs to look at when an object changed.
    pub(crate) fn dependents(&self, dependency: &Dependency) -> Vec<Id> {
        self.lock().dependents.get(dependency).into_iter().flat_map(Few::iter).cloned().collect()
    }

    /// Records what a Gslb wants; gives the other Gslbs whose hosts changed hands, and nothing if it wants what
    /// it wanted before.
    pub(crate) fn want(&self, gslb: &Key, wants: Wants) -> Option<Vec<Key>> {
        self.lock().contest.want(gslb, wants)
    }

    /// Nothing wakes this Gslb any more but itself.
    pub(crate) fn forget(&self, gslb: &Id) {
        let mut plain = self.lock();
        for dependency in plain.dependencies.remove(gslb).unwrap_or_default() {
            plain.remove_dependent(&dependency, gslb);
        }
    }

    /// Nobody of this name wants anything any more; gives the other Gslbs whose hosts changed hands.
    pub(crate) fn release(&self, name: &Key) -> Vec<Key> {
        self.lock().contest.want(name, Wants::default()).unwrap_or_default()
    }

    /// The Gslb that serves a host, if it is not this one.
    pub(crate) fn winner_over(&self, gslb: &Key, host: &DomainName) -> Option<Key> {
        self.lock().contest.winner_over(gslb, host).cloned()
    }

    /// All hosts of all accepted Gslbs, each with the longest time that evidence may hold.
    pub(crate) fn hosts(&self) -> BTreeMap<DomainName, SignedDuration> {
        self.lock().contest.hosts()
    }

    /// Gslbs that want a host.
    pub(crate) fn gslbs_of(&self, host: &DomainName) -> Vec<Key> {
        self.lock().contest.wanting(host).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.0.lock().expect("no panic while the registry is locked")
    }
}

impl Plain {
    fn remove_dependent(&mut self, dependency: &Dependency, gslb: &Id) {
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
    use gslb_core::group::Group;

    use super::*;

    fn key(name: &str) -> Key {
        Key::new("web", name)
    }
    fn host() -> DomainName {
        DomainName::parse("app.cloud.example.com").unwrap()
    }
    fn wants(created: &str) -> Wants {
        Wants {
            hosts: [(host(), SignedDuration::ZERO)].into(),
            created: Some(created.parse().unwrap()),
            accepted: true,
            referent_gone: false,
        }
    }

    #[test]
    fn a_deleted_gslb_hands_its_hosts_over() {
        let registry = Registry::default();
        registry.want(&key("old"), wants("2026-01-01T00:00:00Z"));
        registry.want(&key("young"), wants("2026-01-02T00:00:00Z"));
        assert_eq!(registry.release(&key("old")), [key("young")]);
        assert_eq!(registry.winner_over(&key("young"), &host()), None);
    }

    #[test]
    fn dependencies_that_a_pass_no_longer_has_trigger_nothing() {
        let registry = Registry::default();
        let of = |name| Dependency::Object(ObjectKind::Ingress, key(name));
        let (a, b) = (of("a"), of("b"));
        let gslb = Id { key: key("g"), group: Group::Canonical };
        registry.depend(&gslb, [a.clone(), b.clone()]);
        registry.depend_only(&gslb, &[b.clone()].into());
        assert_eq!(registry.dependents(&a), []);
        assert_eq!(registry.dependents(&b), std::slice::from_ref(&gslb));
        registry.forget(&gslb);
        assert_eq!(registry.dependents(&b), []);
    }
}
