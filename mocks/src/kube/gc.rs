//! Delete, and what follows from it: finalizers, dependents, the content of namespaces.

use serde_json::{Value, json};

use super::crd;
use super::kinds::Kind;
use super::object::{self, Key, set_metadata};
use super::status::ApiError;
use super::store::{Place, Store, place};
use super::write::Write;

/// Holds an owner until the dependents that block it are gone.
const FOREGROUND: &str = "foregroundDeletion";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Propagation {
    #[default]
    Background,
    Foreground,
    Orphan,
}

/// The body of a DELETE.
#[derive(Debug, Clone, Default)]
pub(super) struct DeleteOptions {
    pub(super) propagation: Propagation,
    pub(super) uid: Option<String>,
    pub(super) resource_version: Option<String>,
}

impl Store {
    /// Deletes, or marks for deletion while finalizers are left. Returns the last state and whether it is gone.
    pub(super) fn delete(
        &mut self,
        write: &Write,
        options: &DeleteOptions,
    ) -> Result<(Value, bool), ApiError> {
        let (kind, key) = (&write.kind, &write.key);
        let stored = self.get(kind, key).ok_or_else(|| ApiError::not_found(kind, &key.name))?;
        let value = stored.value();
        check_preconditions(kind, &value, options)?;
        if write.dry_run {
            return Ok((value, true));
        }
        if options.propagation == Propagation::Orphan {
            for (place, dependent) in self.dependents_of(&stored.uid) {
                self.drop_owner(&place, &dependent, &stored.uid);
            }
        }
        if options.propagation == Propagation::Foreground && !self.dependents_of(&stored.uid).is_empty() {
            self.mark(&place(kind), key, true);
            for (place, dependent) in self.dependents_of(&stored.uid) {
                self.delete_at(&place, &dependent);
            }
            self.release_foreground(&stored.uid);
        } else {
            self.delete_at(&place(kind), key);
        }
        Ok(match self.get(kind, key) {
            Some(left) => (left.value(), false),
            None => (value, true),
        })
    }

    /// Deletes without asking.
    fn delete_at(&mut self, place: &Place, key: &Key) {
        let Some(stored) = self.get_at(place, key) else { return };
        let is_crd = (place.0.as_str(), place.1.as_str()) == (crd::GROUP, crd::PLURAL);
        if (place.0.as_str(), place.1.as_str()) == ("", "namespaces") {
            self.mark(place, key, false);
            for (place, content) in self.content_of(&key.name) {
                self.delete_at(&place, &content);
            }
            self.finish_namespace(&key.name);
        } else if !object::finalizers(&stored.value()).is_empty() {
            self.mark(place, key, false);
        } else {
            if is_crd {
                self.stop_serving(&stored.value());
            }
            self.remove(place, key, None);
        }
    }

    /// Takes an object out for good and looks after those that depended on it.
    pub(super) fn remove(&mut self, place: &Place, key: &Key, last: Option<Value>) {
        let Some(gone) = self.take(place, key, last) else { return };
        if !self.holds_garbage {
            for (place, dependent) in self.dependents_of(&gone.uid) {
                self.lost_owner(&place, &dependent, &gone.uid);
            }
        }
        for owner in &gone.owners {
            self.release_foreground(owner);
        }
        self.finish_namespace(&key.namespace);
    }

    /// Kubernetes collects an object whose owners have all gone, even when they had gone before it was written.
    pub(super) fn collect_if_orphaned(&mut self, kind: &Kind, key: &Key) {
        let Some(stored) = self.get(kind, key).filter(|_| !self.holds_garbage) else { return };
        let value = stored.value();
        // An owner of a kind that is not served here cannot be looked up, so it counts as alive.
        let known = object::owner_references(&value).all(|owner| {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            self.registry.of(text("apiVersion"), text("kind")).is_some()
        });
        let terminating = object::is_terminating(&value);
        if !stored.owners.is_empty()
            && known
            && !terminating
            && !stored.owners.iter().any(|uid| self.has_uid(uid))
        {
            self.delete_at(&place(kind), key);
        }
    }

    fn lost_owner(&mut self, place: &Place, key: &Key, uid: &str) {
        let Some(stored) = self.get_at(place, key) else { return };
        if stored.owners.iter().any(|owner| self.has_uid(owner)) {
            self.drop_owner(place, key, uid);
        } else {
            self.delete_at(place, key);
        }
    }

