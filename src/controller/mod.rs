//! Keeps Gslbs and ZoneDelegations as their specs want them.
//!
//! Every input is watched and reduced to facts ([`inputs`], [`kinds`], [`names`]); whatever changes triggers the passes that depend
//! on it ([`registry`]); a pass is always observe, decide (in `gslb-core`), apply, report.

pub(crate) mod annotated;
pub(crate) mod announce;
pub(crate) mod cache;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod echo;
pub(crate) mod events;
pub(crate) mod facts;
pub(crate) mod gslb;
pub(crate) mod inputs;
pub(crate) mod kinds;
pub(crate) mod ledger;
pub(crate) mod names;
pub(crate) mod records;
pub(crate) mod registry;
pub(crate) mod room;
pub(crate) mod run;
pub(crate) mod slices;
pub(crate) mod statuses;
pub(crate) mod write;
pub(crate) mod zone_delegation;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cache::Key;
use context::Context;
use gslb::group::{ByGroup, Id};
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::mpsc;

use gslb_core::changelog::{Proposal, Who};
use gslb_core::doubling::Doubling;
use gslb_core::group::Group;
use gslb_core::name::DomainName;

use crate::audit::ChangeLog;
use crate::health::Progress;
use crate::providers::Providers;

/// Pauses after a pass that failed. The longest is k8gb's normal period, so that a mended cause is noticed as soon as
/// there (F-10).
pub(crate) const RETRY: Doubling =
    Doubling { first: Duration::from_millis(500), longest: Duration::from_secs(30) };

/// A pass that could not be finished. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    /// The Kubernetes API refused or did not answer.
    #[error("the Kubernetes API did not do what was asked")]
    Kubernetes(#[from] kube::Error),
}

/// What a user is told of a write that failed: the API server's own words. The text of a failure without any may differ
/// with every try, and each difference would be written to the status.
pub(crate) fn answer(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        _ => NO_ANSWER.to_owned(),
    }
}

/// See [`answer`].
pub(crate) const NO_ANSWER: &str = "the API server gave no answer; the log of gslb-bridge says more";

/// A write to an object that is gone is done.
pub(crate) fn unless_gone<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// What asks for a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trigger {
    Gslb(Id),
    /// Whichever Gslbs have the name.
    Named(Key),
    AllGslbs,
    ZoneDelegation(Key),
    AllZoneDelegations,
    /// An Ingress may ask for a Gslb of its own.
    Ingress(Key),
}

/// Where triggers go.
#[derive(Clone)]
pub(crate) struct Triggers {
    pub(crate) gslbs: ByGroup<mpsc::UnboundedSender<ObjectRef<gslb::Guarded>>>,
    pub(crate) zones: mpsc::UnboundedSender<ObjectRef<zone_delegation::Guarded>>,
    pub(crate) ingresses: mpsc::UnboundedSender<Key>,
    pub(crate) gslb_stores: ByGroup<Store<gslb::Guarded>>,
    pub(crate) zone_store: Store<zone_delegation::Guarded>,
}

impl Triggers {
    /// Asks for passes. Several requests for one object become one pass.
    pub(crate) fn send(&self, trigger: Trigger) {
        // The receivers live as long as the daemon.
        match trigger {
            Trigger::Gslb(id) => self.gslbs.of(id.group).send(id.object_ref()).unwrap_or_default(),
            Trigger::Named(key) => {
                for id in Group::ALL.map(|group| Id { key: key.clone(), group }) {
                    if self.gslb(&id).is_some() {
                        self.send(Trigger::Gslb(id));
                    }
                }
            }
            Trigger::AllGslbs => {
                for gslb in self.gslbs() {
                    self.send(Trigger::Gslb(gslb.id()));
                }
            }
            Trigger::ZoneDelegation(key) => self.zones.send(ObjectRef::new(&key.name)).unwrap_or_default(),
            Trigger::AllZoneDelegations => {
                for zone in self.zone_store.state() {
                    self.zones.send(ObjectRef::from_obj(&*zone)).unwrap_or_default();
                }
            }
            Trigger::Ingress(key) => self.ingresses.send(key).unwrap_or_default(),
        }
    }

    /// The Gslb as the watch shows it.
    pub(crate) fn gslb(&self, id: &Id) -> Option<Arc<gslb::Guarded>> {
        self.gslb_stores.of(id.group).get(&id.object_ref())
    }

    /// The ZoneDelegation as the watch shows it.
    pub(crate) fn zone(&self, key: &Key) -> Option<Arc<zone_delegation::Guarded>> {
        self.zone_store.get(&ObjectRef::new(&key.name))
    }

    /// All Gslbs of both groups.
    pub(crate) fn gslbs(&self) -> impl Iterator<Item = Arc<gslb::Guarded>> {
        Group::ALL.into_iter().flat_map(|group| self.gslb_stores.of(group).state())
    }
}

/// What the passes share beside the facts.
pub(crate) struct Pass {
    pub(crate) context: Arc<Context>,
    pub(crate) triggers: Triggers,
    pub(crate) progress: Progress,
    /// Of passes over Gslbs.
    pub(crate) turns: room::Turns,
    pub(crate) failures: Failures,
    pub(crate) zones: zone_delegation::Desk,
    pub(crate) ledger: ledger::Ledger,
    pub(crate) providers: Providers,
    /// Without it nothing is changed at a provider.
    pub(crate) log: Arc<ChangeLog>,
    /// What is done about the places of zones beside the passes.
    pub(crate) errands: mpsc::UnboundedSender<zone_delegation::Job>,
    /// Who makes the changes, for the log.
    pub(crate) who: Who,
}

impl Pass {
    /// Whether a change of the log was made where the zone is published now.
    pub(crate) fn is_place_of(&self, zone: &DomainName, change: &Proposal) -> bool {
        let places = self.providers.places(&self.context.settings, zone);
        places.iter().any(|place| place.outlet.holds(change))
    }
}

/// How often each object's pass failed in a row.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<BTreeMap<String, u32>>);

impl Failures {
    /// The pause before the next try.
    pub(crate) fn pause(&self, object: &str) -> Duration {
        let mut failures = self.0.lock().expect("no panic while the failures are locked");
        RETRY.next(failures.entry(object.to_owned()).or_default())
    }

    /// The object's pass succeeded.
    pub(crate) fn reset(&self, object: &str) {
        self.0.lock().expect("no panic while the failures are locked").remove(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-10.
    #[test]
    fn pauses_double_up_to_half_a_minute_and_start_anew_after_a_success() {
        let failures = Failures::default();
        let pauses: Vec<u128> = (0..8).map(|_| failures.pause("web/a").as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        failures.reset("web/a");
        assert_eq!(failures.pause("web/a"), RETRY.first);
    }
}
