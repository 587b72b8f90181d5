//! What goes over the wire between external-dns and a webhook provider.
//!
//! 1. [`endpoint`]: one set of records. [`changes`]: what is to become of many.
//! 2. [`filter`]: the domains that a provider is in charge of.
//! 3. [`ownership`]: the TXT records by which external-dns knows its own.
//! 4. [`media`]: the media type, as headers write it.
//!
//! Source: external-dns 0.21, `provider/webhook/api`, `endpoint`, `registry`. Its OpenAPI file names the lists of a
//! domain filter `filters`, which its code does not know: the code is followed.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};

pub mod changes;
pub mod endpoint;
pub mod filter;
pub mod media;
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

/// The same, of so many at most: each takes some hundred bytes of memory, however short it is.
///
/// # Errors
/// It is no JSON, no list of endpoints, or one of more.
pub fn endpoints_up_to(body: &[u8], most: usize) -> serde_json::Result<Vec<Endpoint>> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = UpTo(most).deserialize(&mut json)?;
    json.end().map(|()| read)
}

struct UpTo(usize);

impl<'de> DeserializeSeed<'de> for UpTo {
    type Value = Vec<Endpoint>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<Endpoint>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UpTo {
    type Value = Vec<Endpoint>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of endpoints")
    }

    fn visit_unit<E>(self) -> Result<Vec<Endpoint>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Endpoint>, A::Error> {
        let mut read = Vec::new();
        while let Some(endpoint) = list.next_element()? {
            if read.len() >= self.0 {
                return Err(A::Error::custom(format!("more than {} endpoints", self.0)));
            }
            read.push(endpoint);
        }
        Ok(read)
    }
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
        for body in ["null", "[]"] {
            assert_eq!(endpoints(body.as_bytes()).unwrap(), []);
            assert_eq!(endpoints_up_to(body.as_bytes(), 0).unwrap(), []);
        }
        for body in ["", "{}", "[1]", r#"[{"dnsName":"#, r#"{"endpoints":[]}"#, "<html></html>", "[] []"] {
            assert!(endpoints(body.as_bytes()).is_err(), "{body}");
            assert!(endpoints_up_to(body.as_bytes(), 9).is_err(), "{body}");
        }
    }

    #[test]
    fn a_list_of_more_than_is_read_is_refused() {
        assert_eq!(endpoints_up_to(b"[{},{}]", 2).unwrap().len(), 2);
        let told = endpoints_up_to(b"[{},{},{}]", 2).unwrap_err().to_string();
        assert!(told.starts_with("more than 2 endpoints"), "{told}");
    }
}
