//! Plays recorded HTTP exchanges back, strictly.
