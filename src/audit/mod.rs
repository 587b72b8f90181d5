//! The change log: every change at a provider is written down before and after it is made.
//!
//! [`ChangeLog`] appends, [`read`] pages through what is there, [`Shipper`] sends each line out of the cluster
//! as it is written. The rules of the chain are in [`gslb_core::changelog`].

mod error;
mod log;
mod persist;
pub mod read;
mod ship;
mod under_way;

pub use error::{AuditError, KeyError};
pub use log::{ChangeLog, Pending};
pub use ship::Shipper;

use std::path::Path;

use gslb_core::changelog::SealKey;

/// Reads the key that seals lines: the whole file but the line break at its end.
///
/// # Errors
/// The file cannot be read or has no key in it.
pub fn read_seal_key(path: &Path) -> Result<SealKey, KeyError> {
    let bytes = std::fs::read(path).map_err(|source| KeyError::Unreadable { path: path.into(), source })?;
    let key = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let key = key.strip_suffix(b"\r").unwrap_or(key);
    if key.is_empty() {
        return Err(KeyError::Empty { path: path.into() });
    }
    Ok(SealKey::new(key))
}
