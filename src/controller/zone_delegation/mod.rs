//! One pass over one ZoneDelegation: this cluster's part of a delegation, and what is told about all of it.

mod amends;
mod approval;
pub(crate) mod corefile;
mod desk;
mod discover;
mod doubt;
mod errand;
mod finalize;
pub(crate) mod live;
mod members;
mod memory;
mod places;
mod preflight;
mod prove;
mod provide;
pub(crate) mod report;
mod restart;
mod settle;
mod standing;
mod zones;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::contest::{Seniority, accepted_zones};
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use gslb_crds::zone_delegation::DnsServer;
use jiff::Timestamp;
use kube::core::DeserializeGuard;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};

pub(crate) use desk::Desk;
pub(crate) use errand::{Job, follow as follow_errands};
pub(crate) use members::{EVICTED, NOT_EVICTED};
pub(crate) use places::believed;
pub(crate) use preflight::adopts;
pub(crate) use zones::bootstrap;

use super::cache::Key;
use super::context::Context;
use super::{Pass, PassError, cluster};
use desk::About;
use discover::Discovery;
use finalize::{ensure_finalizer, finalize};
use places::Places;

/// Shortest pause before a pass looks again by itself: whatever goes wrong, one zone costs ten passes a second at
/// most. No outside reference.
const SHORTEST_LOOK: Duration = Duration::from_millis(100);

/// Reason of a zone that an older object stands for.
const ZONE_TAKEN: &str = "ZoneTaken";

/// Name under which it is remembered that a ZoneDelegation cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable ZoneDelegation";
/// Name under which it is remembered that a provider is not known to be the one it says it is.
pub(crate) const UNVERIFIED: &str = "unverified provider of a ZoneDelegation";

/// A ZoneDelegation, or what is wrong with it if it does not parse.
pub(crate) type Guarded = DeserializeGuard<ZoneDelegation>;

/// Brings this cluster's part of one delegation, and the status, up to date.
pub(crate) async fn reconcile(guarded: Arc<Guarded>, pass: Arc<Pass>) -> Result<Action, PassError> {
    let context = &pass.context;
    let object = match &guarded.0 {
        Ok(object) => {
            context.announcer.calm(UNREADABLE, &Key::of(&*guarded));
            object
        }
        Err(invalid) => {
            let held = context.zones.get(&Key::of(&*guarded)).and_then(|facts| facts.zone);
            let goes_on = held.map(|zone| goes_on(&zone)).unwrap_or_default();
            let note = format!("this ZoneDelegation cannot be read: {}; correct it{goes_on}", invalid.error);
            tracing::warn!(
                zone = guarded.name_any(),
                error = invalid.error,
                "A ZoneDelegation cannot be read."
            );
            let what = (UNREADABLE, Key::of(&*guarded));
            context.announcer.warn(what, "Unreadable", note, &guarded.object_ref(&()));
            return Ok(Action::await_change());
        }
    };
    let object = Arc::new(object.clone());
    let action = if object.metadata.deletion_timestamp.is_some() {
        finalize(&pass, &object).await?
    } else {
        maintain(&pass, &object).await?
    };
    pass.progress.tick();
    Ok(action)
}

async fn maintain(pass: &Arc<Pass>, object: &Arc<ZoneDelegation>) -> Result<Action, PassError> {
    let context = &pass.context;
    let now = context.now();
    let (claimant, accepted) = match accept(context, object).and_then(|zone| delegated(context, zone)) {
        Ok(accepted) => accepted,
        Err(refused) => {
            report::report(context, object, BTreeSet::new(), vec![refused], now);
            return Ok(Action::await_change());
        }
    };
    ensure_finalizer(context, object).await?;
    if let Some(until) = cluster::awaited_until(context, now) {
        // A start: what was told stands for the moment until the names of our load balancer are known.
        return Ok(Action::requeue(Duration::try_from(until.duration_since(now)).unwrap_or_default()));
    }
    let about = About { name: object.name_any(), uid: object.metadata.uid.clone() };
    let places = Places::of(pass, claimant.zone(), now);
    let mut schedule = pass.zones.schedule(&about);
    let discovery = Discovery::begin(pass, object, claimant.zone(), &schedule);
    // Beside the providers, who may be slow: the first publication waits only seconds for the members.
    let errands = places.errands(pass, object, &claimant, discovery.is_due());
    let ((), asked) = futures::join!(discovery.look(), errand::run_all(pass, errands));
    let mut conditions = places.conditions(pass, &about);
    places.doubt(pass, object).await;
    // First of all: `Ready` lends its words from the first that is not true.
    conditions.insert(0, report::with_left_out(accepted, &context.fleet.left_out(claimant.zone().name())));
    discovery.end(&mut schedule, places.len(), asked);
    pass.zones.keep_schedule(&about, schedule.clone());
    let own = match places.waits_for_a_name() {
        // Nothing says that the last ones are gone.
        true => last_own(object, &claimant).into_iter().chain(places.own_addresses()).collect(),
        false => places.own_addresses(),
    };
    let servers = servers(context, claimant.zone(), &claimant, &own);
    let (stale, look) = members::stale(pass, &claimant, &places, &about);
    report::report_with(context, object, servers, conditions, Some(stale), context.now());
    members::settle(pass, object, &places, &about).await?;
    let looks = places.next_looks(pass, &about).chain(schedule.next());
    Ok(next(context, looks.chain(look)))
}

