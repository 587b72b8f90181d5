//! Writes the application DNSEndpoint: the only writer of a pass.

use gslb_core::publication::Publication;
use gslb_crds::{DnsEndpoint, Gslb, gslb};
use jiff::Timestamp;
use kube::{Api, ResourceExt};

use super::group::Served;
use super::live::{EndpointFacts, body, desired, view};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::write::{Need, Write};
use crate::kube_call::in_time;

/// What became of the DNSEndpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Applied {
    /// It holds what was decided.
    Published,
    /// Nothing was ever accepted, and no host is known whose place could be held.
    Nothing,
    /// An object of this name belongs to somebody else.
    Foreign,
    /// The Gslb of this name in the other group publishes it.
    Twin,
    /// The API server has no such kind.
    KindMissing,
    /// The API server did not take it; what it holds goes on being answered.
    Refused {
        /// What it said.
        why: String,
    },
    /// Somebody else keeps changing it back.
    Contested {
        /// When it is written again.
        until: Timestamp,
    },
}

impl Applied {
    /// When a record that somebody keeps changing back is written again.
    pub(crate) fn contested_until(&self) -> Option<Timestamp> {
        match self {
            Self::Contested { until } => Some(*until),
            Self::Published
            | Self::Nothing
            | Self::Foreign
            | Self::Twin
            | Self::KindMissing
            | Self::Refused { .. } => None,
        }
    }
}

/// Name of this kind of write.
pub(crate) const WHAT: &str = "DNSEndpoint";

/// Publishes what was decided, if the server holds something else.
pub(crate) async fn apply(
    context: &Context,
    gslb: Served<'_>,
    publication: &Publication,
    endpoint: Option<&EndpointFacts>,
    now: Timestamp,
) -> kube::Result<Applied> {
    let uid = gslb.uid().unwrap_or_default();
    let foreign = endpoint.is_some_and(|facts| !facts.is_for(&uid));
    if publication.accepted.is_none()
        && (foreign || endpoint.is_none() && publication.unanswered.0.is_empty())
    {
        return Ok(Applied::Nothing);
    }
    if foreign {
        return Ok(Applied::Foreign);
    }
    let object = desired(gslb, strategy_in_force(&gslb, publication, endpoint).as_ref(), publication);
    let key = gslb.key();
    let wanted = view(&object);
    let live = endpoint.map(|facts| &facts.live);
    match context.writer.need(WHAT, &key, &wanted, live, now) {
        Need::Nothing => {}
        Need::Wait(until) => return Ok(Applied::Contested { until }),
        Need::Write => {
            let api: Api<DnsEndpoint> = Api::namespaced(context.client.clone(), &key.namespace);
            if endpoint.is_none() && is_taken(&api, &key, &uid).await? {
                return Ok(Applied::Foreign);
            }
            let write = Write { what: WHAT, key: &key, status: None, desired: wanted, live, now };
            context.writer.apply(write, &api, &body(&object, endpoint), view).await?;
            tracing::info!(gslb = %gslb.id(), "Published records.");
        }
    }
    Ok(Applied::Published)
}

/// Whether somebody else made an object of this name that no watch has shown yet: an apply would take it over.
async fn is_taken(api: &Api<DnsEndpoint>, key: &Key, uid: &str) -> kube::Result<bool> {
    let found = in_time(api.get_metadata_opt(&key.name)).await?;
    Ok(found.is_some_and(|found| !EndpointFacts::of_metadata(found.metadata).is_for(uid)))
}

/// The spec as written if it was accepted, else the one that goes on; `None`: none was ever accepted.
fn strategy_in_force(
    gslb: &Gslb,
    publication: &Publication,
    endpoint: Option<&EndpointFacts>,
) -> Option<gslb::Strategy> {
    let accepted = publication.accepted.as_ref()?;
    let written = &gslb.spec.strategy;
    if super::live::raw_strategy(written).accept().ok().as_ref() == Some(accepted) {
        return Some(written.clone());
    }
    endpoint.and_then(|facts| facts.raw_in_force.clone()).or_else(|| Some(written.clone()))
}
