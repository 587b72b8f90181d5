//! Writes the Ingresses that stand in Gslbs beside the passes: an admission webhook that hangs holds up no answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::embedded::{self, Failed, Unwritten};
use super::group::{Guarded, Id};
use crate::controller::cache::Chain;
use crate::controller::context::Context;
use crate::controller::room::Room;
use crate::controller::{RETRY, Trigger, Triggers};

/// Ingresses that are written at once, half of them of one namespace. No outside reference.
const AT_ONCE: usize = 16;
/// How long a pass waits for a write that nothing is known of yet: most are done by then, and what comes of them is
/// told at once. No outside reference.
const PATIENCE: Duration = Duration::from_secs(1);

/// Handle around the writes.
#[derive(Debug)]
pub(crate) struct IngressWrites {
    plain: Mutex<BTreeMap<Id, Entry>>,
    asked: Notify,
    done: watch::Sender<u64>,
}

/// The writes of one Gslb: one at a time.
#[derive(Debug, Default)]
struct Entry {
    asked: Option<Job>,
    /// What is being written.
    running: Option<Value>,
    /// Whether a pass went on without what comes of it.
    unheard: bool,
    outcome: Option<Outcome>,
    /// Failures in a row.
    failures: u32,
}

/// The Gslb whose Ingress is to be written, and the Ingress.
#[derive(Debug, Clone)]
struct Job {
    gslb: Arc<Guarded>,
    wish: Value,
}

/// What came of the last write.
#[derive(Debug)]
struct Outcome {
    wish: Value,
    unwritten: Option<Unwritten>,
}

impl Default for IngressWrites {
    fn default() -> Self {
        Self { plain: Mutex::default(), asked: Notify::new(), done: watch::Sender::new(0) }
    }
}

impl IngressWrites {
    /// Has an Ingress written as `wish`. Waits a moment for what comes of it, where nothing is known of it yet; a
    /// change of what this gives wakes the Gslb.
    ///
    /// # Errors
    /// The Ingress is not as wanted, as far as is known.
    pub(crate) async fn write(
        &self,
        gslb: &Arc<Guarded>,
        wish: Value,
        now: Timestamp,
    ) -> Result<(), Unwritten> {
        let id = gslb.id();
        let last = self.ask(&id, &Job { gslb: Arc::clone(gslb), wish: wish.clone() }, now);
        if let Some(last) = last {
            return Err(last);
        }
        match timeout(PATIENCE, self.rest(&id)).await {
            Ok(()) => self.outcome(&id, &wish),
            Err(_) => self.give_up(&id, &wish),
        }
    }

    /// Waits until nothing of a Gslb is being written.
    pub(crate) async fn rest(&self, id: &Id) {
        let mut done = self.done.subscribe();
        while self.lock().get(id).is_some_and(|entry| !entry.rests()) {
            // The sender lives as long as this handle.
            done.changed().await.unwrap_or_default();
        }
    }

    /// Forgets a Gslb. What is under way comes to its end.
    pub(crate) fn forget(&self, id: &Id) {
        self.lock().remove(id);
    }

    /// Asks for a write unless it is under way or has to wait; gives why the last one of this wish failed.
    fn ask(&self, id: &Id, job: &Job, now: Timestamp) -> Option<Unwritten> {
        let mut plain = self.lock();
        let entry = plain.entry(id.clone()).or_default();
        let mut last = entry.outcome_of(&job.wish);
        if let Some(last) = &mut last {
            // A time that has come is no time to look again at.
            last.again = last.again.filter(|again| now < *again);
        }
        let waits = last.as_ref().is_some_and(|last| last.again.is_some());
        let running = entry.running.as_ref() == Some(&job.wish);
        if !waits && !running {
            entry.asked = Some(job.clone());
            self.asked.notify_one();
        }
        let unheard = running && entry.unheard;
        last.or_else(|| unheard.then(|| embedded::unanswered(&id.key)))
    }

    /// The next one to write.
    async fn next(&self) -> (Id, Job) {
        loop {
            {
                let mut plain = self.lock();
                let first = first(&plain).cloned();
                if let Some(id) = first
                    && let Some(entry) = plain.get_mut(&id)
                    && let Some(job) = entry.asked.take()
                {
                    entry.running = Some(job.wish.clone());
                    return (id, job);
                }
            }
            self.asked.notified().await;
        }
    }

