//! The rules of gslb-bridge: pure, total, deterministic.
