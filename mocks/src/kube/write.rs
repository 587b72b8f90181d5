//! Create and update: one pipeline for every kind and every way to write.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::Kind;
use super::managed::{self, Writer};
use super::object::{self, Key, set_metadata};
use super::status::{ApiError, Cause};
use super::store::{Store, place};
use super::{builtin, crd, events, validate};

/// What to do with fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Everything about a write beside its object.
#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) kind: Arc<Kind>,
    pub(super) key: Key,
    /// Only `status` is left when it comes to writing.
    pub(super) status_only: bool,
    pub(super) writer: Writer,
    pub(super) dry_run: bool,
    pub(super) validation: FieldValidation,
}

/// The object after a write, in the stored version, and what to warn of.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) value: Value,
    pub(super) warnings: Vec<String>,
}

impl Write {
    /// Fields of the top level that this endpoint leaves alone.
    pub(super) fn ignored(&self, object: &Value) -> Vec<String> {
        let fields = object.as_object().into_iter().flat_map(|map| map.keys());
        let ignored = |field: &&String| match self.status_only {
            true => !["apiVersion", "kind", "status"].contains(&field.as_str()),
            false => self.kind.status && *field == "status",
        };
        fields.filter(ignored).cloned().collect()
    }
}

/// Who keeps `managedFields` in step with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ownership {
    Record,
    /// Server-side apply has done it.
    Done,
}

