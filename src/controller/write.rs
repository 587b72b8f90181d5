//! Writes only differences.
//!
//! What was asked for is compared with what the server holds, and with what it made of the same request
//! before: a field that another definition prunes, or that a webhook rewrites, is no endless difference.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::sync::Mutex;

use gslb_core::condition::ConditionKind;
use gslb_core::rivalry::Rivalry;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cache::Key;
use super::echo::{Echoes, UnderWay};
use crate::kube_call::in_time;

/// Name under which our fields are owned (server-side apply).
pub(crate) const FIELD_MANAGER: &str = "gslb-bridge";

/// The API server's code for an object that its definition refuses.
const UNPROCESSABLE: u16 = 422;
/// What the API server says of an apply with fields that its definition does not have.
const UNDECLARED: &str = "field not declared in schema";

/// Older versions that are remembered of an object: more writes than a watch is ever behind. No outside reference.
const OLDER_KEPT: usize = 16;

/// What was written or told, as far as comparing needs it. The values themselves, of every object, would be most of what
/// the process holds in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(view: &Value) -> Self {
        Self::of_text(&view.to_string())
    }

    pub(crate) fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
}

/// What the watch shows of an object now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Live {
    pub(crate) resource_version: String,
    /// Of the part that we write, in the shape that we write it in.
    pub(crate) view: Fingerprint,
}

impl Live {
    pub(crate) fn new(resource_version: Option<String>, view: &Value) -> Self {
        Self { resource_version: resource_version.unwrap_or_default(), view: Fingerprint::of(view) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    desired: Fingerprint,
    result: Live,
    /// Versions that are older than our write. While the watch shows one of them, it is behind.
    older: VecDeque<String>,
    /// Whether the watch had shown the object before; if not, the write created it.
    created: bool,
    /// Who changes it back, and how often.
    rivalry: Rivalry,
}

/// What has to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// The server holds it already.
    Nothing,
    /// The server has to be told.
    Write,
    /// Somebody else changes it back again and again: not before this time.
    Wait(Timestamp),
}

/// What was written last, by kind of write and object.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    written: Mutex<BTreeMap<(&'static str, Key), Written>>,
    /// Kinds whose definition lacks some of our fields.
    pruning: Mutex<BTreeSet<&'static str>>,
    /// Which of the versions that the watches show are our own.
    pub(crate) echoes: Echoes,
}

impl Writer {
    /// Whether the server has to be told.
    pub(crate) fn need(
        &self,
        what: &'static str,
        key: &Key,
        desired: &Value,
        live: Option<&Live>,
        now: Timestamp,
    ) -> Need {
        let desired = Fingerprint::of(desired);
        let written = self.lock();
        let Some(last) = written.get(&(what, key.clone())) else {
            let same = live.is_some_and(|live| live.view == desired);
            return if same { Need::Nothing } else { Need::Write };
        };
        let behind = match live {
            Some(live) => last.older.contains(&live.resource_version),
            None => last.created,
        };
        if behind {
            let done = last.desired == desired || last.result.view == desired;
            return if done { Need::Nothing } else { Need::Write };
        }
        let Some(live) = live else { return Need::Write };
        let ours = live.resource_version == last.result.resource_version || live.view == last.result.view;
        if live.view == desired || (last.desired == desired && ours) {
            return Need::Nothing;
        }
        // A new wish waits for nobody.
        match last.rivalry.held_until(now).filter(|_| last.desired == desired) {
            Some(until) => Need::Wait(until),
            None => Need::Write,
        }
    }

