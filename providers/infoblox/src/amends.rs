//! What a write of ours took from others who wrote at the same moment: found in the batch's own reads, put back, and told
//! for the change log. A write whose reply was lost tells nothing of that; then it stays unknown.

use std::collections::BTreeSet;

use gslb_core::change::Change;
use gslb_core::changelog::Amends;
use gslb_core::delegation::{Obstacle, Presence};
use gslb_core::name::DomainName;
use gslb_provider_contract::ProviderError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::convert;
use crate::entries::{Key, edited, rebase, same};
use crate::lower::{Edit, restored};
use crate::provider::Infoblox;
use crate::swap::{Swapped, entries};
use crate::wire::{ExtServer, ZoneDelegated, written_reference};

/// How often what others lost is put back before that is left to the caller. No outside reference.
const MOST_TURNS: usize = 5;

/// What others had.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lost {
    /// Entries that they had added or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    delegate_to: Vec<ExtServer>,
    /// Entries that they had removed, and that our list brought back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<ExtServer>,
    /// What makes the zone again that we deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zone: Option<Value>,
}

impl Lost {
    fn told(&self, error: Option<String>) -> Amends {
        Amends { lost: serde_json::to_value(self).expect("lists and texts are JSON"), error }
    }
}

/// The zone after a write as far as it is known, and what others lost by it.
type Amended = (Option<Option<ZoneDelegated>>, Vec<Amends>);

impl Infoblox {
    /// Writes again while a write of ours overwrote something of others.
    pub(crate) async fn put_back(
        &self,
        change: &Change,
        found: &ZoneDelegated,
        edit: Edit,
        first: Swapped,
        stamps: bool,
    ) -> Amended {
        let mut amends = vec![];
        let Edit::Update { delegate_to: Some(mut written), .. } = edit else {
            return (Some(first.after), amends);
        };
        let ours: BTreeSet<String> =
            change.added().iter().chain(&change.removed()).map(|(name, _)| name.to_string()).collect();
        let (mut expected, mut swapped) = (entries(found), first);
        for _ in 0..MOST_TURNS {
            let before = entries(&swapped.before);
            let wanted = rebase(&written, &expected, &before, &ours);
            if same(&expected, &before) || same(&wanted, &written) {
                return (Some(swapped.after), amends);
            }
            let (delegate_to, removed) = edited(&expected, &before, &ours);
            let lost = Lost { delegate_to, removed, zone: None };
            let zone = change.zone();
            tracing::warn!(%zone, "Others wrote this delegation meanwhile; what they lost is put back.");
            let Some(there) = swapped.after else {
                amends.push(lost.told(Some("what stands there after the write is not known".to_owned())));
                return (None, amends);
            };
            let edit = Edit::Update { delegate_to: Some(wanted.clone()), ttl: None };
            match self.send_batch(&there, &edit, stamps).await {
                Ok(next) => {
                    amends.push(lost.told(None));
                    (expected, written, swapped) = (entries(&there), wanted, next);
                }
                Err(failure) => {
                    let error = self.give_back_soon(zone, &lost, failure).await.err();
                    amends.push(lost.told(error.map(|failure| failure.error.to_string())));
                    return (None, amends);
                }
            }
        }
        tracing::warn!(zone = %change.zone(), "Others keep writing this delegation; it is read again soon.");
        (None, amends)
    }

    /// Makes a zone again that is not what we saw when we deleted it: somebody had joined it, locked it, or given it a
    /// name server group.
    pub(crate) async fn restore(&self, change: &Change, found: &ZoneDelegated, swapped: &Swapped) -> Amended {
        let (zone, before) = (change.zone(), &swapped.before);
        let held = match convert::presence(Some(before), zone) {
            Ok(presence) => convert::is_held(&presence),
            Err(_) => true,
        };
        let joined = rebase(&[], &entries(found), &entries(before), &BTreeSet::new());
        if joined.is_empty() && !held {
            return (Some(None), vec![]);
        }
        tracing::warn!(%zone, "Others wrote this delegation before it was deleted; it is made again for them.");
        let whole = if held { entries(before) } else { joined.clone() };
        let lost = Lost { zone: Some(restored(before, whole)), delegate_to: joined, removed: vec![] };
        let sent = match self.give_back(zone, &lost).await {
            Ok(_) => Ok(()),
            Err(failure) => self.give_back_soon(zone, &lost, failure).await,
        };
        let error = sent.err().map(|failure| failure.error.to_string());
        if let Some(error) = &error {
            tracing::error!(%zone, error, "What others wrote could not be put back yet.");
        }
        let now = if error.is_none() { self.look_up(zone).await.ok() } else { None };
        (now, vec![lost.told(error)])
    }

    /// Tries again what failed, for as long as that may pass, a few times.
    async fn give_back_soon(&self, zone: &DomainName, lost: &Lost, first: Failure) -> Result<(), Failure> {
        let (mut failure, mut pause) = (first, self.client.settings().retry_pause);
        for _ in 0..MOST_TURNS {
            let passes = matches!(
                failure.error,
                ProviderError::Unavailable { .. }
                    | ProviderError::Unexpected { .. }
                    | ProviderError::Stale { .. }
            );
            // A refused batch was overtaken by another writer's.
            if !passes
                && !matches!(failure.kind, Kind::Duplicate | Kind::ReferenceGone)
                && !failure.is_refusal()
            {
                break;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
            failure = match self.give_back(zone, lost).await {
                Ok(_) => return Ok(()),
                Err(failure) => failure,
            };
        }
        Err(failure)
    }

    /// Puts back what others lost, into the zone as it is now. Nothing is done where that is there already.
    pub(crate) async fn give_back(&self, zone: &DomainName, lost: &Lost) -> Result<String, Failure> {
        let Some(found) = self.stands(zone, None).await? else {
            let Some(body) = &lost.zone else { return Ok(String::new()) };
            let reply = self.post(body.clone()).await?;
            return Ok(written_reference(&reply).unwrap_or_default().to_owned());
        };
        let presence = self.presence(Some(&found), zone).map_err(Failure::last)?;
        let group = has_group(&presence);
        let there = entries(&found);
        let known: BTreeSet<Key> = there.iter().map(Key::of).collect();
        let taken: BTreeSet<Key> = lost.removed.iter().map(Key::of).collect();
        let missing = lost.delegate_to.iter().filter(|entry| !known.contains(&Key::of(entry)));
        let kept = there.iter().filter(|entry| !taken.contains(&Key::of(entry))).map(crate::lower::writable);
        let wanted: Vec<ExtServer> = kept.chain(missing.cloned()).collect();
        if group || same(&wanted, &there) || wanted.is_empty() {
            return Ok(found.reference);
        }
        let stamps = self.has_revisions().await.map_err(Failure::last)?;
        let edit = Edit::Update { delegate_to: Some(wanted), ttl: None };
        Ok(self.send_batch(&found, &edit, stamps).await?.written)
    }
}

/// Somebody gave the zone a name server group since, so its own entries are nobody's any more.
fn has_group(presence: &Presence) -> bool {
    let Presence::Present(found) = presence else { return false };
    found.obstacles.iter().any(|obstacle| matches!(obstacle, Obstacle::NsGroup { .. }))
}
