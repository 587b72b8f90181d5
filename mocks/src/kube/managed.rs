//! Who set which field: `metadata.managedFields`, and server-side apply on top of it.

use serde_json::{Map, Value, json};

use super::fieldset::{FieldSet, Step};
use super::object::{set_metadata, timestamp};
use super::status::ApiError;
use super::typed;

/// The writer of a request, as `managedFields` identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Writer {
    pub(super) manager: String,
    /// Server-side apply, as against every other write.
    pub(super) applies: bool,
    pub(super) api_version: String,
    /// Empty for the main endpoint.
    pub(super) subresource: String,
}

#[derive(Debug, Clone)]
struct Entry {
    writer: Writer,
    time: Value,
    set: FieldSet,
}

/// All entries of one object.
#[derive(Debug, Clone, Default)]
struct Managers(Vec<Entry>);

/// Fields that nobody owns: identity, and what the server sets.
const UNOWNED: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// Records in `after` that `writer` turned `live` into it. `ignored` are top-level fields which the endpoint does not write.
pub(super) fn record_update(
    schema: &Value,
    live: &Value,
    after: &mut Value,
    writer: &Writer,
    ignored: &[&str],
) {
    let mut managers = match after["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        // `[{}]` is how a client asks to forget all owners.
        Some([Value::Object(only)]) if only.is_empty() => Managers::default(),
        _ => Managers::decode(after).or_else(|| Managers::decode(live)).unwrap_or_default(),
    };
    let before = managers.clone();
    let mut comparison = typed::compare(schema, live, after);
    strip(&mut comparison.changed, ignored);
    strip(&mut comparison.removed, &[]);
    for entry in managers.0.iter_mut().filter(|entry| entry.writer != *writer) {
        entry.set.subtract(&comparison.changed);
    }
    managers.forget(&comparison.removed);
    managers.entry(writer).set.union(&comparison.changed);
    managers.store(&before, after);
}

/// Server-side apply of `config` over `live`: the new object, or the conflict.
pub(super) fn apply(
    schema: &Value,
    live: &Value,
    config: &Value,
    writer: &Writer,
    force: bool,
    ignored: &[&str],
) -> Result<Value, ApiError> {
    let mut managers = Managers::decode(live).unwrap_or_default();
    if managers.0.is_empty() && !live["metadata"]["uid"].is_null() {
        // Whatever was there before ownership was kept has one owner of its own, so that apply asks before it takes.
        let mut set = typed::field_set(schema, live);
        strip(&mut set, &[]);
        let first = Writer { manager: "before-first-apply".into(), applies: false, ..writer.clone() };
        managers.entry(&first).set = set;
    }
    let before = managers.clone();
    let mut config_set = typed::field_set(schema, config);
    strip(&mut config_set, ignored);
    let mut config = config.clone();
    if let Some(map) = config.as_object_mut() {
        map.retain(|field, _| !ignored.contains(&field.as_str()));
    }

    let mut after = live.clone();
    typed::merge(schema, &mut after, &config);
    let previous = std::mem::replace(&mut managers.entry(writer).set, config_set);
    let mut owned = FieldSet::default();
    managers.0.iter().for_each(|entry| owned.union(&entry.set));
    typed::remove(schema, &mut after, &previous, &owned);

    let comparison = typed::compare(schema, live, &after);
    let mut conflicts = Vec::new();
    for entry in managers.0.iter_mut().filter(|entry| entry.writer != *writer) {
        let conflict = entry.set.intersection(&comparison.changed);
        if !conflict.is_empty() {
            entry.set.subtract(&conflict);
            conflicts.push((entry.writer.clone(), conflict));
        }
    }
    if !force && !conflicts.is_empty() {
        return Err(conflict_error(&conflicts));
    }
    managers.forget(&comparison.removed);
    managers.store(&before, &mut after);
    Ok(after)
}

/// Whether two versions differ in nothing, or only in the times of `managedFields`.
pub(super) fn is_same(live: &Value, after: &Value) -> bool {
    let (Some(live), Some(after)) = (live.as_object(), after.as_object()) else { return live == after };
    live.len() == after.len()
        && live.iter().all(|(field, value)| match after.get(field) {
            Some(other) if field == "metadata" => is_same_metadata(value, other),
            other => other == Some(value),
        })
}

fn is_same_metadata(live: &Value, after: &Value) -> bool {
    let (Some(live), Some(after)) = (live.as_object(), after.as_object()) else { return live == after };
    let is_same_entry = |one: &Value, other: &Value| {
        ["manager", "operation", "apiVersion", "subresource", "fieldsV1"]
            .iter()
            .all(|field| one[*field] == other[*field])
    };
    live.len() == after.len()
        && live.iter().all(|(field, value)| match (value, after.get(field)) {
            (Value::Array(one), Some(Value::Array(other))) if field == "managedFields" => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| is_same_entry(one, other))
            }
            (value, other) => other == Some(value),
        })
}

