//! Which provider publishes the delegation.

use std::collections::BTreeMap;

use gslb_provider_external_dns::ExternalDns;
use gslb_provider_infoblox::Infoblox;
use gslb_provider_webhook::Webhook;

use super::catalog::{VARIABLES, masked_url};
use super::infoblox::{GRID_HOST, InfobloxSettings, SECTION, check_pool_connections, check_proxy};
use super::instances;
use super::problem::Problem;
use super::reader::Reader;
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

/// A variable of a provider may be all that is left of somebody's wish for it.
fn warn_of_idle(reader: &mut Reader<'_>, prefix: &str, selects: &'static str, what: &str) {
    let all = VARIABLES.iter().map(|known| known.name).filter(|name| name.starts_with(prefix));
    let set: Vec<_> = all.filter(|name| reader.reads(name) && reader.is_variable(name)).collect();
    for name in set.into_iter().filter(|name| *name != selects) {
        reader.warn(name, format!("has no effect, as {selects} names no {what}"));
    }
}
