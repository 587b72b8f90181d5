//! Tells the user how a delegation stands: status, conditions, events.

use std::collections::BTreeSet;

use gslb_core::condition::{Condition, ConditionKind, ready};
use gslb_core::fleet::MOST_PEERS;
use gslb_core::name::GeoTag;
use gslb_crds::zone_delegation::DnsServer;
use gslb_crds::{ZoneDelegation, ZoneDelegationStatus};
use jiff::Timestamp;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::statuses::{Whose, Wish};
use crate::controller::unless_gone;
use crate::controller::write::{Live, Need, Write, own_status};

/// Name of this kind in memories and of its status as a kind of write.
pub(crate) const WHAT: &str = "ZoneDelegation";
/// Clusters that one sentence names. No outside reference.
const MOST_NAMED: usize = 10;

/// As [`report_with`], of what `Ready` depends on alone.
pub(crate) fn report(
    context: &Context,
    object: &ZoneDelegation,
    servers: BTreeSet<DnsServer>,
    conditions: Vec<Condition>,
    now: Timestamp,
) {
    report_with(context, object, servers, conditions, None, now);
}

/// Has the status written if it says something new, and one event per transition stored. `beside`: a condition that `Ready` does not depend on.
pub(crate) fn report_with(
    context: &Context,
    object: &ZoneDelegation,
    servers: BTreeSet<DnsServer>,
    mut conditions: Vec<Condition>,
    beside: Option<Condition>,
    now: Timestamp,
) {
    let key = Key::of(object);
    let needed: Vec<&Condition> = conditions.iter().collect();
    let ready = ready(&needed, "the delegation is served and holds this cluster's name server");
    conditions.extend(beside.into_iter().chain([ready]));
    let live_conditions =
        object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = object.metadata.generation;
    let (conditions, events) =
        context.announcer.settle(WHAT, &object.metadata, &conditions, live_conditions, context.wall_now());
    let status = json!(ZoneDelegationStatus {
        dns_servers: sorted(servers),
        conditions,
        observed_generation: generation,
    });
    let live = Live::new(object.resource_version(), &own_status(&object.status));
    let need = context.writer.need(WHAT, &key, &status, Some(&live), now);
    context.statuses.tell(Whose::ZoneDelegation(key), Wish { uid: object.uid(), status }, need);
    context.announcer.publish(events, &object.object_ref(&()));
}

/// Writes a status, if it still differs from what the watch shows. Gives what was needed.
pub(crate) async fn write(context: &Context, object: &ZoneDelegation, desired: Value) -> kube::Result<Need> {
    let (key, now) = (Key::of(object), context.now());
    let shown = json!(object.status);
    let live = Live::new(object.resource_version(), &own_status(&shown));
    let need = context.writer.need(WHAT, &key, &desired, Some(&live), now);
    if need == Need::Write {
        let api: Api<ZoneDelegation> = Api::all(context.client.clone());
        let body = json!({
            "apiVersion": ZoneDelegation::api_version(&()), "kind": ZoneDelegation::kind(&()),
            "metadata": {"name": key.name, "uid": object.uid()}, "status": &desired,
        });
        let write = Write { what: WHAT, key: &key, status: Some(&shown), desired, live: Some(&live), now };
        let view = |object: &ZoneDelegation| json!(object.status);
        unless_gone(context.writer.apply(write, &api, &body, view).await)?;
    }
    Ok(need)
}

/// By name, then address, both as plain text (contract §1.4).
fn sorted(servers: BTreeSet<DnsServer>) -> Vec<DnsServer> {
    servers.into_iter().collect()
}

/// The condition `Accepted` of a zone that can be acted on.
pub(crate) fn accepted() -> Condition {
    Condition::good(ConditionKind::Accepted, "Accepted", "the zone and its parent are accepted")
}

/// As [`accepted`], with the clusters for which there is no room in the fleet. What is wrong with the zone goes before.
pub(crate) fn with_left_out(accepted: Condition, left_out: &BTreeSet<GeoTag>) -> Condition {
    if left_out.is_empty() || !accepted.is_good() {
        return accepted;
    }
    let named = left_out.iter().take(MOST_NAMED).map(GeoTag::as_str).collect::<Vec<_>>().join(", ");
    let more = match left_out.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "{named}{more} of the delegation are no members of the fleet, because {MOST_PEERS} others are; remove name servers that are no clusters from the parent zone, or list the fleet in EXT_GSLB_CLUSTERS_GEO_TAGS"
    );
    Condition::good(ConditionKind::Accepted, "PeersLeftOut", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_without_room_are_told_by_name_and_no_problem_of_the_zone_is_hidden() {
        let tags: BTreeSet<GeoTag> =
            (0..12).map(|number| GeoTag::parse(&format!("c{number:02}")).unwrap()).collect();
        let told = with_left_out(accepted(), &tags);
        let sentence = "c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 2 more of the delegation are no members of the fleet, because 64 others are; ";
        assert!(told.message.starts_with(sentence), "{}", told.message);
        assert_eq!((told.is_good(), told.reason), (true, "PeersLeftOut"));
        let bad = Condition::bad(ConditionKind::Accepted, "SpecInvalid", "wrong");
        assert_eq!(with_left_out(bad.clone(), &tags), bad);
        assert_eq!(with_left_out(accepted(), &[].into()), accepted());
    }
}
