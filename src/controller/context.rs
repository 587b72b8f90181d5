//! What every pass has at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use gslb_core::claim::Claimant;
use gslb_core::contest::{Seniority, accepted_zones};
use gslb_core::name::DomainName;
use gslb_core::target::{LastAddresses, Targets};
use gslb_core::zone::Zone;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::sync::watch;

use super::announce::Announcer;
use super::cache::{Cache, Key};
use super::facts::{IngressFacts, ServiceFacts};
use super::gslb::group::Id;
use super::gslb::ingress_writes::IngressWrites;
use super::gslb::live::EndpointFacts;
use super::kinds::Kinds;
use super::names::Names;
use super::records::wants::Records;
use super::registry::Registry;
use super::slices::Slices;
use super::statuses::Statuses;
use super::write::Writer;
use super::zone_delegation::live::ZoneFacts;
use crate::clock::Clock;
use crate::config::{Settings, View};
use crate::metrics::Metrics;
use crate::peer::ask::PeerQuestions;
use crate::peer::book::Book;
use crate::peer::fleet::Fleet;
use crate::peer::glue::Glue;
use crate::peer::memory::Memory;

/// Shared by all passes.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) ingresses: Cache<IngressFacts>,
    pub(crate) services: Cache<ServiceFacts>,
    pub(crate) slices: Slices,
    /// Kinds that not every cluster has.
    pub(crate) kinds: Kinds,
    pub(crate) endpoints: Cache<EndpointFacts>,
    /// Whether the API server said, when it was asked last, that it has no such kind.
    pub(crate) endpoints_missing: watch::Sender<bool>,
    pub(crate) zones: Cache<ZoneFacts>,
    pub(crate) registry: Registry,
    /// What is wanted of zones in records mode.
    pub(crate) records: Records,
    pub(crate) book: Arc<Book>,
    pub(crate) memory: Memory,
    pub(crate) fleet: Fleet,
    pub(crate) glue: Glue,
    /// Host names of load balancers.
    pub(crate) names: Names,
    pub(crate) questions: Arc<PeerQuestions>,
    pub(crate) writer: Writer,
    pub(crate) ingress_writes: IngressWrites,
    pub(crate) statuses: Statuses,
    pub(crate) announcer: Announcer,
    /// The addresses that each Gslb had last; `None`: it is known to have none.
    pub(crate) addresses: Mutex<BTreeMap<Id, Option<LastAddresses>>>,
    /// Names whose canonical Gslb was made by a migration.
    pub(crate) migrations: Mutex<BTreeSet<Key>>,
    pub(crate) metrics: Metrics,
    /// For calendars: it never goes back.
    pub(crate) clock: Clock,
    /// For what is written: as people read it elsewhere.
    pub(crate) wall: Clock,
}

impl Context {
    /// Now, to compare with what else it gave.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Now, to be written.
    pub(crate) fn wall_now(&self) -> Timestamp {
        (self.wall)()
    }

    /// The zones that this cluster serves: those of the configuration and those of ZoneDelegations that no older
    /// object stands for.
    pub(crate) fn served_zones(&self) -> Vec<Zone> {
        let accepted = accepted_zones(self.zone_objects(|_| true), &self.settings.zones);
        accepted.into_values().map(|accepted| accepted.zone).collect()
    }

    /// The ZoneDelegations that ever named a zone, with the zone that they stand for if no older one does.
    pub(crate) fn zone_objects(&self, test: impl Fn(&ZoneFacts) -> bool) -> Vec<(Seniority<String>, Zone)> {
        let objects = self.zones.select(|_, facts| test(facts)).into_iter();
        let named = objects.filter_map(|(key, facts)| {
            Some((Seniority { created: facts.created, key: key.name }, facts.zone?))
        });
        named.collect()
    }

    /// The name servers that the ZoneDelegations' status tells of: what is known before the first look.
    pub(crate) fn known_servers(&self) -> BTreeSet<(DomainName, Ipv4Addr)> {
        self.zones.select(|_, _| true).into_iter().flat_map(|(_, facts)| facts.servers).collect()
    }

    /// The zones whose delegations may be written at a place: those that are served and published there, each with this
    /// cluster's name in it. `view`: nothing for the one provider there is.
    pub(crate) fn writable_zones(&self, view: Option<&View>) -> Vec<Claimant> {
        let Settings { ns_prefix, geo_tag, publications, .. } = &*self.settings;
        let claimant = |zone| Claimant::new(zone, ns_prefix.clone(), geo_tag.clone()).ok();
        let is_here = |zone: &Zone| {
            publications.of(zone.name()).iter().any(|publication| publication.view.as_ref() == view)
        };
        self.served_zones().into_iter().filter(is_here).filter_map(claimant).collect()
    }

    /// `CLUSTER_EXPOSED_IPS`, if given.
    pub(crate) fn configured_addresses(&self) -> Option<Targets> {
        let addresses = &self.settings.exposed_addresses;
        (!addresses.is_empty()).then(|| addresses.iter().copied().collect())
    }

    /// `PEER_HOLD_SECONDS`.
    pub(crate) fn default_hold(&self) -> SignedDuration {
        signed(self.settings.periods.peer_hold)
    }
}

/// A configured duration in the time type of `core`; configuration bounds it far below the limit.
pub(crate) fn signed(duration: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
