//! The way in: can the grid be reached, trusted and logged in to, and does it speak our version?

use gslb_provider_contract::{Finding, ProviderError};

use super::super::facts::{Facts, Schema, Shut};
use crate::answer::Kind;
use crate::transport::BY_ITSELF;

/// Without these there are no delegations.
const NEEDED: [&str; 2] = ["zone_delegated", "zone_auth"];
/// What goes without one of these, besides.
const USEFUL: [(&str, &str); 3] = [
    ("extensibleattributedef", "what others lose in a write is put back, instead of the write being refused"),
    ("grid:servicerestart:request", "the grid does not tell whether its DNS service waits for a restart"),
    ("scheduledtask", "a change that waits for approval cannot be followed"),
];

/// Somebody was let in.
pub(super) fn open(facts: &Facts, schema: &Schema) -> Vec<Finding> {
    let reached = match facts.passed_over.as_slice() {
        [] => reached(facts),
        others => passed_over(facts, others),
    };
    vec![reached, trusted(facts), let_in(), version(facts, schema)]
}

/// Nobody was. What lies behind the door is not known, and named as such.
pub(super) fn shut(facts: &Facts, shut: &Shut) -> Vec<Finding> {
    let mut findings = match shut.failure.kind {
        Kind::Here => vec![not_sent(&shut.failure.error)],
        Kind::Untrusted => vec![reached(facts), untrusted(&shut.failure.error)],
        Kind::Version => vec![reached(facts), trusted(facts), unsupported(shut)],
        Kind::Elsewhere => vec![elsewhere(&shut.failure.error)],
        Kind::Before => vec![kept_away(&shut.failure.error)],
        Kind::ReferenceGone
        | Kind::Duplicate
        | Kind::Untaken
        | Kind::Passing
        | Kind::Slow
        | Kind::TooLarge
        | Kind::Final => refused(facts, &shut.failure.error),
    };
    findings.push(Finding::unknown(
        "rest",
        "account, views, attributes, restarts, parent zones and delegations were not looked at",
        "correct what keeps this command out, and check again",
    ));
    findings
}

fn reached(facts: &Facts) -> Finding {
    Finding::ok("reach", format!("{} answers", facts.host))
}

fn passed_over(facts: &Facts, others: &[String]) -> Finding {
    Finding::warning(
        "reach",
        format!(
            "{} answers, and {}, listed before it, not as the Grid Master",
            facts.host,
            others.join(", ")
        ),
        "if that stays so, list the Grid Master first in INFOBLOX_GRID_HOST",
    )
}

fn trusted(facts: &Facts) -> Finding {
    if facts.verified {
        return Finding::ok(
            "tls",
            format!("the certificate of {} is trusted, names it and is valid", facts.host),
        );
    }
    Finding::warning(
        "tls",
        format!(
            "the certificate of {} is not checked, so whoever answers in its place gets the account",
            facts.host
        ),
        "set INFOBLOX_CA_FILE to the authority of the grid's certificate, and remove INFOBLOX_TLS_VERIFY",
    )
}

fn let_in() -> Finding {
    Finding::ok("login", "the user name and the password are accepted, and the API is open to the account")
}

