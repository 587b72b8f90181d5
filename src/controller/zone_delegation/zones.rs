//! From `DNS_ZONES` to ZoneDelegations (contract §5.2).

use gslb_core::zone::Zone;
use gslb_crds::{ZoneDelegation, ZoneDelegationSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;

use crate::controller::context::Context;
use crate::controller::write::FIELD_MANAGER;
use crate::kube_call::in_time;

/// Creates the ZoneDelegation of every zone that has none. An existing one wins, whatever its name. Gives the
/// zones whose object is on its way out, to be created when it is gone.
pub(crate) async fn bootstrap(context: &Context, zones: &[Zone]) -> kube::Result<Vec<Zone>> {
    let mut leaving = Vec::new();
    for zone in zones {
        let object_name = zone.name().dashed();
        let existing = context.zones.select(|key, facts| {
            facts.zone.as_ref().is_some_and(|other| other.name() == zone.name()) || key.name == object_name
        });
        if existing.is_empty() {
            create(context, zone, object_name).await?;
        } else if existing.iter().all(|(_, facts)| facts.deleting) {
            leaving.push(zone.clone());
        }
    }
    Ok(leaving)
}

async fn create(context: &Context, zone: &Zone, name: String) -> kube::Result<()> {
    let spec = ZoneDelegationSpec {
        load_balanced_zone: zone.name().to_string(),
        parent_zone: zone.parent().to_string(),
        dns_zone_neg_ttl: i64::from(zone.negative_ttl().as_secs()),
        do_finalize: false,
    };
    let metadata = ObjectMeta { name: Some(name), ..ObjectMeta::default() };
    let object = ZoneDelegation { metadata, spec, status: None };
    let api: Api<ZoneDelegation> = Api::all(context.client.clone());
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    match in_time(api.create(&params, &object)).await {
        Ok(_) => {
            tracing::info!(zone = %zone.name(), "Created the ZoneDelegation of a configured zone.");
            Ok(())
        }
        // Another replica was faster, or the watch is behind.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error),
    }
}
