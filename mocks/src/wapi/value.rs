//! Checks one field's value and brings it into stored form.

use super::error::WapiError;
use super::name;
use super::schema::{Field, Kind};
use super::txt;
use serde_json::{Map, Value, json};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The stored form of a value. `Null` clears a scalar; lists refuse it.
pub(crate) fn normalise(field: &Field, value: &Value) -> Result<Value, WapiError> {
    let invalid = || WapiError::invalid_value(field.name);
    match field.kind {
        // Clients send null beside a name server group; all other lists refuse it.
        Kind::Servers if field.name == "delegate_to" && value.is_null() => Ok(Value::Null),
        Kind::Servers => list(field, value, |element| server(element).ok_or_else(invalid)?),
        Kind::Members => list(field, value, |element| member(element).ok_or_else(invalid)),
        Kind::HostIpv4 => list(field, value, |element| host_address(element, "ipv4addr").ok_or_else(invalid)),
        Kind::HostIpv6 => list(field, value, |element| host_address(element, "ipv6addr").ok_or_else(invalid)),
        Kind::NsAddresses => {
            list(field, value, |element| host_address(element, "address").ok_or_else(invalid))
        }
        Kind::TextList => list(field, value, |element| text(field, element).map(Value::from)),
        Kind::List => list(field, value, |element| Ok(element.clone())),
        Kind::Attributes => attributes(value),
        _ if value.is_null() => Ok(Value::Null),
        Kind::Any => Ok(value.clone()),
        Kind::Text => limited_text(field, value).map(Value::from),
        Kind::Name => name::normalise(text(field, value)?).map(Value::from),
        // The name of a reverse zone is a network; `fqdn` is checked by the zone's rules.
        Kind::ZoneName => text(field, value).map(Value::from),
        Kind::Ipv4 => text(field, value)?.parse::<Ipv4Addr>().map(|a| json!(a)).map_err(|_| invalid()),
        Kind::Ipv6 => text(field, value)?.parse::<Ipv6Addr>().map(|a| json!(a)).map_err(|_| invalid()),
        Kind::Uint => {
            value.as_u64().filter(|n| *n <= u64::from(u32::MAX)).map(|n| json!(n)).ok_or_else(invalid)
        }
        Kind::Bool => value.as_bool().map(|b| json!(b)).ok_or_else(invalid),
        Kind::CharacterStrings => text(field, value).map(|text| txt::canonical(text).into()),
        Kind::Choice(allowed) => choice(field, allowed, value),
    }
}

fn text<'a>(field: &Field, value: &'a Value) -> Result<&'a str, WapiError> {
    value.as_str().ok_or_else(|| WapiError::invalid_value(field.name))
}

fn limited_text<'a>(field: &Field, value: &'a Value) -> Result<&'a str, WapiError> {
    let text = text(field, value)?;
    if text.trim() != text || (field.name == "comment" && text.chars().count() > 256) {
        return Err(WapiError::invalid_value(field.name));
    }
    Ok(text)
}

fn choice(field: &Field, allowed: &[&str], value: &Value) -> Result<Value, WapiError> {
    let text = text(field, value)?;
    if allowed.contains(&text) {
        return Ok(json!(text));
    }
    let allowed = allowed.join(", ");
    Err(WapiError::Proto(format!(
        "Invalid value for {} (\"{text}\") valid values are: {allowed}",
        field.name
    )))
}

fn list(
    field: &Field,
    value: &Value,
    element: impl Fn(&Value) -> Result<Value, WapiError>,
) -> Result<Value, WapiError> {
    let elements = value.as_array().ok_or_else(|| WapiError::invalid_value(field.name))?;
    elements.iter().map(element).collect::<Result<Vec<_>, _>>().map(Value::from)
}

/// An address in its canonical spelling.
fn address(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    text.parse::<std::net::IpAddr>().ok().map(|address| address.to_string())
}

/// A name server of a delegation: `name` and `address`, and the optional members that may be written.
fn server(element: &Value) -> Option<Result<Value, WapiError>> {
    const OPTIONAL: [&str; 5] = ["stealth", "tsig_key", "tsig_key_alg", "tsig_key_name", "use_tsig_key_name"];
    let members = element.as_object()?;
    if members.contains_key("shared_with_ms_parent_delegation") {
        return Some(Err(WapiError::not_writable("shared_with_ms_parent_delegation")));
    }
    if let Some(unknown) = members
        .keys()
        .find(|key| !matches!(key.as_str(), "name" | "address") && !OPTIONAL.contains(&key.as_str()))
    {
        return Some(Err(WapiError::unknown_field(unknown)));
    }
    let name = match name::normalise(members.get("name")?.as_str()?) {
        Ok(name) => name,
        Err(error) => return Some(Err(error)),
    };
    let mut stored = members.clone();
    stored.insert("name".to_owned(), name.into());
    stored.insert("address".to_owned(), address(members.get("address")?)?.into());
    Some(Ok(stored.into()))
}

fn member(element: &Value) -> Option<Value> {
    let members = element.as_object()?;
    members.get("name")?.as_str()?;
    let mut stored = members.clone();
    stored.entry("stealth").or_insert(json!(false));
    Some(stored.into())
}

/// An element whose `key` is an address, as in host records and manual name servers.
fn host_address(element: &Value, key: &str) -> Option<Value> {
    let members = element.as_object()?;
    let mut stored = members.clone();
    stored.insert(key.to_owned(), address(members.get(key)?)?.into());
    if key != "address" {
        stored.entry("configure_for_dhcp").or_insert(json!(false));
    }
    Some(stored.into())
}

/// `{"Owner": {"value": "cluster-1"}}`: every attribute is an object with a text, a number or a list.
fn attributes(value: &Value) -> Result<Value, WapiError> {
    let invalid = || WapiError::invalid_value("extattrs");
    let map = value.as_object().ok_or_else(invalid)?;
    let mut stored = Map::new();
    for (name, attribute) in map {
        let value = attribute.get("value").ok_or_else(invalid)?;
        if !(value.is_string() || value.is_u64() || value.is_i64() || value.is_array()) {
            return Err(invalid());
        }
        stored.insert(name.clone(), json!({ "value": value }));
    }
    Ok(stored.into())
}
