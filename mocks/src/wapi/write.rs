//! Creates, updates and deletes objects, by the rules of the grid.

use super::account::{Account, Rules};
use super::error::WapiError;
use super::schema::{Field, ObjectType};
use super::store::{Object, Store};
use super::{record, value, zone};
use serde_json::{Map, Value};

/// One administrator's access to the database, under the rules of the grid.
pub(crate) struct Writer<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) account: &'a Account,
    pub(crate) rules: &'a Rules,
}

impl Writer<'_> {
    /// Creates an object and returns its id.
    pub(crate) fn create(
        &mut self,
        kind: &'static ObjectType,
        body: &Map<String, Value>,
    ) -> Result<u64, WapiError> {
        self.check_operation(kind, 'c', "create")?;
        let mut fields = Map::new();
        for (name, sent) in body {
            let field = kind.field(name).ok_or_else(|| WapiError::unknown_field(name))?;
            if !field.supports('w') {
                return Err(WapiError::not_writable(name));
            }
            set(&mut fields, field, value::normalise(field, sent)?);
        }
        self.check_attributes(&fields)?;
        self.check_definition_rights(kind, fields.get("name"))?;
        if let Some(missing) =
            kind.fields.iter().find(|field| field.required && !fields.contains_key(field.name))
        {
            return Err(WapiError::Proto(format!("field for create missing: {}", missing.name)));
        }
        self.check_mandatory(kind, &fields)?;
        self.resolve_view(kind, &mut fields)?;
        let candidate = Object { id: 0, kind, fields };
        let fields = self.checked(candidate)?;
        let id = self.store.insert(kind, fields);
        if kind.is_zone() {
            zone::created(self, id);
        }
        Ok(id)
    }

    /// Changes the given fields of an object: lists and `extattrs` are replaced whole.
    pub(crate) fn update(&mut self, id: u64, body: &Map<String, Value>) -> Result<(), WapiError> {
        let Some(mut object) = self.store.get(id).cloned() else { return Ok(()) };
        self.check_operation(object.kind, 'u', "update")?;
        if self.rules.forgets_updates && object.kind.name == "zone_delegated" {
            return Ok(());
        }
        zone::check_lock(self, &object, Some(body))?;
        for (name, sent) in body {
            if let Some((list, sign)) = incremental(name) {
                let field = object.kind.field(list).ok_or_else(|| WapiError::unknown_field(name))?;
                change_members(&mut object.fields, field, sign, sent)?;
                continue;
            }
            let field = object.kind.field(name).ok_or_else(|| WapiError::unknown_field(name))?;
            if !field.supports('u') {
                let refused = if field.supports('w') {
                    WapiError::Proto(format!("Field is not allowed for update: {name}"))
                } else {
                    WapiError::not_writable(name)
                };
                return Err(refused);
            }
            if name == "view" && object.kind.name == "zone_auth" && sent.as_str() != Some(object.text("view"))
            {
                return Err(WapiError::Conflict("Cannot move zones between views".to_owned()));
            }
            set(&mut object.fields, field, value::normalise(field, sent)?);
        }
        self.check_attributes(&object.fields)?;
        self.check_definition_rights(object.kind, object.fields.get("name"))?;
        self.resolve_view(object.kind, &mut object.fields)?;
        let (kind, fields) = (object.kind, self.checked(object)?);
        if kind.name == "view" {
            zone::view_renamed(self, id, &fields);
        }
        self.store.replace(id, fields);
        Ok(())
    }

    /// Deletes an object and what cannot live without it.
    pub(crate) fn delete(&mut self, id: u64) -> Result<(), WapiError> {
        let Some(object) = self.store.get(id).cloned() else { return Ok(()) };
        self.check_operation(object.kind, 'd', "delete")?;
        zone::check_lock(self, &object, None)?;
        self.check_definition_rights(object.kind, object.fields.get("name"))?;
        self.checked_rights(&object)?;
        match object.kind.name {
            "extensibleattributedef" => self.forget_attribute(object.text("name")),
            "view" => zone::check_view_is_unused(self, &object)?,
            _ => {}
        }
        if object.kind.is_zone() {
            zone::deleted(self, &object);
        }
        self.store.remove(id);
        Ok(())
    }

    fn check_operation(&self, kind: &ObjectType, letter: char, word: &str) -> Result<(), WapiError> {
        if !kind.operations.contains(letter) {
            return Err(WapiError::Proto(format!("Operation {word} not allowed for {}", kind.name)));
        }
        if self.rules.read_only_candidate {
            return Err(WapiError::Conflict("The Grid Master Candidate is read-only.".to_owned()));
        }
        Ok(())
    }

    /// A missing permission is a conflict, and its text names what was lacking.
    pub(crate) fn checked_rights(&self, object: &Object) -> Result<(), WapiError> {
        if self.account.may_write {
            return Ok(());
        }
        let what = if object.kind.is_record() {
            let rtype = object.kind.name.trim_start_matches("record:").to_uppercase();
            let zone = self.store.zone_of(object).unwrap_or_default();
            format!("the resource record type '{rtype}' in the zone '{zone}'")
        } else if object.kind.is_zone() {
            format!("the zone '{}'", object.text("fqdn"))
        } else {
            format!("the object '{}'", object.text("name"))
        };
        Err(WapiError::Conflict(format!("Write permission for {what} is required for this operation.")))
    }

    /// Attributes flagged `M`: enforced only by the grid's own pages, unless the rules say otherwise.
    fn check_mandatory(&self, kind: &ObjectType, fields: &Map<String, Value>) -> Result<(), WapiError> {
        if !self.rules.enforces_mandatory_attributes || !(kind.is_zone() || kind.is_record()) {
            return Ok(());
        }
        let has =
            |name: &str| fields.get("extattrs").is_some_and(|attributes| attributes.get(name).is_some());
        let missing = self
            .store
            .of_type("extensibleattributedef")
            .find(|definition| definition.text("flags").contains('M') && !has(definition.text("name")));
        match missing {
            Some(definition) => Err(WapiError::Conflict(format!(
                "The extensible attribute '{}' is required.",
                definition.text("name")
            ))),
            None => Ok(()),
        }
    }

    fn check_definition_rights(&self, kind: &ObjectType, name: Option<&Value>) -> Result<(), WapiError> {
        if kind.name != "extensibleattributedef" || self.account.superuser {
            return Ok(());
        }
        let name = name.and_then(Value::as_str).unwrap_or_default();
        Err(WapiError::Conflict(format!(
            "Cannot create extensible attribute definition '{name}'. Only superusers can manage extensible attribute \
             definition"
        )))
    }

    /// Fills in the default view and refuses one that does not exist.
    fn resolve_view(&self, kind: &ObjectType, fields: &mut Map<String, Value>) -> Result<(), WapiError> {
        if kind.field("view").is_none() {
            return Ok(());
        }
        let without_dns =
            kind.name == "record:host" && fields.get("configure_for_dns") == Some(&Value::Bool(false));
        let view = fields.entry("view").or_insert_with(|| "default".into());
        let view = view.as_str().unwrap_or_default();
        if self.store.view(view).is_none() && !without_dns {
            return Err(WapiError::view_not_found(view));
        }
        Ok(())
    }

    /// Applies the rules of the type; the result is what is stored.
    fn checked(&self, object: Object) -> Result<Map<String, Value>, WapiError> {
        if object.kind.is_zone() {
            return zone::checked(self, object);
        }
        if object.kind.is_record() {
            return record::checked(self, object);
        }
        self.checked_rights(&object)?;
        let twin = self.store.of_type(object.kind.name).any(|other| {
            other.id != object.id
                && !object.text("name").is_empty()
                && other.text("name") == object.text("name")
        });
        if twin {
            let (name, kind) = (object.text("name"), object.kind.name);
            return Err(WapiError::Conflict(format!(
                "Duplicate object '{name}' of type {kind} exists in the database."
            )));
        }
        Ok(object.fields)
    }

    fn check_attributes(&self, fields: &Map<String, Value>) -> Result<(), WapiError> {
        let Some(attributes) = fields.get("extattrs").and_then(Value::as_object) else { return Ok(()) };
        let defined =
            |name: &str| self.store.of_type("extensibleattributedef").any(|d| d.text("name") == name);
        if let Some(unknown) = attributes.keys().find(|name| !defined(name)) {
            return Err(WapiError::unknown_attribute(unknown));
        }
        let numbers = self.store.of_type("extensibleattributedef").filter(|d| d.text("type") == "INTEGER");
        for definition in numbers {
            let value = attributes.get(definition.text("name")).map(|attribute| &attribute["value"]);
            if value.is_some_and(|value| value.as_i64().is_none()) {
                // The real text is not known.
                return Err(WapiError::invalid_value(definition.text("name")));
            }
        }
        Ok(())
    }

    /// Deleting a definition wipes its values everywhere.
    fn forget_attribute(&mut self, name: &str) {
        let carriers: Vec<Object> = self
            .store
            .all()
            .filter(|object| object.fields.get("extattrs").is_some_and(|map| map.get(name).is_some()))
            .cloned()
            .collect();
        for mut object in carriers {
            if let Some(map) = object.fields.get_mut("extattrs").and_then(Value::as_object_mut) {
                map.remove(name);
            }
            self.store.replace(object.id, object.fields);
        }
    }
}

