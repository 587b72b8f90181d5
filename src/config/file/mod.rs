//! The configuration file: YAML with a version, whose keys are those of [`VARIABLES`](super::VARIABLES).
//!
//! It is read into a tree, all of which is held against the known keys, so that everything that is wrong is told at
//! once, each with its line. What a value means is for the same readers to say that read the environment.

mod header;
mod instances;
mod keys;
pub(super) mod nearest;
mod publish;
mod take;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::catalog::{ZONE_KEYS, variable};
use super::place::{FilePlace, Place, Position};
use super::problem::Problem;
use super::value::{Value, ZoneValue, number};

pub use header::{API_VERSION, KIND};
pub(super) use instances::{Instance, Within};
pub(super) use publish::PublishEntry;

/// A ConfigMap holds no more (1 MiB), and a file for a thousand zones has a tenth of it.
const MAX_BYTES: u64 = 1 << 20;
/// A file with more problems is none of ours; to list them all would hide the first.
const MAX_PROBLEMS: usize = 100;

/// What a configuration file says, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFile {
    name: Arc<str>,
    values: BTreeMap<&'static str, FileValue>,
    /// The listed providers; nothing if the key is not there.
    instances: Option<Vec<Instance>>,
    /// Set if this is only what one listed provider has.
    within: Option<Within>,
    problems: Vec<Problem>,
    /// Whether nothing of it could be understood.
    unread: bool,
}

/// What stands behind a known key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileValue {
    at: Position,
    content: Content,
    /// Whether a part of it was refused.
    flawed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    /// It was refused, which is told.
    Refused,
    /// In a notation that the reader of the variable understands too.
    Scalar(Value),
    List(Vec<Element>),
    Zones(Vec<ZoneEntry>),
}

/// An element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) index: usize,
    pub(super) at: Position,
    pub(super) text: String,
}

/// One zone with all its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoneEntry {
    pub(super) index: usize,
    pub(super) at: Position,
    /// In the order of [`ZONE_KEYS`].
    pub(super) fields: [String; 3],
    /// How it is published, if it says so.
    pub(super) mode: Option<String>,
    /// Whether it is delegated whatever that hides, if it says so.
    pub(super) adopt_hidden_records: Option<bool>,
    /// The places at which it is published, if they are listed.
    pub(super) publish: Option<Vec<PublishEntry>>,
}

impl ConfigFile {
    pub(super) fn open(path: &Path) -> Self {
        let name = path.to_string_lossy();
        match read(path) {
            Ok(text) => Self::parse(&name, &text),
            Err(reason) => {
                let mut file = Self::new(&name);
                let fix = "name a configuration file that this process can read";
                file.tell_of_file(None, reason, fix);
                file
            }
        }
    }

    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut file = Self::new(name);
        match yaml::parse(text) {
            Ok(root) => file.take(&root),
            Err(malformed) => {
                let told = format!("is no YAML that is taken: {}", malformed.reason);
                file.tell_of_file(malformed.at, told, "correct it; nothing else of the file was checked");
            }
        }
        if file.problems.len() > MAX_PROBLEMS {
            file.problems.truncate(MAX_PROBLEMS);
            file.tell(None, None, "has more problems than are listed here", "correct these first");
        }
        file
    }

    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            values: BTreeMap::new(),
            instances: None,
            within: None,
            problems: Vec::new(),
            unread: false,
        }
    }

    /// What the file says of a setting.
    pub(super) fn value(&self, name: &'static str) -> Option<&FileValue> {
        self.values.get(name)
    }

    /// Where it makes its first setting below `section`, if it does.
    pub(super) fn section(&self, section: &str) -> Option<Position> {
        let below = |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        let within = self.values.iter().filter(|(name, _)| variable(name).key.is_some_and(below));
        within.map(|(_, value)| value.at).min()
    }

    pub(super) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(super) fn is_unread(&self) -> bool {
        self.unread
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The place of a setting of this file.
    pub(super) fn place_of(&self, name: &'static str, at: Position) -> Place {
        let key = self.key_of(name);
        Place::File(FilePlace { file: Arc::clone(&self.name), at: Some(at), key, variable: Some(name) })
    }

    /// The place of a key that is none of a variable.
    pub(super) fn place_at(&self, key: impl Into<String>, at: Position) -> Place {
        let key = Some(key.into());
        Place::File(FilePlace { file: Arc::clone(&self.name), at: Some(at), key, variable: None })
    }

    /// The place of an element of a list, which `index` counts from 0.
    pub(super) fn place_in(&self, name: &'static str, index: usize, at: Position) -> Place {
        let key = variable(name).key.map(|key| format!("{key}[{index}]"));
        Place::File(FilePlace { file: Arc::clone(&self.name), at: Some(at), key, variable: Some(name) })
    }

    /// The file as a whole cannot be used.
    fn tell_of_file(&mut self, at: Option<Position>, told: impl Into<String>, fix: &str) {
        self.unread = true;
        self.tell(at, None, told, fix);
    }

    fn tell(
        &mut self,
        at: Option<Position>,
        key: Option<&str>,
        told: impl Into<String>,
        fix: impl Into<String>,
    ) {
        let place =
            FilePlace { file: Arc::clone(&self.name), at, key: key.map(str::to_owned), variable: None };
        self.problems.push(Problem::told(Place::File(place), told, fix));
    }
}

