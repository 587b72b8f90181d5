//! A delegation that is not there yet: made once, and settled by reading where it is not clear what came of that.

use gslb_core::change::Change;
use gslb_core::name::DomainName;
use gslb_provider_contract::{Disposition, ProviderError, Receipt};
use reqwest::Method;
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::client::Request;
use crate::provider::{Infoblox, search};
use crate::wire::{SCHEDULED_TASK, ZONE_AUTH, ZONE_DELEGATED, written_reference};

impl Infoblox {
    /// Makes the zone: sent once, unless the grid refused it with our revision attribute and takes it without. Whatever
    /// is unclear afterwards is settled by reading.
    pub(crate) async fn create(&self, change: &Change, body: Value) -> Result<Receipt, ProviderError> {
        let mut sent = self.post(body.clone()).await;
        if body.get("extattrs").is_some() && matches!(&sent, Err(failure) if failure.is_refusal()) {
            let mut plain = body;
            plain.as_object_mut().map(|body| body.remove("extattrs"));
            sent = self.post(plain).await;
            self.revisions_refused(sent.is_ok());
        }
        self.created(change, sent).await
    }

    /// What came of a zone that was to be made.
    pub(crate) async fn created(
        &self,
        change: &Change,
        sent: Result<Value, Failure>,
    ) -> Result<Receipt, ProviderError> {
        match sent {
            Ok(reply) => self.written(change, &reply).await,
            Err(failure) => match failure.kind {
                Kind::Duplicate => Err(self.taken(change.zone(), failure).await),
                Kind::Passing | Kind::Slow | Kind::TooLarge => self.settle(change, failure).await,
                Kind::ReferenceGone
                | Kind::Untaken
                | Kind::Elsewhere
                | Kind::Final
                | Kind::Before
                | Kind::Untrusted
                | Kind::Version
                | Kind::Here => Err(failure.error),
            },
        }
    }

    pub(crate) async fn post(&self, body: Value) -> Result<Value, Failure> {
        let request = Request { method: Method::POST, target: ZONE_DELEGATED.to_owned(), body: Some(body) };
        self.client.send(&request).await
    }

    /// The grid took it: is it in force, and what stands there now?
    async fn written(&self, change: &Change, reply: &Value) -> Result<Receipt, ProviderError> {
        let Some(reference) = written_reference(reply) else {
            let failure = self.unexpected("answered a write without a reference");
            return self.settle(change, failure).await;
        };
        if reference.starts_with(SCHEDULED_TASK) {
            return Ok(self.awaits(change, reference));
        }
        let found = self.look_up(change.zone()).await.ok();
        let read_back = found.and_then(|found| self.presence(found.as_ref(), change.zone()).ok());
        let disposition = Disposition::Applied;
        Ok(Receipt { reference: reference.to_owned(), disposition, read_back, amends: vec![] })
    }

    /// Why a name is taken, in a sentence.
    async fn taken(&self, zone: &DomainName, failure: Failure) -> ProviderError {
        match self.look_up(zone).await {
            Ok(Some(_)) => return ProviderError::Stale { zone: zone.clone() },
            Ok(None) => {}
            Err(other) => return other.error,
        }
        let target = search(ZONE_AUTH, zone, self.view(), "fqdn,view");
        let authoritative = match self.client.read(target).await {
            Ok(Value::Array(hits)) => !hits.is_empty(),
            Ok(_) | Err(_) => false,
        };
        let what = match authoritative {
            true => "an authoritative zone of that name exists",
            false => "another zone of that name exists, or one that the account may not see",
        };
        let text = format!(
            "{zone} cannot be delegated in view {}: {what}, and it is left as it is; remove it or choose another zone ({})",
            self.view(),
            failure.error
        );
        ProviderError::Refused { text }
    }
}
