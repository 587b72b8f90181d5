//! What became of a request for changes, as a value and in sentences.

use gslb_core::sets::{SetChange, SetKey};

/// Sentences in one answer. No outside reference.
const MOST_SENTENCES: usize = 20;

/// What became of a request for changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) made: usize,
    pub(super) as_wanted: usize,
    /// Changes that were not begun, because time was up or the grid or the log failed.
    pub(super) left: usize,
    /// A sentence for each set that was refused or failed.
    pub(super) problems: Vec<String>,
    /// What keeps everything else from being done.
    pub(super) stopped: Option<String>,
    /// Sets that stand since, or do not.
    pub(super) changed: Vec<(SetKey, bool)>,
    /// What the backend refused, and how it said so.
    pub(super) rejected: Vec<(SetChange, String)>,
}

impl Report {
    pub(super) fn is_done(&self) -> bool {
        self.left == 0 && self.problems.is_empty() && self.stopped.is_none()
    }

    /// Whether the rest may be done by simply asking again.
    pub(super) fn is_passing(&self) -> bool {
        self.left > 0 || self.stopped.is_some()
    }

    pub(super) fn sentences(&self) -> String {
        let problems = self.stopped.iter().chain(&self.problems);
        let mut lines: Vec<String> = problems.clone().take(MOST_SENTENCES).cloned().collect();
        let more = problems.count().saturating_sub(MOST_SENTENCES);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        if self.left > 0 {
            lines.push(format!("{} changes are left for the next round", self.left));
        }
        lines.join("\n")
    }
}
