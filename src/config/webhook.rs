//! The part of the settings that `gslb-bridge webhook` reads: one grid, and what is ours to write there.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use gslb_core::name::{DomainName, GeoTag};
use gslb_crds::provider_change::LogName;
use gslb_provider_infoblox::Infoblox;

use super::address::ServerAddress;
use super::catalog::{PROVIDERS, Readers};
use super::infoblox::{GRID_HOST, InfobloxSettings, RestartPolicy, check_pool_connections, check_proxy};
use super::instances;
use super::log::LogSettings;
use super::problem::{Problem, Problems};
use super::raw::RawConfig;
use super::reader::Reader;
use super::settings::{ChangeLogSettings, METRICS_PORT, parse_object_name, parse_tag, pod_name};
use crate::webhook::settings::{Adoption, WebhookSettings};

/// Port that external-dns asks unless it is told otherwise.
const PORT: u16 = 8888;
/// Longest owner: with `webhook-` before it, it names a change log.
const LONGEST_OWNER: usize = 50;

impl WebhookSettings {
    /// Turns what the user wrote into what the webhook may use.
    ///
    /// # Errors
    /// Everything that is wrong, at once. The caller prints it and exits with [`super::EXIT_CODE`].
    pub fn resolve(raw: &RawConfig) -> Result<Self, Problems> {
        let mut reader = Reader::new(raw, Readers::Webhook);
        let settings = read(&mut reader);
        let (settings, warnings) = reader.end(settings)?;
        Ok(Self { warnings: [raw.warnings(Readers::Webhook), warnings].concat(), ..settings })
    }
}

fn read(reader: &mut Reader<'_>) -> Option<WebhookSettings> {
    let domains = read_domains(reader);
    let listen = reader.parsed("WEBHOOK_LISTEN", "write for example 127.0.0.1:8888", parse_listen);
    if let Some(listen) = listen.filter(|listen| !listen.ip().is_loopback()) {
        let text = format!(
            "is {listen}: whoever reaches it may write DNS; better run the webhook beside external-dns in one pod"
        );
        reader.warn("WEBHOOK_LISTEN", text);
    }
    let owner = reader.parsed("WEBHOOK_OWNER", "write for example external-dns", parse_owner);
    let adopted = reader.list("WEBHOOK_ADOPT_OWNERS", "list owner ids such as k8gb-eu", |text| match text {
        "" => Err("it is empty".to_owned()),
        text => Ok(text.to_owned()),
    });
    let prefix = reader.text("WEBHOOK_ADOPT_TXT_PREFIX").to_lowercase();
    let max_deleted_percent = reader.whole("WEBHOOK_MAX_DELETED_PERCENT", 0, 100);
    let max_endpoints = reader.whole("WEBHOOK_MAX_ENDPOINTS", 1, 1_000_000);
    let deadline = reader.seconds("WEBHOOK_DEADLINE_SECONDS", 1);
    let (provider, grid) = read_grid(reader).unzip();
    let namespace = reader.parsed("POD_NAMESPACE", "write a namespace's name", parse_object_name);
    let metrics_address = reader.parsed("METRICS_ADDRESS", "write for example 0.0.0.0:8080", |text| {
        ServerAddress::parse(text, METRICS_PORT, true)
    });
    let log = LogSettings::read(reader);
    let (log_name, owner) = owner?;
    Some(WebhookSettings {
        domains,
        listen: listen?,
        owner,
        log_name,
        adoption: Adoption { owners: adopted.into_iter().collect::<BTreeSet<_>>(), prefix },
        max_deleted_percent: usize::try_from(max_deleted_percent).ok()?,
        max_endpoints: usize::try_from(max_endpoints).ok()?,
        deadline,
        provider: provider?,
        grid: grid?,
        namespace: namespace?,
        pod_name: pod_name(reader),
        metrics_address: metrics_address?,
        change_log: ChangeLogSettings {
            file: reader.path("CHANGE_LOG_FILE"),
            hmac_key_file: reader.path("CHANGE_LOG_HMAC_KEY_FILE"),
        },
        log: log?,
        warnings: Vec::new(),
    })
}

fn read_domains(reader: &mut Reader<'_>) -> Vec<DomainName> {
    const NAME: &str = "WEBHOOK_DOMAINS";
    const FIX: &str = "list domains such as example.com,example.org";
    let before = reader.problem_count();
    let domain = |text: &str| match DomainName::parse(text) {
        Ok(name) if name.is_wildcard() => {
            Err("it is no domain, which stands for all that is beneath it by itself".to_owned())
        }
        parsed => parsed.map_err(|error| error.to_string()),
    };
    let domains = reader.list(NAME, FIX, domain);
    if domains.is_empty() && reader.problem_count() == before {
        let limit = "external-dns writes nowhere where it is not told to";
        reader.report(Problem::missing(NAME, limit, FIX));
    }
    domains
}

