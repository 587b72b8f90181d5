//! One pass over one Gslb: observe, decide, apply, report.

pub(crate) mod addresses;
pub(crate) mod apply;
pub(crate) mod embedded;
pub(crate) mod live;
pub(crate) mod observe;
pub(crate) mod reference;
pub(crate) mod report;

use std::sync::Arc;
use std::time::Duration;

use gslb_core::publication::{Figures, publish};
use gslb_crds::Gslb;
use kube::Resource;
use kube::core::DeserializeGuard;
use kube::runtime::controller::Action;

use super::cache::Key;
use super::{PassError, Trigger};

/// A Gslb, or what is wrong with it if it does not parse.
pub(crate) type Guarded = DeserializeGuard<Gslb>;

/// Brings the published records and the status of one Gslb up to date.
pub(crate) async fn reconcile(guarded: Arc<Guarded>, pass: Arc<super::Pass>) -> Result<Action, PassError> {
    let context = &pass.context;
    let gslb = match &guarded.0 {
        Ok(gslb) => gslb,
        Err(invalid) => {
            let note =
                format!("this Gslb cannot be read, so nothing of it changes: {}; correct it", invalid.error);
            tracing::warn!(gslb = %Key::of(&*guarded), error = invalid.error, "A Gslb cannot be read.");
            let key = Key::of(&*guarded);
            context.announcer.warn((report::WHAT, key), "Unreadable", note, &guarded.object_ref(&())).await;
            return Ok(Action::await_change());
        }
    };
    if gslb.metadata.deletion_timestamp.is_some() && !context.endpoints.contains(&Key::of(gslb)) {
        // Its records are gone, and must not come back while somebody's finalizer holds the object.
        return Ok(Action::await_change());
    }
    let now = context.now();
    let (zones, members) = (context.served_zones(), context.fleet.members());
    let ingress = embedded::apply(context, gslb, now).await?;
    let seen = match observe::observe(context, gslb, ingress, &zones, &members, now) {
        Ok(seen) => seen,
        // What is being read wakes the Gslb when it is there.
        Err(until) => {
            return Ok(Action::requeue(Duration::try_from(until.duration_since(now)).unwrap_or_default()));
        }
    };
    // Before anything can fail: the next pass of this Gslb does not see them change hands again.
    for other in &seen.affected {
        pass.triggers.send(Trigger::Gslb(other.clone()));
    }
    let publication = publish(&seen.observation, now);
    let figures = Figures::of(&publication, &context.settings.geo_tag, &seen.observation.exposed.targets);
    context.metrics.counted(Key::of(gslb), figures);
    let applied = apply::apply(context, gslb, &publication, seen.endpoint.as_ref(), now).await?;
    report::report(context, gslb, &seen, &publication, applied, now).await?;
    context.metrics.pass_finished(&Key::of(gslb).namespace, &Key::of(gslb).name);
    pass.progress.tick();
    let contested = match applied {
        apply::Applied::Contested { until } => Some(until),
        apply::Applied::Published | apply::Applied::Nothing | apply::Applied::Foreign => None,
    };
    let look_again = seen.look_again.into_iter().chain(contested).min();
    Ok(next(&pass, look_again.map(|at| at.duration_since(now))))
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
