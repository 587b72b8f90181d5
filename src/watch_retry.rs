//! Pauses between the tries of a watch.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use kube::runtime::utils::Backoff;
use tokio::time::Instant;

/// First pause; doubles with every further failure.
const FIRST: Duration = Duration::from_millis(200);
/// After so long without a failure the pauses start anew. No outside reference.
const CALM: Duration = Duration::from_secs(60);

/// Growing pauses with jitter of as much again.
///
/// A watch tells the begin of each list as an event, which a back-off would take for a success and so never grow:
/// only time makes this one start anew.
#[derive(Debug)]
pub(crate) struct Pauses {
    builder: ExponentialBuilder,
    pauses: ExponentialBackoff,
    last: Option<Instant>,
}

impl Pauses {
    pub(crate) fn up_to(longest: Duration) -> Self {
        let builder = ExponentialBuilder::default()
            .with_min_delay(FIRST)
            .with_max_delay(longest)
            .without_max_times()
            .with_jitter();
        Self { builder, pauses: builder.build(), last: None }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) > CALM) {
            self.pauses = self.builder.build();
        }
        self.last = Some(now);
        self.pauses.next()
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_over_the_begin_of_lists_and_start_anew_after_a_calm_minute() {
        let mut pauses = Pauses::up_to(Duration::from_secs(3));
        let grown: Vec<Duration> = (0..9)
            .filter_map(|_| {
                pauses.reset();
                pauses.next()
            })
            .collect();
        assert!(grown[0] <= 2 * FIRST, "{grown:?}");
        assert!((Duration::from_secs(3)..=Duration::from_secs(6)).contains(&grown[8]), "{grown:?}");
        tokio::time::advance(CALM + FIRST).await;
        assert!(pauses.next().unwrap() <= 2 * FIRST);
    }
}
