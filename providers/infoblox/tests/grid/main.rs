//! The provider against the simulated grid, over verified TLS.

#![allow(clippy::unwrap_used, reason = "tests")]

mod amends;
mod beneath;
mod contract;
mod errors;
mod guest;
mod inspect;
mod login;
mod master;
mod record;
mod records;
mod service;
mod sets;
mod stage;
mod tls;
mod views;
mod writers;
mod writes;
