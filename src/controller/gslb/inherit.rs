//! Takes over the DNSEndpoint of a Gslb of the same name that is gone.
//!
//! Garbage collection would take it away, at once or after seconds, and a later pass make it anew: its hosts would be
//! nowhere in between. Nothing is taken from a Gslb that exists.

use gslb_core::group::Group;
use gslb_crds::{DnsEndpoint, Gslb, LegacyGslb};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::group::Served;
use super::live::{EndpointFacts, Owner, controlling};
use super::migrate::{api, edit};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::unless_gone;
use crate::kube_call::in_time;

/// Makes this Gslb the owner, if that is right. Whether the next event tells more: nobody is to be told of a stranger then.
pub(crate) async fn inherit(
    context: &Context,
    gslb: Served<'_>,
    endpoint: Option<&EndpointFacts>,
) -> kube::Result<bool> {
    if !endpoint.is_some_and(EndpointFacts::is_of_a_gslb) {
        return Ok(false);
    }
    let key = gslb.key();
    let endpoints: Api<DnsEndpoint> = api(context, &key);
    let Some(found) = in_time(endpoints.get_metadata_opt(&key.name)).await? else { return Ok(true) };
    let (Some(reference), Some(owner)) = (controlling(&found.metadata), Owner::read(&found.metadata)) else {
        return Ok(true);
    };
    let Some(group) = owner.group else { return Ok(false) };
    if reference.name != key.name || found.metadata.deletion_timestamp.is_some() {
        return Ok(false);
    }
    let own_uid = gslb.uid().unwrap_or_default();
    if exists(context, &key, group, &owner.uid).await? || !exists(context, &key, gslb.group, &own_uid).await?
    {
        return Ok(false);
    }
    let kept = found.owner_references().iter().filter(|other| other.uid != owner.uid).cloned();
    let owners: Vec<_> = kept.chain([gslb.owner()]).collect();
    unless_gone(edit(&endpoints, &found, json!({"ownerReferences": owners})).await)?;
    tracing::info!(gslb = %gslb.id(), "Took over the records of a Gslb of this name that is gone.");
    Ok(true)
}

/// Asked at the API server: the watch may be behind.
async fn exists(context: &Context, key: &Key, group: Group, uid: &str) -> kube::Result<bool> {
    let found = match group {
        Group::Canonical => in_time(api::<Gslb>(context, key).get_metadata_opt(&key.name))
            .await?
            .and_then(|found| found.uid()),
        Group::Legacy => in_time(api::<LegacyGslb>(context, key).get_metadata_opt(&key.name))
            .await?
            .and_then(|found| found.uid()),
    };
    Ok(found.as_deref() == Some(uid))
}
