//! Writes only differences.
//!
//! What was asked for is compared with what the server holds, and with what it made of the same request
//! before: a field that another definition prunes, or that a webhook rewrites, is no endless difference.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Mutex;

use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cache::Key;

/// Name under which our fields are owned (server-side apply).
pub(crate) const FIELD_MANAGER: &str = "gslb-bridge";

/// What the API server says of an apply with fields that its definition does not have.
const UNDECLARED: &str = "field not declared in schema";

/// What the watch shows of an object now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) resource_version: String,
    /// The part that we write, in the shape that we write it in.
    pub(crate) view: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    desired: Value,
    /// Version that the watch showed before the write; it may still show it now.
    base: Option<String>,
    result: Live,
}

/// What was written last, by kind of write and object.
#[derive(Debug, Default)]
pub(crate) struct Writer(Mutex<BTreeMap<(&'static str, Key), Written>>);

impl Writer {
    /// Whether the server has to be told.
    pub(crate) fn differs(
        &self,
        what: &'static str,
        key: &Key,
        desired: &Value,
        live: Option<&Live>,
    ) -> bool {
        let written = self.lock();
        let last = written.get(&(what, key.clone())).filter(|last| last.desired == *desired);
        match (live, last) {
            (Some(live), _) if live.view == *desired => false,
            (None, None) => true,
            // Without a base this was our own create, and the watch has not shown it yet.
            (None, Some(last)) => last.base.is_some(),
            (Some(_), None) => true,
            (Some(live), Some(last)) => {
                let ours = live.resource_version == last.result.resource_version
                    || last.base.as_ref() == Some(&live.resource_version);
                !ours && live.view != last.result.view
            }
        }
    }

    /// Server-side apply of an object, or of its status.
    pub(crate) async fn apply<K>(
        &self,
        what: Write<'_>,
        api: &Api<K>,
        body: &(impl Serialize + Debug),
        view: impl Fn(&K) -> Value,
    ) -> kube::Result<K>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
    {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(body);
        let object = if !what.status {
            api.patch(&what.key.name, &params, &patch).await?
        } else {
            match api.patch_status(&what.key.name, &params, &patch).await {
                Err(kube::Error::Api(answer)) if answer.message.contains(UNDECLARED) => {
                    merge_status(&what, api).await?
                }
                answer => answer?,
            }
        };
        let result =
            Live { resource_version: object.resource_version().unwrap_or_default(), view: view(&object) };
        let base = what.live.map(|live| live.resource_version.clone());
        let written = Written { desired: what.desired, base, result };
        self.lock().insert((what.what, what.key.clone()), written);
        Ok(object)
    }

    /// Forgets a deleted object.
    pub(crate) fn forget(&self, what: &'static str, key: &Key) {
        self.lock().remove(&(what, key.clone()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, Key), Written>> {
        self.0.lock().expect("no panic while the writes are locked")
    }
}

/// Writes a status whose definition lacks some of our fields, as k8gb's does: an apply of undeclared fields is an
/// error of the API server, while a merge has them pruned.
async fn merge_status<K>(what: &Write<'_>, api: &Api<K>) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let live = what.live.map_or(&Value::Null, |live| &live.view);
    let body = json!({"status": replacing(live, &what.desired)});
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    api.patch_status(&what.key.name, &params, &Patch::Merge(&body)).await
}

/// The merge patch that makes `live` into `desired`: what is gone has to be named.
fn replacing(live: &Value, desired: &Value) -> Value {
    let (Some(live), Some(desired)) = (live.as_object(), desired.as_object()) else { return desired.clone() };
    let gone = live.keys().filter(|key| !desired.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let kept = desired
        .iter()
        .map(|(key, value)| (key.clone(), replacing(live.get(key).unwrap_or(&Value::Null), value)));
    gone.chain(kept).collect()
}

/// One write.
pub(crate) struct Write<'a> {
    /// Kind of write, so that an object and its status are told apart.
    pub(crate) what: &'static str,
    pub(crate) key: &'a Key,
    pub(crate) status: bool,
    pub(crate) desired: Value,
    pub(crate) live: Option<&'a Live>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_names_what_is_gone() {
        let live = json!({"hosts": {"a": "Healthy", "b": "Healthy"}, "old": 1, "list": [1]});
        let desired = json!({"hosts": {"a": "Unhealthy"}, "list": [2]});
        assert_eq!(
            replacing(&live, &desired),
            json!({"hosts": {"a": "Unhealthy", "b": null}, "old": null, "list": [2]})
        );
        assert_eq!(replacing(&Value::Null, &desired), desired);
    }

    fn live(version: &str, view: Value) -> Live {
        Live { resource_version: version.into(), view }
    }
    fn wrote(writer: &Writer, desired: Value, base: Option<&str>, result: Live) {
        let written = Written { desired, base: base.map(str::to_owned), result };
        writer.lock().insert(("status", Key::new("web", "a")), written);
    }
    fn differs(writer: &Writer, desired: &Value, live: Option<&Live>) -> bool {
        writer.differs("status", &Key::new("web", "a"), desired, live)
    }

    #[test]
    fn what_the_server_holds_already_is_not_written() {
        let writer = Writer::default();
        assert!(!differs(&writer, &json!({"a": 1}), Some(&live("1", json!({"a": 1})))));
        assert!(differs(&writer, &json!({"a": 2}), Some(&live("1", json!({"a": 1})))));
        assert!(differs(&writer, &json!({"a": 2}), None));
    }

    #[test]
    fn a_watch_that_lags_behind_our_write_causes_no_second_write() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), Some("1"), live("2", json!({"a": 2})));
        assert!(!differs(&writer, &json!({"a": 2}), Some(&live("1", json!({"a": 1})))));
    }

    #[test]
    fn a_field_that_the_server_prunes_is_no_endless_difference() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2, "b": 1}), Some("1"), live("2", json!({"a": 2})));
        assert!(!differs(&writer, &json!({"a": 2, "b": 1}), Some(&live("2", json!({"a": 2})))));
        assert!(!differs(&writer, &json!({"a": 2, "b": 1}), Some(&live("9", json!({"a": 2})))));
    }

    #[test]
    fn a_foreign_change_of_our_fields_is_written_back() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), Some("1"), live("2", json!({"a": 2})));
        assert!(differs(&writer, &json!({"a": 2}), Some(&live("3", json!({"a": 7})))));
    }
}
