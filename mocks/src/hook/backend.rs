//! The sets, and what a request does to them. All of a request is made, or nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// All records of one name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub(super) name: String,
    pub(super) record_type: String,
    pub(super) ttl: i64,
    pub(super) targets: Vec<String>,
}

impl Set {
    /// Reads type, name, TTL and targets, separated by blanks.
    pub(super) fn parse(line: &str) -> Self {
        let mut words = line.split(' ').map(str::to_owned);
        let mut word = || words.next().unwrap_or_default();
        let (record_type, name, ttl) = (word(), word(), word());
        Self { name, record_type, ttl: ttl.parse().unwrap_or_default(), targets: words.collect() }
    }

    /// Reads an endpoint of the protocol.
    ///
    /// # Errors
    /// It is none that is kept here, and why.
    pub(super) fn of(endpoint: &Value) -> Result<Self, String> {
        const KNOWN: [&str; 7] =
            ["dnsName", "targets", "recordType", "setIdentifier", "recordTTL", "labels", "providerSpecific"];
        let fields = endpoint.as_object().ok_or("an endpoint is an object")?;
        if let Some(unknown) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
            return Err(format!("unknown field {unknown}"));
        }
        let text = |key: &str| endpoint[key].as_str().map(str::to_owned);
        let targets = endpoint["targets"].as_array().filter(|targets| !targets.is_empty());
        let targets = targets.ok_or("an endpoint has targets")?.iter();
        Ok(Self {
            name: text("dnsName").ok_or("an endpoint has a name")?,
            record_type: text("recordType").ok_or("an endpoint has a type")?,
            ttl: endpoint["recordTTL"].as_i64().unwrap_or_default(),
            targets: targets.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    pub(super) fn endpoint(&self) -> Value {
        let Self { name, record_type, ttl, targets } = self;
        let mut endpoint = json!({"dnsName": name, "recordType": record_type, "targets": targets});
        if *ttl != 0 {
            endpoint["recordTTL"] = json!(ttl);
        }
        endpoint
    }

    fn key(&self) -> (String, String) {
        (plain(&self.name), self.record_type.to_uppercase())
    }

    fn said(&self) -> Vec<String> {
        let mut said: Vec<String> = self.targets.iter().map(|target| plain(target)).collect();
        said.sort();
        said
    }
}

/// All sets by name and type.
#[derive(Clone, Debug, Default)]
pub(super) struct Backend(BTreeMap<(String, String), Set>);

impl Backend {
    pub(super) fn put(&mut self, set: Set) {
        let name = plain(&set.name);
        let targets = set.targets.iter().map(|target| plain(target)).collect();
        self.0.insert(set.key(), Set { name, targets, ..set });
    }

    pub(super) fn remove(&mut self, set: &Set) {
        self.0.remove(&set.key());
    }

    pub(super) fn sets(&self) -> impl Iterator<Item = &Set> {
        self.0.values()
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let line = |set: &Set| {
            let Set { name, record_type, ttl, targets } = set;
            format!("{record_type} {name} {ttl} {}", targets.join(" "))
        };
        self.0.values().map(line).collect()
    }

    pub(super) fn targets(&self, record_type: &str, name: &str) -> Option<Vec<String>> {
        self.0.get(&(plain(name), record_type.to_uppercase())).map(|set| set.targets.clone())
    }

    /// The sets after a request.
    ///
    /// # Errors
    /// It does not fit what there is; nothing is made then.
    pub(super) fn after(&self, changes: &Value) -> Result<Self, String> {
        let list = |key: &str| -> Result<Vec<Set>, String> {
            changes[key].as_array().into_iter().flatten().map(Set::of).collect()
        };
        let (create, old, new) = (list("create")?, list("updateOld")?, list("updateNew")?);
        if old.len() != new.len() {
            return Err(format!("{} of updateOld and {} of updateNew", old.len(), new.len()));
        }
        let mut after = self.clone();
        for set in list("delete")?.iter().chain(&old) {
            match after.0.get(&set.key()) {
                Some(found) if found.said() == set.said() => {}
                Some(found) => {
                    let (kind, name) = (&set.record_type, &set.name);
                    return Err(format!("{kind} {name} is {}", found.targets.join(" ")));
                }
                None => return Err(format!("{} {} is not there", set.record_type, set.name)),
            }
            after.remove(set);
        }
        for set in create.into_iter().chain(new) {
            if after.0.contains_key(&set.key()) {
                return Err(format!("{} {} is there already", set.record_type, set.name));
            }
            after.put(set);
        }
        Ok(after)
    }
}

/// Without its spelling: texts in quotes are as they are.
pub(super) fn plain(text: &str) -> String {
    if text.starts_with('"') { text.to_owned() } else { text.trim_end_matches('.').to_lowercase() }
}
