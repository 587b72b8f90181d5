//! What the book of the peers holds.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::decision::Sight;
use gslb_core::fleet::Members;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::peer::{PeerViews, Remembered, ToldState, View};
use gslb_core::publication::PeerSight;
use jiff::{SignedDuration, Timestamp};

/// How long the views of a host are kept that no Gslb has any more: it may be about to have another one, which would
/// know nothing of the peers. Above the steps of `kubectl replace --force`. No outside reference.
const LINGER: SignedDuration = SignedDuration::from_secs(10);

/// What was told before, and what is told now.
pub(super) type News = (Option<Told>, Told);

/// The views of all peers, by host.
#[derive(Debug)]
pub(super) struct Plain {
    pub(super) own: GeoTag,
    pub(super) members: Members,
    pub(super) peers: BTreeMap<GeoTag, PeerViews>,
    /// Peers that certainly do not exist (yet): their name server name has no address.
    pub(super) absent: BTreeSet<GeoTag>,
    /// Those of Gslbs, and those that linger.
    pub(super) hosts: BTreeMap<DomainName, SignedDuration>,
    /// Hosts that no Gslb has any more, and until when they are kept.
    pub(super) lingering: BTreeMap<DomainName, Timestamp>,
    pub(super) watched_since: BTreeMap<DomainName, Timestamp>,
    pub(super) restored: BTreeMap<GeoTag, BTreeMap<DomainName, Remembered>>,
    /// The state that was told last, by peer and host.
    pub(super) told: BTreeMap<(GeoTag, DomainName), Told>,
}

/// A state as users are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) state: ToldState,
    pub(crate) cause: &'static str,
    pub(crate) since: Timestamp,
}

impl Plain {
    pub(super) fn new(own: GeoTag, members: Members) -> Self {
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
    pub(super) fn set_members(&mut self, members: Members, now: Timestamp) -> Vec<(GeoTag, Told)> {
        self.members = members;
        self.meet();
        self.look(now)
    }

    pub(super) fn of_gslbs(&self) -> BTreeMap<DomainName, SignedDuration> {
        let kept = self.hosts.iter().filter(|(host, _)| !self.lingering.contains_key(*host));
        kept.map(|(host, hold)| (host.clone(), *hold)).collect()
    }

    /// The hosts of Gslbs, and those that linger beside them.
    pub(super) fn with_lingering(
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
    pub(super) fn watch(
        &mut self,
        hosts: BTreeMap<DomainName, SignedDuration>,
        now: Timestamp,
    ) -> Vec<(GeoTag, Told)> {
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

    pub(super) fn put_back(&mut self, now: Timestamp) {
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
    pub(super) fn tell(&mut self, tag: &GeoTag, host: &DomainName, now: Timestamp) -> Option<News> {
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
    pub(super) fn members(&self) -> impl Iterator<Item = (&GeoTag, &PeerViews)> {
        let heard = |views: &PeerViews| views.iter().any(|(_, view)| view.last_word().is_some());
        self.peers.iter().filter(move |(tag, views)| !self.absent.contains(*tag) || heard(views))
    }
}

pub(super) fn sight(view: &View) -> PeerSight {
    let (state, cause) = view.told();
    PeerSight { sight: Sight::from(view), state, cause }
}
