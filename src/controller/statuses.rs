//! Writes statuses beside the passes: a call that hangs holds up no record and no delegation.
//!
//! Of one object one status is written at a time, and of those that wait for it the latest counts:
//!
//! | A pass tells | while | then |
//! |---|---|---|
//! | what the server holds | nothing waits or is written | nothing |
//! | anything | another status waits | it takes that one's place, and goes at once |
//! | anything | another status is written | it follows, and is compared with what the server holds then |
//! | the same again | it waits for its next try | it goes on waiting |
//! | the same again | it is written | whatever waited is dropped |
//!
//! | A write | then |
//! |---|---|
//! | is done, or its object is gone, another one, or cannot be read | it is forgotten; the next pass tells anew |
//! | fails | it is tried again after a pause of the passes, unless another one waits |
//! | has to wait, as somebody else changes it back | as that says |
//!
//! What is not written yet is nowhere but here: a pass that asks what it told last asks [`Statuses::told`] before the
//! object.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use kube::ResourceExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::cache::{Chain, Key};
use super::context::Context;
use super::gslb::group::Id;
use super::room::Room;
use super::write::Need;
use super::{RETRY, Trigger, Triggers, gslb, zone_delegation};

/// Statuses that are written at once, half of them of one namespace. No outside reference.
const AT_ONCE: usize = 16;
/// How long a conditional write of an object waits for its status: most are written by then. No outside reference.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whose status.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    Gslb(Id),
    ZoneDelegation(Key),
}

/// A status of this very object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
    pub(crate) uid: Option<String>,
    pub(crate) status: Value,
}

/// The statuses that are still to be written.
#[derive(Debug)]
pub(crate) struct Statuses {
    plain: Mutex<BTreeMap<Whose, Entry>>,
    asked: Notify,
    done: watch::Sender<u64>,
}

/// The writes of one object. At rest it has none.
#[derive(Debug, Default)]
struct Entry {
    waiting: Option<Wish>,
    running: Option<Wish>,
    /// When the one that waits is due; `None`: at once.
    due: Option<Instant>,
    /// Failures in a row.
    failures: u32,
}

/// What came of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    Failed,
    /// To be looked at again after so long.
    Held(Duration),
}

impl Default for Statuses {
    fn default() -> Self {
        Self { plain: Mutex::default(), asked: Notify::new(), done: watch::Sender::new(0) }
    }
}

impl Statuses {
    /// Has a status written. `need`: what the object as the watch shows it asks for.
    pub(crate) fn tell(&self, whose: Whose, wish: Wish, need: Need) {
        let mut plain = self.lock();
        match plain.get_mut(&whose) {
            Some(entry) => entry.ask(wish),
            None if need == Need::Nothing => return,
            None => drop(plain.insert(whose, Entry { waiting: Some(wish), ..Entry::default() })),
        }
        self.asked.notify_one();
    }

    /// What was told last of this very object, if that is not written yet.
    pub(crate) fn told<S: DeserializeOwned>(&self, whose: &Whose, uid: Option<&str>) -> Option<S> {
        let plain = self.lock();
        let entry = plain.get(whose)?;
        let wish = entry.waiting.as_ref().or(entry.running.as_ref())?;
        let own = wish.uid.as_deref() == uid;
        own.then(|| serde_json::from_value(wish.status.clone()).ok()).flatten()
    }

    /// Forgets a deleted object. What is under way comes to its end.
    pub(crate) fn forget(&self, whose: &Whose) {
        let mut plain = self.lock();
        match plain.get_mut(whose).filter(|entry| entry.running.is_some()) {
            Some(entry) => *entry = Entry { running: entry.running.take(), ..Entry::default() },
            None => drop(plain.remove(whose)),
        }
    }

    /// Waits a moment until nothing is left of an object: a status makes a version of it, unless it hangs.
    pub(crate) async fn rest(&self, whose: &Whose) {
        timeout(PATIENCE, self.until(|plain| !plain.contains_key(whose))).await.unwrap_or_default();
    }

