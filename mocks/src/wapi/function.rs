//! Calls with `_function=`.

use super::account::Account;
use super::api::{self, Answer, Operation, Verb};
use super::error::WapiError;
use super::query::Query;
use super::read;
use super::state::State;
use serde_json::{Map, Value, json};

/// The functions that the simulator knows, with the type they belong to.
const FUNCTIONS: [(&str, &str); 4] = [
    ("grid", "restartservices"),
    ("grid", "requestrestartservicestatus"),
    ("zone_auth", "lock_unlock_zone"),
    ("zone_delegated", "lock_unlock_zone"),
];

pub(crate) fn execute(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    query: &Query,
) -> Result<Answer, WapiError> {
    let name = query.function.as_deref().unwrap_or_default();
    let object = read::by_reference(&state.store, account, &operation.object)?;
    let (id, kind) = (object.id, object.kind.name);
    if !FUNCTIONS.contains(&(kind, name)) {
        return Err(WapiError::Proto(format!("Function {name} is not valid for this object")));
    }
    if operation.verb != Verb::Post {
        return Err(WapiError::Proto(format!("Function {name} illegal with this method")));
    }
    let argument =
        |key: &str| operation.body.as_ref().and_then(|body| body.get(key)?.as_str()).unwrap_or_default();
    match name {
        "restartservices" => {
            restart(state, argument("service_option"))?;
        }
        "requestrestartservicestatus" => state.refresh_restart_status(),
        _ => {
            let locked = match argument("operation") {
                "LOCK" => true,
                "UNLOCK" => false,
                _ => return Err(WapiError::invalid_value("operation")),
            };
            let body = Map::from_iter([("locked".to_owned(), Value::Bool(locked))]);
            api::writer(state, account).update(id, &body)?;
        }
    }
    Ok(Answer::ok(json!({})))
}

fn restart(state: &mut State, service: &str) -> Result<(), WapiError> {
    match service {
        "" | "ALL" | "DNS" => state.publish(),
        "DHCP" | "DHCPV4" | "DHCPV6" => {}
        _ => return Err(WapiError::invalid_value("service_option")),
    }
    Ok(())
}
