//! `ProviderChange`: one change at a provider, as two lines of the change log's chain.
//!
//! `spec` is the intent's line, written before the provider is called; `status` is the outcome's line.

use gslb_core::changelog::{Entry, Hash, Intent, Line, Outcome, Tail};
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::refine::Rules;

/// Digits of an object's name: as many as the largest sequence has, so that names sort as numbers.
const NAME_DIGITS: usize = 20;
/// As a label of DNS: the whole name stays far below the 253 characters that Kubernetes allows.
const LONGEST_LOG_NAME: usize = 63;

/// The change, as it was about to be made.
#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gslb-bridge.io",
    version = "v1alpha1",
    kind = "ProviderChange",
    plural = "providerchanges",
    // Not `pc`: kubectl takes that for PriorityClass, which every cluster has.
    shortname = "pchg",
    status = "ProviderChangeStatus",
    derive = "PartialEq",
    doc = "A change that gslb-bridge made at a DNS provider. Objects of this kind are a log: nobody else writes them.",
    printcolumn(name = "Who", type_ = "string", json_path = ".spec.who.actor"),
    printcolumn(name = "Object", type_ = "string", json_path = ".spec.object.name"),
    printcolumn(name = "Zone", type_ = "string", json_path = ".spec.zone"),
    printcolumn(name = "Action", type_ = "string", json_path = ".spec.action"),
    printcolumn(name = "Outcome", type_ = "string", json_path = ".status.result"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Why", type_ = "string", json_path = ".spec.why", priority = 1),
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.who.pod", priority = 1),
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider", priority = 1),
    printcolumn(name = "View", type_ = "string", json_path = ".spec.view", priority = 1)
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChangeSpec {
    /// What the line says.
    #[serde(flatten)]
    #[schemars(schema_with = "intent_schema")]
    pub intent: Intent,
    /// The line's place in the chain.
    pub chain: Link,
}

/// What came of the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChangeStatus {
    /// What the line says.
    #[serde(flatten)]
    #[schemars(schema_with = "outcome_schema")]
    pub outcome: Outcome,
    /// The line's place in the chain.
    pub chain: Link,
}

/// A line's place in the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// Position over intents and outcomes together, from 1.
    pub line: u64,
    /// Hash of the line before.
    #[schemars(with = "String")]
    pub previous: Hash,
    /// SHA-256 over line, previous and entry in canonical JSON (RFC 8785).
    #[schemars(with = "String")]
    pub hash: Hash,
    /// HMAC-SHA-256 over the bytes of the hash, if the daemon has a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub seal: Option<Hash>,
}

impl Link {
    fn of(line: &Line) -> Self {
        let Line { line, previous, entry: _, hash, seal } = line;
        Self { line: *line, previous: *previous, hash: *hash, seal: *seal }
    }

    fn with(&self, entry: Entry) -> Line {
        let Self { line, previous, hash, seal } = self;
        Line { line: *line, previous: *previous, entry, hash: *hash, seal: *seal }
    }
}

impl ProviderChangeSpec {
    /// The spec that stores a line, if it is an intent's.
    pub fn of(line: &Line) -> Option<Self> {
        match &line.entry {
            Entry::Intent(intent) => Some(Self { intent: Intent::clone(intent), chain: Link::of(line) }),
            Entry::Outcome(_) => None,
        }
    }

    /// The line that is stored.
    pub fn line(&self) -> Line {
        self.chain.with(Entry::Intent(Box::new(self.intent.clone())))
    }
}

impl ProviderChangeStatus {
    /// The status that stores a line, if it is an outcome's.
    pub fn of(line: &Line) -> Option<Self> {
        match &line.entry {
            Entry::Intent(_) => None,
            Entry::Outcome(outcome) => Some(Self { outcome: outcome.clone(), chain: Link::of(line) }),
        }
    }

    /// The line that is stored.
    pub fn line(&self) -> Line {
        self.chain.with(Entry::Outcome(self.outcome.clone()))
    }
}

impl ProviderChange {
    /// The object that stores an intent of this log.
    pub fn of(spec: ProviderChangeSpec, log: &LogName) -> Self {
        Self::new(&log.object_name(spec.intent.sequence), spec)
    }

    /// The lines that the object stores: the intent's and, once it is known, the outcome's.
    pub fn lines(&self) -> impl Iterator<Item = Line> {
        [Some(self.spec.line()), self.status.as_ref().map(ProviderChangeStatus::line)].into_iter().flatten()
    }
}

/// Name of the object that stores the intent with this sequence in the controller's log.
pub fn name_of(sequence: u64) -> String {
    format!("{sequence:0NAME_DIGITS$}")
}

/// Which change log: each has one writer and is a chain of its own. The controller's has no name, so that its objects
/// are named by their sequence alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogName(String);

impl LogName {
    /// # Errors
    /// The text could not begin the name of an object, or only digits would stand there.
    pub fn new(name: &str) -> Result<Self, String> {
        let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let first = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
        match letters && first && !name.ends_with('-') && name.len() <= LONGEST_LOG_NAME {
            true => Ok(Self(name.to_owned())),
            false => Err(format!(
                "{name:?} is no name of a change log; one has small letters, digits and inner dashes, a letter first, at most {LONGEST_LOG_NAME} of them"
            )),
        }
    }

    /// Name of the object that stores the intent with this sequence.
    pub fn object_name(&self, sequence: u64) -> String {
        match self.0.as_str() {
            "" => name_of(sequence),
            log => format!("{log}-{}", name_of(sequence)),
        }
    }

