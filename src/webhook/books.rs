//! The change log beside the work: each change with its intent and outcome, and what nobody saw the end of.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gslb_core::changelog::{ChangeResult, ObjectRef, Proposal, Who};
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_core::sets::{ApprovedSetChange, ObservedName, ObservedSets, SetChange, SetKey};
use gslb_crds::ProviderChange;
use gslb_crds::provider_change::LogName;
use gslb_provider_contract::{Approval, Disposition, Provider, ProviderError, Receipt, RecordSets};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt};

use super::metrics::Metrics;
use crate::audit::{AuditError, ChangeLog, read};
use crate::controller::ledger::{Ledger, Notary, RECORD_SET, Stop, Subject, result_of};
use crate::daemon::Clock;

/// The last change of a set, while it waits for somebody's approval.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Waiting {
    change_id: String,
    reference: String,
}

/// The books of one webhook.
pub(super) struct Books {
    pub(super) client: Client,
    pub(super) log: ChangeLog,
    pub(super) log_name: LogName,
    pub(super) ledger: Ledger,
    pub(super) outlet: Outlet,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) metrics: Metrics,
    pub(super) clock: Clock,
    pub(super) who: Who,
    pub(super) domains: Vec<DomainName>,
    approvals: Mutex<Option<BTreeMap<SetKey, Waiting>>>,
}

/// What the books are made of.
pub(super) struct Opening {
    pub(super) client: Client,
    pub(super) log: ChangeLog,
    pub(super) log_name: LogName,
    pub(super) outlet: Outlet,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) metrics: Metrics,
    pub(super) clock: Clock,
    pub(super) who: Who,
    pub(super) domains: Vec<DomainName>,
}

impl Books {
    pub(super) fn open(opening: Opening) -> Self {
        let Opening { client, log, log_name, outlet, provider, metrics, clock, who, domains } = opening;
        let (ledger, approvals) = (Ledger::default(), Mutex::default());
        Self { client, log, log_name, ledger, outlet, provider, metrics, clock, who, domains, approvals }
    }

    /// Reads from the log what an earlier run, or a failure of the log, left open.
    pub(super) async fn recall(&self) -> Result<(), AuditError> {
        let is_known =
            |zone: &DomainName, change: &Proposal| self.domains.contains(zone) && self.outlet.holds(change);
        self.ledger.read_log(&self.log, &self.clock, &is_known).await?;
        if self.waiting().is_none() {
            let recalled = self.recall_approvals().await?;
            *self.waiting() = Some(recalled);
        }
        Ok(())
    }

    /// Settles what is open by a read that began at `read_at` and covers all of it. Gives the sets whose last change may
    /// still be under way.
    pub(super) async fn settle(
        &self,
        observed: &ObservedSets,
        read_at: Timestamp,
    ) -> Result<BTreeMap<SetKey, Timestamp>, AuditError> {
        let (mut under_way, nothing) = (BTreeMap::new(), ObservedName::new());
        for key in self.ledger.unsettled_sets() {
            let name = observed.get(&key.name).unwrap_or(&nothing);
            let change_of = |intent: &gslb_core::changelog::Intent| SetChange::of(&intent.change);
            let wait = self.notary().settle(&Subject::Set(key.clone()), change_of, name, read_at).await?;
            under_way.extend(wait.map(|until| (key, until)));
        }
        Ok(under_way)
    }