fn not_sent(error: &ProviderError) -> Finding {
    let found = error.to_string();
    match error {
        ProviderError::Unavailable { source, .. } => Finding::unknown(
            "login",
            source.as_ref().map_or_else(|| found.clone(), |source| format!("{found}: {source}")),
            "let this command read and write the ConfigMap gslb-bridge-login in the namespace of gslb-bridge",
        ),
        ProviderError::LoginHeld { .. } => Finding::error(
            "login",
            found,
            "correct the credentials; if they are right and the account was unlocked, delete the ConfigMap gslb-bridge-login",
        ),
        ProviderError::Stale { .. }
        | ProviderError::Unauthenticated { .. }
        | ProviderError::Forbidden { .. }
        | ProviderError::Misconfigured { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Unexpected { .. }
        | ProviderError::Uncertain { .. } => Finding::error(
            "login",
            found,
            "correct INFOBLOX_WAPI_USERNAME and INFOBLOX_WAPI_PASSWORD, or their files",
        ),
    }
}

fn kept_away(error: &ProviderError) -> Finding {
    Finding::error(
        "reach",
        error.to_string(),
        "HTTPS_PROXY and NO_PROXY must let this cluster through; the grid itself was not asked",
    )
}

fn untrusted(error: &ProviderError) -> Finding {
    Finding::error(
        "tls",
        error.to_string(),
        "the grid's certificate is at Grid > Grid Manager > Members > Certificates > HTTPS Cert",
    )
}

fn unsupported(shut: &Shut) -> Finding {
    let newest = newest(&shut.versions).map_or_else(
        || "set INFOBLOX_WAPI_VERSION to a version that the grid has; its own documentation at /wapidoc/ names it".to_owned(),
        |newest| format!("set INFOBLOX_WAPI_VERSION to {newest}, the newest that this grid has, or to an older one"),
    );
    Finding::error("version", shut.failure.error.to_string(), newest)
}

fn elsewhere(error: &ProviderError) -> Finding {
    Finding::error(
        "reach",
        error.to_string(),
        "Grid > Grid Manager > Members shows which member is the Grid Master; list the candidates too, comma separated",
    )
}

fn refused(facts: &Facts, error: &ProviderError) -> Vec<Finding> {
    match error {
        ProviderError::Unauthenticated { .. } => vec![
            reached(facts),
            trusted(facts),
            Finding::error(
                "login",
                error.to_string(),
                "at Administration > Administrators > Admins the account must exist and not be disabled; this check has used up one of the two tries of this password",
            ),
        ],
        ProviderError::Forbidden { .. } => vec![
            reached(facts),
            trusted(facts),
            Finding::error(
                "login",
                error.to_string(),
                "at Administration > Administrators > Groups the account's group must have API among its Allowed Interfaces",
            ),
        ],
        ProviderError::Unavailable { text, .. } => vec![Finding::error(
            "reach",
            text.strip_suffix(BY_ITSELF).unwrap_or(text),
            "INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT must lead to the Grid Master, and firewalls, NetworkPolicies and HTTPS_PROXY must let this cluster through",
        )],
        ProviderError::Stale { .. }
        | ProviderError::LoginHeld { .. }
        | ProviderError::Misconfigured { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Unexpected { .. }
        | ProviderError::Uncertain { .. } => vec![Finding::error(
            "reach",
            error.to_string(),
            "INFOBLOX_GRID_HOST and INFOBLOX_WAPI_PORT must lead to the WAPI of a Grid Master, not to a portal or a proxy",
        )],
    }
}

fn version(facts: &Facts, schema: &Schema) -> Finding {
    let lacks = |kind: &str| !schema.supported_objects.iter().any(|known| known == kind);
    let version = &facts.version;
    let missing: Vec<_> = NEEDED.into_iter().filter(|kind| lacks(kind)).collect();
    if !missing.is_empty() {
        return Finding::error(
            "version",
            format!("WAPI {version} of this grid has no {}", missing.join(", ")),
            "set INFOBLOX_WAPI_VERSION to a newer version; the grid needs its DNS licence",
        );
    }
    let without: Vec<_> = USEFUL
        .into_iter()
        .filter(|(kind, _)| lacks(kind))
        .map(|(kind, effect)| format!("{kind}: {effect}"))
        .collect();
    if !without.is_empty() {
        return Finding::warning(
            "version",
            format!("WAPI {version} of this grid goes without {}", without.join("; ")),
            "set INFOBLOX_WAPI_VERSION to a newer version",
        );
    }
    let newest = newest(&schema.supported_versions)
        .map(|newest| format!("; the newest is {newest}"))
        .unwrap_or_default();
    Finding::ok("version", format!("the grid has WAPI {version}{newest}"))
}

/// 2.9 comes before 2.10.
fn newest(versions: &[String]) -> Option<&str> {
    let numbers =
        |version: &str| version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>();
    versions.iter().map(String::as_str).max_by_key(|version| numbers(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let versions = ["2.9.7", "2.13.1", "2.2", "2.10"].map(str::to_owned);
        assert_eq!(newest(&versions), Some("2.13.1"));
        assert_eq!(newest(&[]), None);
    }
}
