//! What each exchange with the grid was, for metrics.

use std::time::Duration;

/// What an exchange was about: k8gb's closed set, so that its dashboards go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// POST.
    ZoneCreate,
    /// GET.
    ZoneRead,
    /// PUT.
    ZoneUpdate,
    /// DELETE.
    ZoneDelete,
}

impl Operation {
    /// Label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ZoneCreate => "ZoneCreate",
            Self::ZoneRead => "ZoneRead",
            Self::ZoneUpdate => "ZoneUpdate",
            Self::ZoneDelete => "ZoneDelete",
        }
    }
}

/// Is told of every exchange. "Nothing found" is a success (F-65).
pub trait CallObserver: Send + Sync {
    /// One request and its reply, or its failure.
    fn on_call(&self, operation: Operation, success: bool, duration: Duration);
}

/// For callers that do not measure.
impl CallObserver for () {
    fn on_call(&self, _: Operation, _: bool, _: Duration) {}
}
