//! What is known of the other clusters, and which of their records this cluster may take away (design §2.5).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::challenge::Challenges;
use super::record::HostRecord;
use crate::name::GeoTag;
use crate::peer::ToldState;

/// How long a peer must have been lost before its record may go.
const LOST: SignedDuration = SignedDuration::from_secs(60);
/// How long before it is asked whether it lives: shorter troubles cost no write. No outside reference.
const DOUBTED: SignedDuration = SignedDuration::from_secs(30);
/// Intervals that a word must last before it leads to a removal.
const INTERVALS: i32 = 2;
/// The longest interval that any cluster may have between two reads of its records.
pub const LONGEST_INTERVAL: SignedDuration = SignedDuration::from_secs(30);
/// How long a challenge must stand: two intervals of its owner, whose settings are not known here.
const UNREFUTED: SignedDuration = SignedDuration::from_secs(60);

/// A peer's state for one host, and since when it is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerStanding {
    /// As users are told it.
    pub state: ToldState,
    /// Since when.
    pub since: Timestamp,
}

/// What this cluster knows when it judges the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// Whether this cluster itself can serve the host. One that cannot looks to the others as one that is gone, so it
    /// leaves the judgement to those that can.
    pub able: bool,
    /// Whether nobody answers this cluster, neither a peer nor a resolver: then it is more likely cut off than they are
    /// gone.
    pub isolated: bool,
    /// The peers' states for the host.
    pub peers: BTreeMap<GeoTag, PeerStanding>,
    /// How often this cluster reads its records: at most [`LONGEST_INTERVAL`].
    pub interval: SignedDuration,
}

/// What may be done to the record of another cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaping {
    /// Nothing, and nothing is expected.
    Leave,
    /// Nothing before this time.
    Wait {
        /// When it is to be judged again.
        until: Timestamp,
    },
    /// Its owner may be asked whether it lives.
    Challenge,
    /// It may be removed.
    Reap,
}

impl Evidence {
    /// Judges one record of a peer. Total: whoever is not known, or lives, keeps its record.
    pub fn judge(
        &self,
        own: &GeoTag,
        peer: &GeoTag,
        record: &HostRecord,
        challenges: &Challenges,
        now: Timestamp,
    ) -> Reaping {
        let Some(standing) = self.peers.get(peer).filter(|_| self.is_lowest_living(own)) else {
            return Reaping::Leave;
        };
        if self.isolated {
            return Reaping::Leave;
        }
        let gone = match standing.state {
            // What it said last may be long ago: a "no" goes on through silence. So it is asked, too.
            ToldState::NoTargets => self.interval * INTERVALS,
            ToldState::Lost => LOST,
            ToldState::Answered | ToldState::Relayed | ToldState::Held | ToldState::Unknown => {
                return Reaping::Leave;
            }
        };
        match challenges.standing_since(record) {
            Some(asked) => {
                later(due(asked, UNREFUTED, now), due(standing.since, gone, now)).unwrap_or(Reaping::Reap)
            }
            None => {
                let refuted = challenges.not_before(record).filter(|until| now < *until);
                let refuted = refuted.map(|until| Reaping::Wait { until });
                later(refuted, due(standing.since, DOUBTED, now)).unwrap_or(Reaping::Challenge)
            }
        }
    }

    /// Whether no living cluster of a lower tag sees this host.
    pub fn is_lowest_living(&self, own: &GeoTag) -> bool {
        self.able && self.peers.iter().all(|(tag, peer)| tag > own || !lives(peer.state))
    }
}

/// Whether somebody speaks for a cluster: itself, a witness or a probe.
fn lives(state: ToldState) -> bool {
    match state {
        ToldState::Answered | ToldState::Relayed | ToldState::Held => true,
        ToldState::NoTargets | ToldState::Unknown | ToldState::Lost => false,
    }
}

/// A wait, unless so much time has passed since then.
fn due(since: Timestamp, span: SignedDuration, now: Timestamp) -> Option<Reaping> {
    let until = since.saturating_add(span).unwrap_or(Timestamp::MAX);
    (now < until).then_some(Reaping::Wait { until })
}

/// The wait that ends last, if there is one.
fn later(one: Option<Reaping>, other: Option<Reaping>) -> Option<Reaping> {
    let end = |wait: Option<Reaping>| match wait {
        Some(Reaping::Wait { until }) => Some(until),
        Some(Reaping::Leave | Reaping::Challenge | Reaping::Reap) | None => None,
    };
    end(one).max(end(other)).map(|until| Reaping::Wait { until })
}
