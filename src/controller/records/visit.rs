//! One visit to the provider: reads a zone, then goes through its hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use gslb_core::changelog::ObjectRef;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::doubling::Doubling;
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_core::peer::LookUp;
use gslb_core::records::{Challenges, DesiredHost, Evidence, ObservedHost, ZoneRecords};
use gslb_core::zone::{Zone, zone_of};
use gslb_provider_contract::{Provider, ProviderError, Scope};
use jiff::Timestamp;

use super::host::{HostMemory, HostVisit, Outcome, Waiting, look_at_approval};
use super::wants::Want;
use super::{claim_in, interval, unknown_object};
use crate::controller::cache::Chain;
use crate::controller::context::{Context, signed};
use crate::controller::ledger::{Notary, Stop, pause_after};
use crate::controller::zone_delegation::believed;
use crate::controller::{Pass, Trigger};
use crate::providers::Place;

/// Pauses after a provider failed. No outside reference.
const RETRY: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Rounds that are made again because somebody else wrote in between.
const STALE_TRIES: u32 = 3;

/// What is remembered of a zone between visits.
#[derive(Debug, Default)]
pub(super) struct Memory {
    challenges: Challenges,
    hosts: BTreeMap<DomainName, HostMemory>,
    /// The Gslbs that hosts were last wanted by.
    objects: BTreeMap<DomainName, ObjectRef>,
    /// A change that waits for approval: nothing is written in the zone meanwhile.
    pub(super) waiting: Option<Waiting>,
    /// Whether the log was asked for one that an earlier run left waiting.
    pub(super) log_recalled: bool,
    /// Failures of the provider in a row.
    pub(super) failures: u32,
    /// When the next visit is due.
    pub(super) next: Timestamp,
}

/// What one round found: when the zone is to be looked at before the interval is over, and whether somebody else wrote
/// in between.
#[derive(Debug, Default)]
struct Round {
    look_again: Option<Timestamp>,
    again: bool,
}

impl Round {
    fn look_at(&mut self, at: Option<Timestamp>) {
        self.look_again = self.look_again.into_iter().chain(at).min();
    }
}

/// Brings the records of a zone up to date, and tells how each host stands.
pub(super) async fn visit(pass: &Pass, zone: &Zone, all_gslbs_known: bool, memory: &mut Memory) {
    let context = &pass.context;
    let mut tries = 0;
    let result = loop {
        match round(pass, zone, all_gslbs_known, memory).await {
            Ok(Round { again: true, .. }) if tries < STALE_TRIES => tries += 1,
            result => break result,
        }
    };
    let now = context.now();
    let pause = match result {
        Ok(round) => {
            memory.failures = 0;
            let sooner = round.look_again.map(|at| at.duration_since(now));
            let sooner = sooner.map(|left| Duration::try_from(left).unwrap_or_default());
            sooner.into_iter().chain([interval(context)]).min().unwrap_or_default()
        }
        Err(stop) => fail(pass, zone, memory, &stop, now),
    };
    memory.next = now.checked_add(pause).unwrap_or(Timestamp::MAX);
}

/// Tells of what stopped a visit, and gives how long the provider is left alone.
fn fail(pass: &Pass, zone: &Zone, memory: &mut Memory, stop: &Stop, now: Timestamp) -> Duration {
    let (kind, name) = (ConditionKind::InSync, zone.name());
    let backoff = RETRY.next(&mut memory.failures);
    let (condition, pause) = match stop {
        Stop::Provider(error) => {
            let reason = error.reason();
            tracing::warn!(zone = %name, reason, error = %Chain(error), "The provider failed.");
            (Condition::bad(kind, reason, error.to_string()), pause_after(error, backoff, now))
        }
        Stop::Audit(error) => {
            pass.ledger.doubt_log();
            tracing::warn!(zone = %name, error = %Chain(error), "The change log failed; nothing more is changed at the provider.");
            let message = format!("no record is changed because the change log cannot be written: {error}");
            (Condition::bad(kind, error.reason(), message), backoff)
        }
        Stop::Refused(message, reason) => (Condition::bad(kind, reason, message.clone()), backoff),
    };
    for host in pass.context.records.within(name).keys() {
        tell(pass, host, condition.clone());
    }
    pause
}

