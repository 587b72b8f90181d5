//! gslb-bridge: global load balancing for Kubernetes over the DNS that a company already runs.

pub mod audit;
pub mod cli;
pub mod dns;
pub mod telemetry;
