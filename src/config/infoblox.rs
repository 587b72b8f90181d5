//! Which provider publishes the delegation, and what Infoblox needs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use gslb_provider_external_dns::ExternalDns;
use gslb_provider_infoblox::Infoblox;
use gslb_provider_webhook::Webhook;

use super::address::Host;
use super::catalog::{INSTANCE_SECTION, VARIABLES, masked_url};
use super::instances;
use super::problem::Problem;
use super::reader::Reader;
use super::secret::SecretSource;
use super::webhook_provider::{self, URL, WebhookProviderSettings};

/// The provider that publishes delegations.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "a process has one of it")]
pub enum ProviderChoice {
    /// Zones are served, nothing is published.
    None,
    /// DNSEndpoint objects for external-dns.
    ExternalDns,
    /// Infoblox WAPI: one grid.
    Infoblox(InfobloxSettings),
    /// Infoblox WAPI: the listed grids by name, never none.
    Listed(BTreeMap<String, InfobloxSettings>),
    /// A webhook provider of external-dns.
    Webhook(WebhookProviderSettings),
}

/// Selects Infoblox.
pub(super) const GRID_HOST: &str = "INFOBLOX_GRID_HOST";
pub(super) const DNS_VIEW: &str = "INFOBLOX_DNS_VIEW";
/// The view of a grid whose setting names none.
pub(super) const DEFAULT_VIEW: &str = "default";
/// What the file has for a grid.
pub(super) const SECTION: &str = INSTANCE_SECTION;

/// How to reach one grid.
#[derive(Debug, Clone)]
pub struct InfobloxSettings {
    /// Grid Master.
    pub host: Host,
    /// Those that may become it.
    pub other_hosts: Vec<Host>,
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
    /// Whether the grid's DNS service is restarted.
    pub restart_policy: RestartPolicy,
    /// Deadline of one request.
    pub request_timeout: Duration,
    /// PEM bundle that is trusted besides the system's roots.
    pub ca_file: Option<PathBuf>,
    /// Whether the grid's certificate is checked.
    pub tls_verify: bool,
    /// Files with a client certificate and its key, in PEM.
    pub client_certificate: Option<(PathBuf, PathBuf)>,
}

/// Whether the grid's DNS service is restarted where that is needed to serve a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    /// The condition `Delegated` tells of it.
    Never,
    /// Only on the members that need it, once a minute at most.
    IfNeeded,
}

impl ProviderChoice {
    /// The provider's name in logs, spelled as its id is in metrics and the change log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ExternalDns => ExternalDns::ID,
            Self::Infoblox(_) | Self::Listed(_) => Infoblox::ID,
            Self::Webhook(_) => Webhook::ID,
        }
    }

    /// The grids by the names that zones may call them.
    pub fn grids(&self) -> BTreeMap<&str, &InfobloxSettings> {
        match self {
            Self::None | Self::ExternalDns | Self::Webhook(_) => BTreeMap::new(),
            Self::Infoblox(grid) => BTreeMap::from([(Infoblox::ID, grid)]),
            Self::Listed(grids) => grids.iter().map(|(name, grid)| (name.as_str(), grid)).collect(),
        }
    }

    /// Whether all clusters write one delegation, which shows who is in the fleet, and whoever holds it tells what it
    /// would hide.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Infoblox(_) | Self::Listed(_) | Self::Webhook(_) => true,
            Self::None | Self::ExternalDns => false,
        }
    }

    /// Nothing if a problem was reported.
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        if let Some(listed) = instances::read(reader) {
            return listed.map(Self::Listed);
        }
        let external_dns = reader.boolean("EXTDNS_ENABLED");
        let infoblox = !reader.text(GRID_HOST).is_empty();
        let webhook = !reader.text(URL).is_empty();
        check_only(reader, infoblox, webhook, external_dns);
        if !infoblox {
            warn_of_idle(reader, "INFOBLOX_", GRID_HOST, "grid");
        }
        if !webhook {
            warn_of_idle(reader, "WEBHOOK_PROVIDER_", URL, "webhook");
        }
        if infoblox {
            check_pool_connections(reader);
            check_proxy(reader);
            return InfobloxSettings::read(reader).map(Self::Infoblox);
        }
        if webhook {
            return WebhookProviderSettings::read(reader).map(Self::Webhook);
        }
        if reader.is_section_used(SECTION) && !reader.is_set(GRID_HOST) {
            let limit = format!("the file has settings below {SECTION}, which have no effect without a grid");
            reader.report(Problem::missing(GRID_HOST, limit, format!("set it, or remove {SECTION}")));
        }
        if reader.is_section_used(webhook_provider::SECTION) && !reader.is_set(URL) {
            let section = webhook_provider::SECTION;
            let limit =
                format!("the file has settings below {section}, which have no effect without a webhook");
            reader.report(Problem::missing(URL, limit, format!("set it, or remove {section}")));
        }
        Some(if external_dns { Self::ExternalDns } else { Self::None })
    }
}

