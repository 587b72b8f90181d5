//! A deadline for calls of the Kubernetes API.
//!
//! That of the client is long, because a quiet watch is no fault. A call must end: a connection that swallows packets
//! would hold its pass, and with it every later change of the object.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

/// Longest wait for one answer: well above a slow etcd, below a Lease's renewal.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// One call with a deadline.
///
/// # Errors
/// Those of the call, and one of its own when the deadline is reached: nobody knows then whether it had an
/// effect.
pub(crate) async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    timeout(LONGEST_WAIT, call).await.unwrap_or_else(|late| Err(kube::Error::Service(Box::new(late))))
}

/// Whether an object was refused because its namespace is being deleted. All that is in it will be told as deleted.
pub(crate) fn is_end_of_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.code == 403 && causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Whether the API server has no such kind. What else it cannot find, an object or a namespace, it calls by name.
pub(crate) fn is_unknown_kind(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    status.code == 404 && status.details.as_ref().is_none_or(|details| details.name.is_empty())
}

/// What the API server said, or why it said nothing, for people: the error's own text repeats the whole reply.
pub(crate) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
