//! The reference provider: a zone held in memory.