/// Which of two was meant, nobody can know.
fn check_only(reader: &mut Reader<'_>, infoblox: bool, webhook: bool, external_dns: bool) {
    let [grid, hook, switch] = [GRID_HOST, URL, "EXTDNS_ENABLED"].map(|name| reader.called(name));
    let selected = match (infoblox, webhook) {
        (true, _) => format!("{grid} selects Infoblox already"),
        (false, true) => format!("{hook} selects a webhook already"),
        (false, false) => return,
    };
    let limit = format!("only one provider can be selected, and {selected}");
    if infoblox && webhook {
        let (shown, fix) = (masked_url(reader.text(URL)), format!("remove {hook} or {grid}"));
        reader.report(Problem::with_value(URL, shown, limit.clone(), fix));
    }
    if external_dns {
        let fix = format!("set {switch} to false or remove {}", if infoblox { grid } else { hook });
        reader.report(Problem::with_value("EXTDNS_ENABLED", "true", limit, fix));
    }
}

impl InfobloxSettings {
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let hosts = reader.parsed(GRID_HOST, "write a host name or an address", parse_hosts);
        let port = reader.whole("INFOBLOX_WAPI_PORT", 1, 65_535);
        let username = credential(reader, "INFOBLOX_WAPI_USERNAME", "INFOBLOX_WAPI_USERNAME_FILE");
        let password = credential(reader, "INFOBLOX_WAPI_PASSWORD", "INFOBLOX_WAPI_PASSWORD_FILE");
        let version = reader.parsed("INFOBLOX_WAPI_VERSION", "write for example 2.12", parse_version);
        let request_timeout = reader.seconds("INFOBLOX_HTTP_REQUEST_TIMEOUT", 1);
        let fix = "write never or if-needed";
        let restart_policy = reader.parsed("INFOBLOX_RESTART_POLICY", fix, parse_restart_policy);
        let tls_verify = tls_verify(reader);
        let ca_file = reader.path("INFOBLOX_CA_FILE").or_else(|| reader.path("SSL_CERT_FILE"));
        let view = Some(reader.text(DNS_VIEW)).filter(|view| !view.is_empty());
        let client_certificate = client_certificate(reader);
        let mut hosts = hosts?.into_iter();
        let host = hosts.next()?;
        Some(Self {
            host,
            other_hosts: hosts.collect(),
            port: u16::try_from(port).ok()?,
            version: version?,
            view: view.unwrap_or(DEFAULT_VIEW).to_owned(),
            username: username?,
            password: password?,
            restart_policy: restart_policy?,
            request_timeout,
            ca_file,
            tls_verify,
            client_certificate,
        })
    }
}

/// A variable of a provider may be all that is left of somebody's wish for it.
fn warn_of_idle(reader: &mut Reader<'_>, prefix: &str, selects: &'static str, what: &str) {
    let all = VARIABLES.iter().map(|known| known.name).filter(|name| name.starts_with(prefix));
    let set: Vec<_> = all.filter(|name| reader.reads(name) && reader.is_variable(name)).collect();
    for name in set.into_iter().filter(|name| *name != selects) {
        reader.warn(name, format!("has no effect, as {selects} names no {what}"));
    }
}

/// Accepted for k8gb's sake: the client keeps as many idle connections as it makes requests at once.
pub(super) fn check_pool_connections(reader: &mut Reader<'_>) {
    const NAME: &str = "INFOBLOX_HTTP_POOL_CONNECTIONS";
    reader.whole(NAME, 0, 1_000);
    if reader.is_set(NAME) {
        reader.warn(NAME, "has no effect: at most 4 idle connections are kept");
    }
}

/// Switched off by nothing but the setting itself, and never without a word.
fn tls_verify(reader: &mut Reader<'_>) -> bool {
    const NAME: &str = "INFOBLOX_TLS_VERIFY";
    let verifies = reader.boolean(NAME);
    if !verifies {
        reader.warn(
            NAME,
            "is false: the grid's certificate is not checked, so whoever stands between this cluster and the grid can take the account and answer in the grid's place; set INFOBLOX_CA_FILE and remove it",
        );
    }
    verifies
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
    if value.is_empty() && reader.is_instance() {
        let limit =
            "a provider of type infoblox needs an account, whose name and password are in mounted files";
        reader.report(Problem::missing(file, limit, "name the file"));
        return None;
    }
    if value.is_empty() {
        let limit = format!("Infoblox is selected by {} and needs an account", reader.called(GRID_HOST));
        let fix = format!("set it, or better {} to a mounted file", reader.place(file));
        reader.report(Problem::missing(plain, limit, fix));
        return None;
    }
    Some(SecretSource::Value(value.into()))
}

