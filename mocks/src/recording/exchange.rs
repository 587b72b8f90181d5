//! One recorded request with its reply, as a file.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// In a request's JSON body: some text.
pub const ANY: &str = "{any}";

/// A request and the reply to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Where the reply comes from, as `mocks/infoblox/README.md` lists it.
    pub source: String,
    /// What must be asked.
    pub request: RecordedRequest,
    /// What is answered; `null` if the request arrives and the connection ends without a reply.
    #[serde(deserialize_with = "Option::deserialize")]
    pub response: Option<RecordedResponse>,
}

/// The request side of an [`Exchange`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query, percent-encoded as they are sent.
    pub uri: String,
    /// Headers that the request must have; it may have more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body: text as it is sent, or JSON. Without it the request must have none. The text [`ANY`] stands for any
    /// text, where it differs with every run.
    #[serde(default)]
    pub body: Option<Value>,
}

/// The reply side of an [`Exchange`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers to send.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body, byte for byte.
    #[serde(default)]
    pub body: String,
}

/// A folder that is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or folder cannot be read.
    #[error("{path} is not readable")]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is no exchange.
    #[error("{path} is no recorded exchange")]
    Format {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The folder has no exchange at all.
    #[error("{path} holds no recorded exchange")]
    Empty {
        /// Which one.
        path: PathBuf,
    },
}

/// Reads a folder's exchanges with their file names, in the order of the numbers that the names begin with.
///
/// # Errors
/// When a file cannot be read or is no exchange, or when there is none.
pub fn load(folder: &Path) -> Result<Vec<(String, Exchange)>, RecordingError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| RecordingError::Io { path, source }
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io_error(folder))? {
        let name = entry.map_err(io_error(folder))?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            names.push(name);
        }
    }
    names.sort_by_key(|name| (number(name), name.clone()));
    if names.is_empty() {
        return Err(RecordingError::Empty { path: folder.to_owned() });
    }
    let read = |name: String| {
        let path = folder.join(&name);
        let text = std::fs::read_to_string(&path).map_err(io_error(&path))?;
        let exchange =
            serde_json::from_str(&text).map_err(|source| RecordingError::Format { path, source })?;
        Ok((name, exchange))
    };
    names.into_iter().map(read).collect()
}

/// The number that a file's name begins with.
pub(super) fn number(name: &str) -> u64 {
    name.split(|c: char| !c.is_ascii_digit())
        .next()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(u64::MAX)
}

impl RecordedRequest {
    /// What differs between this and a request that came; empty when nothing does.
    pub(super) fn differences(&self, came: &CameIn<'_>) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, recorded: &str, sent: &str| {
            if recorded != sent {
                differences.push(format!("{what}: recorded {recorded}, came {sent}"));
            }
        };
        compare("method", &self.method, came.method);
        compare("uri", &self.uri, came.uri);
        for (name, recorded) in &self.headers {
            let sent = came.headers.get(name).and_then(|value| value.to_str().ok());
            compare(&format!("header {name}"), recorded, sent.unwrap_or("none"));
        }
        let recorded = match &self.body {
            None => None,
            Some(Value::String(text)) => Some(parsed(text)),
            Some(value) => Some(value.clone()),
        };
        let sent = (!came.body.is_empty()).then(|| parsed(came.body));
        let fits = match (&recorded, &sent) {
            (Some(recorded), Some(sent)) => fits(recorded, sent),
            (recorded, sent) => recorded == sent,
        };
        if !fits {
            let show = |body: Option<Value>| body.map_or_else(|| "none".to_owned(), |body| body.to_string());
            differences.push(format!("body: recorded {}, came {}", show(recorded), show(sent)));
        }
        differences
    }
}

/// Equal, but for [`ANY`].
fn fits(recorded: &Value, sent: &Value) -> bool {
    match (recorded, sent) {
        (Value::String(recorded), Value::String(_)) if recorded == ANY => true,
        (Value::Array(recorded), Value::Array(sent)) => {
            recorded.len() == sent.len()
                && recorded.iter().zip(sent).all(|(recorded, sent)| fits(recorded, sent))
        }
        (Value::Object(recorded), Value::Object(sent)) => {
            recorded.len() == sent.len()
                && recorded
                    .iter()
                    .all(|(key, recorded)| sent.get(key).is_some_and(|sent| fits(recorded, sent)))
        }
        (recorded, sent) => recorded == sent,
    }
}

/// JSON bodies are compared as values, others as texts.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A request that came in.
pub(super) struct CameIn<'a> {
    pub(super) method: &'a str,
    pub(super) uri: &'a str,
    pub(super) headers: &'a axum::http::HeaderMap,
    pub(super) body: &'a str,
}
