//! Whether the main loop still moves.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A loop that did not tick for so long is stuck. Twelve times the 5 s at which an idle loop ticks; a pass that
/// waits for a slow API server has deadlines far below it.
const STUCK_AFTER: Duration = Duration::from_secs(60);

/// Handle that the main loop ticks. Clones share one state.
#[derive(Debug, Clone)]
pub struct Progress {
    last: Arc<Mutex<Instant>>,
    stuck_after: Duration,
}

impl Progress {
    /// The loop is stuck if it does not tick for a minute.
    pub fn new() -> Self {
        Self::with_limit(STUCK_AFTER)
    }

    /// The loop is stuck if it does not tick for `stuck_after`. The start counts as a tick.
    pub fn with_limit(stuck_after: Duration) -> Self {
        Self { last: Arc::new(Mutex::new(Instant::now())), stuck_after }
    }

    /// The loop is alive.
    pub fn tick(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// For how long the loop has been stuck; nothing while it moves.
    pub fn stuck_for(&self) -> Option<Duration> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Some(last.elapsed()).filter(|idle| *idle > self.stuck_after)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_without_a_tick_for_too_long_is_stuck_until_it_moves_again() {
        let progress = Progress::new();
        let handle = progress.clone();
        tokio::time::advance(STUCK_AFTER).await;
        assert_eq!(progress.stuck_for(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(progress.stuck_for(), Some(STUCK_AFTER + Duration::from_secs(1)));
        handle.tick();
        assert_eq!(progress.stuck_for(), None);
    }
}