/// The HTTP client reads it by itself, and passes over one that it does not understand.
pub(super) fn check_proxy(reader: &mut Reader<'_>) {
    const NAME: &str = "HTTPS_PROXY";
    let proxy = reader.text(NAME);
    let host = proxy.strip_prefix("http://").or_else(|| proxy.strip_prefix("https://")).unwrap_or(proxy);
    if !proxy.is_empty() && (host.is_empty() || host.contains("://") || host.contains(char::is_whitespace)) {
        let (shown, limit) = (masked_url(proxy), "it is no URL of an HTTP proxy");
        let fix = "write for example http://proxy.example.com:3128";
        reader.report(Problem::with_value(NAME, shown, limit, fix));
    }
}

/// Never empty.
pub(super) fn parse_hosts(text: &str) -> Result<Vec<Host>, String> {
    text.split(',').map(|host| Host::parse(host.trim())).collect()
}

/// Both or neither.
fn client_certificate(reader: &mut Reader<'_>) -> Option<(PathBuf, PathBuf)> {
    const CERTIFICATE: &str = "INFOBLOX_CLIENT_CERT_FILE";
    const KEY: &str = "INFOBLOX_CLIENT_KEY_FILE";
    let (certificate, key) = (reader.path(CERTIFICATE), reader.path(KEY));
    let missing = match (&certificate, &key) {
        (Some(_), None) => KEY,
        (None, Some(_)) => CERTIFICATE,
        (Some(_), Some(_)) | (None, None) => return certificate.zip(key),
    };
    let limit = "a client certificate and its key are only of use together";
    reader.report(Problem::missing(missing, limit, "set both or neither".to_owned()));
    None
}

