//! The provider over the cluster's own API.

use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::change::Change;
use gslb_core::delegation::{Delegation, ObservedDelegation, Presence, object_name};
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_crds::dns_endpoint::{DnsEndpoint, DnsEndpointSpec};
use gslb_crds::marks;
use gslb_provider_contract::error::BoxError;
use gslb_provider_contract::{
    Capabilities, Disposition, Observe, Provider, ProviderError, ProviderId, Receipt, Scope,
};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ObjectMeta, Status};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

use crate::convert::{self, Contents};

/// Deadline of one call of the API server: well above a slow etcd. No outside reference.
const CALL: Duration = Duration::from_secs(5);
/// How long an API server works on a request at most: its own default (`--request-timeout`).
const REQUEST: Duration = Duration::from_secs(60);
/// Labels that external-dns selects the object by; k8gb's chart filters on the first.
const LABELS: [&str; 2] = [marks::DNS_TYPE, marks::DNS_TYPE_LEGACY];

/// Keeps the delegations of this cluster as DNSEndpoint objects.
pub struct ExternalDns {
    id: ProviderId,
    capabilities: Capabilities,
    api: Api<DnsEndpoint>,
    namespace: String,
    field_manager: String,
}

/// An object of ours as it was read.
struct Found {
    object: DnsEndpoint,
    contents: Contents,
}

impl ExternalDns {
    /// What this provider is called in logs, metrics and the change log.
    pub const ID: &'static str = "external-dns";

    /// Sets the provider up; nothing is sent yet. The objects stand in `namespace`.
    pub fn new(client: Client, namespace: &str, field_manager: &str) -> Self {
        Self {
            id: ProviderId::new(Self::ID),
            capabilities: Capabilities {
                own_object: true,
                restarts: false,
                unverified: false,
                records: false,
            },
            api: Api::namespaced(client, namespace),
            namespace: namespace.to_owned(),
            field_manager: field_manager.to_owned(),
        }
    }

    async fn read(&self, zone: &DomainName) -> Result<Option<Found>, ProviderError> {
        let name = object_name(zone);
        let object = match in_time(self.api.get(&name)).await {
            Ok(object) => object,
            Err(error) => match self.explain("read", &name, error) {
                Explained::Absent => return Ok(None),
                Explained::Error(error) => return Err(error),
                Explained::Conflict => return Err(ProviderError::Stale { zone: zone.clone() }),
                Explained::Unknown { text, source } => {
                    return Err(ProviderError::Unavailable { text, retry_after: None, source });
                }
            },
        };
        if object.labels().get(marks::DNS_TYPE).is_none_or(|value| value != marks::DNS_TYPE_EXTDNS) {
            return Err(ProviderError::Refused {
                text: format!(
                    "DNSEndpoint {}/{name} exists without the label {}={}, so external-dns does not see it, and it is taken for somebody else's and left alone; delete it, or label it to hand it over",
                    self.namespace,
                    marks::DNS_TYPE,
                    marks::DNS_TYPE_EXTDNS,
                ),
            });
        }
        let contents = convert::contents(zone, &object.spec.endpoints).map_err(|unreadable| {
            ProviderError::Unexpected {
                text: format!(
                    "DNSEndpoint {}/{name} cannot be read: {unreadable}; correct it or delete the object",
                    self.namespace
                ),
            }
        })?;
        Ok(Some(Found { object, contents }))
    }

    async fn write(&self, change: &Change, found: Option<Found>) -> Result<(), kube::Error> {
        let name = object_name(change.zone());
        let Some(Found { object, contents }) = found else {
            let mut object = DnsEndpoint {
                metadata: ObjectMeta { name: Some(name), ..ObjectMeta::default() },
                ..DnsEndpoint::default()
            };
            object.labels_mut().extend(LABELS.map(|key| (key.to_owned(), marks::DNS_TYPE_EXTDNS.to_owned())));
            object.spec = DnsEndpointSpec { endpoints: convert::endpoints(change.after(), &[]) };
            let params =
                PostParams { field_manager: Some(self.field_manager.clone()), ..PostParams::default() };
            return in_time(self.api.create(&params, &object)).await.map(drop);
        };
        let endpoints = convert::endpoints(change.after(), &contents.others);
        if endpoints.is_empty() {
            let preconditions =
                Preconditions { resource_version: object.resource_version(), uid: object.uid() };
            let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
            return in_time(self.api.delete(&name, &params)).await.map(drop);
        }
        let labels: serde_json::Map<_, _> =
            LABELS.iter().map(|key| ((*key).to_owned(), json!(marks::DNS_TYPE_EXTDNS))).collect();
        let body = json!({
            "metadata": {"resourceVersion": object.resource_version(), "labels": labels},
            "spec": {"endpoints": endpoints},
        });
        let params =
            PatchParams { field_manager: Some(self.field_manager.clone()), ..PatchParams::default() };
        in_time(self.api.patch(&name, &params, &Patch::Merge(&body))).await.map(drop)
    }

