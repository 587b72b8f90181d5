//! Objects seen through their schema: which lists merge by key, which are atomic; merge, compare, prune.
//!
//! The rules are those of structured-merge-diff: maps merge by key, a list is atomic unless the schema says
//! `map` or `set`, and where the schema is silent maps merge and lists are atomic.

use serde_json::{Map, Value};

use super::fieldset::{FieldSet, Step};

/// How the value at one place merges.
enum Shape<'s> {
    Leaf,
    Map,
    Keyed(&'s [Value]),
    Set,
}

fn shape<'s>(schema: &'s Value, value: &Value) -> Shape<'s> {
    match value {
        Value::Object(_) if schema["x-kubernetes-map-type"] != "atomic" => Shape::Map,
        Value::Array(_) => match schema["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                Shape::Keyed(schema["x-kubernetes-list-map-keys"].as_array().map_or(&[], Vec::as_slice))
            }
            Some("set") => Shape::Set,
            _ => Shape::Leaf,
        },
        _ => Shape::Leaf,
    }
}

/// The schema of one field of a map; `Null`, which knows nothing, when there is none.
pub(super) fn field_schema<'s>(schema: &'s Value, field: &str) -> &'s Value {
    let declared = &schema["properties"][field];
    if declared.is_null() { &schema["additionalProperties"] } else { declared }
}

fn is_declared(schema: &Value, field: &str) -> bool {
    !schema["properties"][field].is_null()
}

/// The step to an item of a keyed list. A key that is left out counts with the schema's default.
pub(super) fn key_step(schema: &Value, keys: &[Value], item: &Value) -> Step {
    let mut identity = Map::new();
    for key in keys.iter().filter_map(Value::as_str) {
        let default = &schema["items"]["properties"][key]["default"];
        let value = if item[key].is_null() { default } else { &item[key] };
        if !value.is_null() {
            identity.insert(key.into(), value.clone());
        }
    }
    Step::Key(Value::Object(identity).to_string())
}

/// The parts of a container with their steps and schemas; `None` for leaves.
fn parts<'v, 's>(schema: &'s Value, value: &'v Value) -> Option<Vec<(Step, &'s Value, &'v Value)>> {
    match (shape(schema, value), value) {
        (Shape::Map, Value::Object(map)) => Some(
            map.iter().map(|(key, value)| (Step::field(key), field_schema(schema, key), value)).collect(),
        ),
        (Shape::Keyed(keys), Value::Array(list)) => {
            Some(list.iter().map(|item| (key_step(schema, keys, item), &schema["items"], item)).collect())
        }
        (Shape::Set, Value::Array(list)) => {
            Some(list.iter().map(|item| (Step::Item(item.to_string()), &schema["items"], item)).collect())
        }
        _ => None,
    }
}

/// Whether a container is listed itself beside its content: items of lists and undeclared fields are.
fn is_member(schema: &Value, step: &Step, value: &Value) -> bool {
    let empty = value.is_null()
        || value.as_object().is_some_and(Map::is_empty)
        || value.as_array().is_some_and(Vec::is_empty);
    match step {
        Step::Field(name) => empty || !is_declared(schema, name),
        Step::Key(_) | Step::Item(_) => true,
    }
}

/// The fields that an applied configuration sets.
pub(super) fn field_set(schema: &Value, value: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    for (step, below, value) in parts(schema, value).unwrap_or_default() {
        match parts(below, value) {
            None => {
                set.members.insert(step);
            }
            Some(_) => {
                if is_member(schema, &step, value) {
                    set.members.insert(step.clone());
                }
                *set.child_mut(&step) = field_set(below, value);
            }
        }
    }
    set.children.retain(|_, child| !child.is_empty());
    set
}

/// What changed between two versions of an object.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// Added or modified.
    pub(super) changed: FieldSet,
    pub(super) removed: FieldSet,
}

pub(super) fn compare(schema: &Value, before: &Value, after: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    diff(schema, before, after, &mut comparison.changed, &mut comparison.removed);
    comparison
}

fn diff(schema: &Value, before: &Value, after: &Value, changed: &mut FieldSet, removed: &mut FieldSet) {
    let (Some(old), Some(new)) = (parts(schema, before), parts(schema, after)) else { return };
    for (step, below, value) in &new {
        match old.iter().find(|(other, _, _)| other == step) {
            None => add(step, below, value, changed),
            Some((_, _, previous)) if previous == value => {}
            Some((_, _, previous)) => {
                if parts(below, previous).is_some() && parts(below, value).is_some() {
                    diff(below, previous, value, changed.child_mut(step), removed.child_mut(step));
                } else {
                    changed.members.insert(step.clone());
                }
            }
        }
    }
    for (step, below, value) in &old {
        if !new.iter().any(|(other, _, _)| other == step) {
            removed.members.insert(step.clone());
            everything(below, value, removed.child_mut(step));
        }
    }
    changed.children.retain(|_, child| !child.is_empty());
    removed.children.retain(|_, child| !child.is_empty());
}

