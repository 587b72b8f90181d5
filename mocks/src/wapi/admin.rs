//! Edits by hand, and a typed look at what is stored.

use super::account::Account;
use super::api::{self, Operation, Verb};
use super::error::WapiError;
use super::reference::percent_decode;
use super::state::State;
use super::store::Store;
use super::{task, types};
use serde_json::{Map, Value};
use std::fmt;

/// The grid as an administrator edits it by hand: as a superuser, without a request in the journal.
pub struct Admin<'a> {
    state: &'a mut State,
    account: Account,
}

impl fmt::Debug for Admin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("account", &self.account).finish_non_exhaustive()
    }
}

impl<'a> Admin<'a> {
    pub(crate) fn new(state: &'a mut State) -> Self {
        Self { state, account: Account::new("dns-team", "").superuser() }
    }

    pub(crate) fn state(&mut self) -> &mut State {
        self.state
    }

    /// Acts as an account of that name instead, for example to hold a lock.
    pub fn act_as(&mut self, name: &str) {
        self.account = Account::new(name, "").superuser();
    }

    /// Creates an object and returns its reference.
    ///
    /// # Errors
    /// What the grid refuses.
    pub fn create(&mut self, type_name: &str, fields: Value) -> Result<String, WapiError> {
        self.run(Verb::Post, type_name.to_owned(), Vec::new(), Some(fields)).map(into_text)
    }

    /// Changes fields of an object and returns its reference, which may be a new one.
    ///
    /// # Errors
    /// What the grid refuses.
    pub fn update(&mut self, reference: &str, fields: Value) -> Result<String, WapiError> {
        self.run(Verb::Put, percent_decode(reference), Vec::new(), Some(fields)).map(into_text)
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// What the grid refuses.
    pub fn delete(&mut self, reference: &str) -> Result<(), WapiError> {
        self.run(Verb::Delete, percent_decode(reference), Vec::new(), None).map(drop)
    }

    /// Searches as `GET /type?…` does; arguments such as `_return_fields` are allowed.
    ///
    /// # Errors
    /// What the grid refuses.
    pub fn find(&mut self, type_name: &str, arguments: &[(&str, &str)]) -> Result<Vec<Value>, WapiError> {
        let args = arguments.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        match self.run(Verb::Get, type_name.to_owned(), args, None)? {
            Value::Array(found) => Ok(found),
            other => Ok(vec![other]),
        }
    }

    /// The reference of a zone of any kind.
    ///
    /// # Errors
    /// `Reference … not found` when there is no such zone.
    pub fn zone_reference(&self, fqdn: &str, view: &str) -> Result<String, WapiError> {
        let zone = self.state.store.zones(view).find(|zone| zone.text("fqdn") == fqdn);
        let zone = zone.ok_or_else(|| WapiError::reference_not_found(fqdn))?;
        Ok(super::reference::reference(&self.state.store, zone))
    }

    /// Approves and executes a waiting task.
    ///
    /// # Errors
    /// When no such task waits.
    pub fn approve(&mut self, task_id: u64) -> Result<(), WapiError> {
        task::decide(self.state, task_id, true, &self.account.name)
    }

    /// Rejects a waiting task.
    ///
    /// # Errors
    /// When no such task waits.
    pub fn reject(&mut self, task_id: u64) -> Result<(), WapiError> {
        task::decide(self.state, task_id, false, &self.account.name)
    }

    fn run(
        &mut self,
        verb: Verb,
        object: String,
        args: Vec<(String, String)>,
        body: Option<Value>,
    ) -> Result<Value, WapiError> {
        let operation = Operation { verb, object, args, body };
        api::execute(self.state, &self.account, &operation).map(|answer| answer.body)
    }
}

fn into_text(value: Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// One entry of a delegation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameServer {
    /// The name server's name, without the final dot.
    pub name: String,
    /// Its address.
    pub address: String,
}

/// A stored `zone_delegated`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegation {
    /// The delegated zone, without the final dot.
    pub fqdn: String,
    /// The DNS view.
    pub view: String,
    /// The name servers, in stored order.
    pub delegate_to: Vec<NameServer>,
    /// The TTL, if the delegation has its own.
    pub delegated_ttl: Option<u64>,
    /// The comment, empty if there is none.
    pub comment: String,
    /// Whether the delegation is left out of DNS.
    pub disable: bool,
    /// Who holds the lock, if it is locked.
    pub locked_by: Option<String>,
    /// The name server group used instead of `delegate_to`.
    pub ns_group: Option<String>,
    /// The values of the extensible attributes.
    pub extattrs: Map<String, Value>,
}

impl Delegation {
    pub(crate) fn all(store: &Store) -> Vec<Self> {
        let mut all: Vec<Self> = store.of_type("zone_delegated").map(Self::of).collect();
        all.sort_by(|a, b| (&a.view, &a.fqdn).cmp(&(&b.view, &b.fqdn)));
        all
    }

    fn of(object: &super::store::Object) -> Self {
        let text =
            |element: &Value, key| element.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let server = |element| NameServer { name: text(element, "name"), address: text(element, "address") };
        let ttl = object.fields.get("delegated_ttl").and_then(Value::as_u64).unwrap_or(types::INHERITED_TTL);
        let attributes = object.fields.get("extattrs").and_then(Value::as_object);
        let value = |(name, attribute): (&String, &Value)| (name.clone(), attribute["value"].clone());
        Self {
            fqdn: object.text("fqdn").to_owned(),
            view: object.text("view").to_owned(),
            delegate_to: object.list("delegate_to").iter().map(server).collect(),
            delegated_ttl: object.flag("use_delegated_ttl").then_some(ttl),
            comment: object.text("comment").to_owned(),
            disable: object.flag("disable"),
            locked_by: some(object.text("locked_by")),
            ns_group: some(object.text("ns_group")),
            extattrs: attributes.into_iter().flatten().map(value).collect(),
        }
    }
}
