//! At which places each zone is published: views of grids, each with this cluster's addresses there.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use gslb_core::name::DomainName;
use gslb_provider_infoblox::Infoblox;

use crate::config::address::ServerAddress;
use crate::config::catalog::{PROVIDERS, PUBLISH, PUBLISH_KEYS};
use crate::config::file::nearest::advice_of;
use crate::config::file::{Element, Instance, PublishEntry, ZoneEntry};
use crate::config::infoblox::{DEFAULT_VIEW, DNS_VIEW, GRID_HOST, parse_hosts};
use crate::config::place::Place;
use crate::config::problem::Problem;
use crate::config::raw::RawConfig;
use crate::config::reader::Reader;
use crate::config::records::is_records;
use crate::config::settings::{DNS_PORT, parse_ipv4};
use crate::config::webhook_provider::URL;
use crate::config::zones::PlacedZone;

/// At which places zones are published.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Publications {
    /// Zones that list their places; never none.
    listed: BTreeMap<DomainName, Vec<Publication>>,
    /// Where every other zone is published.
    usual: Usual,
}

/// Where a zone is published that lists no places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Usual {
    /// At the one provider there is, as it is set up.
    #[default]
    Plain,
    /// In the view of the one listed provider.
    Only(View),
    /// There are several, and nothing says which.
    Nowhere,
}

/// One place at which a zone is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Where; nothing: at the one provider there is, as it is set up.
    pub view: Option<View>,
    /// This cluster's name server addresses there; none: those of the cluster.
    pub ns_addresses: BTreeSet<Ipv4Addr>,
    /// Who sees there whether the delegation is served.
    pub sight: Sight,
}

/// A DNS view of a provider.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    /// Name of the provider's instance.
    pub provider: String,
    /// The view.
    pub view: String,
    /// The view that the instance is set up with.
    pub usual_view: String,
}

/// Who sees whether a delegation is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// The resolvers of this cluster.
    Cluster,
    /// These resolvers. Never none.
    Through(Vec<ServerAddress>),
    /// Nobody whom this cluster can ask.
    Nobody,
}

impl Publication {
    fn usual(view: Option<View>) -> Self {
        Self { view, ns_addresses: BTreeSet::new(), sight: Sight::Cluster }
    }
}

impl Publications {
    /// The places of a zone in their order. None: several providers are listed, and the zone names none of them.
    pub fn of(&self, zone: &DomainName) -> Vec<Publication> {
        if let Some(listed) = self.listed.get(zone) {
            return listed.clone();
        }
        match &self.usual {
            Usual::Plain => vec![Publication::usual(None)],
            Usual::Only(view) => vec![Publication::usual(Some(view.clone()))],
            Usual::Nowhere => Vec::new(),
        }
    }

    /// Every view that a zone may be published in.
    pub fn views(&self) -> BTreeSet<View> {
        let listed = self.listed.values().flatten().filter_map(|publication| publication.view.clone());
        let usual = match &self.usual {
            Usual::Only(view) => Some(view.clone()),
            Usual::Plain | Usual::Nowhere => None,
        };
        listed.chain(usual).collect()
    }

    /// Reads the places of the accepted zones. What is wrong is reported.
    pub(in crate::config) fn read(reader: &mut Reader<'_>, zones: &[PlacedZone]) -> Self {
        let grids = Grids::of(reader);
        let mut listed = BTreeMap::new();
        for entry in reader.listed_zones("DNS_ZONES") {
            let (Some(places), Ok(zone)) = (&entry.publish, DomainName::parse(entry.fields[1].trim())) else {
                continue;
            };
            if let Some(publications) = grids.read_zone(reader, entry, places) {
                listed.insert(zone, publications);
            }
        }
        let usual = match (grids.listed, grids.usual_views.iter().collect::<Vec<_>>().as_slice()) {
            (true, [(name, usual_view)]) => Usual::Only(view_of(name, usual_view, None)),
            (true, [_, _, ..]) => Usual::Nowhere,
            (true, []) | (false, _) => Usual::Plain,
        };
        if usual == Usual::Nowhere {
            grids.report_nowhere(reader, zones);
            grids.warn_of_idle(reader);
        }
        Self { listed, usual }
    }
}

fn view_of(provider: &str, usual_view: &str, view: Option<&str>) -> View {
    View {
        provider: provider.to_owned(),
        view: view.unwrap_or(usual_view).to_owned(),
        usual_view: usual_view.to_owned(),
    }
}

/// The grids that zones may name, whatever else is wrong with them.
struct Grids {
    /// The view that each is set up with, by name.
    usual_views: BTreeMap<String, String>,
    /// At which hosts each is asked, by name: who has one of another's is the same grid.
    hosts: BTreeMap<String, BTreeSet<String>>,
    /// Whether they are listed.
    listed: bool,
}

/// One listed place, and where it stands.
struct Spot<'a> {
    path: String,
    entry: &'a PublishEntry,
}