/// A value that was not there before: its leaves, and what contains them.
fn add(step: &Step, below: &Value, value: &Value, changed: &mut FieldSet) {
    let Some(inner) = parts(below, value) else {
        changed.members.insert(step.clone());
        return;
    };
    changed.members.insert(step.clone());
    let child = changed.child_mut(step);
    for (inner_step, inner_schema, inner_value) in inner {
        add(&inner_step, inner_schema, inner_value, child);
    }
}

fn everything(schema: &Value, value: &Value, set: &mut FieldSet) {
    for (step, below, value) in parts(schema, value).unwrap_or_default() {
        everything(below, value, set.child_mut(&step));
        set.members.insert(step);
    }
}

/// Lays `config` over `live`. Items keep the order of `live`; new ones follow.
pub(super) fn merge(schema: &Value, live: &mut Value, config: &Value) {
    match (shape(schema, config), &mut *live, config) {
        (Shape::Map, Value::Object(live), Value::Object(config)) => {
            for (key, value) in config {
                match live.get_mut(key) {
                    Some(place) => merge(field_schema(schema, key), place, value),
                    None => {
                        live.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (Shape::Keyed(keys), Value::Array(live), Value::Array(config)) => {
            for item in config {
                let step = key_step(schema, keys, item);
                match live.iter_mut().find(|other| key_step(schema, keys, other) == step) {
                    Some(place) => merge(&schema["items"], place, item),
                    None => live.push(item.clone()),
                }
            }
        }
        (Shape::Set, Value::Array(live), Value::Array(config)) => {
            for item in config {
                if !live.contains(item) {
                    live.push(item.clone());
                }
            }
        }
        _ => *live = config.clone(),
    }
}

/// Removes from `value` what is in `dropped` and that nobody in `owned` holds.
pub(super) fn remove(schema: &Value, value: &mut Value, dropped: &FieldSet, owned: &FieldSet) {
    let nothing = FieldSet::default();
    // `true`: the part goes as a whole.
    let visit = |step: &Step, below: &Value, part: &mut Value| -> bool {
        if !dropped.touches(step) {
            return false;
        }
        if dropped.members.contains(step) && !owned.touches(step) {
            return true;
        }
        let Some(deeper) = dropped.children.get(step) else { return false };
        remove(below, part, deeper, owned.children.get(step).unwrap_or(&nothing));
        let emptied =
            part.as_object().is_some_and(Map::is_empty) || part.as_array().is_some_and(Vec::is_empty);
        if emptied && owned.touches(step) && part.is_object() {
            // So a real API server: the map that lost its last field is null, also where the apply has it empty.
            *part = Value::Null;
        }
        emptied && !owned.touches(step)
    };
    match (shape(schema, value), &mut *value) {
        (Shape::Map, Value::Object(map)) => {
            map.retain(|key, part| !visit(&Step::field(key), field_schema(schema, key), part));
        }
        (Shape::Keyed(keys), Value::Array(list)) => {
            list.retain_mut(|item| {
                let step = key_step(schema, keys, item);
                !visit(&step, &schema["items"], item)
            });
        }
        (Shape::Set, Value::Array(list)) => {
            list.retain_mut(|item| !visit(&Step::Item(item.to_string()), &schema["items"], item));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"weight": {}}},
            "status": {"type": "object", "properties": {"conditions": {"type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                "items": {"type": "object", "properties": {"type": {}, "status": {}}}}}}}})
    }

    #[test]
    fn conditions_merge_by_type_and_other_lists_are_replaced() {
        let mut live =
            json!({"spec": {"list": [1, 2]}, "status": {"conditions": [{"type": "A", "status": "True"}]}});
        let config = json!({"spec": {"list": [3]}, "status": {"conditions": [{"type": "B"}, {"type": "A", "status": "False"}]}});
        merge(&schema(), &mut live, &config);
        assert_eq!(
            live,
            json!({"spec": {"list": [3]}, "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B"}]}})
        );
    }

    #[test]
    fn a_map_that_loses_its_last_field_is_null_even_if_it_is_applied_empty() {
        let schema = json!({"type": "object", "properties": {"records": {"type": "object", "additionalProperties": {}}}});
        let mut live = json!({"records": {"a": 1}});
        let dropped = field_set(&schema, &live);
        let owned = field_set(&schema, &json!({"records": {}}));
        remove(&schema, &mut live, &dropped, &owned);
        assert_eq!(live, json!({"records": null}));
    }

    #[test]
    fn a_field_nobody_holds_any_more_is_removed_with_its_empty_parents() {
        let mut live =
            json!({"spec": {"weight": 1}, "status": {"conditions": [{"type": "A", "status": "True"}]}});
        let dropped = field_set(&schema(), &live);
        let owned = field_set(&schema(), &json!({"status": {"conditions": [{"type": "A"}]}}));
        remove(&schema(), &mut live, &dropped, &owned);
        assert_eq!(live, json!({"status": {"conditions": [{"type": "A"}]}}));
    }
}
