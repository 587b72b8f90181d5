//! Create, update, patch, delete: from the request to the write pipeline.

use std::sync::Arc;

use axum::http::header;
use serde_json::{Value, json};

use super::handler::{Asked, Reply, user_agent};
use super::kinds::Kind;
use super::managed::{self, Writer};
use super::object::{self, Key};
use super::patch;
use super::protobuf;
use super::read::{in_version, selector};
use super::request::{Format, delete_options, parse_body};
use super::status::{ApiError, Cause};
use super::store::Store;
use super::watch::render;
use super::write::{Ownership, Write, Written, from_stored, to_stored};

pub(super) fn answer(
    asked: &Asked<'_>,
    store: &mut Store,
    kind: Arc<Kind>,
    format: Format,
) -> Result<Reply, ApiError> {
    let content_type = content_type(asked);
    let patch_type = if asked.verb == "patch" { content_type.as_str() } else { "" };
    if asked.verb != "patch" && !asked.body.is_empty() && !BODIES.contains(&content_type.as_str()) {
        return Err(ApiError::unsupported_media_type(&BODIES[1..]));
    }
    let body = parse_body(asked.body)?;
    let write = describe(asked, kind, patch_type == APPLY);
    let (code, written) = match asked.verb {
        "create" => (201, store.create(&write, body, Ownership::Record)?),
        "update" => update(store, &write, body)?,
        "patch" if patch_type == APPLY => apply(asked, store, &write, &body)?,
        "patch" => (200, patch_in_place(asked, store, &write, patch_type, body)?),
        "delete" => return delete(asked, store, &write, &body),
        _ => return delete_collection(asked, store, &write, &body),
    };
    let mut value = written.value;
    from_stored(&write.kind, &mut value);
    let body = if format == Format::Plain { value.to_string() } else { render(&write.kind, value, format) };
    Ok(Reply::Json { code, body, warnings: written.warnings })
}

/// Media types of whole objects; none at all counts as JSON.
const BODIES: [&str; 4] = ["", "application/json", "application/yaml", protobuf::MEDIA_TYPE];
/// Built-in kinds that a PUT creates.
const CREATED_BY_UPDATE: [&str; 4] = ["leases", "events", "services", "endpoints"];
/// Kinds whose PUT must name the version that it replaces; custom resources are of them.
const GUARDED: [&str; 2] = ["leases", "customresourcedefinitions"];
const APPLY: &str = "application/apply-patch+yaml";

fn content_type(asked: &Asked<'_>) -> String {
    let header =
        asked.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_owned()
}

fn describe(asked: &Asked<'_>, kind: Arc<Kind>, applies: bool) -> Write {
    let manager = match asked.query.get("fieldManager") {
        "" => user_agent(asked.headers).split('/').next().unwrap_or_default(),
        named => named,
    };
    Write {
        key: Key::new(&asked.target.namespace, &asked.target.name),
        status_only: asked.target.subresource == "status",
        writer: Writer {
            manager: if manager.is_empty() { "unknown" } else { manager }.into(),
            applies,
            api_version: kind.api_version(),
            subresource: asked.target.subresource.clone(),
        },
        dry_run: asked.query.dry_run(),
        validation: asked.query.field_validation(),
        kind,
    }
}

fn stored(store: &Store, write: &Write) -> Result<Value, ApiError> {
    let found = store.get(&write.kind, &write.key);
    found.map(|object| object.value()).ok_or_else(|| ApiError::not_found(&write.kind, &write.key.name))
}

fn update(store: &mut Store, write: &Write, body: Value) -> Result<(u16, Written), ApiError> {
    let kind = &write.kind;
    let Some(before) = store.get(kind, &write.key) else {
        let creates = CREATED_BY_UPDATE.contains(&kind.plural.as_str()) && !write.status_only;
        return match creates && !kind.custom {
            true => Ok((201, store.create(write, body, Ownership::Record)?)),
            false => Err(ApiError::not_found(kind, &write.key.name)),
        };
    };
    let unguarded =
        object::resource_version(&body).is_empty() && ["", &before.uid].contains(&object::uid(&body));
    if unguarded && (kind.custom || GUARDED.contains(&kind.plural.as_str())) {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        return Err(ApiError::invalid(kind, &write.key.name, &[cause]));
    }
    Ok((200, store.update(write, &before.value(), body, Ownership::Record)?))
}

fn patch_in_place(
    asked: &Asked<'_>,
    store: &mut Store,
    write: &Write,
    patch_type: &str,
    body: Value,
) -> Result<Written, ApiError> {
    if asked.query.choice("force").is_some() {
        let message = "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch";
        return Err(ApiError::new(422, "Invalid", message));
    }
    let before = stored(store, write)?;
    let mut after = before.clone();
    from_stored(&write.kind, &mut after);
    match patch_type {
        "application/json-patch+json" => patch::json_patch(&mut after, body)?,
        "application/merge-patch+json" => patch::merge_patch(&mut after, &body),
        "application/strategic-merge-patch+json" if !write.kind.custom => {
            patch::strategic_merge(&write.kind.schema.root, &mut after, &body);
        }
        _ => {
            let strategic = (!write.kind.custom).then_some("application/strategic-merge-patch+json");
            let accepted = ["application/json-patch+json", "application/merge-patch+json", APPLY];
            let accepted: Vec<&str> = accepted.into_iter().chain(strategic).collect();
            return Err(ApiError::unsupported_media_type(&accepted));
        }
    }
    store.update(write, &before, after, Ownership::Record)
}

