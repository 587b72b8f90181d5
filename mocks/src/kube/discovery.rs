//! Discovery: which groups, versions and resources there are, in the old form and the aggregated one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::{Kind, Registry, group_version};

/// The media type of aggregated discovery, which kubectl asks for first.
pub(super) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

pub(super) fn version() -> Value {
    // The version whose behaviour is followed; clients switch features on by it.
    json!({"major": "1", "minor": "33", "gitVersion": "v1.33.0+memory", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "memory"})
}

/// `/api` in the old form.
pub(super) fn core_versions() -> Value {
    json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
}

/// `/apis` in the old form.
pub(super) fn group_list(registry: &Registry) -> Value {
    let groups: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| describe_group(group, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`.
pub(super) fn group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = registry.groups();
    let (_, versions) = groups.iter().find(|(group, _)| group == name && !name.is_empty())?;
    let mut group = describe_group(name, versions);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

fn describe_group(name: &str, versions: &[String]) -> Value {
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| json!({"groupVersion": group_version(name, version), "version": version}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions[0]})
}

/// `/api/v1` and `/apis/<group>/<version>`.
pub(super) fn resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for kind in of(registry, group, version) {
        let mut resource = json!({"name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": VERBS});
        add_names(kind, &mut resource);
        resources.push(resource);
        if kind.status {
            resources.push(json!({"name": format!("{}/status", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": kind.kind, "verbs": STATUS_VERBS}));
        }
    }
    (!resources.is_empty()).then(|| {
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version(group, version), "resources": resources})
    })
}

/// `/api` (`core`) or `/apis` in the aggregated form.
pub(super) fn aggregated(registry: &Registry, core: bool) -> Value {
    let items: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|version| {
                    let resources: Vec<Value> = of(registry, group, version).map(describe_resource).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn describe_resource(kind: &Arc<Kind>) -> Value {
    let response = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
    let mut resource = json!({"resource": kind.plural, "responseKind": response, "singularResource": kind.singular,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "verbs": VERBS});
    add_names(kind, &mut resource);
    if kind.status {
        resource["subresources"] =
            json!([{"subresource": "status", "responseKind": response, "verbs": STATUS_VERBS}]);
    }
    resource
}

fn add_names(kind: &Kind, resource: &mut Value) {
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
}

fn of<'r>(registry: &'r Registry, group: &'r str, version: &'r str) -> impl Iterator<Item = &'r Arc<Kind>> {
    registry.all().filter(move |kind| kind.group == group && kind.version == version)
}