    /// Makes a change with its intent before and its outcome after.
    pub(super) async fn make(
        &self,
        sets: &dyn RecordSets,
        approved: &ApprovedSetChange,
        plan_id: &str,
        why: String,
    ) -> Result<Receipt<ObservedName>, Stop> {
        let change = approved.change();
        let key = change.key();
        let value = |set: Option<&gslb_core::sets::RecordSet>| {
            set.map(|set| serde_json::to_value(set).expect("a set of texts and numbers is JSON"))
        };
        let proposal = Proposal {
            change_id: change.id(),
            plan_id: plan_id.to_owned(),
            who: self.who.clone(),
            object: ObjectRef {
                kind: RECORD_SET.to_owned(),
                namespace: None,
                name: key.to_string(),
                uid: String::new(),
                generation: 0,
            },
            why,
            provider: self.outlet.provider().to_owned(),
            view: self.outlet.view().map(str::to_owned),
            zone: self.domain_of(&key.name).to_string(),
            action: change.action(),
            before: value(change.before()),
            after: value(change.after()),
        };
        let subject = Subject::Set(key.clone());
        let taken = |receipt: &Receipt<ObservedName>| result_of(&receipt.disposition);
        let receipt = self.notary().make(subject, proposal, sets.apply_set(approved), taken).await?;
        if let Disposition::AwaitingApproval { .. } = receipt.disposition {
            let waiting = Waiting { change_id: change.id(), reference: receipt.reference.clone() };
            self.waiting().get_or_insert_default().insert(key.clone(), waiting);
        }
        Ok(receipt)
    }

    /// Why a change is not made because one before it waits for somebody's approval, or was refused there.
    ///
    /// # Errors
    /// The provider does not say.
    pub(super) async fn held(&self, change: &SetChange) -> Result<Option<String>, ProviderError> {
        let key = change.key();
        let Some(waiting) = self.waiting().as_ref().and_then(|waiting| waiting.get(key)).cloned() else {
            return Ok(None);
        };
        Ok(match self.provider.approval(&key.name, &waiting.reference).await? {
            Approval::Pending { task } => {
                Some(format!("{key} waits for approval at the grid as task {task}"))
            }
            Approval::Unseen { .. } => Some(format!(
                "{key} was submitted for approval, and this account sees no tasks, so it is not known how that one stands; let the account read scheduled tasks"
            )),
            Approval::Rejected { .. } if waiting.change_id == change.id() => Some(format!(
                "{key} was rejected, or failed, in the grid's approval workflow; have it approved there, or ask for something else"
            )),
            Approval::Rejected { .. } | Approval::Over => {
                self.waiting().get_or_insert_default().remove(key);
                None
            }
        })
    }

    /// Waits until no change is under way; none begins afterwards.
    pub(super) async fn close(&self, patience: Duration) {
        if let Some(closed) = self.ledger.close(patience).await {
            // Until the process ends.
            std::mem::forget(closed);
        }
    }

    fn notary(&self) -> Notary<'_> {
        Notary {
            ledger: &self.ledger,
            log: &self.log,
            provider: &self.provider,
            outlet: &self.outlet,
            metrics: &self.metrics,
            clock: &self.clock,
            wall: &self.clock,
            zone_delegation: None,
        }
    }

    /// The longest of our domains that holds a name.
    fn domain_of<'a>(&'a self, name: &'a DomainName) -> &'a DomainName {
        let holding = self.domains.iter().filter(|domain| name.is_within(domain));
        holding.max_by_key(|domain| domain.as_str().len()).unwrap_or(name)
    }

    /// The last entry of each set counts.
    async fn recall_approvals(&self) -> Result<BTreeMap<SetKey, Waiting>, AuditError> {
        let listing = Api::all(self.client.clone());
        let see = |waiting: &mut BTreeMap<SetKey, Waiting>, object: Result<ProviderChange, _>| {
            let Ok(object) = object else { return };
            let change = SetChange::of(&object.spec.intent.change);
            let ours = self.log_name.number_of(&object.name_any()).is_some();
            let Some(change) = change.filter(|_| ours && self.outlet.holds(&object.spec.intent.change))
            else {
                return;
            };
            let verdict = object.status.as_ref().map(|status| &status.outcome.verdict);
            let waits = verdict.filter(|verdict| verdict.result == ChangeResult::AwaitingApproval);
            match waits.and_then(|verdict| verdict.reference.clone()) {
                Some(reference) => {
                    drop(waiting.insert(change.key().clone(), Waiting { change_id: change.id(), reference }));
                }
                None => drop(waiting.remove(change.key())),
            }
        };
        read::fold(&listing, BTreeMap::new, see).await.map_err(|source| AuditError::Unavailable {
            name: "providerchanges".to_owned(),
            source: Box::new(source),
        })
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<BTreeMap<SetKey, Waiting>>> {
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
