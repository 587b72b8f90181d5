//! How often something must be found absent before it counts as gone.

/// Definite absences in a row after which an address, a name or a member is gone: more than a name server that was
/// just started, or one lost update, can make. No outside reference.
pub(crate) const ABSENCES: u8 = 3;
