//! One pass over one Gslb: observe, decide, apply, report.

pub(crate) mod addresses;
pub(crate) mod apply;
pub(crate) mod embedded;
pub(crate) mod group;
pub(crate) mod live;
pub(crate) mod observe;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod twin;

use std::sync::Arc;
use std::time::Duration;

use gslb_core::group::Group;
use gslb_core::publication::{Figures, publish};
use gslb_crds::marks;
use kube::Resource;
use kube::runtime::controller::Action;

use super::{PassError, Trigger};

pub(crate) use group::Guarded;
use group::{Id, Served};
use twin::Twins;

/// Reason of the event, and the name under which it is remembered.
pub(crate) const DEPRECATED: &str = "LegacyDeprecated";

/// Brings the published records and the status of one Gslb up to date.
pub(crate) async fn reconcile(guarded: Arc<Guarded>, pass: Arc<super::Pass>) -> Result<Action, PassError> {
    let context = &pass.context;
    let id = guarded.id();
    let gslb = match &guarded.object.0 {
        Ok(gslb) => Served { group: id.group, gslb },
        Err(invalid) => {
            let note =
                format!("this Gslb cannot be read, so nothing of it changes: {}; correct it", invalid.error);
            tracing::warn!(gslb = %id, error = invalid.error, "A Gslb cannot be read.");
            let told = (report::what(id.group), id.key);
            context.announcer.warn(told, "Unreadable", note, &guarded.object_ref(&guarded.group)).await;
            return Ok(Action::await_change());
        }
    };
    if id.group == Group::Legacy {
        if twin::is_retired(&guarded) {
            retire(&pass, &id);
            return Ok(Action::await_change());
        }
        deprecate(&pass, &guarded).await;
    }
    if gslb.metadata.deletion_timestamp.is_some() && !context.endpoints.contains(&id.key) {
        // Its records are gone, and must not come back while somebody's finalizer holds the object.
        return Ok(Action::await_change());
    }
    let now = context.now();
    let (zones, members) = (context.served_zones(), context.fleet.members());
    let twins = Twins::of(context, &pass.triggers, &guarded);
    let serves = twins.rival.is_none();
    let ingress = if serves { embedded::apply(context, gslb, now).await? } else { Ok(()) };
    let seen = match observe::observe(context, gslb, &twins, ingress, &zones, &members, now) {
        Ok(seen) => seen,
        // What is being read wakes the Gslb when it is there.
        Err(until) => {
            return Ok(Action::requeue(Duration::try_from(until.duration_since(now)).unwrap_or_default()));
        }
    };
    // Before anything can fail: the next pass of this Gslb does not see them change hands again.
    for other in &seen.affected {
        pass.triggers.send(Trigger::Named(other.clone()));
    }
    let publication = publish(&seen.observation, now);
    let figures = Figures::of(&publication, &context.settings.geo_tag, &seen.observation.exposed.targets);
    let applied = if serves {
        context.metrics.counted(id.key.clone(), figures);
        apply::apply(context, gslb, &publication, seen.endpoint.as_ref(), now).await?
    } else {
        apply::Applied::Twin
    };
    report::report(context, gslb, &seen, &publication, applied, now).await?;
    context.metrics.pass_finished(&id.key.namespace, &id.key.name);
    pass.progress.tick();
    let contested = match applied {
        apply::Applied::Contested { until } => Some(until),
        apply::Applied::Published
        | apply::Applied::Nothing
        | apply::Applied::Foreign
        | apply::Applied::Twin => None,
    };
    let look_again = seen.look_again.into_iter().chain(contested).min();
    Ok(next(&pass, look_again.map(|at| at.duration_since(now))))
}

/// A legacy Gslb that is not served any more: its hosts are its twin's, or nobody's.
fn retire(pass: &super::Pass, id: &Id) {
    pass.context.registry.forget(id);
    if pass.triggers.gslb(&id.twin()).is_none() {
        for other in pass.context.registry.release(&id.key) {
            pass.triggers.send(Trigger::Named(other));
        }
    }
}

/// Tells once that the group is given up (F-86).
async fn deprecate(pass: &super::Pass, gslb: &Guarded) {
    let Id { key, group } = gslb.id();
    let note = format!(
        "group {} is given up; label this Gslb {}=true to have it moved to {}",
        group.as_str(),
        marks::MIGRATION_REQUESTED,
        group.other().as_str()
    );
    let told = (DEPRECATED, key);
    pass.context.announcer.warn_once(told, DEPRECATED, note, &gslb.object_ref(&group)).await;
}

/// The safety net, or earlier if something has a deadline.
fn next(pass: &super::Pass, deadline: Option<jiff::SignedDuration>) -> Action {
    let deadline = deadline.and_then(|left| Duration::try_from(left).ok());
    match (pass.context.settings.periods.gslb, deadline) {
        (Some(period), Some(left)) => Action::requeue(period.min(left)),
        (Some(after), None) | (None, Some(after)) => Action::requeue(after),
        (None, None) => Action::await_change(),
    }
}
