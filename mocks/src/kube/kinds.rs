//! What is served: the table of built-in kinds, and the registry that CRDs extend at run time.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::builtin;
use super::schema::Schema;
use super::table::Column;

/// Where objects live. Kinds of two groups or versions may share one place: events do, and versions of a CRD.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Storage {
    pub(super) group: String,
    pub(super) plural: String,
    /// The version in which objects are stored.
    pub(super) version: String,
}

/// One kind in one served version.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) list_kind: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) namespaced: bool,
    /// Whether `/status` is served, and the main endpoint therefore ignores `status`.
    pub(super) status: bool,
    /// Whether `metadata.generation` is kept.
    pub(super) generation: bool,
    pub(super) storage: Storage,
    pub(super) schema: Schema,
    pub(super) columns: Columns,
    /// Field selectors beyond `metadata.name` and `metadata.namespace`, each as a dotted path.
    pub(super) selectable: Vec<String>,
    /// Defined by a CRD: validated and pruned by its schema.
    pub(super) custom: bool,
}

/// Where table columns come from.
#[derive(Debug)]
pub(super) enum Columns {
    BuiltIn(&'static [builtin::Column]),
    Custom(Vec<Column>),
}

impl Kind {
    /// `gslbs.k8gb.io`, or `services` in the core group: the name in messages.
    pub(super) fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub(super) fn api_version(&self) -> String {
        group_version(&self.group, &self.version)
    }

    /// Whether objects are stored in another version than this one, so that reading must convert.
    pub(super) fn converts(&self) -> bool {
        self.group != self.storage.group || self.version != self.storage.version
    }

    pub(super) fn stored_api_version(&self) -> String {
        group_version(&self.storage.group, &self.storage.version)
    }

    pub(super) fn is(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }
}

pub(super) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.into() } else { format!("{group}/{version}") }
}

/// One line of the table of built-in kinds.
pub(super) struct BuiltIn {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
    generation: bool,
    selectable: &'static [&'static str],
}

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];

const PLAIN: BuiltIn = BuiltIn {
    group: "",
    version: "v1",
    kind: "",
    plural: "",
    short: &[],
    namespaced: true,
    status: false,
    generation: false,
    selectable: &[],
};

#[rustfmt::skip]
const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { kind: "Namespace", plural: "namespaces", short: &["ns"], namespaced: false, status: true, selectable: &["status.phase"], ..PLAIN },
    BuiltIn { kind: "Service", plural: "services", short: &["svc"], status: true, ..PLAIN },
    BuiltIn { kind: "ConfigMap", plural: "configmaps", short: &["cm"], ..PLAIN },
    BuiltIn { kind: "Secret", plural: "secrets", selectable: &["type"], ..PLAIN },
    BuiltIn { kind: "ServiceAccount", plural: "serviceaccounts", short: &["sa"], ..PLAIN },
    BuiltIn { kind: "Event", plural: "events", short: &["ev"], selectable: EVENT_FIELDS, ..PLAIN },
    BuiltIn { kind: "Pod", plural: "pods", short: &["po"], status: true, generation: true, selectable: &["spec.nodeName", "status.phase"], ..PLAIN },
    BuiltIn { kind: "Endpoints", plural: "endpoints", short: &["ep"], ..PLAIN },
    BuiltIn { group: "events.k8s.io", kind: "Event", plural: "events", short: &["ev"], selectable: EVENT_FIELDS, ..PLAIN },
    BuiltIn { group: "networking.k8s.io", kind: "Ingress", plural: "ingresses", short: &["ing"], status: true, generation: true, ..PLAIN },
    BuiltIn { group: "networking.k8s.io", kind: "IngressClass", plural: "ingressclasses", namespaced: false, generation: true, ..PLAIN },
    BuiltIn { group: "discovery.k8s.io", kind: "EndpointSlice", plural: "endpointslices", generation: true, ..PLAIN },
    BuiltIn { group: "coordination.k8s.io", kind: "Lease", plural: "leases", ..PLAIN },
    BuiltIn { group: "apps", kind: "Deployment", plural: "deployments", short: &["deploy"], status: true, generation: true, ..PLAIN },
    BuiltIn { group: "apiextensions.k8s.io", kind: "CustomResourceDefinition", plural: "customresourcedefinitions", short: &["crd", "crds"], namespaced: false, status: true, generation: true, ..PLAIN },
];

