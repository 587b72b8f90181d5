//! What a Gslb refers to: which kinds, which object, and the hosts and Services that it names (contract §2.4).

mod address_problem;
mod gateway;
mod kind;
mod problem;
#[cfg(test)]
mod tests;

pub use address_problem::{AddressProblem, Last};
pub use gateway::{IstioGateway, only_gateway};
pub use kind::ObjectKind;
pub use problem::{KindUnread, ReferenceProblem, Unread};

use crate::publication::{Server, ServiceName, host_in};
use crate::zone::Zone;

/// `spec.resourceRef` as written; absent fields are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawReference<'a> {
    /// `apiVersion`.
    pub api_version: Option<&'a str>,
    /// `kind`.
    pub kind: Option<&'a str>,
    /// `name`.
    pub name: Option<&'a str>,
    /// `namespace`.
    pub namespace: Option<&'a str>,
    /// Whether there is a selector of labels.
    pub selects: bool,
}

/// A reference that can be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The kind, in the version that is read.
    pub kind: ObjectKind,
    /// Where the object is.
    pub namespace: String,
    /// Which object.
    pub selection: Selection,
}

/// Which object of a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The one of this name.
    Named(String),
    /// The one with the labels of the selector.
    Matching,
}

impl RawReference<'_> {
    /// Checks a reference of a Gslb in `namespace`. A name wins over a selector.
    ///
    /// # Errors
    /// The kind is not supported, or nothing says which object.
    pub fn accept(&self, namespace: &str) -> Result<Reference, ReferenceProblem> {
        let (kind, api_version) = (self.kind.unwrap_or_default(), self.api_version.unwrap_or_default());
        let unsupported =
            || ReferenceProblem::Unsupported { api_version: api_version.to_owned(), kind: kind.to_owned() };
        let kind = ObjectKind::accepted(kind, api_version).ok_or_else(unsupported)?;
        let selection = match self.name {
            Some(name) => Selection::Named(name.to_owned()),
            None if self.selects => Selection::Matching,
            None => return Err(ReferenceProblem::Unnamed { kind: kind.kind() }),
        };
        // F-93: the namespace counts for a selector too.
        Ok(Reference { kind, namespace: self.namespace.unwrap_or(namespace).to_owned(), selection })
    }
}

impl Reference {
    /// The one object that a selector found, as its name and what is known of it.
    ///
    /// # Errors
    /// There is none, or more than one.
    pub fn only<T>(&self, mut found: Vec<(String, T)>) -> Result<(String, T), ReferenceProblem> {
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => Err(ReferenceProblem::NotOne {
                kind: self.kind.kind(),
                namespace: self.namespace.clone(),
                found: found.into_iter().chain(last).map(|(name, _)| name).collect(),
            }),
        }
    }

    /// What an object is called in sentences: `HTTPRoute web/shop`.
    pub fn what(&self, name: &str) -> String {
        format!("{} {}/{name}", self.kind.kind(), self.namespace)
    }
}

/// The Services that an object sends requests to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backends {
    /// By the hosts that it names.
    ByHost(Vec<Server>),
    /// It names no host: the annotation `k8gb.io/hostname` of the Gslb does.
    Unnamed(Vec<ServiceName>),
}

impl Backends {
    /// The same Services for each host.
    pub fn shared(hosts: impl IntoIterator<Item = String>, services: &[ServiceName]) -> Self {
        let server = |host| Server { host, services: services.to_vec() };
        Self::ByHost(hosts.into_iter().map(server).collect())
    }

    /// The hosts with their Services. `hostname` is the Gslb's annotation, `what` the object in sentences.
    ///
    /// # Errors
    /// Neither the object nor the annotation names a host, or that of the annotation cannot be served in `zones`: it
    /// is part of the Gslb, so what is wrong there is an invalid edit.
    pub fn servers(
        self,
        kind: ObjectKind,
        what: &str,
        hostname: Option<&str>,
        zones: &[Zone],
    ) -> Result<Vec<Server>, ReferenceProblem> {
        let what = what.to_owned();
        match self {
            Self::ByHost(servers) if servers.iter().any(|server| !server.host.is_empty()) => Ok(servers),
            Self::ByHost(_) => Err(ReferenceProblem::NoHosts { what, wanted: wanted(kind) }),
            Self::Unnamed(services) => match hostname.map(str::trim) {
                None => Err(ReferenceProblem::NoHostname { what }),
                Some("") => Err(ReferenceProblem::EmptyHostname { what }),
                Some(host) => match host_in(zones, host) {
                    Ok(_) => Ok(vec![Server { host: host.to_owned(), services }]),
                    Err(problem) => Err(ReferenceProblem::BadHostname { what, problem: Box::new(problem) }),
                },
            },
        }
    }
}

/// Where an object of the kind names its hosts.
fn wanted(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Ingress => "a rule with a host",
        ObjectKind::VirtualService => "spec.hosts",
        ObjectKind::Service
        | ObjectKind::HttpRoute
        | ObjectKind::GrpcRoute
        | ObjectKind::TcpRouteV1
        | ObjectKind::TcpRouteV1Alpha2
        | ObjectKind::UdpRouteV1
        | ObjectKind::UdpRouteV1Alpha2
        | ObjectKind::TlsRouteV1
        | ObjectKind::TlsRouteV1Alpha2
        | ObjectKind::TlsRouteV1Alpha3
        | ObjectKind::Gateway
        | ObjectKind::IstioGateway
        | ObjectKind::Namespace => "spec.hostnames",
    }
}
