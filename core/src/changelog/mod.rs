//! The change log: one hash chain over what was about to be written at a provider and what came of it.
//!
//! [`entry`] is what a line says, [`chain`] how lines hang together, [`verify`] finds what somebody did to
//! them afterwards, alone or ([`shipped`]) against the copy that left the cluster when they were written.
//! [`settle`] says what came of a change whose outcome nobody saw.
//!
//! A line is `{line, previous, entry, hash, seal}` in canonical JSON (RFC 8785); `hash` covers the first three
//! and so, through `previous`, all lines before. Whoever can write to the cluster can rewrite the whole chain
//! consistently: only a sealed chain or the shipped copy tells. A cut at the end leaves a sealed chain valid,
//! so that only the shipped copy tells of it.

pub mod chain;
pub mod entry;
pub mod settle;
pub mod shipped;
pub mod verify;

pub use chain::{Hash, Inexact, Line, SealKey, Tail};
pub use entry::{Action, Amends, ChangeResult, Entry, Intent, ObjectRef, Outcome, Proposal, Verdict, Who};
pub use settle::{Settlement, Unsettled};
pub use shipped::{verify_against, verify_against_from};
pub use verify::{Fault, Proof, Report, verify, verify_from};
