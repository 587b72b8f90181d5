//! Records mode: the address records of hosts in a zone that the grid serves itself, one object for each address.
//!
//! `wire.rs` has the shapes, `convert.rs` turns them into core's, with the claim that `claims` found; `lower.rs` makes one call of one change, `write.rs` sends it. This file
//! reads.

mod convert;
mod lower;
mod wire;
mod write;

use gslb_core::name::DomainName;
use gslb_core::records::{ObservedHost, ZoneRecords};
use gslb_provider_contract::{ProviderError, Scope};
use reqwest::Method;
use serde_json::{Value, json};

use self::convert::Found;
use self::wire::{KINDS, RecordKind};
use crate::absence::above;
use crate::answer::{Failure, Kind};
use crate::beneath::pattern;
use crate::client::{BATCH, Request};
use crate::paging::Search;
use crate::provider::Infoblox;
use crate::wire::ZONE_DELEGATED;

/// Hits of one kind that a batch may bring, as there is no paging in it. An address record with half a dozen attributes
/// has some 45 values, and a batch has two kinds of them; a [reply is read up to a bound](crate::bounds). More are read
/// page by page.
const MOST_IN_BATCH: i64 = 180;
/// Objects on one page. It is read whole if each has a full comment and half a dozen full attributes, 4 kilobytes and 45
/// values.
const ON_PAGE: usize = 200;
/// Objects of one kind: more records than a fleet has hosts. No outside reference.
const MOST_OBJECTS: usize = 50_000;

/// What was read of a zone.
#[derive(Debug, Default)]
struct Seen {
    hosts: ZoneRecords,
    /// Anything, if only under a name that no host has.
    any: bool,
}

