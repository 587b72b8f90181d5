//! Writes the Ingress that stands in a Gslb: the only writer of Ingresses.

use gslb_core::group::Group;
use gslb_core::reference::ReferenceProblem;
use gslb_crds::Gslb;
use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{Ingress, IngressSpec};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::group::Served;
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::facts::embedded::{Embedded, desired, spec, view};
use crate::controller::write::{Live, Need, Write};
use crate::kube_call::in_time;

/// Name of this kind of write.
pub(crate) const WHAT: &str = "Ingress";

/// Whether the Ingress of the Gslb is as wanted.
pub(crate) type Applied = Result<(), ReferenceProblem>;

/// The Ingress of the Gslb is not as wanted.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// For the user.
    pub(crate) problem: ReferenceProblem,
    /// Why the pass has to be tried again, when the rest of it is done.
    pub(crate) error: Option<Box<kube::Error>>,
    /// When it is written again, if somebody else keeps changing it back.
    pub(crate) contested: Option<Timestamp>,
}

impl From<ReferenceProblem> for Unwritten {
    fn from(problem: ReferenceProblem) -> Self {
        Self { problem, error: None, contested: None }
    }
}

/// The Ingress in the spec, where nothing else is referred to (contract §1.2).
pub(crate) fn wanted(gslb: &Gslb) -> Option<IngressSpec> {
    let embedded = gslb.spec.ingress.as_ref().filter(|_| gslb.spec.resource_ref.is_none())?;
    Some(spec(embedded))
}

/// Writes the embedded Ingress if the server holds something else. One that somebody else made is left alone.
///
/// # Errors
/// The Ingress is not as wanted. The hosts come from the spec, so the pass goes on without.
pub(crate) async fn apply(context: &Context, gslb: Served<'_>, now: Timestamp) -> Result<(), Unwritten> {
    let Some(spec) = wanted(&gslb) else { return Ok(()) };
    let key = gslb.key();
    if gslb.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let seen = seen(context, gslb, &key)?;
    let live = seen.as_ref().map(|ours| Live::new(Some(ours.resource_version.clone()), &ours.view(&spec)));
    let ingress = desired(gslb, &spec);
    let wanted = view(&ingress, &spec);
    match context.writer.need(WHAT, &key, &wanted, live.as_ref(), now) {
        Need::Nothing => return Ok(()),
        Need::Wait(until) => {
            let problem = ReferenceProblem::ContestedIngress { key: key.to_string() };
            return Err(Unwritten { problem, error: None, contested: Some(until) });
        }
        Need::Write => {}
    }
    let api: Api<Ingress> = Api::namespaced(context.client.clone(), &key.namespace);
    if seen.is_none() {
        match in_time(api.get_opt(&key.name)).await {
            Ok(None) => {}
            // The watch is behind; an apply would take over whatever is there. Its event wakes us.
            Ok(Some(_)) => return Ok(()),
            Err(error) => return Err(unwritten(error, &key)),
        }
    }
    let write = Write { what: WHAT, key: &key, status: None, desired: wanted, live: live.as_ref(), now };
    let body = body(&ingress, seen.as_deref());
    let written = context.writer.apply(write, &api, &body, |answer: &Ingress| view(answer, &spec)).await;
    written.map_err(|error| unwritten(error, &key))?;
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
fn unwritten(error: kube::Error, key: &Key) -> Unwritten {
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
            let answer = match &error {
                kube::Error::Api(status) => status.message.clone(),
                // Its text may differ with every try, and each difference would be written to the status.
                _ => "the API server gave no answer; the log of gslb-bridge says more".to_owned(),
            };
            let problem = ReferenceProblem::UnwrittenIngress { key, answer };
            Unwritten { problem, error: Some(Box::new(error)), contested: None }
        }
    }
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