fn tell(pass: &Pass, host: &DomainName, condition: Condition) {
    if let Some(gslb) = pass.context.records.tell(host, condition) {
        pass.triggers.send(Trigger::Gslb(gslb));
    }
}

async fn round(pass: &Pass, zone: &Zone, all_gslbs_known: bool, memory: &mut Memory) -> Result<Round, Stop> {
    let context = &pass.context;
    let place = place_of(pass, zone)?;
    let provider = able_provider(&place, zone)?;
    let _slot = place.slots.acquire().await;
    let notary = notary(pass, provider, &place.outlet);
    pass.ledger.read_log(&pass.log, &context.clock, &|zone, change| pass.is_place_of(zone, change)).await?;
    let read_at = context.now();
    let found = provider.records(&Scope::from(zone)).await?;
    let found = of_zone(context, zone, found);
    context.metrics.records_seen(zone.name(), &context.settings.geo_tag, &found);
    memory.challenges =
        std::mem::take(&mut memory.challenges).seen(&context.settings.geo_tag, &found, read_at);
    let held = look_at_approval(pass, (&**provider, &place.outlet), zone, memory).await?;
    let isolated = is_isolated(context, zone).await;
    let seen = Seen { zone, found: &found, read_at, held: held.as_deref(), isolated };
    let wanted = wanted(pass, zone, &found, all_gslbs_known, memory);
    let mut round = Round::default();
    for (host, want) in wanted {
        let outcome = visit_host(pass, notary, &seen, (&host, &want), memory).await?;
        round.look_at(outcome.look_again);
        round.again |= outcome.again;
        tell(pass, &host, believed(&place, outcome.condition));
        if let Some(waiting) = outcome.waiting {
            // The next one would wait as well.
            memory.waiting = Some(waiting);
            round.again = true;
            break;
        }
    }
    Ok(round)
}

/// Where the records of a zone are kept: it lists no places, so there is one at most.
fn place_of(pass: &Pass, zone: &Zone) -> Result<Place, Stop> {
    let places = pass.providers.places(&pass.context.settings, zone.name());
    places.into_iter().next().ok_or_else(no_provider)
}

fn no_provider() -> Stop {
    Stop::Refused("no provider is configured, so no record is kept".to_owned(), "NoProvider")
}

/// The provider of a place, if it can hold records.
fn able_provider<'a>(place: &'a Place, zone: &Zone) -> Result<&'a Arc<dyn Provider>, Stop> {
    let provider = place.provider.as_ref().ok_or_else(no_provider)?;
    if !provider.capabilities().records {
        let message = format!(
            "{} cannot hold records of several clusters; set the mode of zone {} to delegation",
            provider.id(),
            zone.name()
        );
        return Err(Stop::Refused(message, "RecordsUnsupported"));
    }
    Ok(provider)
}

/// What one read of a zone showed, and what is known with it.
struct Seen<'a> {
    zone: &'a Zone,
    found: &'a ZoneRecords,
    /// When the read began.
    read_at: Timestamp,
    /// Why nothing may be written.
    held: Option<&'a str>,
    isolated: bool,
}

async fn visit_host(
    pass: &Pass,
    notary: Notary<'_>,
    seen: &Seen<'_>,
    (host, want): (&DomainName, &Want),
    memory: &mut Memory,
) -> Result<Outcome, Stop> {
    let context = &pass.context;
    let nothing = ObservedHost::default();
    let evidence = Evidence {
        able: want.able,
        isolated: seen.isolated,
        peers: context.book.standings(host),
        interval: signed(interval(context)),
    };
    let host_visit = HostVisit {
        notary,
        who: &pass.who,
        zone: seen.zone,
        want,
        observed: seen.found.get(host).unwrap_or(&nothing),
        evidence: &evidence,
        challenges: &memory.challenges,
        held: seen.held,
        read_at: seen.read_at,
    };
    let host_memory = memory.hosts.entry(host.clone()).or_default();
    let outcome = host_visit.visit(host_memory).await?;
    for change in &outcome.made {
        let (challenges, now) = (std::mem::take(&mut memory.challenges), context.now());
        memory.challenges = challenges.wrote(&context.settings.geo_tag, change, now);
    }
    Ok(outcome)
}

