//! The places of one zone in one pass: what each needs, and how all of them are told together.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::outlet::{Outlet, summary};
use gslb_core::zone::Zone;
use gslb_crds::ZoneDelegation;
use jiff::Timestamp;
use kube::Resource;

use super::desk::About;
use super::errand::{Aim, Errand};
use super::memory::{Asking, Memory};
use super::standing::told;
use super::{UNVERIFIED, standing};
use crate::controller::Pass;
use crate::controller::cache::Key;
use crate::controller::cluster::{self, Glue, NoGlue};
use crate::providers::Place;

/// As it stands at the provider, with a word if nobody knows whether it was the provider who said so.
pub(crate) fn believed(place: &Place, in_sync: Condition) -> Condition {
    match is_unverified(place) {
        true => standing::unverified(in_sync),
        false => in_sync,
    }
}

fn is_unverified(place: &Place) -> bool {
    place.provider.as_ref().is_some_and(|provider| provider.capabilities().unverified)
}

/// All places of a zone, and this cluster's addresses for those that have none of their own.
pub(super) struct Places {
    zone: String,
    glue: Result<Glue, NoGlue>,
    places: Vec<Place>,
}

impl Places {
    pub(super) fn of(pass: &Pass, zone: &Zone, now: Timestamp) -> Self {
        let places = pass.providers.places(&pass.context.settings, zone.name());
        Self { zone: zone.name().to_string(), glue: cluster::glue(&pass.context, now), places }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// What is to be done at the places that have an address to publish.
    pub(super) fn errands(
        &self,
        pass: &Arc<Pass>,
        object: &Arc<ZoneDelegation>,
        claimant: &Claimant,
        looks_for_members: bool,
    ) -> Vec<Errand> {
        let errand = |place: &Place| {
            let addresses = self.addresses(place).ok()?;
            Some(Errand {
                pass: Arc::clone(pass),
                object: Arc::clone(object),
                claimant: claimant.clone(),
                place: place.clone(),
                aim: Aim::Published(addresses),
                looks_for_members,
            })
        };
        self.places.iter().filter_map(errand).collect()
    }

    /// This cluster's name server addresses at a place. Never none.
    fn addresses(&self, place: &Place) -> Result<BTreeSet<IpAddr>, &NoGlue> {
        let own = &place.publication.ns_addresses;
        if !own.is_empty() {
            return Ok(own.iter().copied().map(IpAddr::V4).collect());
        }
        self.glue.as_ref().map(|glue| glue.targets.iter().copied().map(IpAddr::V4).collect())
    }

    /// Under which addresses this cluster stands in the delegation, over all places.
    pub(super) fn own_addresses(&self) -> BTreeSet<IpAddr> {
        self.places.iter().filter_map(|place| self.addresses(place).ok()).flatten().collect()
    }

    /// Whether addresses are missing only because a host name has not been heard.
    pub(super) fn waits_for_a_name(&self) -> bool {
        let without = |place: &Place| matches!(self.addresses(place), Err(NoGlue::NameNotResolved(_)));
        self.places.iter().any(without)
    }

    /// `InSync` and, as far as anybody can be asked for, `Delegated`.
    pub(super) fn conditions(&self, pass: &Pass, about: &About) -> Vec<Condition> {
        if self.places.is_empty() {
            return vec![self.nowhere()];
        }
        let memories: Vec<Memory> =
            self.places.iter().map(|place| pass.zones.memory(about, place.number)).collect();
        let with = || self.places.iter().zip(&memories);
        let in_sync: Vec<_> =
            with().map(|(place, memory)| (&place.outlet, Some(self.in_sync(place, memory)))).collect();
        let proofs: Vec<(&Outlet, Option<Condition>)> = with()
            .filter(|(place, _)| self.addresses(place).is_ok())
            .map(|(place, memory)| (&place.outlet, place.is_seen().then(|| memory.delegated())))
            .collect();
        let mut conditions = vec![summary(ConditionKind::InSync, &in_sync)];
        if !proofs.is_empty() {
            conditions.push(summary(ConditionKind::Delegated, &proofs));
        }
        conditions
    }

    pub(super) fn all(&self) -> &[Place] {
        &self.places
    }

    /// Tells once, loudly, if nobody knows whether it is the provider who says what it says.
    pub(super) async fn doubt(&self, pass: &Pass, object: &ZoneDelegation) {
        if self.places.iter().any(is_unverified) {
            let (what, note) = ((UNVERIFIED, Key::of(object)), standing::NOT_CHECKED.to_owned());
            pass.context.announcer.warn(what, standing::UNVERIFIED, note, &object.object_ref(&()));
        }
    }

    fn nowhere(&self) -> Condition {
        let message = format!(
            "zone {} is published nowhere: there are several providers; list the zone in the configuration file, with its places below publish",
            self.zone
        );
        Condition::bad(ConditionKind::InSync, "PublishedNowhere", message)
    }

    fn in_sync(&self, place: &Place, memory: &Memory) -> Condition {
        let kind = ConditionKind::InSync;
        if let Err(error) = self.addresses(place) {
            let message = format!("this cluster has no name server address to publish: {error}");
            return Condition::bad(kind, error.reason(), message);
        }
        if place.provider.is_none() {
            let message = "no provider is configured, so the delegation is kept by hand";
            return self.with_notice(place, Condition::good(kind, "NoProvider", message));
        }
        self.with_notice(place, believed(place, told(&place.outlet, memory.standing.as_ref())))
    }

    /// What is in sync is all that can be published; addresses of the cluster that cannot are told with it.
    fn with_notice(&self, place: &Place, in_sync: Condition) -> Condition {
        let notice = self.glue.as_ref().ok().and_then(|glue| glue.notice.as_deref());
        match notice.filter(|_| place.publication.ns_addresses.is_empty()) {
            Some(notice) if in_sync.is_good() => {
                Condition { message: format!("{}; {notice}", in_sync.message), ..in_sync }
            }
            _ => in_sync,
        }
    }

    /// When the places ask for another look. One that is being worked on tells by itself when it is done, and for one
    /// without an address a trigger tells when there is one.
    pub(super) fn next_looks(&self, pass: &Pass, about: &About) -> impl Iterator<Item = Timestamp> {
        self.places.iter().filter_map(|place| {
            let idle = self.addresses(place).is_ok() && !pass.zones.is_in_work(about, place.number);
            let asking =
                Asking { provider: idle && place.provider.is_some(), parent: idle && place.is_seen() };
            pass.zones.memory(about, place.number).next_look(asking)
        })
    }
}