    /// What a failed call means. A kind that is not installed answers 404 as well, but names no object.
    fn explain(&self, verb: &str, name: &str, error: kube::Error) -> Explained {
        let what = format!("DNSEndpoint {}/{name}", self.namespace);
        let status = match error {
            kube::Error::Api(status) => status,
            error => {
                let text = format!("the Kubernetes API did not answer the attempt to {verb} {what}");
                return Explained::Unknown { text, source: Some(Box::new(error)) };
            }
        };
        let Status { code, message, .. } = &*status;
        Explained::Error(match code {
            404 if names(&status, name) => return Explained::Absent,
            404 if names(&status, &self.namespace) => ProviderError::Misconfigured {
                text: format!(
                    "{what} cannot be written: namespace {} does not exist; create it or correct POD_NAMESPACE",
                    self.namespace
                ),
            },
            404 => ProviderError::Misconfigured {
                text: format!(
                    "the Kubernetes API has no kind DNSEndpoint of {}; install its definition (gslb-bridge crds prints it), or, where the one that is installed has other versions only, one that serves this version",
                    DnsEndpoint::api_version(&())
                ),
            },
            409 => return Explained::Conflict,
            401 | 403 => ProviderError::Forbidden {
                text: format!(
                    "the Kubernetes API does not allow this ServiceAccount to {verb} {what}; extend its Role: {message}"
                ),
            },
            // Turned away before it was worked on.
            429 => ProviderError::Unavailable {
                text: format!("the Kubernetes API is too busy ({code}) to {verb} {what}: {message}"),
                retry_after: None,
                source: None,
            },
            500.. => {
                let text = format!("the Kubernetes API failed ({code}) to {verb} {what}: {message}");
                return Explained::Unknown { text, source: None };
            }
            _ => ProviderError::Refused {
                text: format!("the Kubernetes API refused ({code}) to {verb} {what}: {message}"),
            },
        })
    }
}

enum Explained {
    Absent,
    Conflict,
    /// Whether the call was carried out is not known.
    Unknown {
        text: String,
        source: Option<BoxError>,
    },
    Error(ProviderError),
}

fn names(status: &Status, name: &str) -> bool {
    status.details.as_ref().is_some_and(|details| details.name == name)
}

fn presence(found: Option<&Found>) -> Presence {
    let delegation: Option<Delegation> = found.and_then(|found| found.contents.delegation.clone());
    delegation.map_or(Presence::Absent, |delegation| Presence::Present(ObservedDelegation::plain(delegation)))
}

/// One call with a deadline: the client has none, because a quiet watch is no fault.
async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    timeout(CALL, call).await.unwrap_or_else(|late| Err(kube::Error::Service(Box::new(late))))
}

#[async_trait]
impl Observe for ExternalDns {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        Ok(presence(self.read(&scope.zone).await?.as_ref()))
    }
}

#[async_trait]
impl Provider for ExternalDns {
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let change = change.change();
        let zone = change.zone();
        let found = self.read(zone).await?;
        let before = presence(found.as_ref());
        let name = object_name(zone);
        let receipt = |read_back| Receipt {
            reference: format!("{}/{name}", self.namespace),
            disposition: Disposition::Applied,
            read_back: Some(read_back),
            amends: vec![],
        };
        if change.shows_in(&before) {
            return Ok(receipt(before));
        }
        let after = change.apply_to(&before).map_err(|stale| ProviderError::Stale { zone: stale.zone })?;
        match self.write(change, found).await {
            Ok(()) => Ok(receipt(after)),
            Err(error) => match self.explain("write", &name, error) {
                // It went between the read and the write.
                Explained::Absent if change.after().is_none() => Ok(receipt(Presence::Absent)),
                Explained::Absent | Explained::Conflict => Err(ProviderError::Stale { zone: zone.clone() }),
                Explained::Unknown { text, source } => Err(ProviderError::Uncertain { text, source }),
                Explained::Error(error) => Err(error),
            },
        }
    }

    /// What was given up is still worked on. A late write alters nothing that was written since, as each has the
    /// version that it was planned for as a precondition, or creates; but what a read shows before is no proof.
    fn longest_aftermath(&self) -> Duration {
        REQUEST
    }
}
