//! One host in a visit: settle, plan, approve, log, apply, log.

use std::collections::BTreeSet;
use std::time::Duration;

use gslb_core::changelog::{Intent, ObjectRef, Proposal, Who};
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::doubling::Doubling;
use gslb_core::edit::{Edit, Traced};
use gslb_core::outlet::Outlet;
use gslb_core::records::{
    ApprovedRecordChange, ApprovedRecordPlan, Challenges, DesiredHost, Evidence, ObservedHost, RecordChange,
    RecordFinding, RecordLimits, plan,
};
use gslb_core::zone::Zone;
use gslb_crds::provider_change::LogName;
use gslb_provider_contract::{Approval, Disposition, Provider, ProviderError};
use jiff::Timestamp;
use serde_json::json;

use super::visit::{Memory, is_of_one_host};
use super::wants::Want;
use crate::audit::AuditError;
use crate::controller::Pass;
use crate::controller::ledger::{Notary, Stop, Subject, last_waiting, pause_after, result_of};

/// Reason of a host whose records are as wanted, with nothing else to tell.
pub(super) const IN_SYNC: &str = "InSync";
/// Reason of a zone in which a grid holds writes back.
const APPROVAL: &str = "ApprovalUnsupported";
/// Pauses after a host's change was refused. No outside reference.
const RETRY: Doubling = Doubling { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// What is remembered of a host between visits.
#[derive(Debug, Default)]
pub(super) struct HostMemory {
    /// Refusals in a row, and until when nothing is tried again.
    failures: u32,
    until: Option<(Timestamp, Condition)>,
}

/// A change that the provider holds back for approval.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    change: RecordChange,
    reference: String,
}

/// How a host stands after a visit.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) condition: Condition,
    /// When it is to be looked at although nothing changed.
    pub(super) look_again: Option<Timestamp>,
    /// Somebody else wrote in between.
    pub(super) again: bool,
    /// A change that is held back now.
    pub(super) waiting: Option<Waiting>,
    /// What was made.
    pub(super) made: Vec<RecordChange>,
}

/// Everything that the visit of one host needs.
pub(super) struct HostVisit<'a> {
    pub(super) notary: Notary<'a>,
    pub(super) who: &'a Who,
    pub(super) zone: &'a Zone,
    pub(super) want: &'a Want,
    pub(super) observed: &'a ObservedHost,
    pub(super) evidence: &'a Evidence,
    pub(super) challenges: &'a Challenges,
    /// Why nothing may be written in the zone.
    pub(super) held: Option<&'a str>,
    /// When the read began.
    pub(super) read_at: Timestamp,
}

