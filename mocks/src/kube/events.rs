//! Events are one store with two faces: `v1`, in which they are kept, and `events.k8s.io/v1`.

use serde_json::{Map, Value, json};

use super::kinds::Kind;
use super::status::Cause;

const NEW_FACE: &str = "events.k8s.io/v1";
/// `NoteLengthLimit` of Kubernetes.
const LONGEST_MESSAGE: usize = 1024;

/// Names of the same field: in `v1`, in `events.k8s.io/v1`.
const FIELDS: [(&str, &str); 7] = [
    ("message", "note"),
    ("involvedObject", "regarding"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn is_event(object: &Value) -> bool {
    object["kind"] == "Event"
}

/// Complains of a message that `events.k8s.io` takes for too long. It calls them characters, and counts bytes.
pub(super) fn too_long(kind: &Kind, stored: &Value) -> Option<Cause> {
    let strict = kind.kind == "Event" && kind.group == "events.k8s.io";
    let length = stored["message"].as_str().map_or(0, str::len);
    (strict && length > LONGEST_MESSAGE).then(|| {
        Cause::invalid("message", &json!(""), format!("can have at most {LONGEST_MESSAGE} characters"))
    })
}

/// Turns an event into the face that `api_version` names; leaves it if it has that face.
pub(super) fn convert(event: &mut Value, api_version: &str) {
    if event["apiVersion"] == api_version {
        return;
    }
    let to_new = api_version == NEW_FACE;
    let Some(map) = event.as_object_mut() else { return };
    for (old, new) in FIELDS {
        let (from, to) = if to_new { (old, new) } else { (new, old) };
        rename(map, from, to);
    }
    map.insert("apiVersion".into(), json!(api_version));
}

/// Gives an event in `v1` the fields that every event has, even if they say nothing: structures and times, whose Go
/// types know no absence.
pub(super) fn complete(event: &mut Value) {
    let Some(map) = event.as_object_mut() else { return };
    map.entry("source").or_insert_with(|| json!({}));
    for time in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        map.entry(time).or_insert(Value::Null);
    }
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.into(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_reads_the_same_in_both_groups() {
        let old = json!({"apiVersion": "v1", "kind": "Event", "message": "m", "involvedObject": {"name": "x"}, "count": 2});
        let mut event = old.clone();
        convert(&mut event, NEW_FACE);
        assert_eq!(
            event,
            json!({"apiVersion": NEW_FACE, "kind": "Event", "note": "m", "regarding": {"name": "x"}, "deprecatedCount": 2})
        );
        convert(&mut event, "v1");
        assert_eq!(event, old);
    }
}
