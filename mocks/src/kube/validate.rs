//! Checks of values against a structural schema, in the words of kube-apiserver.

use serde_json::Value;

use super::schema::Schema;
use super::status::Cause;
use super::typed::field_schema;

pub(super) fn check(schema: &Schema, object: &Value) -> Vec<Cause> {
    let mut check = Check { schema, causes: Vec::new() };
    check.value(&schema.root, object, "");
    check.causes
}

/// The checks that every kind gets: names, labels and references must be well-formed.
pub(super) fn check_metadata(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = super::object::name(object);
    let is_name = |name: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        name.len() <= 253
            && name.split('.').all(|label| {
                edge(label.chars().next())
                    && edge(label.chars().last())
                    && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            })
    };
    if name.is_empty() {
        causes.push(Cause {
            reason: "FieldValueRequired",
            field: "metadata.name".into(),
            message: "Required value: name or generateName is required".into(),
        });
    } else if !is_name(name) {
        causes.push(Cause::invalid(
            "metadata.name",
            &object["metadata"]["name"],
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end \
             with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
    for (index, owner) in super::object::owner_references(object).enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().is_none_or(str::is_empty) {
                let field = format!("metadata.ownerReferences[{index}].{field}");
                let message = "Required value: must not be empty".into();
                causes.push(Cause { reason: "FieldValueRequired", field, message });
            }
        }
    }
    check_labels(&object["metadata"]["labels"], &mut causes);
    causes
}

/// New finalizers without a domain work, but Kubernetes advises against them.
pub(super) fn finalizer_warnings(object: &Value, before: Option<&Value>) -> Vec<String> {
    let mut known = before.map(super::object::finalizers).unwrap_or_default();
    known.extend(["foregroundDeletion", "orphan", "kubernetes"].map(str::to_owned));
    let bare = super::object::finalizers(object).into_iter().filter(|finalizer| !finalizer.contains('/'));
    bare.filter(|finalizer| !known.contains(finalizer))
        .map(|finalizer| {
            format!(
                "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name to avoid accidental \
                 conflicts with other finalizer writers"
            )
        })
        .collect()
}

fn check_labels(labels: &Value, causes: &mut Vec<Cause>) {
    let is_part = |text: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        text.len() <= 63
            && edge(text.chars().next())
            && edge(text.chars().last())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    for (key, value) in labels.as_object().into_iter().flatten() {
        if !is_part(key.split_once('/').map_or(key, |(_, name)| name)) {
            let detail = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                          with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
                          validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
            causes.push(Cause::invalid("metadata.labels", &Value::from(key.as_str()), detail));
        }
        if value.as_str().is_some_and(|text| !text.is_empty() && !is_part(text)) {
            let detail = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value', \
                          or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
            causes.push(Cause::invalid("metadata.labels", value, detail));
        }
    }
}

