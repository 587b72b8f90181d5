//! Our authoritative DNS server: serves what controllers published, and decides nothing about it (design §2.4).
//!
//! Modules in reading order:
//!
//! 1. [`input`], [`order`], [`snapshot`]: what is served.
//! 2. [`decide`], [`fit`]: what one question gets.

pub mod decide;
pub mod fit;
pub mod input;
pub mod order;
pub mod snapshot;

#[cfg(test)]
mod builders;
