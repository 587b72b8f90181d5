//! Which changes somebody works on in this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sequences of the changes between intent and outcome: as many as provider calls run side by side.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay(Arc<Mutex<BTreeSet<u64>>>);

/// One change that somebody works on, until it is dropped.
#[derive(Debug)]
pub(super) struct Mark {
    sequence: u64,
    all: UnderWay,
}

impl UnderWay {
    pub(super) fn mark(&self, sequence: u64) -> Mark {
        self.sequences().insert(sequence);
        Mark { sequence, all: self.clone() }
    }

    pub(super) fn has(&self, sequence: u64) -> bool {
        self.sequences().contains(&sequence)
    }

    fn sequences(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        // A set of numbers is whole whatever a panicking thread did.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.all.sequences().remove(&self.sequence);
    }
}
