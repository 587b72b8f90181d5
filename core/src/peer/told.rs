//! The states of a view as users are told them.

use std::fmt;

use super::view::{Silence, State, View};

/// A state as users are told it, in the order of how much it asks for attention.
///
/// A doubt is missing: it lasts a few seconds and changes no answer, so it is told as [`Self::Answered`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToldState {
    /// The peer named its targets itself.
    Answered,
    /// The peer has no healthy target.
    NoTargets,
    /// Silent, but a witness hears it.
    Relayed,
    /// Silent, but its targets answer a probe.
    Held,
    /// Never heard.
    Unknown,
    /// Silent, and nothing speaks for it.
    Lost,
}

impl ToldState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Answered, Self::NoTargets, Self::Relayed, Self::Held, Self::Unknown, Self::Lost];

    /// Stable name: status field and metric label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "Answered",
            Self::NoTargets => "NoTargets",
            Self::Relayed => "Relayed",
            Self::Held => "Held",
            Self::Unknown => "Unknown",
            Self::Lost => "Lost",
        }
    }

    /// Whether the peer gives its word, a yes or a no.
    pub fn is_answering(self) -> bool {
        match self {
            Self::Answered | Self::NoTargets => true,
            Self::Relayed | Self::Held | Self::Unknown | Self::Lost => false,
        }
    }
}

impl fmt::Display for ToldState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl View {
    /// The state as users are told it, and what led to it. A peer that said "no" and fell silent is told as lost: its
    /// "no" goes on, but nobody knows whether it still exists.
    pub fn told(&self) -> (ToldState, &'static str) {
        match (&self.state, &self.silence) {
            (State::Doubt(_), _) => (ToldState::Answered, ToldState::Answered.as_str()),
            (State::NoTargets(_), Some(Silence::Lost { cause, .. })) => (ToldState::Lost, cause.reason()),
            _ => (self.word(), self.cause()),
        }
    }

    /// What its word says, however long ago that was.
    pub fn word(&self) -> ToldState {
        match self.state {
            State::Answered | State::Doubt(_) => ToldState::Answered,
            State::Unknown { .. } => ToldState::Unknown,
            State::Relayed { .. } => ToldState::Relayed,
            State::Held => ToldState::Held,
            State::Lost(_) => ToldState::Lost,
            State::NoTargets(_) => ToldState::NoTargets,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::doubt::{Doubt, DoubtCause};
    use super::super::round::Verdict;
    use super::super::view::Tier;
    use super::*;
    use crate::reply::NoWord;

    #[test]
    fn what_nobody_speaks_for_asks_for_more_attention_than_what_somebody_says() {
        let mut states = [ToldState::Lost, ToldState::Held, ToldState::Answered, ToldState::NoTargets];
        states.sort();
        assert_eq!(states, [ToldState::Answered, ToldState::NoTargets, ToldState::Held, ToldState::Lost]);
    }

    #[test]
    fn only_a_peer_that_speaks_itself_is_answering() {
        assert!(ToldState::Answered.is_answering() && ToldState::NoTargets.is_answering());
        for state in [ToldState::Relayed, ToldState::Held, ToldState::Unknown, ToldState::Lost] {
            assert!(!state.is_answering(), "{state}");
        }
    }

    #[test]
    fn a_peer_that_said_no_and_falls_silent_is_told_as_lost_within_the_bound_and_stays_down() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let silent = || Verdict::NoWord(NoWord::Timeout);
        let no = Verdict::Negative { authoritative: true };
        let hold = jiff::SignedDuration::from_secs(30);
        let mut view = View::new(at(0));
        view.hear(no.clone(), at(0));
        let first = view.hear(silent(), at(1000));
        assert_eq!((view.told().0, first.decisive), (ToldState::NoTargets, false), "one silence is none");
        for (next, asked) in [(1000, 1200), (1500, 1700)] {
            assert_eq!(view.next_look(hold), Some(at(next)));
            view.hear(silent(), at(asked));
            assert_eq!(view.told().0, ToldState::NoTargets);
        }
        let last = view.tick(hold, at(4000));
        assert_eq!((view.told(), view.next_look(hold)), ((ToldState::Lost, "Timeout"), None));
        assert_eq!((view.tier(), view.word(), last.decisive), (Tier::Down, ToldState::NoTargets, false));
        view.hear(silent(), at(9000));
        assert_eq!(view.told().0, ToldState::Lost);
        view.hear(no, at(14_000));
        assert_eq!(view.told(), (ToldState::NoTargets, "Negative"));
    }

    #[test]
    fn a_doubt_is_told_as_the_word_that_is_doubted() {
        let mut view = View::new(Timestamp::UNIX_EPOCH);
        assert_eq!(view.told(), (ToldState::Unknown, "NotAsked"));
        view.state = State::Doubt(Doubt::new(DoubtCause::NoWord(NoWord::Timeout), Timestamp::UNIX_EPOCH));
        assert_eq!(view.told(), (ToldState::Answered, "Answered"));
    }
}
