//! What a setting is set to, in no notation: to compare what two places say, and to print it.

use std::fmt::Write as _;

use super::catalog::{Form, MODE, ZONE_KEYS};
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
            Self::List(items) => {
                format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
            }
            Self::Zones(zones) if zones.is_empty() => "[]".to_owned(),
            Self::Zones(zones) => zones.iter().fold(String::new(), |mut text, each| {
                let ([parent_key, zone_key, ttl_key], [parent, zone, ttl]) = (ZONE_KEYS, &each.fields);
                let (parent, zone) = (quoted(parent), quoted(zone));
                let mode = each.mode.as_deref().map(|mode| format!(", {MODE}: {}", quoted(mode)));
                let mode = mode.unwrap_or_default();
                write!(
                    text,
                    "\n{:indent$}- {{{zone_key}: {zone}, {parent_key}: {parent}, {ttl_key}: {ttl}{mode}}}",
                    ""
                )
                .expect("a String takes everything");
                text
            }),
        }
    }
}

/// A text in quotes: bare, `off`, `2.12` or `~` would be something else to one reader of YAML or another.
fn quoted(text: &str) -> String {
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
            Some(ZoneValue { fields: [parent, zone, number(&ttl)?], mode: None })
        })
        .collect()
}
