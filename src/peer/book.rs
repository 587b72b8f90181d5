//! The views of all peers, and since when each host is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use gslb_core::decision::Sight;
use gslb_core::fleet::{Members, Silent};
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::{PeerViews, Remembered, Round, State, ToldState, Transition, View};
use gslb_core::publication::PeerSight;
use gslb_core::records::PeerStanding;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, watch};

use crate::metrics::Metrics;

/// How long a host's first publication waits for the peers' first verdicts (design §2.1).
const FIRST_VERDICT: SignedDuration = SignedDuration::from_secs(3);

/// How long the views of a host are kept that no Gslb has any more: it may be about to have another one, which would
/// know nothing of the peers. Above the steps of `kubectl replace --force`. No outside reference.
const LINGER: SignedDuration = SignedDuration::from_secs(10);

/// What the views of one host changed, for the pass over its Gslbs.
pub(crate) type Changes = mpsc::UnboundedSender<DomainName>;

/// What was told before, and what is told now.
type News = (Option<Told>, Told);

#[derive(Debug)]
struct Plain {
    own: GeoTag,
    members: Members,
    peers: BTreeMap<GeoTag, PeerViews>,
    /// Peers that certainly do not exist (yet): their name server name has no address.
    absent: BTreeSet<GeoTag>,
    /// Those of Gslbs, and those that linger.
    hosts: BTreeMap<DomainName, SignedDuration>,
    /// Hosts that no Gslb has any more, and until when they are kept.
    lingering: BTreeMap<DomainName, Timestamp>,
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

impl Plain {
    fn new(own: GeoTag, members: Members) -> Self {
        let mut plain = Self {
            own,
            members,
            peers: BTreeMap::new(),
            absent: BTreeSet::new(),
            hosts: BTreeMap::new(),
            lingering: BTreeMap::new(),
            watched_since: BTreeMap::new(),
            restored: BTreeMap::new(),
            told: BTreeMap::new(),
        };
        plain.meet();
        plain
    }

    /// Keeps a place for each member but ourselves.
    fn meet(&mut self) {
        let tags: BTreeSet<GeoTag> = self.members.all().into_iter().filter(|tag| *tag != self.own).collect();
        self.peers.retain(|tag, _| tags.contains(tag));
        self.absent.retain(|tag| tags.contains(tag));
        for tag in tags {
            self.peers.entry(tag).or_default();
        }
    }

    /// Gives what had been told of views that are gone.
    fn set_members(&mut self, members: Members, now: Timestamp) -> Vec<(GeoTag, Told)> {
        self.members = members;
        self.meet();
        self.look(now)
    }

    fn of_gslbs(&self) -> BTreeMap<DomainName, SignedDuration> {
        let kept = self.hosts.iter().filter(|(host, _)| !self.lingering.contains_key(*host));
        kept.map(|(host, hold)| (host.clone(), *hold)).collect()
    }

    /// The hosts of Gslbs, and those that linger beside them.
    fn with_lingering(
        &mut self,
        mut hosts: BTreeMap<DomainName, SignedDuration>,
        now: Timestamp,
    ) -> BTreeMap<DomainName, SignedDuration> {
        for host in self.hosts.keys().filter(|host| !hosts.contains_key(*host)) {
            self.lingering.entry(host.clone()).or_insert(now + LINGER);
        }
        self.lingering.retain(|host, until| !hosts.contains_key(host) && *until > now);
        let lingering = self.lingering.keys().filter_map(|host| Some((host.clone(), *self.hosts.get(host)?)));
        hosts.extend(lingering);
        hosts
    }

    /// As [`Self::set_members`].
    fn watch(&mut self, hosts: BTreeMap<DomainName, SignedDuration>, now: Timestamp) -> Vec<(GeoTag, Told)> {
        self.watched_since.retain(|host, _| hosts.contains_key(host));
        for host in hosts.keys() {
            self.watched_since.entry(host.clone()).or_insert(now);
        }
        self.hosts = hosts;
        self.look(now)
    }

