//! From `DNS_ZONES` to ZoneDelegations (contract §5.2).

use gslb_core::zone::Zone;
use gslb_crds::{ZoneDelegation, ZoneDelegationSpec};
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::{Api, Resource};

use super::live::ZoneFacts;
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::write::FIELD_MANAGER;
use crate::kube_call::in_time;

/// Reason of the event about an object that stands in a zone's way, and the name under which it is remembered.
const NAME_TAKEN: &str = "NameTaken";

/// Creates the ZoneDelegation of every zone that has none. An existing one wins, whatever its name. Gives the
/// zones whose object is on its way out, or whose name another zone's has, to be created when that is gone.
pub(crate) async fn bootstrap(context: &Context, zones: &[Zone]) -> kube::Result<Vec<Zone>> {
    let mut leaving = Vec::new();
    for zone in zones {
        let object_name = zone.name().dashed();
        let is_about = |facts: &ZoneFacts| facts.zone.as_ref().map(|other| other.name() == zone.name());
        let existing =
            context.zones.select(|key, facts| is_about(facts) == Some(true) || key.name == object_name);
        let taken = existing.iter().all(|(_, facts)| is_about(facts) == Some(false));
        if existing.is_empty() {
            create(context, zone, object_name).await?;
        } else if existing.iter().all(|(_, facts)| facts.deleting) {
            leaving.push(zone.clone());
        } else if taken {
            tell_taken(context, zone, &object_name).await;
            leaving.push(zone.clone());
        }
    }
    Ok(leaving)
}

/// Tells of an object that has the name and another zone: without a word nobody would know why the zone is not
/// delegated.
async fn tell_taken(context: &Context, zone: &Zone, object_name: &str) {
    let note = format!(
        "zone {zone} of DNS_ZONES gets no ZoneDelegation while this one of another zone has its name; create one for {zone} under another name, or delete this one",
        zone = zone.name(),
    );
    let object = ObjectReference {
        api_version: Some(ZoneDelegation::api_version(&()).into_owned()),
        kind: Some(ZoneDelegation::kind(&()).into_owned()),
        name: Some(object_name.to_owned()),
        ..ObjectReference::default()
    };
    let told = (NAME_TAKEN, Key { namespace: String::new(), name: object_name.to_owned() });
    context.announcer.warn(told, NAME_TAKEN, note, &object);
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
