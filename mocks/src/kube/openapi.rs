//! OpenAPI v3: what kubectl needs to apply, validate and explain.

use serde_json::{Map, Value, json};

use super::kinds::{Kind, Registry};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// `/openapi/v3`: one document for each group and version. The hash changes with the kinds, so that clients may cache.
pub(super) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for kind in registry.all() {
        let path = root(kind);
        let address = format!("/openapi/v3/{path}?hash={:X}", registry.revision);
        paths.insert(path, json!({"serverRelativeURL": address}));
    }
    json!({"paths": paths})
}

/// The document of `path`: `api/v1` or `apis/<group>/<version>`.
pub(super) fn document(registry: &Registry, path: &str) -> Option<Value> {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for kind in registry.all().filter(|kind| root(kind) == path) {
        describe_paths(kind, &mut paths);
        schemas.insert(schema_name(kind), describe_schema(kind));
    }
    if schemas.is_empty() {
        return None;
    }
    schemas.insert(OBJECT_META.into(), object_meta());
    Some(json!({
        "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths, "components": {"schemas": schemas},
    }))
}

fn root(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}

/// `io.k8gb.v1beta1.Gslb`: the group backwards, as Kubernetes names schemas.
fn schema_name(kind: &Kind) -> String {
    let group = if kind.group.is_empty() { "core.api.k8s.io" } else { &kind.group };
    let reversed: Vec<&str> = group.split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind)
}

fn identity(kind: &Kind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

/// Enough of the paths for kubectl to find a kind by its resource, and to see that the server validates fields.
fn describe_paths(kind: &Kind, paths: &mut Map<String, Value>) {
    let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("/{}{scope}/{}", root(kind), kind.plural);
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let operation = |action: &str| {
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": identity(kind),
            "parameters": [parameter("dryRun"), parameter("fieldManager"), parameter("fieldValidation")],
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema":
                {"$ref": format!("#/components/schemas/{}", schema_name(kind))}}}}},
        })
    };
    paths.insert(format!("{collection}/{{name}}"), json!({
        "get": operation("get"), "put": operation("put"), "patch": operation("patch"), "delete": operation("delete"),
    }));
    paths.insert(collection, json!({"get": operation("list"), "post": operation("post")}));
}

fn describe_schema(kind: &Kind) -> Value {
    let mut schema = kind.schema.root.clone();
    schema["x-kubernetes-group-version-kind"] = json!([identity(kind)]);
    let text = |description: &str| json!({"type": "string", "description": description});
    schema["properties"]["apiVersion"] =
        text("APIVersion defines the versioned schema of this representation of an object.");
    schema["properties"]["kind"] =
        text("Kind is a string value representing the REST resource this object represents.");
    schema["properties"]["metadata"] = json!({
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": format!("#/components/schemas/{OBJECT_META}")}], "default": {},
    });
    schema
}

fn object_meta() -> Value {
    let mut schema = super::schema::OBJECT_META.clone();
    schema["description"] = json!("ObjectMeta is metadata that all persisted resources must have.");
    schema
}
