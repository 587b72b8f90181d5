//! What this cluster believes about a host in a peer cluster, and why (design §2.1).
//!
//! A [`View`] is one peer and one host; [`PeerViews`] holds all hosts of one peer. Both are plain machines: the
//! shell asks the peer's DNS, hands in a [`Round`] of replies and the time, and asks when to ask again. A reply
//! that never came is never a "no": only the peer itself, or a witness, can take its targets away.

mod round;
mod view;
mod views;

pub use round::{Round, Verdict};
pub use view::{
    Doubt, DoubtCause, Evidence, LastWord, NoTargetsReason, RELAY_REFRESH, State, Tier, Transition, View,
};
pub use views::{PeerViews, Remembered};

#[cfg(test)]
mod given;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
