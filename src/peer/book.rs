//! The views of all peers, and since when each host is watched.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use gslb_core::fleet::{Members, Silent};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::{PeerViews, Remembered, Round, State, Transition};
use gslb_core::publication::PeerSight;
use gslb_core::records::PeerStanding;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, watch};

pub(crate) use super::pages::Told;
use super::pages::{News, Plain, sight};
use crate::metrics::Metrics;

/// How long a host's first publication waits for the peers' first verdicts (design §2.1).
const FIRST_VERDICT: SignedDuration = SignedDuration::from_secs(3);

/// What the views of one host changed, for the pass over its Gslbs.
pub(crate) type Changes = mpsc::UnboundedSender<DomainName>;

/// Handle around the views.
#[derive(Debug)]
pub(crate) struct Book {
    plain: Mutex<Plain>,
    changes: Changes,
    hosts: watch::Sender<u64>,
    transitions: watch::Sender<u64>,
    peers: watch::Sender<u64>,
    metrics: Metrics,
}

impl Book {
    pub(crate) fn new(own: GeoTag, members: Members, changes: Changes, metrics: Metrics) -> Self {
        let plain = Mutex::new(Plain::new(own, members));
        let [hosts, transitions, peers] = [(); 3].map(|()| watch::Sender::new(0));
        Self { plain, changes, hosts, transitions, peers, metrics }
    }

    /// Keeps views of exactly these members, looked up under our lock as in [`Self::watch`]. Gives whether they are
    /// others than before.
    pub(crate) fn set_members(&self, members: impl FnOnce() -> Members, now: Timestamp) -> bool {
        let mut plain = self.lock();
        let members = members();
        if plain.members == members {
            return false;
        }
        let before: Vec<GeoTag> = plain.peers.keys().cloned().collect();
        let left = plain.set_members(members, now);
        self.count_out(left);
        for tag in before.iter().filter(|tag| !plain.peers.contains_key(*tag)) {
            self.metrics.forget_peer(tag.as_str());
        }
        drop(plain);
        for version in [&self.peers, &self.hosts, &self.transitions] {
            version.send_modify(|version| *version += 1);
        }
        true
    }

    /// Tells when peers came or went.
    pub(crate) fn peers_changed(&self) -> watch::Receiver<u64> {
        self.peers.subscribe()
    }

    /// The peers' tags.
    pub(crate) fn tags(&self) -> Vec<GeoTag> {
        self.lock().peers.keys().cloned().collect()
    }

    /// Keeps views of exactly these hosts, and for a moment of those that are gone. They are looked up under our lock, so that of two callers the later
    /// one has the later list.
    pub(crate) fn watch(&self, hosts: impl FnOnce() -> BTreeMap<DomainName, SignedDuration>, now: Timestamp) {
        let mut plain = self.lock();
        let hosts = plain.with_lingering(hosts(), now);
        self.keep(plain, hosts, now);
    }

    /// Keeps views of exactly these hosts.
    fn keep(
        &self,
        mut plain: MutexGuard<'_, Plain>,
        hosts: BTreeMap<DomainName, SignedDuration>,
        now: Timestamp,
    ) {
        if plain.hosts == hosts {
            return;
        }
        let left = plain.watch(hosts, now);
        self.count_out(left);
        drop(plain);
        self.hosts.send_modify(|version| *version += 1);
    }

    /// Lets go of the hosts that lingered long enough.
    pub(crate) fn let_go(&self, now: Timestamp) {
        let mut plain = self.lock();
        if plain.lingering.values().any(|until| *until <= now) {
            let of_gslbs = plain.of_gslbs();
            let hosts = plain.with_lingering(of_gslbs, now);
            self.keep(plain, hosts, now);
        }
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
        self.count(tag, told);
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
            .inspect(|(told, _, _)| self.count(tag, *told))
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

    /// The peers of which nobody hears anything, and since when.
    pub(crate) fn silent(&self) -> Silent {
        let plain = self.lock();
        let peers = plain.peers.iter();
        peers.filter_map(|(tag, views)| Some((tag.clone(), views.silent_since()?))).collect()
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

    /// How each peer stands for a host, and since when it is so: other causes of one state are no news.
    pub(crate) fn standings(&self, host: &DomainName) -> BTreeMap<GeoTag, PeerStanding> {
        let plain = self.lock();
        let standings = plain.members().filter_map(|(tag, views)| {
            let view = views.get(host)?;
            // A "no" that goes on through silence has bounds of its own there.
            Some((tag.clone(), PeerStanding { state: view.word(), since: view.since() }))
        });
        standings.collect()
    }

    /// Until when a host's first publication has to wait for first verdicts; `None`: not at all.
    pub(crate) fn waits_until(&self, host: &DomainName, now: Timestamp) -> Option<Timestamp> {
        let plain = self.lock();
        let until = *plain.watched_since.get(host)? + FIRST_VERDICT;
        let unheard = |views: &PeerViews| views.get(host).is_some_and(|view| !view.has_verdict());
        let pending = !plain.members.are_known(host) || plain.members().any(|(_, views)| unheard(views));
        (pending && now < until).then_some(until)
    }

    /// What to store: of a peer that is not known yet what was stored before.
    pub(crate) fn remember(&self) -> BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>> {
        let plain = self.lock();
        let kept = plain.restored.iter().filter(|(tag, _)| !plain.peers.contains_key(*tag));
        let kept = kept.map(|(tag, stored)| (tag.clone(), stored.clone()));
        kept.chain(plain.peers.iter().map(|(tag, views)| (tag.clone(), views.remember()))).collect()
    }

    /// Puts back what was stored, also for peers and hosts that come later.
    pub(crate) fn restore(&self, stored: BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>>, now: Timestamp) {
        let mut plain = self.lock();
        plain.restored = stored;
        plain.put_back(now);
    }

    /// Counts a view's new state. Called with the views locked: a peer that leaves leaves no series behind.
    fn count(&self, tag: &GeoTag, told: Option<News>) {
        let Some((before, told)) = told else { return };
        if let Some(before) = before {
            self.metrics.view_left(tag.as_str(), before.state.as_str());
        }
        self.metrics.view_entered(tag.as_str(), told.state.as_str());
    }

    /// As [`Self::count`], for views that are gone.
    fn count_out(&self, left: Vec<(GeoTag, Told)>) {
        for (peer, told) in left {
            self.metrics.view_left(peer.as_str(), told.state.as_str());
        }
    }

    fn pass_on(&self, tag: &GeoTag, host: &DomainName, transition: Transition, told: Option<News>) {
        if let Some((_, told)) = told {
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

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
