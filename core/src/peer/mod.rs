//! What this cluster believes about a host in a peer cluster, and why (design §2.1).
//!
//! A [`View`] is one peer and one host; [`PeerViews`] holds all hosts of one peer; [`Whereabouts`] is where that peer is asked. All are plain machines: the
//! shell asks the peer's DNS, hands in a [`Round`] of replies and the time, and asks when to ask again. A reply
//! that never came is never a "no": only the peer itself, or a witness, can take its targets away.

mod doubt;
mod round;
mod told;
mod view;
mod views;
mod whereabouts;

pub use doubt::{Doubt, DoubtCause};
pub use round::{Round, Verdict};
pub use told::ToldState;
pub use view::{Evidence, LastWord, NoTargetsReason, RELAY_REFRESH, State, Tier, Transition, View};
pub use views::{PeerViews, Remembered};
pub use whereabouts::{LookUp, Whereabouts};

#[cfg(test)]
mod given;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