    /// What an object's name has behind that of the log; nothing if it is of another log. To the controller's log belongs
    /// all that is not clearly of one with a name.
    pub fn number_of<'a>(&self, object: &'a str) -> Option<&'a str> {
        let named = object.rsplit_once('-').filter(|(log, number)| {
            !log.is_empty() && number.len() == NAME_DIGITS && number.bytes().all(|b| b.is_ascii_digit())
        });
        match named {
            Some((log, number)) => (log == self.0).then_some(number),
            None => self.0.is_empty().then_some(object),
        }
    }

    /// Where the chain begins.
    pub fn start(&self) -> Tail {
        Tail::start_of(&self.0)
    }
}

impl std::fmt::Display for LogName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn intent_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "sequence": { "type": "integer", "description": "Position among all changes, from 1; also the object's name." },
            "at": { "type": "string", "description": "When the intent was written down, in RFC 3339." },
            "changeId": { "type": "string", "description": "The change, as in the plan and in logs." },
            "planId": { "type": "string", "description": "The plan that the change belongs to." },
            "who": {
                "type": "object",
                "description": "Who makes the change.",
                "properties": {
                    "actor": { "type": "string", "description": "The daemon, or the user of a command." },
                    "cluster": { "type": "string", "description": "Geo tag of the cluster." },
                    "pod": { "type": "string", "description": "The daemon's pod, or the host of a command." },
                },
            },
            "object": {
                "type": "object",
                "description": "The object that asks for the change.",
                "properties": {
                    "kind": { "type": "string", "description": "Kind." },
                    "namespace": { "type": "string", "description": "Namespace, unless the kind has none." },
                    "name": { "type": "string", "description": "Name." },
                    "uid": { "type": "string", "description": "Tells objects of one name apart." },
                    "generation": { "type": "integer", "description": "Generation of the spec that was acted on." },
                },
            },
            "why": { "type": "string", "description": "Why the change is made." },
            "provider": { "type": "string", "description": "The provider's instance." },
            "view": { "type": "string", "description": "The DNS view there, where the zone's places are listed." },
            "zone": { "type": "string", "description": "The zone that the change is about." },
            "action": { "type": "string", "description": "What is done." },
            "before": { "description": "What was observed.", "x-kubernetes-preserve-unknown-fields": true },
            "after": { "description": "What is to be there.", "x-kubernetes-preserve-unknown-fields": true },
        },
    })
}

fn outcome_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "sequence": { "type": "integer", "description": "The intent's sequence." },
            "at": { "type": "string", "description": "When the outcome was written down, in RFC 3339." },
            "result": { "type": "string", "description": "How the change ended." },
            "reference": { "type": "string", "description": "What the provider calls the object." },
            "error": { "type": "string", "description": "What went wrong." },
            "durationMillis": { "type": "integer", "description": "How long the provider took, in milliseconds." },
            "settledByReading": {
                "type": "boolean",
                "description": "Whether the outcome was found by reading the provider later.",
            },
            "amends": {
                "type": "array",
                "description": "What the write took from others who wrote at the same moment.",
                "items": {
                    "type": "object",
                    "properties": {
                        "lost": { "description": "What they had.", "x-kubernetes-preserve-unknown-fields": true },
                        "error": { "type": "string", "description": "Why it is not back; without it, it was put back." },
                    },
                },
            },
        },
    })
}

/// What the derive cannot say about the schema.
pub(crate) fn rules() -> Rules {
    let chain = || vec!["hash", "line", "previous"];
    let written_once =
        |message| json!({ "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": message }] });
    Rules {
        required: vec![
            (
                "spec",
                vec![
                    "action", "at", "chain", "changeId", "object", "planId", "provider", "sequence", "who",
                    "why", "zone",
                ],
            ),
            ("spec.chain", chain()),
            ("spec.who", vec!["actor", "cluster", "pod"]),
            ("spec.object", vec!["generation", "kind", "name", "uid"]),
            ("status", vec!["at", "chain", "durationMillis", "result", "sequence", "settledByReading"]),
            ("status.chain", chain()),
        ],
        extra: vec![
            ("spec", written_once("a change is written once and never edited")),
            ("status", written_once("an outcome is written once and never edited")),
            ("spec.sequence", json!({ "format": "int64" })),
            ("spec.at", json!({ "format": "date-time" })),
            ("spec.action", json!({ "enum": ["Create", "Replace", "Delete", "Restart"] })),
            ("spec.object.generation", json!({ "format": "int64" })),
            ("spec.chain.line", json!({ "format": "int64" })),
            ("status.sequence", json!({ "format": "int64" })),
            ("status.at", json!({ "format": "date-time" })),
            ("status.durationMillis", json!({ "format": "int64" })),
            (
                "status.result",
                json!({ "enum": ["Applied", "Failed", "AwaitingApproval", "NotApplied", "Unknown"] }),
            ),
            ("status.chain.line", json!({ "format": "int64" })),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_belongs_to_the_log_whose_name_it_has() {
        let (run, eu) = (LogName::default(), LogName::new("webhook-eu").unwrap());
        assert_eq!(run.object_name(7), "00000000000000000007");
        assert_eq!(eu.object_name(7), "webhook-eu-00000000000000000007");
        let cases = [
            ("00000000000000000007", Some("00000000000000000007"), None),
            ("webhook-eu-00000000000000000007", None, Some("00000000000000000007")),
            ("webhook-eu-2-00000000000000000007", None, None),
            ("webhook-eu-7", Some("webhook-eu-7"), None),
            ("not-a-number", Some("not-a-number"), None),
        ];
        for (object, of_run, of_eu) in cases {
            assert_eq!((run.number_of(object), eu.number_of(object)), (of_run, of_eu), "{object}");
        }
        assert_eq!(run.start(), Tail::START);
        assert_ne!(eu.start(), Tail::START);
        for bad in ["", "7", "Webhook", "webhook-", "web hook"] {
            assert!(LogName::new(bad).is_err(), "{bad}");
        }
    }
}
