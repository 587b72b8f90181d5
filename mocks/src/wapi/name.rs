//! Domain names as the grid stores them: lower-case, without the final dot.

use super::error::WapiError;

pub(crate) use crate::dns::name::{is_below, is_within};

/// Brings a name into stored form, or says why the grid refuses it.
pub(crate) fn normalise(name: &str) -> Result<String, WapiError> {
    if name.trim() != name {
        return Err(WapiError::Proto("leading or trailing whitespace is not allowed.".to_owned()));
    }
    if name.is_empty() || name.split('.').any(str::is_empty) {
        return Err(WapiError::Conflict("Invalid domain name".to_owned()));
    }
    if name.split('.').any(|label| label.len() > 63) {
        return Err(WapiError::Data("A domain label is longer than 63 characters.".to_owned()));
    }
    // The text says 255; captured appliances draw the line at 253 characters without the final dot.
    if name.len() > 253 {
        return Err(WapiError::Conflict(
            "A fully qualified DNS name cannot be longer than 255 characters".to_owned(),
        ));
    }
    Ok(name.to_lowercase())
}

/// The part of `name` above `zone`: empty at the apex.
pub(crate) fn relative<'a>(name: &'a str, zone: &str) -> &'a str {
    name.strip_suffix(zone).map_or(name, |rest| rest.strip_suffix('.').unwrap_or(rest))
}

/// `gslb.example.com` → `com.example.gslb`.
pub(crate) fn reversed(name: &str) -> String {
    name.rsplit('.').collect::<Vec<_>>().join(".")
}

/// The default policy of a grid, *Allow Underscore*, for the types that it is checked for.
pub(crate) fn check_policy(name: &str, zone: &str) -> Result<(), WapiError> {
    let shown = relative(name, zone);
    let bare = shown.strip_prefix("*.").unwrap_or(if shown == "*" { "" } else { shown });
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if bare.chars().all(allowed) {
        return Ok(());
    }
    Err(WapiError::Conflict(format!("RR name '{shown}' does not comply with policy 'Allow Underscore'")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_in_lower_case_and_without_a_final_dot() {
        assert_eq!(normalise("GSLB.Example.COM"), Ok("gslb.example.com".to_owned()));
        assert_eq!(
            normalise("gslb.example.com."),
            Err(WapiError::Conflict("Invalid domain name".to_owned()))
        );
    }

    #[test]
    fn a_name_of_253_characters_is_accepted_and_one_of_254_refused() {
        let label = "a".repeat(63);
        let name = |last: usize| format!("{label}.{label}.{label}.{}", "b".repeat(last));
        assert!(normalise(&name(61)).is_ok());
        assert!(matches!(normalise(&name(62)), Err(WapiError::Conflict(_))));
        assert!(matches!(normalise(&"a".repeat(64)), Err(WapiError::Data(_))));
    }

    #[test]
    fn the_name_policy_allows_underscores_and_wildcards_but_no_blanks() {
        assert!(check_policy("_dmarc.example.com", "example.com").is_ok());
        assert!(check_policy("*.apps.example.com", "example.com").is_ok());
        assert_eq!(
            check_policy("yo p.example.com", "example.com"),
            Err(WapiError::Conflict(
                "RR name 'yo p' does not comply with policy 'Allow Underscore'".to_owned()
            ))
        );
    }
}
