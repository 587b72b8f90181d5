//! The grid's database: objects with their fields, and what is true of all of them.

use super::name::{is_below, is_within};
use super::schema::{ObjectType, object_type};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A stored object. `id` is ours; clients only ever see the reference.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) id: u64,
    pub(crate) kind: &'static ObjectType,
    pub(crate) fields: Map<String, Value>,
}

impl Object {
    /// The text of a field, empty when unset.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.fields.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn flag(&self, field: &str) -> bool {
        match self.fields.get(field) {
            Some(value) => value.as_bool().unwrap_or_default(),
            None => self.kind.field(field).and_then(|f| f.unset_value()) == Some(Value::Bool(true)),
        }
    }

    pub(crate) fn list(&self, field: &str) -> &[Value] {
        self.fields.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

/// All objects. Cloned for a batch, so that a failing one leaves no trace.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    objects: BTreeMap<u64, Object>,
    next_id: u64,
    revision: u64,
    zone_revision: u64,
}

impl Store {
    /// An empty grid: its own objects and the default views.
    pub(crate) fn new(grid_name: &str, member: &str) -> Self {
        let mut store = Self { objects: BTreeMap::new(), next_id: 1, revision: 0, zone_revision: 0 };
        store.seed("grid", json!({"name": grid_name}));
        store.seed("member", json!({"host_name": member}));
        store.seed("networkview", json!({"name": "default", "is_default": true}));
        store.seed("view", json!({"name": "default", "is_default": true}));
        let waiting = json!({"service": "DNS", "needed": "NO", "member": member});
        store.seed("grid:servicerestart:request", waiting);
        store.seed("restartservicestatus", json!({"dns_status": "NO_REQUEST", "member": member}));
        store
    }

    fn seed(&mut self, type_name: &str, fields: Value) {
        let kind = object_type(type_name).expect("seeded types are in the table");
        if let Value::Object(fields) = fields {
            self.insert(kind, fields);
        }
    }

    /// Stores a new object and returns its id.
    pub(crate) fn insert(&mut self, kind: &'static ObjectType, fields: Map<String, Value>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.objects.insert(id, Object { id, kind, fields });
        self.touched(kind);
        id
    }

    /// Replaces an object's fields; equal fields are no change.
    pub(crate) fn replace(&mut self, id: u64, fields: Map<String, Value>) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        if object.fields == fields {
            return;
        }
        object.fields = fields;
        let kind = object.kind;
        self.touched(kind);
    }

    pub(crate) fn remove(&mut self, id: u64) {
        if let Some(object) = self.objects.remove(&id) {
            self.touched(object.kind);
        }
    }

    fn touched(&mut self, kind: &ObjectType) {
        // The status of services is looked at, not configured.
        if matches!(kind.name, "restartservicestatus" | "grid:servicerestart:request") {
            return;
        }
        self.revision += 1;
        if kind.is_zone() {
            self.zone_revision += 1;
        }
    }

    /// Counts every effective write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Counts the writes that DNS shows only after a service restart.
    pub(crate) fn zone_revision(&self) -> u64 {
        self.zone_revision
    }

    pub(crate) fn get(&self, id: u64) -> Option<&Object> {
        self.objects.get(&id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Object> {
        self.objects.values()
    }

    pub(crate) fn of_type(&self, type_name: &str) -> impl Iterator<Item = &Object> {
        self.objects.values().filter(move |object| object.kind.name == type_name)
    }

    pub(crate) fn view(&self, name: &str) -> Option<&Object> {
        self.of_type("view").find(|view| view.text("name") == name)
    }

    /// The view as internal keys name it: `_default`, or a number.
    pub(crate) fn view_key(&self, name: &str) -> String {
        match self.view(name) {
            Some(view) if view.flag("is_default") => "_default".to_owned(),
            Some(view) => view.id.to_string(),
            None => " ".to_owned(),
        }
    }

    pub(crate) fn zones<'a, 'v>(&'a self, view: &'v str) -> impl Iterator<Item = &'a Object> + use<'a, 'v> {
        self.objects.values().filter(move |object| object.kind.is_zone() && object.text("view") == view)
    }

    /// The closest zone of any kind at or above the name.
    pub(crate) fn enclosing_zone<'a>(&'a self, name: &str, view: &str) -> Option<&'a Object> {
        self.zones(view)
            .filter(|zone| is_within(name, zone.text("fqdn")))
            .max_by_key(|zone| zone.text("fqdn").len())
    }

    /// The closest zone of any kind strictly above the name.
    pub(crate) fn parent_zone<'a>(&'a self, name: &str, view: &str) -> Option<&'a Object> {
        self.zones(view)
            .filter(|zone| is_below(name, zone.text("fqdn")))
            .max_by_key(|zone| zone.text("fqdn").len())
    }

    /// The authoritative zone that a record lies in.
    pub(crate) fn zone_of(&self, record: &Object) -> Option<String> {
        self.enclosing_zone(record.text("name"), record.text("view")).map(|zone| zone.text("fqdn").to_owned())
    }

    /// Records at or below a name.
    pub(crate) fn records_within(&self, name: &str, view: &str) -> Vec<u64> {
        self.objects
            .values()
            .filter(|object| object.kind.is_record() && object.text("view") == view)
            .filter(|object| is_within(object.text("name"), name))
            .map(|object| object.id)
            .collect()
    }
}
