//! What an Ingress asks of a Gslb of its own.

use gslb_core::annotated::RawAnnotations;
use gslb_crds::{Gslb, marks};
use k8s_openapi::api::networking::v1::Ingress;
use kube::{Resource, ResourceExt};

/// What counts of an Ingress that may ask for a Gslb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Annotated {
    pub(crate) uid: String,
    /// A Gslb owns it, or it is being deleted: nothing is asked for, and nothing is taken away.
    pub(crate) out_of_question: bool,
    pub(crate) annotations: RawAnnotations,
}

impl Annotated {
    pub(super) fn read(ingress: &Ingress) -> Self {
        let annotation = |key| ingress.annotations().get(key).cloned();
        let owned = ingress.owner_references().iter().any(|owner| owner.kind == Gslb::kind(&()));
        Self {
            uid: ingress.uid().unwrap_or_default(),
            out_of_question: owned || ingress.metadata.deletion_timestamp.is_some(),
            annotations: RawAnnotations {
                strategy: annotation(marks::STRATEGY),
                primary_geo_tag: annotation(marks::PRIMARY_GEO_TAG),
                dns_ttl_seconds: annotation(marks::DNS_TTL_SECONDS),
                exposed_ip_addresses: annotation(marks::EXPOSED_IP_ADDRESSES),
            },
        }
    }
}
