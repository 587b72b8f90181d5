//! The Ingress inside a Gslb: what we want it to be, and what the watch shows of it.

use gslb_core::publication::Server;
use gslb_crds::{Gslb, ingress, marks};
use k8s_openapi::api::networking::v1::{Ingress, IngressSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

use super::IngressFacts;
use crate::controller::gslb::group::Served;

/// What counts of an Ingress that belongs to a Gslb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Embedded {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    /// UID of the Gslb; `None`: nobody controls it any more, and our label is still there.
    pub(crate) owner: Option<String>,
    /// `spec` and our label.
    written: Value,
}

impl Embedded {
    /// Nothing, if no Gslb made the Ingress.
    pub(super) fn read(ingress: &Ingress) -> Option<Self> {
        let owner = controlling(ingress).filter(|owner| owner.kind == Gslb::kind(&()));
        let left = controlling(ingress).is_none()
            && ingress.labels().get(marks::MANAGED_BY).is_some_and(|value| value == marks::MANAGED_BY_GSLB);
        (owner.is_some() || left).then(|| Self {
            uid: ingress.uid().unwrap_or_default(),
            resource_version: ingress.resource_version().unwrap_or_default(),
            owner: owner.map(|owner| owner.uid.clone()),
            written: written(ingress),
        })
    }

    /// The part that a Gslb with this wish writes.
    pub(crate) fn view(&self, wanted: &IngressSpec) -> Value {
        owned_part(&self.written, wanted)
    }
}

/// As [`Embedded::view`], of an object that the API server has just answered with.
pub(crate) fn view(ingress: &Ingress, wanted: &IngressSpec) -> Value {
    owned_part(&written(ingress), wanted)
}

fn controlling(ingress: &Ingress) -> Option<&OwnerReference> {
    let mut owners = ingress.owner_references().iter();
    owners.find(|owner| owner.controller == Some(true))
}

fn written(ingress: &Ingress) -> Value {
    json!({"spec": &ingress.spec, "label": ingress.labels().get(marks::MANAGED_BY)})
}

/// A class that the Gslb does not name is the business of whoever filled it in (F-23).
fn owned_part(written: &Value, wanted: &IngressSpec) -> Value {
    let mut part = written.clone();
    if wanted.ingress_class_name.is_none()
        && let Some(spec) = part["spec"].as_object_mut()
    {
        spec.remove("ingressClassName");
    }
    part
}

/// `spec.ingress` as an Ingress of Kubernetes (contract §1.2).
pub(crate) fn spec(embedded: &ingress::IngressSpec) -> IngressSpec {
    let mut spec = json!(embedded);
    if let Some(fields) = spec.as_object_mut()
        && let Some(backend) = fields.remove("backend")
    {
        fields.insert("defaultBackend".to_owned(), backend);
    }
    // Every other field is named and typed as there.
    serde_json::from_value(spec).unwrap_or_default()
}

/// The Ingress that a Gslb wants. No annotation of the Gslb is copied.
pub(crate) fn desired(gslb: Served<'_>, spec: &IngressSpec) -> Ingress {
    let mut ingress = Ingress { spec: Some(spec.clone()), ..Ingress::default() };
    ingress.metadata.name = gslb.metadata.name.clone();
    ingress.metadata.namespace = gslb.metadata.namespace.clone();
    ingress.labels_mut().insert(marks::MANAGED_BY.to_owned(), marks::MANAGED_BY_GSLB.to_owned());
    ingress.owner_references_mut().push(gslb.owner());
    ingress
}

/// The hosts of `spec.ingress` with their Services.
pub(crate) fn servers(gslb: Served<'_>, spec: &IngressSpec) -> Vec<Server> {
    IngressFacts::from(desired(gslb, spec)).servers
}

#[cfg(test)]
mod tests {
    use gslb_core::group::Group;

    use super::*;

    fn embedded() -> ingress::IngressSpec {
        let service = |port: Value| json!({"service": {"name": "shop", "port": port}});
        serde_json::from_value(json!({
            "backend": service(json!({"name": "http"})),
            "rules": [{"host": "shop.example.org", "http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": service(json!({"number": 80}))}]}}],
            "tls": [{"hosts": ["shop.example.org"], "secretName": "shop"}],
        }))
        .unwrap()
    }

    #[test]
    fn an_embedded_ingress_is_that_of_kubernetes_but_for_the_name_of_its_backend() {
        let spec = json!(spec(&embedded()));
        assert_eq!(spec["defaultBackend"]["service"], json!({"name": "shop", "port": {"name": "http"}}));
        assert_eq!(spec["rules"], json!(embedded())["rules"]);
        assert_eq!(spec["tls"], json!(embedded())["tls"]);
    }

    #[test]
    fn a_class_that_somebody_else_filled_in_is_no_difference() {
        let wanted = spec(&embedded());
        let gslb = Gslb::default();
        let gslb = Served { group: Group::Canonical, gslb: &gslb };
        let mut live = desired(gslb, &wanted);
        let before = view(&live, &wanted);
        live.spec.as_mut().unwrap().ingress_class_name = Some("default".into());
        assert_eq!(view(&live, &wanted), before);
        let named = IngressSpec { ingress_class_name: Some("mine".into()), ..wanted };
        assert_ne!(view(&live, &named), view(&desired(gslb, &named), &named));
    }
}
