//! Carries the views over a restart, in a ConfigMap of ours. Written at transitions only.
//!
//! What cannot be read is not absent: nothing is stored before the API server has said what there is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gslb_core::doubling::Doubling;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::Remembered;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::controller::cache::Chain;
use crate::controller::context::Context;
use crate::controller::write::{FIELD_MANAGER, Fingerprint};
use crate::kube_call::in_time;

/// Name of the ConfigMap.
pub(crate) const NAME: &str = "gslb-bridge-peer-views";
/// Longest that a start waits for the stored views: two attempts. Without them only the last resort suffers, so
/// one object must not keep the daemon from starting.
const START: Duration = Duration::from_secs(10);
/// Longest that a stop waits for the last store; a Pod has 30 s in all.
const LAST_STORE: Duration = Duration::from_secs(2);
/// Transitions within this time are stored together.
const COALESCE: Duration = Duration::from_secs(1);
/// Pauses after a failure. No outside reference.
const RETRY: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

type Stored = BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>>;

/// Whether what an earlier run stored is known.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    read: AtomicBool,
}

/// Reads what an earlier run stored. While that fails it goes on for some seconds; [`keep`] goes on after them.
pub(crate) async fn restore(context: &Context) {
    if timeout(START, until_read(context)).await.is_err() {
        tracing::warn!(
            name = NAME,
            "Starting without the stored peer views; nothing is stored before they are read."
        );
    }
}

/// Stores the views after every transition, until the daemon ends.
pub(crate) async fn keep(context: Arc<Context>) {
    let mut transitions = context.book.transitions();
    until_read(&context).await;
    let mut last = None;
    let mut failures = 0;
    while transitions.changed().await.is_ok() {
        sleep(COALESCE).await;
        transitions.mark_unchanged();
        let views = render(&context.book.remember());
        // Not the text itself, which grows with hosts times peers.
        let fingerprint = Fingerprint::of(&json!(views));
        if last == Some(fingerprint) {
            continue;
        }
        match in_time(store(&context, &views)).await {
            Ok(()) => {
                last = Some(fingerprint);
                failures = 0;
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), name = NAME, "The peer views could not be stored.");
                sleep(RETRY.next(&mut failures)).await;
                transitions.mark_changed();
            }
        }
    }
}

/// Stores the views when the daemon stops: how old each last word is bounds the last resort of the next run, and
/// at rest nothing is stored.
pub(crate) async fn keep_last(context: &Context) {
    let views = render(&context.book.remember());
    if views.is_empty() || !context.memory.read.load(Ordering::Relaxed) {
        return;
    }
    if !matches!(timeout(LAST_STORE, store(context, &views)).await, Ok(Ok(()))) {
        tracing::warn!(name = NAME, "The peer views could not be stored at the end.");
    }
}

/// Reads until the API server says what is stored, or that nothing is. What was heard meanwhile stays: it is
/// newer.
async fn until_read(context: &Context) {
    let mut failures = 0;
    while !context.memory.read.load(Ordering::Relaxed) {
        match in_time(api(context).get_opt(NAME)).await {
            Ok(stored) => {
                if let Some(stored) = stored {
                    let (views, damaged) = parse(&stored);
                    tell(&damaged);
                    context.book.restore(views, context.now());
                }
                context.memory.read.store(true, Ordering::Relaxed);
            }
            Err(error) => {
                tracing::warn!(error = %Chain(&error), name = NAME, "The stored peer views could not be read.");
                sleep(RETRY.next(&mut failures)).await;
            }
        }
    }
}

/// Warns of keys that cannot be read: once, because they are read at the start only.
fn tell(damaged: &[(&str, String)]) {
    for (key, error) in damaged {
        tracing::warn!(
            name = NAME,
            key,
            error,
            "Stored views of a peer cannot be read and are left out; remove the key from the ConfigMap, it is written anew."
        );
    }
}

async fn store(context: &Context, views: &BTreeMap<String, String>) -> kube::Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": views});
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api(context).patch(NAME, &params, &Patch::Apply(&body)).await?;
    Ok(())
}

fn api(context: &Context) -> Api<ConfigMap> {
    Api::namespaced(context.client.clone(), &context.settings.namespace)
}

/// One key per peer.
fn render(views: &Stored) -> BTreeMap<String, String> {
    views.iter().map(|(tag, hosts)| (tag.to_string(), json!(hosts).to_string())).collect()
}

/// What can be used of the stored views, and the keys of what cannot, each with what is wrong.
fn parse(stored: &ConfigMap) -> (Stored, Vec<(&str, String)>) {
    let mut views = Stored::new();
    let mut damaged = Vec::new();
    for (key, hosts) in stored.data.iter().flatten() {
        let tag = GeoTag::parse(key).map_err(|problem| problem.to_string());
        match tag.and_then(|tag| Ok((tag, serde_json::from_str(hosts).map_err(|error| error.to_string())?))) {
            Ok((tag, hosts)) => drop(views.insert(tag, hosts)),
            Err(problem) => damaged.push((key.as_str(), problem)),
        }
    }
    (views, damaged)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn what_was_stored_is_read_back_and_what_is_damaged_is_left_out() {
        let remembered = Remembered {
            state: "Answered".into(),
            targets: ["192.0.2.1".parse().unwrap()].into(),
            heard: Some(Timestamp::UNIX_EPOCH),
        };
        let host = DomainName::parse("app.cloud.example.com").unwrap();
        let views = Stored::from([(GeoTag::parse("us").unwrap(), [(host, remembered)].into())]);
        let mut data = render(&views);
        data.insert("za".into(), "{".into());
        data.insert("a peer".into(), "{}".into());
        let stored = ConfigMap { data: Some(data), ..ConfigMap::default() };
        let damaged = [("a peer", "geo tag \"a peer\""), ("za", "EOF")];
        let (read, left_out) = parse(&stored);
        assert_eq!(read, views);
        assert_eq!(left_out.len(), damaged.len());
        for ((key, problem), (damaged, start)) in left_out.iter().zip(damaged) {
            assert_eq!(*key, damaged);
            assert!(problem.starts_with(start), "{problem}");
        }
    }
}
