//! kubeconfig files for the servers of one sandbox.

use serde_json::json;

/// A kubeconfig with one cluster and one context for each name and URL; the first is the current one.
///
/// It is JSON, which is YAML to every reader of kubeconfigs.
pub fn kubeconfig<'a>(servers: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let servers: Vec<(&str, &str)> = servers.into_iter().collect();
    let clusters: Vec<_> =
        servers.iter().map(|(name, url)| json!({"name": name, "cluster": {"server": url}})).collect();
    let contexts: Vec<_> = servers
        .iter()
        .map(|(name, _)| json!({"name": name, "context": {"cluster": name, "user": "anyone", "namespace": "default"}}))
        .collect();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": contexts,
        "current-context": servers.first().map_or("", |(name, _)| name),
        "users": [{"name": "anyone", "user": {}}],
    });
    serde_json::to_string_pretty(&config).expect("plain JSON values always serialise")
}
