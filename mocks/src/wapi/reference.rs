//! Object references: `type/<base64 of an internal key>:<name part>`.
//!
//! The key holds identity *and* value, so that a changed address or text makes a new reference and the
//! old one unknown. Clients must not decode it; the simulator builds it as real appliances do.

use super::error::WapiError;
use super::name::{relative, reversed};
use super::store::{Object, Store};
use super::txt;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The reference of a stored object.
pub(crate) fn reference(store: &Store, object: &Object) -> String {
    let (key, name_part) = key_and_name(store, object);
    format!("{}/{}:{}", object.kind.name, URL_SAFE_NO_PAD.encode(key), name_part)
}

/// The reference of an address inside a host record.
pub(crate) fn host_address(store: &Store, host: &Object, address: &str, family: u8) -> String {
    let (zone, rest) = zone_key(store, host);
    let view = host.text("view");
    let key = format!("dns.host_address${zone}{rest}.{address}.");
    let name = percent_encode(host.text("name"));
    let address = percent_encode(address);
    format!(
        "record:host_ipv{family}addr/{}:{address}/{name}/{}",
        URL_SAFE_NO_PAD.encode(key),
        percent_encode(view)
    )
}

fn key_and_name(store: &Store, object: &Object) -> (String, String) {
    let in_view = |name: &str| format!("{}/{}", percent_encode(name), percent_encode(object.text("view")));
    match object.kind.name {
        zone if zone.starts_with("zone_") => {
            let view = store.view_key(object.text("view"));
            let fqdn = object.text("fqdn");
            (format!("dns.zone$.{view}.{}", reversed(fqdn)), in_view(fqdn))
        }
        "record:ns" => {
            let (zone, _) = zone_key(store, object);
            let nameserver = object.text("nameserver");
            let zone_name = store.zone_of(object).unwrap_or_default();
            let name = format!("{}/{}", percent_encode(nameserver), in_view(&zone_name));
            (format!("dns.bind_ns${zone}..{nameserver}"), name)
        }
        record if record.starts_with("record:") => (record_key(store, object), in_view(object.text("name"))),
        "view" => {
            let is_default = object.fields.get("is_default") == Some(&Value::Bool(true));
            let name = object.text("name");
            let key = format!("dns.view$.{}", store.view_key(name));
            (key, format!("{}/{is_default}", percent_encode(name)))
        }
        "networkview" => {
            let is_default = object.fields.get("is_default") == Some(&Value::Bool(true));
            let number = if is_default { 0 } else { object.id };
            let name = format!("{}/{is_default}", percent_encode(object.text("name")));
            (format!("dns.network_view${number}"), name)
        }
        "grid" => ("one.cluster$0".to_owned(), percent_encode(object.text("name"))),
        "member" => ("one.virtual_node$0".to_owned(), percent_encode(object.text("host_name"))),
        "restartservicestatus" => {
            ("one.restart_service_status$0".to_owned(), percent_encode(object.text("member")))
        }
        "scheduledtask" => {
            let id = object.fields.get("task_id").and_then(Value::as_u64).unwrap_or_default();
            (format!("one.queued_task${id}"), format!("{id}/{}", object.text("execution_status")))
        }
        "extensibleattributedef" => {
            let name = object.text("name");
            (format!("one.extensible_attributes_def$.{name}"), percent_encode(name))
        }
        "permission" => {
            let holder = [object.text("group"), object.text("role")].concat();
            (format!("one.permission$.{}", object.id), percent_encode(&holder))
        }
        other => {
            let name = object.text("name");
            (format!("one.{}$.{name}", other.replace(':', "_")), percent_encode(name))
        }
    }
}

