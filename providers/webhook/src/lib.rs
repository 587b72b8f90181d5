//! The webhook protocol of external-dns, and a provider that writes through it.
//!
//! [`protocol`] has what goes over the wire, whichever side one is on, [`adoption`] whose records count as ours at the
//! server. Both are pure.
//!
//! The provider, in reading order: [`settings`] (what an operator gives), [`provider`] (the contract: list, compare,
//! write, read back), `book` (what is remembered between calls), `listing` (all that the webhook lists, by name),
//! `claims` (whose a set is), `lower` (a change becomes one request) and `adjust` (what the webhook makes of it), all
//! pure, `inspect` (all of that for people), `client` (HTTP only), `answer` (what a reply means).

mod adjust;
pub mod adoption;
mod answer;
mod book;
mod claims;
mod client;
mod inspect;
mod listing;
mod lower;
pub mod protocol;
pub mod provider;
pub mod settings;

pub use client::CallObserver;
pub use provider::Webhook;
pub use settings::{Clock, Settings, SetupError, WebhookUrl};