impl Store {
    pub(super) fn create(
        &mut self,
        write: &Write,
        mut object: Value,
        ownership: Ownership,
    ) -> Result<Written, ApiError> {
        let kind = &write.kind;
        check_identity(write, &object)?;
        if !object::resource_version(&object).is_empty() {
            return Err(ApiError::bad_request("resourceVersion should not be set on objects to be created"));
        }
        let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default().to_owned();
        if object::name(&object).is_empty() && !prefix.is_empty() {
            set_metadata(&mut object, "name", Some(json!(format!("{prefix}{}", object::name_suffix()))));
        }
        set_metadata(&mut object, "namespace", kind.namespaced.then(|| json!(write.key.namespace)));
        let name = object::name(&object).to_owned();
        self.check_namespace(kind, &write.key.namespace, &name)?;
        to_stored(kind, &mut object);
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            set_metadata(&mut object, field, None);
        }
        if kind.status {
            object.as_object_mut().map(|map| map.remove("status"));
        }
        let warnings = admit(write, &mut object, None)?;
        if ownership == Ownership::Record {
            set_metadata(&mut object, "managedFields", None);
            // Go's structs have their spec from the start, so it is not new; custom resources begin with nothing.
            let start = if kind.custom { json!({}) } else { json!({"spec": {}, "status": {}}) };
            managed::record_update(&kind.schema.root, &start, &mut object, &write.writer, &[]);
        }
        set_metadata(&mut object, "uid", Some(json!(object::new_uid())));
        set_metadata(&mut object, "creationTimestamp", Some(object::timestamp()));
        set_metadata(&mut object, "generation", kind.generation.then(|| json!(1)));
        self.finish(write, &mut object, None)?;
        let key = Key::new(&write.key.namespace, &name);
        if self.get(kind, &key).is_some() {
            return Err(ApiError::already_exists(kind, &name));
        }
        if !write.dry_run {
            self.put(&place(kind), &mut object);
            self.serve_crd(kind, &object)?;
            self.collect_if_orphaned(kind, &key);
        }
        Ok(Written { value: object, warnings })
    }

    /// Turns `before` into `after`, which is in the version of `write.kind`.
    pub(super) fn update(
        &mut self,
        write: &Write,
        before: &Value,
        mut after: Value,
        ownership: Ownership,
    ) -> Result<Written, ApiError> {
        let kind = &write.kind;
        check_identity(write, &after)?;
        check_versions(write, before, &after)?;
        to_stored(kind, &mut after);
        for field in [
            "name",
            "namespace",
            "uid",
            "creationTimestamp",
            "generation",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "resourceVersion",
            "selfLink",
        ] {
            let kept = before["metadata"].get(field).cloned();
            set_metadata(&mut after, field, kept);
        }
        if write.status_only {
            let mut merged = before.clone();
            merged["status"] = after["status"].take();
            set_metadata(&mut merged, "managedFields", after["metadata"].get("managedFields").cloned());
            after = merged;
        } else if kind.status {
            match before.get("status") {
                Some(status) => after["status"] = status.clone(),
                None => drop(after.as_object_mut().and_then(|map| map.remove("status"))),
            }
        }
        if after["status"].is_null() {
            after.as_object_mut().map(|map| map.remove("status"));
        }
        let warnings = admit(write, &mut after, Some(before))?;
        if ownership == Ownership::Record {
            let ignored = write.ignored(&after);
            let ignored: Vec<&str> = ignored.iter().map(String::as_str).collect();
            managed::record_update(&kind.schema.root, before, &mut after, &write.writer, &ignored);
        }
        if kind.generation && differs_in_spec(kind, before, &after) {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            set_metadata(&mut after, "generation", Some(json!(generation)));
        }
        self.finish(write, &mut after, Some(before))?;
        if managed::is_same(before, &after) {
            return Ok(Written { value: before.clone(), warnings });
        }
        if !write.dry_run {
            self.commit_update(write, &mut after)?;
        }
        Ok(Written { value: after, warnings })
    }

    fn commit_update(&mut self, write: &Write, after: &mut Value) -> Result<(), ApiError> {
        let kind = &write.kind;
        if object::is_terminating(after) && object::finalizers(after).is_empty() && !kind.is("", "namespaces")
        {
            self.remove(&place(kind), &write.key, Some(after.clone()));
            return Ok(());
        }
        self.put(&place(kind), after);
        self.serve_crd(kind, after)?;
        self.collect_if_orphaned(kind, &write.key);
        Ok(())
    }

    /// What the server adds after ownership is settled, so that it is nobody's.
    fn finish(&self, write: &Write, object: &mut Value, before: Option<&Value>) -> Result<(), ApiError> {
        let kind = &write.kind;
        builtin::allocate(kind, object, before);
        if kind.is(crd::GROUP, crd::PLURAL) {
            crd::complete(object);
            crd::kinds(object).map_err(|causes| ApiError::invalid(kind, object::name(object), &causes))?;
        }
        Ok(())
    }

    /// Serves a CRD's kinds from the moment it is stored.
    fn serve_crd(&mut self, kind: &Kind, object: &Value) -> Result<(), ApiError> {
        if !kind.is(crd::GROUP, crd::PLURAL) {
            return Ok(());
        }
        let kinds =
            crd::kinds(object).map_err(|causes| ApiError::invalid(kind, object::name(object), &causes))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.registry.remove(&text(&object["spec"]["group"]), &text(&object["spec"]["names"]["plural"]));
        kinds.into_iter().for_each(|kind| self.registry.insert(kind));
        Ok(())
    }

    fn check_namespace(&self, kind: &Kind, namespace: &str, name: &str) -> Result<(), ApiError> {
        if !kind.namespaced {
            return Ok(());
        }
        let namespaces = self.registry.find("", "v1", "namespaces").expect("a built-in kind");
        let Some(found) = self.get(&namespaces, &Key::new("", namespace)) else {
            return Err(ApiError::not_found(&namespaces, namespace));
        };
        if object::is_terminating(&found.value()) {
            return Err(ApiError::terminating(&kind.group, &kind.plural, namespace, name));
        }
        Ok(())
    }
}

/// An object must be what its path says.
fn check_identity(write: &Write, object: &Value) -> Result<(), ApiError> {
    let kind = &write.kind;
    let (api_version, named) =
        (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default());
    if !object.is_object() {
        return Err(ApiError::bad_request(
            "the object provided is unrecognized (must be of type JSON object)",
        ));
    }
    if api_version != kind.api_version() || named != kind.kind {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}, Kind={named}) does not match the expected API version ({}, Kind={})",
            kind.api_version(),
            kind.kind
        )));
    }
    let namespace = object::namespace(object);
    if kind.namespaced && !namespace.is_empty() && namespace != write.key.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let name = object::name(object);
    if !write.key.name.is_empty() && !name.is_empty() && name != write.key.name {
        let message = format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            write.key.name
        );
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

