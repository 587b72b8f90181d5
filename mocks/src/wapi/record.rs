//! The rules of records: which zone they lie in, and which exclude each other.

use super::error::WapiError;
use super::name;
use super::store::Object;
use super::write::Writer;
use serde_json::{Map, Value};

/// Types whose names must comply with the grid's name policy.
const POLICED: [&str; 5] = ["record:a", "record:aaaa", "record:host", "record:mx", "record:ns"];

/// Checks a record that is about to be stored, and brings it into stored form.
pub(crate) fn checked(writer: &Writer<'_>, mut record: Object) -> Result<Map<String, Value>, WapiError> {
    if record.kind.name == "record:host" {
        name_addresses(&mut record)?;
        if !record.flag("configure_for_dns") {
            // A host outside DNS has no view; reads show a single blank.
            record.fields.insert("view".to_owned(), " ".into());
            return Ok(record.fields);
        }
    }
    let view = record.text("view");
    let answers = if record.kind.name == "record:dtclbdn" { "pattern" } else { "name" };
    let zone = writer
        .store
        .enclosing_zone(record.text(answers), view)
        .filter(|zone| zone.kind.name == "zone_auth" && writer.account.sees(view))
        .ok_or_else(WapiError::parent_not_found)?;
    let apex = zone.text("fqdn");
    if POLICED.contains(&record.kind.name) {
        name::check_policy(record.text("name"), apex)?;
    }
    if record.kind.name == "record:ns" && record.text("name") != apex {
        return Err(WapiError::Conflict("Cannot add a manual NS record".to_owned()));
    }
    if record.kind.name == "record:cname" && record.text("name") == apex {
        return Err(WapiError::Conflict(format!("Zone '{apex}' cannot have an empty CNAME.")));
    }
    writer.checked_rights(&record)?;
    super::zone::check_lock(writer, &record, None)?;
    check_neighbours(writer, &record)?;
    if !record.flag("use_ttl") {
        record.fields.remove("ttl");
    }
    Ok(record.fields)
}

fn check_neighbours(writer: &Writer<'_>, record: &Object) -> Result<(), WapiError> {
    let neighbours = writer.store.all().filter(|other| {
        other.kind.is_record()
            && other.id != record.id
            && other.text("name") == record.text("name")
            && other.text("view") == record.text("view")
    });
    for other in neighbours {
        let is_cname = |object: &Object| object.kind.name == "record:cname";
        let same = other.kind.name == record.kind.name && identity(other) == identity(record);
        if same || is_cname(other) || is_cname(record) {
            return Err(WapiError::record_exists(record.text("name")));
        }
    }
    Ok(())
}

/// What makes two records of one name and type the same.
fn identity(record: &Object) -> Vec<Option<&Value>> {
    let fields: &[&str] = match record.kind.name {
        "record:a" => &["ipv4addr"],
        "record:aaaa" => &["ipv6addr"],
        "record:txt" => &["text"],
        "record:ns" => &["nameserver"],
        "record:caa" => &["ca_flag", "ca_tag", "ca_value"],
        "record:naptr" => &["order", "preference", "replacement"],
        "record:ptr" => &["ptrdname"],
        "record:tlsa" => &["certificate_data"],
        "record:mx" => &["mail_exchanger", "preference"],
        "record:srv" => &["priority", "weight", "port", "target"],
        _ => &[],
    };
    fields.iter().map(|field| record.fields.get(*field)).collect()
}

/// Writes the host's name into its addresses, as reads show it.
fn name_addresses(host: &mut Object) -> Result<(), WapiError> {
    if host.list("ipv4addrs").is_empty() && host.list("ipv6addrs").is_empty() {
        return Err(WapiError::Proto("field for create missing: ipv4addrs".to_owned()));
    }
    let name = host.fields.get("name").cloned().unwrap_or_default();
    for field in ["ipv4addrs", "ipv6addrs"] {
        let Some(elements) = host.fields.get_mut(field).and_then(Value::as_array_mut) else { continue };
        for element in elements.iter_mut().filter_map(Value::as_object_mut) {
            element.insert("host".to_owned(), name.clone());
        }
    }
    Ok(())
}