/// The zone can be acted on, and no older object stands for it. What is acted on may be the zone before an edit
/// that is invalid; then the condition says so.
fn accept(context: &Context, object: &ZoneDelegation) -> Result<(Claimant, Condition), Condition> {
    let kind = ConditionKind::Accepted;
    let invalid = |message| Condition::bad(kind, "SpecInvalid", message);
    let (zone, accepted) = match object.spec.zone() {
        Ok((zone, None)) => (zone, report::accepted()),
        Ok((zone, Some(problem))) => (zone, invalid(problem)),
        Err(problem) => match context.zones.get(&Key::of(object)).and_then(|facts| facts.zone) {
            Some(zone) => {
                let message = format!("{problem}{}", goes_on(&zone));
                (zone, invalid(message))
            }
            None => return Err(invalid(problem)),
        },
    };
    // The object itself may be ahead of what the watch showed.
    let mut objects = context.zone_objects(|_| true);
    objects.retain(|(other, _)| other.key != object.name_any());
    let created = object.creation_timestamp().map(|time| time.0);
    objects.push((Seniority { created, key: object.name_any() }, zone.clone()));
    let stands = accepted_zones(objects, &[]).remove(&zone.name().dashed());
    if let Some((key, stands)) = stands
        .and_then(|stands| Some((stands.object?, stands.zone)))
        .filter(|(key, _)| *key != object.name_any())
    {
        return Err(Condition::bad(kind, ZONE_TAKEN, taken(&zone, &key, &stands)));
    }
    let settings = &context.settings;
    Claimant::new(zone, settings.ns_prefix.clone(), settings.geo_tag.clone())
        .map(|claimant| (claimant, accepted))
        .map_err(|error| Condition::bad(kind, "NameServerNameInvalid", error.to_string()))
}

/// Why the zone is not this object's: `key` stands for `older`.
fn taken(zone: &Zone, key: &str, older: &Zone) -> String {
    let name = zone.name();
    if older.name() == name {
        return format!("the older ZoneDelegation {key} is about zone {name} already; delete one of the two");
    }
    format!(
        "zone {name} shares its name with {} of the older ZoneDelegation {key} once dots are dashes; rename one of the zones or delete one of the two objects",
        older.name()
    )
}

/// Refuses a zone whose hosts' records are kept at the provider. Only its withdrawal is still to be done, once the
/// object is deleted.
fn delegated(
    context: &Context,
    (claimant, accepted): (Claimant, Condition),
) -> Result<(Claimant, Condition), Condition> {
    let name = claimant.zone().name();
    if !context.settings.records_zones.contains(name) {
        return Ok((claimant, accepted));
    }
    let message = format!(
        "zone {name} is in records mode, so it is not delegated; delete this ZoneDelegation, with doFinalize: true if the delegation is still there"
    );
    Err(Condition::bad(ConditionKind::Accepted, "RecordsMode", message))
}

/// The end of a sentence about an invalid edit.
fn goes_on(zone: &Zone) -> String {
    format!("; zone {} goes on as it was accepted last", zone.name())
}

/// All name servers of the zone as far as they are known.
fn servers(
    context: &Context,
    zone: &Zone,
    claimant: &Claimant,
    own: &BTreeSet<IpAddr>,
) -> BTreeSet<DnsServer> {
    let name = claimant.ns_name().to_string();
    let ours = own.iter().map(|address| DnsServer { name: name.clone(), address: address.to_string() });
    let peers = context.glue.servers(zone).into_iter();
    let peers =
        peers.map(|(name, address)| DnsServer { name: name.to_string(), address: address.to_string() });
    ours.chain(peers).collect()
}

/// Our own addresses as the status tells them.
fn last_own(object: &ZoneDelegation, claimant: &Claimant) -> BTreeSet<IpAddr> {
    let listed = object.status.iter().flat_map(|status| &status.dns_servers);
    let ours = listed.filter(|server| server.name == claimant.ns_name().as_str());
    ours.filter_map(|server| server.address.parse().ok()).collect()
}

/// When to look again: with the period, or earlier if something asks for it. A time that has passed is no reason to start
/// again at once.
fn next(context: &Context, looks: impl Iterator<Item = Timestamp>) -> Action {
    let now = context.now();
    let pause =
        |at: Timestamp| Duration::try_from(at.duration_since(now)).unwrap_or_default().max(SHORTEST_LOOK);
    let period = context.settings.periods.zone_delegation;
    period.into_iter().chain(looks.min().map(pause)).min().map_or_else(Action::await_change, Action::requeue)
}
