//! Asks the peers and keeps what they said; judges none of it (that is `gslb_core::peer`).
//!
//! [`fleet`] knows who the peers are, [`book`] is the shared memory around the `pages`, [`sweep`] asks for `localtargets-` records,
//! [`glue`] finds the peers' addresses, [`memory`] carries the views over a restart.

pub(crate) mod ask;
pub(crate) mod book;
pub(crate) mod fleet;
pub(crate) mod glue;
pub(crate) mod look_up;
pub(crate) mod memory;
mod pages;
pub(crate) mod sweep;
