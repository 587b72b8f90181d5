//! Which Services have a ready endpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use gslb_core::publication::ServiceName;

use super::cache::{Cache, Changed, Key};
use super::facts::SliceFacts;

/// EndpointSlices by name, and an index from Services to those of their slices that are ready.
pub(crate) struct Slices {
    pub(crate) cache: Cache<SliceFacts>,
    ready: Mutex<BTreeMap<ServiceName, BTreeSet<String>>>,
}

impl Slices {
    pub(crate) fn new() -> Self {
        Self { cache: Cache::new(), ready: Mutex::new(BTreeMap::new()) }
    }

    /// Whether an endpoint of the Service is ready, in whichever slice.
    pub(crate) fn ready(&self, service: &ServiceName) -> bool {
        self.ready.lock().expect("no panic while the index is locked").contains_key(service)
    }

    /// Takes a changed slice into the index; gives the Services whose readiness may have changed.
    pub(crate) fn index(&self, changed: &Changed<'_, SliceFacts>) -> BTreeSet<ServiceName> {
        let service = |facts: &SliceFacts| {
            let name = facts.service.clone()?;
            Some(ServiceName { namespace: changed.key.namespace.clone(), name })
        };
        let mut ready = self.ready.lock().expect("no panic while the index is locked");
        let before = changed.before.and_then(service);
        if let Some(before) = &before
            && let Some(slices) = ready.get_mut(before)
        {
            slices.remove(&changed.key.name);
            if slices.is_empty() {
                ready.remove(before);
            }
        }
        let after = changed.after.and_then(service);
        if let (Some(after), Some(SliceFacts { ready: true, .. })) = (&after, changed.after) {
            ready.entry(after.clone()).or_default().insert(changed.key.name.clone());
        }
        before.into_iter().chain(after).collect()
    }
}

/// The key of a Service as the caches know it.
pub(crate) fn service_key(service: &ServiceName) -> Key {
    Key::new(service.namespace.clone(), service.name.clone())
}
