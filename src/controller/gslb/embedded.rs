//! Writes the Ingress that stands in a Gslb: the only writer of Ingresses.

use std::sync::Arc;

use gslb_core::group::Group;
use gslb_core::reference::ReferenceProblem;
use gslb_crds::Gslb;
use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{Ingress, IngressSpec};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::group::{Guarded, Served};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::facts::embedded::{Embedded, desired, spec, view};
use crate::controller::write::{Live, Need, Write};
use crate::controller::{NO_ANSWER, answer};
use crate::kube_call::in_time;

/// Name of this kind of write.
pub(crate) const WHAT: &str = "Ingress";

/// Whether the Ingress of the Gslb is as wanted.
pub(crate) type Applied = Result<(), ReferenceProblem>;

/// The Ingress of the Gslb is not as wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwritten {
    /// For the user.
    pub(crate) problem: ReferenceProblem,
    /// When it is written again; `None`: with the next pass.
    pub(crate) again: Option<Timestamp>,
}

impl From<ReferenceProblem> for Unwritten {
    fn from(problem: ReferenceProblem) -> Self {
        Self { problem, again: None }
    }
}

/// A write did not succeed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// For the user.
    pub(crate) problem: ReferenceProblem,
    /// Why it has to be tried again.
    pub(crate) error: Option<Box<kube::Error>>,
}

impl From<ReferenceProblem> for Failed {
    fn from(problem: ReferenceProblem) -> Self {
        Self { problem, error: None }
    }
}

/// An Ingress that the server does not hold as wanted.
struct Wanted {
    spec: IngressSpec,
    ingress: Ingress,
    seen: Option<Box<Embedded>>,
    view: Value,
}

impl Wanted {
    fn live(&self) -> Option<Live> {
        let ours = self.seen.as_ref()?;
        Some(Live::new(Some(ours.resource_version.clone()), &ours.view(&self.spec)))
    }
}

/// The Ingress in the spec, where nothing else is referred to (contract §1.2).
pub(crate) fn wanted(gslb: &Gslb) -> Option<IngressSpec> {
    let embedded = gslb.spec.ingress.as_ref().filter(|_| gslb.spec.resource_ref.is_none())?;
    Some(spec(embedded))
}

/// Has the embedded Ingress written if the server holds something else. One that somebody else made is left alone.
///
/// # Errors
/// The Ingress is not as wanted. The hosts come from the spec, so the pass goes on without.
pub(crate) async fn apply(
    context: &Context,
    guarded: &Arc<Guarded>,
    now: Timestamp,
) -> Result<(), Unwritten> {
    let Some(gslb) = guarded.read() else { return Ok(()) };
    match look(context, gslb, now)? {
        Some(wanted) => context.ingress_writes.write(guarded, wanted.view, now).await,
        None => Ok(()),
    }
}

/// The Ingress that has to be written, if any.
fn look(context: &Context, gslb: Served<'_>, now: Timestamp) -> Result<Option<Wanted>, Unwritten> {
    let Some(spec) = wanted(&gslb).filter(|_| gslb.metadata.deletion_timestamp.is_none()) else {
        return Ok(None);
    };
    let key = gslb.key();
    let seen = seen(context, gslb, &key)?;
    let ingress = desired(gslb, &spec);
    let wanted = Wanted { view: view(&ingress, &spec), spec, ingress, seen };
    match context.writer.need(WHAT, &key, &wanted.view, wanted.live().as_ref(), now) {
        Need::Nothing => Ok(None),
        Need::Wait(until) => {
            let problem = ReferenceProblem::ContestedIngress { key: key.to_string() };
            Err(Unwritten { problem, again: Some(until) })
        }
        Need::Write => Ok(Some(wanted)),
    }
}