fn check_versions(write: &Write, before: &Value, after: &Value) -> Result<(), ApiError> {
    let (asked, stored) = (object::resource_version(after), object::resource_version(before));
    if !asked.is_empty() && asked != stored {
        return Err(ApiError::stale(&write.kind, &write.key.name));
    }
    let (asked, stored) = (object::uid(after), object::uid(before));
    if !asked.is_empty() && asked != stored {
        let detail =
            format!("Precondition failed: UID in precondition: {asked}, UID in object meta: {stored}");
        return Err(ApiError::conflict(&write.kind, &write.key.name, &detail));
    }
    Ok(())
}

/// Prunes, defaults and validates; returns warnings.
fn admit(write: &Write, object: &mut Value, before: Option<&Value>) -> Result<Vec<String>, ApiError> {
    let kind = &write.kind;
    let mut warnings = Vec::new();
    if kind.custom {
        let unknown = kind.schema.prune(object);
        let complaints: Vec<String> =
            unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        match write.validation {
            FieldValidation::Strict if !complaints.is_empty() => {
                let message = format!(
                    "{} in version {:?} cannot be handled as a {}: strict decoding error: {}",
                    kind.kind,
                    kind.version,
                    kind.kind,
                    complaints.join(", ")
                );
                return Err(ApiError::bad_request(message));
            }
            FieldValidation::Ignore => {}
            FieldValidation::Warn | FieldValidation::Strict => warnings = complaints,
        }
        kind.schema.default(object);
    } else {
        builtin::default(kind, object);
    }
    warnings.extend(validate::finalizer_warnings(object, before));
    let mut causes = validate::check_metadata(object);
    causes.extend(new_finalizers_while_terminating(object, before));
    causes.extend(events::too_long(kind, object));
    if kind.custom {
        causes.extend(kind.schema.validate(object, before));
    }
    if causes.is_empty() { Ok(warnings) } else { Err(ApiError::invalid(kind, object::name(object), &causes)) }
}

fn new_finalizers_while_terminating(object: &Value, before: Option<&Value>) -> Option<Cause> {
    let before = before.filter(|before| object::is_terminating(before))?;
    let known = object::finalizers(before);
    let added: Vec<String> =
        object::finalizers(object).into_iter().filter(|finalizer| !known.contains(finalizer)).collect();
    (!added.is_empty()).then(|| Cause {
        reason: "FieldValueForbidden",
        field: "metadata.finalizers".into(),
        message: format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.iter().map(|finalizer| format!("{finalizer:?}")).collect::<Vec<_>>().join(", ")
        ),
    })
}

/// Whether anything but metadata and status differs: that is what a generation counts.
fn differs_in_spec(kind: &Kind, before: &Value, after: &Value) -> bool {
    let counts =
        |field: &str| field != "metadata" && field != "apiVersion" && !(kind.status && field == "status");
    let (Some(before), Some(after)) = (before.as_object(), after.as_object()) else { return false };
    before.keys().chain(after.keys()).any(|field| counts(field) && before.get(field) != after.get(field))
}

/// From the version of a request to the stored one.
pub(super) fn to_stored(kind: &Kind, object: &mut Value) {
    convert(kind, object, kind.stored_api_version());
}

/// From the stored version to the one of a request.
pub(super) fn from_stored(kind: &Kind, object: &mut Value) {
    convert(kind, object, kind.api_version());
}

fn convert(kind: &Kind, object: &mut Value, api_version: String) {
    if !kind.converts() {
        return;
    }
    if kind.plural == "events" {
        events::convert(object, &api_version);
    }
    // Versions of a CRD differ in name only: the conversion strategy `None`.
    object["apiVersion"] = Value::String(api_version);
}