impl Managers {
    /// `None` when there are none, or when they cannot be read: then those of the stored object count.
    fn decode(object: &Value) -> Option<Self> {
        let list = object["metadata"]["managedFields"].as_array().filter(|list| !list.is_empty())?;
        let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let decode = |entry: &Value| {
            Some(Entry {
                writer: Writer {
                    manager: text(entry, "manager"),
                    applies: entry["operation"] == "Apply",
                    api_version: text(entry, "apiVersion"),
                    subresource: text(entry, "subresource"),
                },
                time: entry["time"].clone(),
                set: FieldSet::decode(&entry["fieldsV1"])?,
            })
        };
        list.iter().map(decode).collect::<Option<Vec<_>>>().map(Self)
    }

    fn entry(&mut self, writer: &Writer) -> &mut Entry {
        let place = self.0.iter().position(|entry| entry.writer == *writer).unwrap_or_else(|| {
            self.0.push(Entry { writer: writer.clone(), time: Value::Null, set: FieldSet::default() });
            self.0.len() - 1
        });
        &mut self.0[place]
    }

    fn forget(&mut self, removed: &FieldSet) {
        self.0.iter_mut().for_each(|entry| entry.set.subtract(removed));
    }

    /// Writes the entries into `object`; those that changed get the present time.
    fn store(mut self, before: &Self, object: &mut Value) {
        self.0.retain(|entry| !entry.set.is_empty());
        let encode = |entry: &Entry| {
            let unchanged = before.0.iter().find(|old| old.writer == entry.writer && old.set == entry.set);
            let mut wire = json!({
                "manager": entry.writer.manager,
                "operation": if entry.writer.applies { "Apply" } else { "Update" },
                "apiVersion": entry.writer.api_version,
                "time": unchanged.map(|old| old.time.clone()).filter(|time| !time.is_null()).unwrap_or_else(timestamp),
                "fieldsType": "FieldsV1",
                "fieldsV1": entry.set.encode(),
            });
            if !entry.writer.subresource.is_empty() {
                wire["subresource"] = json!(entry.writer.subresource);
            }
            wire
        };
        let mut list: Vec<Value> = self.0.iter().map(encode).collect();
        // The order of kube-apiserver: those who apply first, then by time and name.
        let rank = |entry: &Value| {
            ["operation", "time", "manager", "apiVersion", "subresource"]
                .map(|field| entry[field].as_str().unwrap_or_default().to_owned())
        };
        list.sort_by_cached_key(rank);
        set_metadata(object, "managedFields", (!list.is_empty()).then_some(Value::Array(list)));
    }
}

fn strip(set: &mut FieldSet, ignored: &[&str]) {
    for field in ["apiVersion", "kind"].iter().chain(ignored) {
        set.cut(&Step::field(field));
    }
    set.members.remove(&Step::field("metadata"));
    if let Some(metadata) = set.children.get_mut(&Step::field("metadata")) {
        UNOWNED.iter().for_each(|field| metadata.cut(&Step::field(field)));
    }
    set.children.retain(|_, child| !child.is_empty());
}

/// The 409 of server-side apply, in the words of Kubernetes: kubectl explains it to its user.
fn conflict_error(conflicts: &[(Writer, FieldSet)]) -> ApiError {
    let describe = |(writer, _): &(Writer, FieldSet)| {
        let mut text = format!("conflict with {:?}", writer.manager);
        if !writer.subresource.is_empty() {
            text += &format!(" with subresource {:?}", writer.subresource);
        }
        if !writer.applies {
            text += &format!(" using {}", writer.api_version);
        }
        text
    };
    let causes: Vec<Value> =
        conflicts
            .iter()
            .flat_map(|conflict| {
                let message = describe(conflict);
                conflict.1.paths().into_iter().map(
                    move |path| json!({"reason": "FieldManagerConflict", "message": message, "field": path}),
                )
            })
            .collect();
    let count = causes.len();
    let plural = if count == 1 { "conflict" } else { "conflicts" };
    let lines: Vec<String> = conflicts
        .iter()
        .map(|conflict| match conflict.1.paths().as_slice() {
            [one] => format!("{}: {one}", describe(conflict)),
            many => format!("{}:\n- {}", describe(conflict), many.join("\n- ")),
        })
        .collect();
    let joined = if let [one] = lines.as_slice() { one.clone() } else { lines.join("\n") };
    let mut error = ApiError::new(409, "Conflict", format!("Apply failed with {count} {plural}: {joined}"));
    error.details = Some(Value::Object(Map::from_iter([("causes".to_owned(), Value::Array(causes))])));
    error
}
