//! Finds objects and shows their fields.

use super::account::Account;
use super::error::WapiError;
use super::query::{Filter, Query, Target};
use super::reference::{self, ParsedReference};
use super::schema::ObjectType;
use super::store::{Object, Store};
use serde_json::{Map, Value, json};

/// The object that a reference names.
///
/// # Errors
/// `Invalid reference` (400) when it cannot be decoded, `Reference … not found` (404) when it is unknown.
pub(crate) fn by_reference<'a>(
    store: &'a Store,
    account: &Account,
    text: &str,
) -> Result<&'a Object, WapiError> {
    let parsed = ParsedReference::parse(text)?;
    super::schema::object_type(parsed.type_name)?;
    store
        .of_type(parsed.type_name)
        .find(|object| parsed.names(store, object) && is_visible(object, account))
        .ok_or_else(|| WapiError::reference_not_found(text))
}

/// The ids of all objects of a type that pass the query's filters.
pub(crate) fn search(
    store: &Store,
    account: &Account,
    kind: &'static ObjectType,
    query: &Query,
) -> Result<Vec<u64>, WapiError> {
    let filters = query.filters(kind)?;
    if let Some(view) =
        query.exact("view").filter(|view| kind.field("view").is_some() && !view.trim().is_empty())
        && store.view(view).is_none()
    {
        return Err(WapiError::view_not_found(view));
    }
    for filter in &filters {
        if let Target::Attribute(name) = &filter.target
            && !store.of_type("extensibleattributedef").any(|definition| definition.text("name") == name)
        {
            return Err(WapiError::unknown_attribute(name));
        }
    }
    let found = store
        .of_type(kind.name)
        .filter(|object| is_visible(object, account))
        .filter(|object| filters.iter().all(|filter| passes(store, object, filter)))
        .map(|object| object.id);
    Ok(found.collect())
}

fn is_visible(object: &Object, account: &Account) -> bool {
    if !super::admins::may_see(object.kind, account) {
        return false;
    }
    match object.kind.name {
        "scheduledtask" => account.sees_tasks,
        "view" => account.sees(object.text("name")),
        _ => object.kind.field("view").is_none() || account.sees(object.text("view")),
    }
}

fn passes(store: &Store, object: &Object, filter: &Filter) -> bool {
    let value = match &filter.target {
        Target::Field(field) => field_value(store, object, field.name),
        Target::Attribute(name) => {
            object.fields.get("extattrs").and_then(|map| map.get(name)?.get("value")).cloned()
        }
    };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = match value {
        None => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().map(text).collect(),
        Some(value) => vec![text(&value)],
    };
    filter.accepts(&values)
}

/// An object as a reply shows it.
pub(crate) fn show(store: &Store, object: &Object, fields: &[String]) -> Value {
    let mut shown = Map::new();
    shown.insert("_ref".to_owned(), reference::reference(store, object).into());
    for name in fields {
        let (top, member) = name.split_once('.').map_or((name.as_str(), None), |(top, m)| (top, Some(m)));
        let Some(value) = field_value(store, object, top).filter(|value| !is_omitted(value)) else {
            continue;
        };
        match member {
            Some(member) => show_member(&mut shown, top, &value, member),
            None => drop(shown.insert(top.to_owned(), value)),
        }
    }
    sorted(shown)
}

/// Empty texts are left out of replies, as on real grids.
fn is_omitted(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty)
}

/// Shows one member of every element of a list, beside those shown before.
fn show_member(shown: &mut Map<String, Value>, top: &str, value: &Value, member: &str) {
    let Some(elements) = value.as_array() else { return };
    let list = shown.entry(top).or_insert_with(|| elements.iter().map(|_| json!({})).collect());
    let Some(list) = list.as_array_mut() else { return };
    for (target, element) in list.iter_mut().zip(elements) {
        for key in ["_ref", member] {
            if let Some(value) = element.get(key) {
                target[key] = value.clone();
            }
        }
    }
}

/// Replies list members by name.
fn sorted(map: Map<String, Value>) -> Value {
    let ordered: std::collections::BTreeMap<String, Value> = map.into_iter().collect();
    ordered.into_iter().collect::<Map<_, _>>().into()
}

/// The value of a field as a read shows it: stored, computed or by default.
pub(crate) fn field_value(store: &Store, object: &Object, name: &str) -> Option<Value> {
    let view = object.text("view");
    match name {
        "parent" => store.parent_zone(object.text("fqdn"), view).map(|zone| zone.text("fqdn").into()),
        "dns_fqdn" | "display_domain" => Some(object.text("fqdn").into()),
        "dns_canonical" => Some(object.text("canonical").into()),
        "zone" if object.kind.is_record() => store.zone_of(object).map(Value::from),
        "soa_serial_number" => Some(store.revision().into()),
        "delegate_to" if object.list(name).is_empty() && !object.text("ns_group").is_empty() => {
            Some(Value::Null)
        }
        "changed_objects.name" => Some(
            object
                .list("changed_objects")
                .iter()
                .filter_map(|changed| changed.get("name"))
                .cloned()
                .collect(),
        ),
        "ipv4addrs" => addresses(store, object, name, "ipv4addr", 4),
        "ipv6addrs" => addresses(store, object, name, "ipv6addr", 6),
        "ipv4addr" | "ipv6addr" if object.kind.name == "record:host" => {
            let list = if name == "ipv4addr" { "ipv4addrs" } else { "ipv6addrs" };
            Some(object.list(list).iter().filter_map(|element| element.get(name)).cloned().collect())
        }
        _ => object.fields.get(name).cloned().or_else(|| object.kind.field(name)?.unset_value()),
    }
}

fn addresses(store: &Store, host: &Object, list: &str, key: &str, family: u8) -> Option<Value> {
    let show = |element: &Value| {
        let address = element.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut shown = element.as_object().cloned().unwrap_or_default();
        shown.insert("_ref".to_owned(), reference::host_address(store, host, address, family).into());
        sorted(shown)
    };
    host.fields.get(list)?.as_array().map(|elements| elements.iter().map(show).collect())
}

/// The schema of one type.
pub(crate) fn type_schema(kind: &ObjectType, version: &str) -> Value {
    let fields: Vec<Value> = kind
        .fields
        .iter()
        .map(|field| {
            let (type_name, is_array) = field.schema_type();
            json!({
                "name": field.name,
                "type": [type_name],
                "is_array": is_array,
                "supports": field.supports,
                "standard_field": field.base,
                "searchable_by": field.searchable_by,
            })
        })
        .collect();
    let missing = [('c', "create"), ('u', "update"), ('d', "delete")];
    let restrictions: Vec<&str> = missing
        .iter()
        .filter(|(letter, _)| !kind.operations.contains(*letter))
        .map(|(_, word)| *word)
        .collect();
    json!({
        "type": kind.name,
        "version": version,
        "schema_version": "2",
        "wapi_primitive": "object",
        "restrictions": restrictions,
        "cloud_additional_restrictions": ["all"],
        "fields": fields,
    })
}
