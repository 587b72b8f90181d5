//! One pass over one ZoneDelegation: this cluster's part of a delegation, and what is told about all of it.

mod amends;
mod approval;
pub(crate) mod corefile;
mod desk;
mod discover;
mod finalize;
pub(crate) mod live;
mod members;
mod preflight;
mod prove;
mod provide;
pub(crate) mod report;
mod restart;
mod standing;
mod zones;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::contest::{Seniority, accepted_zones};
use gslb_core::delegation::{DesiredDelegation, object_name};
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use gslb_crds::zone_delegation::DnsServer;
use gslb_provider_contract::Provider;
use kube::core::DeserializeGuard;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};

pub(crate) use desk::Desk;
pub(crate) use members::{EVICTED, NOT_EVICTED};
pub(crate) use zones::bootstrap;

use super::cache::Key;
use super::context::Context;
use super::{Pass, PassError, Trigger, cluster};
use crate::audit::ChangeLog;
use desk::{Asked, Asking, Memory, Standing};
use discover::Discovery;
use finalize::{ensure_finalizer, finalize};
use prove::Reach;
use provide::Visit;

/// Reason of a zone that an older object stands for.
const ZONE_TAKEN: &str = "ZoneTaken";

/// A ZoneDelegation, or what is wrong with it if it does not parse.
pub(crate) type Guarded = DeserializeGuard<ZoneDelegation>;

/// Brings this cluster's part of one delegation, and the status, up to date.
pub(crate) async fn reconcile(guarded: Arc<Guarded>, pass: Arc<Pass>) -> Result<Action, PassError> {
    let context = &pass.context;
    let object = match &guarded.0 {
        Ok(object) => object,
        Err(invalid) => {
            let held = context.zones.get(&Key::of(&*guarded)).and_then(|facts| facts.zone);
            let goes_on = held.map(|zone| goes_on(&zone)).unwrap_or_default();
            let note = format!("this ZoneDelegation cannot be read: {}; correct it{goes_on}", invalid.error);
            tracing::warn!(
                zone = guarded.name_any(),
                error = invalid.error,
                "A ZoneDelegation cannot be read."
            );
            let what = (report::WHAT, Key::of(&*guarded));
            context.announcer.warn(what, "Unreadable", note, &guarded.object_ref(&())).await;
            return Ok(Action::await_change());
        }
    };
    let action = if object.metadata.deletion_timestamp.is_some() {
        finalize(&pass, object).await
    } else {
        maintain(&pass, object).await
    };
    let key = Key::of(object);
    // However it ended: what was heard meanwhile does not wait for the next try.
    if context.writer.echoes.take_overtaken(report::WHAT, &key) {
        pass.triggers.send(Trigger::ZoneDelegation(key));
    }
    let action = action?;
    pass.progress.tick();
    Ok(action)
}

async fn maintain(pass: &Pass, object: &ZoneDelegation) -> Result<Action, PassError> {
    let context = &pass.context;
    let now = context.now();
    let (claimant, accepted) = match accept(context, object) {
        Ok(accepted) => accepted,
        Err(refused) => {
            report::report(context, object, BTreeSet::new(), vec![refused], now).await?;
            return Ok(Action::await_change());
        }
    };
    ensure_finalizer(context, object).await?;
    if let Some(until) = cluster::awaited_until(context, now) {
        // A start: what was told stands for the moment until the names of our load balancer are known.
        return Ok(Action::requeue(Duration::try_from(until.duration_since(now)).unwrap_or_default()));
    }
    let mut memory = pass.zones.memory(&object.name_any(), object.metadata.uid.as_deref());
    let glue = cluster::glue(context, now);
    let own: BTreeSet<IpAddr> = glue.iter().flat_map(|glue| &glue.targets).copied().map(IpAddr::V4).collect();
    let mut conditions = Vec::new();
    let mut discovery = Discovery::begin(pass, object, claimant.zone(), &memory);
    // Beside the provider, who may be slow: the first publication waits only seconds for the members.
    let provided = async {
        if glue.is_ok() {
            provide_for(pass, object, &claimant, &own, &mut memory).await;
        }
    };
    futures::join!(discovery.look(), provided);
    discovery.hear_provider(memory.sighting.take()).await;
    match &glue {
        Ok(glue) => {
            if memory.proof_is_due(now) {
                let words = prove::ask_parent(context, claimant.zone(), Reach::OneResolver).await;
                discovery.hear_parent(&words).await;
                let proof = prove::prove(context, &claimant, &own, words).await;
                memory.proved(proof, context.settings.periods.zone_delegation, context.now());
                restart::see_to_it(pass, object, &claimant, &mut memory).await;
            }
            let in_sync = memory.standing.iter().map(|standing| standing.in_sync.clone());
            conditions.extend(in_sync.map(|in_sync| with_notice(in_sync, glue.notice.as_deref())));
            conditions.push(memory.delegated());
        }
        Err(error) => {
            let message = format!("this cluster has no name server address to publish: {error}");
            conditions.push(Condition::bad(ConditionKind::InSync, error.reason(), message));
        }
    }
    // First of all: `Ready` lends its words from the first that is not true.
    conditions.insert(0, report::with_left_out(accepted, &context.fleet.left_out(claimant.zone().name())));
    discovery.end(&mut memory);
    let stale = members::stale(pass, &claimant, &mut memory);
    // What could not be done is done by the next pass, and the memory is kept until then.
    let settled = members::settle(pass, object, &mut memory).await;
    pass.zones.keep(&object.name_any(), memory.clone());
    let listed = match &glue {
        // Nothing says that the last ones are gone.
        Err(cluster::NoGlue::NameNotResolved(_)) => last_own(object, &claimant),
        Ok(_) | Err(_) => own,
    };
    let servers = servers(context, claimant.zone(), &claimant, &listed);
    report::report_with(context, object, servers, conditions, Some(stale), context.now()).await?;
    settled?;
    // Without an address nobody is asked, and a trigger tells when there is one again.
    let asking =
        Asking { provider: glue.is_ok() && pass.provider.is_some(), parent: glue.is_ok(), members: true };
    Ok(next(context, &memory, asking))
}

