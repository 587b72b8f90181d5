//! Executes WAPI operations on the grid's state; knows nothing of HTTP.

use super::account::Account;
use super::error::WapiError;
use super::query::{self, Query};
use super::reference::reference;
use super::schema::{TYPES, object_type};
use super::state::{Page, State};
use super::write::Writer;
use super::{batch, function, host_address, read, task};
use serde_json::{Map, Value, json};

/// The methods of the WAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

/// One operation: what a request, or an element of a batch, asks for.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) verb: Verb,
    /// A type or a reference, percent-decoded once.
    pub(crate) object: String,
    pub(crate) args: Vec<(String, String)>,
    pub(crate) body: Option<Value>,
}

/// A successful result: the status and the JSON to send.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }
}

/// Executes an operation for an account. A refused operation changes nothing.
pub(crate) fn execute(
    state: &mut State,
    account: &Account,
    operation: &Operation,
) -> Result<Answer, WapiError> {
    if operation.object == "request" {
        return batch::execute(state, account, operation);
    }
    let mut args = operation.args.clone();
    if operation.verb == Verb::Get {
        args.extend(query::from_object(operation.body.as_ref()));
    }
    let query = Query::parse(args)?;
    if operation.object.is_empty() {
        return root_schema(state, &query);
    }
    if query.function.is_some() {
        return function::execute(state, account, operation, &query);
    }
    match operation.verb {
        Verb::Get => get(state, account, operation, &query),
        Verb::Post | Verb::Put | Verb::Delete => {
            task::check_pending(state, operation)?;
            if account.needs_approval || query.scheduled_time.is_some() {
                return task::schedule(state, account, operation, &query);
            }
            write(state, account, operation, &query)
        }
    }
}

fn root_schema(state: &State, query: &Query) -> Result<Answer, WapiError> {
    if !query.schema {
        return Err(WapiError::Proto("Unknown object type ()".to_owned()));
    }
    let mut objects: Vec<&str> = TYPES.iter().map(|kind| kind.name).chain(["request"]).collect();
    objects.sort_unstable();
    Ok(Answer::ok(json!({
        "requested_version": state.version,
        "supported_objects": objects,
        "supported_versions": state.versions(),
    })))
}

fn get(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    query: &Query,
) -> Result<Answer, WapiError> {
    let wrapped = |body: Value| if query.as_object { json!({ "result": body }) } else { body };
    if operation.object.contains('/') {
        let object = read::by_reference(&state.store, account, &operation.object)?;
        let fields = query.shown_fields(object.kind)?;
        return Ok(Answer::ok(wrapped(read::show(&state.store, object, &fields))));
    }
    let kind = object_type(&operation.object)?;
    state.refresh_restart_requests();
    if query.schema {
        return Ok(Answer::ok(read::type_schema(kind, &state.version)));
    }
    if let Some(page_id) = &query.page_id {
        return next_page(state, page_id);
    }
    let fields = query.shown_fields(kind)?;
    let mut ids = read::search(&state.store, account, kind, query)?;
    let limit = usize::try_from(query.max_results.unsigned_abs()).unwrap_or(usize::MAX);
    if query.paging {
        return Ok(Answer::ok(page(state, Page { ids, size: limit.clamp(1, 1000), fields })));
    }
    if ids.len() > limit {
        if query.max_results < 0 {
            return Err(WapiError::Proto(format!("Result set too large (> {limit})")));
        }
        ids.truncate(limit);
    }
    Ok(Answer::ok(wrapped(show_all(state, &ids, &fields))))
}

fn show_all(state: &State, ids: &[u64], fields: &[String]) -> Value {
    let objects = ids.iter().filter_map(|id| state.store.get(*id));
    objects.map(|object| read::show(&state.store, object, fields)).collect()
}

/// The first page of what is left; the rest is kept under a new page id.
fn page(state: &mut State, mut page: Page) -> Value {
    let rest = page.ids.split_off(page.size.min(page.ids.len()));
    let result = show_all(state, &page.ids, &page.fields);
    if rest.is_empty() {
        return json!({ "result": result });
    }
    let id = state.keep_page(Page { ids: rest, ..page });
    json!({ "next_page_id": id, "result": result })
}

fn next_page(state: &mut State, page_id: &str) -> Result<Answer, WapiError> {
    let kept = state.pages.get(page_id).cloned().ok_or_else(|| WapiError::invalid_value("_page_id"))?;
    Ok(Answer::ok(page(state, kept)))
}

/// Creates, updates or deletes, and answers with the reference.
pub(crate) fn write(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    query: &Query,
) -> Result<Answer, WapiError> {
    let empty = Map::new();
    let body = match &operation.body {
        Some(Value::Object(body)) => body,
        None => &empty,
        Some(_) => return Err(WapiError::Proto("The request body must be an object".to_owned())),
    };
    let is_reference = operation.object.contains('/');
    if let Verb::Put = operation.verb {
        if let Some(answer) = task::decide_by_put(state, account, operation, body)? {
            return Ok(answer);
        }
        if let Some(answer) = host_address::update(state, account, operation, body)? {
            return Ok(answer);
        }
    }
    let (status, id) = match (operation.verb, is_reference) {
        (Verb::Post, false) => {
            let kind = object_type(&operation.object)?;
            query_fields_exist(query, kind)?;
            (201, writer(state, account).create(kind, body)?)
        }
        (Verb::Put, true) => {
            let object = read::by_reference(&state.store, account, &operation.object)?;
            query_fields_exist(query, object.kind)?;
            let id = object.id;
            writer(state, account).update(id, body)?;
            (200, id)
        }
        (Verb::Delete, true) => {
            let object = read::by_reference(&state.store, account, &operation.object)?;
            let (id, gone) = (object.id, reference(&state.store, object));
            writer(state, account).delete(id)?;
            let gone = Value::from(gone);
            return Ok(Answer::ok(if query.as_object { json!({ "result": gone }) } else { gone }));
        }
        _ => return Err(WapiError::invalid_reference()),
    };
    if body.get("restart_if_needed") == Some(&Value::Bool(true)) {
        state.publish();
    }
    written(state, id, status, query)
}

fn written(state: &State, id: u64, status: u16, query: &Query) -> Result<Answer, WapiError> {
    let object = state.store.get(id).ok_or_else(WapiError::invalid_reference)?;
    let body = if query.wants_object() {
        read::show(&state.store, object, &query.shown_fields(object.kind)?)
    } else {
        reference(&state.store, object).into()
    };
    Ok(Answer { status, body: if query.as_object { json!({ "result": body }) } else { body } })
}

/// An unknown field in the reply's field list must refuse the write before it happens.
fn query_fields_exist(query: &Query, kind: &super::schema::ObjectType) -> Result<(), WapiError> {
    if query.wants_object() { query.shown_fields(kind).map(drop) } else { Ok(()) }
}

pub(crate) fn writer<'a>(state: &'a mut State, account: &'a Account) -> Writer<'a> {
    Writer { store: &mut state.store, account, rules: &state.rules }
}
