//! Records mode: the records of a host in a zone that the provider serves itself, kept by several clusters side by
//! side.
//!
//! Each address is an object of its own, with the claim of the cluster that made it. A cluster's record stands while
//! that cluster is in the decision of [`decide`](mod@crate::decision), and only its own hand removes it. The exception
//! is a cluster that is gone: [`evidence`] says who may take its record away, and when.
//!
//! 1. [`record`], [`change`]: what stands at a host, and one edit of it.
//! 2. [`desired`]: what this cluster wants there.
//! 3. [`evidence`], [`challenge`]: what is known of the other clusters.
//! 4. [`mod@plan`], [`finding`], [`limits`]: what to change, what is told, and what must never happen whatever the plan says.

pub mod challenge;
pub mod change;
pub mod desired;
pub mod evidence;
pub mod finding;
pub mod limits;
pub mod plan;
pub mod record;

pub use challenge::Challenges;
pub use change::{RecordChange, StaleRecord};
pub use desired::{DesiredHost, HostWish, Unfit};
pub use evidence::{Evidence, PeerStanding, Reaping};
pub use finding::RecordFinding;
pub use limits::{ApprovedRecordChange, ApprovedRecordPlan, RecordLimits, RecordRefusal};
pub use plan::{PlannedChange, RecordPlan, plan};
pub use record::{Challenge, HostObstacle, HostRecord, ObservedHost, RecordClaim, ZoneRecords};