/// The grid that is written to, and what it is called.
fn read_grid(reader: &mut Reader<'_>) -> Option<(String, InfobloxSettings)> {
    let (name, grid) = if let Some(listed) = instances::read(reader) {
        let mut listed = listed?.into_iter();
        match (listed.next(), listed.next()) {
            (Some(only), None) => only,
            _ => {
                let limit = format!("{PROVIDERS} lists several, and the webhook writes to one grid");
                let fix = "give the webhook a file of its own with one of them";
                reader.report(Problem::missing(GRID_HOST, limit, fix));
                return None;
            }
        }
    } else if reader.text(GRID_HOST).is_empty() {
        let limit = "the webhook writes to a grid";
        reader.report(Problem::missing(GRID_HOST, limit, "write the Grid Master's name or address"));
        return None;
    } else {
        check_pool_connections(reader);
        check_proxy(reader);
        (Infoblox::ID.to_owned(), InfobloxSettings::read(reader)?)
    };
    if grid.restart_policy == RestartPolicy::IfNeeded {
        let text = "is if-needed, which has no effect here: the webhook restarts no services, so a delegation is served after the grid's next restart";
        reader.warn("INFOBLOX_RESTART_POLICY", text);
    }
    Some((name, grid))
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let bare = || text.parse().map(|address: IpAddr| SocketAddr::new(address, PORT));
    text.parse().or_else(|_| bare()).map_err(|_| "it is no address with a port".to_owned())
}

/// The change log of an owner, and its tag.
fn parse_owner(text: &str) -> Result<(LogName, GeoTag), String> {
    let owner = parse_tag(text).map_err(|_| "an owner has letters, digits and inner dashes".to_owned())?;
    if owner.as_str().len() > LONGEST_OWNER {
        return Err(format!("an owner has at most {LONGEST_OWNER} characters"));
    }
    Ok((LogName::new(&format!("webhook-{owner}"))?, owner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(pairs: &[(&str, &str)]) -> Result<WebhookSettings, String> {
        let find =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        WebhookSettings::resolve(&RawConfig::read(find)).map_err(|problems| problems.to_string())
    }

    const GIVEN: [(&str, &str); 4] = [
        ("WEBHOOK_DOMAINS", "example.com, Example.org."),
        ("INFOBLOX_GRID_HOST", "gm.example.com"),
        ("INFOBLOX_WAPI_USERNAME", "svc-dns"),
        ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
    ];

    fn with(more: &[(&'static str, &'static str)]) -> Result<WebhookSettings, String> {
        resolve(&[more, GIVEN.as_slice()].concat())
    }

    #[test]
    fn domains_and_a_grid_are_all_that_is_needed() {
        let settings = with(&[]).unwrap();
        let domains: Vec<_> = settings.domains.iter().map(ToString::to_string).collect();
        assert_eq!(domains, ["example.com", "example.org"]);
        assert_eq!(settings.listen.to_string(), "127.0.0.1:8888");
        assert_eq!(
            (settings.owner.as_str(), settings.log_name.to_string().as_str()),
            ("external-dns", "webhook-external-dns")
        );
        assert_eq!((settings.max_deleted_percent, settings.deadline.as_secs()), (50, 12));
        assert_eq!(settings.warnings, []);
        let told = resolve(&[]).unwrap_err();
        for name in ["WEBHOOK_DOMAINS", "INFOBLOX_GRID_HOST"] {
            assert!(told.contains(name), "{name} is missing in {told}");
        }
    }

    #[test]
    fn what_may_surprise_is_told() {
        let told = |more: &[(&'static str, &'static str)]| with(more).unwrap().warnings[0].to_string();
        assert!(
            told(&[("WEBHOOK_LISTEN", "0.0.0.0")]).contains("0.0.0.0:8888: whoever reaches it may write DNS")
        );
        assert!(told(&[("INFOBLOX_RESTART_POLICY", "if-needed")]).contains("has no effect here"));
        for bad in [
            ("WEBHOOK_DOMAINS", "*"),
            ("WEBHOOK_DOMAINS", "example.com,*.example.org"),
            ("WEBHOOK_OWNER", "a b"),
            ("WEBHOOK_MAX_DELETED_PERCENT", "101"),
            ("WEBHOOK_LISTEN", "here"),
        ] {
            assert!(with(&[bad]).unwrap_err().contains(bad.0), "{bad:?}");
        }
    }
}