/// Stores a value; `Null` clears the field.
fn set(fields: &mut Map<String, Value>, field: &Field, value: Value) {
    if value.is_null() {
        fields.remove(field.name);
    } else {
        fields.insert(field.name.to_owned(), value);
    }
}

/// `extattrs+` → (`extattrs`, `+`), for the fields that have such forms.
fn incremental(name: &str) -> Option<(&str, char)> {
    let sign = name.chars().last().filter(|c| matches!(c, '+' | '-'))?;
    let field = &name[..name.len() - 1];
    matches!(field, "extattrs" | "ipv4addrs" | "ipv6addrs" | "aliases").then_some((field, sign))
}

/// Adds members to, or takes members from, a map or list.
fn change_members(
    fields: &mut Map<String, Value>,
    field: &Field,
    sign: char,
    sent: &Value,
) -> Result<(), WapiError> {
    if field.name == "extattrs" {
        let stored = fields.entry("extattrs").or_insert_with(|| Map::new().into());
        let Some(stored) = stored.as_object_mut() else { return Ok(()) };
        if sign == '+' {
            if let Value::Object(added) = value::normalise(field, sent)? {
                stored.extend(added);
            }
            return Ok(());
        }
        let removed = sent.as_object().ok_or_else(|| WapiError::invalid_value("extattrs"))?;
        stored.retain(|name, _| !removed.contains_key(name));
        return Ok(());
    }
    let Value::Array(sent) = value::normalise(field, sent)? else { return Ok(()) };
    let stored = fields.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
    let Some(stored) = stored.as_array_mut() else { return Ok(()) };
    stored.retain(|element| !sent.iter().any(|other| same_element(element, other)));
    if sign == '+' {
        stored.extend(sent);
    }
    Ok(())
}

/// Elements of host records are the same if their addresses are.
fn same_element(left: &Value, right: &Value) -> bool {
    let address = |element: &Value| element.get("ipv4addr").or_else(|| element.get("ipv6addr")).cloned();
    match (address(left), address(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}
