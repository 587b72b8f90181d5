//! The state machine of one peer and one host.

use jiff::{SignedDuration, Timestamp};

use super::doubt::{Doubt, DoubtCause, NEGATIVE_VERDICT, RELOAD_VERDICT};
use super::round::Verdict;
use crate::name::GeoTag;
use crate::reply::NoWord;
use crate::target::Targets;

/// A relayed word counts while its witness repeats it this often.
pub const RELAY_REFRESH: SignedDuration = SignedDuration::from_secs(5);
/// Why a peer has no targets for a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoTargetsReason {
    /// It said so.
    Negative,
    /// Its addresses went on contradicting each other.
    PeerInconsistent,
    /// Another cluster heard it say so.
    Witnessed,
}

/// The peer's last positive word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWord {
    /// The targets it named.
    pub targets: Targets,
    /// When it was heard.
    pub at: Timestamp,
}

/// Where a view stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Never heard.
    Unknown {
        /// Since when its addresses contradict each other.
        mixed_since: Option<Timestamp>,
    },
    /// The peer named its targets itself.
    Answered,
    /// Its last word is being checked.
    Doubt(Doubt),
    /// Silent, but a witness hears it.
    Relayed {
        /// Who hears it.
        witness: GeoTag,
        /// When the witness last said so.
        refreshed: Timestamp,
    },
    /// Silent, but its targets answer a probe.
    Held,
    /// Silent, and nothing speaks for it.
    Lost(NoWord),
    /// It has no healthy target.
    NoTargets(NoTargetsReason),
}

/// What a view is worth to the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Its targets are answered.
    Good,
    /// Nobody knows; its last targets are the last resort.
    Unknown,
    /// It has none; never resurrected.
    Down,
}

/// What others say about a silent peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// Another cluster asked the peer first hand just now. `None`: the peer said no.
    Witness {
        /// The witness.
        by: GeoTag,
        /// The targets that it heard.
        targets: Option<Targets>,
    },
    /// The held targets were probed.
    Probe {
        /// Whether one answered.
        reachable: bool,
    },
}

/// What changed, for events, metrics and the trigger of a new decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// The decision may come out differently: tier or targets changed.
    pub decisive: bool,
    /// The state has another name now.
    pub renamed: bool,
}

/// One peer and one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub(super) state: State,
    pub(super) last_word: Option<LastWord>,
    pub(super) since: Timestamp,
    /// Whether a round was asked since the start of this process.
    pub(super) asked: bool,
    /// Its silence since it said that it has no targets. It decides nothing, but the "no" is no answer any more.
    pub(super) silence: Option<Silence>,
}

/// The silence of a peer whose last word was a "no".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Silence {
    /// It is being checked.
    Doubt(Doubt),
    /// It is certain.
    Lost {
        /// What came of the last question.
        cause: NoWord,
        /// Since when it is silent.
        since: Timestamp,
    },
}

