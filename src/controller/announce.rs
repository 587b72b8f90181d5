//! Conditions with their times, and one event per transition.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;

use gslb_core::condition::{Condition, ConditionKind, Truth, transition_time};
use gslb_core::publication::{NO_HOSTS, WITH_WARNINGS};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self, ObjectMeta, Time};
use kube::Client;
use kube::runtime::events::{Event, EventType};

use super::cache::Key;
use super::events::Events;
use super::write::Fingerprint;

/// Longest message of a condition in characters. The API takes 32768; a sentence is read by people, and quotes what others
/// wrote: an annotation, hundreds of hosts, an API server's answer.
const MAX_MESSAGE: usize = 4000;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    status: Truth,
    reason: Cow<'static, str>,
    message: Fingerprint,
    since: Timestamp,
    /// Whether an event told it.
    announced: bool,
}

/// A few, in no order.
type ToldConditions = Vec<(ConditionKind, Told)>;

/// What was told about one object: another one of its name is told about anew.
#[derive(Debug)]
struct ToldObject {
    uid: Option<String>,
    conditions: ToldConditions,
}

/// What was told last about every object.
///
/// The memory comes before the object's own status: a definition that prunes our conditions must not make
/// every pass a transition.
pub(crate) struct Announcer {
    client: Client,
    instance: String,
    told: Mutex<BTreeMap<(&'static str, Key), ToldObject>>,
    warned: Mutex<BTreeMap<(&'static str, Key), String>>,
    events: Events,
}

impl Announcer {
    pub(crate) fn new(client: Client, instance: String) -> Self {
        Self { client, instance, told: Mutex::default(), warned: Mutex::default(), events: Events::default() }
    }

    /// Gives the conditions of an object their transition times, and the events that tell what changed. `live`: those in
    /// its status.
    pub(crate) fn settle(
        &self,
        kind: &'static str,
        object: &ObjectMeta,
        conditions: &[Condition],
        live: &[v1::Condition],
        now: Timestamp,
    ) -> (Vec<v1::Condition>, Vec<Event>) {
        let mut all = self.told.lock().expect("no panic while the conditions are locked");
        let new = || ToldObject { uid: object.uid.clone(), conditions: from_live(live) };
        let key =
            Key::new(object.namespace.clone().unwrap_or_default(), object.name.clone().unwrap_or_default());
        let known = all.entry((kind, key)).or_insert_with(new);
        if known.uid != object.uid {
            *known = new();
        }
        let told = &mut known.conditions;
        let mut events = Vec::new();
        let mut settled = Vec::new();
        let conditions = &conditions.iter().map(sentence).collect::<Vec<_>>();
        for condition in conditions {
            let previous = told.iter().find(|(kind, _)| *kind == condition.kind).map(|(_, told)| told);
            let announced =
                is_news(condition, previous, conditions) && !follows(condition, previous, conditions);
            if announced {
                events.push(event(condition));
            }
            let same = previous.is_some_and(|told| told.is(condition));
            let announced = announced || (same && previous.is_some_and(|told| told.announced));
            let previous = previous.map(|told| (told.status.as_str(), told.since));
            let since = transition_time(previous, condition, now);
            let new = Told::new(condition, since, announced);
            match told.iter_mut().find(|(kind, _)| *kind == condition.kind) {
                Some((_, told)) => *told = new,
                None => told.push((condition.kind, new)),
            }
            settled.push(v1::Condition {
                type_: condition.kind.as_str().to_owned(),
                status: condition.status.as_str().to_owned(),
                reason: condition.reason.to_owned(),
                message: condition.message.clone(),
                last_transition_time: Time(since),
                observed_generation: object.generation,
            });
        }
        (settled, events)
    }

    /// Publishes events, beside the passes.
    pub(crate) fn publish(&self, events: Vec<Event>, object: &ObjectReference) {
        for event in events {
            self.events.say(event, object, None);
        }
    }

    /// Publishes one event about something that no condition tells; the same thing once only.
    pub(crate) fn warn(
        &self,
        (kind, key): (&'static str, Key),
        reason: &str,
        note: String,
        object: &ObjectReference,
    ) {
        let last = {
            let mut warned = self.warned.lock().expect("no panic while the warnings are locked");
            warned.insert((kind, key), note.clone())
        };
        if last.as_ref() != Some(&note) {
            self.say(EventType::Warning, reason, note, object);
        }
    }

    /// Publishes one event about something that no condition tells, each time.
    pub(crate) fn say(&self, type_: EventType, reason: &str, note: String, object: &ObjectReference) {
        self.events.say(word(type_, reason, note), object, None);
    }

    /// Publishes one event about an object, once for as long as the cluster remembers it: also a restart does not
    /// repeat it.
    pub(crate) fn warn_once(
        &self,
        (kind, key): (&'static str, Key),
        reason: &str,
        note: String,
        object: &ObjectReference,
    ) {
        let told = {
            let mut warned = self.warned.lock().expect("no panic while the warnings are locked");
            warned.insert((kind, key), note.clone())
        };
        if told.is_none() {
            let name = format!("{}.{}", reason.to_lowercase(), object.uid.as_deref().unwrap_or_default());
            self.events.say(word(EventType::Warning, reason, note), object, Some(name));
        }
    }

    /// Stores the events, until the daemon ends.
    pub(crate) async fn follow(&self) {
        self.events.follow(&self.client, &self.instance).await;
    }

    /// Waits until every event is stored or given up.
    pub(crate) async fn rest(&self) {
        self.events.rest().await;
    }

    /// What a warning was about is over: if it comes back, that is told again.
    pub(crate) fn calm(&self, kind: &'static str, key: &Key) {
        self.warned.lock().expect("no panic while the warnings are locked").remove(&(kind, key.clone()));
    }

    /// Forgets a deleted object.
    pub(crate) fn forget(&self, kind: &'static str, key: &Key) {
        let object = (kind, key.clone());
        self.told.lock().expect("no panic while the conditions are locked").remove(&object);
        self.warned.lock().expect("no panic while the warnings are locked").remove(&object);
    }
}

/// A condition with one sentence of bounded length in one line, whatever it quotes.
fn sentence(condition: &Condition) -> Condition {
    let visible = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let message: String = condition.message.chars().map(visible).collect();
    Condition { message: shortened(&message, MAX_MESSAGE), ..condition.clone() }
}

/// A text within a limit of characters, and one for the ellipsis.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn from_live(live: &[v1::Condition]) -> ToldConditions {
    let told = live.iter().filter_map(|condition| {
        let kind = ConditionKind::ALL.into_iter().find(|kind| kind.as_str() == condition.type_)?;
        let status = match condition.status.as_str() {
            "True" => Truth::True,
            "False" => Truth::False,
            _ => Truth::Unknown,
        };
        let told = Told {
            status,
            reason: condition.reason.clone().into(),
            message: Fingerprint::of_text(&condition.message),
            since: condition.last_transition_time.0,
            // Of what is not known it may not have been: the first seconds of an object are no news.
            announced: status != Truth::Unknown,
        };
        Some((kind, told))
    });
    told.collect()
}

/// Whether a condition is worth an event: it changed; a new object's good conditions are told by `Ready` and warnings only,
/// what is not known yet is no news, and `Ready` does not repeat the condition that it lends its words from.
fn is_news(condition: &Condition, previous: Option<&Told>, all: &[Condition]) -> bool {
    let repeats = condition.kind == ConditionKind::Ready
        && all.iter().any(|other| {
            other.kind != condition.kind && !other.is_good() && other.message == condition.message
        });
    if repeats {
        return false;
    }
    match previous {
        None => condition.status != Truth::Unknown && is_first_news(condition),
        Some(told) if told.status == Truth::Unknown && !told.announced => match condition.status {
            Truth::True | Truth::False => is_first_news(condition),
            Truth::Unknown => told.reason != condition.reason,
        },
        Some(told) => !told.is(condition),
    }
}

fn is_first_news(condition: &Condition) -> bool {
    !condition.is_good() || condition.kind == ConditionKind::Ready || warns(condition)
}

/// Whether a condition only follows from another one that is told: one cause is one event. That nobody answers is news of
/// its own where somebody did; that there is no host left is what the other one says.
fn follows(condition: &Condition, previous: Option<&Told>, all: &[Condition]) -> bool {
    let causes = [ConditionKind::Accepted, ConditionKind::Resolved];
    let caused = all.iter().any(|other| causes.contains(&other.kind) && !other.is_good());
    let served = previous.is_some_and(|told| told.status == Truth::True);
    let of_its_own = served && condition.reason != NO_HOSTS;
    condition.kind == ConditionKind::Serving && !condition.is_good() && caused && !of_its_own
}

impl Told {
    fn new(condition: &Condition, since: Timestamp, announced: bool) -> Self {
        Self {
            status: condition.status,
            reason: condition.reason.into(),
            message: Fingerprint::of_text(&condition.message),
            since,
            announced,
        }
    }

    fn is(&self, condition: &Condition) -> bool {
        (self.status, &*self.reason, self.message)
            == (condition.status, condition.reason, Fingerprint::of_text(&condition.message))
    }
}

/// Whether something is accepted that does not do what it says.
fn warns(condition: &Condition) -> bool {
    condition.is_good() && condition.reason == WITH_WARNINGS
}

fn event(condition: &Condition) -> Event {
    let type_ = if condition.is_good() && !warns(condition) { EventType::Normal } else { EventType::Warning };
    word(type_, condition.reason, format!("{}: {}", condition.kind.as_str(), condition.message))
}

fn word(type_: EventType, reason: &str, note: String) -> Event {
    Event {
        type_,
        reason: reason.to_owned(),
        note: Some(note),
        action: "Reconcile".to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(condition: &Condition) -> Told {
        Told::new(condition, Timestamp::UNIX_EPOCH, condition.status != Truth::Unknown)
    }

    #[test]
    fn what_comes_back_after_a_doubt_that_was_told_is_told() {
        let kind = ConditionKind::Delegated;
        let (good, doubt) =
            (Condition::good(kind, "Delegated", ""), Condition::unknown(kind, "ParentUnreachable", ""));
        let after = |announced| {
            let before = Told { announced, ..told(&doubt) };
            is_news(&good, Some(&before), std::slice::from_ref(&good))
        };
        assert_eq!((after(true), after(false)), (true, false));
    }

    #[test]
    fn a_sentence_is_one_line_of_bounded_length_whatever_it_quotes() {
        let quoting = |message: &str| {
            sentence(&Condition::bad(ConditionKind::Accepted, "SpecInvalid", message)).message
        };
        assert_eq!(quoting("host \"a\nb\u{1b}[31m\" is none"), "host \"a\u{fffd}b\u{fffd}[31m\" is none");
        let long = quoting(&"é".repeat(40_000));
        assert_eq!(long, format!("{}…", "é".repeat(MAX_MESSAGE)));
        assert_eq!(quoting(&long), long, "what was shortened stays");
    }

    #[test]
    fn one_cause_is_one_event() {
        let invalid = Condition::bad(ConditionKind::Accepted, "SpecInvalid", "unknown strategy");
        let served = told(&Condition::good(ConditionKind::Serving, "Strategy", ""));
        for (reason, follows_where_served) in [("NoHosts", true), ("NoHealthySite", false)] {
            let serving = Condition::bad(ConditionKind::Serving, reason, "");
            let all = [invalid.clone(), serving.clone()];
            assert!(follows(&serving, None, &all));
            assert_eq!(follows(&serving, Some(&served), &all), follows_where_served, "{reason}");
            assert!(!follows(&serving, None, std::slice::from_ref(&serving)));
        }
    }

    #[tokio::test]
    async fn another_object_of_the_same_name_is_told_about_from_the_start() {
        let service = tower::service_fn(async |_: axum::http::Request<kube::client::Body>| {
            Ok::<_, std::convert::Infallible>(axum::http::Response::new(kube::client::Body::empty()))
        });
        let announcer = Announcer::new(Client::new(service, "gslb"), "gslb-bridge-0".into());
        let bad = [Condition::bad(ConditionKind::Serving, "NoHealthySite", "")];
        let settle = |uid: &str, second| {
            let object =
                ObjectMeta { name: Some("app".into()), uid: Some(uid.into()), ..ObjectMeta::default() };
            let now = Timestamp::from_second(second).unwrap();
            let (conditions, events) = announcer.settle("Gslb", &object, &bad, &[], now);
            (conditions[0].last_transition_time.0.as_second(), events.len())
        };
        assert_eq!(settle("first", 100), (100, 1));
        assert_eq!(settle("first", 200), (100, 0));
        assert_eq!(settle("second", 300), (300, 1));
    }

    #[test]
    fn an_unchanged_condition_is_no_news() {
        let condition = Condition::bad(ConditionKind::Resolved, "ReferenceNotFound", "gone");
        assert!(is_news(&condition, None, std::slice::from_ref(&condition)));
        assert!(!is_news(&condition, Some(&told(&condition)), std::slice::from_ref(&condition)));
    }

    #[test]
    fn ready_does_not_repeat_what_another_condition_tells() {
        let resolved = Condition::bad(ConditionKind::Resolved, "ReferenceNotFound", "gone");
        let ready = gslb_core::condition::ready(&[&resolved], "");
        assert!(!is_news(&ready, None, &[resolved, ready.clone()]));
    }

    #[test]
    fn what_is_not_known_yet_is_told_when_it_is_bad() {
        let kind = ConditionKind::PeersReachable;
        let waiting = |of| Condition::unknown(kind, "WaitingForPeers", of);
        let (good, bad) = (Condition::good(kind, "AllAnswered", ""), Condition::bad(kind, "PeerSilent", ""));
        let news = |condition: &Condition, before: Option<Told>| {
            is_news(condition, before.as_ref(), std::slice::from_ref(condition))
        };
        assert!(!news(&waiting("us, za"), None));
        assert!(!news(&waiting("za"), Some(told(&waiting("us, za")))));
        assert!(!news(&good, Some(told(&waiting("za")))));
        assert!(news(&bad, Some(told(&waiting("za")))));
        assert!(news(&good, Some(told(&bad))));
    }

    #[test]
    fn a_good_new_object_is_told_once() {
        let accepted = Condition::good(ConditionKind::Accepted, "Accepted", "");
        let ready = gslb_core::condition::ready(&[&accepted], "published");
        let all = [accepted.clone(), ready.clone()];
        assert_eq!((is_news(&accepted, None, &all), is_news(&ready, None, &all)), (false, true));
    }
}
