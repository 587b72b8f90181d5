//! The subset of JSONPath that printer columns use: fields, indices, `[*]`, and filters on equality.

use serde_json::Value;

/// Everything that `path` selects in `value`; nothing when the path cannot be read.
///
/// `.status.conditions[?(@.type=="Ready")].status`, `.spec.hosts[*]`, `.metadata.labels.k8gb\.io/geotag`.
pub(super) fn select<'v>(value: &'v Value, path: &str) -> Vec<&'v Value> {
    let path = path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let mut found = vec![value];
    let mut rest = path;
    while !rest.is_empty() {
        let Some((step, after)) = next_step(rest) else { return Vec::new() };
        found = found.into_iter().flat_map(|value| step.apply(value)).collect();
        rest = after;
    }
    found
}

enum Step {
    Field(String),
    Index(i64),
    All,
    /// Items whose field at the path equals (`true`) or differs from the text.
    Filter(String, bool, Value),
}

impl Step {
    fn apply<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::All => match value {
                Value::Array(list) => list.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
            Self::Index(index) => {
                let Some(list) = value.as_array() else { return Vec::new() };
                let place = if *index < 0 { *index + list.len() as i64 } else { *index };
                usize::try_from(place).ok().and_then(|place| list.get(place)).into_iter().collect()
            }
            Self::Filter(path, equal, expected) => {
                let matches = |item: &&Value| {
                    select(item, path).first().is_some_and(|found| (*found == expected) == *equal)
                };
                value.as_array().into_iter().flatten().filter(matches).collect()
            }
        }
    }
}

fn next_step(path: &str) -> Option<(Step, &str)> {
    if let Some(inner) = path.strip_prefix('[') {
        let end = closing_bracket(inner)?;
        return Some((bracket(&inner[..end])?, &inner[end + 1..]));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.starts_with('[') {
        return next_step(path);
    }
    let mut name = String::new();
    let mut characters = path.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' => return Some((field(name), &path[place..])),
            other => name.push(other),
        }
    }
    Some((field(name), ""))
}

fn field(name: String) -> Step {
    if name == "*" { Step::All } else { Step::Field(name) }
}

fn closing_bracket(text: &str) -> Option<usize> {
    let mut quote = None;
    for (place, character) in text.char_indices() {
        match (quote, character) {
            (None, ']') => return Some(place),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::All);
    }
    if let Ok(index) = text.parse() {
        return Some(Step::Index(index));
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        let (equal, operator) = if filter.contains("==") { (true, "==") } else { (false, "!=") };
        let (path, expected) = filter.split_once(operator)?;
        let path = path.trim().trim_start_matches('@').to_owned();
        return Some(Step::Filter(path, equal, literal(expected.trim())));
    }
    Some(Step::Field(text.trim_matches(['"', '\'']).to_owned()))
}

fn literal(text: &str) -> Value {
    match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => Value::from(quoted),
        None => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn printer_column_paths_select_what_kubectl_shows() {
        let object = json!({
            "metadata": {"labels": {"k8gb.io/geotag": "eu"}},
            "spec": {"hosts": ["a", "b"]},
            "status": {"conditions": [{"type": "Accepted", "status": "True"}, {"type": "Ready", "status": "False"}]},
        });
        assert_eq!(select(&object, r#".status.conditions[?(@.type=="Ready")].status"#), [&json!("False")]);
        assert_eq!(select(&object, ".spec.hosts[*]"), [&json!("a"), &json!("b")]);
        assert_eq!(select(&object, "{.spec.hosts[-1]}"), [&json!("b")]);
        assert_eq!(select(&object, r".metadata.labels.k8gb\.io/geotag"), [&json!("eu")]);
        assert_eq!(select(&object, ".metadata.labels['k8gb.io/geotag']"), [&json!("eu")]);
        assert!(select(&object, ".spec.missing.deeper").is_empty());
    }
}
