//! Finds what somebody did to the lines after they were written.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::chain::{Line, SealKey, Tail};
use super::entry::Entry;

/// What was looked at, what it proves, and what is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Lines of the chain.
    pub lines: u64,
    /// Intents among them.
    pub changes: u64,
    /// The lines agree with each other. Somebody who rewrote all of them, or cut the end off, stays unseen.
    pub consistency: Proof,
    /// The lines were written by a holder of the key. Somebody who cut the end off stays unseen.
    pub seal: Proof,
    /// The lines are, to the byte, those that were shipped when they were written, and none is missing.
    pub shipped: Proof,
    /// Intents without an outcome: what came of them is unknown until the provider is read.
    pub unsettled: Vec<u64>,
    /// All that is wrong, in the order of the lines.
    pub faults: Vec<Fault>,
}

/// Whether something was proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Proof {
    /// It was looked at and holds.
    Proved,
    /// It was looked at and does not hold.
    Broken,
    /// It was not looked at.
    NotChecked,
}

impl Proof {
    fn of(concern: Concern, faults: &[Fault]) -> Self {
        if faults.iter().any(|fault| fault.concern() == concern) { Self::Broken } else { Self::Proved }
    }
}

/// One thing that is wrong. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all_fields = "camelCase")]
pub enum Fault {
    /// Lines are missing.
    #[error("lines {first} to {last} are missing")]
    Missing {
        /// First missing line.
        first: u64,
        /// Last missing line.
        last: u64,
    },
    /// A number comes twice or too late.
    #[error("line {line} stands after line {after}")]
    OutOfOrder {
        /// The line.
        line: u64,
        /// The line before it.
        after: u64,
    },
    /// The content does not have its hash.
    #[error("line {line} was altered: its content does not have its hash")]
    Altered {
        /// The line.
        line: u64,
    },
    /// The hash of the line before is another.
    #[error("line {line} does not follow from the line before it")]
    BrokenLink {
        /// The line.
        line: u64,
    },
    /// An intent's sequence is not the one after the intent before.
    #[error("line {line} is change {found} where change {expected} belongs")]
    SequenceBroken {
        /// The line.
        line: u64,
        /// The sequence that follows.
        expected: u64,
        /// The sequence that stands there.
        found: u64,
    },
    /// An outcome of nothing, or a second one.
    #[error("line {line} is an outcome of change {sequence}, which awaits none")]
    StrayOutcome {
        /// The line.
        line: u64,
        /// The outcome's sequence.
        sequence: u64,
    },
    /// No seal, or one made with another key.
    #[error("line {line} is not sealed with this key")]
    NotSealed {
        /// The line.
        line: u64,
    },
    /// A shipped line says something else than the cluster's.
    #[error("line {line} of the change log is not what line {position} of the file says")]
    DiffersFromShipped {
        /// Number in the chain.
        line: u64,
        /// Line of the file, from 1.
        position: u64,
    },
    /// The file has a line that the cluster no longer has.
    #[error(
        "line {line} of the change log stands in line {position} of the file and is missing in the cluster"
    )]
    MissingInCluster {
        /// Number in the chain.
        line: u64,
        /// Line of the file, from 1.
        position: u64,
    },
    /// The cluster has lines that the file does not have.
    #[error("lines {first} to {last} of the change log are missing in the file")]
    MissingInFile {
        /// First missing line.
        first: u64,
        /// Last missing line.
        last: u64,
    },
    /// The file's lines are not in the order in which they were written.
    #[error("line {line} of the change log stands in line {position} of the file, after line {after}")]
    ShippedOutOfOrder {
        /// Number in the chain.
        line: u64,
        /// The line of the chain before it in the file.
        after: u64,
        /// Line of the file, from 1.
        position: u64,
    },
    /// A line of the file was a line of the change log once.
    #[error("line {position} of the file is damaged")]
    ShippedDamaged {
        /// Line of the file, from 1.
        position: u64,
    },
}

/// Which proof a fault breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Concern {
    Consistency,
    Seal,
    Shipped,
}