impl Spot<'_> {
    /// Where the key with this number in [`PUBLISH_KEYS`] stands; the place itself if it does not.
    fn key(&self, reader: &Reader<'_>, number: usize) -> Option<Place> {
        let PublishEntry { at, provider, view, .. } = self.entry;
        let written = [provider, view].get(number).copied().and_then(Option::as_ref);
        let path = format!("{}.{}", self.path, PUBLISH_KEYS[number]);
        match written {
            Some(written) => reader.place_at(path, written.at),
            None => reader.place_at(&self.path, *at),
        }
    }
}

impl Grids {
    fn of(reader: &Reader<'_>) -> Self {
        let usual = |raw: &RawConfig| match raw.value(DNS_VIEW).trim() {
            "" => DEFAULT_VIEW.to_owned(),
            view => view.to_owned(),
        };
        if let Some(listed) = reader.instances() {
            let named = |(instance, raw): (&Instance, RawConfig)| {
                let name = instance.name.as_ref()?.text.clone();
                Some(((name.clone(), usual(&raw)), (name, hosts_of(&raw))))
            };
            let (usual_views, hosts) = listed.into_iter().filter_map(named).unzip();
            return Self { usual_views, hosts, listed: true };
        }
        let selected = !reader.text(GRID_HOST).is_empty();
        let only = (Infoblox::ID.to_owned(), usual(reader.raw()));
        let usual_views = Some(only).filter(|_| selected).into_iter().collect();
        Self { usual_views, hosts: BTreeMap::new(), listed: false }
    }

    /// With several providers each zone has to name its own.
    fn report_nowhere(&self, reader: &mut Reader<'_>, zones: &[PlacedZone]) {
        let listed: BTreeSet<DomainName> = (reader.listed_zones("DNS_ZONES").iter())
            // In records mode it is told by the mode.
            .filter(|entry| entry.publish.is_some() || is_records(entry))
            .filter_map(|entry| DomainName::parse(entry.fields[1].trim()).ok())
            .collect();
        for (zone, place) in zones.iter().filter(|(zone, _)| !listed.contains(zone.name())) {
            let names = self.names().join(", ");
            let limit = format!("it is published nowhere, because there are several providers ({names})");
            let fix = match place {
                Place::File(_) => format!("name its places below {PUBLISH}"),
                Place::Variable(_) | Place::Either { .. } => {
                    format!("list the zone in the file instead, with its places below {PUBLISH}")
                }
            };
            reader.report(Problem::with_value(place.clone(), zone.name().as_str(), limit, fix));
        }
    }

