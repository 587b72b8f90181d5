//! `gslb-bridge webhook`: external-dns asks, and the grid is written through our client, guard, claims and change log.
//!
//! 1. [`settings`]: what it is told. `media`: what a request and its reply are made of. `convert`: endpoints and sets.
//! 2. `desk`: what is listed and what is done; one request at a time. `report`: what came of it. `books`: the change log
//!    beside it.
//! 3. `server`: the protocol. `metrics`: what is counted. [`daemon`]: the whole process.

mod books;
mod convert;
pub mod daemon;
mod desk;
mod media;
mod metrics;
mod repeats;
mod report;
mod server;
pub mod settings;

pub use metrics::reference;
