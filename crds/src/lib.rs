//! Rust types of the kinds that gslb-bridge reads and writes.
