//! What a line of the change log says.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::DomainName;

/// One line's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Entry {
    /// Written before the provider is called.
    Intent(Box<Intent>),
    /// Written after it, or when the provider was read after a crash.
    Outcome(Outcome),
}

/// A change that is about to be made at a provider, as it stands in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// Position among all intents, from 1; also the name of the object that stores it.
    pub sequence: u64,
    /// When the intent was written down.
    pub at: Timestamp,
    /// The change.
    #[serde(flatten)]
    pub change: Proposal,
}

/// A change that somebody wants to make at a provider.
///
/// Absent `before` and `after` are left out and never `null`, because an API server drops `null`s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The change, as in the plan and in logs.
    pub change_id: String,
    /// The plan that the change belongs to.
    pub plan_id: String,
    /// Who makes the change.
    pub who: Who,
    /// The object that asks for it.
    pub object: ObjectRef,
    /// Why it is made, as a sentence.
    pub why: String,
    /// The provider's instance.
    pub provider: String,
    /// The DNS view there, where the zone's places are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// The zone that the change is about.
    pub zone: String,
    /// What is done.
    pub action: Action,
    /// What was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Who makes a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Who {
    /// The daemon, or the user of a command.
    pub actor: String,
    /// Geo tag of the cluster.
    pub cluster: String,
    /// The daemon's pod, or the host of a command.
    pub pod: String,
}

/// The object that asks for a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Kind.
    pub kind: String,
    /// Namespace, unless the kind has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// Tells objects of the same name apart that lived at different times.
    pub uid: String,
    /// Generation of the spec that was acted on.
    pub generation: i64,
}

/// What is done to one object at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Action {
    /// Nothing was there.
    Create,
    /// Something was there and stays in another form.
    Replace,
    /// Something was there and goes.
    Delete,
    /// The backend's services are restarted, so that they serve what it holds.
    Restart,
}

impl Action {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Replace => "Replace",
            Self::Delete => "Delete",
            Self::Restart => "Restart",
        }
    }
}

/// What came of an intent, as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// The intent's sequence.
    pub sequence: u64,
    /// When the outcome was written down.
    pub at: Timestamp,
    /// How it ended.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// How it ended.
    pub result: ChangeResult,
    /// What the provider calls the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the provider took, in milliseconds; 0 when settled by reading.
    pub duration_millis: u64,
    /// Whether the outcome was found by reading the provider later, because nobody was there to see it.
    pub settled_by_reading: bool,
    /// What the write took from others who wrote at the same moment, and what became of that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amends: Vec<Amends>,
}

/// What others had at a provider and lost by a write of ours, because they wrote at the same moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Amends {
    /// What they had, in the provider's own form. Without `null`s, because an API server drops them.
    pub lost: Value,
    /// Why it is not back; nothing if it was put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Amends {
    /// Name of putting this back by its content.
    pub fn id(zone: &DomainName, lost: &Value) -> String {
        crate::edit::content_id(&("amends", zone, lost))
    }
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ChangeResult {
    /// The provider has it.
    Applied,
    /// The provider refused or broke.
    Failed,
    /// The provider holds it back until somebody agrees.
    AwaitingApproval,
    /// The provider was never called, or does not have it.
    NotApplied,
    /// Not even reading the provider tells.
    Unknown,
}

impl ChangeResult {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Failed => "Failed",
            Self::AwaitingApproval => "AwaitingApproval",
            Self::NotApplied => "NotApplied",
            Self::Unknown => "Unknown",
        }
    }
}
