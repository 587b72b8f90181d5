//! Label and field selectors of lists and watches.

use std::collections::BTreeMap;

use serde_json::Value;

use super::events;
use super::kinds::{Kind, field_text};
use super::object::Object;
use super::status::ApiError;

#[derive(Debug, Clone, PartialEq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl Requirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
        }
    }
}

/// Which objects of a collection a request is about, beside its namespace.
#[derive(Debug, Clone, Default)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    /// Path, value, and whether they must be equal.
    fields: Vec<(String, String, bool)>,
}

impl Selector {
    pub(super) fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, ApiError> {
        Ok(Self { labels: parse_labels(labels)?, fields: parse_fields(kind, fields)? })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(super) fn matches(&self, object: &Object) -> bool {
        if !self.labels.iter().all(|requirement| requirement.matches(&object.labels)) {
            return false;
        }
        let mut parsed: Option<Value> = None;
        self.fields.iter().all(|(path, expected, equal)| {
            let found = match path.as_str() {
                "metadata.name" => object.key.name.clone(),
                "metadata.namespace" => object.key.namespace.clone(),
                path => event_field(parsed.get_or_insert_with(|| object.value()), path),
            };
            (found == *expected) == *equal
        })
    }
}

/// Events name some fields in their selectors otherwise than in their JSON.
fn event_field(object: &Value, path: &str) -> String {
    if !events::is_event(object) {
        return field_text(object, path);
    }
    match path {
        "source" => field_text(object, "source.component"),
        path => field_text(object, path),
    }
}

fn parse_fields(kind: &Kind, text: &str) -> Result<Vec<(String, String, bool)>, ApiError> {
    let mut fields = Vec::new();
    for term in text.split(',').filter(|term| !term.is_empty()) {
        let (path, value, equal) = if let Some((path, value)) = term.split_once("!=") {
            (path, value, false)
        } else if let Some((path, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            (path, value, true)
        } else {
            return Err(ApiError::bad_request(format!(
                "invalid selector: '{text}'; can't understand '{term}'"
            )));
        };
        // The newer group of events says `regarding` for what is stored as `involvedObject`.
        let path = path
            .replacen("regarding", "involvedObject", 1)
            .replace("reportingController", "reportingComponent");
        if !["metadata.name", "metadata.namespace"].contains(&path.as_str())
            && !kind.selectable.contains(&path)
        {
            return Err(ApiError::bad_request(format!("field label not supported: {path}")));
        }
        fields.push((path, value.into(), equal));
    }
    Ok(fields)
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, ApiError> {
    split_outside_parentheses(text)
        .into_iter()
        .map(str::trim)
        .filter(|term| !term.is_empty())
        .map(parse_term)
        .collect()
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

fn parse_term(term: &str) -> Result<Requirement, ApiError> {
    let refuse = || {
        ApiError::bad_request(format!("unable to parse requirement: {term:?} is not a valid label selector"))
    };
    let key = |key: &str| {
        let key = key.trim();
        let valid = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if valid { Ok(key.to_owned()) } else { Err(refuse()) }
    };
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some(list) = term.strip_suffix(')') {
        let (head, list) = list.split_once('(').ok_or_else(refuse)?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        return match head.split_whitespace().collect::<Vec<_>>().as_slice() {
            [name, "in"] => Ok(Requirement::In(key(name)?, values)),
            [name, "notin"] => Ok(Requirement::NotIn(key(name)?, values)),
            _ => Err(refuse()),
        };
    }
    if let Some((name, value)) = term.split_once("!=") {
        return Ok(Requirement::NotIn(key(name)?, one(value)));
    }
    if let Some((name, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Ok(Requirement::In(key(name)?, one(value)));
    }
    match term.strip_prefix('!') {
        Some(name) => Ok(Requirement::Absent(key(name)?)),
        None => Ok(Requirement::Exists(key(term)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        parse_labels(selector).unwrap().iter().all(|requirement| requirement.matches(&labels))
    }

    #[test]
    fn label_selectors_read_as_in_kubectl() {
        let labels = [("app", "web"), ("tier", "front")];
        assert!(matching("app=web,tier in (front, back)", &labels));
        assert!(matching("app,!missing", &labels));
        assert!(matching("tier notin (back),missing!=x", &labels));
        assert!(!matching("app!=web", &labels));
        assert!(!matching("app==api", &labels));
        assert!(parse_labels("a b c").is_err());
    }
}
