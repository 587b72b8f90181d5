//! The places at which a zone is published.

use std::collections::BTreeMap;

use super::nearest::advice_of;
use super::yaml::{Content as Yaml, Node};
use super::{ConfigFile, Content, Element};
use crate::config::catalog::{Form, PUBLISH_KEYS};
use crate::config::place::Position;
use crate::config::value::{PublishValue, Value};

/// A text, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct Written {
    pub(in crate::config) at: Position,
    pub(in crate::config) text: String,
}

/// One place at which a zone is published, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct PublishEntry {
    pub(in crate::config) index: usize,
    pub(in crate::config) at: Position,
    pub(in crate::config) provider: Option<Written>,
    pub(in crate::config) view: Option<Written>,
    pub(in crate::config) ns_addresses: Option<Vec<Element>>,
    pub(in crate::config) edge_dns_servers: Option<Vec<Element>>,
    /// Whether a part of it was refused, which is told.
    pub(in crate::config) flawed: bool,
}

impl PublishEntry {
    /// To compare and to print it.
    pub(super) fn value(&self) -> PublishValue {
        let text = |written: &Written| written.text.trim().to_owned();
        let texts =
            |elements: &Vec<Element>| elements.iter().map(|each| each.text.trim().to_owned()).collect();
        PublishValue {
            provider: self.provider.as_ref().map(text),
            view: self.view.as_ref().map(text),
            ns_addresses: self.ns_addresses.as_ref().map(texts),
            edge_dns_servers: self.edge_dns_servers.as_ref().map(texts),
        }
    }
}

impl ConfigFile {
    /// Nothing if it was refused.
    pub(super) fn take_publish(&mut self, path: &str, node: &Node) -> Option<Vec<PublishEntry>> {
        let Yaml::List(items) = &node.content else {
            let fix = "write each place behind a dash, or remove the key";
            self.tell(Some(node.at), Some(path), "must be a list", fix);
            return None;
        };
        if items.is_empty() {
            let fix = "list at least one place, or remove the key";
            self.tell(Some(node.at), Some(path), "lists no place", fix);
        }
        let place = |(index, item)| self.take_place(&format!("{path}[{index}]"), index, item);
        Some(items.iter().enumerate().filter_map(place).collect())
    }

    fn take_place(&mut self, path: &str, index: usize, node: &Node) -> Option<PublishEntry> {
        let Yaml::Mapping(entries) = &node.content else {
            let fix = "write for example {provider: dmz, view: external}";
            self.tell(Some(node.at), Some(path), "must be a mapping", fix);
            return None;
        };
        let mut place = PublishEntry {
            index,
            at: node.at,
            provider: None,
            view: None,
            ns_addresses: None,
            edge_dns_servers: None,
            flawed: false,
        };
        let before = self.problems.len();
        let mut seen = BTreeMap::new();
        for (key, value) in entries {
            let path = format!("{path}.{}", key.name);
            if self.is_repeated(&mut seen, key, &path) {
                continue;
            }
            match PUBLISH_KEYS.iter().position(|known| *known == key.name) {
                Some(0) => place.provider = self.take_written(&path, value),
                Some(1) => place.view = self.take_written(&path, value),
                Some(2) => place.ns_addresses = self.take_elements(&path, value),
                Some(_) => place.edge_dns_servers = self.take_elements(&path, value),
                None => {
                    let advice = advice_of(&key.name, &PUBLISH_KEYS);
                    self.tell(Some(key.at), Some(&path), "is not a known key", advice);
                }
            }
        }
        place.flawed = self.problems.len() > before;
        Some(place)
    }

    /// Nothing if it was refused.
    pub(super) fn take_written(&mut self, path: &str, node: &Node) -> Option<Written> {
        match self.take_content(Form::Text, path, node) {
            Content::Scalar(Value::Text(text)) => Some(Written { at: node.at, text: text.trim().to_owned() }),
            _ => None,
        }
    }

    fn take_elements(&mut self, path: &str, node: &Node) -> Option<Vec<Element>> {
        match self.take_content(Form::List, path, node) {
            Content::List(elements) => Some(elements),
            _ => None,
        }
    }
}
