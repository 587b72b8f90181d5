//! Calls of the API server that end: each attempt has a deadline, and doubt is tried again.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use tokio::time::timeout;

use super::error::leaves_doubt;

/// Longest wait for one answer of the API server: well above a slow etcd, below a Lease's renewal.
const ATTEMPT: Duration = Duration::from_secs(5);

/// One attempt with a deadline.
pub(super) async fn in_time<T>(call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, kube::Error> {
    timeout(ATTEMPT, call).await.unwrap_or_else(|late| Err(kube::Error::Service(Box::new(late))))
}

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
