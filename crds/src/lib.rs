//! Rust types of the kinds that gslb-bridge reads and writes, and the CustomResourceDefinitions made from them.
//!
//! Modules in reading order: [`gslb`], [`zone_delegation`] and [`dns_endpoint`] are shared with k8gb and
//! must agree with its definitions (contract §1), as must the Ingress inside a Gslb ([`ingress`]) and the Gslb of the
//! legacy group ([`legacy`]);
//! [`provider_change`] is our change log; [`marks`] lists every annotation, label and finalizer key;
//! [`definitions`] prints it all as YAML. [`admission`] has the optional policies for annotations.
//!
//! Types are lenient on purpose: an absent field, `null` and an empty value read alike and unknown fields
//! are passed over, because one object that does not parse must not hide its neighbours. What is allowed is
//! decided where the values are parsed into core types.

#![allow(
    clippy::duplicated_attributes,
    reason = "takes equal column types of several printer columns for repetition"
)]

pub mod admission;
pub mod definitions;
pub mod dns_endpoint;
pub mod gslb;
pub mod ingress;
pub mod legacy;
mod lenient;
pub mod marks;
pub mod provider_change;
mod refine;
pub mod zone_delegation;

pub use definitions::{all, yaml};
pub use dns_endpoint::{DnsEndpoint, DnsEndpointSpec, Endpoint};
pub use gslb::{Gslb, GslbSpec, GslbStatus};
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
pub use legacy::LegacyGslb;
pub use provider_change::{ProviderChange, ProviderChangeSpec, ProviderChangeStatus};
pub use zone_delegation::{ZoneDelegation, ZoneDelegationSpec, ZoneDelegationStatus};
