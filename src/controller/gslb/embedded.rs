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

/// The Ingress in the spec, where nothing else is referred to (contract §1.2).
pub(crate) fn wanted(gslb: &Gslb) -> Option<IngressSpec> {
    let embedded = gslb.spec.ingress.as_ref().filter(|_| gslb.spec.resource_ref.is_none())?;
    Some(spec(embedded))
}

/// Writes the embedded Ingress if the server holds something else. One that somebody else made is left alone.
///
/// # Errors
/// The API server did not answer, or not as to a request that it can judge; the pass is tried again.
pub(crate) async fn apply(context: &Context, gslb: Served<'_>, now: Timestamp) -> kube::Result<Applied> {
    let Some(spec) = wanted(&gslb) else { return Ok(Ok(())) };
    let key = gslb.key();
    if gslb.metadata.deletion_timestamp.is_some() {
        return Ok(Ok(()));
    }
    let seen = match seen(context, gslb, &key) {
        Ok(seen) => seen,
        Err(foreign) => return Ok(Err(foreign)),
    };
    let live = seen
        .as_ref()
        .map(|ours| Live { resource_version: ours.resource_version.clone(), view: ours.view(&spec) });
    let ingress = desired(gslb, &spec);
    let wanted = view(&ingress, &spec);
    match context.writer.need(WHAT, &key, &wanted, live.as_ref(), now) {
        Need::Nothing => return Ok(Ok(())),
        // The periodic pass writes it again.
        Need::Wait(_) => return Ok(Err(ReferenceProblem::ContestedIngress { key: key.to_string() })),
        Need::Write => {}
    }
    let api: Api<Ingress> = Api::namespaced(context.client.clone(), &key.namespace);
    if seen.is_none() {
        match in_time(api.get_opt(&key.name)).await {
            Ok(None) => {}
            // The watch is behind; an apply would take over whatever is there. Its event wakes us.
            Ok(Some(_)) => return Ok(Ok(())),
            Err(error) => return refusal(error, &key).map(Err),
        }
    }
    let write = Write { what: WHAT, key: &key, status: false, desired: wanted, live: live.as_ref(), now };
    let body = body(&ingress, seen.as_deref());
    match context.writer.apply(write, &api, &body, |answer: &Ingress| view(answer, &spec)).await {
        Ok(_) => {
            tracing::info!(gslb = %gslb.id(), "Wrote the embedded Ingress.");
            Ok(Ok(()))
        }
        Err(error) => refusal(error, &key).map(Err),
    }
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

/// What the API server's "no" means; anything else is an error of the pass.
fn refusal(error: kube::Error, key: &Key) -> kube::Result<ReferenceProblem> {
    match error {
        kube::Error::Api(status) if status.code == 403 && status.message.contains("cannot") => {
            Ok(ReferenceProblem::ForbiddenIngress { key: key.to_string() })
        }
        // 403 is also the answer of an admission controller, with its own words.
        kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422) => {
            Ok(ReferenceProblem::RefusedIngress { key: key.to_string(), answer: status.message.clone() })
        }
        error => Err(error),
    }
}
