//! Writes that the grid holds back: with an approval workflow a write becomes a task, and the object is not there yet
//! (reference.md §7.4). Who may not see tasks is told that there are none, so a task that is not found is not over.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use gslb_core::change::Change;
use gslb_core::name::DomainName;
use gslb_core::text::quoted;
use gslb_provider_contract::{Approval, Disposition, Held, ProviderError, Receipt};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::answer::{Failure, Kind};
use crate::provider::{Infoblox, query};
use crate::wire::ScheduledTask;

/// How long a task that the grid does not show counts as waiting: approvals take days, and nobody is helped by a second
/// task. After that the change is submitted again. No outside reference.
const UNSEEN_FOR: SignedDuration = SignedDuration::from_hours(24);
/// Tasks of one object that are looked at; the grid lets nobody change an object that one of them is about.
const MOST_TASKS: &str = "1000";

/// What is known of tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    /// Writes of ours that became tasks, by view and zone.
    waiting: BTreeMap<(String, DomainName), Task>,
    /// References that the grid does not show, and since when.
    unseen: BTreeMap<String, Timestamp>,
}

#[derive(Clone)]
pub(crate) struct Task {
    change: Change,
    reference: String,
}

/// How a task stands.
enum TaskState {
    Waiting,
    /// It was carried out, or the grid has forgotten it.
    Over,
    /// The grid shows no task at all.
    Unseen,
    Rejected(String),
}

impl Infoblox {
    /// The grid made a task of it.
    pub(crate) fn awaits(&self, change: &Change, reference: &str) -> Receipt {
        let task = Task { change: change.clone(), reference: reference.to_owned() };
        self.tasks().waiting.insert(self.task_key(change.zone()), task);
        awaiting(reference)
    }

    /// Asks how an earlier write of this zone stands, if it became a task.
    pub(crate) async fn pending(&self, change: &Change) -> Result<Option<Receipt>, ProviderError> {
        let Some(task) = self.tasks().waiting.get(&self.task_key(change.zone())).cloned() else {
            return Ok(None);
        };
        match self.task_state(&task.reference).await.map_err(|failure| failure.error)? {
            TaskState::Waiting | TaskState::Unseen => Ok(Some(awaiting(&task.reference))),
            TaskState::Rejected(how) if task.change == *change => {
                Err(ProviderError::Refused { text: rejection(change.zone(), &how) })
            }
            TaskState::Rejected(_) | TaskState::Over => {
                self.tasks().waiting.remove(&self.task_key(change.zone()));
                Ok(None)
            }
        }
    }

    async fn task_state(&self, reference: &str) -> Result<TaskState, Failure> {
        let target = format!("{reference}?_return_fields=approval_status,execution_status");
        let task: ScheduledTask = match self.client.read(target).await {
            Ok(reply) => self.parse(reply)?,
            Err(failure) if failure.kind == Kind::ReferenceGone => return self.unseen(reference).await,
            Err(failure) => return Err(failure),
        };
        self.tasks().unseen.remove(reference);
        Ok(state(&task))
    }

    /// A task that is not found is over only if the account sees tasks.
    async fn unseen(&self, reference: &str) -> Result<TaskState, Failure> {
        let any = query("scheduledtask", &[("_return_fields", "task_id"), ("_max_results", "1")]);
        let shown = match self.client.read(any).await {
            Ok(reply) => !self.parse::<Vec<Value>>(reply)?.is_empty(),
            Err(Failure { error: ProviderError::Refused { .. }, .. }) => false,
            Err(failure) => return Err(failure),
        };
        let now = (self.client.settings().clock)();
        let mut tasks = self.tasks();
        let since = *tasks.unseen.entry(reference.to_owned()).or_insert(now);
        if shown || now.duration_since(since) >= UNSEEN_FOR {
            tasks.unseen.remove(reference);
            return Ok(TaskState::Over);
        }
        Ok(TaskState::Unseen)
    }