/// Writes the embedded Ingress, if it is still to be written.
///
/// # Errors
/// The API server did not take it.
pub(crate) async fn write(context: &Context, gslb: Served<'_>, now: Timestamp) -> Result<(), Failed> {
    // What stands in its way is told by the pass.
    let Ok(Some(wanted)) = look(context, gslb, now) else { return Ok(()) };
    let key = gslb.key();
    let api: Api<Ingress> = Api::namespaced(context.client.clone(), &key.namespace);
    if wanted.seen.is_none() {
        match in_time(api.get_opt(&key.name)).await {
            Ok(None) => {}
            // The watch is behind; an apply would take over whatever is there. Its event wakes us.
            Ok(Some(_)) => return Ok(()),
            Err(error) => return Err(failed(error, &key)),
        }
    }
    let live = wanted.live();
    let Wanted { spec, ingress, seen, view: desired } = wanted;
    let write = Write { what: WHAT, key: &key, status: None, desired, live: live.as_ref(), now };
    let body = body(&ingress, seen.as_deref());
    let written = context.writer.apply(write, &api, &body, |answer: &Ingress| view(answer, &spec)).await;
    written.map_err(|error| failed(error, &key))?;
    tracing::info!(gslb = %gslb.id(), "Wrote the embedded Ingress.");
    Ok(())
}

/// The Ingress as the watch shows it; an error if it belongs to somebody else.
fn seen(context: &Context, gslb: Served<'_>, key: &Key) -> Result<Option<Box<Embedded>>, ReferenceProblem> {
    let Some(facts) = context.ingresses.get(key) else { return Ok(None) };
    let ours = facts.embedded.filter(|embedded| match &embedded.owner {
        Some(owner) => gslb.uid().as_ref() == Some(owner),
        // A migration detached it, and was taken back.
        None => gslb.group == Group::Legacy,
    });
    ours.map(Some).ok_or_else(|| ReferenceProblem::ForeignIngress { key: key.to_string() })
}

/// With the UID of the object that was seen, so that another one of the same name is not taken over.
fn body(ingress: &Ingress, seen: Option<&Embedded>) -> Value {
    let mut body = json!(ingress);
    if let Some(seen) = seen {
        body["metadata"]["uid"] = json!(seen.uid);
    }
    body
}

/// What the API server's "no" means; anything else is tried again.
fn failed(error: kube::Error, key: &Key) -> Failed {
    let key = key.to_string();
    match error {
        kube::Error::Api(status) if status.code == 403 && is_not_permitted(&status.message) => {
            ReferenceProblem::ForbiddenIngress { key }.into()
        }
        // 403 is also the answer of an admission controller, with its own words.
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422) => {
            ReferenceProblem::RefusedIngress { key, answer: status.message.clone() }.into()
        }
        error => {
            let problem = ReferenceProblem::UnwrittenIngress { key, answer: answer(&error) };
            Failed { problem, error: Some(Box::new(error)) }
        }
    }
}

/// A write that is not answered yet; what comes of it is told as soon as it is known.
pub(crate) fn unanswered(key: &Key) -> Unwritten {
    ReferenceProblem::UnwrittenIngress { key: key.to_string(), answer: NO_ANSWER.to_owned() }.into()
}

/// Whether a 403 is the authoriser's, in its one form: `ingresses.networking.k8s.io "app" is forbidden: User "…"
/// cannot patch resource "ingresses" in …`. Whatever else refuses has its own words behind the colon.
fn is_not_permitted(message: &str) -> bool {
    let parts = || {
        let (of, words) = message.split_once(" is forbidden: ")?;
        let (_user, done) = words.strip_prefix("User \"")?.split_once("\" cannot ")?;
        let (verb, on) = done.split_once(' ')?;
        Some((of, verb, on))
    };
    parts().is_some_and(|(of, verb, on)| {
        of.starts_with("ingresses.networking.k8s.io")
            && matches!(verb, "get" | "create" | "patch")
            && on.starts_with("resource \"ingresses\" ")
    })
}
