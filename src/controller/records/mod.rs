//! Records mode: keeps this cluster's records of the hosts of a zone that the provider serves itself.
//!
//! A pass over a Gslb leaves what it wants at its hosts ([`wants`]) and tells what came of it; beside the passes,
//! [`keeper`] visits the provider, once an interval and whenever a wish changes. A visit ([`visit`]) reads the whole zone
//! and goes through its hosts ([`host`]): plan, approve, log, apply, log. What no Gslb wants any more is withdrawn from
//! what the provider shows, so that it does not matter whether anybody saw the Gslb go.

mod host;
pub(crate) mod keeper;
mod visit;
pub(crate) mod wants;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gslb_core::changelog::ObjectRef;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::publication::Publication;
use gslb_core::records::{DesiredHost, RecordClaim};
use gslb_core::zone::{Zone, zone_of};
use gslb_crds::Gslb;
use kube::{Resource, ResourceExt};

use super::context::Context;
use super::gslb::group::Served;
use wants::Want;

/// Longest pause between two reads of a zone (design §2.5).
const LONGEST_INTERVAL: Duration = Duration::from_secs(30);

/// How often a zone is read.
pub(crate) fn interval(context: &Context) -> Duration {
    context.settings.periods.gslb.map_or(LONGEST_INTERVAL, |period| period.min(LONGEST_INTERVAL))
}

/// Leaves what a Gslb wants at its hosts in zones of records mode, and adds to its conditions how these stand at the
/// provider, if it has any there.
pub(crate) fn follow(context: &Context, gslb: Served<'_>, zones: &[Zone], publication: &mut Publication) {
    let (mut wants, mut hosts) = (BTreeMap::new(), BTreeSet::new());
    for report in &publication.hosts {
        let zone = zone_of(zones, &report.host);
        let Some(zone) = zone.filter(|zone| context.settings.records_zones.contains(zone.name())) else {
            continue;
        };
        hosts.insert(report.host.clone());
        // While the peers' first word is awaited, what was wanted before goes on.
        let (Some(decision), Some(accepted)) = (&report.decision, &publication.accepted) else { continue };
        let claim = claim_in(context, zone);
        let wish = DesiredHost::of_decision(report.host.clone(), claim, accepted, decision);
        let able = decision.local.is_some();
        let want = Want { gslb: gslb.id(), object: object_ref(&gslb), wish, able };
        wants.insert(report.host.clone(), want);
    }
    context.records.want(&gslb.id(), wants, &hosts);
    if let Some(in_sync) = context.records.told(&hosts) {
        add(&mut publication.conditions, in_sync);
    }
}

/// Whether it is still to be heard how the records of a Gslb stand.
pub(crate) fn is_unasked(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| condition.reason == wants::NOT_ASKED)
}

/// `Ready` takes the records at the provider, too.
fn add(conditions: &mut Vec<Condition>, in_sync: Condition) {
    let ready = conditions.iter_mut().find(|condition| condition.kind == ConditionKind::Ready);
    if let Some(ready) = ready.filter(|ready| ready.is_good() && !in_sync.is_good()) {
        *ready = Condition { kind: ConditionKind::Ready, ..in_sync.clone() };
    }
    conditions.push(in_sync);
}

/// This cluster's claim in a zone.
fn claim_in(context: &Context, zone: &Zone) -> RecordClaim {
    RecordClaim { fleet: zone.name().clone(), tag: context.settings.geo_tag.clone() }
}

fn object_ref(gslb: &Gslb) -> ObjectRef {
    ObjectRef {
        kind: Gslb::kind(&()).into_owned(),
        namespace: gslb.namespace(),
        name: gslb.name_any(),
        uid: gslb.uid().unwrap_or_default(),
        generation: gslb.metadata.generation.unwrap_or_default(),
    }
}

/// Stands for a Gslb that is gone and that this process never saw.
fn unknown_object() -> ObjectRef {
    ObjectRef {
        kind: Gslb::kind(&()).into_owned(),
        namespace: None,
        name: "unknown".to_owned(),
        uid: String::new(),
        generation: 0,
    }
}
