//! Tells the user how a delegation stands: status, conditions, events.

use std::collections::BTreeSet;

use gslb_core::condition::{Condition, ConditionKind, ready};
use gslb_crds::zone_delegation::DnsServer;
use gslb_crds::{ZoneDelegation, ZoneDelegationStatus};
use jiff::Timestamp;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::unless_gone;
use crate::controller::write::{Live, Need, Write};

/// Name of this kind in memories and of its status as a kind of write.
pub(crate) const WHAT: &str = "ZoneDelegation";

/// Writes the status if it says something new, and one event per transition.
pub(crate) async fn report(
    context: &Context,
    object: &ZoneDelegation,
    servers: BTreeSet<DnsServer>,
    mut conditions: Vec<Condition>,
    now: Timestamp,
) -> kube::Result<()> {
    let key = Key::of(object);
    let needed: Vec<&Condition> = conditions.iter().collect();
    conditions.push(ready(&needed, "the delegation is served and holds this cluster's name server"));
    let live_conditions =
        object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = object.metadata.generation;
    let (conditions, events) =
        context.announcer.settle(WHAT, &key, &conditions, live_conditions, generation, now);
    let desired = json!(ZoneDelegationStatus {
        dns_servers: sorted(servers),
        conditions,
        observed_generation: generation,
    });
    let shown = json!(object.status);
    let live = Live::new(object.resource_version(), &shown);
    if context.writer.need(WHAT, &key, &desired, Some(&live), now) == Need::Write {
        let api: Api<ZoneDelegation> = Api::all(context.client.clone());
        let body = json!({
            "apiVersion": ZoneDelegation::api_version(&()), "kind": ZoneDelegation::kind(&()),
            "metadata": {"name": key.name, "uid": object.uid()}, "status": &desired,
        });
        let write = Write { what: WHAT, key: &key, status: Some(&shown), desired, live: Some(&live), now };
        let written =
            context.writer.apply(write, &api, &body, |object: &ZoneDelegation| json!(object.status)).await;
        // The events are not told again, so they go out whatever became of the status.
        context.announcer.publish(&events, &object.object_ref(&())).await;
        return unless_gone(written).map(drop);
    }
    context.announcer.publish(&events, &object.object_ref(&())).await;
    Ok(())
}

/// By name, then address, both as plain text (contract §1.4).
fn sorted(servers: BTreeSet<DnsServer>) -> Vec<DnsServer> {
    servers.into_iter().collect()
}

/// The condition `Accepted` of a zone that can be acted on.
pub(crate) fn accepted() -> Condition {
    Condition::good(ConditionKind::Accepted, "Accepted", "the zone and its parent are accepted")
}
