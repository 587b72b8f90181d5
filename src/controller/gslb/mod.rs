//! One pass over one Gslb: observe, decide, apply, report.

pub(crate) mod addresses;
pub(crate) mod apply;
pub(crate) mod embedded;
pub(crate) mod group;
pub(crate) mod ingress_writes;
mod inherit;
pub(crate) mod live;
pub(crate) mod migrate;
pub(crate) mod observe;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod tenancy;
pub(crate) mod twin;
pub(crate) mod watch;

use std::sync::Arc;
use std::time::Duration;

use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::group::Group;
use gslb_core::publication::{Figures, Publication, publish};
use gslb_crds::marks;
use jiff::{SignedDuration, Timestamp};
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};

use super::cache::Chain;
use super::context::Context;
use super::{PassError, Trigger, answer, records};
use crate::kube_call::{is_end_of_namespace, is_unknown_kind};

pub(crate) use group::Guarded;
use group::{Id, Served};
use twin::Twins;

/// How long a hand-over may take before it is told as trouble. No outside reference.
const HAND_OVER: SignedDuration = SignedDuration::from_secs(10);
/// When a pass tries again for which its slow namespace has no turn. No outside reference.
const NEXT_TURN: Duration = Duration::from_secs(1);
/// When it is looked at again, if nothing is heard of it before.
const HAND_OVER_PAUSE: Duration = Duration::from_secs(1);

/// Reason of the event, and the name under which it is remembered.
pub(crate) const DEPRECATED: &str = "LegacyDeprecated";

/// Brings the published records and the status of one Gslb up to date.
pub(crate) async fn reconcile(guarded: Arc<Guarded>, pass: Arc<super::Pass>) -> Result<Action, PassError> {
    let id = guarded.id();
    let Some(_turn) = pass.turns.take(&id.key.namespace) else { return Ok(Action::requeue(NEXT_TURN)) };
    let action = bring_up_to_date(guarded, &pass).await;
    let echoes = &pass.context.writer.echoes;
    // However it ended: what was heard meanwhile does not wait for the next try.
    if echoes.take_overtaken(apply::WHAT, &id.key) {
        pass.triggers.send(Trigger::Named(id.key));
    }
    action
}

async fn bring_up_to_date(guarded: Arc<Guarded>, pass: &super::Pass) -> Result<Action, PassError> {
    let context = &pass.context;
    let id = guarded.id();
    let Some(gslb) = read(context, &guarded) else { return Ok(Action::await_change()) };
    if id.group == Group::Legacy && !migrate::migrate(pass, &guarded, gslb).await? {
        return Ok(Action::await_change());
    }
    if gslb.metadata.deletion_timestamp.is_some() && !has_records(context, gslb) {
        match are_left_behind(context, gslb) {
            true => tell_left(context, gslb),
            false => leave(pass, gslb),
        }
        return Ok(Action::await_change());
    }
    let now = context.now();
    let (zones, members) = (context.served_zones(), context.fleet.members());
    let twins = Twins::of(context, &pass.triggers, &guarded);
    let serves = twins.rival.is_none();
    let unwritten = if serves { embedded::apply(context, &guarded, now).await.err() } else { None };
    let ingress = unwritten.as_ref().map_or(Ok(()), |unwritten| Err(unwritten.problem.clone()));
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
    let mut publication = publish(&seen.observation, now);
    let figures = Figures::of(&publication, &context.settings.geo_tag, &seen.observation.exposed.targets);
    let mut failed = None;
    let applied = if is_kind_missing(context) {
        apply::Applied::KindMissing
    } else if serves {
        records::follow(context, gslb, &zones, &mut publication);
        context.metrics.counted(id.key.clone(), figures);
        let Some((applied, error)) = write_records(context, gslb, &publication, &seen, now).await else {
            return Ok(Action::await_change());
        };
        failed = error;
        applied
    } else {
        apply::Applied::Twin
    };
    if applied == apply::Applied::Foreign && changes_hands(context, gslb, &seen, &twins, now).await? {
        return Ok(Action::requeue(HAND_OVER_PAUSE));
    }
    report::report(context, gslb, &seen, &publication, &applied, now);
    pass.progress.tick();
    if let Some(error) = failed {
        return Err(error.into());
    }
    let again = unwritten.and_then(|unwritten| unwritten.again);
    let look_again = [seen.look_again, applied.contested_until(), again].into_iter().flatten().min();
    let look_again = look_again.map(|at| at.duration_since(now));
    context.metrics.pass_finished(&id.key.namespace, &id.key.name);
    Ok(next(pass, look_again))
}

/// Whether there is no kind DNSEndpoint, so that nothing is known of records and none can be written.
fn is_kind_missing(context: &Context) -> bool {
    !context.endpoints.is_synced() || *context.endpoints_missing.borrow()
}

