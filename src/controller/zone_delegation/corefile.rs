//! Tells a k8gb CoreDNS which zones it serves, through its ConfigMap.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gslb_core::contest::accepted_zones;
use gslb_core::corefile::{Edits, edits};
use gslb_core::doubling::Doubling;
use gslb_core::name::DomainName;
use gslb_core::rivalry::Rivalry;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watcher;
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::controller::cache::Chain;
use crate::controller::context::Context;
use crate::controller::write::FIELD_MANAGER;
use crate::kube_call::in_time;
use crate::kube_client::watching;

/// Name of the ConfigMap, in the own namespace (contract §5.4).
const NAME: &str = "k8gb-zone-delegation";
/// Pauses after a failure. The longest is as long as the kubelet takes to bring a changed ConfigMap into a Pod.
const RETRY: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// Keeps the entries of all zones right until the daemon ends.
pub(crate) async fn keep(context: Arc<Context>) {
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), &context.settings.namespace);
    let mut zones = context.zones.changes();
    let config = watching().fields(&format!("metadata.name={NAME}"));
    // Only wakes: each event, a failure too, leads to a look at the object itself.
    let mut edited = std::pin::pin!(watcher(api.clone(), config).default_backoff());
    let mut failures = 0;
    let (mut written, mut rivalry) = (None, Rivalry::default());
    loop {
        zones.mark_unchanged();
        let (served, now) = (served(&context), context.now());
        // Other zones than those that somebody undoes wait for nobody.
        if let Some(until) = rivalry.held_until(now).filter(|_| written.as_ref() == Some(&served)) {
            let pause = Duration::try_from(until.duration_since(now)).unwrap_or_default();
            tokio::select! {
                changed = zones.changed() => if changed.is_err() { break },
                () = tokio::time::sleep(pause) => {}
            }
            continue;
        }
        match write(&api, &served).await {
            Ok(false) => {
                failures = 0;
                tokio::select! {
                    changed = zones.changed() => if changed.is_err() { break },
                    _ = edited.next() => {}
                }
            }
            Ok(true) => {
                failures = 0;
                tracing::info!(name = NAME, "Updated the zones of CoreDNS.");
                rivalry.wrote(written.as_ref() == Some(&served), now);
                written = Some(served);
                if rivalry.lasts_until(now).is_some() {
                    tracing::warn!(
                        name = NAME,
                        "Somebody else keeps changing the zones of CoreDNS back; they are written again with pauses."
                    );
                }
            }
            Err(error) => {
                tracing::warn!(name = NAME, error = %Chain(&error), "The zones of CoreDNS could not be updated; it is tried again.");
                tokio::time::sleep(RETRY.next(&mut failures)).await;
            }
        }
    }
}

/// The zones of all ZoneDelegations that are not on their way out; of two that share a name the older one's.
fn served(context: &Context) -> BTreeSet<DomainName> {
    let accepted = accepted_zones(context.zone_objects(|facts| !facts.deleting), &[]);
    accepted.into_values().map(|accepted| accepted.zone.name().clone()).collect()
}

/// Writes what differs. Gives whether that was anything.
async fn write(api: &Api<ConfigMap>, zones: &BTreeSet<DomainName>) -> kube::Result<bool> {
    let live = in_time(api.get_opt(NAME)).await?;
    let version = live.as_ref().and_then(ResourceExt::resource_version);
    let data = live.as_ref().and_then(|live| live.data.clone()).unwrap_or_default();
    let edits = edits(zones, &data);
    if edits.is_empty() {
        return Ok(false);
    }
    if live.is_some() {
        // Everything else in the object is somebody else's.
        let body = json!({"metadata": {"resourceVersion": version}, "data": edits});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        in_time(api.patch(NAME, &params, &Patch::Merge(&body))).await?;
    } else {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        in_time(api.create(&params, &object(edits))).await?;
    }
    Ok(true)
}

fn object(edits: Edits) -> ConfigMap {
    let data = edits.into_iter().filter_map(|(key, text)| Some((key, text?))).collect();
    let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}
