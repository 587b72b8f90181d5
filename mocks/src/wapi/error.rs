//! What the WAPI refuses, in the words of a real grid.

use serde_json::Value;

/// A refusal with the `code` and `text` that clients parse.
///
/// Everything is HTTP 400 but [`WapiError::NotFound`], which is 404; a missing permission, a duplicate
/// and a broken rule share one code, and only the text tells them apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WapiError {
    /// The request is malformed or asks for something that this version does not know.
    #[error("{0}")]
    Proto(String),
    /// The body is not JSON.
    #[error("{0}")]
    JsonDecoding(String),
    /// A value is invalid by itself.
    #[error("{0}")]
    Data(String),
    /// A duplicate, a broken rule or a missing permission.
    #[error("{0}")]
    Conflict(String),
    /// A reference or a view that does not exist.
    #[error("{0}")]
    NotFound(String),
}

impl WapiError {
    /// The HTTP status that carries the refusal.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::Proto(_) | Self::JsonDecoding(_) | Self::Data(_) | Self::Conflict(_) => 400,
        }
    }

    /// The member `code` of the reply.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Proto(_) => "Client.Ibap.Proto",
            Self::JsonDecoding(_) => "Client.Ibap.Proto.JSONDecoding",
            Self::Data(_) => "Client.Ibap.Data",
            Self::Conflict(_) => "Client.Ibap.Data.Conflict",
            Self::NotFound(_) => "Client.Ibap.Data.NotFound",
        }
    }

    /// The member `Error`: the class, and for data errors the inner error.
    fn summary(&self) -> String {
        match self {
            Self::Proto(text) | Self::JsonDecoding(text) => format!("AdmConProtoError: {text}"),
            Self::Data(text) => format!("AdmConDataError: None (IBDataError: IB.Data:{text})"),
            Self::Conflict(text) => {
                format!("AdmConDataError: None (IBDataConflictError: IB.Data.Conflict:{text})")
            }
            Self::NotFound(text) => format!("AdmConDataNotFoundError: {text}"),
        }
    }

    /// The reply body. Errors are indented differently from results, as on captured appliances.
    pub(crate) fn body(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        format!(
            "{{ \"Error\": {},\n  \"code\": {},\n  \"text\": {}\n}}",
            quoted(&self.summary()),
            quoted(self.code()),
            quoted(&self.to_string())
        )
    }

    pub(crate) fn unknown_field(name: &str) -> Self {
        Self::Proto(format!("Unknown argument/field: '{name}'"))
    }

    pub(crate) fn not_writable(name: &str) -> Self {
        Self::Proto(format!("Field is not writable: {name}"))
    }

    pub(crate) fn invalid_value(name: &str) -> Self {
        Self::Proto(format!("'{name}' has an invalid value"))
    }

    pub(crate) fn invalid_reference() -> Self {
        Self::Proto("Invalid reference".to_owned())
    }

    pub(crate) fn reference_not_found(reference: &str) -> Self {
        Self::NotFound(format!("Reference {reference} not found"))
    }

    pub(crate) fn view_not_found(view: &str) -> Self {
        Self::NotFound(format!("View {view} not found"))
    }

    pub(crate) fn parent_not_found() -> Self {
        Self::Conflict("The action is not allowed. A parent was not found.".to_owned())
    }

    pub(crate) fn record_exists(name: &str) -> Self {
        Self::Conflict(format!("The record '{name}' already exists."))
    }

    pub(crate) fn unknown_attribute(name: &str) -> Self {
        Self::Proto(format!("Unknown extensible attribute: {name}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_class_inner_code_and_text() {
        let body = WapiError::record_exists("www.example.com").body();
        let expected = "{ \"Error\": \"AdmConDataError: None (IBDataConflictError: IB.Data.Conflict:The record \
                        'www.example.com' already exists.)\",\n  \"code\": \"Client.Ibap.Data.Conflict\",\n  \
                        \"text\": \"The record 'www.example.com' already exists.\"\n}";
        assert_eq!(body, expected);
    }
}
