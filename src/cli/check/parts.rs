//! Which parts there are to look at.

use std::sync::Arc;

use anyhow::Context;
use gslb_provider_contract::{Finding, Provider};
use kube::Client;
use prometheus_client::registry::Registry;

use crate::config::{BadConfiguration, ProviderChoice, Settings};
use crate::metrics::Metrics;
use crate::provision;

/// What is said where no grid is configured. That is no fault.
pub(super) fn without_grid(settings: &Settings) -> Option<Finding> {
    let found = match settings.provider {
        ProviderChoice::Infoblox(_) => return None,
        ProviderChoice::None => {
            "no grid is configured (INFOBLOX_GRID_HOST is not set), so none was looked at: delegations are kept by hand"
        }
        ProviderChoice::ExternalDns => {
            "no grid is configured (EXTDNS_ENABLED selects external-dns), so none was looked at"
        }
    };
    Some(Finding::ok("provider", found))
}

/// The provider as `run` sets it up, with the same count of bad log-ins. Its numbers are nobody's here.
pub(super) fn provider(settings: &Settings, client: &Client) -> anyhow::Result<Option<Arc<dyn Provider>>> {
    let metrics = Metrics::new(&mut Registry::default(), &settings.namespace, &settings.geo_tag);
    provision::provider(settings, client, &metrics).context(BadConfiguration("the provider cannot be set up"))
}