/// Kinds in `kubectl get all`.
const IN_ALL: [&str; 3] = ["services", "pods", "deployments"];

impl BuiltIn {
    fn build(&self) -> Kind {
        let text = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        // Both groups of events read and write the one store of the core group.
        let storage_group = if self.plural == "events" { "" } else { self.group };
        Kind {
            group: self.group.into(),
            version: self.version.into(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            short_names: text(self.short),
            categories: if IN_ALL.contains(&self.plural) { vec!["all".into()] } else { Vec::new() },
            namespaced: self.namespaced,
            status: self.status,
            generation: self.generation,
            storage: Storage {
                group: storage_group.into(),
                plural: self.plural.into(),
                version: self.version.into(),
            },
            schema: Schema::permissive(builtin::merge_schema(self.plural)),
            columns: Columns::BuiltIn(builtin::columns(self.plural)),
            selectable: text(self.selectable),
            custom: false,
        }
    }
}

/// Everything that is served at the moment, by group, plural and version.
#[derive(Debug, Default)]
pub(super) struct Registry {
    kinds: BTreeMap<(String, String, String), Arc<Kind>>,
    /// The group that discovery names first, as if its APIService had the highest `groupPriorityMinimum`.
    pub(super) first_group: Option<String>,
    /// Counts changes, so that clients can cache what is derived from the kinds.
    pub(super) revision: u64,
}

impl Registry {
    pub(super) fn built_in() -> Self {
        let mut registry = Self::default();
        for built_in in BUILT_IN {
            registry.insert(built_in.build());
        }
        registry
    }

    pub(super) fn insert(&mut self, kind: Kind) {
        let key = (kind.group.clone(), kind.plural.clone(), kind.version.clone());
        self.kinds.insert(key, Arc::new(kind));
        self.revision += 1;
    }

    /// Stops serving all versions of a custom resource.
    pub(super) fn remove(&mut self, group: &str, plural: &str) {
        self.kinds.retain(|(other_group, other_plural, _), _| other_group != group || other_plural != plural);
        self.revision += 1;
    }

    pub(super) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
        self.kinds.get(&(group.into(), plural.into(), version.into())).cloned()
    }

    /// The kind that `apiVersion` and `kind` of an object name.
    pub(super) fn of(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        self.kinds.values().find(|other| other.kind == kind && other.api_version() == api_version).cloned()
    }

    /// Some served version of `group` and `plural`.
    pub(super) fn any_version(&self, group: &str, plural: &str) -> Option<Arc<Kind>> {
        self.kinds.values().find(|kind| kind.is(group, plural)).cloned()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// Groups in the order of discovery, with their versions, newest first; the core group is the empty string.
    pub(super) fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kind in self.all() {
            let versions = groups.entry(kind.group.clone()).or_default();
            if !versions.contains(&kind.version) {
                versions.push(kind.version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(group, _)| self.first_group.as_ref() != Some(group));
        groups
    }
}

/// Kubernetes' order of versions: general availability, then beta, then alpha, each by number.
fn priority(version: &str) -> (u8, u32, u32) {
    let digits = |text: &str| text.parse::<u32>().unwrap_or(0);
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    if let Some((major, minor)) = rest.split_once("beta") {
        return (2, digits(major), digits(minor));
    }
    match rest.split_once("alpha") {
        Some((major, minor)) => (1, digits(major), digits(minor)),
        None => (3, digits(rest), 0),
    }
}

/// The dotted `path` of an object, as a field selector compares it.
pub(super) fn field_text(value: &Value, path: &str) -> String {
    let found = path.split('.').fold(value, |value, step| &value[step]);
    match found {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_version_is_the_most_stable_then_the_newest() {
        let mut versions = ["v1alpha1", "v1", "v2beta1", "v1beta1", "v2"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v2", "v1", "v2beta1", "v1beta1", "v1alpha1"]);
    }
}