fn apply(
    asked: &Asked<'_>,
    store: &mut Store,
    write: &Write,
    config: &Value,
) -> Result<(u16, Written), ApiError> {
    if asked.query.get("fieldManager").is_empty() {
        let message = "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
        return Err(ApiError::new(422, "Invalid", message));
    }
    store.apply(write, config, asked.query.flag("force"))
}

impl Store {
    /// Server-side apply, creating what is not there; with the HTTP status that tells which it was.
    pub(super) fn apply(
        &mut self,
        write: &Write,
        config: &Value,
        force: bool,
    ) -> Result<(u16, Written), ApiError> {
        let kind = &write.kind;
        let before = self.get(kind, &write.key).map(|object| object.value());
        if before.is_none() && write.status_only {
            return Err(ApiError::not_found(kind, &write.key.name));
        }
        if config["metadata"]["managedFields"].as_array().is_some_and(|list| !list.is_empty()) {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        let mut config = config.clone();
        check_declared(kind, &config)?;
        if before.is_none() && !object::uid(&config).is_empty() {
            let detail = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object::uid(&config)
            );
            return Err(ApiError::conflict(kind, &write.key.name, &detail));
        }
        if before.is_none() && object::name(&config).is_empty() {
            let message = format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                write.key.name
            );
            return Err(ApiError::bad_request(message));
        }
        if config["kind"] == kind.kind && config["apiVersion"] == kind.api_version() {
            to_stored(kind, &mut config);
        }
        let live = before.clone().unwrap_or_else(|| json!({}));
        let ignored = write.ignored(&config);
        let ignored: Vec<&str> = ignored.iter().map(String::as_str).collect();
        let mut after = managed::apply(&kind.schema.root, &live, &config, &write.writer, force, &ignored)?;
        if after["apiVersion"] == kind.stored_api_version() {
            from_stored(kind, &mut after);
        }
        match before {
            Some(before) => Ok((200, self.update(write, &before, after, Ownership::Done)?)),
            None => Ok((201, self.create(write, after, Ownership::Done)?)),
        }
    }
}

/// Apply needs a type for each field, so an unknown one is an error whatever the validation.
fn check_declared(kind: &Kind, config: &Value) -> Result<(), ApiError> {
    if !kind.custom {
        return Ok(());
    }
    let unknown = kind.schema.prune(&mut config.clone());
    if unknown.is_empty() {
        return Ok(());
    }
    let fields: Vec<String> =
        unknown.iter().map(|field| format!(".{field}: field not declared in schema")).collect();
    let place = format!("{}/{}", object::namespace(config), object::name(config));
    let message = format!(
        "failed to create typed patch object ({place}; {}, Kind={}): {}",
        kind.api_version(),
        kind.kind,
        fields.join("\n")
    );
    Err(ApiError::new(500, "", message))
}

fn delete(asked: &Asked<'_>, store: &mut Store, write: &Write, body: &Value) -> Result<Reply, ApiError> {
    let write = Write { dry_run: write.dry_run || is_dry_run(body), ..write.clone() };
    let (mut value, gone) = store.delete(&write, &delete_options(body, asked.query))?;
    if !gone {
        from_stored(&write.kind, &mut value);
        return Ok(Reply::ok(value.to_string()));
    }
    let kind = &write.kind;
    let details =
        json!({"name": write.key.name, "group": kind.group, "kind": kind.plural, "uid": object::uid(&value)});
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    Ok(Reply::ok(status.to_string()))
}

fn is_dry_run(body: &Value) -> bool {
    body["dryRun"].as_array().is_some_and(|list| list.iter().any(|entry| entry == "All"))
}

fn delete_collection(
    asked: &Asked<'_>,
    store: &mut Store,
    write: &Write,
    body: &Value,
) -> Result<Reply, ApiError> {
    let kind = &write.kind;
    let selector = selector(kind, asked.target, asked.query)?;
    let chosen: Vec<_> = store
        .collection(kind)
        .list(&write.key.namespace)
        .filter(|object| selector.matches(object))
        .cloned()
        .collect();
    let options = delete_options(body, asked.query);
    let mut items = Vec::new();
    for object in chosen {
        items.push(in_version(kind, &object));
        let one =
            Write { key: object.key.clone(), dry_run: write.dry_run || is_dry_run(body), ..write.clone() };
        store.delete(&one, &options)?;
    }
    let metadata = json!({"resourceVersion": store.revision().to_string()});
    let list = json!({"kind": kind.list_kind, "apiVersion": kind.api_version(), "metadata": metadata, "items": items});
    Ok(Reply::ok(list.to_string()))
}