fn record_key(store: &Store, object: &Object) -> String {
    let (zone, rest) = zone_key(store, object);
    // A and AAAA keys separate with commas, the others with dots.
    let label = rest.strip_prefix('.').unwrap_or(&rest);
    match object.kind.name {
        "record:a" => format!("dns.bind_a${zone},{label},{}", object.text("ipv4addr")),
        "record:aaaa" => format!("dns.bind_aaaa${zone},{label},{}", object.text("ipv6addr")),
        "record:cname" => format!("dns.bind_cname${zone}{rest}"),
        "record:txt" => format!("dns.bind_txt${zone}{rest}.{}", txt::stored(object.text("text"))),
        "record:host" => format!("dns.host${zone}{rest}"),
        "record:mx" => format!("dns.bind_mx${zone}{rest}.{}", object.text("mail_exchanger")),
        other => {
            let number = |field| object.fields.get(field).map(Value::to_string).unwrap_or_default();
            let values = [number("priority"), number("weight"), number("port"), number("target")].join("/");
            format!("dns.bind_{}${zone}{rest}/{values}", other.trim_start_matches("record:"))
        }
    }
}

/// `._default.com.example` and `.www`: the zone's key and the record's label in it.
fn zone_key(store: &Store, object: &Object) -> (String, String) {
    let zone = store.zone_of(object).unwrap_or_default();
    let label = relative(object.text("name"), &zone);
    let view = store.view_key(object.text("view"));
    let rest = if label.is_empty() { String::new() } else { format!(".{}", reversed(label)) };
    (format!(".{view}.{}", reversed(&zone)), rest)
}

/// A reference as a client sent it, after one round of percent-decoding.
pub(crate) struct ParsedReference<'a> {
    pub(crate) type_name: &'a str,
    key: String,
    text: &'a str,
}

impl<'a> ParsedReference<'a> {
    /// # Errors
    /// `Invalid reference` when the middle part is no key.
    pub(crate) fn parse(text: &'a str) -> Result<Self, WapiError> {
        let (type_name, rest) = text.split_once('/').ok_or_else(WapiError::invalid_reference)?;
        let (encoded, _) = rest.split_once(':').ok_or_else(WapiError::invalid_reference)?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| WapiError::invalid_reference())?;
        let key = String::from_utf8(bytes).map_err(|_| WapiError::invalid_reference())?;
        if !key.contains('$') {
            return Err(WapiError::invalid_reference());
        }
        Ok(Self { type_name, key, text })
    }

    /// Whether this is the object's present reference. A task is found by its key alone, because
    /// clients poll with the status that they first saw in the name part.
    pub(crate) fn names(&self, store: &Store, object: &Object) -> bool {
        if object.kind.name != self.type_name {
            return false;
        }
        let (key, name_part) = key_and_name(store, object);
        if self.type_name == "scheduledtask" {
            return key == self.key;
        }
        let name_sent = self.text.split_once(':').map_or("", |(_, rest)| rest);
        // `record:a/…` has a colon in its type, so the name part starts after the second one.
        let name_sent = if self.type_name.contains(':') {
            name_sent.split_once(':').map_or("", |(_, rest)| rest)
        } else {
            name_sent
        };
        key == self.key && name_sent == percent_decode(&name_part)
    }
}

/// Encodes all but the unreserved characters of RFC 3986 §2.3.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Decodes one round of percent-encoding; what is no valid escape stays.
pub(crate) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escape = bytes.get(index + 1..index + 3).and_then(|pair| hex::decode(pair).ok());
        match (bytes[index], escape) {
            (b'%', Some(byte)) => {
                decoded.extend(byte);
                index += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_cannot_be_decoded_is_an_invalid_reference() {
        let parsed = ParsedReference::parse("zone_delegated/not-a-ref:gslb.example.com/default");
        assert_eq!(parsed.err(), Some(WapiError::invalid_reference()));
    }

    #[test]
    fn percent_encoding_is_undone_once() {
        assert_eq!(percent_decode(&percent_encode("2001:db8::1/Internal DNS")), "2001:db8::1/Internal DNS");
        assert_eq!(percent_decode("Internal%2520DNS"), "Internal%20DNS");
    }
}
