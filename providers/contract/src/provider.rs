//! The two sides of a provider: reading, and making approved changes.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::beneath::Beneath;
use gslb_core::changelog::Amends;
use gslb_core::delegation::Presence;
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_core::records::{ApprovedRecordChange, ObservedHost, ZoneRecords};
use gslb_core::zone::Zone;
use serde_json::Value;

use crate::error::ProviderError;
use crate::finding::{Finding, Inspected};

/// Reads a backend. Whoever holds only this cannot write: `plan` and `check` get nothing else.
#[async_trait]
pub trait Observe: Send + Sync {
    /// Which provider this is: for conditions, metrics and the change log.
    fn id(&self) -> &ProviderId;

    /// What the backend can store. Static: asking never does I/O.
    fn capabilities(&self) -> &Capabilities;

    /// Reads one delegation. [`Presence::Absent`] is the result of a complete, successful read.
    ///
    /// # Errors
    /// Anything else, a missing parent zone or view included.
    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError>;

    /// Reads the address records of all hosts at and beneath the zone's name, and what excludes them there. Asked only
    /// where [`Capabilities::records`] says so. A host that is missing has none: the read was complete.
    ///
    /// # Errors
    /// Anything else, a zone that the backend does not serve itself included.
    async fn records(&self, scope: &Scope) -> Result<ZoneRecords, ProviderError> {
        Err(no_records(self.id(), &scope.zone))
    }

    /// Asks whether the backend serves what it holds. Asked only while a delegation is written and not served, so it
    /// may cost a few requests.
    ///
    /// # Errors
    /// The backend does not say.
    async fn service(&self) -> Result<Service, ProviderError> {
        Ok(Service::Untold)
    }

    /// Reads what would disappear from DNS if the zone, which is absent, were delegated. Asked only before a delegation
    /// is made. Where a delegation hides nothing that the backend knows of, nothing is read.
    ///
    /// # Errors
    /// It could not be read completely.
    async fn beneath(&self, _scope: &Scope) -> Result<Beneath, ProviderError> {
        Ok(Beneath::default())
    }

    /// Looks whether the backend is as these zones need it, for people. Reads only. It does not fail: what could
    /// not be read is a finding of its own, and one zone that cannot be read hides no other. A provider that has
    /// nothing to say finds nothing.
    async fn inspect(&self, _what: &Inspected) -> Vec<Finding> {
        Vec::new()
    }
}

/// Writes to a backend.
#[async_trait]
pub trait Provider: Observe {
    /// Makes one approved change. Applying it twice equals applying it once; deleting what is absent is done.
    ///
    /// # Errors
    /// [`ProviderError::Stale`] if the object is no longer what the change was planned for; nothing was written
    /// then. After every error but [`ProviderError::Uncertain`] it is known that nothing was written.
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError>;

    /// Makes one approved change of a record. Applying it twice equals applying it once; deleting what is absent is
    /// done. A change that is held back for approval must not be applied again before [`Self::approval`] says that its
    /// task is over.
    ///
    /// # Errors
    /// As [`Self::apply`].
    async fn apply_record(
        &self,
        change: &ApprovedRecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        Err(no_records(self.id(), change.change().host()))
    }

    /// How long a write may still come into force after nobody waits for its reply any more: the caller died, or
    /// [`ProviderError::Uncertain`] came. A read within that time which does not show the change proves nothing.
    /// Static: asking never does I/O.
    fn longest_aftermath(&self) -> Duration;

    /// Asks how a change of `zone` stands that the backend held back for approval under `reference`. Never writes.
    /// Where nothing is ever held back, every task is over.
    ///
    /// # Errors
    /// The backend does not say.
    async fn approval(&self, _zone: &DomainName, _reference: &str) -> Result<Approval, ProviderError> {
        Ok(Approval::Over)
    }

    /// Looks for a change of the zone that waits at the backend for somebody's approval, whoever submitted it. Asked
    /// only where something is to be written. What the account may not see is not found.
    ///
    /// # Errors
    /// The backend does not say.
    async fn held(&self, _zone: &DomainName) -> Result<Option<Held>, ProviderError> {
        Ok(None)
    }