impl View {
    /// A view of a host that the peer was never asked about.
    pub fn new(now: Timestamp) -> Self {
        Self {
            state: State::Unknown { mixed_since: None },
            last_word: None,
            since: now,
            asked: false,
            silence: None,
        }
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Since when the state has its name.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// The peer's last positive word.
    pub fn last_word(&self) -> Option<&LastWord> {
        self.last_word.as_ref()
    }

    /// What the view is worth to the decision.
    pub fn tier(&self) -> Tier {
        match self.state {
            State::Answered | State::Doubt(_) | State::Relayed { .. } | State::Held => Tier::Good,
            State::Unknown { .. } | State::Lost(_) => Tier::Unknown,
            State::NoTargets(_) => Tier::Down,
        }
    }

    /// Whether a first verdict exists: the host may be published without waiting for this peer any longer.
    ///
    /// What was restored after a restart is none: the peer may have changed its mind meanwhile.
    pub fn has_verdict(&self) -> bool {
        self.asked
    }

    /// Takes in what a round said.
    pub fn hear(&mut self, verdict: Verdict, now: Timestamp) -> Transition {
        let before = self.clone();
        self.asked = true;
        self.silence = match &verdict {
            Verdict::NoWord(cause) => self.still_silent(cause, now),
            Verdict::Positive(_) | Verdict::Partial(_) | Verdict::Negative { .. } | Verdict::Mixed(_) => None,
        };
        match verdict {
            Verdict::Positive(targets) => self.hear_yes(targets, now),
            Verdict::Partial(targets) => self.hear_yes(self.completed(targets), now),
            Verdict::Negative { authoritative } => self.hear_no(authoritative, now),
            Verdict::Mixed(_) => self.hear_both(now),
            Verdict::NoWord(cause) => self.hear_nothing(cause, now),
        }
        self.transition(&before, now)
    }

    fn hear_yes(&mut self, targets: Targets, now: Timestamp) {
        self.last_word = Some(LastWord { targets, at: now });
        self.state = State::Answered;
    }

    /// What a cut answer stands for: it says which targets there are, not that there are no others. So it takes
    /// none away from the last word, unless the peer took that back itself.
    fn completed(&self, targets: Targets) -> Targets {
        if matches!(self.state, State::NoTargets(_)) {
            return targets;
        }
        let last = self.last_word.as_ref().map(|word| &word.targets);
        last.filter(|last| targets.is_subset(last)).cloned().unwrap_or(targets)
    }

    fn hear_no(&mut self, authoritative: bool, now: Timestamp) {
        let down = State::NoTargets(NoTargetsReason::Negative);
        self.state = match &self.state {
            // A gslb-bridge server knows; and without a word to protect there is nothing to doubt.
            _ if authoritative => down,
            State::Unknown { .. } | State::Lost(_) | State::NoTargets(_) => down,
            State::Doubt(doubt) if !matches!(doubt.cause, DoubtCause::NoWord(_)) => {
                let wait = if doubt.together { RELOAD_VERDICT } else { NEGATIVE_VERDICT };
                if now.duration_since(doubt.since) >= wait {
                    down
                } else {
                    State::Doubt(doubt.again(DoubtCause::Negative))
                }
            }
            State::Answered | State::Doubt(_) | State::Relayed { .. } | State::Held => {
                State::Doubt(Doubt::new(DoubtCause::Negative, now))
            }
        };
    }

    fn hear_both(&mut self, now: Timestamp) {
        let inconsistent = State::NoTargets(NoTargetsReason::PeerInconsistent);
        self.state = match &self.state {
            State::Doubt(doubt) if !matches!(doubt.cause, DoubtCause::NoWord(_)) => {
                if now.duration_since(doubt.since) >= RELOAD_VERDICT {
                    inconsistent
                } else {
                    State::Doubt(doubt.again(DoubtCause::Mixed))
                }
            }
            State::Answered | State::Doubt(_) | State::Relayed { .. } | State::Held => {
                State::Doubt(Doubt::new(DoubtCause::Mixed, now))
            }
            State::Unknown { mixed_since } => match mixed_since {
                Some(since) if now.duration_since(*since) >= RELOAD_VERDICT => inconsistent,
                since => State::Unknown { mixed_since: Some(since.unwrap_or(now)) },
            },
            // Without a consistent yes neither comes back.
            State::Lost(cause) => State::Lost(cause.clone()),
            State::NoTargets(reason) => State::NoTargets(*reason),
        };
    }

    fn hear_nothing(&mut self, cause: NoWord, now: Timestamp) {
        self.state = match &self.state {
            State::Answered => State::Doubt(Doubt::new(DoubtCause::NoWord(cause), now)),
            State::Doubt(doubt) => {
                let silent = matches!(doubt.cause, DoubtCause::NoWord(_));
                let doubt =
                    doubt.again(if silent { DoubtCause::NoWord(cause.clone()) } else { doubt.cause.clone() });
                if silent && doubt.is_tried_out() || doubt.expired(now) {
                    State::Lost(cause)
                } else {
                    State::Doubt(doubt)
                }
            }
            State::Unknown { mixed_since } => State::Unknown { mixed_since: *mixed_since },
            State::Lost(_) => State::Lost(cause),
            // These already live without the peer's own word.
            State::Relayed { .. } | State::Held | State::NoTargets(_) => return,
        };
    }

    /// The silence after one more round without a word: it becomes certain as that of a peer that had answered.
    fn still_silent(&self, cause: &NoWord, now: Timestamp) -> Option<Silence> {
        if !matches!(self.state, State::NoTargets(_)) {
            return None;
        }
        let no_word = DoubtCause::NoWord(cause.clone());
        Some(match &self.silence {
            None => Silence::Doubt(Doubt::new(no_word, now)),
            Some(Silence::Doubt(doubt)) => Silence::Doubt(doubt.again(no_word)).settled(now),
            Some(Silence::Lost { since, .. }) => Silence::Lost { cause: cause.clone(), since: *since },
        })
    }

    /// Takes in what others say. They speak for a silent peer; against its own "no" they count for nothing.
    ///
    /// `hold`: how long a probe may hold the last word, `splitBrainThresholdSeconds` of the Gslb or
    /// `PEER_HOLD_SECONDS`.
    pub fn consider(&mut self, evidence: Evidence, hold: SignedDuration, now: Timestamp) -> Transition {
        let before = self.clone();
        match (evidence, &self.state) {
            (
                Evidence::Witness { by, targets: Some(targets) },
                State::Doubt(Doubt { cause: DoubtCause::NoWord(_), .. })
                | State::Lost(_)
                | State::Relayed { .. },
            ) => {
                self.last_word = Some(LastWord { targets, at: now });
                self.state = State::Relayed { witness: by, refreshed: now };
            }
            (Evidence::Witness { targets: None, .. }, State::Held | State::Relayed { .. }) => {
                self.state = State::NoTargets(NoTargetsReason::Witnessed);
            }
            (
                Evidence::Probe { reachable: true },
                State::Doubt(Doubt { cause: DoubtCause::NoWord(_), .. }) | State::Lost(_),
            ) if self.holdable(hold, now) => {
                self.state = State::Held;
            }
            (Evidence::Probe { reachable: false }, State::Held) => self.state = State::Lost(NoWord::Timeout),
            (Evidence::Witness { .. } | Evidence::Probe { .. }, _) => {}
        }
        self.transition(&before, now)
    }

    /// Lets time pass: what is bounded ends.
    pub fn tick(&mut self, hold: SignedDuration, now: Timestamp) -> Transition {
        let before = self.clone();
        let over = match &self.state {
            State::Held => !self.holdable(hold, now),
            State::Relayed { refreshed, .. } => now.duration_since(*refreshed) >= RELAY_REFRESH,
            State::Doubt(doubt) => doubt.expired(now),
            State::Unknown { .. } | State::Answered | State::Lost(_) | State::NoTargets(_) => false,
        };
        if over {
            self.state = State::Lost(self.last_silence());
        }
        self.silence = self.silence.take().map(|silence| silence.settled(now));
        self.transition(&before, now)
    }

    /// Whether the peer gives no word and nothing else speaks for it, and when it last did as far as is known.
    pub(super) fn lost(&self) -> Option<Option<Timestamp>> {
        match (&self.state, &self.silence) {
            (State::Lost(_) | State::Unknown { .. }, _) => Some(self.last_word.as_ref().map(|word| word.at)),
            (State::NoTargets(_), Some(Silence::Lost { since, .. })) => Some(Some(*since)),
            (
                State::Answered | State::Doubt(_) | State::Relayed { .. } | State::Held | State::NoTargets(_),
                _,
            ) => None,
        }
    }

    /// Whether its word, or its silence after a "no", is being checked.
    pub(super) fn is_doubted(&self) -> bool {
        matches!(self.state, State::Doubt(_)) || matches!(self.silence, Some(Silence::Doubt(_)))
    }

    /// When the peer should be asked again outside its sweep, or the clock be looked at.
    pub fn next_look(&self, hold: SignedDuration) -> Option<Timestamp> {
        match &self.state {
            State::Doubt(doubt) => Some(doubt.next_try()),
            // A bound beyond the calendar never ends.
            State::Held => self.last_word.as_ref().and_then(|word| word.at.checked_add(hold).ok()),
            State::Relayed { refreshed, .. } => Some(*refreshed + RELAY_REFRESH),
            State::NoTargets(_) => match &self.silence {
                Some(Silence::Doubt(doubt)) => Some(doubt.next_try()),
                Some(Silence::Lost { .. }) | None => None,
            },
            State::Unknown { .. } | State::Answered | State::Lost(_) => None,
        }
    }

    fn holdable(&self, hold: SignedDuration, now: Timestamp) -> bool {
        self.last_word.as_ref().is_some_and(|word| now.duration_since(word.at) < hold)
    }

    fn last_silence(&self) -> NoWord {
        match &self.state {
            State::Doubt(Doubt { cause: DoubtCause::NoWord(cause), .. }) | State::Lost(cause) => {
                cause.clone()
            }
            State::Doubt(_)
            | State::Held
            | State::Relayed { .. }
            | State::Answered
            | State::Unknown { .. }
            | State::NoTargets(_) => NoWord::Timeout,
        }
    }

    fn transition(&mut self, before: &Self, now: Timestamp) -> Transition {
        let renamed = self.reason() != before.reason();
        if renamed {
            self.since = now;
        }
        let targets = |view: &Self| view.last_word.as_ref().map(|word| word.targets.clone());
        let decisive = self.tier() != before.tier()
            || targets(self) != targets(before)
            || self.has_verdict() != before.has_verdict();
        Transition { decisive, renamed }
    }

    /// Stable name of the state: condition reason, status field and metric label.
    pub fn reason(&self) -> &'static str {
        match self.state {
            State::Unknown { .. } => "Unknown",
            State::Answered => "Answered",
            State::Doubt(_) => "Doubt",
            State::Relayed { .. } => "Relayed",
            State::Held => "Held",
            State::Lost(_) => "Lost",
            State::NoTargets(_) => "NoTargets",
        }
    }

