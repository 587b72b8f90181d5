//! Calls of the API server that are tried again while there is doubt about them.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};

use super::error::leaves_doubt;

/// Tries again while the API server gives no definite answer.
pub(super) async fn persistently<T, F>(mut call: impl FnMut() -> F) -> Result<T, kube::Error>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    // 0.1, 0.3, 0.9 and 2.7 seconds, each up to doubled at random: longer than a leader change of etcd.
    let delays = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(100))
        .with_factor(3.0)
        .with_max_times(4)
        .with_jitter();
    (|| call()).retry(delays).when(leaves_doubt).await
}
