//! The views of all peers, and since when each host is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use gslb_core::decision::Sight;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::{PeerViews, Remembered, Round, State, ToldState, Transition, View};
use gslb_core::publication::PeerSight;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, watch};

use crate::metrics::Metrics;

/// How long a host's first publication waits for the peers' first verdicts (design §2.1).
const FIRST_VERDICT: SignedDuration = SignedDuration::from_secs(3);

/// What the views of one host changed, for the pass over its Gslbs.
pub(crate) type Changes = mpsc::UnboundedSender<DomainName>;

/// What was told before, and what is told now.
type News = (Option<Told>, Told);

#[derive(Debug, Default)]
struct Plain {
    peers: BTreeMap<GeoTag, PeerViews>,
    /// Peers that certainly do not exist (yet): their name server name has no address.
    absent: BTreeSet<GeoTag>,
    hosts: BTreeMap<DomainName, SignedDuration>,
    watched_since: BTreeMap<DomainName, Timestamp>,
    restored: BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>>,
    /// The state that was told last, by peer and host.
    told: BTreeMap<(GeoTag, DomainName), Told>,
}

/// A state as users are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) state: ToldState,
    pub(crate) cause: &'static str,
    pub(crate) since: Timestamp,
}

/// Handle around the views.
#[derive(Debug)]
pub(crate) struct Book {
    plain: Mutex<Plain>,
    changes: Changes,
    hosts: watch::Sender<u64>,
    transitions: watch::Sender<u64>,
    metrics: Metrics,
}

impl Book {
    pub(crate) fn new(peers: impl IntoIterator<Item = GeoTag>, changes: Changes, metrics: Metrics) -> Self {
        let peers = peers.into_iter().map(|tag| (tag, PeerViews::default())).collect();
        let plain = Plain { peers, ..Plain::default() };
        let (hosts, transitions) = (watch::Sender::new(0), watch::Sender::new(0));
        Self { plain: Mutex::new(plain), changes, hosts, transitions, metrics }
    }

    /// The peers' tags.
    pub(crate) fn tags(&self) -> Vec<GeoTag> {
        self.lock().peers.keys().cloned().collect()
    }

    /// Keeps views of exactly these hosts. They are looked up under our lock, so that of two callers the later
    /// one has the later list.
    pub(crate) fn watch(&self, hosts: impl FnOnce() -> BTreeMap<DomainName, SignedDuration>, now: Timestamp) {
        let mut plain = self.lock();
        let hosts = hosts();
        if plain.hosts == hosts {
            return;
        }
        for (peer, told) in plain.watch(hosts, now) {
            self.metrics.view_left(peer.as_str(), told.state.as_str());
        }
        drop(plain);
        self.hosts.send_modify(|version| *version += 1);
    }

    /// Tells when the set of hosts changed.
    pub(crate) fn hosts_changed(&self) -> watch::Receiver<u64> {
        self.hosts.subscribe()
    }

    /// Tells when something changed that is worth storing.
    pub(crate) fn transitions(&self) -> watch::Receiver<u64> {
        self.transitions.subscribe()
    }

    /// The hosts to ask about.
    pub(crate) fn hosts(&self) -> Vec<DomainName> {
        self.lock().hosts.keys().cloned().collect()
    }

    /// The hosts about which a peer has not been heard, or found silent, since the start.
    pub(crate) fn without_verdict(&self, tag: &GeoTag) -> Vec<DomainName> {
        let plain = self.lock();
        let views = plain.peers.get(tag).into_iter().flat_map(PeerViews::iter);
        views.filter(|(_, view)| !view.has_verdict()).map(|(host, _)| host.clone()).collect()
    }

    /// Takes in a round of one peer and host.
    pub(crate) fn hear(&self, tag: &GeoTag, host: &DomainName, round: &Round, now: Timestamp) {
        let mut plain = self.lock();
        let Some(transition) = plain.peers.get_mut(tag).and_then(|views| views.hear(host, round, now)) else {
            return;
        };
        let told = plain.tell(tag, host, now);
        drop(plain);
        self.pass_on(tag, host, transition, told);
    }

    /// Lets time pass for one peer.
    pub(crate) fn tick(&self, tag: &GeoTag, now: Timestamp) {
        let mut plain = self.lock();
        let changed = plain.peers.get_mut(tag).map(|views| views.tick(now)).unwrap_or_default();
        let changed: Vec<_> = changed
            .into_iter()
            .map(|(host, transition)| (plain.tell(tag, &host, now), host, transition))
            .collect();
        drop(plain);
        for (told, host, transition) in changed {
            self.pass_on(tag, &host, transition, told);
        }
    }

    /// Hosts of a peer to ask again now, and when to look again.
    pub(crate) fn due(&self, tag: &GeoTag, now: Timestamp) -> (Vec<DomainName>, Option<Timestamp>) {
        let plain = self.lock();
        let views = plain.peers.get(tag);
        (views.map(|views| views.due(now)).unwrap_or_default(), views.and_then(PeerViews::next_look))
    }

