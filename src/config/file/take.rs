//! Takes the value behind a known key, if it is of the right type.

use std::collections::BTreeMap;

use super::nearest::advice_of;
use super::yaml::{Content as Yaml, Node};
use super::{ConfigFile, Content, Element, ZoneEntry};
use crate::config::catalog::{ADOPT_HIDDEN_RECORDS, Form, MODE, PUBLISH, ZONE_KEYS};
use crate::config::problem::quoted;
use crate::config::value::Value;

impl ConfigFile {
    pub(super) fn take_content(&mut self, form: Form, path: &str, node: &Node) -> Content {
        match (form, &node.content) {
            (Form::Text | Form::Path | Form::Version, Yaml::Text(text))
            | (Form::Version, Yaml::Number(text)) => Content::Scalar(Value::Text(text.clone())),
            (Form::Whole | Form::Decimal, Yaml::Number(text)) => Content::Scalar(Value::Number(text.clone())),
            (Form::Flag, Yaml::Flag(flag)) => Content::Scalar(Value::Flag(*flag)),
            (Form::List, Yaml::List(items)) => Content::List(self.take_list(path, items)),
            (Form::Zones, Yaml::List(items)) => Content::Zones(self.take_zones(path, items)),
            (_, _) => {
                self.refuse(form, path, node);
                Content::Refused
            }
        }
    }

    fn take_list(&mut self, path: &str, items: &[Node]) -> Vec<Element> {
        let mut elements = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match &item.content {
                Yaml::Text(text) => elements.push(Element { index, at: item.at, text: text.clone() }),
                _ => self.refuse(Form::Text, &format!("{path}[{index}]"), item),
            }
        }
        elements
    }

    fn take_zones(&mut self, path: &str, items: &[Node]) -> Vec<ZoneEntry> {
        let zone = |(index, item)| self.take_zone(&format!("{path}[{index}]"), index, item);
        items.iter().enumerate().filter_map(zone).collect()
    }

    /// The zone, if all its keys are there.
    fn take_zone(&mut self, path: &str, index: usize, node: &Node) -> Option<ZoneEntry> {
        let Yaml::Mapping(entries) = &node.content else {
            let fix = "write for example {zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30}";
            self.tell(Some(node.at), Some(path), format!("must be a mapping, this is {}", shape(node)), fix);
            return None;
        };
        let mut fields = [const { None }; ZONE_KEYS.len()];
        let mut publish = None;
        let mut seen = BTreeMap::new();
        let (mut mode, mut adopt_hidden_records) = (None, None);
        for (key, value) in entries {
            let path = format!("{path}.{}", key.name);
            if self.is_repeated(&mut seen, key, &path) {
                continue;
            }
            if key.name == MODE {
                mode = self.take_field(MODE, &path, value);
                continue;
            }
            if key.name == ADOPT_HIDDEN_RECORDS {
                adopt_hidden_records = self.take_flag(&path, value);
                continue;
            }
            if key.name == PUBLISH {
                publish = self.take_publish(&path, value);
                continue;
            }
            let Some(place) = ZONE_KEYS.iter().position(|known| *known == key.name) else {
                let known = [ZONE_KEYS.as_slice(), &[MODE, ADOPT_HIDDEN_RECORDS, PUBLISH]].concat();
                self.tell(Some(key.at), Some(&path), "is not a known key", advice_of(&key.name, &known));
                continue;
            };
            fields[place] = Some(self.take_field(ZONE_KEYS[place], &path, value));
        }
        for (name, field) in ZONE_KEYS.iter().zip(&fields) {
            if field.is_none() {
                let fix = format!("write for example {name}: {}", example(name));
                self.tell(Some(node.at), Some(path), format!("has no {name}"), fix);
            }
        }
        let [Some(Some(parent)), Some(Some(zone)), Some(Some(ttl))] = fields else { return None };
        let fields = [parent, zone, ttl];
        Some(ZoneEntry { index, at: node.at, fields, mode, adopt_hidden_records, publish })
    }

    /// Nothing if it was refused.
    fn take_flag(&mut self, path: &str, node: &Node) -> Option<bool> {
        match self.take_content(Form::Flag, path, node) {
            Content::Scalar(Value::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    /// Nothing if it was refused.
    fn take_field(&mut self, name: &str, path: &str, node: &Node) -> Option<String> {
        let form = if name == ZONE_KEYS[2] { Form::Whole } else { Form::Text };
        match self.take_content(form, path, node) {
            Content::Scalar(Value::Text(text) | Value::Number(text)) => Some(text),
            _ => None,
        }
    }

    fn refuse(&mut self, form: Form, path: &str, node: &Node) {
        if node.content == Yaml::Nothing {
            let fix = "write one, or remove the key";
            self.tell(Some(node.at), Some(path), "has no value", fix);
            return;
        }
        let (wanted, fix) = match (form, &node.content) {
            (Form::Text, Yaml::Number(text)) => ("a text", format!("write it in quotes: {text:?}")),
            (Form::Text, Yaml::Flag(flag)) => ("a text", format!("write it in quotes: \"{flag}\"")),
            (Form::Text, _) => ("a text", "write one value".to_owned()),
            (Form::Path, _) => ("the path of a file", "write a path, in quotes if need be".to_owned()),
            (Form::Version, _) => ("a version", "write for example \"2.12\"".to_owned()),
            (Form::Whole | Form::Decimal, _) => ("a number", "write a number, without quotes".to_owned()),
            (Form::Flag, _) => ("true or false", "write true or false, without quotes".to_owned()),
            (Form::List, _) => ("a list", "write [] for none, or each element behind a dash".to_owned()),
            (Form::Zones, _) => ("a list", "write [] for none, or each zone behind a dash".to_owned()),
        };
        // Whoever writes a password where its file belongs must not find it in a log.
        let found = if form == Form::Path { "something else".to_owned() } else { shape(node) };
        self.tell(Some(node.at), Some(path), format!("must be {wanted}, this is {found}"), fix);
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "parentZone" => "example.com",
        "zone" => "cloud.example.com",
        _ => "30",
    }
}

/// What stands there, in words.
fn shape(node: &Node) -> String {
    match &node.content {
        Yaml::Nothing => "nothing".to_owned(),
        Yaml::Flag(flag) => flag.to_string(),
        Yaml::Number(number) => format!("the number {number}"),
        Yaml::Text(text) => format!("the text {}", quoted(text)),
        Yaml::List(_) => "a list".to_owned(),
        Yaml::Mapping(_) => "a mapping".to_owned(),
    }
}