fn parse_restart_policy(text: &str) -> Result<RestartPolicy, String> {
    match text {
        "never" => Ok(RestartPolicy::Never),
        "if-needed" => Ok(RestartPolicy::IfNeeded),
        _ => Err("it is no restart policy".to_owned()),
    }
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

#[cfg(test)]
mod tests {
    use super::super::catalog::Readers;
    use super::super::{RawConfig, Settings};
    use super::*;

    const GIVEN: [(&str, &str); 5] = [
        ("CLUSTER_GEO_TAG", "eu"),
        ("EDGE_DNS_SERVERS", "192.0.2.53"),
        ("INFOBLOX_GRID_HOST", "gm.example.com"),
        ("INFOBLOX_WAPI_USERNAME", "gslb"),
        ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
    ];

    fn read(more: &[(&str, &str)]) -> Result<InfobloxSettings, String> {
        let raw = RawConfig::read(|name| {
            let mut pairs = more.iter().chain(&GIVEN);
            pairs.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        });
        match Settings::resolve(&raw).map_err(|problems| problems.0[0].to_string())?.provider {
            ProviderChoice::Infoblox(infoblox) => Ok(infoblox),
            ProviderChoice::None
            | ProviderChoice::ExternalDns
            | ProviderChoice::Listed(_)
            | ProviderChoice::Webhook(_) => Err("Infoblox is not selected".to_owned()),
        }
    }

    #[test]
    fn a_grid_may_have_several_hosts_and_every_one_of_them_is_checked() {
        let infoblox = read(&[("INFOBLOX_GRID_HOST", "gm.example.com, 192.0.2.9,[2001:db8::9]")]).unwrap();
        let others: Vec<_> = infoblox.other_hosts.iter().map(ToString::to_string).collect();
        assert_eq!(
            (infoblox.host.to_string().as_str(), others),
            ("gm.example.com", vec!["192.0.2.9".to_owned(), "[2001:db8::9]".to_owned()])
        );
        let refused = read(&[("INFOBLOX_GRID_HOST", "gm.example.com,,x")]).unwrap_err();
        assert!(refused.contains("the host is empty"), "{refused}");
    }

    #[test]
    fn a_proxy_is_told_without_its_password_and_one_that_is_none_is_refused() {
        let shown = |proxy: &'static str| {
            let raw = RawConfig::read(|name| (name == "HTTPS_PROXY").then(|| proxy.to_owned()));
            let lines = raw.print(Readers::Run);
            lines
                .lines()
                .find_map(|line| line.strip_prefix("# ").filter(|line| line.starts_with("HTTPS_PROXY=")))
                .map(str::to_owned)
                .unwrap()
        };
        assert_eq!(shown("http://proxy.example.com:3128"), "HTTPS_PROXY=http://proxy.example.com:3128");
        assert_eq!(shown("http://me:p@ss@proxy:3128"), "HTTPS_PROXY=http://***@proxy:3128");
        assert_eq!(shown("me:hunter2@proxy:3128"), "HTTPS_PROXY=***@proxy:3128");
        assert_eq!(shown("http://u:x@proxy:3128/?token=x"), "HTTPS_PROXY=http://***@proxy:3128/?***");
        assert_eq!(shown("http://me:hunter?2@proxy:3128"), "HTTPS_PROXY=http://***");
        assert_eq!(shown("http://proxy:3128/?token=hun@ter2"), "HTTPS_PROXY=http://***");
        for bad in ["ftp://proxy", "http://", "two words"] {
            let refused = read(&[("HTTPS_PROXY", bad)]).unwrap_err();
            assert!(refused.starts_with("HTTPS_PROXY") && refused.contains("http://proxy."), "{refused}");
        }
        assert!(read(&[("HTTPS_PROXY", "proxy:3128")]).is_ok());
    }

    #[test]
    fn a_password_in_the_place_of_a_host_is_refused_and_not_shown() {
        for host in
            ["svc:s3cret@gm", "https://svc:s3cret@gm.example.com", "gm, svc:s3cret@gm2", "gm?token=s3cret"]
        {
            let refused = read(&[("INFOBLOX_GRID_HOST", host)]).unwrap_err();
            assert!(refused.contains("INFOBLOX_GRID_HOST") && refused.contains("***"), "{refused}");
            assert!(!refused.contains("s3cret"), "{refused}");
        }
    }

    #[test]
    fn a_client_certificate_comes_with_its_key_or_not_at_all() {
        let both = [("INFOBLOX_CLIENT_CERT_FILE", "/c.pem"), ("INFOBLOX_CLIENT_KEY_FILE", "/k.pem")];
        let files = |given: &[(&str, &str)]| read(given).map(|infoblox| infoblox.client_certificate);
        assert_eq!(files(&both), Ok(Some(("/c.pem".into(), "/k.pem".into()))));
        assert_eq!(files(&[]), Ok(None));
        assert!(files(&both[..1]).unwrap_err().starts_with("INFOBLOX_CLIENT_KEY_FILE"));
        assert!(files(&both[1..]).unwrap_err().starts_with("INFOBLOX_CLIENT_CERT_FILE"));
    }

    #[test]
    fn a_certificate_is_checked_unless_that_is_switched_off_which_is_told() {
        let told = |value: Option<&'static str>| {
            let raw = RawConfig::read(|name| match name {
                "INFOBLOX_TLS_VERIFY" => value.map(str::to_owned),
                _ => GIVEN.iter().find(|(known, _)| *known == name).map(|(_, given)| (*given).to_owned()),
            });
            let settings = Settings::resolve(&raw).map_err(|problems| problems.to_string())?;
            let told: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
            match settings.provider {
                ProviderChoice::Infoblox(infoblox) => Ok((infoblox.tls_verify, told.join("; "))),
                ProviderChoice::None
                | ProviderChoice::ExternalDns
                | ProviderChoice::Listed(_)
                | ProviderChoice::Webhook(_) => Err("no Infoblox".to_owned()),
            }
        };
        for value in [None, Some("true"), Some("yes")] {
            assert_eq!(told(value), Ok((true, String::new())), "{value:?}");
        }
        let (verifies, warning) = told(Some("false")).unwrap();
        assert!(
            !verifies
                && warning.starts_with("INFOBLOX_TLS_VERIFY is false: the grid's certificate is not checked")
        );
        assert!(told(Some("off")).unwrap_err().contains("INFOBLOX_TLS_VERIFY"));
    }

    #[test]
    fn a_restart_policy_is_never_or_if_needed() {
        let policy =
            |text| read(&[("INFOBLOX_RESTART_POLICY", text)]).map(|infoblox| infoblox.restart_policy);
        assert_eq!(read(&[]).unwrap().restart_policy, RestartPolicy::Never);
        assert_eq!(policy("never"), Ok(RestartPolicy::Never));
        assert_eq!(policy("if-needed"), Ok(RestartPolicy::IfNeeded));
        let refused = policy("always").unwrap_err();
        assert!(refused.starts_with("INFOBLOX_RESTART_POLICY"), "{refused}");
        assert!(refused.ends_with("write never or if-needed"), "{refused}");
    }
}
