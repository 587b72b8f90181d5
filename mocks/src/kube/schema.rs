//! A kind's schema in use: defaulting, pruning, and the rules in CEL.
//!
//! Checks of single values are in `validate.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use kube_cel::CompiledSchema;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::status::Cause;
use super::validate;

/// The part of `ObjectMeta` that matters: how its fields merge, and which there are.
pub(super) static OBJECT_META: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({"type": "object", "properties": {
        "name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
        "creationTimestamp": {"type": "string", "nullable": true}, "deletionTimestamp": {"type": "string", "nullable": true},
        "generation": {"type": "integer"}, "deletionGracePeriodSeconds": {"type": "integer"},
        "labels": texts, "annotations": texts,
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"},
            "x-kubernetes-patch-strategy": "merge"},
        "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
            "items": {"type": "object", "x-kubernetes-map-type": "atomic",                 "properties": {"apiVersion": text, "kind": text, "name": text, "uid": text,
                    "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"}}}},
        "managedFields": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    }})
});

/// An OpenAPI schema with what was prepared from it.
pub(super) struct Schema {
    pub(super) root: Value,
    pub(super) patterns: BTreeMap<String, Regex>,
    rules: Option<CompiledSchema>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Schema {
    /// Knows how lists merge, refuses nothing.
    pub(super) fn permissive(root: Value) -> Self {
        Self { root: with_metadata(root), patterns: BTreeMap::new(), rules: None }
    }

    /// The structural schema of a CRD's version.
    ///
    /// # Errors
    ///
    /// Patterns that are not regular expressions and rules that are not CEL, each with its text.
    pub(super) fn structural(root: &Value) -> Result<Self, String> {
        let mut patterns = BTreeMap::new();
        collect_patterns(root, &mut patterns)?;
        let rules = if root.to_string().contains("x-kubernetes-validations") {
            let compiled = kube_cel::compile_schema(root);
            if let Some(error) = compiled.compilation_errors().first() {
                return Err(format!("compilation failed: {error}"));
            }
            Some(compiled)
        } else {
            None
        };
        Ok(Self { root: with_metadata(root.clone()), patterns, rules })
    }

    /// Sets defaults; drops nulls where a default stands for them.
    pub(super) fn default(&self, object: &mut Value) {
        default(&self.root, object);
    }

    /// Removes fields that the schema does not know and returns their paths.
    pub(super) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        prune(&self.root, object, "", &mut unknown);
        unknown
    }

    pub(super) fn validate(&self, object: &Value, before: Option<&Value>) -> Vec<Cause> {
        let mut causes = validate::check(self, object);
        let Some(rules) = &self.rules else { return causes };
        if causes.iter().any(|cause| BLOCKING.contains(&cause.reason)) {
            causes.push(Cause::invalid(
                "<nil>",
                &Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing \
                 errors to complete validation",
            ));
            return causes;
        }
        let errors = kube_cel::validate_compiled(rules, object, before).err();
        causes.extend(errors.into_iter().flatten().map(|error| Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}{}", value_at(object, &error.field_path), error.message),
            field: if error.field_path.is_empty() { "<nil>".into() } else { error.field_path },
        }));
        causes
    }
}

/// Rules see only objects of the right shape, as in Kubernetes: these keep them from being asked.
const BLOCKING: [&str; 5] = [
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
];

/// What a message of a rule quotes: the value, but not of objects and lists.
fn value_at(object: &Value, path: &str) -> String {
    let found = path.split('.').filter(|step| !step.is_empty()).fold(object, |value, step| &value[step]);
    match found {
        Value::Object(_) | Value::Null | Value::Array(_) => String::new(),
        other => format!("{other}: "),
    }
}

fn with_metadata(mut root: Value) -> Value {
    if !root["properties"].is_object() {
        root["properties"] = json!({});
    }
    root["properties"]["metadata"] = OBJECT_META.clone();
    for field in ["apiVersion", "kind"] {
        root["properties"][field] = json!({"type": "string"});
    }
    root
}

fn collect_patterns(schema: &Value, patterns: &mut BTreeMap<String, Regex>) -> Result<(), String> {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(pattern)) = map.get("pattern") {
                let regex = Regex::new(pattern)
                    .map_err(|error| format!("must be a valid regular expression: {error}"))?;
                patterns.insert(pattern.clone(), regex);
            }
            map.values().try_for_each(|below| collect_patterns(below, patterns))
        }
        Value::Array(list) => list.iter().try_for_each(|below| collect_patterns(below, patterns)),
        _ => Ok(()),
    }
}

fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (field, below) in schema["properties"].as_object().into_iter().flatten() {
                let Some(preset) = below.get("default") else { continue };
                let missing = match map.get(field) {
                    None => true,
                    Some(Value::Null) => below["nullable"] != true,
                    Some(_) => false,
                };
                if missing {
                    map.insert(field.clone(), preset.clone());
                }
            }
            for (field, value) in map.iter_mut() {
                default(super::typed::field_schema(schema, field), value);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| default(&schema["items"], item)),
        _ => {}
    }
}

fn prune(schema: &Value, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_map(schema, map, path, unknown),
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                prune(&schema["items"], item, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}

fn prune_map(schema: &Value, map: &mut Map<String, Value>, path: &str, unknown: &mut Vec<String>) {
    let keeps_all =
        schema["x-kubernetes-preserve-unknown-fields"] == true || schema["additionalProperties"] == true;
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    let place = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let known = |field: &str| {
        keeps_all
            || !super::typed::field_schema(schema, field).is_null()
            || (embedded && ["apiVersion", "kind", "metadata"].contains(&field))
    };
    unknown.extend(map.keys().filter(|field| !known(field)).map(|field| place(field)));
    map.retain(|field, _| known(field));
    for (field, value) in map.iter_mut() {
        let below = super::typed::field_schema(schema, field);
        if !below.is_null() && *below != true {
            prune(below, value, &place(field), unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_inside_objects_that_are_there_and_unknown_fields_go() {
        let schema = Schema::structural(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "ttl": {"type": "integer", "default": 30}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}))
        .unwrap();
        let mut object = json!({"spec": {"free": {"any": 1}, "typo": 1}, "extra": true});
        assert_eq!(schema.prune(&mut object), ["extra", "spec.typo"]);
        schema.default(&mut object);
        assert_eq!(object, json!({"spec": {"free": {"any": 1}, "ttl": 30}}));
    }

    #[test]
    fn rules_in_cel_are_checked_and_name_their_field() {
        let schema = Schema::structural(&json!({"type": "object", "properties": {"spec": {"type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "x-kubernetes-validations": [{"rule": "self.a.endsWith('.' + self.b)", "message": "a must be below b"}]}}}))
        .unwrap();
        assert_eq!(schema.validate(&json!({"spec": {"a": "x.example.com", "b": "example.com"}}), None), []);
        let causes = schema.validate(&json!({"spec": {"a": "example.org", "b": "example.com"}}), None);
        assert_eq!(
            causes,
            [Cause {
                reason: "FieldValueInvalid",
                field: "spec".into(),
                message: "Invalid value: a must be below b".into()
            }]
        );
    }
}