    /// Waits until nothing is left.
    pub(crate) async fn rest_all(&self) {
        self.until(BTreeMap::is_empty).await;
    }

    async fn until(&self, test: impl Fn(&BTreeMap<Whose, Entry>) -> bool) {
        let mut done = self.done.subscribe();
        while !test(&self.lock()) {
            // The sender lives as long as this handle.
            done.changed().await.unwrap_or_default();
        }
    }

    /// The next one to write.
    async fn next(&self) -> (Whose, Wish) {
        loop {
            let due = match self.take(Instant::now()) {
                Ok(next) => return next,
                Err(due) => due,
            };
            tokio::select! {
                () = self.asked.notified() => {}
                () = async { sleep_until(due.unwrap_or_else(Instant::now)).await }, if due.is_some() => {}
            }
        }
    }

    /// The next one to write, or when one is due. Whatever failed before comes after what did not, and Gslbs come after
    /// the few ZoneDelegations.
    fn take(&self, now: Instant) -> Result<(Whose, Wish), Option<Instant>> {
        let mut plain = self.lock();
        let running = plain.iter().filter(|(_, entry)| entry.running.is_some());
        let room = Room::beside(running.map(|(whose, _)| whose.namespace()), AT_ONCE);
        // The end of a write makes room, and asks again.
        let can_begin = |(whose, entry): &(&Whose, &Entry)| {
            entry.running.is_none() && entry.waiting.is_some() && room.is_for(whose.namespace())
        };
        let is_due = |due: Option<Instant>| due.is_none_or(|due| due <= now);
        let turn = |(whose, entry): &(&Whose, &Entry)| {
            (entry.failures > 0, matches!(whose, Whose::Gslb(_)), entry.due)
        };
        let first = plain.iter().filter(can_begin).filter(|(_, entry)| is_due(entry.due)).min_by_key(turn);
        let Some(whose) = first.map(|(whose, _)| whose.clone()) else {
            return Err(plain.iter().filter(can_begin).filter_map(|(_, entry)| entry.due).min());
        };
        let wish = plain.get_mut(&whose).and_then(Entry::begin).ok_or(None)?;
        Ok((whose, wish))
    }

    fn finish(&self, whose: &Whose, end: End, now: Instant) {
        let mut plain = self.lock();
        if let Some(entry) = plain.get_mut(whose) {
            entry.finish(end, now);
            if entry.waiting.is_none() {
                plain.remove(whose);
            }
        }
        drop(plain);
        self.asked.notify_one();
        self.done.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Whose, Entry>> {
        self.plain.lock().expect("no panic while the statuses are locked")
    }
}

impl Entry {
    fn ask(&mut self, wish: Wish) {
        if self.waiting.as_ref() == Some(&wish) {
            return;
        }
        // A new wish waits for nobody.
        self.due = None;
        self.waiting = Some(wish).filter(|wish| self.running.as_ref() != Some(wish));
    }

    fn begin(&mut self) -> Option<Wish> {
        self.running = self.waiting.take();
        self.running.clone()
    }

