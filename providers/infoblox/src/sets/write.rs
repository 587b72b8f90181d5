//! Sends one change of a set: once. Whatever is unclear afterwards is settled by reading.

use gslb_core::change::Change;
use gslb_core::delegation::Delegation;
use gslb_core::edit::Traced;
use gslb_core::name::DomainName;
use gslb_core::sets::{ApprovedSetChange, ObservedName, RecordSet, RecordType, SetChange};
use gslb_provider_contract::{Disposition, ProviderError, Receipt};
use reqwest::Method;
use serde_json::{Value, json};

use super::convert::Found;
use super::lower::{claimed, lower};
use crate::absence::above;
use crate::answer::{Failure, Kind};
use crate::claims::Mark;
use crate::client::{BATCH, Request};
use crate::lower::Write;
use crate::provider::Infoblox;
use crate::task::task_number;
use crate::wire::{SCHEDULED_TASK, ZONE_DELEGATED, ZoneDelegated, written_record};

impl Infoblox {
    /// Makes a change, if the name still is what it was planned for.
    pub(super) async fn write_set(
        &self,
        approved: &ApprovedSetChange,
    ) -> Result<Receipt<ObservedName>, ProviderError> {
        let change = approved.change();
        let name = &change.key().name;
        // What others wrote since the plan is seen.
        let (observed, objects) = self.read_name(name).await.map_err(|failure| failure.error)?;
        if change.shows_in(&observed) {
            return Ok(done(observed));
        }
        if !approved.is_allowed_at(&observed) {
            return Err(ProviderError::Stale { zone: name.clone() });
        }
        if change.key().rtype == RecordType::Ns {
            return self.write_delegation(approved, objects).await;
        }
        let body = lower(approved, &objects, self.view(), self.mark().await?).into();
        let request = Request { method: Method::POST, target: BATCH.to_owned(), body: Some(body) };
        match self.client.send(&request).await {
            Ok(reply) => self.set_written(approved, &reply).await,
            Err(failure) => self.set_not_written(approved, failure).await,
        }
    }

    /// Where claims stand at this grid.
    async fn mark(&self) -> Result<Mark, ProviderError> {
        Ok(if self.has_claims().await? { Mark::Attributes } else { Mark::Comment })
    }

    /// The grid took it: is it in force?
    async fn set_written(
        &self,
        approved: &ApprovedSetChange,
        reply: &Value,
    ) -> Result<Receipt<ObservedName>, ProviderError> {
        let results = reply.as_array().map(Vec::as_slice).unwrap_or_default();
        let references: Option<Vec<&str>> = results.iter().map(written_record).collect();
        let Some(references) = references.filter(|references| !references.is_empty()) else {
            let failure = self.unexpected("answered a write without a reference");
            return self.settle_set(approved.change(), failure).await;
        };
        let task = references.iter().find(|reference| reference.starts_with(SCHEDULED_TASK));
        let disposition = match task {
            Some(task) => Disposition::AwaitingApproval { task: task_number(task).to_owned() },
            None => Disposition::Applied,
        };
        let reference = task.or(references.first()).copied().unwrap_or_default().to_owned();
        Ok(Receipt { reference, disposition, read_back: None, amends: vec![] })
    }

    /// Why a write failed, seen from what stands there now.
    async fn set_not_written(
        &self,
        approved: &ApprovedSetChange,
        failure: Failure,
    ) -> Result<Receipt<ObservedName>, ProviderError> {
        let change = approved.change();
        match failure.kind {
            Kind::Passing | Kind::Slow | Kind::TooLarge => return self.settle_set(change, failure).await,
            Kind::Untaken | Kind::Elsewhere | Kind::Before | Kind::Untrusted | Kind::Version | Kind::Here => {
                return Err(failure.error);
            }
            Kind::ReferenceGone | Kind::Duplicate | Kind::Final => {}
        }
        let name = &change.key().name;
        // The grid speaks of a zone that is missing where one of the name servers of others is in the way.
        if matches!(failure.error, ProviderError::Misconfigured { .. })
            && let Ok(Some(zone)) = self.delegated_above(name).await
        {
            let text = format!(
                "it lies beneath {zone}, which is delegated, so the grid has no records there; have it made where {zone} is served, or leave it out"
            );
            return Err(ProviderError::Refused { text });
        }
        if !matches!(failure.error, ProviderError::Refused { .. }) {
            return Err(failure.error);
        }
        let (observed, _) = self.read_name(name).await.map_err(|failure| failure.error)?;
        match approved.is_allowed_at(&observed) {
            _ if change.shows_in(&observed) => Ok(done(observed)),
            true => Err(failure.error),
            false => Err(ProviderError::Stale { zone: name.clone() }),
        }
    }

