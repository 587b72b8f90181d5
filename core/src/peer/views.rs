//! All hosts of one peer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::doubt::{Doubt, DoubtCause};
use super::round::Round;
use super::view::{Evidence, LastWord, NoTargetsReason, State, Transition, View};
use crate::name::DomainName;
use crate::reply::NoWord;
use crate::target::Targets;

/// So many hosts that vanish together are a reloading CoreDNS rather than so many dead applications
/// (design §2.1).
const TOGETHER: usize = 3;
/// Hosts vanish together when their doubts arose within one round's longest time-out; no outside reference.
const TOGETHER_WITHIN: SignedDuration = SignedDuration::from_secs(1);

/// The views of all hosts of one peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerViews(BTreeMap<DomainName, Watched>);

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Watched {
    view: View,
    /// How long evidence may hold its last word.
    hold: SignedDuration,
}

/// What of a view survives a restart: stored at transitions only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    /// `Answered`, `Lost` or `NoTargets`; whatever was between is checked anew.
    pub state: String,
    /// The last targets named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub targets: Targets,
    /// When they were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<Timestamp>,
}

impl PeerViews {
    /// The view of a host.
    pub fn get(&self, host: &DomainName) -> Option<&View> {
        self.0.get(host).map(|watched| &watched.view)
    }

    /// Since when the peer gives no word for any host, and nothing else speaks for it: when it last named targets or
    /// fell silent after a "no", or since it is asked if it never did either. Nothing while there is a word for one
    /// host, or no host.
    pub fn silent_since(&self) -> Option<Timestamp> {
        let lost: Option<Vec<_>> = self.0.values().map(|watched| watched.view.lost()).collect();
        let heard = lost?.into_iter().flatten().max();
        heard.or_else(|| self.0.values().map(|watched| watched.view.since).min())
    }

    /// All views, by host.
    pub fn iter(&self) -> impl Iterator<Item = (&DomainName, &View)> {
        self.0.iter().map(|(host, watched)| (host, &watched.view))
    }

    /// Keeps exactly these hosts, each with the time that evidence may hold its last word.
    pub fn watch(&mut self, hosts: &BTreeMap<DomainName, SignedDuration>, now: Timestamp) {
        self.0.retain(|host, _| hosts.contains_key(host));
        for (host, hold) in hosts {
            let new = || Watched { view: View::new(now), hold: *hold };
            self.0.entry(host.clone()).or_insert_with(new).hold = *hold;
        }
    }

    /// Takes in a round about one host; nothing happens for a host that is not watched.
    pub fn hear(&mut self, host: &DomainName, round: &Round, now: Timestamp) -> Option<Transition> {
        let transition = self.0.get_mut(host)?.view.hear(round.verdict(), now);
        self.mark_together(host);
        Some(transition)
    }

    /// Takes in what others say about one host.
    pub fn consider(&mut self, host: &DomainName, evidence: Evidence, now: Timestamp) -> Option<Transition> {
        let Watched { view, hold } = self.0.get_mut(host)?;
        Some(view.consider(evidence, *hold, now))
    }

    /// Lets time pass for all hosts; gives those that changed.
    pub fn tick(&mut self, now: Timestamp) -> Vec<(DomainName, Transition)> {
        let mut changed = Vec::new();
        for (host, Watched { view, hold }) in &mut self.0 {
            let told = view.told();
            let transition = view.tick(*hold, now);
            if transition.decisive || transition.renamed || view.told() != told {
                changed.push((host.clone(), transition));
            }
        }
        changed
    }

    /// Hosts to ask again now, outside the sweep.
    pub fn due(&self, now: Timestamp) -> Vec<DomainName> {
        let doubted = self.0.iter().filter(|(_, watched)| watched.view.is_doubted());
        doubted
            .filter(|(_, watched)| watched.next_look().is_some_and(|at| at <= now))
            .map(|(host, _)| host.clone())
            .collect()
    }

    /// When [`Self::due`] or [`Self::tick`] will next have something to say.
    pub fn next_look(&self) -> Option<Timestamp> {
        self.0.values().filter_map(Watched::next_look).min()
    }

    /// What to store.
    pub fn remember(&self) -> BTreeMap<DomainName, Remembered> {
        let known = self.iter().filter(|(_, view)| !matches!(view.state, State::Unknown { .. }));
        known.map(|(host, view)| (host.clone(), Remembered::of(view))).collect()
    }

    /// Puts back what was stored, for hosts that were not heard since.
    pub fn restore(&mut self, stored: &BTreeMap<DomainName, Remembered>, now: Timestamp) {
        for (host, remembered) in stored {
            if let Some(Watched { view, .. }) = self.0.get_mut(host)
                && matches!(view.state, State::Unknown { .. })
                && let Some(restored) = remembered.view(view.asked, now)
            {
                *view = restored;
            }
        }
    }

    /// Marks the doubts of all hosts that vanished together with this one, if they are that many. The mark stays:
    /// the first host that is back must not make the others look like single deaths.
    fn mark_together(&mut self, host: &DomainName) {
        let Some(since) = self.0.get_mut(host).and_then(vanished).map(|doubt| doubt.since) else {
            return;
        };
        let mut doubts: Vec<&mut Doubt> = self
            .0
            .values_mut()
            .filter_map(vanished)
            .filter(|other| since.duration_since(other.since).abs() <= TOGETHER_WITHIN)
            .collect();
        if doubts.len() >= TOGETHER {
            doubts.iter_mut().for_each(|doubt| doubt.together = true);
        }
    }
}

impl Watched {
    fn next_look(&self) -> Option<Timestamp> {
        self.view.next_look(self.hold)
    }
}

/// The doubt of a host that the peer, or one of its addresses, denied.
fn vanished(watched: &mut Watched) -> Option<&mut Doubt> {
    match &mut watched.view.state {
        State::Doubt(doubt) if !matches!(doubt.cause, DoubtCause::NoWord(_)) => Some(doubt),
        State::Doubt(_)
        | State::Unknown { .. }
        | State::Answered
        | State::Relayed { .. }
        | State::Held
        | State::Lost(_)
        | State::NoTargets(_) => None,
    }
}

impl Remembered {
    fn of(view: &View) -> Self {
        let state = match view.state {
            State::Answered | State::Doubt(_) | State::Held | State::Relayed { .. } => "Answered",
            State::Lost(_) | State::Unknown { .. } => "Lost",
            State::NoTargets(_) => "NoTargets",
        };
        let word = view.last_word.as_ref();
        Self {
            state: state.to_owned(),
            targets: word.map(|word| word.targets.clone()).unwrap_or_default(),
            heard: word.map(|word| word.at),
        }
    }

    fn view(&self, asked: bool, now: Timestamp) -> Option<View> {
        let last_word = self.heard.map(|at| LastWord { targets: self.targets.clone(), at });
        let state = match (self.state.as_str(), &last_word) {
            // Silence now leads through Doubt to Lost, an answer confirms it.
            ("Answered", Some(_)) => State::Answered,
            ("Lost", Some(_)) => State::Lost(NoWord::Timeout),
            ("NoTargets", _) => State::NoTargets(NoTargetsReason::Negative),
            _ => return None,
        };
        Some(View { state, last_word, since: now, asked, silence: None })
    }
}