    /// Whether a peer is certain not to exist; it is no member of the fleet then.
    pub(crate) fn set_absent(&self, tag: &GeoTag, absent: bool) {
        let mut plain = self.lock();
        let changed = if absent { plain.absent.insert(tag.clone()) } else { plain.absent.remove(tag) };
        let hosts: Vec<DomainName> = if changed { plain.hosts.keys().cloned().collect() } else { Vec::new() };
        drop(plain);
        for host in hosts {
            self.changes.send(host).unwrap_or_default();
        }
    }

    /// Whether a peer names its targets itself for some host.
    pub(crate) fn answers(&self, tag: &GeoTag) -> bool {
        let plain = self.lock();
        let views = plain.peers.get(tag).into_iter().flat_map(PeerViews::iter);
        views.into_iter().any(|(_, view)| *view.state() == State::Answered)
    }

    /// What is believed about a host, by peer.
    pub(crate) fn sights(&self, host: &DomainName) -> BTreeMap<GeoTag, PeerSight> {
        let plain = self.lock();
        plain.members().filter_map(|(tag, views)| Some((tag.clone(), sight(views.get(host)?)))).collect()
    }

    /// The states of a host as users see them, by peer.
    pub(crate) fn told(&self, host: &DomainName) -> BTreeMap<GeoTag, Told> {
        let plain = self.lock();
        let told = plain.members().filter_map(|(tag, _)| {
            let told = plain.told.get(&(tag.clone(), host.clone()))?;
            Some((tag.clone(), *told))
        });
        told.collect()
    }

    /// Until when a host's first publication has to wait for first verdicts; `None`: not at all.
    pub(crate) fn waits_until(&self, host: &DomainName, now: Timestamp) -> Option<Timestamp> {
        let plain = self.lock();
        let until = *plain.watched_since.get(host)? + FIRST_VERDICT;
        let pending =
            plain.members().any(|(_, views)| views.get(host).is_none_or(|view| !view.has_verdict()));
        (pending && now < until).then_some(until)
    }

    /// What to store.
    pub(crate) fn remember(&self) -> BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>> {
        self.lock().peers.iter().map(|(tag, views)| (tag.clone(), views.remember())).collect()
    }

    /// Puts back what was stored, also for hosts that come later.
    pub(crate) fn restore(&self, stored: BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>>, now: Timestamp) {
        let mut plain = self.lock();
        plain.restored = stored;
        plain.put_back(now);
    }

    fn pass_on(&self, tag: &GeoTag, host: &DomainName, transition: Transition, told: Option<News>) {
        if let Some((before, told)) = told {
            if let Some(before) = before {
                self.metrics.view_left(tag.as_str(), before.state.as_str());
            }
            self.metrics.view_entered(tag.as_str(), told.state.as_str());
            self.transitions.send_modify(|version| *version += 1);
            tracing::info!(peer = %tag, %host, state = %told.state, reason = told.cause, "A peer's view changed.");
        }
        if transition.decisive || told.is_some() {
            // The receiver lives as long as the daemon.
            self.changes.send(host.clone()).unwrap_or_default();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Plain> {
        self.plain.lock().expect("no panic while the views are locked")
    }
}

impl Plain {
    /// Gives what had been told of hosts that are gone.
    fn watch(&mut self, hosts: BTreeMap<DomainName, SignedDuration>, now: Timestamp) -> Vec<(GeoTag, Told)> {
        for views in self.peers.values_mut() {
            views.watch(&hosts, now);
        }
        self.watched_since.retain(|host, _| hosts.contains_key(host));
        let gone = self.told.extract_if(.., |(_, host), _| !hosts.contains_key(host));
        let gone = gone.map(|((tag, _), told)| (tag, told)).collect();
        for host in hosts.keys() {
            self.watched_since.entry(host.clone()).or_insert(now);
        }
        self.hosts = hosts;
        self.put_back(now);
        gone
    }

    fn put_back(&mut self, now: Timestamp) {
        for (tag, stored) in &self.restored {
            if let Some(views) = self.peers.get_mut(tag) {
                views.restore(stored, now);
            }
        }
        // What found its host is the view's own now.
        for stored in self.restored.values_mut() {
            stored.retain(|host, _| !self.hosts.contains_key(host));
        }
    }

    /// The new state of a view, if users see another one than before.
    fn tell(&mut self, tag: &GeoTag, host: &DomainName, now: Timestamp) -> Option<News> {
        let view = self.peers.get(tag)?.get(host)?;
        let (state, cause) = view.told();
        let told = Told { state, cause, since: now };
        let key = (tag.clone(), host.clone());
        if self.told.get(&key).is_some_and(|last| (last.state, last.cause) == (state, cause)) {
            return None;
        }
        Some((self.told.insert(key, told), told))
    }

    /// The peers that count: an absent one counts while it has been heard of.
    fn members(&self) -> impl Iterator<Item = (&GeoTag, &PeerViews)> {
        let heard = |views: &PeerViews| views.iter().any(|(_, view)| view.last_word().is_some());
        self.peers.iter().filter(move |(tag, views)| !self.absent.contains(*tag) || heard(views))
    }
}

fn sight(view: &View) -> PeerSight {
    let (state, cause) = view.told();
    PeerSight { sight: Sight::from(view), state, cause }
}
