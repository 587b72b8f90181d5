//! One stored object, and small readers of the JSON of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Where an object sits in its collection; the namespace is empty for cluster-wide kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Key {
    pub(super) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

/// An object as stored: serialised once, because lists and watches send it many times, and a tree of
/// `Value` takes several times the memory. What selectors and the collector need is kept beside it.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) key: Key,
    pub(super) json: Box<str>,
    pub(super) resource_version: u64,
    pub(super) uid: Box<str>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) owners: Vec<String>,
}

impl Object {
    pub(super) fn new(value: &Value, resource_version: u64) -> Self {
        let labels = value["metadata"]["labels"].as_object().map(strings).unwrap_or_default();
        let owners =
            owner_references(value).filter_map(|owner| owner["uid"].as_str()).map(str::to_owned).collect();
        Self {
            key: Key::new(namespace(value), name(value)),
            json: value.to_string().into(),
            resource_version,
            uid: uid(value).into(),
            labels,
            owners,
        }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect("the store holds what it serialised itself")
    }
}

fn strings(map: &Map<String, Value>) -> BTreeMap<String, String> {
    map.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value["metadata"][field].as_str().unwrap_or_default()
}

pub(super) fn name(value: &Value) -> &str {
    text(value, "name")
}

pub(super) fn namespace(value: &Value) -> &str {
    text(value, "namespace")
}

pub(super) fn uid(value: &Value) -> &str {
    text(value, "uid")
}

pub(super) fn resource_version(value: &Value) -> &str {
    text(value, "resourceVersion")
}

pub(super) fn is_terminating(value: &Value) -> bool {
    value["metadata"]["deletionTimestamp"].is_string()
}

pub(super) fn finalizers(value: &Value) -> Vec<String> {
    let list = value["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(|entry| entry.as_str()).map(str::to_owned).collect()
}

pub(super) fn owner_references(value: &Value) -> impl Iterator<Item = &Value> {
    value["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// The metadata of an object; makes it when it is missing, so that callers need not ask.
pub(super) fn metadata_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value["metadata"].is_object() {
        value["metadata"] = Value::Object(Map::new());
    }
    value["metadata"].as_object_mut().expect("made an object just above")
}

/// Sets or, with `None`, removes one field of the metadata.
pub(super) fn set_metadata(value: &mut Value, field: &str, new: Option<Value>) {
    let metadata = metadata_mut(value);
    match new {
        Some(new) => {
            metadata.insert(field.into(), new);
        }
        None => {
            metadata.remove(field);
        }
    }
}

/// Now, as Kubernetes writes times in metadata: whole seconds, UTC.
pub(super) fn timestamp() -> Value {
    Value::String(jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A random (version 4) UUID.
pub(super) fn new_uid() -> String {
    let bits = (rand::random::<u128>() & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Five characters for `generateName`, from the alphabet that Kubernetes uses (no vowels, no look-alikes).
pub(super) fn name_suffix() -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..5).map(|_| char::from(ALPHABET[rand::random_range(0..ALPHABET.len())])).collect()
}