    fn finish(&mut self, end: End, now: Instant) {
        let pause = match end {
            End::Done => None,
            End::Failed => Some(RETRY.next(&mut self.failures)),
            End::Held(pause) => Some(pause),
        };
        if end != End::Failed {
            self.failures = 0;
        }
        let written = self.running.take();
        if let (Some(pause), None) = (pause, &self.waiting) {
            self.due = Some(now + pause);
            self.waiting = written;
        }
    }
}

/// Writes what passes tell, until the daemon ends.
pub(crate) async fn follow(context: Arc<Context>, triggers: Triggers) {
    let statuses = &context.statuses;
    let mut writes = FuturesUnordered::new();
    loop {
        tokio::select! {
            (whose, wish) = statuses.next(), if writes.len() < AT_ONCE => {
                writes.push(write(&context, &triggers, whose, wish));
            }
            Some((whose, end)) = writes.next() => {
                statuses.finish(&whose, end, Instant::now());
                // What was heard meanwhile was taken for an echo.
                wake_if_overtaken(&context, &triggers, whose);
            }
        }
    }
}

async fn write(context: &Context, triggers: &Triggers, whose: Whose, wish: Wish) -> (Whose, End) {
    let written = match &whose {
        Whose::Gslb(id) => match triggers.gslb(id).as_ref().and_then(|gslb| gslb.read()) {
            Some(gslb) if gslb.uid() == wish.uid => gslb::report::write(context, gslb, wish.status).await,
            _ => Ok(Need::Nothing),
        },
        Whose::ZoneDelegation(key) => match triggers.zone(key).as_ref().map(|zone| &zone.0) {
            Some(Ok(zone)) if zone.uid() == wish.uid => {
                zone_delegation::report::write(context, zone, wish.status).await
            }
            _ => Ok(Need::Nothing),
        },
    };
    let end = match written {
        Ok(Need::Wait(until)) => End::Held(left(until, context.now())),
        Ok(Need::Nothing | Need::Write) => End::Done,
        Err(error) => {
            let object = whose.to_string();
            tracing::warn!(object, error = %Chain(&error), "A status could not be written; it is tried again.");
            if let Whose::Gslb(id) = &whose {
                context.metrics.pass_failed(&id.key.namespace, &id.key.name);
            }
            End::Failed
        }
    };
    (whose, end)
}

fn left(until: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(until.duration_since(now)).unwrap_or_default()
}

fn wake_if_overtaken(context: &Context, triggers: &Triggers, whose: Whose) {
    let echoes = &context.writer.echoes;
    match whose {
        Whose::Gslb(id) => {
            if echoes.take_overtaken(gslb::report::what(id.group), &id.key) {
                gslb::watch::wake_gslb(triggers, &id);
            }
        }
        Whose::ZoneDelegation(key) => {
            if echoes.take_overtaken(zone_delegation::report::WHAT, &key) {
                triggers.send(Trigger::ZoneDelegation(key));
            }
        }
    }
}

impl Whose {
    fn namespace(&self) -> &str {
        match self {
            Self::Gslb(id) => &id.key.namespace,
            Self::ZoneDelegation(key) => &key.namespace,
        }
    }
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gslb(id) => write!(f, "Gslb {id}"),
            Self::ZoneDelegation(key) => write!(f, "ZoneDelegation {}", key.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use gslb_core::group::Group;
    use serde_json::json;

    use super::*;

    fn zone(name: &str) -> Whose {
        Whose::ZoneDelegation(Key::new("", name))
    }
    fn wish(status: u8) -> Wish {
        Wish { uid: Some("uid".to_owned()), status: json!(status) }
    }
    /// Statuses of which `status` of zone a is being written.
    fn writing(status: u8) -> Statuses {
        let statuses = Statuses::default();
        statuses.tell(zone("a"), wish(status), Need::Write);
        assert_eq!(statuses.take(Instant::now()), Ok((zone("a"), wish(status))));
        statuses
    }
    fn told(statuses: &Statuses) -> Option<u8> {
        statuses.told(&zone("a"), Some("uid"))
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_server_holds_is_asked_for_only_where_another_one_may_follow() {
        let statuses = Statuses::default();
        statuses.tell(zone("a"), wish(1), Need::Nothing);
        assert_eq!(statuses.take(Instant::now()), Err(None));
        let statuses = writing(1);
        statuses.tell(zone("a"), wish(0), Need::Nothing);
        statuses.finish(&zone("a"), End::Done, Instant::now());
        assert_eq!(statuses.take(Instant::now()), Ok((zone("a"), wish(0))));
    }

    #[tokio::test(start_paused = true)]
    async fn of_one_object_one_status_is_written_at_a_time_and_the_latest_follows() {
        let statuses = writing(1);
        for status in [2, 3] {
            statuses.tell(zone("a"), wish(status), Need::Write);
        }
        assert_eq!((told(&statuses), statuses.take(Instant::now())), (Some(3), Err(None)));
        statuses.tell(zone("b"), wish(9), Need::Write);
        assert_eq!(statuses.take(Instant::now()), Ok((zone("b"), wish(9))), "another object waits for none");
        statuses.finish(&zone("a"), End::Failed, Instant::now());
        assert_eq!(statuses.take(Instant::now()), Ok((zone("a"), wish(3))));
        statuses.finish(&zone("a"), End::Done, Instant::now());
        assert_eq!((told(&statuses), statuses.take(Instant::now())), (None, Err(None)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_being_written_is_not_followed_by_what_was_wanted_before_it_was_wanted_again() {
        let statuses = writing(1);
        for status in [2, 1] {
            statuses.tell(zone("a"), wish(status), Need::Write);
        }
        statuses.finish(&zone("a"), End::Done, Instant::now());
        assert_eq!(statuses.take(Instant::now()), Err(None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_failed_is_made_again_after_a_pause_that_a_new_wish_ends() {
        let statuses = writing(1);
        let now = Instant::now();
        statuses.finish(&zone("a"), End::Failed, now);
        statuses.tell(zone("a"), wish(1), Need::Write);
        let first = now + RETRY.first;
        assert_eq!(statuses.take(now), Err(Some(first)));
        assert_eq!(statuses.take(first), Ok((zone("a"), wish(1))));
        statuses.finish(&zone("a"), End::Failed, first);
        assert_eq!(statuses.take(first), Err(Some(first + 2 * RETRY.first)));
        statuses.tell(zone("a"), wish(2), Need::Write);
        assert_eq!(statuses.take(first), Ok((zone("a"), wish(2))));
    }

    #[tokio::test(start_paused = true)]
    async fn where_one_namespace_hangs_others_are_written_and_what_failed_waits_behind_what_did_not() {
        let gslb = |namespace: &str, name: usize| {
            Whose::Gslb(Id { key: Key::new(namespace, name.to_string()), group: Group::Canonical })
        };
        let statuses = Statuses::default();
        let (all, half) = (AT_ONCE, AT_ONCE / 2);
        (0..all).for_each(|name| statuses.tell(gslb("aaa", name), wish(1), Need::Write));
        let now = Instant::now();
        let begun: Vec<_> = (0..half).map(|_| statuses.take(now).unwrap().0).collect();
        assert_eq!(statuses.take(now), Err(None), "the other half is for others");
        statuses.tell(gslb("zzz", 0), wish(1), Need::Write);
        statuses.tell(zone("a"), wish(1), Need::Write);
        assert_eq!(statuses.take(now).unwrap().0, zone("a"));
        assert_eq!(statuses.take(now).unwrap().0, gslb("zzz", 0));
        begun.iter().for_each(|whose| statuses.finish(whose, End::Failed, now));
        let later = now + RETRY.longest;
        assert_eq!(begun[0], gslb("aaa", 0));
        for _ in half..all {
            let next = statuses.take(later).unwrap().0;
            assert!(!begun.contains(&next), "{next:?} failed before, and others were never tried");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_object_is_forgotten_and_one_of_its_name_waits_for_what_is_under_way() {
        let statuses = writing(1);
        statuses.tell(zone("a"), wish(2), Need::Write);
        statuses.forget(&zone("a"));
        statuses.tell(zone("a"), wish(3), Need::Write);
        assert_eq!(statuses.take(Instant::now()), Err(None));
        statuses.finish(&zone("a"), End::Failed, Instant::now());
        assert_eq!(statuses.take(Instant::now()), Ok((zone("a"), wish(3))));
        statuses.forget(&zone("a"));
        statuses.finish(&zone("a"), End::Done, Instant::now());
        assert!(statuses.lock().is_empty());
    }
}
