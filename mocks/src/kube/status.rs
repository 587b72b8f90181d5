//! Errors as Kubernetes words them: a `Status` object with reason, code and causes.

use serde_json::{Value, json};

use super::kinds::Kind;

/// Why one field of an object was refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cause {
    /// `FieldValueRequired`, `FieldValueInvalid`, …
    pub(super) reason: &'static str,
    pub(super) field: String,
    /// Without the field in front: `Required value`.
    pub(super) message: String,
}

impl Cause {
    pub(super) fn required(field: impl Into<String>) -> Self {
        Self { reason: "FieldValueRequired", field: field.into(), message: "Required value".into() }
    }

    pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {value}: {}", detail.as_ref()),
        }
    }
}

/// A refusal, ready to be sent.
#[derive(Debug, Clone)]
pub(super) struct ApiError {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) details: Option<Value>,
}

impl ApiError {
    pub(super) fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), message: message.into(), details: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// No such path or kind; not to be taken for "no such object".
    pub(super) fn unknown_path() -> Self {
        let mut error = Self::new(404, "NotFound", "the server could not find the requested resource");
        error.details = Some(json!({}));
        error
    }

    pub(super) fn method_not_allowed() -> Self {
        let mut error = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    pub(super) fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::about(404, "NotFound", kind, name, format!("{} {name:?} not found", kind.qualified()))
    }

    pub(super) fn already_exists(kind: &Kind, name: &str) -> Self {
        Self::about(409, "AlreadyExists", kind, name, format!("{} {name:?} already exists", kind.qualified()))
    }

    pub(super) fn conflict(kind: &Kind, name: &str, detail: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {detail}", kind.qualified());
        Self::about(409, "Conflict", kind, name, message)
    }

    /// Optimistic locking lost.
    pub(super) fn stale(kind: &Kind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub(super) fn invalid(kind: &Kind, name: &str, causes: &[Cause]) -> Self {
        let texts: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let text = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let full_kind =
            if kind.group.is_empty() { kind.kind.clone() } else { format!("{}.{}", kind.kind, kind.group) };
        let mut error = Self::new(422, "Invalid", format!("{full_kind} {name:?} is invalid: {text}"));
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}))
            .collect();
        error.details = Some(json!({"name": name, "group": kind.group, "kind": kind.kind, "causes": causes}));
        error
    }

    /// Something was to be made in a namespace that is being deleted.
    pub(super) fn terminating(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!(
            "{plural}{dot}{group} {name:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated"
        );
        let mut error = Self::new(403, "Forbidden", message);
        error.details = Some(json!({"name": name, "group": group, "kind": plural, "causes": [{
            "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace"}]}));
        error
    }

    /// The asked version is older than the window of changes that is kept.
    pub(super) fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    pub(super) fn body(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }

    fn about(code: u16, reason: &str, kind: &Kind, name: &str, message: String) -> Self {
        let mut error = Self::new(code, reason, message);
        error.details = Some(json!({"name": name, "group": kind.group, "kind": kind.plural}));
        error
    }
}