    /// Stable name of what led to the state.
    pub fn cause(&self) -> &'static str {
        match &self.state {
            State::Unknown { mixed_since: Some(_) } => "PeerInconsistent",
            State::Unknown { mixed_since: None } if self.asked => "NeverHeard",
            State::Unknown { mixed_since: None } => "NotAsked",
            State::Answered => "Answered",
            State::Doubt(Doubt { cause: DoubtCause::Negative, .. }) => "NegativeWithoutAuthority",
            State::Doubt(Doubt { cause: DoubtCause::Mixed, .. }) => "PeerInconsistent",
            State::Doubt(Doubt { cause: DoubtCause::NoWord(cause), .. }) | State::Lost(cause) => {
                cause.reason()
            }
            State::Relayed { .. } => "Witnessed",
            State::Held => "Probed",
            State::NoTargets(NoTargetsReason::Negative) => "Negative",
            State::NoTargets(NoTargetsReason::PeerInconsistent) => "PeerInconsistent",
            State::NoTargets(NoTargetsReason::Witnessed) => "Witnessed",
        }
    }
}

impl Silence {
    fn settled(self, now: Timestamp) -> Self {
        match self {
            Self::Doubt(Doubt { cause: DoubtCause::NoWord(cause), since, tries, together }) => {
                let doubt = Doubt { cause: DoubtCause::NoWord(cause.clone()), since, tries, together };
                if doubt.is_tried_out() || doubt.expired(now) {
                    Self::Lost { cause, since }
                } else {
                    Self::Doubt(doubt)
                }
            }
            settled => settled,
        }
    }
}
