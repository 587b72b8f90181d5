//! Faults by value: what shall go wrong, how often, and what interrupts watches.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::request::Target;
use crate::trap::{Caught, Trap, Traps};

/// Which requests a fault hits. `None` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matcher {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: Option<String>,
    /// The API group; the empty string is the core group.
    pub group: Option<String>,
    /// The plural: `gslbs`.
    pub resource: Option<String>,
    /// `status`, or the empty string for the object itself.
    pub subresource: Option<String>,
    /// The namespace of the request.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: Option<String>,
}

impl Matcher {
    /// Matches `verb` on `resource` in `group`, with any subresource.
    pub fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: Some(verb.into()),
            group: Some(group.into()),
            resource: Some(resource.into()),
            ..Self::default()
        }
    }

    fn matches(&self, verb: &str, target: &Target) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        is(&self.verb, verb)
            && is(&self.group, &target.group)
            && is(&self.resource, &target.resource)
            && is(&self.subresource, &target.subresource)
            && is(&self.namespace, &target.namespace)
            && is(&self.name, &target.name)
    }
}

/// What happens to a request that is hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It is answered with this `Status` and changes nothing.
    Status {
        /// The HTTP status code.
        code: u16,
        /// The machine-readable reason, such as `InternalError` or `TooManyRequests`.
        reason: String,
        /// The text.
        message: String,
    },
    /// It is refused as whatever is to be made in a namespace that is being deleted.
    NamespaceTerminating,
    /// It is served as usual, but later.
    Delay(Duration),
    /// It is carried out as usual, but its answer comes later.
    LateAnswer(Duration),
    /// It is carried out, but its answer gets lost: the client sees a broken connection.
    LoseAnswer,
}

impl Failure {
    /// A failure with `code` and Kubernetes' usual reason for it.
    pub fn status(code: u16) -> Self {
        let reason = match code {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        Self::Status { code, reason: reason.into(), message: format!("injected fault {code}") }
    }
}

/// One fault: who is hit, what happens, how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which requests.
    pub matcher: Matcher,
    /// What happens.
    pub failure: Failure,
    /// How many requests; `None`: until cleared.
    pub times: Option<u32>,
}

/// What running watches listen to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Signals {
    /// Counts the calls that drop all watches.
    pub(super) drops: u64,
    /// Watches stay open but say nothing.
    pub(super) frozen: bool,
}

/// Handle to the faults of one server; clones share them.
#[derive(Debug, Clone)]
pub struct Faults {
    list: Arc<Mutex<VecDeque<Fault>>>,
    traps: Arc<Traps<Matcher>>,
    signals: Arc<watch::Sender<Signals>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            list: Arc::default(),
            traps: Arc::default(),
            signals: Arc::new(watch::Sender::new(Signals::default())),
        }
    }
}

impl Faults {
    /// Adds a fault. A request meets the first one that matches it.
    pub fn inject(&self, fault: Fault) {
        self.lock().push_back(fault);
    }

    /// Fails the next `times` requests that match.
    pub fn fail(&self, matcher: Matcher, code: u16, times: u32) {
        self.inject(Fault { matcher, failure: Failure::status(code), times: Some(times) });
    }

    /// Sets a trap for the next request that matches and changes something: it is carried out and never answered.
    pub fn trap(&self, matcher: Matcher) -> Trap {
        self.traps.set(matcher)
    }

    /// Removes all faults and traps, and lets frozen watches go on.
    pub fn clear(&self) {
        self.lock().clear();
        self.traps.clear();
        self.signals.send_modify(|signals| signals.frozen = false);
    }

    /// Faults that are left.
    pub fn pending(&self) -> Vec<Fault> {
        self.lock().iter().cloned().collect()
    }

    /// Closes all running watches as a restarting server would: without a word.
    pub fn drop_watches(&self) {
        self.signals.send_modify(|signals| signals.drops += 1);
    }

    /// Keeps all watches open and silent until they are thawed; nothing is lost.
    pub fn freeze_watches(&self, frozen: bool) {
        self.signals.send_modify(|signals| signals.frozen = frozen);
    }

    pub(super) fn signals(&self) -> watch::Receiver<Signals> {
        self.signals.subscribe()
    }

    pub(super) fn catch(&self, verb: &str, target: &Target) -> Option<Caught> {
        self.traps.catch(|matcher| matcher.matches(verb, target))
    }

    pub(super) fn hit(&self, verb: &str, target: &Target) -> Option<Failure> {
        let mut list = self.lock();
        let place = list.iter().position(|fault| fault.matcher.matches(verb, target))?;
        let fault = &mut list[place];
        let failure = fault.failure.clone();
        if let Some(times) = &mut fault.times {
            *times = times.saturating_sub(1);
            if *times == 0 {
                list.remove(place);
            }
        }
        Some(failure)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Fault>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
