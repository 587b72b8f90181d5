//! Infoblox WAPI as a provider of zone delegations, and of the records of hosts.
//!
//! Modules in reading order: [`settings`] and [`credentials`] (what an operator gives), [`provider`] (the
//! contract: look up, compare, write, read back), `lower` (a change becomes one call; pure), `create`, `swap` with
//! `entries` and `revision` (a write that keeps what others write meanwhile), `task` (a write
//! that somebody has to approve), `beneath` (what a new delegation would hide), `service` (whether
//! the grid serves what it holds), `claims` (whose a record is), `records` (the records of hosts, with its own stages), `sets` (those that external-dns asks for, too), `inspect` (all of that for people), `wire` and `convert`
//! (their shapes and ours), `client` (HTTP only) with `connect`, `master`, `session`, [`login`] and `breaker` (when a
//! request may be sent, to whom, and as whom), `answer` (what a reply means) with `secrets` and `disguise` (what of it may be quoted) and
//! `bounds` and `paging` (how much of it is read), [`calls`] (measuring), [`recording`] (what a grid answers, for those who have none).

mod absence;
mod amends;
mod answer;
mod beneath;
mod bounds;
mod breaker;
pub mod calls;
mod claims;
mod client;
mod connect;
mod convert;
mod create;
pub mod credentials;
mod disguise;
mod entries;
mod inspect;
pub mod login;
mod lower;
mod master;
mod paging;
pub mod provider;
pub mod recording;
mod records;
mod revision;
mod secrets;
mod service;
mod session;
mod sets;
pub mod settings;
mod swap;
mod task;
mod transport;
mod wire;

pub use calls::{CallObserver, Operation};
pub use credentials::Credentials;
pub use login::{ForgetfulMemory, LoginMemory};
pub use provider::Infoblox;
pub use settings::{Clock, GridAddress, Settings, SetupError, install_crypto_provider};
