//! What the Gslbs of a namespace may do: which hosts, which addresses, which objects of other namespaces (F-74).
//!
//! Annotations of the Namespace say it, which belongs to whoever runs the cluster and not to the tenants. They count
//! with `NAMESPACE_POLICY=enforce` only.

mod grants;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::name::DomainName;
use crate::reference::ReferenceProblem;
use crate::target::Targets;
use crate::zone::HostProblem;

use grants::{AddressRange, Granted, HostPattern, Referrer};

/// Annotation of a Namespace: comma list of hosts that its Gslbs may use, `*.example.com` for all names below.
pub const HOSTS: &str = "gslb-bridge.io/permitted-hosts";
/// Annotation of a Namespace: comma list of addresses and ranges that annotations of its Gslbs may expose.
pub const ADDRESSES: &str = "gslb-bridge.io/exposed-addresses";
/// Annotation of a Namespace: comma list of the other namespaces whose Gslbs may refer to its objects, or `*`.
pub const REFERENCES_FROM: &str = "gslb-bridge.io/references-from";

/// Stable reason of conditions while the permissions of a namespace are not known.
pub const NOT_READ: &str = "PermissionsNotRead";
/// Stable reason of an address that an annotation may not expose.
pub const ADDRESS: &str = "AddressNotPermitted";

/// What the annotations of a Namespace permit. An element that is none permits nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    hosts: Granted<HostPattern>,
    addresses: Granted<AddressRange>,
    references_from: Granted<Referrer>,
}

impl Grants {
    /// Reads the annotations of a Namespace.
    pub fn read<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            hosts: Granted::read(annotation(HOSTS), HostPattern::parse),
            addresses: Granted::read(annotation(ADDRESSES), AddressRange::parse),
            references_from: Granted::read(annotation(REFERENCES_FROM), Referrer::parse),
        }
    }

    fn permits(&self, address: Ipv4Addr) -> bool {
        self.addresses.any(|range| range.covers(address))
    }
}

/// What is known of the permissions of one namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenancy {
    /// Everybody may do everything, as with k8gb.
    Unlimited,
    /// What its Namespace permits.
    Granted {
        /// Its name.
        namespace: String,
        /// What it may do.
        grants: Grants,
    },
    /// Not known, which is no word against what was decided before: that goes on, and nothing is added.
    Unread {
        /// Its name.
        namespace: String,
        /// Why, as a sentence.
        why: String,
        /// The hosts that were served before.
        hosts: BTreeSet<DomainName>,
    },
}

impl Tenancy {
    /// Whether a Gslb of the namespace may use the host.
    ///
    /// # Errors
    /// It may not, or that is not known and the host is new.
    pub fn host(&self, host: &DomainName) -> Result<(), HostProblem> {
        match self {
            Self::Unlimited => Ok(()),
            Self::Granted { grants, .. } if grants.hosts.any(|pattern| pattern.covers(host)) => Ok(()),
            Self::Granted { namespace, grants } => Err(HostProblem::NotPermitted {
                host: host.clone(),
                namespace: namespace.clone(),
                limit: grants.hosts.limit(HOSTS),
            }),
            Self::Unread { hosts, .. } if hosts.contains(host) => Ok(()),
            Self::Unread { namespace, why, .. } => Err(HostProblem::NotJudged {
                host: host.clone(),
                namespace: namespace.clone(),
                why: why.clone(),
            }),
        }
    }

    /// Whether a Gslb of another namespace may refer to objects of this one. `kind` is what it refers to.
    ///
    /// # Errors
    /// It may not, or that is not known.
    pub fn referrer(&self, from: &str, kind: &'static str) -> Result<(), ReferenceProblem> {
        match self {
            Self::Unlimited => Ok(()),
            Self::Granted { grants, .. } if grants.references_from.any(|referrer| referrer.covers(from)) => {
                Ok(())
            }
            Self::Granted { namespace, grants } => Err(ReferenceProblem::NotPermitted {
                kind,
                namespace: namespace.clone(),
                from: from.to_owned(),
                limit: grants.references_from.limit(REFERENCES_FROM),
            }),
            Self::Unread { namespace, why, .. } => {
                Err(ReferenceProblem::NotJudged { namespace: namespace.clone(), why: why.clone() })
            }
        }
    }

    /// Whether an annotation of a Gslb may expose the addresses. `last` are those in force.
    ///
    /// # Errors
    /// Reason and sentence: it may not, or that is not known and some are new.
    pub fn addresses(
        &self,
        annotation: &str,
        wanted: &Targets,
        last: &Targets,
    ) -> Result<(), (&'static str, String)> {
        match self {
            Self::Unlimited => Ok(()),
            Self::Granted { namespace, grants } => {
                let refused = wanted.iter().filter(|address| !grants.permits(**address));
                let refused = refused.map(ToString::to_string).collect::<Vec<_>>().join(", ");
                if refused.is_empty() {
                    return Ok(());
                }
                let limit = grants.addresses.limit(ADDRESSES);
                let sentence = format!(
                    "Namespace {namespace} does not permit annotation {annotation} to expose {refused}: {limit}; take it out, or have it permitted there"
                );
                Err((ADDRESS, sentence))
            }
            Self::Unread { .. } if wanted.is_subset(last) => Ok(()),
            Self::Unread { namespace, why, .. } => {
                let sentence = format!(
                    "annotation {annotation} exposes nothing new before it is known what Namespace {namespace} permits: {why}"
                );
                Err((NOT_READ, sentence))
            }
        }
    }

    /// The addresses that may be answered under an annotation: permitted ones, and those that the referenced object
    /// shows anyway. `last` are those in force, which stay while nothing is known.
    pub fn may_stay(&self, targets: &Targets, shown: &Targets, last: &Targets) -> Targets {
        match self {
            Self::Unlimited => targets.clone(),
            Self::Granted { grants, .. } => {
                let stays = |address: &&Ipv4Addr| grants.permits(**address) || shown.contains(*address);
                targets.iter().filter(stays).copied().collect()
            }
            Self::Unread { .. } => targets & last,
        }
    }

    /// What is to be said although every host is accepted.
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Unlimited | Self::Granted { .. } => None,
            Self::Unread { namespace, why, .. } => Some(format!(
                "what was accepted goes on and nothing new is, because it is not known what Namespace {namespace} permits: {why}"
            )),
        }
    }
}
