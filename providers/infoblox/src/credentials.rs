//! Where user name and password come from.

use std::path::{Path, PathBuf};

use gslb_provider_contract::ProviderError;
use secrecy::{ExposeSecret, SecretString};

/// A user name and a password, or where to read them. They are read anew for every log-in, so a changed file
/// counts at once.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// Given as values: k8gb's way, from the environment.
    Values {
        /// Not secret, but not logged either.
        username: String,
        /// Sent byte for byte.
        password: SecretString,
    },
    /// The password in a mounted file, the user name as a value.
    PasswordFile {
        /// As above.
        username: String,
        /// Holds the password.
        password_file: PathBuf,
    },
    /// The user name in a mounted file, the password as a value.
    UsernameFile {
        /// Holds the user name.
        username_file: PathBuf,
        /// As above.
        password: SecretString,
    },
    /// Mounted files.
    Files {
        /// Holds the user name.
        username_file: PathBuf,
        /// Holds the password.
        password_file: PathBuf,
    },
}

/// What is sent.
pub(crate) struct Credential {
    pub(crate) username: String,
    pub(crate) password: SecretString,
}

impl Credentials {
    pub(crate) fn read(&self) -> Result<Credential, ProviderError> {
        let credential = match self {
            Self::Values { username, password } => {
                Credential { username: username.clone(), password: password.clone() }
            }
            Self::PasswordFile { username, password_file } => {
                Credential { username: username.clone(), password: read_file(password_file)? }
            }
            Self::Files { username_file, password_file } => {
                let username = read_file(username_file)?.expose_secret().to_owned();
                Credential { username, password: read_file(password_file)? }
            }
            Self::UsernameFile { username_file, password } => {
                let username = read_file(username_file)?.expose_secret().to_owned();
                Credential { username, password: password.clone() }
            }
        };
        // RFC 7617 §2: the first colon ends the user name.
        if credential.username.is_empty() || credential.username.contains(':') {
            let text =
                "the Infoblox user name is empty or has a colon, which Basic authentication cannot carry";
            return Err(ProviderError::Misconfigured { text: text.to_owned() });
        }
        // A file that is just being written, or a Secret without its key: sending that would be a bad log-in.
        if credential.password.expose_secret().is_empty() {
            let text = "the Infoblox password is empty, so there is no log-in; give one";
            return Err(ProviderError::Misconfigured { text: text.to_owned() });
        }
        Ok(credential)
    }
}

/// The file without its final line break, which editors and `echo` add and no password ends with.
fn read_file(path: &Path) -> Result<SecretString, ProviderError> {
    let problem = |problem: &str| ProviderError::Misconfigured {
        text: format!("the Infoblox credential file {} cannot be read: {problem}", path.display()),
    };
    let failed = |error: std::io::Error| problem(&error.kind().to_string());
    // A pipe would be waited for.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(problem("it is no regular file"));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| problem("it is not UTF-8"))?;
    let line = text.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    Ok(SecretString::from(line.unwrap_or(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_file_is_read_byte_for_byte_but_for_its_final_line_break() {
        let dir = tempfile::tempdir().unwrap();
        let (username_file, password_file) = (dir.path().join("username"), dir.path().join("password"));
        std::fs::write(&username_file, "svc-dns\n").unwrap();
        let files = Credentials::Files { username_file, password_file: password_file.clone() };
        for (content, password) in
            [("p:a@s#s%&ü", "p:a@s#s%&ü"), (" two words \r\n", " two words "), ("x\n\n", "x\n")]
        {
            std::fs::write(&password_file, content).unwrap();
            let read = files.read().unwrap();
            assert_eq!((read.username.as_str(), read.password.expose_secret()), ("svc-dns", password));
        }
    }

    #[test]
    fn a_changed_user_name_counts_at_once_with_a_password_that_is_a_value() {
        let dir = tempfile::tempdir().unwrap();
        let username_file = dir.path().join("username");
        let credentials =
            Credentials::UsernameFile { username_file: username_file.clone(), password: "x".into() };
        for username in ["svc-dns", "svc-gslb"] {
            std::fs::write(&username_file, format!("{username}\n")).unwrap();
            assert_eq!(credentials.read().unwrap().username, username);
        }
    }

    #[test]
    fn an_empty_file_is_no_user_name_and_no_password() {
        let dir = tempfile::tempdir().unwrap();
        let (username_file, password_file) = (dir.path().join("username"), dir.path().join("password"));
        let files =
            Credentials::Files { username_file: username_file.clone(), password_file: password_file.clone() };
        for (username, password, word) in
            [("svc-dns", "", "password"), ("svc-dns", "\n", "password"), ("\n", "x", "user name")]
        {
            std::fs::write(&username_file, username).unwrap();
            std::fs::write(&password_file, password).unwrap();
            let error = files.read().map(drop).unwrap_err();
            assert_eq!(error.reason(), "Misconfigured");
            assert!(error.to_string().starts_with(&format!("the Infoblox {word} is empty")), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named_and_debug_shows_no_secret() {
        let file = PathBuf::from("/nonexistent/password");
        let files = Credentials::Files { username_file: file.clone(), password_file: file };
        let error = files.read().map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/password"), "{error}");
        let folder = Credentials::PasswordFile { username: "u".into(), password_file: "/".into() };
        assert!(folder.read().map(drop).unwrap_err().to_string().ends_with("it is no regular file"));
        let values = Credentials::Values { username: "u".into(), password: "hunter2".into() };
        assert!(!format!("{values:?}").contains("hunter2"));
    }
}
