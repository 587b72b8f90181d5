//! What every pass has at hand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use gslb_core::name::GeoTag;
use gslb_core::target::{LastAddresses, Targets};
use gslb_core::zone::Zone;
use jiff::{SignedDuration, Timestamp};
use kube::Client;

use super::announce::Announcer;
use super::cache::{Cache, Key};
use super::facts::{IngressFacts, ServiceFacts};
use super::gslb::live::EndpointFacts;
use super::registry::Registry;
use super::slices::Slices;
use super::write::Writer;
use super::zone_delegation::live::ZoneFacts;
use crate::config::Settings;
use crate::metrics::Metrics;
use crate::peer::ask::PeerQuestions;
use crate::peer::book::Book;
use crate::peer::glue::Glue;

/// Tells the time. Tests give one that follows their own time.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Shared by all passes.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) ingresses: Cache<IngressFacts>,
    pub(crate) services: Cache<ServiceFacts>,
    pub(crate) slices: Slices,
    pub(crate) endpoints: Cache<EndpointFacts>,
    pub(crate) zones: Cache<ZoneFacts>,
    pub(crate) registry: Registry,
    pub(crate) book: Arc<Book>,
    pub(crate) glue: Glue,
    pub(crate) questions: Arc<PeerQuestions>,
    pub(crate) writer: Writer,
    pub(crate) announcer: Announcer,
    /// The addresses that each Gslb had last; `None`: it is known to have none.
    pub(crate) addresses: Mutex<BTreeMap<Key, Option<LastAddresses>>>,
    pub(crate) members: Vec<GeoTag>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: Clock,
}

impl Context {
    /// Now. The only place where the clock is read.
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// The zones that this cluster serves: those of the configuration and those of ZoneDelegations.
    pub(crate) fn served_zones(&self) -> Vec<Zone> {
        let mut zones: BTreeMap<_, Zone> =
            self.settings.zones.iter().map(|zone| (zone.name().clone(), zone.clone())).collect();
        for zone in self.zones.select(|_, _| true).into_iter().filter_map(|(_, facts)| facts.zone) {
            zones.insert(zone.name().clone(), zone);
        }
        zones.into_values().collect()
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
