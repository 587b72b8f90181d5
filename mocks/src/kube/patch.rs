//! The three patches that change an object step by step: JSON patch, merge patch, strategic merge.

use serde_json::{Map, Value, json};

use super::status::ApiError;
use super::typed::field_schema;

/// RFC 6902.
pub(super) fn json_patch(object: &mut Value, patch: Value) -> Result<(), ApiError> {
    let patch: json_patch::Patch = serde_json::from_value(patch)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    json_patch::patch(object, &patch).map_err(|_| {
        let mut error =
            ApiError::new(422, "Invalid", "the server rejected our request due to an error in our request");
        error.details = Some(json!({}));
        error
    })
}

/// RFC 7396.
pub(super) fn merge_patch(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = object.as_object_mut().expect("made an object just above");
    for (field, value) in patch {
        if value.is_null() {
            map.remove(field);
        } else {
            merge_patch(map.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Kubernetes' own: a merge patch in which some lists merge by key, and directives start with `$`.
pub(super) fn strategic_merge(schema: &Value, object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *object = patch.clone();
        return;
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *object = Value::Object(plain_fields(patch));
            return;
        }
        Some("delete") => {
            *object = Value::Object(Map::new());
            return;
        }
        _ => {}
    }
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let map = object.as_object_mut().expect("made an object just above");
    if let Some(Value::Array(kept)) = patch.get("$retainKeys") {
        map.retain(|field, _| kept.iter().any(|name| name == field));
    }
    for (directive, value) in patch {
        let Some(field) = directive.strip_prefix("$deleteFromPrimitiveList/") else { continue };
        if let (Some(Value::Array(list)), Some(gone)) = (map.get_mut(field), value.as_array()) {
            list.retain(|item| !gone.contains(item));
        }
    }
    for (field, value) in plain_fields(patch) {
        let below = field_schema(schema, &field);
        if value.is_null() {
            map.remove(&field);
            continue;
        }
        let place = map.entry(field).or_insert(Value::Null);
        match &value {
            Value::Array(items) if below["x-kubernetes-patch-strategy"] == "merge" => {
                merge_list(below, place, items)
            }
            Value::Object(_) => strategic_merge(below, place, &value),
            _ => *place = value,
        }
    }
}

fn plain_fields(patch: &Map<String, Value>) -> Map<String, Value> {
    patch
        .iter()
        .filter(|(field, _)| !field.starts_with('$'))
        .map(|(field, value)| (field.clone(), value.clone()))
        .collect()
}

fn merge_list(schema: &Value, place: &mut Value, items: &[Value]) {
    if !place.is_array() {
        *place = Value::Array(Vec::new());
    }
    let list = place.as_array_mut().expect("made an array just above");
    if items.iter().any(|item| item["$patch"] == "replace") {
        *list = items.iter().filter(|item| item["$patch"].is_null()).cloned().collect();
        return;
    }
    let Some(key) = schema["x-kubernetes-patch-merge-key"].as_str() else {
        let new: Vec<Value> = items.iter().filter(|item| !list.contains(item)).cloned().collect();
        list.extend(new);
        return;
    };
    for item in items {
        let found = list.iter().position(|other| other[key] == item[key]);
        match (item["$patch"] == "delete", found) {
            (true, Some(index)) => drop(list.remove(index)),
            (true, None) => {}
            (false, Some(index)) => strategic_merge(&schema["items"], &mut list[index], item),
            (false, None) => {
                let mut new = Value::Null;
                strategic_merge(&schema["items"], &mut new, item);
                list.push(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kube::builtin::merge_schema;

    #[test]
    fn strategic_merge_keeps_ports_that_the_patch_does_not_name() {
        let mut service =
            json!({"spec": {"ports": [{"port": 80, "name": "http"}, {"port": 53}], "selector": {"a": "b"}}});
        let patch = json!({"spec": {
            "$setElementOrder/ports": [{"port": 443}, {"port": 80}],
            "ports": [{"port": 443}, {"port": 80, "name": "web"}, {"port": 53, "$patch": "delete"}],
            "selector": null}});
        strategic_merge(&merge_schema("services"), &mut service, &patch);
        assert_eq!(service, json!({"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 443}]}}));
    }

    #[test]
    fn a_merge_patch_removes_what_is_null_and_replaces_lists() {
        let mut object = json!({"a": {"b": 1, "c": [1, 2]}});
        merge_patch(&mut object, &json!({"a": {"b": null, "c": [3], "d": {"e": null}}}));
        assert_eq!(object, json!({"a": {"c": [3], "d": {}}}));
    }
}