    /// The closest delegation that holds a name.
    async fn delegated_above(&self, name: &DomainName) -> Result<Option<DomainName>, Failure> {
        let search = |zone: DomainName| {
            json!({"method": "GET", "object": ZONE_DELEGATED, "data": {"fqdn": zone, "view": self.view()},
                "args": {"_return_fields": "fqdn,view"}})
        };
        let body = Some(above(name).map(search).collect::<Vec<_>>().into());
        let request = Request { method: Method::POST, target: BATCH.to_owned(), body };
        let found: Vec<Vec<Value>> = self.parse(self.client.read_all(&request).await?)?;
        let found = above(name).zip(found).find(|(_, hits)| !hits.is_empty());
        Ok(found.map(|(zone, _)| zone))
    }

    /// Never sends a write again: reads what stands there, and decides (reference.md §6.3).
    async fn settle_set(
        &self,
        change: &SetChange,
        failure: Failure,
    ) -> Result<Receipt<ObservedName>, ProviderError> {
        let key = change.key();
        if let Ok((observed, _)) = self.read_name(&key.name).await
            && change.shows_in(&observed)
        {
            return Ok(done(observed));
        }
        let text = format!(
            "it is not known whether the last change of {key} was made ({}); it is read again before the next one",
            failure.error
        );
        Err(ProviderError::Uncertain { text, source: None })
    }

    /// A set of name servers beneath a zone's apex is a zone of its own at the grid.
    async fn write_delegation(
        &self,
        approved: &ApprovedSetChange,
        objects: Vec<Found>,
    ) -> Result<Receipt<ObservedName>, ProviderError> {
        let name = &approved.change().key().name;
        let change = of_delegation(approved.change());
        let stale = || ProviderError::Stale { zone: name.clone() };
        let unreadable = |entry: crate::convert::Unreadable| ProviderError::Unexpected {
            text: self.client.secrets.quote(&entry.to_string()),
        };
        let found: Option<ZoneDelegated> = objects.into_iter().find_map(|found| match found {
            Found::Zone(zone) => Some(*zone),
            Found::Record(..) => None,
        });
        let write = crate::lower::lower(&change, found.as_ref(), self.view(), None).map_err(unreadable)?;
        let receipt = match (write.ok_or_else(stale)?, found) {
            (Write::Create { mut body }, _) => {
                self.spare_what_is_beneath(name).await?;
                claimed(&mut body, approved, self.mark().await?);
                let sent = self.post(body).await;
                self.created(&change, sent).await?
            }
            (Write::Edit(edit), Some(found)) => self.swap(&change, found, edit).await?,
            (Write::Edit(_), None) => return Err(stale()),
        };
        let Receipt { reference, disposition, read_back: _, amends } = receipt;
        Ok(Receipt { reference, disposition, read_back: None, amends })
    }

    /// A delegation takes all that stands at and beneath its name out of DNS.
    async fn spare_what_is_beneath(&self, zone: &DomainName) -> Result<(), ProviderError> {
        let beneath = self.look_beneath(zone).await.map_err(|failure| failure.error)?;
        if beneath.is_empty() {
            return Ok(());
        }
        let text = format!(
            "{zone} is not delegated: its parent zone holds {beneath} at or beneath that name, which would disappear from DNS; move or delete them first"
        );
        Err(ProviderError::Refused { text })
    }
}

fn of_delegation(change: &SetChange) -> Change {
    let delegation =
        |set: &RecordSet| Delegation { zone: set.key.name.clone(), ttl: set.ttl, servers: set.glue.clone() };
    match change {
        SetChange::Create { after } => Change::Create { after: delegation(after) },
        SetChange::Replace { before, after } => {
            Change::Replace { before: delegation(before), after: delegation(after) }
        }
        SetChange::Delete { before } => Change::Delete { before: delegation(before) },
    }
}

fn done(observed: ObservedName) -> Receipt<ObservedName> {
    let disposition = Disposition::Applied;
    Receipt { reference: String::new(), disposition, read_back: Some(observed), amends: vec![] }
}