/// Which names are read.
#[derive(Debug, Clone, Copy)]
enum Names<'a> {
    /// This one.
    Exactly(&'a DomainName),
    /// This one and all that ends with it.
    Within(&'a DomainName),
}

impl Seen {
    fn merge(&mut self, other: Self) {
        self.any |= other.any;
        for (host, found) in other.hosts {
            let at = self.hosts.entry(host).or_default();
            at.records.extend(found.records);
            at.obstacles.extend(found.obstacles);
        }
    }
}

impl Infoblox {
    /// All hosts at and beneath the zone's name.
    pub(crate) async fn read_records(&self, scope: &Scope) -> Result<ZoneRecords, Failure> {
        let zone = &scope.zone;
        let (seen, delegated) = match self.client.read_all(&batch(Names::Within(zone), self.view())).await {
            Ok(reply) => {
                let (found, delegated) = self.kinds(reply)?;
                (self.seen(&found)?, delegated)
            }
            // More hits than a search may have, or larger ones: they are read page by page.
            Err(
                Failure { error: ProviderError::Refused { .. }, .. } | Failure { kind: Kind::TooLarge, .. },
            ) => self.read_pages(zone).await?,
            Err(failure) => return Err(failure),
        };
        if delegated {
            return Err(self.delegated(zone));
        }
        match seen.any {
            false => self.confirm_zone(zone).await?,
            true => self.absences.forget(zone),
        }
        Ok(seen.hosts)
    }

    /// One host, and its objects as the grid has them.
    async fn read_host(&self, host: &DomainName) -> Result<(ObservedHost, Vec<Found>), Failure> {
        let reply = self.client.read_all(&batch(Names::Exactly(host), self.view())).await?;
        let (found, _) = self.kinds(reply)?;
        if found.is_empty() {
            self.confirm_zone(host).await?;
        }
        let observed = self.seen(&found)?.hosts.remove(host).unwrap_or_default();
        Ok((observed, found))
    }

    /// The objects that a batch found, and whether a delegation of that name is among them.
    fn kinds(&self, reply: Value) -> Result<(Vec<Found>, bool), Failure> {
        let mut records: Vec<Vec<Value>> = self.parse(reply)?;
        let Some(delegations) = records.pop() else {
            return Err(self.unexpected("answered a batch of searches with nothing"));
        };
        if records.len() != KINDS.len() {
            return Err(self.unexpected("answered a batch of searches with another number of results"));
        }
        let mut found = Vec::new();
        for (kind, hits) in KINDS.into_iter().zip(records) {
            for hit in hits {
                found.push(self.found(kind, hit)?);
            }
        }
        Ok((found, !delegations.is_empty()))
    }

    fn found(&self, kind: RecordKind, hit: Value) -> Result<Found, Failure> {
        let object = self.parse(hit)?;
        let found = Found { kind, object };
        // Case and view are the search's; anything else would be another grid's rule.
        match found.object.view == self.view() || kind == RecordKind::Host {
            true => Ok(found),
            false => Err(self.unexpected("gave records of another view than the one asked for")),
        }
    }

    async fn read_pages(&self, zone: &DomainName) -> Result<(Seen, bool), Failure> {
        let (mut all, name) = (Seen::default(), pattern(zone));
        for kind in KINDS {
            let criteria =
                [("name~", name.as_str()), ("view", self.view()), ("_return_fields", kind.fields())];
            let search =
                Search { kind: kind.name(), criteria: &criteria, on_page: ON_PAGE, most: MOST_OBJECTS };
            let add = |seen: &mut Seen, page: Vec<Value>| {
                page.into_iter().try_for_each(|hit| self.add(seen, &self.found(kind, hit)?))
            };
            all.merge(self.gather_all(search, add).await?);
        }
        Ok((all, self.look_up(zone).await?.is_some()))
    }

    fn seen(&self, found: &[Found]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        found.iter().try_for_each(|found| self.add(&mut seen, found))?;
        Ok(seen)
    }

    fn add(&self, seen: &mut Seen, found: &Found) -> Result<(), Failure> {
        seen.any = true;
        // What others call their records is theirs: no Gslb has such a host.
        let Some(host) = found.host() else { return Ok(()) };
        let at = seen.hosts.entry(host.clone()).or_default();
        match found.obstacle(&self.client.secrets) {
            Some(obstacle) => drop(at.obstacles.insert(obstacle)),
            None => {
                let record = found.record(host).map_err(|problem| self.unexpected(&problem))?;
                at.records.insert(record.address, record);
            }
        }
        Ok(())
    }

    /// An empty search proves something only where the account sees a zone that holds the name.
    async fn confirm_zone(&self, name: &DomainName) -> Result<(), Failure> {
        let holders = std::iter::once(name.clone()).chain(above(name));
        match self.sees_one_of(name, holders).await? {
            true => Ok(()),
            false => Err(self.no_zone(name)),
        }
    }

    pub(crate) fn no_zone(&self, name: &DomainName) -> Failure {
        let text = format!(
            "no authoritative zone in view {} of Infoblox at {} holds {name}, or it is not visible to the account; create it, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it",
            self.view(),
            self.client.grid().host()
        );
        Failure::last(ProviderError::Misconfigured { text })
    }

    fn delegated(&self, zone: &DomainName) -> Failure {
        let text = format!(
            "{zone} is delegated in view {} of Infoblox at {}, so the grid does not serve its hosts; withdraw that delegation, or set the zone's mode to delegation",
            self.view(),
            self.client.grid().host()
        );
        Failure::last(ProviderError::Misconfigured { text })
    }
}

/// All kinds that count at a name, and a delegation of the zone itself.
fn batch(names: Names<'_>, view: &str) -> Request {
    let (key, value, zone) = match names {
        Names::Exactly(host) => ("name", host.to_string(), host),
        Names::Within(zone) => ("name~", pattern(zone), zone),
    };
    let searches = KINDS.map(|kind| {
        json!({
            "method": "GET", "object": kind.name(), "data": {key: value, "view": view},
            // Negative: an error if there are more, never a list that is cut short.
            "args": {"_return_fields": kind.fields(), "_max_results": -MOST_IN_BATCH},
        })
    });
    let delegation = json!({
        "method": "GET", "object": ZONE_DELEGATED, "data": {"fqdn": zone, "view": view},
        "args": {"_return_fields": "fqdn"},
    });
    let body = Value::from(searches.into_iter().chain([delegation]).collect::<Vec<_>>());
    Request { method: Method::POST, target: BATCH.to_owned(), body: Some(body) }
}