/// Writes the records. Nothing if the namespace is being deleted: the Gslb's own deletion is about to be seen.
async fn write_records(
    context: &Context,
    gslb: Served<'_>,
    publication: &Publication,
    seen: &observe::Seen<'_>,
    now: Timestamp,
) -> Option<(apply::Applied, Option<kube::Error>)> {
    match apply::apply(context, gslb, publication, seen.endpoint.as_ref(), now).await {
        Ok(applied) => Some((applied, None)),
        Err(error) if is_end_of_namespace(&error) => None,
        Err(error) if is_unknown_kind(&error) => Some((apply::Applied::KindMissing, Some(error))),
        Err(error) => {
            let why = answer(&error);
            tracing::warn!(gslb = %gslb.id(), error = %Chain(&error), "A DNSEndpoint could not be written.");
            Some((apply::Applied::Refused { why }, Some(error)))
        }
    }
}

/// Whether its records were left to go on without it.
fn are_left_behind(context: &Context, gslb: Served<'_>) -> bool {
    context.endpoints.get(&gslb.key()).is_some_and(|facts| facts.owner.is_none() && facts.marked)
}

/// The end of a Gslb whose records were taken from it: what its status said goes on being answered, and is not true any
/// more. The records belong to nobody until another one of its name is made.
fn tell_left(context: &Context, gslb: Served<'_>) {
    let message = format!(
        "it is deleted, and DNSEndpoint {} was left to go on without it, so its records follow nothing any more; delete that DNSEndpoint to end the answers, or make a Gslb of this name once the finalizers of this one are removed",
        gslb.key()
    );
    report::retired(context, gslb, Condition::bad(ConditionKind::Ready, "RecordsLeft", message), true);
}

/// The end of a Gslb that a finalizer of somebody else holds: its records are gone and must not come back. Its hosts are
/// free for others.
fn leave(pass: &super::Pass, gslb: Served<'_>) {
    let context = &pass.context;
    watch::hand_over(context, &pass.triggers, &gslb.id());
    let message =
        "it is deleted, and its records are gone; the object stays until its finalizers are removed";
    let ready = Condition::bad(ConditionKind::Ready, "Deleted", message);
    report::retired(context, gslb, ready, true);
}

fn has_records(context: &Context, gslb: Served<'_>) -> bool {
    let uid = gslb.uid().unwrap_or_default();
    context.endpoints.get(&gslb.key()).is_some_and(|facts| facts.belongs_to(&uid))
}

/// The Gslb. What is wrong with one that does not parse is told once.
fn read<'a>(context: &Context, guarded: &'a Guarded) -> Option<Served<'a>> {
    let id = guarded.id();
    let told = (unreadable(id.group), id.key.clone());
    let error = match &guarded.object.0 {
        Ok(gslb) => {
            context.announcer.calm(told.0, &told.1);
            return Some(Served { group: id.group, gslb });
        }
        Err(invalid) => &invalid.error,
    };
    let note = format!("this Gslb cannot be read, so nothing of it changes: {error}; correct it");
    tracing::warn!(gslb = %id, error, "A Gslb cannot be read.");
    context.announcer.warn(told, "Unreadable", note, &guarded.object_ref(&guarded.group));
    None
}

/// Name under which it is remembered that a Gslb cannot be read.
pub(crate) fn unreadable(group: Group) -> &'static str {
    match group {
        Group::Canonical => "unreadable Gslb",
        Group::Legacy => "unreadable legacy Gslb",
    }
}

/// Whether the records of somebody else are about to be this Gslb's: that is no trouble yet.
async fn changes_hands(
    context: &Context,
    gslb: Served<'_>,
    seen: &observe::Seen<'_>,
    twins: &Twins,
    now: Timestamp,
) -> kube::Result<bool> {
    Ok(is_handed_over(seen, twins, now) || inherit::inherit(context, gslb, seen.endpoint.as_ref()).await?)
}

/// Whether the records are still those of the retired twin, and about to be handed over.
fn is_handed_over(seen: &observe::Seen<'_>, twins: &Twins, now: Timestamp) -> bool {
    let owner = seen.endpoint.as_ref().and_then(|facts| facts.owner.as_ref());
    owner.is_some_and(|owner| owner.group == Some(Group::Legacy))
        && twins.retired
        && twins.own_created.is_some_and(|created| now.duration_since(created) < HAND_OVER)
}

/// Tells once that the group is given up (F-86).
fn deprecate(pass: &super::Pass, gslb: &Guarded) {
    let Id { key, group } = gslb.id();
    let note = format!(
        "group {} is given up; label this Gslb {}=true to have it moved to {}",
        group.as_str(),
        marks::MIGRATION_REQUESTED,
        group.other().as_str()
    );
    let told = (DEPRECATED, key);
    pass.context.announcer.warn_once(told, DEPRECATED, note, &gslb.object_ref(&group));
}

/// The safety net, or earlier if something has a deadline.
fn next(pass: &super::Pass, deadline: Option<SignedDuration>) -> Action {
    let deadline = deadline.and_then(|left| Duration::try_from(left).ok());
    match (pass.context.settings.periods.gslb, deadline) {
        (Some(period), Some(left)) => Action::requeue(period.min(left)),
        (Some(after), None) | (None, Some(after)) => Action::requeue(after),
        (None, None) => Action::await_change(),
    }
}
