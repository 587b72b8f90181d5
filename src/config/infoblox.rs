//! Which provider publishes the delegation, and what Infoblox needs.

use std::path::PathBuf;
use std::time::Duration;

use gslb_provider_external_dns::ExternalDns;
use gslb_provider_infoblox::Infoblox;

use super::address::Host;
use super::problem::Problem;
use super::reader::Reader;
use super::secret::SecretSource;

/// The provider that publishes delegations.
#[derive(Debug, Clone)]
pub enum ProviderChoice {
    /// Zones are served, nothing is published.
    None,
    /// DNSEndpoint objects for external-dns.
    ExternalDns,
    /// Infoblox WAPI.
    Infoblox(InfobloxSettings),
}

/// Selects Infoblox.
const GRID_HOST: &str = "INFOBLOX_GRID_HOST";
/// What the file has for a grid.
const SECTION: &str = "infoblox";

/// How to reach one grid.
#[derive(Debug, Clone)]
pub struct InfobloxSettings {
    /// Grid Master.
    pub host: Host,
    /// HTTPS port.
    pub port: u16,
    /// WAPI version without the leading `v`, for example `2.12`.
    pub version: String,
    /// DNS view of new zones.
    pub view: String,
    /// Account.
    pub username: SecretSource,
    /// Password.
    pub password: SecretSource,
    /// Deadline of one request.
    pub request_timeout: Duration,
    /// PEM bundle that is trusted besides the system's roots.
    pub ca_file: Option<PathBuf>,
}

impl ProviderChoice {
    /// The provider's name in logs, spelled as its id is in metrics and the change log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ExternalDns => ExternalDns::ID,
            Self::Infoblox(_) => Infoblox::ID,
        }
    }

    /// Nothing if a problem was reported.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let external_dns = reader.boolean("EXTDNS_ENABLED");
        let infoblox = !reader.text(GRID_HOST).is_empty();
        if external_dns && infoblox {
            let [other, grid] = ["EXTDNS_ENABLED", GRID_HOST].map(|name| reader.called(name));
            let limit = format!("only one provider can be selected, and {grid} selects Infoblox already");
            let fix = format!("set {other} to false or remove {grid}");
            reader.report(Problem::with_value("EXTDNS_ENABLED", "true", limit, fix));
        }
        if infoblox {
            return InfobloxSettings::read(reader).map(Self::Infoblox);
        }
        if reader.is_section_used(SECTION) && !reader.is_set(GRID_HOST) {
            let limit = format!("the file has settings below {SECTION}, which have no effect without a grid");
            reader.report(Problem::missing(GRID_HOST, limit, format!("set it, or remove {SECTION}")));
        }
        Some(if external_dns { Self::ExternalDns } else { Self::None })
    }
}

impl InfobloxSettings {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let host = reader.parsed(GRID_HOST, "write a host name or an address", Host::parse);
        let port = reader.whole("INFOBLOX_WAPI_PORT", 1, 65_535);
        let username = credential(reader, "INFOBLOX_WAPI_USERNAME", "INFOBLOX_WAPI_USERNAME_FILE");
        let password = credential(reader, "INFOBLOX_WAPI_PASSWORD", "INFOBLOX_WAPI_PASSWORD_FILE");
        let version = reader.parsed("INFOBLOX_WAPI_VERSION", "write for example 2.12", parse_version);
        let request_timeout = reader.seconds("INFOBLOX_HTTP_REQUEST_TIMEOUT", 1);
        check_pool_connections(reader);
        let ca_file = reader.path("INFOBLOX_CA_FILE").or_else(|| reader.path("SSL_CERT_FILE"));
        let view = Some(reader.text("INFOBLOX_DNS_VIEW")).filter(|view| !view.is_empty());
        Some(Self {
            host: host?,
            port: u16::try_from(port).ok()?,
            version: version?,
            view: view.unwrap_or("default").to_owned(),
            username: username?,
            password: password?,
            request_timeout,
            ca_file,
        })
    }
}

/// Accepted for k8gb's sake: the client keeps as many idle connections as it makes requests at once.
fn check_pool_connections(reader: &mut Reader<'_>) {
    const NAME: &str = "INFOBLOX_HTTP_POOL_CONNECTIONS";
    reader.whole(NAME, 0, 1_000);
    if reader.is_set(NAME) {
        reader.warn(NAME, "has no effect: at most 4 idle connections are kept");
    }
}

/// A mounted file wins over the environment.
fn credential(reader: &mut Reader<'_>, plain: &'static str, file: &'static str) -> Option<SecretSource> {
    let value = reader.verbatim(plain);
    if let Some(path) = reader.path(file) {
        if let Some(place) = reader.place_in_file(file).filter(|_| !value.is_empty()) {
            reader.warn(plain, format!("is not used: {place} names a mounted file, which wins over a value"));
        }
        return Some(SecretSource::File(path));
    }
    if value.is_empty() {
        let limit = format!("Infoblox is selected by {} and needs an account", reader.called(GRID_HOST));
        let fix = format!("set it, or better {} to a mounted file", reader.place(file));
        reader.report(Problem::missing(plain, limit, fix));
        return None;
    }
    Some(SecretSource::Value(value.into()))
}

/// k8gb's default `v2` led to `/wapi/vv2/`, which no grid serves, so a leading `v` is dropped.
fn parse_version(text: &str) -> Result<String, String> {
    let version = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let numbers = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if version.contains('.') && version.split('.').all(numbers) {
        Ok(version.to_owned())
    } else {
        Err("a WAPI version is two or three numbers separated by dots".to_owned())
    }
}