struct Check<'s> {
    schema: &'s Schema,
    causes: Vec<Cause>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, path: &str) {
        if value.is_null() && schema["nullable"] == true {
            return;
        }
        if !self.has_type(schema, value, path) {
            return;
        }
        self.allowed(schema, value, path);
        match value {
            Value::Object(map) => self.object(schema, map, path),
            Value::Array(list) => self.array(schema, list, path),
            Value::String(text) => self.text(schema, text, path),
            Value::Number(number) => self.number(schema, number.as_f64().unwrap_or_default(), path),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn has_type(&mut self, schema: &Value, value: &Value, path: &str) -> bool {
        if schema["x-kubernetes-int-or-string"] == true {
            let fits = value.is_string() || value.is_i64() || value.is_u64();
            if !fits {
                self.wrong_type("integer,string", value, path);
            }
            return fits;
        }
        let Some(expected) = schema["type"].as_str() else { return true };
        let fits = match expected {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
            }
            "number" => value.is_number(),
            _ => true,
        };
        if !fits {
            self.wrong_type(expected, value, path);
        }
        fits
    }

    fn wrong_type(&mut self, expected: &str, value: &Value, path: &str) {
        let found = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Null => "null",
        };
        self.causes.push(Cause {
            reason: "FieldValueTypeInvalid",
            field: path.into(),
            message: format!(
                "Invalid value: {found:?}: {path} in body must be of type {expected}: {found:?}"
            ),
        });
    }

    fn allowed(&mut self, schema: &Value, value: &Value, path: &str) {
        if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
            let supported: Vec<String> = allowed.iter().map(Value::to_string).collect();
            self.causes.push(Cause {
                reason: "FieldValueNotSupported",
                field: path.into(),
                message: format!("Unsupported value: {value}: supported values: {}", supported.join(", ")),
            });
        }
    }

    fn object(&mut self, schema: &Value, map: &serde_json::Map<String, Value>, path: &str) {
        let place = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
        for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !map.contains_key(field) {
                self.causes.push(Cause::required(place(field)));
            }
        }
        self.at_most(schema, "maxProperties", map.len(), path);
        for (field, value) in map {
            let below = field_schema(schema, field);
            if below.is_object() {
                self.value(below, value, &place(field));
            }
        }
    }

    fn array(&mut self, schema: &Value, list: &[Value], path: &str) {
        self.at_most(schema, "maxItems", list.len(), path);
        if let Some(least) = schema["minItems"].as_u64().filter(|least| (list.len() as u64) < *least) {
            self.refuse(path, &Value::from(list.len()), &format!("should have at least {least} items"));
        }
        if schema["x-kubernetes-list-type"] == "map" {
            self.unique_keys(schema, list, path);
        }
        for (index, item) in list.iter().enumerate() {
            self.value(&schema["items"], item, &format!("{path}[{index}]"));
        }
    }

    fn unique_keys(&mut self, schema: &Value, list: &[Value], path: &str) {
        let keys = schema["x-kubernetes-list-map-keys"].as_array().map_or(&[][..], Vec::as_slice);
        let steps: Vec<_> = list.iter().map(|item| super::typed::key_step(schema, keys, item)).collect();
        for (index, step) in steps.iter().enumerate().filter(|(index, step)| steps[..*index].contains(step)) {
            let super::fieldset::Step::Key(json) = step else { continue };
            self.causes.push(Cause {
                reason: "FieldValueDuplicate",
                field: format!("{path}[{index}]"),
                message: format!("Duplicate value: {json}"),
            });
        }
    }

    fn at_most(&mut self, schema: &Value, limit: &str, count: usize, path: &str) {
        if let Some(most) = schema[limit].as_u64().filter(|most| count as u64 > *most) {
            self.causes.push(Cause {
                reason: "FieldValueTooMany",
                field: path.into(),
                message: format!("Too many: {count}: must have at most {most} items"),
            });
        }
    }

    fn text(&mut self, schema: &Value, text: &str, path: &str) {
        let length = text.chars().count() as u64;
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            self.causes.push(Cause {
                reason: "FieldValueTooLong",
                field: path.into(),
                message: format!("Too long: may not be more than {most} bytes"),
            });
        }
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            self.refuse(path, &Value::from(text), &format!("should be at least {least} chars long"));
        }
        let Some(pattern) = schema["pattern"].as_str() else { return };
        if self.schema.patterns.get(pattern).is_some_and(|regex| !regex.is_match(text)) {
            self.refuse(path, &Value::from(text), &format!("should match '{pattern}'"));
        }
    }

    fn number(&mut self, schema: &Value, number: f64, path: &str) {
        let shown = serde_json::Number::from_f64(number).map_or(Value::Null, Value::Number);
        let shown = if number.fract() == 0.0 {
            serde_json::from_str(&format!("{number:.0}")).unwrap_or(shown)
        } else {
            shown
        };
        if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
            self.refuse(path, &shown, &format!("should be greater than or equal to {least}"));
        }
        if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
            self.refuse(path, &shown, &format!("should be less than or equal to {most}"));
        }
    }

    fn refuse(&mut self, path: &str, value: &Value, detail: &str) {
        self.causes.push(Cause::invalid(path, value, format!("{path} in body {detail}")));
    }
}
