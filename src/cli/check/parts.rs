//! Which parts there are to look at.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use gslb_core::name::DomainName;
use gslb_core::outlet::Outlet;
use gslb_provider_contract::{Finding, Inspected, Provider};
use kube::Client;
use prometheus_client::registry::Registry;

use crate::config::{BadConfiguration, ProviderChoice, Settings};
use crate::metrics::Metrics;
use crate::providers::Providers;
use crate::provision;

/// What is said where nothing is configured that could be looked at. That is no fault.
pub(super) fn without_provider(settings: &Settings) -> Option<Finding> {
    let found = match settings.provider {
        ProviderChoice::Infoblox(_) | ProviderChoice::Listed(_) | ProviderChoice::Webhook(_) => {
            return None;
        }
        ProviderChoice::None => {
            "no grid is configured (INFOBLOX_GRID_HOST is not set), so none was looked at: delegations are kept by hand"
        }
        ProviderChoice::ExternalDns => {
            "no grid is configured (EXTDNS_ENABLED selects external-dns), so none was looked at"
        }
    };
    Some(Finding::ok("provider", found))
}

/// The providers as `run` sets them up, with the same count of bad log-ins. Their numbers are nobody's here.
pub(super) fn providers(settings: &Settings, client: &Client) -> anyhow::Result<Providers> {
    let metrics = Metrics::new(&mut Registry::default(), &settings.namespace, &settings.geo_tag);
    provision::providers(settings, client, &metrics)
        .context(BadConfiguration("the provider cannot be set up"))
}

/// Where zones are published, each place with its zones; a place without any too. Records are kept at one place.
pub(super) fn places(
    settings: &Settings,
    providers: &Providers,
    Inspected { delegations, records }: Inspected,
) -> BTreeMap<Outlet, (Arc<dyn Provider>, Inspected)> {
    let outlets = providers.outlets(settings).into_iter();
    let mut places: BTreeMap<_, _> =
        outlets.map(|(outlet, provider)| (outlet, (provider, Inspected::default()))).collect();
    let mut at = |zone: &DomainName, add: &dyn Fn(&mut Inspected)| {
        for place in providers.places(settings, zone) {
            let Some(provider) = place.provider else { continue };
            add(&mut places.entry(place.outlet).or_insert_with(|| (provider, Inspected::default())).1);
        }
    };
    for zone in &delegations {
        at(zone.claimant.zone().name(), &|there| there.delegations.push(zone.clone()));
    }
    for zone in &records {
        at(zone.zone.name(), &|there| there.records.push(zone.clone()));
    }
    places
}