    /// Keeps views of exactly the hosts that each peer may serve.
    fn look(&mut self, now: Timestamp) -> Vec<(GeoTag, Told)> {
        let Self { peers, hosts, members, .. } = self;
        for (tag, views) in &mut *peers {
            match members {
                Members::Listed(_) => views.watch(hosts, now),
                Members::Found(_) => {
                    let its = hosts.iter().filter(|(host, _)| members.of(host).any(|member| member == tag));
                    let its = its.map(|(host, hold)| (host.clone(), *hold)).collect();
                    views.watch(&its, now);
                }
            }
        }
        let gone = self
            .told
            .extract_if(.., |(tag, host), _| peers.get(tag).is_none_or(|views| views.get(host).is_none()));
        let gone = gone.map(|((tag, _), told)| (tag, told)).collect();
        self.put_back(now);
        gone
    }

    fn put_back(&mut self, now: Timestamp) {
        for (tag, stored) in &self.restored {
            if let Some(views) = self.peers.get_mut(tag) {
                views.restore(stored, now);
            }
        }
        if self.members.are_all_known() {
            self.restored.retain(|tag, _| self.peers.contains_key(tag));
        }
        // What found its host is the view's own now.
        for (tag, stored) in &mut self.restored {
            let views = self.peers.get(tag);
            stored.retain(|host, _| views.is_none_or(|views| views.get(host).is_none()));
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use gslb_core::fleet::Found;
    use gslb_core::reply::Reply;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;

    const HOST: &str = "app.cloud.example.com";
    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn name(text: &str) -> DomainName {
        DomainName::parse(text).unwrap()
    }
    fn tag(text: &str) -> GeoTag {
        GeoTag::parse(text).unwrap()
    }
    fn found(tags: &[&str], known: bool) -> Members {
        let tags = tags.iter().map(|text| tag(text)).collect();
        Members::Found([(name("cloud.example.com"), Found { tags, known })].into())
    }
    /// A book of cluster eu that watches a host, and its metrics page.
    fn book(members: Members) -> (Book, Registry) {
        let mut registry = Registry::default();
        let metrics = Metrics::new(&mut registry, "gslb", &tag("eu"));
        let book = Book::new(tag("eu"), members, mpsc::unbounded_channel().0, metrics);
        book.watch(|| [(name(HOST), SignedDuration::ZERO)].into(), NOW);
        (book, registry)
    }
    fn answers(book: &Book, peer: &str) {
        let address = Ipv4Addr::new(198, 51, 100, 10);
        let addresses = [address].into();
        let reply = Reply::Positive { addresses, authoritative: true, partial: false, alias: None };
        book.hear(&tag(peer), &name(HOST), &Round::new([((address, 0).into(), reply)]), NOW);
    }
    fn stored(peer: &str) -> BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>> {
        let targets = [Ipv4Addr::new(198, 51, 100, 10)].into();
        let remembered = Remembered { state: "Lost".into(), targets, heard: Some(NOW) };
        [(tag(peer), [(name(HOST), remembered)].into())].into()
    }
    fn series(registry: &Registry) -> Vec<String> {
        let mut page = String::new();
        encode(&mut page, registry).unwrap();
        page.lines().filter(|line| line.starts_with("gslb_bridge_peer_views{")).map(str::to_owned).collect()
    }
    fn state(book: &Book, peer: &str) -> Option<ToldState> {
        book.sights(&name(HOST)).get(&tag(peer)).map(|sight| sight.state)
    }

    #[test]
    fn a_peer_that_leaves_takes_its_views_and_series_along() {
        let (book, registry) = book(found(&["eu", "us", "za"], true));
        for peer in ["us", "za"] {
            answers(&book, peer);
        }
        assert!(book.set_members(|| found(&["eu", "za"], true), NOW));
        assert_eq!(series(&registry), [r#"gslb_bridge_peer_views{peer="za",state="Answered"} 1"#]);
        // What was under way when it left comes too late.
        answers(&book, "us");
        assert_eq!((state(&book, "us"), state(&book, "za")), (None, Some(ToldState::Answered)));
        assert_eq!(series(&registry).len(), 1);
        assert_eq!(book.remember().into_keys().collect::<Vec<_>>(), [tag("za")]);
        assert!(!book.set_members(|| found(&["eu", "za"], true), NOW));
    }

    #[test]
    fn a_peer_that_joins_is_waited_for_by_a_new_host_only() {
        let (book, _) = book(found(&["eu"], true));
        assert_eq!(book.waits_until(&name(HOST), NOW), None);
        let later = NOW + SignedDuration::from_secs(60);
        book.set_members(|| found(&["eu", "us"], true), later);
        assert_eq!(book.waits_until(&name(HOST), later), None);
        let other = name("other.cloud.example.com");
        let hosts = [name(HOST), other.clone()].map(|host| (host, SignedDuration::ZERO));
        book.watch(|| hosts.into(), later);
        assert_eq!(book.waits_until(&other, later), Some(later + FIRST_VERDICT));
    }

    #[test]
    fn a_host_that_loses_its_gslb_and_gets_another_one_keeps_what_is_known_of_it() {
        let (book, registry) = book(found(&["eu", "us"], true));
        answers(&book, "us");
        let at = |seconds| NOW + SignedDuration::from_secs(seconds);
        let hosts = || [(name(HOST), SignedDuration::ZERO)].into();
        book.watch(BTreeMap::new, at(60));
        book.let_go(at(69));
        book.watch(hosts, at(69));
        assert_eq!(
            (state(&book, "us"), book.waits_until(&name(HOST), at(69))),
            (Some(ToldState::Answered), None)
        );
        // It is nobody's again, from then on.
        book.watch(BTreeMap::new, at(80));
        book.let_go(at(89));
        assert_eq!(book.hosts(), [name(HOST)]);
        book.let_go(at(90));
        let none = [r#"gslb_bridge_peer_views{peer="us",state="Answered"} 0"#];
        assert_eq!((book.hosts(), series(&registry)), (vec![], none.map(str::to_owned).to_vec()));
        book.watch(hosts, at(91));
        assert_eq!(
            (state(&book, "us"), book.waits_until(&name(HOST), at(91))),
            (Some(ToldState::Unknown), Some(at(94)))
        );
    }

    #[test]
    fn while_nobody_has_told_of_the_fleet_a_new_host_waits() {
        let (book, _) = book(found(&["eu"], false));
        assert_eq!(book.waits_until(&name(HOST), NOW), Some(NOW + FIRST_VERDICT));
        book.set_members(|| found(&["eu"], true), NOW);
        assert_eq!(book.waits_until(&name(HOST), NOW), None);
    }

    #[test]
    fn what_was_stored_of_a_peer_is_kept_until_the_fleet_is_known() {
        let (book, _) = book(Members::Found([].into()));
        book.restore(stored("us"), NOW);
        assert_eq!(book.remember(), stored("us"));
        book.set_members(|| found(&["eu", "us"], true), NOW);
        assert_eq!(state(&book, "us"), Some(ToldState::Lost));

        book.restore(stored("za"), NOW);
        assert_eq!(book.remember(), stored("us"));
    }

    #[test]
    fn a_peer_has_views_of_the_hosts_in_its_zones_only() {
        let zone = |apex: &str, tags: &[&str]| {
            (name(apex), Found { tags: tags.iter().map(|text| tag(text)).collect(), known: true })
        };
        let zones = [zone("cloud.example.com", &["eu"]), zone("other.example.com", &["eu", "us"])];
        let (book, _) = book(Members::Found(zones.into()));
        assert_eq!((book.tags(), state(&book, "us")), (vec![tag("us")], None));
        assert_eq!(book.waits_until(&name(HOST), NOW), None);
    }
}
