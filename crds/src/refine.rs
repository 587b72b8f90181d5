//! Turns a derived definition into the one that we publish.
//!
//! The Rust types are lenient, so the derive makes nothing required, everything nullable, and notes widths
//! of integers that k8gb's definitions do not have. All of that is taken away, and what a kind does require
//! is put in from its [`Rules`].

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// What a kind's derive cannot say. Paths are property names joined by dots; `[]` steps into a list's items.
pub(crate) struct Rules {
    /// Required properties of the object at a path.
    pub(crate) required: Vec<(&'static str, Vec<&'static str>)>,
    /// Keywords to be set at a path.
    pub(crate) extra: Vec<(&'static str, Value)>,
}

/// Applies the rules to a derived definition.
pub(crate) fn refine(crd: CustomResourceDefinition, rules: Rules) -> CustomResourceDefinition {
    let mut value = serde_json::to_value(crd).expect("a definition is plain data");
    let root = &mut value["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    strip(root);
    for (name, kind) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        root["properties"][name] = json!({ "type": kind });
    }
    for (path, names) in rules.required {
        let mut keywords = Map::new();
        keywords.insert("required".to_owned(), names.into());
        extend(root, path, keywords);
    }
    for (path, keywords) in rules.extra {
        let Value::Object(keywords) = keywords else { panic!("keywords of {path} are an object") };
        extend(root, path, keywords);
    }
    serde_json::from_value(value).expect("the rules keep a definition valid")
}

/// Keywords that only tell how the Rust type is made.
const DERIVED: [&str; 6] = ["nullable", "default", "format", "minimum", "required", "title"];
/// Marks a schema that is written by hand and stays as it is.
const BY_HAND: &str = "x-kubernetes-list-map-keys";

fn strip(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if keywords.contains_key(BY_HAND) {
        keywords.remove("nullable");
        return;
    }
    keywords.retain(|keyword, _| !DERIVED.contains(&keyword.as_str()));
    if let Some(Value::Object(properties)) = keywords.get_mut("properties") {
        properties.values_mut().for_each(strip);
    }
    for nested in ["items", "additionalProperties"] {
        if let Some(schema) = keywords.get_mut(nested) {
            strip(schema);
        }
    }
}

fn extend(root: &mut Value, path: &str, keywords: Map<String, Value>) {
    let mut schema = root;
    for step in path.split('.') {
        let name = step.trim_end_matches("[]");
        schema = schema["properties"].get_mut(name).unwrap_or_else(|| panic!("no property {path}"));
        if step.ends_with("[]") {
            schema = &mut schema["items"];
        }
    }
    let Value::Object(schema) = schema else { panic!("no schema at {path}") };
    schema.extend(keywords);
}

/// Schema of `status.conditions`: Kubernetes' condition, merged by type.
pub(crate) fn condition_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed.",
                },
                "message": {
                    "type": "string",
                    "maxLength": 32768,
                    "description": "A sentence for people.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "description": "Generation of the spec that was judged.",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "One word for programs.",
                },
                "status": {
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds.",
                },
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "description": "Name of the condition.",
                },
            },
        },
    })
}