    /// Server-side apply of an object, or of its status. `view`: the part that is written, of a status all of it.
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
        let under_way = self.echoes.write(what.what, what.key);
        let object = match what.status {
            None => in_time(api.patch(&what.key.name, &params, &patch)).await?,
            Some(live) if self.is_pruning(what.what) => merge_status(&what, live, api).await?,
            Some(live) => self.apply_status(&what, live, api, (&params, &patch), &view, &under_way).await?,
        };
        under_way.made(object.resource_version());
        // A watch shows no more of an object that came and went before the answer: that is none to wait for.
        if !under_way.may_be_gone() {
            let view = view(&object);
            let own = if what.status.is_some() { own_status(&view) } else { view };
            self.remember(what, Live::new(object.resource_version(), &own));
        }
        Ok(object)
    }

    /// Server-side apply of a status, of which the watch shows `live`.
    async fn apply_status<K, B>(
        &self,
        what: &Write<'_>,
        live: &Value,
        api: &Api<K>,
        (params, patch): (&PatchParams, &Patch<&B>),
        view: impl Fn(&K) -> Value,
        under_way: &UnderWay<'_>,
    ) -> kube::Result<K>
    where
        K: Resource + Clone + DeserializeOwned + Debug,
        B: Serialize + Debug,
    {
        if empties(live, &what.desired) {
            // An apply would leave null behind, which the definition refuses.
            return merge_status(what, live, api).await;
        }
        match in_time(api.patch_status(&what.key.name, params, patch)).await {
            Err(kube::Error::Api(answer)) if answer.message.contains(UNDECLARED) => {
                self.prunes(what.what);
                merge_status(what, live, api).await
            }
            // The watch was behind, and a map was emptied all the same.
            Err(kube::Error::Api(answer)) if answer.code == UNPROCESSABLE => {
                merge_status(what, live, api).await
            }
            // Fields of another owner, such as k8gb, survive an apply that no longer has them.
            Ok(object) if own_status(&view(&object)) != what.desired => {
                under_way.made(object.resource_version());
                merge_status(what, &view(&object), api).await
            }
            answer => answer,
        }
    }

    /// Remembers that a kind takes no apply: each would be an error of the API server. A merge also does once its
    /// definition has our fields.
    fn prunes(&self, what: &'static str) {
        let new = self.pruning.lock().expect("no panic while the kinds are locked").insert(what);
        if new {
            tracing::info!(
                kind = what,
                "The definition of this kind lacks some fields of our status, as k8gb's does; they are left out."
            );
        }
    }

    fn is_pruning(&self, what: &'static str) -> bool {
        self.pruning.lock().expect("no panic while the kinds are locked").contains(what)
    }

    fn remember(&self, what: Write<'_>, result: Live) {
        let desired = Fingerprint::of(&what.desired);
        let mut all = self.lock();
        let key = (what.what, what.key.clone());
        let last = all.remove(&key);
        let mut rivalry = last.as_ref().map(|last| last.rivalry.clone()).unwrap_or_default();
        rivalry.wrote(last.as_ref().is_some_and(|last| last.desired == desired), what.now);
        let mut older = last.as_ref().map(|last| last.older.clone()).unwrap_or_default();
        older.extend(last.map(|last| last.result.resource_version));
        older.extend(what.live.map(|live| live.resource_version.clone()));
        older.retain(|version| *version != result.resource_version);
        let surplus = older.len().saturating_sub(OLDER_KEPT);
        older.drain(..surplus);
        let created = what.live.is_none();
        all.insert(key, Written { desired, result, older, created, rivalry });
    }

    /// Forgets what a complete list no longer shows.
    pub(crate) fn forget_unlisted(&self, what: &'static str, listed: impl Fn(&Key) -> bool) {
        self.echoes.listed(what);
        self.lock().retain(|(known, key), _| *known != what || listed(key));
    }

    /// Forgets a deleted object.
    pub(crate) fn forget(&self, what: &'static str, key: &Key) {
        self.echoes.forget(what, key);
        self.lock().remove(&(what, key.clone()));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, Key), Written>> {
        self.written.lock().expect("no panic while the writes are locked")
    }
}

/// Writes a status whose definition lacks some of our fields, as k8gb's does: an apply of undeclared fields is an
/// error of the API server, while a merge has them pruned.
async fn merge_status<K>(what: &Write<'_>, live: &Value, api: &Api<K>) -> kube::Result<K>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let body = json!({"status": replacing(live, &with_foreign_conditions(&what.desired, live))});
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    in_time(api.patch_status(&what.key.name, &params, &Patch::Merge(&body))).await
}

/// The part of a status that we write: a condition of a type that is not ours is somebody else's.
pub(crate) fn own_status(status: &impl Serialize) -> Value {
    let mut view = json!(status);
    if let Some(conditions) = view.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions.retain(is_own_condition);
    }
    view
}

fn is_own_condition(condition: &Value) -> bool {
    ConditionKind::ALL.iter().any(|kind| condition["type"] == kind.as_str())
}

/// A merge replaces the whole list.
fn with_foreign_conditions(desired: &Value, live: &Value) -> Value {
    let mut desired = desired.clone();
    let live = live.get("conditions").and_then(Value::as_array);
    if let Some(conditions) = desired.get_mut("conditions").and_then(Value::as_array_mut) {
        conditions
            .extend(live.into_iter().flatten().filter(|condition| !is_own_condition(condition)).cloned());
    }
    desired
}

