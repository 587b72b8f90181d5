//! Tables for `kubectl get`: columns and cells, for lists and for watch events.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::builtin;
use super::jsonpath::select;
use super::kinds::{Columns, Kind};

/// A printer column of a CRD.
#[derive(Debug)]
pub(super) struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    path: String,
}

impl Column {
    /// One entry of `additionalPrinterColumns`.
    pub(super) fn from_json(json: &Value) -> Self {
        let text = |field: &str| json[field].as_str().unwrap_or_default().to_owned();
        Self {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: text("description"),
            priority: json["priority"].as_i64().unwrap_or(0),
            path: text("jsonPath"),
        }
    }

    fn cell(&self, object: &Value) -> Value {
        let found = select(object, &self.path);
        let Some(first) = found.first() else { return Value::Null };
        match (self.kind.as_str(), first) {
            ("date", Value::String(time)) => json!(age(time)),
            ("integer" | "number" | "boolean", value) => (*value).clone(),
            (_, _) => {
                let texts: Vec<String> = found.iter().map(|value| plain(value)).collect();
                json!(texts.join(","))
            }
        }
    }
}

/// A value as text, strings without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How much of each object a row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

pub(super) fn table(kind: &Kind, objects: &[Value], include: Include, list_metadata: Value) -> Value {
    let rows: Vec<Value> = objects.iter().map(|object| row(kind, object, include)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": list_metadata,
        "columnDefinitions": definitions(kind), "rows": rows,
    })
}

/// The metadata of an object alone, as metadata-only clients ask for it.
pub(super) fn metadata_only(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn definitions(kind: &Kind) -> Vec<Value> {
    let define = |name: &str, kind: &str, format: &str, description: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": description, "priority": priority});
    match &kind.columns {
        Columns::BuiltIn(columns) => {
            let format = |name: &str| if name == "Name" { "name" } else { "" };
            let column = |c: &builtin::Column| define(c.name, "string", format(c.name), c.name, c.priority);
            columns.iter().map(column).collect()
        }
        Columns::Custom(columns) => {
            let name = define("Name", "string", "name", "Name must be unique within a namespace.", 0);
            let column = |c: &Column| define(&c.name, &c.kind, &c.format, &c.description, c.priority);
            std::iter::once(name).chain(columns.iter().map(column)).collect()
        }
    }
}

fn row(kind: &Kind, object: &Value, include: Include) -> Value {
    let cells: Vec<Value> = match &kind.columns {
        Columns::BuiltIn(columns) => columns.iter().map(|column| json!((column.cell)(object))).collect(),
        Columns::Custom(columns) => {
            let name = object["metadata"]["name"].clone();
            std::iter::once(name).chain(columns.iter().map(|column| column.cell(object))).collect()
        }
    };
    match include {
        Include::None => json!({"cells": cells, "object": null}),
        Include::Metadata => json!({"cells": cells, "object": metadata_only(object)}),
        Include::Object => json!({"cells": cells, "object": object}),
    }
}

/// The time since `time` as kubectl writes it: `42s`, `3m20s`, `5d`.
pub(super) fn age(time: &str) -> String {
    time.parse::<Timestamp>().map_or_else(
        |_| "<unknown>".into(),
        |then| human_duration(Timestamp::now().as_second() - then.as_second()),
    )
}

/// `HumanDuration` of k8s.io/apimachinery: two units at most, the second only while it matters.
fn human_duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |first: i64, unit: &str, second: i64, small: &str| {
        if second == 0 { format!("{first}{unit}") } else { format!("{first}{unit}{second}{small}") }
    };
    match seconds {
        ..=-2 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_prints_them() {
        let shown: Vec<String> = [0, 119, 120, 185, 700, 10_800, 11_000, 90_000, 180_000, 700_000]
            .into_iter()
            .map(human_duration)
            .collect();
        assert_eq!(shown, ["0s", "119s", "2m", "3m5s", "11m", "3h", "3h3m", "25h", "2d2h", "8d"]);
    }
}