impl HostVisit<'_> {
    /// Brings the host's records up to date.
    ///
    /// # Errors
    /// What stops the other hosts, too.
    pub(super) async fn visit(&self, memory: &mut HostMemory) -> Result<Outcome, Stop> {
        let desired = match &self.want.wish {
            Ok(desired) => desired,
            Err(unfit) => return Ok(Outcome::of(bad(unfit.reason(), unfit.to_string()))),
        };
        let subject = Subject::Host(desired.host.clone());
        let open = self.notary.settle(&subject, change_of, self.observed, self.read_at).await?;
        if let Some(until) = open {
            let message = format!(
                "it is not known whether the last change of the records of {} was made: its request may still be under way, so nothing is written there before {}",
                desired.host,
                until.strftime("%Y-%m-%dT%H:%M:%SZ")
            );
            return Ok(Outcome { look_again: Some(until), ..Outcome::of(bad("OutcomeUnknown", message)) });
        }
        let approved = match self.approved(desired) {
            Ok(approved) => approved,
            Err(stop) => return self.stopped(memory, stop),
        };
        let idle = approved.changes().is_empty();
        if let Some(why) = self.held.filter(|_| !idle) {
            return Ok(Outcome::of(bad(APPROVAL, why.to_owned())));
        }
        let now = (self.notary.clock)();
        if let Some((until, condition)) = memory.until.as_ref().filter(|(until, _)| !idle && now < *until) {
            return Ok(Outcome { look_again: Some(*until), ..Outcome::of(condition.clone()) });
        }
        let (mut again, mut made) = (false, Vec::new());
        for change in approved.changes() {
            match self.make(desired, &approved, change).await {
                Ok(Made::Applied { overtaken }) => again |= overtaken,
                Ok(Made::Waiting(waiting)) => {
                    let condition = bad(APPROVAL, held_back(self.zone, &waiting.reference));
                    return Ok(Outcome { waiting: Some(*waiting), made, ..Outcome::of(condition) });
                }
                Err(stop) => return Ok(Outcome { made, ..self.stopped(memory, stop)? }),
            }
            made.push(change.change().clone());
        }
        *memory = HostMemory::default();
        let condition = standing(self.notary.provider.id().as_str(), approved.findings());
        Ok(Outcome { look_again: approved.look_again(), again, made, ..Outcome::of(condition) })
    }

    fn approved(&self, desired: &DesiredHost) -> Result<ApprovedRecordPlan, Stop> {
        let Self { observed, evidence, challenges, .. } = *self;
        let now = (self.notary.clock)();
        let limits = RecordLimits { desired, observed, evidence, challenges, now };
        let plan = plan(desired, observed, evidence, challenges, now);
        plan.approve(&limits).map_err(|refusal| Stop::Refused(refusal.to_string(), refusal.reason()))
    }

    async fn make(
        &self,
        desired: &DesiredHost,
        approved: &ApprovedRecordPlan,
        change: &ApprovedRecordChange,
    ) -> Result<Made, Stop> {
        let subject = Subject::Host(desired.host.clone());
        let proposal = self.proposal(approved, change);
        let apply = self.notary.provider.apply_record(change);
        let receipt =
            self.notary.make(subject, proposal, apply, |receipt| result_of(&receipt.disposition)).await?;
        Ok(match receipt.disposition {
            Disposition::Applied => {
                let overtaken = receipt.read_back.is_some_and(|found| !change.change().shows_in(&found));
                Made::Applied { overtaken }
            }
            Disposition::AwaitingApproval { .. } => {
                let change = change.change().clone();
                Made::Waiting(Box::new(Waiting { change, reference: receipt.reference }))
            }
        })
    }

    fn proposal(&self, approved: &ApprovedRecordPlan, change: &ApprovedRecordChange) -> Proposal {
        let why = change.why().to_owned();
        let object: ObjectRef = self.want.object.clone();
        let change = change.change();
        Proposal {
            change_id: change.id(),
            plan_id: approved.id(),
            who: self.who.clone(),
            object,
            why,
            provider: self.notary.provider.id().to_string(),
            view: self.notary.outlet.view().map(str::to_owned),
            zone: self.zone.name().to_string(),
            action: change.edit.action(),
            before: change.edit.before().map(|before| json!(before)),
            after: change.edit.after().map(|after| json!(after)),
        }
    }

    /// What became of a host whose change was not made. Only what is about this host ends here.
    fn stopped(&self, memory: &mut HostMemory, stop: Stop) -> Result<Outcome, Stop> {
        let now = (self.notary.clock)();
        let backoff = RETRY.next(&mut memory.failures);
        let (condition, pause) = match &stop {
            Stop::Provider(ProviderError::Stale { .. }) if memory.failures <= 1 => {
                let condition = bad("Stale", stop.to_string());
                return Ok(Outcome { again: true, ..Outcome::of(condition) });
            }
            Stop::Provider(error) if is_of_one_host(error) => {
                tracing::warn!(zone = %self.zone.name(), reason = error.reason(), %error, "A record was not changed.");
                (bad(error.reason(), error.to_string()), pause_after(error, backoff, now))
            }
            Stop::Refused(message, reason) => (bad(reason, message.clone()), backoff),
            Stop::Provider(_) | Stop::Audit(_) => return Err(stop),
        };
        let until = now.checked_add(pause).unwrap_or(Timestamp::MAX);
        memory.until = Some((until, condition.clone()));
        Ok(Outcome { look_again: Some(until), ..Outcome::of(condition) })
    }
}

