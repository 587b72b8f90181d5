//! The addresses of a host record, which are objects of their own to a client.

use serde_json::{Map, Value, json};

use super::account::Account;
use super::api::{Answer, Operation, writer};
use super::error::WapiError;
use super::reference::{self, percent_decode};
use super::state::State;
use super::store::{Object, Store};

/// Where the addresses of each family are in the host record.
const FAMILIES: [(&str, &str, &str, u8); 2] = [
    ("record:host_ipv4addr/", "ipv4addrs", "ipv4addr", 4),
    ("record:host_ipv6addr/", "ipv6addrs", "ipv6addr", 6),
];
/// What a client may change of an address.
const MEMBERS: [&str; 5] = ["ipv4addr", "ipv6addr", "mac", "configure_for_dhcp", "use_for_ea_inheritance"];

/// Changes an address of a host record by its own reference; `None` if the operation is about another type.
///
/// # Errors
/// No host record has such an address, or the change is refused.
pub(crate) fn update(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    body: &Map<String, Value>,
) -> Result<Option<Answer>, WapiError> {
    let family = FAMILIES.into_iter().find(|(prefix, ..)| operation.object.starts_with(prefix));
    let Some((_, list, key, number)) = family else { return Ok(None) };
    if let Some(unknown) = body.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(WapiError::unknown_field(unknown));
    }
    let named = |store: &Store, host: &Object, element: &Value| {
        let address = element.get(key).and_then(Value::as_str).unwrap_or_default();
        percent_decode(&reference::host_address(store, host, address, number)) == operation.object
    };
    let store = &state.store;
    let found = store.of_type("record:host").find_map(|host| {
        let place = host.list(list).iter().position(|element| named(store, host, element))?;
        Some((host.id, place, host.list(list).to_vec()))
    });
    let Some((id, place, mut elements)) = found else {
        return Err(WapiError::reference_not_found(&operation.object));
    };
    for (name, value) in body {
        elements[place][name] = value.clone();
    }
    let change = json!({ list: elements });
    writer(state, account).update(id, change.as_object().unwrap_or(&Map::new()))?;
    let host = state.store.get(id).ok_or_else(WapiError::invalid_reference)?;
    let address = host.list(list)[place][key].as_str().unwrap_or_default();
    Ok(Some(Answer::ok(reference::host_address(&state.store, host, address, number).into())))
}
