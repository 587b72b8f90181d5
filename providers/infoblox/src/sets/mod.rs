//! Sets of records that others ask for: A, AAAA, CNAME and TXT as objects of their own, one for each record, and NS as
//! delegations.
//!
//! `wire.rs` has the shapes, `convert.rs` turns them into core's; `lower.rs` makes one transaction of one change,
//! `write.rs` sends it. This file reads.

mod convert;
mod lower;
mod wire;
mod write;

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use gslb_core::name::DomainName;
use gslb_core::sets::{ApprovedSetChange, ObservedName, ObservedSets, RecordType};
use gslb_provider_contract::{ProviderError, Receipt, RecordSets};
use reqwest::Method;
use serde_json::{Value, json};

use self::convert::{Found, observed};
use self::wire::{KINDS, SetKind};
use crate::absence::above;
use crate::answer::{Failure, Kind};
use crate::beneath::pattern;
use crate::client::{BATCH, IN_FLIGHT, Request};
use crate::paging::Search;
use crate::provider::Infoblox;
use crate::wire::{RETURN_FIELDS, ZONE_AUTH, ZONE_DELEGATED, ZoneAuth};

/// Objects of one kind. No outside reference.
const MOST_OBJECTS: usize = 200_000;
/// Objects on one page. A text of 4 kilobytes and half a dozen attributes stay within what is read of it.
const ON_PAGE: usize = 200;
/// Names whose sets are read with one request, each with a search for every kind. No outside reference.
const NAMES_AT_ONCE: usize = 8;
/// Hits of one kind at one name.
const MOST_AT_NAME: i64 = 1000;

#[async_trait]
impl RecordSets for Infoblox {
    async fn list_sets(&self, domain: &DomainName) -> Result<ObservedSets, ProviderError> {
        self.read_domain(domain).await.map_err(|failure| failure.error)
    }

    async fn read_sets(&self, names: &BTreeSet<DomainName>) -> Result<ObservedSets, ProviderError> {
        let found = self.read_names(names).await.map_err(|failure| failure.error)?;
        Ok(observed(found, &self.client.secrets))
    }

    async fn apply_set(&self, change: &ApprovedSetChange) -> Result<Receipt<ObservedName>, ProviderError> {
        self.write_set(change).await
    }
}

impl Infoblox {
    /// All that stands at and beneath a name.
    async fn read_domain(&self, domain: &DomainName) -> Result<ObservedSets, Failure> {
        // One read goes ahead: after an outage the client lets one through and holds the others back until it is known how
        // that one went.
        let zones = self.read_zones(domain).await?;
        let mut sets = observed(zones, &self.client.secrets);
        let records = try_join_all(KINDS.map(|kind| self.read_kind(kind, domain))).await?;
        records.into_iter().for_each(|records| merge(&mut sets, records));
        if sets.get(domain).is_some_and(|sets| sets.contains_key(&RecordType::Ns)) {
            return Err(self.not_served(domain));
        }
        // An empty search proves something only where the account sees a zone that holds the name; asked anew, because
        // that is what an account that lost its rights would show.
        if sets.is_empty() {
            self.holders.forget(domain);
            above(domain).for_each(|holder| self.holders.forget(&holder));
        }
        self.confirm_holder(domain).await?;
        Ok(sets)
    }

    /// Each page is reduced to what counts before the next one is read.
    async fn read_kind(&self, kind: SetKind, domain: &DomainName) -> Result<ObservedSets, Failure> {
        let (pattern, fields) = (pattern(domain), kind.fields());
        let criteria =
            [("name~", pattern.as_str()), ("view", self.view()), ("_return_fields", fields.as_str())];
        let search =
            Search { kind: kind.object(), criteria: &criteria, on_page: ON_PAGE, most: MOST_OBJECTS };
        let add = |sets: &mut ObservedSets, page: Vec<Value>| {
            let found: Vec<Found> =
                page.into_iter().map(|hit| self.record(kind, hit)).collect::<Result<_, _>>()?;
            merge(sets, observed(found, &self.client.secrets));
            Ok(())
        };
        self.gather_all(search, add).await
    }

    async fn read_zones(&self, domain: &DomainName) -> Result<Vec<Found>, Failure> {
        let pattern = pattern(domain);
        let criteria =
            [("fqdn~", pattern.as_str()), ("view", self.view()), ("_return_fields", RETURN_FIELDS)];
        let search =
            Search { kind: ZONE_DELEGATED, criteria: &criteria, on_page: ON_PAGE, most: MOST_OBJECTS };
        let add = |zones: &mut Vec<Found>, page: Vec<Value>| {
            page.into_iter().try_for_each(|hit| {
                zones.push(Found::Zone(self.parse(hit)?));
                Ok(())
            })
        };
        self.gather_all(search, add).await
    }

    fn record(&self, kind: SetKind, hit: Value) -> Result<Found, Failure> {
        let object: Box<wire::SetObject> = self.parse(hit)?;
        // A host outside DNS has no view.
        match object.view == self.view() || kind == SetKind::Host {
            true => Ok(Found::Record(kind, object)),
            false => Err(self.unexpected("gave records of another view than the one asked for")),
        }
    }