    /// Puts back what a write of ours took from others, as a [`Receipt`] told it; done if it is there. Gives the
    /// backend's reference to the object.
    ///
    /// # Errors
    /// It is not there, or that is not known. It may be tried again.
    async fn amend(&self, _zone: &DomainName, _lost: &Value) -> Result<String, ProviderError> {
        Ok(String::new())
    }

    /// Restarts those services of the backend that need it. Called only where [`Capabilities::restarts`] says so.
    ///
    /// # Errors
    /// It was not done, or that is not known.
    async fn restart(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Gives back what the provider holds at its backend, such as a session. Called once, when the daemon stops.
    ///
    /// # Errors
    /// For the log only: the daemon stops anyway.
    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

/// Name of a provider's instance: a label from a closed set, that of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderId {
    kind: String,
    name: String,
}

impl ProviderId {
    /// The only instance of a kind, such as `infoblox`, which is called like it.
    pub fn new(kind: &str) -> Self {
        Self::named(kind, kind)
    }

    /// One of several instances.
    pub fn named(kind: &str, name: &str) -> Self {
        Self { kind: kind.to_owned(), name: name.to_owned() }
    }

    /// What kind of provider it is.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for ProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What a backend can store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Each cluster has an object of its own, which holds the NS set of the whole fleet and this cluster's glue. Else
    /// all clusters write one object, each its own entry.
    pub own_object: bool,
    /// The settings allow to restart the backend's services where that is needed to serve a change.
    pub restarts: bool,
    /// Whoever answers in the backend's place is believed, because the settings say so. Operators are told for as long
    /// as it is so.
    pub unverified: bool,
    /// The backend serves zones itself, and can hold each address of a host as an object with a claim.
    pub records: bool,
}

fn no_records(provider: &ProviderId, name: &DomainName) -> ProviderError {
    let text = format!(
        "{provider} cannot hold records of several clusters for {name}; use mode delegation for its zone, or Infoblox"
    );
    ProviderError::Misconfigured { text }
}

/// Whether a backend serves what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// It does not tell, or it is not of the kind that needs a restart.
    Untold,
    /// It serves all it holds.
    Current,
    /// Changes wait for a restart of services.
    NeedsRestart {
        /// The sentence for the user: where, and what follows.
        text: String,
    },
}

/// Which delegation to read, or whose hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scope {
    /// The zone that the fleet serves.
    pub zone: DomainName,
    /// The zone that holds its delegation. Its hosts may lie in this one, too.
    pub parent: DomainName,
}

impl From<&Zone> for Scope {
    fn from(zone: &Zone) -> Self {
        Self { zone: zone.name().clone(), parent: zone.parent().clone() }
    }
}

/// A change that the backend took. `R`: what is read to see it, a delegation or the records of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt<R = Presence> {
    /// The backend's own reference to the object or task: for the change log, never an identity.
    pub reference: String,
    /// Whether it is in force.
    pub disposition: Disposition,
    /// What a read right after the write found, if one was made and succeeded. If a plan for it is not empty,
    /// another writer came in between: observe again at once.
    pub read_back: Option<R>,
    /// What the write took from others who wrote at the same moment. What has no error is there again; the rest is to
    /// be [put back](Provider::amend).
    pub amends: Vec<Amends>,
}

/// Whether a change that the backend took is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// It stands in the backend's database.
    Applied,
    /// Somebody has to approve it first. Applying the same change again asks how the task stands and does not
    /// write a second time.
    AwaitingApproval {
        /// The backend's name for the task.
        task: String,
    },
}

/// A change that waits at the backend for somebody's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The backend's name for the task.
    pub task: String,
    /// The backend's reference to it.
    pub reference: String,
    /// Who submitted it, if the backend says so.
    pub by: Option<String>,
    /// Whether it was submitted with this provider's account.
    pub ours: bool,
}

/// How a change stands that somebody has to approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Nobody has decided yet, or it is not carried out yet.
    Pending {
        /// The backend's name for the task.
        task: String,
    },
    /// It was carried out, or the backend has forgotten it: reading tells which.
    Over,
    /// The backend does not show the task, which may only mean that the account may not see it.
    Unseen {
        /// The sentence for the user.
        text: String,
    },
    /// It was refused, or failed once it was approved.
    Rejected {
        /// The sentence for the user.
        text: String,
    },
}