fn notary<'a>(pass: &'a Pass, provider: &'a Arc<dyn Provider>, outlet: &'a Outlet) -> Notary<'a> {
    let Context { metrics, clock, wall, .. } = &*pass.context;
    let (ledger, log) = (&pass.ledger, &*pass.log);
    Notary { ledger, log, provider, outlet, metrics, clock, wall, zone_delegation: None }
}

/// The hosts of this zone: a nested one has its own.
fn of_zone(context: &Context, zone: &Zone, found: ZoneRecords) -> ZoneRecords {
    let zones = context.served_zones();
    let is_ours = |host: &DomainName| zone_of(&zones, host).is_none_or(|of| of.name() == zone.name());
    found.into_iter().filter(|(host, _)| is_ours(host)).collect()
}

/// What is to be done at each host: what the Gslbs want, and what none of them wants any more.
fn wanted(
    pass: &Pass,
    zone: &Zone,
    found: &ZoneRecords,
    all_gslbs_known: bool,
    memory: &mut Memory,
) -> BTreeMap<DomainName, Want> {
    let context = &pass.context;
    let zones = context.served_zones();
    let mut wants = context.records.within(zone.name());
    wants.retain(|host, _| zone_of(&zones, host).is_some_and(|of| of.name() == zone.name()));
    for (host, want) in &wants {
        memory.objects.insert(host.clone(), want.object.clone());
    }
    let claim = claim_in(context, zone);
    let own = found.iter().filter(|(_, observed)| {
        observed.records.values().any(|record| record.claim.as_ref() == Some(&claim))
    });
    let own = own.map(|(host, _)| host.clone()).chain(pass.ledger.unsettled_hosts(zone.name()));
    // A Gslb that cannot be read wants what nobody knows.
    let readable = || pass.triggers.gslbs().all(|gslb| gslb.read().is_some());
    let orphans: BTreeSet<DomainName> = own.filter(|host| !wants.contains_key(host)).collect();
    if !orphans.is_empty() && all_gslbs_known && readable() {
        let hosts = context.registry.hosts();
        for host in orphans.into_iter().filter(|host| !hosts.contains_key(host)) {
            let object = memory.objects.get(&host).cloned().unwrap_or_else(unknown_object);
            let gslb = super::wants::nobody();
            let wish = Ok(DesiredHost::withdrawn(host.clone(), claim.clone()));
            wants.insert(host, Want { gslb, object, wish, able: false });
        }
    }
    memory.hosts.retain(|host, _| wants.contains_key(host));
    memory.objects.retain(|host, _| wants.contains_key(host) || found.contains_key(host));
    wants
}

/// Whether nobody answers this cluster: no peer, and no resolver that is asked just now.
async fn is_isolated(context: &Context, zone: &Zone) -> bool {
    let peers = context.book.tags();
    if peers.is_empty() || peers.iter().any(|peer| context.book.answers(peer)) {
        return false;
    }
    let ns_name = zone.ns_name(&context.settings.ns_prefix, &context.settings.geo_tag);
    let name = ns_name.as_ref().unwrap_or_else(|_| zone.name());
    matches!(context.questions.glue(name).await, LookUp::Silent)
}

/// Whether an error is about one host alone, so that the others go on.
pub(super) fn is_of_one_host(error: &ProviderError) -> bool {
    match error {
        ProviderError::Stale { .. } | ProviderError::Refused { .. } | ProviderError::Uncertain { .. } => true,
        ProviderError::Unavailable { .. }
        | ProviderError::Unauthenticated { .. }
        | ProviderError::LoginHeld { .. }
        | ProviderError::Forbidden { .. }
        | ProviderError::Misconfigured { .. }
        | ProviderError::Unexpected { .. } => false,
    }
}
