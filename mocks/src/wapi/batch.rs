//! The `request` object: several operations as one transaction, with state variables.

use super::account::Account;
use super::api::{self, Answer, Operation, Verb};
use super::error::WapiError;
use super::query;
use super::read;
use super::state::State;
use serde_json::{Map, Value};

/// Executes the operations in order; the first that fails takes all of them back.
pub(crate) fn execute(
    state: &mut State,
    account: &Account,
    request: &Operation,
) -> Result<Answer, WapiError> {
    if request.verb != Verb::Post {
        return Err(WapiError::Proto("Operation read not allowed for request".to_owned()));
    }
    if !request.args.is_empty() {
        return Err(WapiError::Proto("The request object takes no arguments".to_owned()));
    }
    let saved = (state.store.clone(), state.waiting.clone());
    let result = match &request.body {
        Some(Value::Array(operations)) => run_all(state, account, operations).map(Value::from),
        Some(operation) => Variables::default().run(state, account, operation).map(Option::unwrap_or_default),
        None => Err(WapiError::Proto("The request body is missing".to_owned())),
    };
    if result.is_err() {
        (state.store, state.waiting) = saved;
    }
    result.map(|body| Answer { status: 201, body })
}

fn run_all(state: &mut State, account: &Account, operations: &[Value]) -> Result<Vec<Value>, WapiError> {
    let mut variables = Variables::default();
    let mut results = Vec::new();
    for operation in operations {
        results.extend(variables.run(state, account, operation)?);
    }
    Ok(results)
}

/// The state variables of one batch.
#[derive(Default)]
struct Variables(Map<String, Value>);

impl Variables {
    /// Runs one operation; a discarded result is `None`.
    fn run(
        &mut self,
        state: &mut State,
        account: &Account,
        operation: &Value,
    ) -> Result<Option<Value>, WapiError> {
        let invalid = || WapiError::Proto("Invalid request operation".to_owned());
        let operation = operation.as_object().ok_or_else(invalid)?;
        let discard = operation.get("discard") == Some(&Value::Bool(true));
        let keep = |value| (!discard).then_some(value);
        let substitute = operation.get("enable_substitution") == Some(&Value::Bool(true));
        let filled = |member: &str| match operation.get(member) {
            Some(value) if substitute => self.fill(value).map(Some),
            value => Ok(value.cloned()),
        };
        let data = filled("data")?;
        let verb = match operation.get("method").and_then(Value::as_str).ok_or_else(invalid)? {
            "GET" => Verb::Get,
            "POST" => Verb::Post,
            "PUT" => Verb::Put,
            "DELETE" => Verb::Delete,
            "STATE:DISPLAY" => return Ok(keep(self.0.clone().into())),
            "STATE:ASSIGN" => {
                self.0.extend(data.and_then(|data| data.as_object().cloned()).unwrap_or_default());
                return Ok(None);
            }
            _ => return Err(invalid()),
        };
        let object = filled("object")?.ok_or_else(invalid)?;
        let object = super::reference::percent_decode(object.as_str().ok_or_else(invalid)?);
        if object == "request" {
            return Err(invalid());
        }
        let args = query::from_object(filled("args")?.as_ref());
        let answer = api::execute(state, account, &Operation { verb, object, args, body: data })?;
        if let Some(assignments) = operation.get("assign_state").and_then(Value::as_object) {
            self.assign(state, account, assignments, &answer.body);
        }
        Ok(keep(answer.body))
    }

    /// Replaces `##STATE:NAME:##` in every text. An unset variable fails the batch; the real text is unknown.
    fn fill(&self, value: &Value) -> Result<Value, WapiError> {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(elements) => elements.iter().map(|element| self.fill(element)).collect(),
            Value::Object(members) => {
                let filled = members.iter().map(|(key, member)| Ok((key.clone(), self.fill(member)?)));
                filled.collect::<Result<Map<_, _>, WapiError>>().map(Value::from)
            }
            other => Ok(other.clone()),
        }
    }

    fn fill_text(&self, text: &str) -> Result<Value, WapiError> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("##STATE:") {
            let (name, after) = after.split_once(":##").ok_or_else(WapiError::invalid_reference)?;
            let value = self.0.get(name);
            let value =
                value.ok_or_else(|| WapiError::Proto(format!("State variable '{name}' is not set")))?;
            if before.is_empty() && after.is_empty() && filled.is_empty() {
                return Ok(value.clone());
            }
            filled.push_str(before);
            filled.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled.into())
    }

    /// A search without result leaves the variables unset.
    fn assign(&mut self, state: &State, account: &Account, assignments: &Map<String, Value>, result: &Value) {
        let first = match result {
            Value::Array(found) => found.first(),
            other => Some(other.get("result").unwrap_or(other)),
        };
        let Some(first) = first else { return };
        let reference = first.as_str().or_else(|| first.get("_ref")?.as_str());
        for (name, source) in assignments {
            let source = source.as_str().unwrap_or_default();
            let value = match source {
                "_ref" => reference.map(Value::from),
                source => first.get(source).cloned().or_else(|| lookup(state, account, reference?, source)),
            };
            if let Some(value) = value {
                self.0.insert(name.clone(), value);
            }
        }
    }
}

/// A field, an attribute (`*Owner`) or a list element (`delegate_to[0]`) of an object.
fn lookup(state: &State, account: &Account, reference: &str, source: &str) -> Option<Value> {
    let decoded = super::reference::percent_decode(reference);
    let object = read::by_reference(&state.store, account, &decoded).ok()?;
    if let Some(attribute) = source.strip_prefix('*') {
        return object.fields.get("extattrs")?.get(attribute)?.get("value").cloned();
    }
    match source.strip_suffix(']').and_then(|source| source.split_once('[')) {
        Some((list, index)) => {
            read::field_value(&state.store, object, list)?.get(index.parse::<usize>().ok()?).cloned()
        }
        None => read::field_value(&state.store, object, source),
    }
}
