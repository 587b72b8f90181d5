//! The rules of gslb-bridge: pure, total, deterministic.
//!
//! Nothing here reads a clock, the environment, a file or the network, and nothing here logs: `now` is a
//! parameter, every refusal is a value. The same inputs give the same bytes on every replica, in any input
//! order (`clippy.toml` of this package enforces it).
//!
//! Modules in reading order:
//!
//! 1. [`name`], [`ttl`], [`zone`]: what everything is called, and which hosts a zone can serve.
//! 2. [`strategy`], [`health`], [`target`]: what a Gslb asks for, and what the cluster has to offer; [`reference`],
//!    [`exposure`], [`lookup`]: which object names hosts and Services, and where its addresses come from;
//!    [`annotated`]: the Gslb that an Ingress asks for.
//! 3. [`fleet`], [`reply`], [`peer`]: who the other clusters are, what they say, and what a silence is worth.
//! 4. [`decision`], [`endpoint`], [`published`]: what a host answers, and the records that say so.
//! 5. [`group`], [`migration`], [`contest`], [`publication`], [`condition`]: who serves a host, one pass over one Gslb,
//!    and how all of it is told to the user; [`tenancy`]: what the Gslbs of a namespace may do.
//! 6. [`claim`], [`delegation`], [`edit`], [`change`], [`history`], [`mod@plan`], [`beneath`], [`limits`]: a zone delegation, from
//!    what was observed to an approved plan; [`delegation_proof`]: whether it is served; [`login`]: how often a
//!    credential may be tried; [`corefile`]: how a k8gb CoreDNS learns of its zones; [`restart`]: when a
//!    backend is made to serve what it holds; [`rivalry`]: how often what
//!    somebody else undoes is written back.
//! 7. [`records`]: instead of a delegation, the records of each host, kept by several clusters side by side.
//! 8. [`sets`]: sets of records that external-dns asks for, and what it may do with them.
//! 9. [`changelog`]: the tamper-evident chain of what was done at a provider; [`outlet`]: at which of several places.
//! 10. [`doubling`]: the pauses of whatever is tried again.
//!
//! [`few`] is the one container of its own, [`text`] what makes words of others fit for a sentence.

mod absence;
pub mod annotated;
pub mod beneath;
pub mod change;
pub mod changelog;
pub mod claim;
pub mod condition;
pub mod contest;
pub mod corefile;
pub mod decision;
pub mod delegation;
pub mod delegation_proof;
pub mod doubling;
pub mod edit;
pub mod endpoint;
pub mod exposure;
pub mod few;
pub mod fleet;
pub mod group;
pub mod health;
pub mod history;
pub mod limits;
pub mod login;
pub mod lookup;
pub mod migration;
pub mod name;
pub mod outlet;
pub mod peer;
pub mod plan;
pub mod publication;
pub mod published;
pub mod records;
pub mod reference;
pub mod reply;
pub mod restart;
pub mod rivalry;
pub mod sets;
pub mod strategy;
pub mod target;
pub mod tenancy;
pub mod text;
pub mod ttl;
pub mod zone;

#[cfg(test)]
mod given;
