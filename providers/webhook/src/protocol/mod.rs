//! What goes over the wire between external-dns and a webhook provider.
//!
//! 1. [`endpoint`]: one set of records. [`changes`]: what is to become of many.
//! 2. [`filter`]: the domains that a provider is in charge of.
//! 3. [`ownership`]: the TXT records by which external-dns knows its own.
//!
//! Source: external-dns 0.21, `provider/webhook/api`, `endpoint`, `registry`. Its OpenAPI file names the lists of a
//! domain filter `filters`, which its code does not know: the code is followed.

pub mod changes;
pub mod endpoint;
pub mod filter;
pub mod ownership;

pub use changes::{Changes, Unpaired};
pub use endpoint::{Endpoint, Property};
pub use filter::{DomainFilter, FilterError};
pub use gslb_core::sets::RecordType;
pub use ownership::{Ownership, companion_name};

/// The only version that there is. Clients compare it byte by byte.
pub const MEDIA_TYPE: &str = "application/external.dns.webhook+json;version=1";

/// Longest body that external-dns reads or sends unless it is told otherwise (`--webhook-provider-max-body-size`).
pub const LONGEST_BODY: usize = 32 << 20;

/// Reads a list of endpoints. `null` is an empty one: so Go writes it.
///
/// # Errors
/// It is no JSON, or no list of endpoints.
pub fn endpoints(body: &[u8]) -> serde_json::Result<Vec<Endpoint>> {
    serde_json::from_slice::<Option<Vec<Endpoint>>>(body).map(Option::unwrap_or_default)
}

/// Reads what is to change.
///
/// # Errors
/// It is no JSON, or no object.
pub fn changes(body: &[u8]) -> serde_json::Result<Changes> {
    // A list would be read as the fields in order, which nobody means.
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Err(serde::de::Error::custom("a list, where an object is expected")),
        _ => serde_json::from_slice(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_an_object() {
        assert_eq!(changes(b" {}").unwrap(), Changes::default());
        for body in ["", "[]", " [[]]", "1", r#"{"create":"#, "<html></html>"] {
            assert!(changes(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_list_may_be_null_and_nothing_else_passes_for_one() {
        assert_eq!(endpoints(b"null").unwrap(), []);
        assert_eq!(endpoints(b"[]").unwrap(), []);
        for body in ["", "{}", "[1]", r#"[{"dnsName":"#, r#"{"endpoints":[]}"#, "<html></html>"] {
            assert!(endpoints(body.as_bytes()).is_err(), "{body}");
        }
    }
}