    /// One name, and its objects as the grid has them.
    async fn read_name(&self, name: &DomainName) -> Result<(ObservedName, Vec<Found>), Failure> {
        let found = self.read_names(&[name.clone()].into()).await?;
        let observed = observed(found.clone(), &self.client.secrets).remove(name).unwrap_or_default();
        Ok((observed, found))
    }

    async fn read_names(&self, names: &BTreeSet<DomainName>) -> Result<Vec<Found>, Failure> {
        let names: Vec<_> = names.iter().cloned().collect();
        let chunks: Vec<Vec<DomainName>> = names.chunks(NAMES_AT_ONCE).map(<[_]>::to_vec).collect();
        let reads = chunks.into_iter().map(|chunk| self.read_few(chunk));
        let found: Vec<Vec<Found>> = stream::iter(reads).buffer_unordered(IN_FLIGHT).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Together, or one by one where that is more than is read of a reply.
    async fn read_few(&self, names: Vec<DomainName>) -> Result<Vec<Found>, Failure> {
        match self.read_chunk(&names).await {
            Err(Failure { kind: Kind::TooLarge, .. }) if names.len() > 1 => {
                let mut found = Vec::new();
                for name in &names {
                    found.extend(self.read_chunk(std::slice::from_ref(name)).await?);
                }
                Ok(found)
            }
            outcome => outcome,
        }
    }

    async fn read_chunk(&self, names: &[DomainName]) -> Result<Vec<Found>, Failure> {
        let reply = self.client.read_all(&searches(names, self.view())).await?;
        let results: Vec<Vec<Value>> = self.parse(reply)?;
        let each = KINDS.len() + 1;
        if results.len() != names.len() * each {
            return Err(self.unexpected("answered a batch of searches with another number of results"));
        }
        let mut found = Vec::new();
        let mut results = results.into_iter();
        for name in names {
            let before = found.len();
            for kind in KINDS {
                for hit in results.next().unwrap_or_default() {
                    found.push(self.record(kind, hit)?);
                }
            }
            for hit in results.next().unwrap_or_default() {
                found.push(Found::Zone(self.parse(hit)?));
            }
            if found.len() == before {
                self.confirm_holder(name).await?;
            }
        }
        Ok(found)
    }

    /// An empty search proves something only where the account sees a zone that holds the name.
    async fn confirm_holder(&self, name: &DomainName) -> Result<(), Failure> {
        let now = (self.client.settings().clock)();
        let holders: Vec<_> = std::iter::once(name.clone()).chain(above(name)).collect();
        if holders.iter().any(|holder| self.holders.is_confirmed(holder, now)) {
            return Ok(());
        }
        let search = |holder: &DomainName| {
            json!({"method": "GET", "object": ZONE_AUTH, "data": {"fqdn": holder, "view": self.view()},
                "args": {"_return_fields": "fqdn"}})
        };
        let body = Some(holders.iter().map(search).collect::<Vec<_>>().into());
        let request = Request { method: Method::POST, target: BATCH.to_owned(), body };
        let zones: Vec<Vec<ZoneAuth>> = self.parse(self.client.read_all(&request).await?)?;
        let seen = zones.iter().flatten().filter_map(|zone| DomainName::parse(&zone.fqdn).ok());
        match seen.into_iter().find(|zone| holders.contains(zone)) {
            Some(zone) => {
                self.holders.confirm(&zone, now);
                Ok(())
            }
            None => Err(self.no_zone(name)),
        }
    }

    fn not_served(&self, domain: &DomainName) -> Failure {
        let text = format!(
            "{domain} is delegated in view {} of Infoblox at {}, so the grid does not serve records in it; withdraw that delegation, or take the domain out of WEBHOOK_DOMAINS",
            self.view(),
            self.client.grid().host()
        );
        Failure::last(ProviderError::Misconfigured { text })
    }
}

/// Adds what another search found. Records of one set may come on two pages, and from a host and an object of its own.
fn merge(sets: &mut ObservedSets, more: ObservedSets) {
    for (name, of_name) in more {
        let name = sets.entry(name).or_default();
        for (rtype, set) in of_name {
            name.entry(rtype).or_default().merge(set);
        }
    }
}

/// All kinds at each of these names, and then the delegation.
fn searches(names: &[DomainName], view: &str) -> Request {
    let mut operations = Vec::new();
    for name in names {
        operations.extend(KINDS.map(|kind| {
            json!({
                "method": "GET", "object": kind.object(), "data": {"name": name, "view": view},
                // Negative: an error if there are more, never a list that is cut short.
                "args": {"_return_fields": kind.fields(), "_max_results": -MOST_AT_NAME},
            })
        }));
        operations.push(json!({
            "method": "GET", "object": ZONE_DELEGATED, "data": {"fqdn": name, "view": view},
            "args": {"_return_fields": RETURN_FIELDS},
        }));
    }
    Request { method: Method::POST, target: BATCH.to_owned(), body: Some(operations.into()) }
}
