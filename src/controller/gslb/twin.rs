//! Whether a Gslb serves its name, or the one of the same name in the other group does.

use gslb_core::group::{Group, OTHER_GROUP_SERVES, Twin, serving};
use gslb_crds::marks;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::group::{Guarded, Id};
use crate::controller::Triggers;
use crate::controller::context::Context;

/// What a pass has to know of the Gslb of the same name.
pub(crate) struct Twins {
    /// The twin, if that one serves.
    pub(crate) rival: Option<Id>,
    /// Whether there is a twin, and it has retired.
    pub(crate) retired: bool,
    /// When the Gslb itself was created.
    pub(crate) own_created: Option<Timestamp>,
    /// When the older of the two was created: whoever serves stands for the name as long as it was there.
    pub(crate) created: Option<Timestamp>,
}

impl Twins {
    pub(crate) fn of(context: &Context, triggers: &Triggers, gslb: &Guarded) -> Self {
        let id = gslb.id();
        let created = created(gslb);
        let Some(other) = triggers.gslb(&id.twin()) else {
            return Self { rival: None, retired: false, own_created: created, created };
        };
        let endpoint = context.endpoints.get(&id.key);
        let twin = |gslb: &Guarded| Twin {
            group: gslb.group,
            created: self::created(gslb),
            publishes: endpoint
                .as_ref()
                .is_some_and(|facts| facts.belongs_to(&gslb.uid().unwrap_or_default())),
            yields: yields(gslb),
            retired: is_retired(gslb),
        };
        let serves = serving(twin(gslb), twin(&other)) == id.group;
        Self {
            rival: (!serves).then(|| id.twin()),
            retired: is_retired(&other),
            own_created: created,
            created: created.into_iter().chain(self::created(&other)).min(),
        }
    }
}

/// Whether its status says that the other one serves.
fn yields(gslb: &Guarded) -> bool {
    let read = gslb.read();
    let conditions =
        read.iter().filter_map(|gslb| gslb.gslb.status.as_ref()).flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| condition.reason == OTHER_GROUP_SERVES)
}

fn created(gslb: &Guarded) -> Option<Timestamp> {
    gslb.creation_timestamp().map(|time| time.0)
}

/// A legacy Gslb that is migrated or deleted is not served (contract §2.2).
pub(crate) fn is_retired(gslb: &Guarded) -> bool {
    let labelled = |key| gslb.labels().get(key).is_some_and(|value| value == marks::TRUE);
    gslb.group == Group::Legacy
        && (gslb.meta().deletion_timestamp.is_some()
            || labelled(marks::MIGRATION_REQUESTED)
            || labelled(marks::MIGRATED))
}
