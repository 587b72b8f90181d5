//! Secrets: where they come from, and reading them again when they change.

use std::io;
use std::path::PathBuf;

use super::files::read_file;
use secrecy::{ExposeSecret, SecretString};

/// Where a secret stands. `Debug` shows the path of a file, never a value.
#[derive(Debug, Clone)]
pub enum SecretSource {
    /// In the environment: fixed until the process restarts.
    Value(SecretString),
    /// In a mounted file, which Kubernetes replaces when the Secret changes.
    File(PathBuf),
}

/// A secret that cannot be used now.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file is not there or not readable.
    #[error("cannot read the secret file {}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file holds nothing but blanks.
    #[error("the secret file {} is empty", path.display())]
    Empty {
        /// Its path.
        path: PathBuf,
    },
}

impl SecretSource {
    /// The secret as it is now. Line ends behind it are dropped, because editors add them.
    ///
    /// # Errors
    /// The file cannot be read or is empty.
    pub fn read(&self) -> Result<SecretString, SecretError> {
        let path = match self {
            Self::Value(value) => return Ok(value.clone()),
            Self::File(path) => path.clone(),
        };
        let text = read_file(&path).and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        let text = match text {
            Ok(text) => SecretString::from(text),
            Err(source) => return Err(SecretError::Unreadable { path, source }),
        };
        let trimmed = text.expose_secret().trim_end_matches(['\r', '\n']);
        if trimmed.is_empty() {
            return Err(SecretError::Empty { path });
        }
        Ok(SecretString::from(trimmed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mounted_secret_is_read_again_when_its_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let source = SecretSource::File(path.clone());
        std::fs::write(&path, "first\n").unwrap();
        assert_eq!(source.read().unwrap().expose_secret(), "first");
        std::fs::write(&path, "second\r\n").unwrap();
        assert_eq!(source.read().unwrap().expose_secret(), "second");
    }

    #[test]
    fn a_missing_and_an_empty_file_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        let source = SecretSource::File(path.clone());
        assert!(matches!(source.read(), Err(SecretError::Unreadable { .. })));
        std::fs::write(&path, "\n").unwrap();
        assert!(matches!(source.read(), Err(SecretError::Empty { .. })));
    }

    #[test]
    fn a_secret_does_not_print() {
        assert!(!format!("{:?}", SecretSource::Value("hunter2".into())).contains("hunter2"));
    }
}
