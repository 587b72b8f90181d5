//! Scheduled and approved writes: the reply names a task, and the object comes into being later.

use super::account::Account;
use super::api::{self, Answer, Operation, Verb};
use super::error::WapiError;
use super::query::Query;
use super::read;
use super::reference::reference;
use super::schema::object_type;
use super::state::State;
use serde_json::{Map, Value, json};

/// A write that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    account: Account,
    operation: Operation,
}

/// An object with a pending task is locked for other changes (NIOS guide).
pub(crate) fn check_pending(state: &State, operation: &Operation) -> Result<(), WapiError> {
    let on_it = |waiting: &Waiting| waiting.operation.object == operation.object;
    match operation.object.contains('/') && state.waiting.values().any(on_it) {
        true => Err(WapiError::Conflict(state.rules.pending_text.clone())),
        false => Ok(()),
    }
}

/// Turns a write into a task. What would be refused now is refused now.
pub(crate) fn schedule(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    query: &Query,
) -> Result<Answer, WapiError> {
    let changed = changed_object(state, account, operation);
    let saved = state.store.clone();
    let tried = api::write(state, account, operation, query);
    state.store = saved;
    let status = tried?.status;

    let kind = object_type("scheduledtask")?;
    let task_id = state.next_task_id();
    let (approval, execution) =
        if account.needs_approval { ("PENDING", "PENDING") } else { ("NONE", "WAITING_EXECUTION") };
    let Value::Object(mut fields) = json!({
        "task_id": task_id,
        "approval_status": approval,
        "execution_status": execution,
        "submitter": account.name,
        "changed_objects": [changed],
    }) else {
        return Err(WapiError::invalid_reference());
    };
    if let Some(time) = query.scheduled_time {
        fields.insert("scheduled_time".to_owned(), time.into());
    }
    let id = state.store.insert(kind, fields);
    state.waiting.insert(task_id, Waiting { account: account.clone(), operation: operation.clone() });
    let task = state.store.get(id).ok_or_else(WapiError::invalid_reference)?;
    Ok(Answer { status, body: reference(&state.store, task).into() })
}

/// What the task is about. How a real grid spells type and action is not known.
fn changed_object(state: &State, account: &Account, operation: &Operation) -> Value {
    let action = match operation.verb {
        Verb::Post => "Add",
        Verb::Put => "Modify",
        Verb::Delete | Verb::Get => "Delete",
    };
    let text = |fields: &Map<String, Value>| {
        let name = fields.get("fqdn").or_else(|| fields.get("name"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let stored = read::by_reference(&state.store, account, &operation.object).ok();
    let name = match (stored, &operation.body) {
        (Some(object), _) => text(&object.fields),
        (None, Some(Value::Object(body))) => text(body),
        (None, _) => String::new(),
    };
    let kind = operation.object.split('/').next().unwrap_or_default();
    json!({ "action": action, "name": name, "object_type": kind })
}

/// A PUT of `approval_status` on a task decides it.
pub(crate) fn decide_by_put(
    state: &mut State,
    account: &Account,
    operation: &Operation,
    body: &Map<String, Value>,
) -> Result<Option<Answer>, WapiError> {
    if !operation.object.starts_with("scheduledtask/") {
        return Ok(None);
    }
    let Some(decision) = body.get("approval_status").and_then(Value::as_str) else { return Ok(None) };
    let task = read::by_reference(&state.store, account, &operation.object)?;
    let task_id = task.fields.get("task_id").and_then(Value::as_u64).unwrap_or_default();
    decide(state, task_id, decision == "APPROVED", &account.name)?;
    let task = read::by_reference(&state.store, account, &operation.object)?;
    Ok(Some(Answer::ok(reference(&state.store, task).into())))
}

/// Approves and executes, or rejects, a waiting task.
pub(crate) fn decide(
    state: &mut State,
    task_id: u64,
    approved: bool,
    approver: &str,
) -> Result<(), WapiError> {
    let waiting = state.waiting.remove(&task_id);
    let waiting = waiting.ok_or_else(|| WapiError::Conflict(format!("Task {task_id} is not pending.")))?;
    let execution = if approved {
        let query = Query::parse(Vec::new())?;
        match api::write(state, &waiting.account, &waiting.operation, &query) {
            Ok(_) => "COMPLETED",
            Err(_) => "FAILED",
        }
    } else {
        "COMPLETED"
    };
    let task = state
        .store
        .of_type("scheduledtask")
        .find(|task| task.fields.get("task_id").and_then(Value::as_u64) == Some(task_id));
    let Some(mut task) = task.cloned() else { return Ok(()) };
    let approval = if approved { "APPROVED" } else { "REJECTED" };
    task.fields.insert("approval_status".to_owned(), approval.into());
    task.fields.insert("execution_status".to_owned(), execution.into());
    task.fields.insert("approver".to_owned(), approver.into());
    state.store.replace(task.id, task.fields);
    Ok(())
}