impl Outcome {
    fn of(condition: Condition) -> Self {
        Self { condition, look_again: None, again: false, waiting: None, made: Vec::new() }
    }
}

enum Made {
    Applied { overtaken: bool },
    Waiting(Box<Waiting>),
}

/// How a host stands once its plan is made.
fn standing(provider: &str, findings: &[RecordFinding]) -> Condition {
    let kind = ConditionKind::InSync;
    let conflicts = findings.iter().filter(|finding| finding.is_conflict()).collect::<Vec<_>>();
    let sentences =
        |findings: &[&RecordFinding]| findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    if let Some(first) = conflicts.first() {
        return Condition::bad(kind, first.reason(), sentences(&conflicts));
    }
    match findings.first() {
        Some(first) => Condition::good(kind, first.reason(), sentences(&findings.iter().collect::<Vec<_>>())),
        None => {
            Condition::good(kind, IN_SYNC, format!("{provider} holds the records that this cluster wants"))
        }
    }
}

fn bad(reason: &'static str, message: String) -> Condition {
    Condition::bad(ConditionKind::InSync, reason, message)
}

/// Asks whether a change is held back for approval, which records mode cannot live with: it would come into force when
/// the decision is another one. Gives why nothing may be written.
pub(super) async fn look_at_approval(
    pass: &Pass,
    (provider, outlet): (&dyn Provider, &Outlet),
    zone: &Zone,
    memory: &mut Memory,
) -> Result<Option<String>, Stop> {
    let recalls = !memory.log_recalled;
    if recalls {
        memory.waiting = recall(pass, outlet, zone).await?;
        memory.log_recalled = true;
    }
    let Some(waiting) = &memory.waiting else { return Ok(None) };
    let host = waiting.change.host();
    match provider.approval(host, &waiting.reference).await? {
        Approval::Pending { .. } => Ok(Some(held_back(zone, &waiting.reference))),
        // It is asked for anew after a restart only.
        Approval::Rejected { .. } if !recalls => Ok(Some(format!(
            "a change of the records of {host} was rejected in the provider's approval workflow, so no record of {} is changed; take the account out of that workflow, then restart gslb-bridge",
            zone.name()
        ))),
        Approval::Unseen { text } => Ok(Some(text)),
        Approval::Rejected { .. } | Approval::Over => {
            memory.waiting = None;
            Ok(None)
        }
    }
}

/// The change that an earlier run left waiting.
async fn recall(pass: &Pass, outlet: &Outlet, zone: &Zone) -> Result<Option<Waiting>, AuditError> {
    let about = |intent: &Intent| {
        let change = &intent.change;
        change.zone == zone.name().as_str() && outlet.holds(change) && change_of(intent).is_some()
    };
    let last = last_waiting(&pass.context.client, &LogName::default(), about).await?;
    Ok(last.and_then(|object| {
        let reference = object.status.as_ref()?.outcome.verdict.reference.clone()?;
        Some(Waiting { change: change_of(&object.spec.intent)?, reference })
    }))
}

fn held_back(zone: &Zone, reference: &str) -> String {
    format!(
        "the provider holds changes of this account back for approval ({reference}), so no record of {} is changed: an approved change would come when the decision is another one; take the account out of the approval workflow and reject the task",
        zone.name()
    )
}

/// The change that an intent speaks of; nothing if it is about no record.
fn change_of(intent: &Intent) -> Option<RecordChange> {
    Some(RecordChange { edit: Edit::of(&intent.change)?, instead: BTreeSet::new() })
}
