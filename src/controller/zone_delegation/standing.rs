//! How a provider stands to what we want: the condition `InSync`, and when a visit that failed is repeated.

use std::time::Duration;

use gslb_core::change::Change;
use gslb_core::claim::Claim;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::delegation::{Presence, Wish};
use gslb_core::doubling::Doubling;
use gslb_core::limits::{ApprovedChange, ApprovedPlan};
use gslb_core::outlet::Outlet;
use gslb_core::plan::Finding;
use jiff::Timestamp;

use super::memory::{Memory, Standing};
use super::provide::{Halt, Visit};
use crate::controller::ledger::{Stop, pause_after};

/// Pauses after a provider failed. No outside reference.
const RETRY: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Reason of a provider that holds what we want, with nothing else to tell.
pub(super) const IN_SYNC: &str = "InSync";
/// Reason of the same, told by whoever answered.
pub(super) const UNVERIFIED: &str = "CertificateNotVerified";
/// What follows from it, and what to do.
pub(super) const NOT_CHECKED: &str = "the certificate of the provider is not checked, so this may come from anybody in between, who gets the account too; set INFOBLOX_CA_FILE and remove INFOBLOX_TLS_VERIFY";

/// How things stand while the request of an earlier change may be under way. The reason is that of the error which
/// such a request ends with.
pub(super) fn open_until(visit: &Visit<'_>, until: Timestamp) -> Standing {
    let (zone, provider) = (visit.desired.claimant().zone().name(), visit.provider.id());
    let message = format!(
        "it is not known whether the last change of delegation {zone} was made: its request may still be under way at {provider}, so nothing is written before {}",
        until.strftime("%Y-%m-%dT%H:%M:%SZ")
    );
    Standing::new(Condition::bad(ConditionKind::InSync, "OutcomeUnknown", message))
}

/// How a place stands for all that is known: nothing before the first visit is over.
pub(super) fn told(outlet: &Outlet, standing: Option<&Standing>) -> Condition {
    let not_asked = || {
        let message = format!("{} has not answered yet", outlet.provider());
        Condition::unknown(ConditionKind::InSync, "NotAsked", message)
    };
    standing.map_or_else(not_asked, |standing| standing.in_sync.clone())
}

/// That somebody else keeps undoing what we write.
pub(super) fn other_writer(visit: &Visit<'_>) -> Condition {
    let (zone, provider) = (visit.desired.claimant().zone().name(), visit.provider.id());
    let message = match visit.provider.capabilities().own_object {
        true => format!(
            "somebody else keeps changing what this cluster writes for delegation {zone} at {provider}; it is written back with pauses of up to a minute; find the other writer in the object's metadata.managedFields and stop it"
        ),
        false => format!(
            "what this cluster writes for delegation {zone} at {provider} does not stay there: somebody else takes it away, or {provider} does not keep it; it is written back with pauses of up to a minute; find the other writer in the audit log of {provider} and stop it"
        ),
    };
    Condition::bad(ConditionKind::InSync, "OtherWriter", message)
}

/// How the provider stands to what we want, after an approved plan.
pub(super) fn standing(
    visit: &Visit<'_>,
    approved: &ApprovedPlan,
    observed: &Presence,
    waiting: Option<&str>,
) -> Standing {
    let kind = ConditionKind::InSync;
    if let Some(message) = waiting {
        return Standing::new(Condition::bad(kind, "WaitingForApproval", message.to_owned()));
    }
    if let Some(first) = approved.skipped().first() {
        let message = approved.skipped().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        return Standing::new(Condition::bad(kind, first.reason(), message));
    }
    let last = approved.changes().last().map(ApprovedChange::change);
    let stands = last.map_or_else(|| observed.delegation(), Change::after);
    let withdrawn = visit.desired.is_withdrawn(stands);
    // What came of the wish to take somebody out is told once, by an event, when it is over.
    let told = |finding: &&Finding| !matches!(finding, Finding::Evicted { .. });
    let findings: Vec<&Finding> = approved.findings().iter().filter(told).collect();
    if *visit.desired.wish() == Wish::Withdrawn && !withdrawn {
        let claimant = visit.desired.claimant();
        let names = stands.iter().flat_map(|delegation| delegation.servers.keys());
        let kept = names.filter(|name| claimant.claim(name) != Claim::Foreign).map(ToString::to_string);
        let names = kept.collect::<Vec<_>>().join(", ");
        let left = format!(
            "this cluster has left the delegation; its object lists {names} until their addresses are gone from DNS"
        );
        let findings = findings.iter().map(ToString::to_string);
        let message = std::iter::once(left).chain(findings).collect::<Vec<_>>().join("; ");
        return Standing::new(Condition::good(kind, "OthersRemain", message));
    }
    let in_sync = match findings.first() {
        None => {
            Condition::good(kind, IN_SYNC, format!("{} holds what this cluster wants", visit.provider.id()))
        }
        Some(first) => {
            let message = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            Condition::good(kind, first.reason(), message)
        }
    };
    Standing { in_sync, withdrawn }
}

