//! Stores events beside the passes: a call that hangs holds up no record and no delegation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::runtime::events::{Event, EventType};
use kube::{Api, Client};
use tokio::sync::{Notify, watch};

use super::cache::Chain;
use super::room::Room;
use crate::kube_call::{in_time, is_end_of_namespace};

/// Name under which events are reported.
const CONTROLLER: &str = "gslb-bridge";
/// Longest note in bytes: the API calls them characters, and counts bytes.
const MAX_NOTE: usize = 1024;
/// Longest name of an object (RFC 1123 as Kubernetes has it).
const MAX_NAME: usize = 253;
/// Events that are stored at once, half of them of one namespace. No outside reference.
const AT_ONCE: usize = 8;
/// Events that wait at most: two of each of 2,000 objects at a start, in 4 MiB. No outside reference.
const MOST_WAITING: usize = 4096;

/// The events that are still to be stored.
pub(crate) struct Events {
    plain: Mutex<Plain>,
    asked: Notify,
    done: watch::Sender<u64>,
}

#[derive(Default)]
struct Plain {
    waiting: VecDeque<Word>,
    /// Uids and namespaces of the objects of which one is being stored.
    running: BTreeMap<String, String>,
    /// When the last one was said.
    last: Timestamp,
}

/// One event on its way.
struct Word {
    event: Event,
    object: ObjectReference,
    /// A name that is stored once; `None`: each event has its own.
    name: Option<String>,
    at: Timestamp,
}

impl Default for Events {
    fn default() -> Self {
        Self { plain: Mutex::default(), asked: Notify::new(), done: watch::Sender::new(0) }
    }
}

impl Events {
    /// Has an event stored; those of one object in this order. With a `name`, only if there is none of that name.
    pub(crate) fn say(&self, event: Event, object: &ObjectReference, name: Option<String>) {
        let surplus = {
            let mut plain = self.lock();
            // Two of one object at one time would have one name.
            let after = plain.last.checked_add(SignedDuration::from_nanos(1)).unwrap_or_default();
            plain.last = Timestamp::now().max(after);
            let at = plain.last;
            plain.waiting.push_back(Word { event, object: object.clone(), name, at });
            // The latest is what is true.
            let full = plain.waiting.len() > MOST_WAITING;
            if full { plain.waiting.pop_front() } else { None }
        };
        if let Some(surplus) = surplus {
            surplus.lost(&"too many events wait for the API server");
        }
        self.asked.notify_one();
    }

    /// The next one to store.
    async fn next(&self) -> Word {
        loop {
            {
                let mut plain = self.lock();
                let Plain { waiting, running, .. } = &mut *plain;
                let room = Room::beside(running.values().map(String::as_str), AT_ONCE);
                let can_begin =
                    |word: &Word| !running.contains_key(word.about()) && room.is_for(word.namespace());
                let place = waiting.iter().position(can_begin);
                if let Some(word) = place.and_then(|place| waiting.remove(place)) {
                    running.insert(word.about().to_owned(), word.namespace().to_owned());
                    return word;
                }
            }
            self.asked.notified().await;
        }
    }

    fn finish(&self, word: &Word) {
        self.lock().running.remove(word.about());
        // The next one of the object can be stored.
        self.asked.notify_one();
        self.done.send_modify(|version| *version += 1);
    }

    /// Waits until none is left.
    pub(crate) async fn rest(&self) {
        let mut done = self.done.subscribe();
        while !self.lock().is_empty() {
            // The sender lives as long as this handle.
            done.changed().await.unwrap_or_default();
        }
    }

    /// Stores what is said, until the daemon ends.
    pub(crate) async fn follow(&self, client: &Client, instance: &str) {
        let mut stores = FuturesUnordered::new();
        loop {
            tokio::select! {
                word = self.next(), if stores.len() < AT_ONCE => stores.push(async move {
                    word.store(client, instance).await;
                    word
                }),
                Some(word) = stores.next() => self.finish(&word),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.plain.lock().expect("no panic while the events are locked")
    }
}

impl Plain {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }
}

impl Word {
    /// What it is about.
    fn about(&self) -> &str {
        self.object.uid.as_deref().unwrap_or_default()
    }

    /// Where it is stored.
    fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or("default")
    }

