//! A policy as the API server evaluates it.

use std::collections::HashMap;

use gslb_crds::admission;
use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec};
use kube_cel::KubeCelExt;
use kube_cel::cel::{self, Context, Program, to_value};
use serde_json::{Value, json};

use crate::object;

/// A policy as the API server holds it.
pub(crate) struct Policy {
    conditions: Vec<Program>,
    variables: Vec<(String, Program)>,
    rules: Vec<Rule>,
}

struct Rule {
    holds: Program,
    message: String,
    quoting: Option<Program>,
}

impl Policy {
    pub(crate) fn named(name: &str) -> Self {
        let policies = admission::policies().into_iter();
        let mut named = policies.filter(|policy| policy.metadata.name.as_deref() == Some(name));
        let ValidatingAdmissionPolicy { spec, .. } = named.next().unwrap();
        let ValidatingAdmissionPolicySpec { match_conditions, variables, validations, .. } = spec.unwrap();
        let program = |expression: &str| Program::compile(expression).unwrap();
        let conditions = match_conditions.iter().flatten().map(|condition| program(&condition.expression));
        let variables = variables.into_iter().flatten();
        let rules = validations.into_iter().flatten().map(|rule| Rule {
            holds: program(&rule.expression),
            message: rule.message.unwrap(),
            quoting: rule.message_expression.as_deref().map(program),
        });
        Self {
            conditions: conditions.collect(),
            variables: variables.map(|variable| (variable.name, program(&variable.expression))).collect(),
            rules: rules.collect(),
        }
    }

    /// What the API server answers to the object: the first sentence, or nothing.
    pub(crate) fn refuses(&self, object: &Value, old: Option<&Value>) -> Option<String> {
        let operation = if old.is_some() { "UPDATE" } else { "CREATE" };
        let mut context = Context::default().with_all();
        let given = [("object", object), ("request", &json!({ "operation": operation }))];
        for (name, value) in given.into_iter().chain([("oldObject", old.unwrap_or(&Value::Null))]) {
            context.add_variable_from_value(name, to_value(value).unwrap());
        }
        let says = |program: &Program, context: &Context<'_>| program.execute(context).unwrap();
        if self.conditions.iter().any(|condition| says(condition, &context) != true.into()) {
            return None;
        }
        let mut variables = HashMap::new();
        for (name, variable) in &self.variables {
            variables.insert(name.clone(), says(variable, &context));
            context.add_variable_from_value("variables", variables.clone());
        }
        let broken = self.rules.iter().find(|rule| says(&rule.holds, &context) != true.into())?;
        Some(match broken.quoting.as_ref().map(|quoting| says(quoting, &context)) {
            Some(cel::Value::String(sentence)) => sentence.to_string(),
            other => {
                assert_eq!(other, None, "a message is a text");
                broken.message.clone()
            }
        })
    }

    pub(crate) fn takes(&self, annotations: &Value) -> bool {
        self.refuses(&object(annotations), None).is_none()
    }
}
