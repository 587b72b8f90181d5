//! Holds the keys of a file against the known ones.

use std::collections::BTreeMap;

use super::header::HEADER;
use super::nearest::{advice, known_in};
use super::yaml::{Content, Key, Node};
use super::{ConfigFile, FileValue};
use crate::config::catalog::{PROVIDERS, VARIABLES, Variable};
use crate::config::place::Position;

impl ConfigFile {
    /// Takes the settings below a section, `""` for the file itself.
    pub(super) fn take_section(&mut self, entries: &[(Key, Node)], section: &str) {
        let mut seen = BTreeMap::new();
        for (key, node) in entries {
            let path = if section.is_empty() { key.name.clone() } else { format!("{section}.{}", key.name) };
            if self.is_repeated(&mut seen, key, &path) {
                continue;
            }
            // A dot in a key is no way into a section: one setting must not have two spellings.
            let known = !key.name.contains('.') && known_in(section).contains(&key.name.as_str());
            if !known {
                self.tell(Some(key.at), Some(&path), "is not a known key", advice(section, &key.name));
            } else if path == PROVIDERS {
                self.take_instances(node);
            } else if let Some(variable) = setting(&path) {
                let value = self.take_value(variable, &path, node);
                self.values.insert(variable.name, value);
            } else if !HEADER.iter().any(|(name, _)| *name == path) {
                self.take_subsection(node, &path);
            }
        }
    }

    /// An empty section is what is left when all its lines are comments.
    fn take_subsection(&mut self, node: &Node, path: &str) {
        match &node.content {
            Content::Mapping(entries) => self.take_section(entries, path),
            Content::Nothing => {}
            Content::Flag(_) | Content::Number(_) | Content::Text(_) | Content::List(_) => {
                let fix = format!("write below it one of {}", known_in(path).join(", "));
                self.tell(Some(node.at), Some(path), "must be a mapping", fix);
            }
        }
    }

    /// Whether the key came before. Which of the two was meant, nobody can know.
    pub(super) fn is_repeated<'a>(
        &mut self,
        seen: &mut BTreeMap<&'a str, Position>,
        key: &'a Key,
        path: &str,
    ) -> bool {
        let Some(first) = seen.get(key.name.as_str()) else {
            seen.insert(&key.name, key.at);
            return false;
        };
        let told = format!("is written twice, first in line {}", first.line);
        self.tell(Some(key.at), Some(path), told, "remove one of the two");
        true
    }

    pub(super) fn take_value(&mut self, variable: &Variable, path: &str, node: &Node) -> FileValue {
        let before = self.problems.len();
        let content = self.take_content(variable.form, path, node);
        FileValue { at: node.at, content, flawed: self.problems.len() > before }
    }
}

fn setting(path: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|known| known.key == Some(path))
}