/// Whether a map that has fields is to have none.
fn empties(live: &Value, desired: &Value) -> bool {
    let (Some(live), Some(desired)) = (live.as_object(), desired.as_object()) else { return false };
    (desired.is_empty() && !live.is_empty())
        || desired.iter().any(|(key, value)| live.get(key).is_some_and(|live| empties(live, value)))
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
    /// For a status: what the watch shows of it. `None`: the whole object is written.
    pub(crate) status: Option<&'a Value>,
    pub(crate) desired: Value,
    pub(crate) live: Option<&'a Live>,
    pub(crate) now: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_others_are_no_part_of_ours_and_stay_in_a_merge() {
        let condition = |kind: &str| json!({"type": kind, "status": "True"});
        let live =
            json!({"hosts": "a", "conditions": [condition("Ready"), condition("example.com/Audited")]});
        assert_eq!(own_status(&live), json!({"hosts": "a", "conditions": [condition("Ready")]}));
        let desired = json!({"hosts": "b", "conditions": [condition("Serving")]});
        assert_eq!(
            with_foreign_conditions(&desired, &live),
            json!({"hosts": "b", "conditions": [condition("Serving"), condition("example.com/Audited")]})
        );
        assert_eq!(own_status(&Value::Null), Value::Null);
        assert_eq!(with_foreign_conditions(&desired, &Value::Null), desired);
    }

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
        Live::new(Some(version.into()), &view)
    }
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }
    /// A write that the server answered with `result`, while the watch showed `base`.
    fn wrote(writer: &Writer, desired: Value, base: Option<&str>, result: Live, now: Timestamp) {
        let (key, base) = (Key::new("web", "a"), base.map(|version| live(version, json!(null))));
        let write = Write {
            what: "status",
            key: &key,
            status: Some(&Value::Null),
            desired,
            live: base.as_ref(),
            now,
        };
        writer.remember(write, result);
    }
    fn need(writer: &Writer, desired: &Value, live: Option<&Live>) -> Need {
        writer.need("status", &Key::new("web", "a"), desired, live, at(0))
    }

    /// F-07.
    #[test]
    fn what_the_server_holds_already_is_not_written() {
        let writer = Writer::default();
        assert_eq!(need(&writer, &json!({"a": 1}), Some(&live("1", json!({"a": 1})))), Need::Nothing);
        assert_eq!(need(&writer, &json!({"a": 2}), Some(&live("1", json!({"a": 1})))), Need::Write);
        assert_eq!(need(&writer, &json!({"a": 2}), None), Need::Write);
    }

    #[test]
    fn a_watch_that_lags_behind_our_write_causes_no_second_write() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), Some("1"), live("2", json!({"a": 2})), at(0));
        assert_eq!(need(&writer, &json!({"a": 2}), Some(&live("1", json!({"a": 1})))), Need::Nothing);
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), None, live("2", json!({"a": 2})), at(0));
        assert_eq!(need(&writer, &json!({"a": 2}), None), Need::Nothing);
    }

    #[test]
    fn what_a_lagging_watch_shows_is_not_taken_for_what_the_server_holds() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), Some("1"), live("2", json!({"a": 2})), at(0));
        // The server holds 2; the watch still shows 1, which is wanted again.
        assert_eq!(need(&writer, &json!({"a": 1}), Some(&live("1", json!({"a": 1})))), Need::Write);
        wrote(&writer, json!({"a": 3}), Some("1"), live("3", json!({"a": 3})), at(0));
        assert_eq!(need(&writer, &json!({"a": 2}), Some(&live("2", json!({"a": 2})))), Need::Write);
    }

    #[test]
    fn an_object_that_a_complete_list_no_longer_shows_is_created_again() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2}), None, live("2", json!({"a": 2})), at(0));
        writer.forget_unlisted("status", |_| false);
        assert_eq!(need(&writer, &json!({"a": 2}), None), Need::Write);
    }

    #[test]
    fn a_field_that_the_server_prunes_is_no_endless_difference() {
        let writer = Writer::default();
        wrote(&writer, json!({"a": 2, "b": 1}), Some("1"), live("2", json!({"a": 2})), at(0));
        let desired = json!({"a": 2, "b": 1});
        assert_eq!(need(&writer, &desired, Some(&live("2", json!({"a": 2})))), Need::Nothing);
        assert_eq!(need(&writer, &desired, Some(&live("9", json!({"a": 2})))), Need::Nothing);
    }

    #[test]
    fn a_foreign_change_of_our_fields_is_written_back_and_a_fight_slows_down() {
        let writer = Writer::default();
        let desired = json!({"a": 2});
        let foreign = live("9", json!({"a": 7}));
        for (second, version) in ["2", "3", "4", "5"].into_iter().enumerate() {
            assert_eq!(need(&writer, &desired, Some(&foreign)), Need::Write, "write {second}");
            wrote(&writer, desired.clone(), Some("x"), live(version, desired.clone()), at(0));
        }
        assert_eq!(need(&writer, &desired, Some(&foreign)), Need::Wait(at(1)));
        let other = json!({"a": 3});
        assert_eq!(need(&writer, &other, Some(&foreign)), Need::Write, "a new wish waits for nobody");
    }
}
