//! The WAPI simulator as a client sees it: over verified HTTPS, and over DNS.

#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the failed test")]

mod access;
mod admins;
mod checklist;
mod delegation;
mod dns;
mod faults;
mod harness;
mod records;
mod search;
mod transactions;
