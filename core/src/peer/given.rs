//! Builders for the tests of peer views: the peer `nyc` and its hosts, at milliseconds after [`T0`].

use jiff::{SignedDuration, Timestamp};

use super::{Evidence, LastWord, PeerViews, Round, State, Transition, View};
use crate::given::{name, tag, targets};
use crate::reply::{NoWord, Reply};

/// When every story begins.
pub(super) const T0: Timestamp = Timestamp::constant(1_800_000_000, 0);
/// `PEER_HOLD_SECONDS` of every test.
pub(super) const HOLD: SignedDuration = SignedDuration::from_secs(300);
/// The host of every story about one host.
pub(super) const SHOP: &str = "shop.glb.example.org";

pub(super) fn at(millis: i64) -> Timestamp {
    T0 + SignedDuration::from_millis(millis)
}

/// An address of the peer names these targets.
pub(super) fn yes(its: &[&str]) -> Reply {
    Reply::Positive { addresses: targets(its), authoritative: false, partial: false, alias: None }
}

/// An address of the peer names these targets in an answer that was cut.
pub(super) fn cut(its: &[&str]) -> Reply {
    Reply::Positive { addresses: targets(its), authoritative: false, partial: true, alias: None }
}

/// An address of a k8gb peer says NXDOMAIN: AA is not set.
pub(super) fn no() -> Reply {
    Reply::Negative { authoritative: false, name_exists: false }
}

/// An address of a gslb-bridge peer says NODATA: AA is set.
pub(super) fn no_with_authority() -> Reply {
    Reply::Negative { authoritative: true, name_exists: true }
}

/// An address does not answer.
pub(super) fn silence() -> Reply {
    Reply::NoWord(NoWord::Timeout)
}

/// Another cluster heard the peer name these targets.
pub(super) fn witness(its: &[&str]) -> Evidence {
    Evidence::Witness { by: tag("sin"), targets: Some(targets(its)) }
}

/// Another cluster heard the peer say no.
pub(super) fn witness_of_no() -> Evidence {
    Evidence::Witness { by: tag("sin"), targets: None }
}

pub(super) fn probe(reachable: bool) -> Evidence {
    Evidence::Probe { reachable }
}

/// One peer. Its methods tell its story in order.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) views: PeerViews,
    /// What the last event of the story changed.
    pub(super) last: Option<Transition>,
}

/// A peer that was never asked about these hosts.
pub(super) fn peer_with(hosts: &[&str]) -> Peer {
    Peer { views: PeerViews::default(), last: None }.watches(0, hosts)
}

/// A peer that was never asked about the host.
pub(super) fn never_asked() -> Peer {
    peer_with(&[SHOP])
}

/// A peer that named these targets of the host at 0 ms.
pub(super) fn answered(its: &[&str]) -> Peer {
    never_asked().hears(0, [yes(its)])
}

impl Peer {
    /// The shell watches these hosts from now on.
    pub(super) fn watches(mut self, millis: i64, hosts: &[&str]) -> Self {
        self.views.watch(&hosts.iter().map(|host| (name(host), HOLD)).collect(), at(millis));
        self
    }

    /// The peer's addresses reply about the host.
    pub(super) fn hears<const N: usize>(self, millis: i64, replies: [Reply; N]) -> Self {
        self.hears_about(SHOP, millis, replies)
    }

    pub(super) fn hears_about<const N: usize>(
        mut self,
        host: &str,
        millis: i64,
        replies: [Reply; N],
    ) -> Self {
        let from = |last: u8| ([198, 51, 100, last], 53).into();
        let round = Round::new((53..).map(from).zip(replies));
        self.last = self.views.hear(&name(host), &round, at(millis));
        self
    }

    /// The same replies about every host, in this order.
    pub(super) fn hears_about_all<const N: usize>(
        self,
        hosts: &[&str],
        millis: i64,
        replies: [Reply; N],
    ) -> Self {
        hosts.iter().fold(self, |peer, host| peer.hears_about(host, millis, replies.clone()))
    }

    /// Somebody else speaks about the host.
    pub(super) fn learns(mut self, millis: i64, evidence: Evidence) -> Self {
        self.last = self.views.consider(&name(SHOP), evidence, at(millis));
        self
    }

    /// Nothing happens until then.
    pub(super) fn waits_until(mut self, millis: i64) -> Self {
        self.last = self.views.tick(at(millis)).first().map(|(_, transition)| *transition);
        self
    }

    /// The process ends and starts again.
    pub(super) fn restarts(self, millis: i64) -> Self {
        let mut after = never_asked();
        after.views.restore(&self.views.remember(), at(millis));
        after
    }

    pub(super) fn view(&self) -> &View {
        self.view_of(SHOP)
    }

    pub(super) fn view_of(&self, host: &str) -> &View {
        self.views.get(&name(host)).expect("the host is watched")
    }

    pub(super) fn states_of(&self, hosts: &[&str]) -> Vec<State> {
        hosts.iter().map(|host| self.view_of(host).state().clone()).collect()
    }

    /// Whether the host must be asked again outside the sweep.
    pub(super) fn is_due(&self, millis: i64) -> bool {
        self.views.due(at(millis)) == [name(SHOP)]
    }
}

/// A last word.
pub(super) fn named(its: &[&str], millis: i64) -> Option<LastWord> {
    Some(LastWord { targets: targets(its), at: at(millis) })
}
