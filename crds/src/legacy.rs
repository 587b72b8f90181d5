//! `Gslb` of the group `k8gb.absa.oss`, which k8gb gives up: the same kind under another name.
//!
//! It is read as a [`Gslb`] and served like one. Its definition lacks `serviceHealthPolicy`, as k8gb's does.

use std::borrow::Cow;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{NamespaceResourceScope, ObjectMeta};
use kube::{CustomResourceExt, Resource};
use serde::Deserialize;
use serde_json::Value;

use crate::gslb::{Gslb, ResourceRef, rules};
use crate::marks;
use crate::refine::refine;

/// The group.
pub const GROUP: &str = "k8gb.absa.oss";

/// A Gslb of the legacy group.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct LegacyGslb(pub Gslb);

impl LegacyGslb {
    /// The Gslb of the canonical group that serves the same (contract §6.2). An Ingress in the spec becomes a
    /// reference to it.
    pub fn canonical(&self) -> Gslb {
        let Self(Gslb { metadata, spec, .. }) = self;
        let mut made = Gslb { spec: spec.clone(), ..Gslb::default() };
        made.metadata.name.clone_from(&metadata.name);
        made.metadata.namespace.clone_from(&metadata.namespace);
        let mut annotations = metadata.annotations.clone().unwrap_or_default();
        // It is of this group, so it means nothing in the other one.
        annotations.remove(marks::LAST_APPLIED);
        made.metadata.annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
        let mut labels = metadata.labels.clone().unwrap_or_default();
        labels.retain(|key, _| key != marks::MIGRATION_REQUESTED && key != marks::MIGRATED);
        made.metadata.labels = Some(labels).filter(|labels| !labels.is_empty());
        if spec.resource_ref.is_none() && spec.ingress.is_some() {
            made.spec.ingress = None;
            made.spec.resource_ref = Some(ResourceRef {
                api_version: Some("networking.k8s.io/v1".to_owned()),
                kind: Some("Ingress".to_owned()),
                name: metadata.name.clone(),
                namespace: metadata.namespace.clone(),
                ..ResourceRef::default()
            });
        }
        made.spec.service_health_policy = None;
        made
    }
}

impl Resource for LegacyGslb {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        Gslb::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }
    fn version((): &()) -> Cow<'_, str> {
        Gslb::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        Gslb::plural(&())
    }
    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// The definition of the legacy group.
pub(crate) fn definition() -> CustomResourceDefinition {
    let mut crd = refine(Gslb::crd(), rules());
    crd.metadata.name = Some(format!("{}.{GROUP}", crd.spec.names.plural));
    GROUP.clone_into(&mut crd.spec.group);
    let mut value = serde_json::to_value(crd).expect("a definition is plain data");
    let spec = value.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties");
    let spec = spec.and_then(Value::as_object_mut).expect("a definition has a schema");
    spec.remove("serviceHealthPolicy").expect("the kind has the field");
    serde_json::from_value(value).expect("a definition without a field is one")
}
