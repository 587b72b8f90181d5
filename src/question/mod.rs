//! Asks other people's DNS: peers, parents, resolvers.
//!
//! No cache, the response code is kept, and a reply counts only if id, source and question are right. A
//! [`Client`] asks; what a reply means is judged in [`gslb_core::reply`]. [`Transport`] is the seam: the real
//! one is [`Network`], tests bring their own.
//!
//! - [`Client::ask`], [`Client::ask_many`]: the addresses of a name, from one server or many;
//! - [`Client::resolve`]: the addresses of a name, from `EDGE_DNS_SERVERS` (glue, load balancers, aliases);
//! - [`Client::ask_referral`]: the delegation of a zone, as one server of its parent tells it.

mod client;
mod network;
mod referral;
mod resolve;
#[cfg(test)]
mod tests;
mod transport;
mod wire;

pub use client::Client;
pub use network::Network;
pub use referral::Referral;
pub use resolve::Resolved;
pub(crate) use resolve::socket_addresses;
pub use transport::{Attempt, Heard, Options, Protocol, Query, QueryType, Question, Transport};
