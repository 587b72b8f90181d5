//! What every pass has at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use gslb_core::claim::Claimant;
use gslb_core::contest::Seniority;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::target::{LastAddresses, Targets};
use gslb_core::zone::{NsPrefix, Zone};
use jiff::{SignedDuration, Timestamp};
use kube::Client;

use super::announce::Announcer;
use super::cache::{Cache, Key};
use super::facts::{IngressFacts, ServiceFacts};
use super::gslb::group::Id;
use super::gslb::live::EndpointFacts;
use super::kinds::Kinds;
use super::names::Names;
use super::registry::Registry;
use super::slices::Slices;
use super::write::Writer;
use super::zone_delegation::live::ZoneFacts;
use crate::config::Settings;
use crate::metrics::Metrics;
use crate::peer::ask::PeerQuestions;
use crate::peer::book::Book;
use crate::peer::fleet::Fleet;
use crate::peer::glue::Glue;
use crate::peer::memory::Memory;

/// Tells the time. Tests give one that follows their own time.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

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
    pub(crate) zones: Cache<ZoneFacts>,
    pub(crate) registry: Registry,
    pub(crate) book: Arc<Book>,
    pub(crate) memory: Memory,
    pub(crate) fleet: Fleet,
    pub(crate) glue: Glue,
    /// Host names of load balancers.
    pub(crate) names: Names,
    pub(crate) questions: Arc<PeerQuestions>,
    pub(crate) writer: Writer,
    pub(crate) announcer: Announcer,
    /// The addresses that each Gslb had last; `None`: it is known to have none.
    pub(crate) addresses: Mutex<BTreeMap<Id, Option<LastAddresses>>>,
    /// Names whose canonical Gslb was made by a migration.
    pub(crate) migrations: Mutex<BTreeSet<Key>>,
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

    /// The name servers that the ZoneDelegations' status tells of: what is known before the first look.
    pub(crate) fn known_servers(&self) -> BTreeSet<(DomainName, Ipv4Addr)> {
        self.zones.select(|_, _| true).into_iter().flat_map(|(_, facts)| facts.servers).collect()
    }

    /// The zones whose delegations may be written: the configured ones and those of ZoneDelegations that no older
    /// object stands for, each with this cluster's name in it.
    pub(crate) fn writable_zones(&self) -> Vec<Claimant> {
        let Settings { zones, ns_prefix, geo_tag, .. } = &*self.settings;
        writable(zones, self.zones.select(|_, _| true), ns_prefix, geo_tag)
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

fn writable(
    configured: &[Zone],
    mut objects: Vec<(Key, ZoneFacts)>,
    prefix: &NsPrefix,
    tag: &GeoTag,
) -> Vec<Claimant> {
    objects.sort_by_key(|(key, facts)| Seniority { created: facts.created, key: key.name.clone() });
    // An object wins over the configuration (contract §5.2), and an older one over a younger.
    let named = objects.into_iter().filter_map(|(_, facts)| facts.zone).chain(configured.iter().cloned());
    let mut zones: BTreeMap<String, Zone> = BTreeMap::new();
    for zone in named {
        zones.entry(zone.name().dashed()).or_insert(zone);
    }
    zones.into_values().filter_map(|zone| Claimant::new(zone, prefix.clone(), tag.clone()).ok()).collect()
}

/// A configured duration in the time type of `core`; configuration bounds it far below the limit.
pub(crate) fn signed(duration: std::time::Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use gslb_core::ttl::Ttl;

    use super::*;

    fn zone(text: &str, parent: &str) -> Zone {
        let name = |text| DomainName::parse(text).unwrap();
        Zone::new(name(text), name(parent), Ttl::DEFAULT).unwrap()
    }

    fn object(name: &str, created: i64, zone: Option<Zone>) -> (Key, ZoneFacts) {
        let created = Timestamp::from_second(created).ok();
        (
            Key::new("", name),
            ZoneFacts { zone, problem: None, created, servers: BTreeSet::new(), deleting: false },
        )
    }

    #[test]
    fn only_zones_that_are_configured_or_accepted_may_be_written() {
        let configured = [zone("a.example.com", "example.com"), zone("b.example.com", "example.com")];
        let objects = vec![
            object("a-younger", 2, Some(zone("a-example.com", "com"))),
            object("a", 1, Some(zone("a.example.com", "example.com"))),
            object("c", 3, Some(zone("c.example.net", "example.net"))),
            object("never-valid", 4, None),
        ];
        let scope = writable(&configured, objects, &NsPrefix::default(), &GeoTag::parse("eu").unwrap());
        let names: Vec<&str> = scope.iter().map(|claimant| claimant.zone().name().as_str()).collect();
        assert_eq!(names, ["a.example.com", "b.example.com", "c.example.net"]);
    }
}
