//! What a setting is set to, in no notation: to compare what two places say, and to print it.

use std::fmt::Write as _;

use super::catalog::{ADOPT_HIDDEN_RECORDS, Form, MODE, PUBLISH, PUBLISH_KEYS, ZONE_KEYS};
use super::reader::split;

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Number(String),
    Flag(bool),
    List(Vec<String>),
    Zones(Vec<ZoneValue>),
}

/// One zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZoneValue {
    /// Parent, zone, negative TTL.
    pub(super) fields: [String; 3],
    /// How it is published, if that is written.
    pub(super) mode: Option<String>,
    /// Whether it is delegated whatever that hides, if that is written.
    pub(super) adopt_hidden_records: Option<bool>,
    /// The listed places at which it is published.
    pub(super) publish: Vec<PublishValue>,
}

/// One place at which a zone is published; only what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublishValue {
    pub(super) provider: Option<String>,
    pub(super) view: Option<String>,
    pub(super) ns_addresses: Option<Vec<String>>,
    pub(super) edge_dns_servers: Option<Vec<String>>,
}

impl Value {
    /// The value of a variable. What breaks the rules of its form stays a text, which the file's grammar refuses too.
    pub(super) fn of_variable(form: Form, text: &str) -> Self {
        let plain = text.trim();
        let value = match form {
            Form::Text | Form::Path | Form::Version => None,
            Form::Whole | Form::Decimal => number(plain).map(Self::Number),
            Form::Flag => flag(plain).map(Self::Flag),
            Form::List => Some(Self::List(split(text))),
            Form::Zones => zones(plain).map(Self::Zones),
        };
        value.unwrap_or_else(|| Self::Text(plain.to_owned()))
    }

    /// As it stands behind a key that is `indent` deep, the line of the key begun, no line end behind it.
    pub(super) fn yaml(&self, indent: usize) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.clone(),
            Self::Flag(flag) => flag.to_string(),
            Self::List(items) => list(items),
            Self::Zones(zones) if zones.is_empty() => "[]".to_owned(),
            Self::Zones(zones) => zones.iter().fold(String::new(), |mut text, each| {
                let ([parent_key, zone_key, ttl_key], [parent, zone, ttl]) = (ZONE_KEYS, &each.fields);
                let (parent, zone, rest) = (quoted(parent), quoted(zone), each.rest_yaml());
                write!(
                    text,
                    "\n{:indent$}- {{{zone_key}: {zone}, {parent_key}: {parent}, {ttl_key}: {ttl}{rest}}}",
                    ""
                )
                .expect("a String takes everything");
                text
            }),
        }
    }
}

impl ZoneValue {
    /// What only some zones have.
    fn rest_yaml(&self) -> String {
        let places = self.publish.iter().map(PublishValue::yaml).collect::<Vec<_>>().join(", ");
        let written = [
            self.mode.as_deref().map(|mode| format!(", {MODE}: {}", quoted(mode))),
            self.adopt_hidden_records.map(|adopts| format!(", {ADOPT_HIDDEN_RECORDS}: {adopts}")),
            (!self.publish.is_empty()).then(|| format!(", {PUBLISH}: [{places}]")),
        ];
        written.into_iter().flatten().collect()
    }
}

impl PublishValue {
    fn yaml(&self) -> String {
        let [provider, view, ns_addresses, edge_dns_servers] = PUBLISH_KEYS;
        let values = [
            (provider, self.provider.as_deref().map(quoted)),
            (view, self.view.as_deref().map(quoted)),
            (ns_addresses, self.ns_addresses.as_deref().map(list)),
            (edge_dns_servers, self.edge_dns_servers.as_deref().map(list)),
        ];
        let written = values.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?)));
        format!("{{{}}}", written.collect::<Vec<_>>().join(", "))
    }
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

/// A text in quotes: bare, `off`, `2.12` or `~` would be something else to one reader of YAML or another.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON, and JSON is YAML")
}

/// The number in the form that Rust prints it in, so that `5` and `+5.0` are the same.
pub(super) fn number(text: &str) -> Option<String> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.to_string());
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number.to_string())
}

/// `true`, `1`, `yes`, `false`, `0`, `no`, in any case (contract §7.1).
pub(super) fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

/// The zones, if each has all of parent, zone and negative TTL.
fn zones(text: &str) -> Option<Vec<ZoneValue>> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let fields: Vec<_> = part.split(':').map(|field| field.trim().to_owned()).collect();
            let [parent, zone, ttl] = fields.try_into().ok()?;
            let fields = [parent, zone, number(&ttl)?];
            Some(ZoneValue { fields, mode: None, adopt_hidden_records: None, publish: Vec::new() })
        })
        .collect()
}
