//! The whole controller against an in-memory Kubernetes API, with scripted DNS servers and Tokio's paused time.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod annotated_ingress;
mod any_order;
mod bad_input;
mod delegation;
mod discovery;
mod dns;
mod dns_endpoint_kind;
mod embedded;
mod exposed;
mod external_dns;
mod gateway;
mod gslb;
mod istio;
mod kinds;
mod legacy;
mod load_balancer;
mod log;
mod migration;
mod mixed_fleet;
mod objects;
mod owners;
mod peers;
mod places;
mod records;
mod records_fleet;
mod references;
mod rest;
mod stand_in;
mod telling;
mod tenancy;
mod world;
mod zone_approval;
mod zone_beneath;
mod zone_edits;
mod zone_log;
mod zone_members;
mod zone_proof;
mod zone_rest;
mod zone_restart;
mod zone_unverified;
mod zone_writers;
