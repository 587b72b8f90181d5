//! One edit to one object at a provider, whatever kind it is: data that can be compared, stored, reviewed and replayed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::changelog::{Action, Proposal};

/// One edit. `before` is what was observed, so that a provider can refuse a stale edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
pub enum Edit<T> {
    /// The backend has nothing; write this.
    Create {
        /// The whole new object.
        after: T,
    },
    /// The backend has `before`; make it `after`.
    Replace {
        /// As observed.
        before: T,
        /// What of it is not ours is as in `before`.
        after: T,
    },
    /// The backend has `before`; remove it.
    Delete {
        /// As observed.
        before: T,
    },
}

/// An edit that a later read can find the trace of: this is how one with an unknown outcome is settled.
pub trait Traced {
    /// What a read gives.
    type Observed;

    /// Whether what was read is still what the edit was planned for.
    fn matches(&self, observed: &Self::Observed) -> bool;

    /// Whether what was read shows the edit, also if others have written since.
    fn shows_in(&self, observed: &Self::Observed) -> bool;
}

impl<T> Edit<T> {
    /// What is done, for metrics and the change log.
    pub fn action(&self) -> Action {
        match self {
            Self::Create { .. } => Action::Create,
            Self::Replace { .. } => Action::Replace,
            Self::Delete { .. } => Action::Delete,
        }
    }

    /// The same as a verb, for sentences.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Replace { .. } => "change",
            Self::Delete { .. } => "delete",
        }
    }

    /// What was observed.
    pub fn before(&self) -> Option<&T> {
        match self {
            Self::Create { .. } => None,
            Self::Replace { before, .. } | Self::Delete { before } => Some(before),
        }
    }

    /// What is to be written.
    pub fn after(&self) -> Option<&T> {
        match self {
            Self::Create { after } | Self::Replace { after, .. } => Some(after),
            Self::Delete { .. } => None,
        }
    }

    /// What it is about: as it was or, where nothing was, as it becomes.
    pub fn subject(&self) -> &T {
        match self {
            Self::Create { after: subject }
            | Self::Replace { before: subject, .. }
            | Self::Delete { before: subject } => subject,
        }
    }
}

impl<T: Serialize> Edit<T> {
    /// Name of this edit by its content: equal edits have equal names, on every replica.
    pub fn id(&self) -> String {
        content_id(self)
    }
}

impl<T: DeserializeOwned> Edit<T> {
    /// The edit that an entry of the change log speaks of; nothing if another version wrote it in another form, or if it
    /// is about something else.
    pub fn of(proposal: &Proposal) -> Option<Self> {
        Self::of_sides(proposal.action, proposal.before.as_ref(), proposal.after.as_ref())
    }

    fn of_sides(action: Action, before: Option<&Value>, after: Option<&Value>) -> Option<Self> {
        let read = |value: Option<&Value>| T::deserialize(value?).ok();
        Some(match (action, before, after) {
            (Action::Create, None, after) => Self::Create { after: read(after)? },
            (Action::Replace, before, after) => Self::Replace { before: read(before)?, after: read(after)? },
            (Action::Delete, before, None) => Self::Delete { before: read(before)? },
            (Action::Create | Action::Delete | Action::Restart, _, _) => return None,
        })
    }
}

/// The first 12 hexadecimal digits of the SHA-256 of a value's JSON: enough to tell the plans of one log apart,
/// short enough to be read out on the phone.
pub(crate) fn content_id(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("plain data with text keys");
    hex::encode(Sha256::digest(json)).chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_read_back_from_its_entry_in_the_log_and_nothing_else_is() {
        let edits =
            [Edit::Create { after: 2 }, Edit::Replace { before: 1, after: 2 }, Edit::Delete { before: 1 }];
        for edit in edits {
            let [before, after] = [edit.before(), edit.after()].map(|side| side.map(|side| json!(side)));
            let read = Edit::<u8>::of_sides(edit.action(), before.as_ref(), after.as_ref());
            assert_eq!(read, Some(edit.clone()));
            let other = Edit::<String>::of_sides(edit.action(), before.as_ref(), after.as_ref());
            assert_eq!(other, None);
        }
        let (one, two) = (json!(1), json!(2));
        for (action, before, after) in [
            (Action::Create, Some(&one), Some(&two)),
            (Action::Create, None, None),
            (Action::Replace, None, Some(&two)),
            (Action::Replace, Some(&one), None),
            (Action::Delete, Some(&one), Some(&two)),
            (Action::Restart, None, None),
        ] {
            assert_eq!(Edit::<u8>::of_sides(action, before, after), None, "{action:?} {before:?} {after:?}");
        }
    }
}