    fn outcome(&self, id: &Id, wish: &Value) -> Result<(), Unwritten> {
        let plain = self.lock();
        plain.get(id).and_then(|entry| entry.outcome_of(wish)).map_or(Ok(()), Err)
    }

    fn give_up(&self, id: &Id, wish: &Value) -> Result<(), Unwritten> {
        if let Some(entry) = self.lock().get_mut(id).filter(|entry| !entry.rests()) {
            entry.unheard = true;
            return Err(embedded::unanswered(&id.key));
        }
        self.outcome(id, wish)
    }

    /// Takes in what came of a write; tells whether a pass has to hear of it.
    fn finish(&self, id: &Id, wish: Value, failed: Option<&Failed>, now: Timestamp) -> bool {
        let news = self.lock().get_mut(id).is_some_and(|entry| entry.finish(wish, failed, now));
        // What was asked for meanwhile can be written.
        self.asked.notify_one();
        self.done.send_modify(|version| *version += 1);
        news
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Id, Entry>> {
        self.plain.lock().expect("no panic while the writes are locked")
    }
}

/// Whose turn it is. Whatever failed before comes after what did not.
fn first(entries: &BTreeMap<Id, Entry>) -> Option<&Id> {
    let running = entries.iter().filter(|(_, entry)| entry.running.is_some());
    let room = Room::beside(running.map(|(id, _)| id.key.namespace.as_str()), AT_ONCE);
    let can_begin = |(id, entry): &(&Id, &Entry)| {
        entry.running.is_none() && entry.asked.is_some() && room.is_for(&id.key.namespace)
    };
    entries.iter().filter(can_begin).min_by_key(|(_, entry)| entry.failures > 0).map(|(id, _)| id)
}

impl Entry {
    fn rests(&self) -> bool {
        self.asked.is_none() && self.running.is_none()
    }

    fn outcome_of(&self, wish: &Value) -> Option<Unwritten> {
        self.outcome.as_ref().filter(|outcome| outcome.wish == *wish)?.unwritten.clone()
    }

    fn finish(&mut self, wish: Value, failed: Option<&Failed>, now: Timestamp) -> bool {
        self.running = None;
        let failure = failed.filter(|failed| failed.error.is_some());
        let pause = failure.map(|_| RETRY.next(&mut self.failures));
        if pause.is_none() {
            self.failures = 0;
        }
        let again = pause.and_then(|pause| now.checked_add(pause).ok());
        let unwritten = failed.map(|failed| Unwritten { problem: failed.problem.clone(), again });
        let before = self.outcome.take().filter(|before| before.wish == wish);
        // Who waited for the first word has it; a refusal that is repeated is no news.
        let differs = before.is_some_and(|before| before.unwritten != unwritten);
        self.outcome = Some(Outcome { wish, unwritten });
        std::mem::take(&mut self.unheard) || differs
    }
}

/// Writes what passes ask for, until the daemon ends.
pub(crate) async fn follow(context: Arc<Context>, triggers: Triggers) {
    let mut writes = FuturesUnordered::new();
    loop {
        tokio::select! {
            (id, job) = context.ingress_writes.next(), if writes.len() < AT_ONCE => {
                writes.push(write(&context, id, job));
            }
            Some((id, news)) = writes.next() => if news {
                triggers.send(Trigger::Gslb(id));
            }
        }
    }
}

async fn write(context: &Context, id: Id, Job { gslb, wish }: Job) -> (Id, bool) {
    let failed = match gslb.read() {
        Some(gslb) => embedded::write(context, gslb, context.now()).await.err(),
        None => None,
    };
    if let Some(error) = failed.as_ref().and_then(|failed| failed.error.as_ref()) {
        tracing::warn!(gslb = %id, error = %Chain(&**error), "An embedded Ingress could not be written; it is tried again.");
        context.metrics.pass_failed(&id.key.namespace, &id.key.name);
    }
    let news = context.ingress_writes.finish(&id, wish, failed.as_ref(), context.now());
    (id, news)
}
