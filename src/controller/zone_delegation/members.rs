//! The other clusters of a delegation: who has been silent for a day, and who is taken out because somebody asks for it.
//! `gslb_core::fleet` judges.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gslb_core::claim::{Claim, Claimant};
use gslb_core::condition::Condition;
use gslb_core::delegation::Delegation;
use gslb_core::fleet::{Eviction, Stale};
use gslb_core::name::GeoTag;
use gslb_crds::{ZoneDelegation, marks};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::events::EventType;
use kube::{Api, Resource, ResourceExt};
use serde_json::json;

use super::desk::About;
use super::memory::Memory;
use super::places::Places;
use crate::controller::{Pass, PassError};
use crate::kube_call::in_time;

/// Reason of the event that tells that the delegation has no entry of a cluster.
pub(crate) const EVICTED: &str = "Evicted";
/// Reason of the event that tells why a cluster is not taken out.
pub(crate) const NOT_EVICTED: &str = "NotEvicted";
/// How often it is looked whether a cluster fell silent or speaks again: short against a day. Nobody is asked for that. No
/// outside reference.
const LOOK: Duration = Duration::from_secs(60);

/// The clusters that a delegation lists, without this one.
pub(super) fn listed(claimant: &Claimant, delegation: Option<&Delegation>) -> BTreeSet<GeoTag> {
    let names = delegation.into_iter().flat_map(|delegation| delegation.servers.keys());
    names.filter_map(|name| tag(claimant.claim(name))).collect()
}

fn tag(claim: Claim) -> Option<GeoTag> {
    match claim {
        Claim::Fleet(tag) => Some(tag),
        Claim::Ours | Claim::Foreign => None,
    }
}

/// The clusters that are to be taken out now, of those that the last read showed.
pub(super) fn evicted(pass: &Pass, object: &ZoneDelegation, memory: &Memory) -> BTreeSet<GeoTag> {
    let due = |eviction: Eviction| match eviction {
        Eviction::Due(tag) => Some(tag),
        Eviction::Over(_) | Eviction::Refused(_) => None,
    };
    judge(pass, object, memory).into_iter().flat_map(BTreeMap::into_values).filter_map(due).collect()
}

/// What becomes of the wish; nothing if there is none, or as long as it is not known who is listed.
fn judge(pass: &Pass, object: &ZoneDelegation, memory: &Memory) -> Option<BTreeMap<String, Eviction>> {
    let (wish, listed) = (wish(object)?, memory.listed.as_ref()?);
    Some(Eviction::judge(wish, &pass.context.settings.geo_tag, listed, &pass.context.book.silent()))
}

pub(super) fn wish(object: &ZoneDelegation) -> Option<&String> {
    object.annotations().get(marks::EVICT)
}

/// After a visit: the read that showed the entry may have been the first one, so that it is taken out by the next. What a
/// visit could not do is told by `InSync`.
pub(super) fn hurry(pass: &Pass, object: &ZoneDelegation, memory: &mut Memory) {
    let waits = memory.failures == 0 && !evicted(pass, object, memory).is_empty();
    if waits && memory.asked.as_ref().is_some_and(|asked| asked.evicted.is_empty()) {
        memory.next_provider = Some(pass.context.now());
    }
}