    /// A grid that no zone names is never asked.
    fn warn_of_idle(&self, reader: &mut Reader<'_>) {
        let entries = reader.listed_zones("DNS_ZONES").iter().filter_map(|zone| zone.publish.as_ref());
        let named: BTreeSet<&str> = entries
            .flatten()
            .filter_map(|entry| entry.provider.as_ref().map(|written| written.text.as_str()))
            .collect();
        for (instance, _) in reader.instances().into_iter().flatten() {
            let Some(name) = instance.name.as_ref().filter(|name| !named.contains(name.text.as_str())) else {
                continue;
            };
            let place =
                reader.place_at(format!("{PROVIDERS}[{}]", instance.within.index), instance.within.at);
            if let Some(place) = place {
                reader.warn_at(place, format!("is not used: no zone names {} as its provider", name.text));
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        self.usual_views.keys().map(String::as_str).collect()
    }

    /// Nothing if a problem was reported.
    fn read_zone(
        &self,
        reader: &mut Reader<'_>,
        zone: &ZoneEntry,
        places: &[PublishEntry],
    ) -> Option<Vec<Publication>> {
        let path = format!("zones[{}].{PUBLISH}", zone.index);
        if self.usual_views.is_empty() {
            self.refuse(reader, zone, &path);
            return None;
        }
        let before = reader.problem_count();
        let mut read: Vec<Publication> = Vec::new();
        for entry in places {
            let spot = Spot { path: format!("{path}[{}]", entry.index), entry };
            if let Some(publication) = self.read_place(reader, &spot) {
                self.check_others(reader, &spot, &publication, &read);
                read.push(publication);
            }
        }
        (reader.problem_count() == before && !read.is_empty() && read.len() == places.len()).then_some(read)
    }

    /// Only grids have views. Grids that were refused are told already.
    fn refuse(&self, reader: &mut Reader<'_>, zone: &ZoneEntry, path: &str) {
        let told = match reader.boolean("EXTDNS_ENABLED") {
            _ if self.listed => return,
            true => "has no effect with external-dns, which has one object for each zone and knows no views",
            false if !reader.text(URL).is_empty() => "has no effect with a webhook, which knows no views",
            false => "has no effect, because no provider is selected",
        };
        let place = reader.place_at(path, zone.at);
        reader.report_at(place, told, "remove it, or select a grid with infoblox or providers");
    }

    /// Nothing if a problem was reported.
    fn read_place(&self, reader: &mut Reader<'_>, spot: &Spot<'_>) -> Option<Publication> {
        let ns_addresses = elements(reader, spot, 2, spot.entry.ns_addresses.as_deref(), parse_ipv4);
        let resolver = |text: &str| ServerAddress::parse(text, DNS_PORT, false);
        let resolvers = elements(reader, spot, 3, spot.entry.edge_dns_servers.as_deref(), resolver);
        let sight = match resolvers {
            None => Sight::Cluster,
            Some(none) if none.is_empty() => Sight::Nobody,
            Some(resolvers) => Sight::Through(resolvers),
        };
        if spot.entry.flawed {
            return None;
        }
        let view = self.read_view(reader, spot)?;
        if ns_addresses.as_ref().is_some_and(Vec::is_empty) {
            let place = reader.place_at(&spot.path, spot.entry.at);
            let told = format!("has no address in {}", PUBLISH_KEYS[2]);
            reader.report_at(place, told, "list some, or remove the key for those of the cluster");
            return None;
        }
        let ns_addresses = ns_addresses.unwrap_or_default().into_iter().collect();
        Some(Publication { view: Some(view), ns_addresses, sight })
    }

    fn read_view(&self, reader: &mut Reader<'_>, spot: &Spot<'_>) -> Option<View> {
        let names = self.names();
        let name = match (&spot.entry.provider, names.as_slice()) {
            (Some(written), _) => written.text.as_str(),
            (None, [only]) => *only,
            (None, _) => {
                let told = "names no provider, and there are several";
                let place = spot.key(reader, 0);
                reader.report_at(place, told, format!("add provider: one of {}", names.join(", ")));
                return None;
            }
        };
        let Some(usual_view) = self.usual_views.get(name) else {
            let (place, fix) = (spot.key(reader, 0)?, advice_of(name, &names));
            reader.report(Problem::with_value(place, name, "no provider has this name", fix));
            return None;
        };
        let view = spot.entry.view.as_ref().map(|written| written.text.as_str());
        if view.is_some_and(str::is_empty) {
            let (place, fix) =
                (spot.key(reader, 1)?, "write its name, or remove the key for the provider's dnsView");
            reader.report(Problem::with_value(place, "", "a view has a name", fix));
            return None;
        }
        Some(view_of(name, usual_view, view))
    }

    /// A place is listed once, and of all of a zone one at most can be seen through the resolvers of this cluster: a
    /// resolver shows the delegation of its own view.
    fn check_others(
        &self,
        reader: &mut Reader<'_>,
        spot: &Spot<'_>,
        publication: &Publication,
        others: &[Publication],
    ) {
        let own = publication.view.as_ref();
        let twin =
            others.iter().filter_map(|other| other.view.as_ref()).find(|other| self.are_one(own, other));
        if let (Some(twin), Some(View { provider, view, .. })) = (twin, own) {
            let (told, fix) = match twin.provider == *provider {
                true => {
                    (format!("is view {view} of {provider} once more"), "list each view of a provider once")
                }
                false => (
                    format!(
                        "is view {view} of {} once more, as {provider} has a host of the same grid",
                        twin.provider
                    ),
                    "list each view of a grid once",
                ),
            };
            reader.report_at(spot.key(reader, 1), told, fix);
        }
        let seen = others.iter().any(|other| other.sight == Sight::Cluster);
        if publication.sight == Sight::Cluster && seen {
            let told = "has no edgeDnsServers, and the resolvers of this cluster can see only one place of a zone, which is an earlier one";
            let fix = "name resolvers that see this view, or write edgeDnsServers: [] if there are none";
            let place = reader.place_at(&spot.path, spot.entry.at);
            reader.report_at(place, told, fix);
        }
    }

    fn are_one(&self, own: Option<&View>, other: &View) -> bool {
        let hosts = |view: &View| self.hosts.get(&view.provider);
        own.is_some_and(|own| {
            let shared = || hosts(own).zip(hosts(other)).is_some_and(|(own, other)| !own.is_disjoint(other));
            own.view == other.view && (own.provider == other.provider || shared())
        })
    }
}

/// The hosts of a grid, as far as they can be read.
fn hosts_of(raw: &RawConfig) -> BTreeSet<String> {
    let hosts = parse_hosts(raw.value(GRID_HOST)).unwrap_or_default();
    hosts.iter().map(|host| host.to_string().to_ascii_lowercase()).collect()
}

/// The elements of a list, none twice; nothing if the key is not there.
fn elements<T: PartialEq>(
    reader: &mut Reader<'_>,
    spot: &Spot<'_>,
    number: usize,
    listed: Option<&[Element]>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<Vec<T>> {
    let key = PUBLISH_KEYS[number];
    let mut items = Vec::new();
    for Element { index, at, text } in listed? {
        let limit = match parse(text.trim()) {
            Ok(item) if !items.contains(&item) => {
                items.push(item);
                continue;
            }
            Ok(_) => "it is listed twice".to_owned(),
            Err(limit) => limit,
        };
        if let Some(place) = reader.place_at(format!("{}.{key}[{index}]", spot.path), *at) {
            reader.report(Problem::with_value(place, text.trim(), limit, format!("correct {key}")));
        }
    }
    Some(items)
}

#[cfg(test)]
mod tests;