    fn task_key(&self, zone: &DomainName) -> (String, DomainName) {
        (self.view().to_owned(), zone.clone())
    }

    /// Whether another view of this process knows a task as that of its own zone.
    fn is_of_another_view(&self, task: &ScheduledTask) -> bool {
        let tasks = self.tasks();
        let mut others = tasks.waiting.iter().filter(|((view, _), _)| view != self.view());
        others.any(|(_, other)| task.reference.as_ref() == Some(&other.reference))
    }

    /// The task that waits for a decision about this zone, whoever submitted it. A task does not name the view, so what
    /// nobody here knows is taken for one of this view.
    pub(crate) async fn held_task(&self, zone: &DomainName) -> Result<Option<Held>, Failure> {
        let about = [
            ("changed_objects.name", zone.as_str()),
            ("_return_fields", "approval_status,execution_status,submitter"),
            ("_max_results", MOST_TASKS),
        ];
        let tasks: Vec<ScheduledTask> = match self.client.read(query("scheduledtask", &about)).await {
            Ok(reply) => self.parse(reply)?,
            // Who may not see tasks goes without.
            Err(Failure { error: ProviderError::Refused { .. }, .. }) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let waits = |task: &ScheduledTask| matches!(state(task), TaskState::Waiting);
        let Some(task) = tasks.into_iter().find(|task| waits(task) && !self.is_of_another_view(task)) else {
            return Ok(None);
        };
        let account = self.client.settings().credentials.read().map_err(Failure::here)?.username;
        let ours = task.submitter.as_ref() == Some(&account);
        let (reference, by) = (task.reference.unwrap_or_default(), task.submitter.as_deref().map(quoted));
        Ok(Some(Held { task: task_number(&reference).to_owned(), reference, by, ours }))
    }

    /// How a task stands, for the contract.
    pub(crate) async fn approval_of(&self, zone: &DomainName, reference: &str) -> Result<Approval, Failure> {
        Ok(match self.task_state(reference).await? {
            TaskState::Waiting => Approval::Pending { task: task_number(reference).to_owned() },
            TaskState::Over => Approval::Over,
            TaskState::Unseen => Approval::Unseen { text: unseen(zone, task_number(reference)) },
            TaskState::Rejected(how) => Approval::Rejected { text: rejection(zone, &how) },
        })
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state(task: &ScheduledTask) -> TaskState {
    match (task.approval_status.as_deref(), task.execution_status.as_deref()) {
        (Some("REJECTED"), _) => TaskState::Rejected("rejected".to_owned()),
        (_, Some("FAILED")) => TaskState::Rejected("approved, but failed,".to_owned()),
        (_, Some("COMPLETED")) => TaskState::Over,
        _ => TaskState::Waiting,
    }
}

fn unseen(zone: &DomainName, task: &str) -> String {
    format!(
        "the change of delegation {zone} was submitted for approval as task {task}, and this account sees no tasks, so it is not known how that one stands; let the account read scheduled tasks; the change is submitted again a day after the task was last seen"
    )
}

fn rejection(zone: &DomainName, how: &str) -> String {
    format!(
        "the change of delegation {zone} was {how} in the grid's approval workflow; have it approved, or restart gslb-bridge to ask again"
    )
}

/// `scheduledtask/<opaque>:12/PENDING`; only the number is for people.
pub(crate) fn task_number(reference: &str) -> &str {
    reference.rsplit(':').next().and_then(|tail| tail.split('/').next()).unwrap_or(reference)
}

fn awaiting(reference: &str) -> Receipt {
    Receipt {
        reference: reference.to_owned(),
        disposition: Disposition::AwaitingApproval { task: task_number(reference).to_owned() },
        read_back: None,
        amends: vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_called_by_its_number() {
        let receipt = awaiting("scheduledtask/b25lLnF1ZXVlZF90YXNrJDE:12/PENDING");
        assert_eq!(receipt.disposition, Disposition::AwaitingApproval { task: "12".into() });
    }
}
