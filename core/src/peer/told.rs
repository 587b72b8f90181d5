//! The states of a view as users are told them.

use std::fmt;

use super::view::{State, View};

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
    /// The state as users are told it, and what led to it.
    pub fn told(&self) -> (ToldState, &'static str) {
        match self.state {
            State::Doubt(_) => (ToldState::Answered, ToldState::Answered.as_str()),
            State::Unknown { .. } => (ToldState::Unknown, self.cause()),
            State::Answered => (ToldState::Answered, self.cause()),
            State::Relayed { .. } => (ToldState::Relayed, self.cause()),
            State::Held => (ToldState::Held, self.cause()),
            State::Lost(_) => (ToldState::Lost, self.cause()),
            State::NoTargets(_) => (ToldState::NoTargets, self.cause()),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::doubt::{Doubt, DoubtCause};
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
    fn a_doubt_is_told_as_the_word_that_is_doubted() {
        let mut view = View::new(Timestamp::UNIX_EPOCH);
        assert_eq!(view.told(), (ToldState::Unknown, "NotAsked"));
        view.state = State::Doubt(Doubt::new(DoubtCause::NoWord(NoWord::Timeout), Timestamp::UNIX_EPOCH));
        assert_eq!(view.told(), (ToldState::Answered, "Answered"));
    }
}
