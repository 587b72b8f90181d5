//! The listed providers: each a mapping with a name, a type, and the keys of a section.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::nearest::advice_of;
use super::publish::Written;
use super::yaml::{Content as Yaml, Node};
use super::{ConfigFile, FileValue};
use crate::config::catalog::{INSTANCE_KEYS, INSTANCE_SECTION, PROVIDERS, instance_settings, variable};
use crate::config::place::{Place, Position};

/// One listed provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Instance {
    pub(in crate::config) within: Within,
    /// Nothing if it was refused.
    pub(in crate::config) name: Option<Written>,
    values: BTreeMap<&'static str, FileValue>,
}

/// Where the settings of one listed provider stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::config) struct Within {
    pub(in crate::config) index: usize,
    pub(in crate::config) at: Position,
}

impl Within {
    fn key(self, name: &str) -> String {
        format!("{PROVIDERS}[{}].{name}", self.index)
    }
}

impl ConfigFile {
    /// The listed providers; nothing if the key is not there.
    pub(in crate::config) fn instances(&self) -> Option<&[Instance]> {
        self.instances.as_deref()
    }

    /// A file that says of the settings of [`INSTANCE_SECTION`] what one listed provider says.
    pub(in crate::config) fn of_instance(&self, instance: &Instance) -> Self {
        Self {
            values: instance.values.clone(),
            within: Some(instance.within),
            name: Arc::clone(&self.name),
            instances: None,
            problems: Vec::new(),
            unread: false,
        }
    }

    /// Where a setting would stand that is not made, if this is what one listed provider says.
    pub(in crate::config) fn place_within(&self, name: &'static str) -> Option<Place> {
        Some(self.place_of(name, self.within?.at))
    }

    /// Whether this is what one listed provider says.
    pub(in crate::config) fn is_instance(&self) -> bool {
        self.within.is_some()
    }

    pub(super) fn key_of(&self, name: &'static str) -> Option<String> {
        let key = variable(name).key?;
        Some(match self.within {
            Some(within) => within.key(key.rsplit('.').next().unwrap_or(key)),
            None => key.to_owned(),
        })
    }

    pub(super) fn take_instances(&mut self, node: &Node) {
        let Yaml::List(items) = &node.content else {
            let fix = "write each provider behind a dash, or remove the key";
            self.tell(Some(node.at), Some(PROVIDERS), "must be a list", fix);
            return;
        };
        if items.is_empty() {
            self.tell(Some(node.at), Some(PROVIDERS), "lists none", "list one, or remove the key");
        }
        let taken = items.iter().enumerate().filter_map(|(index, item)| self.take_instance(index, item));
        self.instances = Some(taken.collect());
    }

    fn take_instance(&mut self, index: usize, node: &Node) -> Option<Instance> {
        let within = Within { index, at: node.at };
        let path = format!("{PROVIDERS}[{index}]");
        let Yaml::Mapping(entries) = &node.content else {
            let fix = "write for example {name: dmz, type: infoblox, gridHost: gm.example.com}";
            self.tell(Some(node.at), Some(&path), "must be a mapping", fix);
            return None;
        };
        let known: Vec<&str> =
            INSTANCE_KEYS.into_iter().chain(instance_settings().map(|(key, _)| key)).collect();
        let (mut seen, mut values) = (BTreeMap::new(), BTreeMap::new());
        let [mut name, mut kind] = [None, None];
        for (key, value) in entries {
            let path = within.key(&key.name);
            if self.is_repeated(&mut seen, key, &path) {
                continue;
            }
            let setting = instance_settings().find(|(name, _)| *name == key.name);
            match (key.name.as_str(), setting) {
                ("name", _) => name = Some(self.take_written(&path, value)),
                ("type", _) => kind = Some(self.take_written(&path, value)),
                (_, Some((_, setting))) => {
                    let value = self.take_value(setting, &path, value);
                    values.insert(setting.name, value);
                }
                (unknown, None) => {
                    self.tell(Some(key.at), Some(&path), "is not a known key", advice_of(unknown, &known));
                }
            }
        }
        for (key, example) in [("name", "name: dmz"), ("type", "type: infoblox")] {
            if !seen.contains_key(key) {
                self.tell(
                    Some(node.at),
                    Some(&path),
                    format!("has no {key}"),
                    format!("write for example {example}"),
                );
            }
        }
        if let Some(kind) = kind.flatten().filter(|kind| kind.text != INSTANCE_SECTION) {
            let told = format!("is {:?}, which is no type of a listed provider", kind.text);
            self.tell(Some(kind.at), Some(&within.key("type")), told, format!("write {INSTANCE_SECTION}"));
        }
        Some(Instance { within, name: name.flatten(), values })
    }
}
