//! The rules of zones: one key space, parents found by name, and what a delegation does to records.

use super::error::WapiError;
use super::name;
use super::store::Object;
use super::write::Writer;
use serde_json::{Map, Value};

/// Checks a zone that is about to be stored, and brings it into stored form.
pub(crate) fn checked(writer: &Writer<'_>, mut zone: Object) -> Result<Map<String, Value>, WapiError> {
    let view = zone.text("view").to_owned();
    let is_forward = matches!(zone.text("zone_format"), "" | "FORWARD");
    let fqdn = if is_forward {
        name::normalise(zone.text("fqdn"))?
    } else {
        zone.text("fqdn").trim().to_lowercase()
    };
    zone.fields.insert("fqdn".to_owned(), fqdn.clone().into());

    let duplicate = writer.store.zones(&view).any(|other| other.id != zone.id && other.text("fqdn") == fqdn);
    if duplicate {
        return Err(WapiError::Conflict(format!(
            "Duplicate object '{fqdn}' of type zone exists in the database."
        )));
    }
    // A view that the account may not see looks like a view without the parent.
    if !writer.account.sees(&view) {
        return Err(WapiError::parent_not_found());
    }
    if zone.kind.name == "zone_delegated" {
        check_delegation(writer, &zone, is_forward)?;
    }
    writer.checked_rights(&zone)?;
    keep_lock_holder(writer, &mut zone);
    if !zone.flag("use_delegated_ttl") {
        // Without its flag the value is ignored; a read shows the inherited one.
        zone.fields.remove("delegated_ttl");
    }
    zone.fields.remove("restart_if_needed");
    Ok(zone.fields)
}

fn check_delegation(writer: &Writer<'_>, zone: &Object, is_forward: bool) -> Result<(), WapiError> {
    let uses_group = !zone.text("ns_group").is_empty();
    let servers = zone.list("delegate_to");
    let is_new = zone.id == 0;
    if !zone.fields.contains_key("delegate_to") && !uses_group {
        return Err(WapiError::Proto("field for create missing: delegate_to".to_owned()));
    }
    if servers.is_empty() && !uses_group && (is_new || !writer.rules.accepts_empty_delegate_to) {
        return Err(WapiError::invalid_value("delegate_to"));
    }
    let twice = servers.iter().enumerate().any(|(index, server)| servers[..index].contains(server));
    if twice && !writer.rules.accepts_duplicate_server {
        return Err(WapiError::invalid_value("delegate_to"));
    }
    if !is_forward {
        return Ok(());
    }
    match writer.store.parent_zone(zone.text("fqdn"), zone.text("view")) {
        Some(parent) if parent.kind.name == "zone_auth" => Ok(()),
        Some(parent)
            if parent.kind.name == "zone_delegated" && writer.rules.accepts_delegation_below_delegation =>
        {
            Ok(())
        }
        _ => Err(WapiError::parent_not_found()),
    }
}

/// A delegation makes the records at and below its name disappear, even when it is disabled.
pub(crate) fn created(writer: &mut Writer<'_>, id: u64) {
    let Some(zone) = writer.store.get(id) else { return };
    if zone.kind.name == "zone_auth" {
        return;
    }
    let (fqdn, view) = (zone.text("fqdn").to_owned(), zone.text("view").to_owned());
    for record in writer.store.records_within(&fqdn, &view) {
        // Records of an authoritative zone below the delegation stay.
        let own_zone = writer.store.get(record).and_then(|record| writer.store.zone_of(record));
        if own_zone.as_deref() == Some(fqdn.as_str()) {
            writer.store.remove(record);
        }
    }
}

/// A zone takes its records along, and an authoritative zone the delegations that it is the parent of.
pub(crate) fn deleted(writer: &mut Writer<'_>, zone: &Object) {
    let (fqdn, view) = (zone.text("fqdn"), zone.text("view"));
    for record in writer.store.records_within(fqdn, view) {
        let own_zone = writer.store.get(record).and_then(|record| writer.store.zone_of(record));
        if own_zone.as_deref() == Some(fqdn) {
            writer.store.remove(record);
        }
    }
    let orphans: Vec<u64> = writer
        .store
        .zones(view)
        .filter(|child| child.kind.name != "zone_auth")
        .filter(|child| writer.store.parent_zone(child.text("fqdn"), view).is_some_and(|p| p.id == zone.id))
        .map(|child| child.id)
        .collect();
    for orphan in orphans {
        writer.store.remove(orphan);
    }
}

/// Refuses a change to a zone that someone else has locked; a superuser may lift the lock.
pub(crate) fn check_lock(
    writer: &Writer<'_>,
    object: &Object,
    change: Option<&Map<String, Value>>,
) -> Result<(), WapiError> {
    let zone = if object.kind.is_record() {
        writer.store.enclosing_zone(object.text("name"), object.text("view"))
    } else {
        Some(object)
    };
    let Some(zone) = zone.filter(|zone| zone.kind.is_zone() && zone.flag("locked")) else { return Ok(()) };
    if zone.text("locked_by") == writer.account.name {
        return Ok(());
    }
    let only_unlocks =
        change.is_some_and(|body| body.len() == 1 && body.get("locked") == Some(&Value::Bool(false)));
    if only_unlocks && writer.account.superuser {
        return Ok(());
    }
    Err(WapiError::Conflict(writer.rules.locked_text.clone()))
}

/// `locked_by` follows `locked`.
fn keep_lock_holder(writer: &Writer<'_>, zone: &mut Object) {
    if !zone.flag("locked") {
        zone.fields.remove("locked_by");
    } else if zone.text("locked_by").is_empty() {
        zone.fields.insert("locked_by".to_owned(), writer.account.name.clone().into());
    }
}

/// Objects name their view, so a new name reaches all of them.
pub(crate) fn view_renamed(writer: &mut Writer<'_>, id: u64, fields: &Map<String, Value>) {
    let Some(old) = writer.store.get(id).map(|view| view.text("name").to_owned()) else { return };
    let Some(new) = fields.get("name").filter(|name| name.as_str() != Some(&old)).cloned() else { return };
    let inside: Vec<Object> =
        writer.store.all().filter(|object| object.text("view") == old).cloned().collect();
    for mut object in inside {
        object.fields.insert("view".to_owned(), new.clone());
        writer.store.replace(object.id, object.fields);
    }
}

pub(crate) fn check_view_is_unused(writer: &Writer<'_>, view: &Object) -> Result<(), WapiError> {
    let name = view.text("name");
    if view.flag("is_default") || writer.store.zones(name).next().is_some() {
        return Err(WapiError::Conflict(format!("Cannot delete the DNS view '{name}'. It is in use.")));
    }
    Ok(())
}