impl Fault {
    fn concern(&self) -> Concern {
        match self {
            Self::Missing { .. }
            | Self::OutOfOrder { .. }
            | Self::Altered { .. }
            | Self::BrokenLink { .. }
            | Self::SequenceBroken { .. }
            | Self::StrayOutcome { .. } => Concern::Consistency,
            Self::NotSealed { .. } => Concern::Seal,
            Self::DiffersFromShipped { .. }
            | Self::MissingInCluster { .. }
            | Self::MissingInFile { .. }
            | Self::ShippedOutOfOrder { .. }
            | Self::ShippedDamaged { .. } => Concern::Shipped,
        }
    }
}

impl Report {
    /// Whether nothing is wrong. Intents without an outcome are not wrong: a change may be under way.
    pub fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds what the comparison with the shipped lines found.
    pub(super) fn with_shipped(mut self, faults: Vec<Fault>) -> Self {
        self.faults.extend(faults);
        self.shipped = Proof::of(Concern::Shipped, &self.faults);
        self
    }
}

/// Checks a chain from its first line, and its seals if a key is given.
pub fn verify<'a>(lines: impl IntoIterator<Item = &'a Line>, key: Option<&SealKey>) -> Report {
    verify_from(&Tail::START, lines, key)
}

/// Checks a chain that goes on from a tail that is known from elsewhere, such as a checkpoint.
pub fn verify_from<'a>(
    start: &Tail,
    lines: impl IntoIterator<Item = &'a Line>,
    key: Option<&SealKey>,
) -> Report {
    let mut walk = Walk::new(start.clone(), key);
    for line in lines {
        walk.step(line);
    }
    walk.report()
}

/// A walk along the lines, in the order in which they are given.
struct Walk<'k> {
    tail: Tail,
    key: Option<&'k SealKey>,
    lines: u64,
    changes: u64,
    open: BTreeSet<u64>,
    faults: Vec<Fault>,
}

impl<'k> Walk<'k> {
    fn new(tail: Tail, key: Option<&'k SealKey>) -> Self {
        Self { tail, key, lines: 0, changes: 0, open: BTreeSet::new(), faults: Vec::new() }
    }

    fn step(&mut self, line: &Line) {
        self.lines += 1;
        self.check_place(line);
        if line.expected_hash() != line.hash {
            self.faults.push(Fault::Altered { line: line.line });
        }
        if self.key.is_some_and(|key| !line.is_sealed_with(key)) {
            self.faults.push(Fault::NotSealed { line: line.line });
        }
        self.check_entry(line);
        self.tail = self.tail.after(line);
    }

    fn check_place(&mut self, line: &Line) {
        let expected = self.tail.line.saturating_add(1);
        if line.line < expected {
            self.faults.push(Fault::OutOfOrder { line: line.line, after: self.tail.line });
        } else if line.line > expected {
            self.faults.push(Fault::Missing { first: expected, last: line.line - 1 });
        } else if line.previous != self.tail.hash {
            self.faults.push(Fault::BrokenLink { line: line.line });
        }
    }

    fn check_entry(&mut self, line: &Line) {
        match &line.entry {
            Entry::Intent(intent) => {
                self.changes += 1;
                self.open.insert(intent.sequence);
                let (expected, found) = (self.tail.sequence.saturating_add(1), intent.sequence);
                if expected != found {
                    self.faults.push(Fault::SequenceBroken { line: line.line, expected, found });
                }
            }
            Entry::Outcome(outcome) => {
                if !self.open.remove(&outcome.sequence) {
                    self.faults.push(Fault::StrayOutcome { line: line.line, sequence: outcome.sequence });
                }
            }
        }
    }

    fn report(self) -> Report {
        let Self { tail: _, key, lines, changes, open, faults } = self;
        Report {
            lines,
            changes,
            consistency: Proof::of(Concern::Consistency, &faults),
            seal: key.map_or(Proof::NotChecked, |_| Proof::of(Concern::Seal, &faults)),
            shipped: Proof::NotChecked,
            unsettled: open.into_iter().collect(),
            faults,
        }
    }
}

/// The lines by number; of two with one number the first.
pub(super) fn by_number(lines: &[Line]) -> BTreeMap<u64, &Line> {
    let mut numbered = BTreeMap::new();
    for line in lines {
        numbered.entry(line.line).or_insert(line);
    }
    numbered
}