    fn drop_owner(&mut self, place: &Place, key: &Key, uid: &str) {
        let Some(stored) = self.get_at(place, key) else { return };
        let mut value = stored.value();
        let left: Vec<Value> =
            object::owner_references(&value).filter(|owner| owner["uid"] != uid).cloned().collect();
        set_metadata(&mut value, "ownerReferences", (!left.is_empty()).then(|| json!(left)));
        self.put(place, &mut value);
    }

    /// Sets the deletion timestamp; once set it stays.
    fn mark(&mut self, place: &Place, key: &Key, foreground: bool) {
        let Some(stored) = self.get_at(place, key) else { return };
        let mut value = stored.value();
        let mut finalizers = object::finalizers(&value);
        let holds = finalizers.iter().any(|finalizer| finalizer == FOREGROUND);
        if object::is_terminating(&value) && (!foreground || holds) {
            return;
        }
        if foreground && !holds {
            finalizers.push(FOREGROUND.into());
            set_metadata(&mut value, "finalizers", Some(json!(finalizers)));
        }
        set_metadata(&mut value, "deletionTimestamp", Some(object::timestamp()));
        set_metadata(&mut value, "deletionGracePeriodSeconds", Some(json!(0)));
        if let Some(generation) = value["metadata"]["generation"].as_i64() {
            set_metadata(&mut value, "generation", Some(json!(generation + 1)));
        }
        if value["kind"] == "Namespace" {
            value["status"]["phase"] = json!("Terminating");
        }
        self.put(place, &mut value);
    }

    /// Lets an owner go that waits in the foreground for nobody any more.
    fn release_foreground(&mut self, uid: &str) {
        let Some((place, key)) = self.place_of(uid) else { return };
        let Some(stored) = self.get_at(&place, &key) else { return };
        let mut value = stored.value();
        let mut finalizers = object::finalizers(&value);
        let waits =
            object::is_terminating(&value) && finalizers.iter().any(|finalizer| finalizer == FOREGROUND);
        if !waits || self.each_dependent_of(uid).any(|(place, key)| self.blocks(place, key, uid)) {
            return;
        }
        finalizers.retain(|finalizer| finalizer != FOREGROUND);
        set_metadata(&mut value, "finalizers", (!finalizers.is_empty()).then(|| json!(finalizers)));
        if finalizers.is_empty() {
            self.remove(&place, &key, Some(value));
        } else {
            self.put(&place, &mut value);
        }
    }

    fn blocks(&self, place: &Place, key: &Key, uid: &str) -> bool {
        let Some(stored) = self.get_at(place, key) else { return false };
        let value = stored.value();
        object::owner_references(&value)
            .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
    }

    /// A terminating namespace goes when its last object has gone.
    fn finish_namespace(&mut self, namespace: &str) {
        let place = (String::new(), "namespaces".to_owned());
        let key = Key::new("", namespace);
        let Some(stored) = self.get_at(&place, &key) else { return };
        if object::is_terminating(&stored.value()) && self.is_empty(namespace) {
            self.remove(&place, &key, None);
        }
    }

    fn stop_serving(&mut self, crd: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        if let Some(kind) = self.registry.any_version(&group, &plural) {
            let keys: Vec<Key> = self.collection(&kind).list("").map(|object| object.key.clone()).collect();
            // Finalizers go unheard: nobody could remove them once the kind is no longer served.
            keys.iter().for_each(|key| self.remove(&place(&kind), key, None));
        }
        self.registry.remove(&group, &plural);
        self.wake(&(group, plural));
    }
}

fn check_preconditions(kind: &Kind, value: &Value, options: &DeleteOptions) -> Result<(), ApiError> {
    let name = object::name(value);
    let checks = [
        ("UID", options.uid.as_deref(), object::uid(value)),
        ("ResourceVersion", options.resource_version.as_deref(), object::resource_version(value)),
    ];
    for (what, asked, stored) in checks {
        if let Some(asked) = asked.filter(|asked| *asked != stored) {
            let detail = format!(
                "Precondition failed: {what} in precondition: {asked}, {what} in object meta: {stored}"
            );
            return Err(ApiError::conflict(kind, name, &detail));
        }
    }
    Ok(())
}