/// After the places were visited: tells what came of the wish and takes it away, so that a cluster that comes back is not
/// taken out again.
pub(super) async fn settle(
    pass: &Pass,
    object: &ZoneDelegation,
    places: &Places,
    about: &About,
) -> Result<(), PassError> {
    let Some(wish) = wish(object) else { return Ok(()) };
    let providers: Vec<_> = places.all().iter().filter_map(|place| place.provider.as_ref()).collect();
    if providers.is_empty() {
        let why = "no provider is configured, so the delegation is kept by hand; remove the entry there";
        return refuse_all(pass, object, wish, why).await;
    }
    if providers.iter().any(|provider| provider.capabilities().own_object) {
        let why = "with external-dns each cluster's records are its own; delete the DNSEndpoint of the lost cluster's zone, or its records at the provider";
        return refuse_all(pass, object, wish, why).await;
    }
    let mut answers: BTreeMap<String, Eviction> = BTreeMap::new();
    for place in places.all() {
        let memory = pass.zones.memory(about, place.number);
        let Some(judged) = judge(pass, object, &memory).filter(|_| is_read(&memory, wish)) else {
            return Ok(());
        };
        for (word, eviction) in judged {
            match eviction {
                Eviction::Due(_) => return Ok(()),
                // Refused at one place is refused, though it may not be listed at another.
                Eviction::Over(_) => drop(answers.entry(word).or_insert(eviction)),
                Eviction::Refused(_) => drop(answers.insert(word, eviction)),
            }
        }
    }
    take_away(pass, object, wish).await?;
    for (word, eviction) in answers {
        match eviction {
            Eviction::Over(tag) => {
                let note = format!(
                    "the delegation has no entry of {tag} any more; if it comes back, it adds itself again"
                );
                tell(pass, object, EventType::Normal, EVICTED, note).await;
            }
            Eviction::Refused(why) => refuse(pass, object, &word, &why).await,
            Eviction::Due(_) => {}
        }
    }
    Ok(())
}

/// Whether a place was read with the wish in mind: only that says that somebody is gone.
fn is_read(memory: &Memory, wish: &str) -> bool {
    let asked = memory.asked.as_ref();
    memory.failures == 0 && asked.is_some_and(|asked| asked.evict.as_deref() == Some(wish))
}

async fn refuse_all(pass: &Pass, object: &ZoneDelegation, wish: &str, why: &str) -> Result<(), PassError> {
    take_away(pass, object, wish).await?;
    refuse(pass, object, wish, why).await;
    Ok(())
}

async fn refuse(pass: &Pass, object: &ZoneDelegation, word: &str, why: &str) {
    let note = format!("{word} is not taken out of the delegation: {why}");
    tell(pass, object, EventType::Warning, NOT_EVICTED, note).await;
}

async fn tell(pass: &Pass, object: &ZoneDelegation, type_: EventType, reason: &str, note: String) {
    pass.context.announcer.say(type_, reason, note, &object.object_ref(&()));
}

/// Takes the wish off the object as it is now, unless it is another one by now.
async fn take_away(pass: &Pass, object: &ZoneDelegation, wish: &str) -> Result<(), PassError> {
    let api: Api<ZoneDelegation> = Api::all(pass.context.client.clone());
    let name = object.name_any();
    let Some(live) = in_time(api.get_opt(&name)).await? else { return Ok(()) };
    if live.uid() != object.uid() || self::wish(&live).is_none_or(|now| now != wish) {
        return Ok(());
    }
    let metadata = json!({"resourceVersion": live.resource_version(), "annotations": {marks::EVICT: null}});
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    in_time(api.patch(&name, &PatchParams::default(), &patch)).await?;
    Ok(())
}

/// The condition `StaleMember`, and when to look again while the delegation lists others.
pub(super) fn stale(
    pass: &Pass,
    claimant: &Claimant,
    places: &Places,
    about: &About,
) -> (Condition, Option<Timestamp>) {
    let context = &pass.context;
    let read = places.all().iter().filter_map(|place| pass.zones.memory(about, place.number).listed);
    let shown = || {
        let names = context.glue.servers(claimant.zone()).into_iter();
        names.filter_map(|(name, _)| tag(claimant.claim(&name))).collect()
    };
    let listed: BTreeSet<GeoTag> = read.reduce(|listed, more| &listed | &more).unwrap_or_else(shown);
    let now = context.now();
    let stale = Stale::of(&listed, &context.book.silent(), now);
    let again = now.checked_add(LOOK).ok().filter(|_| !listed.is_empty());
    (stale.condition(), stale.next.into_iter().chain(again).min())
}