/// What is in sync is all that can be published; addresses that cannot are told with it.
fn with_notice(in_sync: Condition, notice: Option<&str>) -> Condition {
    match notice {
        Some(notice) if in_sync.is_good() => {
            Condition { message: format!("{}; {notice}", in_sync.message), ..in_sync }
        }
        _ => in_sync,
    }
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

/// The end of a sentence about an invalid edit.
fn goes_on(zone: &Zone) -> String {
    format!("; zone {} goes on as it was accepted last", zone.name())
}

async fn provide_for(
    pass: &Pass,
    object: &ZoneDelegation,
    claimant: &Claimant,
    own: &BTreeSet<IpAddr>,
    memory: &mut Memory,
) {
    let Some((provider, log)) = &pass.provider else {
        let message = "no provider is configured, so the delegation is kept by hand";
        memory.standing = Some(Standing::new(Condition::good(ConditionKind::InSync, "NoProvider", message)));
        return;
    };
    let settings = &pass.context.settings;
    let evicted = members::evicted(pass, object, memory);
    let asked = Asked { evicted, ..asked(pass, provider, object, claimant, own.clone()) };
    let now = pass.context.now();
    if !memory.provider_is_due(&asked, now) && !discover::doubts_provider(pass, claimant.zone(), memory, now)
    {
        return;
    }
    let Ok(desired) = DesiredDelegation::published(claimant.clone(), own.clone(), settings.ns_ttl) else {
        return;
    };
    let desired = shared(provider, desired, &asked).evicting(asked.evicted.clone());
    memory.asked = Some(asked);
    let period = settings.periods.zone_delegation;
    visit(pass, (provider, log), object, &desired, period, memory).await;
}

/// Visits the provider with a wish. `period`: the safety net.
async fn visit(
    pass: &Pass,
    (provider, log): (&Arc<dyn Provider>, &ChangeLog),
    object: &ZoneDelegation,
    desired: &DesiredDelegation,
    period: Option<Duration>,
    memory: &mut Memory,
) {
    let Context { client, metrics, clock, .. } = &*pass.context;
    let (desk, who, scope) = (&pass.zones, &pass.who, pass.context.writable_zones());
    let evicted = memory.asked.as_ref().map(|asked| asked.evicted.clone()).unwrap_or_default();
    let visit =
        Visit { provider, log, client, desk, metrics, who, object, desired, scope, evicted, period, clock };
    provide::visit(&visit, memory).await;
    for (reason, note) in std::mem::take(&mut memory.warnings) {
        let what = (report::WHAT, Key::of(object));
        pass.context.announcer.warn(what, reason, note, &object.object_ref(&())).await;
    }
}

/// What a visit to the provider is about.
fn asked(
    pass: &Pass,
    provider: &Arc<dyn Provider>,
    object: &ZoneDelegation,
    claimant: &Claimant,
    addresses: BTreeSet<IpAddr>,
) -> Asked {
    let context = &pass.context;
    let (mut peers, mut undecided, mut object_version) = (BTreeSet::new(), BTreeSet::new(), None);
    if provider.capabilities().own_object {
        peers = context.glue.servers(claimant.zone()).into_iter().map(|(name, _)| name).collect();
        undecided = context.glue.undecided(claimant.zone().name());
        let key = Key::new(&context.settings.namespace, object_name(claimant.zone().name()));
        object_version = context.endpoints.get(&key).map(|facts| facts.live.resource_version);
    }
    let (generation, adopts) = (object.metadata.generation, preflight::adopts(object));
    let (evict, evicted) = (members::wish(object).cloned(), BTreeSet::new());
    Asked {
        addresses,
        generation,
        adopts,
        withdrawn: false,
        evict,
        evicted,
        peers,
        undecided,
        object_version,
    }
}

/// The wish as this provider can carry it out.
fn shared(provider: &Arc<dyn Provider>, desired: DesiredDelegation, asked: &Asked) -> DesiredDelegation {
    match provider.capabilities().own_object {
        true => desired.with_peers(asked.peers.clone(), asked.undecided.clone()),
        false => desired,
    }
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

fn next(context: &Context, memory: &Memory, asking: Asking) -> Action {
    let look = memory.next_look(asking, context.now());
    let period = context.settings.periods.zone_delegation;
    period.into_iter().chain(look).min().map_or_else(Action::await_change, Action::requeue)
}