    /// One that cannot be stored is logged, and not tried again.
    async fn store(&self, client: &Client, instance: &str) {
        let namespace = self.namespace();
        let api: Api<v1::Event> = Api::namespaced(client.clone(), namespace);
        let stored = self.stored(namespace.to_owned(), instance);
        match in_time(api.create(&PostParams::default(), &stored)).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 && self.name.is_some() => {}
            Err(error) if is_end_of_namespace(&error) => {}
            Err(error) => self.lost(&Chain(&error)),
        }
    }

    /// Not with the recorder of `kube`: it counts events of one reason together under the first one's sentence, and
    /// ours differ.
    fn stored(&self, namespace: String, instance: &str) -> v1::Event {
        let Self { event, object, name, at } = self;
        let own = || event_name(object.name.as_deref().unwrap_or_default(), *at);
        v1::Event {
            metadata: ObjectMeta {
                name: Some(name.clone().unwrap_or_else(own)),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            action: Some(event.action.clone()),
            event_time: Some(MicroTime(*at)),
            note: event.note.as_deref().map(fitting_note),
            reason: Some(event.reason.clone()),
            regarding: Some(object.clone()),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(instance.to_owned()),
            type_: Some(match event.type_ {
                EventType::Normal => "Normal".to_owned(),
                EventType::Warning => "Warning".to_owned(),
            }),
            ..v1::Event::default()
        }
    }

    fn lost(&self, error: &dyn std::fmt::Display) {
        let name = self.object.name.as_deref().unwrap_or_default();
        tracing::warn!(%error, name, reason = self.event.reason, "An event could not be stored.");
    }
}

/// A text within the bytes of a note, the ellipsis among them.
fn fitting_note(text: &str) -> String {
    const ELLIPSIS: &str = "…";
    match text.len() <= MAX_NOTE {
        true => text.to_owned(),
        false => format!("{}{ELLIPSIS}", &text[..text.floor_char_boundary(MAX_NOTE - ELLIPSIS.len())]),
    }
}

/// A name that no other event has: that of its object, as much of it as there is room for, and the time.
fn event_name(object: &str, now: Timestamp) -> String {
    let time = format!(".{:x}", now.as_nanosecond());
    let room = object.floor_char_boundary(MAX_NAME - time.len());
    // A label must not end where the cut left a dash or a dot.
    format!("{}{time}", object[..room].trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn object(uid: &str) -> ObjectReference {
        ObjectReference { name: Some("app".into()), uid: Some(uid.into()), ..ObjectReference::default() }
    }

    fn event(reason: &str) -> Event {
        Event {
            type_: EventType::Normal,
            reason: reason.to_owned(),
            note: None,
            action: "Reconcile".to_owned(),
            secondary: None,
        }
    }

    fn said(events: &Events, words: &[(&str, &str)]) {
        for (uid, reason) in words {
            events.say(event(reason), &object(uid), None);
        }
    }

    #[tokio::test]
    async fn events_of_one_object_are_stored_in_their_order_and_hold_up_no_other_object() {
        let events = Events::default();
        said(&events, &[("a", "first"), ("a", "second"), ("b", "other")]);
        let first = events.next().await;
        let other = events.next().await;
        assert_eq!((&*first.event.reason, &*other.event.reason), ("first", "other"));
        events.finish(&first);
        assert_eq!(events.next().await.event.reason, "second");
    }

    #[tokio::test]
    async fn of_more_events_than_may_wait_the_latest_are_kept_and_no_two_have_one_name() {
        let events = Events::default();
        let uids: Vec<String> = (0..=MOST_WAITING).map(|number| number.to_string()).collect();
        said(&events, &uids.iter().map(|uid| (uid.as_str(), "Ready")).collect::<Vec<_>>());
        assert_eq!(events.lock().waiting.len(), MOST_WAITING);
        assert_eq!(events.next().await.about(), "1");
        let plain = events.lock();
        let names: BTreeSet<_> =
            plain.waiting.iter().map(|word| word.stored(String::new(), "").metadata.name).collect();
        assert_eq!(names.len(), MOST_WAITING - 1);
    }

    #[test]
    fn a_note_has_the_bytes_that_the_api_takes() {
        assert_eq!(fitting_note(&"é".repeat(512)), "é".repeat(512));
        assert_eq!(fitting_note(&"é".repeat(513)), format!("{}…", "é".repeat(510)));
        assert_eq!(fitting_note(&"日".repeat(400)), format!("{}…", "日".repeat(340)));
    }

    #[test]
    fn an_event_of_an_object_with_a_long_name_has_a_name_that_the_api_takes() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        assert_eq!(event_name("app", now), "app.18fae27693b40000");
        let long = event_name(&"a".repeat(253), now);
        assert_eq!(long, format!("{}.18fae27693b40000", "a".repeat(236)));
        let cut = event_name(&format!("{}-.{}", "a".repeat(234), "b".repeat(17)), now);
        assert_eq!(cut, format!("{}.18fae27693b40000", "a".repeat(234)));
    }
}
