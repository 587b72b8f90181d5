//! Stand-ins for the outside world, for tests and the sandbox only.

pub mod kube;
