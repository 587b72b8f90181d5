//! Sets of field paths, and their form on the wire (`FieldsV1` in `metadata.managedFields`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// One step of a path, in the form that `FieldsV1` gives it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// `f:name`
    Field(String),
    /// `k:{"type":"Ready"}`: the item of a keyed list, by the JSON of its keys.
    Key(String),
    /// `v:"text"`: the member of a set, by its JSON.
    Item(String),
}

impl Step {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(json) => format!("k:{json}"),
            Self::Item(json) => format!("v:{json}"),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (tag, rest) = text.split_once(':')?;
        let canonical = || serde_json::from_str::<Value>(rest).ok().map(|value| value.to_string());
        match tag {
            "f" => Some(Self::field(rest)),
            "k" => canonical().map(Self::Key),
            "v" => canonical().map(Self::Item),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Item(json) => write!(f, "[={json}]"),
            Self::Key(json) => {
                let keys: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
                let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "[{}]", keys.join(","))
            }
        }
    }
}

/// A set of paths as a tree: `members` end here, `children` go deeper. A path may do both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FieldSet {
    pub(super) members: BTreeSet<Step>,
    pub(super) children: BTreeMap<Step, FieldSet>,
}

impl FieldSet {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    pub(super) fn child_mut(&mut self, step: &Step) -> &mut Self {
        self.children.entry(step.clone()).or_default()
    }

    /// Whether `step` or anything below it is in the set.
    pub(super) fn touches(&self, step: &Step) -> bool {
        self.members.contains(step) || self.children.get(step).is_some_and(|child| !child.is_empty())
    }

    pub(super) fn union(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (step, child) in &other.children {
            self.child_mut(step).union(child);
        }
    }

    pub(super) fn subtract(&mut self, other: &Self) {
        self.members.retain(|step| !other.members.contains(step));
        for (step, child) in &other.children {
            if let Some(own) = self.children.get_mut(step) {
                own.subtract(child);
            }
        }
        self.children.retain(|_, child| !child.is_empty());
    }

    pub(super) fn intersection(&self, other: &Self) -> Self {
        let members = self.members.intersection(&other.members).cloned().collect();
        let children = self
            .children
            .iter()
            .filter_map(|(step, child)| Some((step.clone(), child.intersection(other.children.get(step)?))))
            .filter(|(_, child)| !child.is_empty())
            .collect();
        Self { members, children }
    }

    /// Removes `step` and all below it.
    pub(super) fn cut(&mut self, step: &Step) {
        self.members.remove(step);
        self.children.remove(step);
    }

    /// Each path as Kubernetes prints it in a conflict: `.spec.strategy.type`.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.members.iter().map(Step::to_string).collect();
        for (step, child) in &self.children {
            paths.extend(child.paths().into_iter().map(|path| format!("{step}{path}")));
        }
        paths
    }

    pub(super) fn encode(&self) -> Value {
        let mut map = Map::new();
        for step in &self.members {
            map.insert(step.encode(), Value::Object(Map::new()));
        }
        for (step, child) in self.children.iter().filter(|(_, child)| !child.is_empty()) {
            let mut encoded = child.encode();
            if self.members.contains(step) {
                encoded["."] = Value::Object(Map::new());
            }
            map.insert(step.encode(), encoded);
        }
        Value::Object(map)
    }

    /// `None` when it is not `FieldsV1`.
    pub(super) fn decode(value: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (text, below) in value.as_object()?.iter().filter(|(text, _)| *text != ".") {
            let step = Step::decode(text)?;
            let below_map = below.as_object()?;
            if below_map.is_empty() || below_map.contains_key(".") {
                set.members.insert(step.clone());
            }
            if below_map.keys().any(|key| key != ".") {
                set.children.insert(step, Self::decode(below)?);
            }
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_wire_form_survives_a_round_trip() {
        let wire = json!({
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:finalizers": {"v:\"x/y\"": {}}},
            "f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}}},
        });
        let set = FieldSet::decode(&wire).unwrap();
        assert_eq!(set.encode(), wire);
        assert_eq!(
            set.paths(),
            [
                ".metadata.labels",
                ".metadata.finalizers[=\"x/y\"]",
                ".metadata.labels.app",
                ".status.conditions[type=\"Ready\"]",
                ".status.conditions[type=\"Ready\"].status",
            ]
        );
    }

    #[test]
    fn subtracting_a_parent_keeps_what_is_below_it() {
        let mut set = FieldSet::decode(&json!({"f:a": {".": {}, "f:b": {}}})).unwrap();
        set.subtract(&FieldSet::decode(&json!({"f:a": {}})).unwrap());
        assert_eq!(set.encode(), json!({"f:a": {"f:b": {}}}));
    }
}
