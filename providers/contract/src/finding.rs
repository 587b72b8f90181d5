//! What a look at a backend is about, and what it finds, for people: one judgement each, and what to change.

use std::collections::BTreeSet;

use gslb_core::beneath::Adoption;
use gslb_core::claim::Claimant;
use gslb_core::name::DomainName;
use gslb_core::zone::Zone;
use serde::Serialize;

/// What a look is about.
#[derive(Debug, Clone, Default)]
pub struct Inspected {
    /// Delegations.
    pub delegations: Vec<Delegated>,
    /// Zones that are not delegated.
    pub records: Vec<RecordsZone>,
}

/// A zone whose hosts' records are kept at the backend.
#[derive(Debug, Clone)]
pub struct RecordsZone {
    /// The zone.
    pub zone: Zone,
    /// Hosts in it that are to have records, as far as they are known.
    pub hosts: BTreeSet<DomainName>,
}

/// A delegation to look at, whether it is there or will be.
#[derive(Debug, Clone)]
pub struct Delegated {
    /// Whose and which.
    pub claimant: Claimant,
    /// Who asks that it be made whatever it hides, if anybody does.
    pub adopts: Option<Adoption>,
}

/// One thing that was looked at. Its words name the object, the value and the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was looked at: a stable word for programs, such as `parent-zone`.
    pub check: &'static str,
    /// The zone that it is about; nothing for the backend as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<DomainName>,
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub found: String,
    /// What to change, and where; nothing if there is nothing to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// It works, and somebody should look at it.
    Warning,
    /// It could not be told: never the same as being as it should be.
    Unknown,
    /// It does not work, or will not.
    Error,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, zone: None, severity: Severity::Ok, found: found.into(), fix: None }
    }

    /// It works, and somebody should look at it.
    pub fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, fix: Some(fix.into()), ..Self::ok(check, found) }
    }

    /// It could not be told; the fix says how it can be.
    pub fn unknown(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Unknown, fix: Some(fix.into()), ..Self::ok(check, found) }
    }

    /// It does not work, or will not.
    pub fn error(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: Severity::Error, fix: Some(fix.into()), ..Self::ok(check, found) }
    }

    /// The same, about one zone.
    #[must_use]
    pub fn about(self, zone: &DomainName) -> Self {
        Self { zone: Some(zone.clone()), ..self }
    }
}