/// As it stands, with the word that nobody knows whether it was the provider who said so. What is wrong goes before.
pub(super) fn unverified(in_sync: Condition) -> Condition {
    if !in_sync.is_good() {
        return in_sync;
    }
    let reason = if in_sync.reason == IN_SYNC { UNVERIFIED } else { in_sync.reason };
    Condition { reason, message: format!("{}; {NOT_CHECKED}", in_sync.message), ..in_sync }
}

/// Remembers what stopped a visit, and when the next one is due.
pub(super) fn fail(visit: &Visit<'_>, memory: &mut Memory, halt: &Halt, now: Timestamp) {
    let kind = ConditionKind::InSync;
    let zone = visit.desired.claimant().zone().name();
    let backoff = RETRY.next(&mut memory.failures);
    let (condition, pause) = match halt {
        Halt::Stopped(Stop::Provider(error)) => {
            let chain = crate::controller::cache::Chain(error);
            let (view, provider, reason) = (visit.outlet.view(), visit.provider.id(), error.reason());
            let condition = Condition::bad(kind, reason, error.to_string());
            // A warning is for what is new: the same failure goes on for as long as it goes on.
            match memory.standing.as_ref().is_some_and(|standing| standing.in_sync == condition) {
                true => {
                    tracing::debug!(%zone, %provider, view, reason, error = %chain, "The provider failed again.")
                }
                false => {
                    tracing::warn!(%zone, %provider, view, reason, error = %chain, "The provider failed.")
                }
            }
            (condition, Some(pause_after(error, backoff, now)))
        }
        Halt::Stopped(Stop::Audit(error)) => {
            visit.ledger.doubt_log();
            let chain = crate::controller::cache::Chain(error);
            tracing::warn!(%zone, error = %chain, "The change log failed; nothing more is changed at the provider.");
            let provider = visit.provider.id();
            let (reason, message) = match memory.unlogged {
                true => (
                    "OutcomeNotLogged",
                    format!(
                        "{provider} took a change, but its outcome is not logged yet, and nothing more is changed before it is: {error}"
                    ),
                ),
                false => (
                    error.reason(),
                    format!(
                        "nothing is changed at {provider} because the change log cannot be written: {error}"
                    ),
                ),
            };
            (Condition::bad(kind, reason, message), Some(backoff))
        }
        Halt::Owed(error) => {
            tracing::warn!(%zone, provider = %visit.provider.id(), error, "What others lost by a write is not back yet.");
            let message = format!(
                "a write of this cluster to delegation {zone} at {} took away what others wrote there at the same moment, and it could not be put back yet ({error}); the change log has what it is (amends)",
                visit.provider.id()
            );
            (Condition::bad(kind, "OthersLost", message), Some(backoff))
        }
        Halt::Stopped(Stop::Refused(message, reason)) => {
            (Condition::bad(kind, reason, message.clone()), visit.period)
        }
    };
    memory.standing = Some(Standing::new(condition));
    memory.next_provider =
        pause.and_then(|pause| now.checked_add(pause.max(Duration::from_millis(100))).ok());
}