impl FileValue {
    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// Whether nothing of it is left.
    pub(super) fn is_refused(&self) -> bool {
        self.content == Content::Refused
    }

    /// Whether a part of it was refused.
    pub(super) fn is_flawed(&self) -> bool {
        self.flawed
    }

    /// What is no list, as a variable would say it.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::Text(text) | Value::Number(text)) => Some(text),
            Content::Scalar(Value::Flag(flag)) => Some(if *flag { "true" } else { "false" }),
            Content::Scalar(Value::List(_) | Value::Zones(_)) => None,
            Content::Refused | Content::List(_) | Content::Zones(_) => None,
        }
    }

    pub(super) fn elements(&self) -> &[Element] {
        match &self.content {
            Content::List(elements) => elements,
            Content::Refused | Content::Scalar(_) | Content::Zones(_) => &[],
        }
    }

    pub(super) fn zones(&self) -> &[ZoneEntry] {
        match &self.content {
            Content::Zones(zones) => zones,
            Content::Refused | Content::Scalar(_) | Content::List(_) => &[],
        }
    }

    /// To compare and to print it; nothing if a part of it was refused.
    pub(super) fn value(&self) -> Option<Value> {
        let trimmed = |text: &str| text.trim().to_owned();
        let value = match &self.content {
            Content::Refused => return None,
            Content::Scalar(Value::Text(text)) => Value::Text(trimmed(text)),
            Content::Scalar(Value::Number(text)) => {
                Value::Number(number(text).unwrap_or_else(|| text.clone()))
            }
            Content::Scalar(value) => value.clone(),
            Content::List(elements) => {
                Value::List(elements.iter().map(|element| trimmed(&element.text)).collect())
            }
            Content::Zones(zones) => Value::Zones(
                zones
                    .iter()
                    .map(|zone| {
                        let [parent, name, ttl] = &zone.fields;
                        let ttl = number(ttl).unwrap_or_else(|| ttl.clone());
                        ZoneValue {
                            fields: [trimmed(parent), trimmed(name), ttl],
                            mode: zone.mode.as_deref().map(trimmed),
                            adopt_hidden_records: zone.adopt_hidden_records,
                            publish: zone.publish.iter().flatten().map(PublishEntry::value).collect(),
                        }
                    })
                    .collect(),
            ),
        };
        (!self.flawed).then_some(value)
    }
}

impl ZoneEntry {
    /// As an author would write it on one line.
    pub(super) fn shown(&self) -> String {
        let [parent_key, zone_key, ttl_key] = ZONE_KEYS;
        let [parent, zone, ttl] = &self.fields;
        format!("{zone_key}: {zone}, {parent_key}: {parent}, {ttl_key}: {ttl}")
    }
}

/// The file's text, or the words that say why there is none.
fn read(path: &Path) -> Result<String, String> {
    let cannot = |error: io::Error| format!("cannot be read ({error})");
    let mut bytes = Vec::new();
    // A pipe would be waited for.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(cannot(io::Error::other("it is no regular file")));
    }
    File::open(path).map_err(cannot)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("is larger than 1 MiB".to_owned());
    }
    String::from_utf8(bytes).map_err(|_| "is no text in UTF-8".to_owned())
}
