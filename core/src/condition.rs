//! Conditions of our kinds, as values: kinds, stable reasons, and when a condition counts as changed.

use jiff::Timestamp;

/// Conditions that this product sets. `True` is the wanted state of all but [`ConditionKind::StaleMember`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionKind {
    /// The spec can be acted on.
    Accepted,
    /// The reference, its hosts and its addresses were found.
    Resolved,
    /// Every host is answered with at least one address.
    Serving,
    /// Every peer gives its word.
    PeersReachable,
    /// Every parent server refers to this cluster.
    Delegated,
    /// The provider holds what this cluster wants.
    InSync,
    /// A cluster of the delegation has been silent for a day.
    StaleMember,
    /// Gslb: accepted, resolved and published. ZoneDelegation: accepted, delegated and in sync.
    Ready,
}

impl ConditionKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Accepted,
        Self::Resolved,
        Self::Serving,
        Self::PeersReachable,
        Self::Delegated,
        Self::InSync,
        Self::StaleMember,
        Self::Ready,
    ];

    /// The condition's `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Resolved => "Resolved",
            Self::Serving => "Serving",
            Self::PeersReachable => "PeersReachable",
            Self::Delegated => "Delegated",
            Self::InSync => "InSync",
            Self::StaleMember => "StaleMember",
            Self::Ready => "Ready",
        }
    }

    fn wanted(self) -> Truth {
        match self {
            Self::StaleMember => Truth::False,
            Self::Accepted
            | Self::Resolved
            | Self::Serving
            | Self::PeersReachable
            | Self::Delegated
            | Self::InSync
            | Self::Ready => Truth::True,
        }
    }
}

/// `status` of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// Could not be found out.
    Unknown,
}

impl Truth {
    /// As written in `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// One condition without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type.
    pub kind: ConditionKind,
    /// Its status.
    pub status: Truth,
    /// PascalCase, from a closed set.
    pub reason: &'static str,
    /// The sentence for the user; free of times and counters, or it would be written at every pass.
    pub message: String,
}

impl Condition {
    /// The wanted state.
    pub fn good(kind: ConditionKind, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, status: kind.wanted(), reason, message: message.into() }
    }

    /// The unwanted state.
    pub fn bad(kind: ConditionKind, reason: &'static str, message: impl Into<String>) -> Self {
        let status = match kind.wanted() {
            Truth::True => Truth::False,
            Truth::False | Truth::Unknown => Truth::True,
        };
        Self { kind, status, reason, message: message.into() }
    }

    /// Nobody knows.
    pub fn unknown(kind: ConditionKind, reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind, status: Truth::Unknown, reason, message: message.into() }
    }

    /// Whether things are as wanted.
    pub fn is_good(&self) -> bool {
        self.status == self.kind.wanted()
    }
}

/// `lastTransitionTime`: kept while the status stays the same (Kubernetes API conventions).
pub fn transition_time(
    previous: Option<(&str, Timestamp)>,
    condition: &Condition,
    now: Timestamp,
) -> Timestamp {
    match previous {
        Some((status, since)) if status == condition.status.as_str() => since,
        _ => now,
    }
}

/// `Ready` from the conditions that it needs: the first that is not true lends its reason and sentence.
pub fn ready(needed: &[&Condition], message: &str) -> Condition {
    match needed.iter().find(|condition| !condition.is_good()) {
        Some(failing) => Condition {
            kind: ConditionKind::Ready,
            status: failing.status,
            reason: failing.reason,
            message: failing.message.clone(),
        },
        None => Condition::good(ConditionKind::Ready, "Ready", message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_lends_reason_and_sentence_of_the_first_failing_condition() {
        let accepted = Condition::good(ConditionKind::Accepted, "Accepted", "");
        let resolved = Condition::bad(ConditionKind::Resolved, "NotFound", "Ingress a/b does not exist");
        let ready = ready(&[&accepted, &resolved], "published");
        assert_eq!(ready, Condition::bad(ConditionKind::Ready, "NotFound", "Ingress a/b does not exist"));
    }

    #[test]
    fn the_transition_time_is_kept_while_the_status_stays() {
        let (then, now) = (Timestamp::UNIX_EPOCH, "2026-01-01T00:00:00Z".parse().unwrap());
        let condition = Condition::bad(ConditionKind::Resolved, "NotFound", "gone");
        assert_eq!(transition_time(Some(("False", then)), &condition, now), then);
        assert_eq!(transition_time(Some(("True", then)), &condition, now), now);
        assert_eq!(transition_time(None, &condition, now), now);
    }
}
