//! Get and list.

use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::Kind;
use super::object::{Key, Object};
use super::request::{Format, Query, Target};
use super::selector::Selector;
use super::status::ApiError;
use super::store::Store;
use super::table::table;
use super::watch::render;
use super::write::from_stored;

pub(super) fn get(store: &Store, kind: &Kind, target: &Target, format: Format) -> Result<String, ApiError> {
    let key = Key::new(&target.namespace, &target.name);
    let object = store.get(kind, &key).ok_or_else(|| ApiError::not_found(kind, &target.name))?;
    if format == Format::Plain && !kind.converts() {
        return Ok(object.json.to_string());
    }
    Ok(render(kind, in_version(kind, &object), format))
}

/// An object in the version of the request.
pub(super) fn in_version(kind: &Kind, object: &Object) -> Value {
    let mut value = object.value();
    from_stored(kind, &mut value);
    value
}

pub(super) fn selector(kind: &Kind, target: &Target, query: &Query) -> Result<Selector, ApiError> {
    let mut fields = query.get("fieldSelector").to_owned();
    if !target.name.is_empty() {
        // A watch of one object by its path is a watch of its collection.
        fields = format!("{fields},metadata.name={}", target.name);
    }
    Selector::parse(kind, query.get("labelSelector"), &fields)
}

/// A page of a list.
struct Page {
    items: Vec<Arc<Object>>,
    resource_version: u64,
    next: Option<String>,
    remaining: Option<usize>,
}

pub(super) fn list(
    store: &mut Store,
    kind: &Kind,
    target: &Target,
    query: &Query,
    format: Format,
) -> Result<String, ApiError> {
    let page = page(store, kind, target, query)?;
    let mut metadata = json!({"resourceVersion": page.resource_version.to_string()});
    if let Some(next) = &page.next {
        metadata["continue"] = json!(next);
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    if let Format::Table(include) = format {
        let objects: Vec<Value> = page.items.iter().map(|object| in_version(kind, object)).collect();
        return Ok(table(kind, &objects, include, metadata).to_string());
    }
    let (list_kind, api_version) = match format {
        Format::MetadataOnly => ("PartialObjectMetadataList", "meta.k8s.io/v1".to_owned()),
        Format::Plain | Format::Table(_) => (kind.list_kind.as_str(), kind.api_version()),
    };
    let mut body = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        json!(list_kind),
        json!(api_version)
    );
    for (index, object) in page.items.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        if format == Format::Plain && !kind.converts() {
            body.push_str(&object.json);
        } else {
            body.push_str(&render(kind, in_version(kind, object), format));
        }
    }
    body.push_str("]}");
    Ok(body)
}

fn page(store: &mut Store, kind: &Kind, target: &Target, query: &Query) -> Result<Page, ApiError> {
    let selector = selector(kind, target, query)?;
    let revision = store.revision();
    let limit = query.number("limit")?.filter(|limit| *limit > 0).map_or(usize::MAX, |limit| limit as usize);
    let asked = query.number("resourceVersion")?.unwrap_or(0);
    if asked > revision {
        let message = format!("Timeout: Too large resource version: {asked}, current: {revision}");
        return Err(ApiError::new(504, "Timeout", message));
    }
    if query.get("resourceVersionMatch") == "Exact" && asked != revision {
        // Old states are not kept, as if they had been compacted at once.
        return Err(ApiError::new(
            410,
            "Expired",
            "The provided resource version is too old, list again without one.",
        ));
    }
    let token = query.get("continue");
    let (resource_version, after) = if token.is_empty() { (revision, None) } else { decode_token(token)? };
    let compacted = store.collection(kind).compacted;
    if resource_version < compacted {
        let message = "The provided continue parameter is too old to display a consistent list result.";
        return Err(ApiError::new(410, "Expired", message));
    }
    let collection = store.collection(kind);
    let mut left = collection
        .list(&target.namespace)
        .filter(|object| after.as_ref().is_none_or(|after| object.key > *after))
        .filter(|object| selector.matches(object));
    let items: Vec<Arc<Object>> = left.by_ref().take(limit).cloned().collect();
    let remaining = left.count();
    let last = items.last().filter(|_| remaining > 0);
    Ok(Page {
        next: last.map(|last| encode_token(resource_version, &last.key)),
        remaining: (remaining > 0 && selector.is_empty()).then_some(remaining),
        items,
        resource_version,
    })
}

/// Where the next page starts: later pages show the present state, under the version of the first.
fn encode_token(version: u64, key: &Key) -> String {
    hex::encode(json!([version, key.namespace, key.name]).to_string())
}

fn decode_token(token: &str) -> Result<(u64, Option<Key>), ApiError> {
    let parsed = hex::decode(token)
        .ok()
        .and_then(|bytes| serde_json::from_slice::<(u64, String, String)>(&bytes).ok());
    let (version, namespace, name) =
        parsed.ok_or_else(|| ApiError::bad_request("continue key is not valid"))?;
    Ok((version, Some(Key { namespace, name })))
}
