//! Writes that the grid holds back: with an approval workflow a write becomes a task, and the object is not there yet
//! (reference.md §7.4).

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use gslb_core::change::Change;
use gslb_core::name::DomainName;
use gslb_provider_contract::{Approval, Disposition, ProviderError, Receipt};

use crate::answer::{Failure, Kind};
use crate::provider::Infoblox;
use crate::wire::ScheduledTask;

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
    Rejected(String),
}

impl Infoblox {
    /// The grid made a task of it.
    pub(crate) fn awaits(&self, change: &Change, reference: &str) -> Receipt {
        let task = Task { change: change.clone(), reference: reference.to_owned() };
        self.tasks().insert(change.zone().clone(), task);
        awaiting(reference)
    }

    /// Asks how an earlier write of this zone stands, if it became a task.
    pub(crate) async fn pending(&self, change: &Change) -> Result<Option<Receipt>, ProviderError> {
        let Some(task) = self.tasks().get(change.zone()).cloned() else {
            return Ok(None);
        };
        match self.task_state(&task.reference).await.map_err(|failure| failure.error)? {
            TaskState::Waiting => Ok(Some(awaiting(&task.reference))),
            TaskState::Rejected(how) if task.change == *change => {
                Err(ProviderError::Refused { text: rejection(change.zone(), &how) })
            }
            TaskState::Rejected(_) | TaskState::Over => {
                self.tasks().remove(change.zone());
                Ok(None)
            }
        }
    }

    async fn task_state(&self, reference: &str) -> Result<TaskState, Failure> {
        let target = format!("{reference}?_return_fields=approval_status,execution_status");
        let task: ScheduledTask = match self.client.read(target).await {
            Ok(reply) => self.parse(reply)?,
            Err(failure) if failure.kind == Kind::ReferenceGone => return Ok(TaskState::Over),
            Err(failure) => return Err(failure),
        };
        Ok(match (task.approval_status.as_deref(), task.execution_status.as_deref()) {
            (Some("REJECTED"), _) => TaskState::Rejected("rejected".to_owned()),
            (_, Some("FAILED")) => TaskState::Rejected("approved, but failed,".to_owned()),
            (_, Some("COMPLETED")) => TaskState::Over,
            _ => TaskState::Waiting,
        })
    }

    /// How a task stands, for the contract.
    pub(crate) async fn approval_of(&self, zone: &DomainName, reference: &str) -> Result<Approval, Failure> {
        Ok(match self.task_state(reference).await? {
            TaskState::Waiting => Approval::Pending { task: task_number(reference).to_owned() },
            TaskState::Over => Approval::Over,
            TaskState::Rejected(how) => Approval::Rejected { text: rejection(zone, &how) },
        })
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<DomainName, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
