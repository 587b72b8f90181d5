//! Sends one change of a record: once. Whatever is unclear afterwards is settled by reading.

use gslb_core::edit::{Edit, Traced};
use gslb_core::records::{HostRecord, ObservedHost, RecordChange};
use gslb_provider_contract::{Disposition, ProviderError, Receipt};
use reqwest::Method;

use super::convert::Found;
use super::lower::{TooLong, create, edit, kind_of};
use crate::answer::{Failure, Kind};
use crate::claims::Mark;
use crate::client::{BATCH, Request};
use crate::provider::Infoblox;
use crate::task::task_number;
use crate::wire::{SCHEDULED_TASK, written_record};

impl Infoblox {
    /// Makes a change, if the host still is what it was planned for.
    pub(crate) async fn write_record(
        &self,
        change: &RecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        // The reference is looked up anew, and what others wrote since the plan is seen.
        let (observed, objects) = self.read_host(change.host()).await.map_err(|failure| failure.error)?;
        if change.shows_in(&observed) {
            return Ok(done(change, &objects, observed));
        }
        if !change.matches(&observed) {
            return Err(stale(change));
        }
        match &change.edit {
            Edit::Create { after } => self.create_record(change, after).await,
            Edit::Replace { .. } | Edit::Delete { .. } => {
                let found = object_of(change, &objects).ok_or_else(|| stale(change))?;
                self.edit_record(change, found, &observed).await
            }
        }
    }

    async fn create_record(
        &self,
        change: &RecordChange,
        after: &HostRecord,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        let mark = match self.has_claims().await? {
            true => Mark::Attributes,
            false => Mark::Comment,
        };
        let body = create(after, self.view(), mark).map_err(too_long)?;
        let target = kind_of(after.address).name().to_owned();
        let request = Request { method: Method::POST, target, body: Some(body) };
        match self.client.send(&request).await {
            Ok(reply) => self.record_written(change, written_record(&reply)).await,
            Err(failure) => self.record_not_written(change, failure).await,
        }
    }

    async fn edit_record(
        &self,
        change: &RecordChange,
        found: &Found,
        observed: &ObservedHost,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        let answers = |record: &&HostRecord| !record.disabled && change.instead.contains(&record.address);
        let beside = observed.records.values().find(answers).map(|record| record.address);
        let operations = edit(change, found, beside, self.view()).map_err(too_long)?;
        let request =
            Request { method: Method::POST, target: BATCH.to_owned(), body: Some(operations.into()) };
        match self.client.send(&request).await {
            Ok(reply) => {
                let written = reply.as_array().and_then(|results| results.last());
                self.record_written(change, written.and_then(written_record)).await
            }
            Err(failure) => self.record_not_written(change, failure).await,
        }
    }

    /// The grid took it: is it in force, and what stands there now?
    async fn record_written(
        &self,
        change: &RecordChange,
        reference: Option<&str>,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        let Some(reference) = reference else {
            let failure = self.unexpected("answered a write without a reference");
            return self.settle_record(change, failure).await;
        };
        let reference = reference.to_owned();
        if reference.starts_with(SCHEDULED_TASK) {
            let disposition = Disposition::AwaitingApproval { task: task_number(&reference).to_owned() };
            return Ok(Receipt { reference, disposition, read_back: None, amends: vec![] });
        }
        let read_back = self.read_host(change.host()).await.ok().map(|(observed, _)| observed);
        Ok(Receipt { reference, disposition: Disposition::Applied, read_back, amends: vec![] })
    }

    /// Why a write failed, seen from what stands there now.
    async fn record_not_written(
        &self,
        change: &RecordChange,
        failure: Failure,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        match failure.kind {
            Kind::Passing | Kind::Slow | Kind::TooLarge => return self.settle_record(change, failure).await,
            Kind::Untaken | Kind::Elsewhere | Kind::Before | Kind::Untrusted | Kind::Version | Kind::Here => {
                return Err(failure.error);
            }
            Kind::ReferenceGone | Kind::Duplicate | Kind::Final => {}
        }
        if !matches!(failure.error, ProviderError::Refused { .. }) {
            return Err(failure.error);
        }
        let (observed, objects) = self.read_host(change.host()).await.map_err(|failure| failure.error)?;
        if change.shows_in(&observed) {
            return Ok(done(change, &objects, observed));
        }
        match change.matches(&observed) {
            true => Err(failure.error),
            false => Err(stale(change)),
        }
    }

    /// Never sends a write again: reads what stands there, and decides (reference.md §6.3).
    async fn settle_record(
        &self,
        change: &RecordChange,
        failure: Failure,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        if let Ok((observed, objects)) = self.read_host(change.host()).await
            && change.shows_in(&observed)
        {
            return Ok(done(change, &objects, observed));
        }
        let text = format!(
            "it is not known whether the last change of the records of {} was made ({}); they are read again before the next one",
            change.host(),
            failure.error
        );
        Err(ProviderError::Uncertain { text, source: None })
    }
}

fn object_of<'a>(change: &RecordChange, objects: &'a [Found]) -> Option<&'a Found> {
    objects.iter().find(|found| found.address() == Some(change.record().address))
}

fn stale(change: &RecordChange) -> ProviderError {
    ProviderError::Stale { zone: change.host().clone() }
}

fn done(change: &RecordChange, objects: &[Found], observed: ObservedHost) -> Receipt<ObservedHost> {
    let reference =
        object_of(change, objects).map(|found| found.object.reference.clone()).unwrap_or_default();
    Receipt { reference, disposition: Disposition::Applied, read_back: Some(observed), amends: vec![] }
}

fn too_long(error: TooLong) -> ProviderError {
    ProviderError::Misconfigured { text: error.to_string() }
}
