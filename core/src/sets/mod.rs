//! Sets of records that somebody else decides about: external-dns asks, and this says what may be done.
//!
//! 1. [`rtype`], [`text`], [`record_set`]: what a set is. [`observed`]: what stands at a name, and whose it is.
//! 2. [`request`]: what is asked for. [`mod@plan`]: which changes follow from it, in which order; [`refusal`]: and what does
//!    not. `beneath`: what a delegation would hide.
//! 3. [`change`]: one change of one set. [`rejections`]: what a backend said to it. [`shrink`]: a listing that lost too much
//!    to be believed.
//!
//! Changes are planned for a set and not for a record, because that is what external-dns asks for and what it compares.

mod beneath;
pub mod change;
pub mod observed;
pub mod plan;
pub mod record_set;
pub mod refusal;
pub mod rejections;
pub mod request;
pub mod rtype;
pub mod shrink;
pub mod text;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use change::{ApprovedSetChange, SetChange};
pub use observed::{ObservedName, ObservedRecord, ObservedSet, ObservedSets};
pub use plan::{SetPlan, SetPolicy, Step, plan};
pub use record_set::{BadSet, Datum, Glue, RecordSet, SetKey};
pub use refusal::SetRefusal;
pub use rejections::Rejections;
pub use request::{SetRequest, Wish, Wishes, follow_servers, names_of};
pub use rtype::{OtherType, RecordType};
pub use shrink::{Loss, Told};
pub use text::Text;
