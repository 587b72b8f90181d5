//! What an operator gives, checked once.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use secrecy::SecretSlice;

use crate::credentials::Credentials;

/// NIOS 8.6.0 and all later releases answer this version, and it has every field that is asked for
/// (reference.md §1.2).
pub const DEFAULT_WAPI_VERSION: &str = "2.12";

/// Tells the time: injected, so that holds and pauses can be tested.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Everything the provider needs to know.
#[derive(Clone)]
pub struct Settings {
    /// Which grid, and in which version of its interface: the addresses of the master and of those that may become it.
    /// Never empty.
    pub grids: Vec<GridAddress>,
    /// Name of the DNS view that holds the parent zone, unless another one is asked for.
    pub view: String,
    /// Who we are there.
    pub credentials: Credentials,
    /// PEM bundles of certificate authorities that are trusted besides the system's.
    pub ca_bundles: Vec<Vec<u8>>,
    /// Whether the certificate is checked (F-55). Without it anybody in between gets the credential.
    pub verifies: bool,
    /// Whether the grid's DNS service may be restarted where that is needed to serve a change.
    pub restarts: bool,
    /// PEM of a client certificate and its key, shown in the first handshake.
    pub client_certificate: Option<SecretSlice<u8>>,
    /// Longest time for one request, from connecting to the last byte.
    pub request_timeout: Duration,
    /// First pause before a failed read is sent again; it doubles.
    pub retry_pause: Duration,
    /// Tells the time.
    pub clock: Clock,
}

/// Pause before a failed read is repeated: long enough for a web server that restarts its workers, short
/// against a request timeout. No outside reference.
pub const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Why the provider cannot be set up. Its text is the sentence that the user reads.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Host and port make no URL.
    #[error(
        "INFOBLOX_GRID_HOST {host:?} with INFOBLOX_WAPI_PORT {port} is no host; give a name or an address"
    )]
    Host {
        /// As given.
        host: String,
        /// As given.
        port: u16,
    },
    /// Not a WAPI version.
    #[error(
        "INFOBLOX_WAPI_VERSION {version:?} is no WAPI version; give numbers with dots such as {DEFAULT_WAPI_VERSION}"
    )]
    Version {
        /// As given.
        version: String,
    },
    /// An empty view name would be refused by every call.
    #[error("INFOBLOX_DNS_VIEW is empty; give the name of a DNS view such as \"default\"")]
    View,
    /// The bundle holds no certificate.
    #[error(
        "the CA bundle for Infoblox holds no usable certificate: {problem}; INFOBLOX_CA_FILE must be PEM"
    )]
    CaBundle {
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody to ask.
    #[error("INFOBLOX_GRID_HOST names no host")]
    NoGrid,
    /// The client certificate and its key are of no use.
    #[error(
        "the client certificate for Infoblox cannot be used: {problem}; INFOBLOX_CLIENT_CERT_FILE and INFOBLOX_CLIENT_KEY_FILE must be PEM and belong together"
    )]
    ClientCertificate {
        /// What is wrong with it.
        problem: String,
    },
    /// `install_crypto_provider` was not called.
    #[error("no TLS crypto provider is installed")]
    NoCryptoProvider,
    /// The HTTP client could not be built, for example because the system has no certificates at all.
    #[error("the HTTPS client for Infoblox could not be set up: {problem}; set INFOBLOX_CA_FILE")]
    Client {
        /// What is wrong.
        problem: String,
    },
}

/// The base of every request: `https://<host>:<port>/wapi/v<version>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridAddress {
    host: String,
    version: String,
    base: String,
}

impl GridAddress {
    /// Composes the base URL. The version may have a leading `v`; a bare major version 2, k8gb's default, means
    /// [`DEFAULT_WAPI_VERSION`] (F-64).
    ///
    /// # Errors
    /// The host is no host or the version no version.
    pub fn new(host: &str, port: u16, version: &str) -> Result<Self, SetupError> {
        let version = parse_version(version)?;
        let bare = host.trim().trim_start_matches('[').trim_end_matches(']');
        let shown = if bare.contains(':') { format!("[{bare}]") } else { bare.to_owned() };
        let base = format!("https://{shown}:{port}/wapi/v{version}");
        let plain = !shown.is_empty() && !shown.contains(['/', '?', '#', '@', '\\', ' ']);
        if !plain || Url::parse(&base).is_err() {
            // Not with a user name and a password that somebody may have written into it.
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned();
            return Err(SetupError::Host { host, port });
        }
        Ok(Self { host: bare.to_owned(), version, base })
    }

    /// The same grid in another version of its interface.
    pub(crate) fn in_version(&self, version: &str) -> Option<Self> {
        let base = self.base.strip_suffix(&self.version)?;
        Some(Self { host: self.host.clone(), version: version.to_owned(), base: format!("{base}{version}") })
    }

    /// The host, for texts.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The version without `v`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Without a final slash.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }
}

fn parse_version(text: &str) -> Result<String, SetupError> {
    let trimmed = text.trim();
    let numbers = trimmed.strip_prefix(['v', 'V']).unwrap_or(trimmed);
    if numbers == "2" || numbers.is_empty() {
        return Ok(DEFAULT_WAPI_VERSION.to_owned());
    }
    let parts: Vec<_> = numbers.split('.').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !(2..=4).contains(&parts.len()) || !parts.iter().all(digits) {
        return Err(SetupError::Version { version: text.to_owned() });
    }
    Ok(numbers.to_owned())
}

/// Installs `ring` as the process's TLS crypto provider. Call it once, first thing in `main`; later calls do
/// nothing.
pub fn install_crypto_provider() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error means that another thread was faster.
        drop(rustls::crypto::ring::default_provider().install_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-64.
    #[test]
    fn a_version_may_have_a_v_and_k8gbs_default_is_made_usable() {
        let cases = [
            ("2.12.3", "2.12.3"),
            ("v2.12.3", "2.12.3"),
            ("V2.7", "2.7"),
            (" 2.12 ", "2.12"),
            ("v2", "2.12"),
            ("2", "2.12"),
            ("", "2.12"),
        ];
        for (given, expected) in cases {
            let grid = GridAddress::new("gm.example.com", 443, given).unwrap();
            assert_eq!(grid.version(), expected, "{given:?}");
            assert_eq!(grid.base(), format!("https://gm.example.com:443/wapi/v{expected}"));
        }
        for bad in ["latest", "2.x", "vv2.1", "1", "2..1", "2.12/.."] {
            assert!(matches!(GridAddress::new("gm", 443, bad), Err(SetupError::Version { .. })), "{bad}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_nothing_else() {
        assert_eq!(
            GridAddress::new("2001:db8::1", 8443, "2.12").unwrap().base(),
            "https://[2001:db8::1]:8443/wapi/v2.12"
        );
        for bad in ["", "https://gm.example.com", "gm.example.com/wapi", "user@gm.example.com", "a b"] {
            assert!(matches!(GridAddress::new(bad, 443, "2.12"), Err(SetupError::Host { .. })), "{bad}");
        }
    }
}
