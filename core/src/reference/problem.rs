//! Why a reference leads to no hosts. The texts are the sentences that the user reads.

use super::kind::ObjectKind;
use crate::publication::Resolution;
use crate::zone::HostProblem;

/// Why the objects of a kind are not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// The API server does not serve it.
    NotInstalled,
    /// We may not read it.
    Forbidden,
    /// It could not be read so far; anything else may be wrong.
    NotRead,
}

/// A kind whose objects are not known. Nothing of it is absent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct KindUnread {
    /// The kind.
    pub kind: ObjectKind,
    /// Why.
    pub why: Unread,
}

impl KindUnread {
    /// Stable reason for conditions.
    pub fn reason(&self) -> &'static str {
        match self.why {
            Unread::NotInstalled => "KindNotInstalled",
            Unread::Forbidden => "KindForbidden",
            Unread::NotRead => "ReferenceNotRead",
        }
    }

    /// The sentence for a kind that was read before.
    pub fn sentence_after_reading(&self) -> String {
        let (kind, resource) = (self.kind.kind(), self.kind.resource());
        let (what, fix) = match self.why {
            Unread::NotInstalled => (
                format!("{kind} is not installed in this cluster any more"),
                "install its CustomResourceDefinition".to_owned(),
            ),
            Unread::Forbidden => (
                format!("gslb-bridge may not read {resource} any more"),
                "give its ServiceAccount the verbs list and watch on them in all namespaces".to_owned(),
            ),
            Unread::NotRead => {
                (format!("{resource} cannot be read"), "see the log of gslb-bridge".to_owned())
            }
        };
        format!("{what}, so what was read before stands; {fix}")
    }

    fn sentence(&self) -> String {
        let (kind, resource, version) = (self.kind.kind(), self.kind.resource(), self.kind.version());
        match self.why {
            Unread::NotInstalled => format!(
                "{kind} is not installed in this cluster: there is no {resource} in version {version}; refer to a version that the cluster serves, or install the CustomResourceDefinition of this one, which is noticed within 15 seconds"
            ),
            Unread::Forbidden => format!(
                "gslb-bridge may not read {resource}; give its ServiceAccount the verbs list and watch on them in all namespaces, which is noticed within 15 seconds"
            ),
            Unread::NotRead => format!(
                "{resource} could not be read yet, which is tried again; the log of gslb-bridge says why"
            ),
        }
    }
}

/// Why a reference leads to no hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceProblem {
    /// Neither a reference nor an embedded Ingress.
    #[error(
        "spec.resourceRef and spec.ingress are empty; refer to the object that names the hosts, or embed an Ingress"
    )]
    Missing,
    /// Not in the table of accepted kinds.
    #[error(
        "spec.resourceRef has APIVersion:{api_version}, Kind:{kind} not supported; use {}",
        ObjectKind::alternatives(kind)
    )]
    Unsupported {
        /// As written.
        api_version: String,
        /// As written.
        kind: String,
    },
    /// Neither a name nor a selector.
    #[error(
        "neither name nor label selector specified in ResourceRef; write the name of the {kind}, or matchLabels that it has"
    )]
    Unnamed {
        /// The kind referred to.
        kind: &'static str,
    },
    /// The selector is none.
    #[error(
        "the selector of spec.resourceRef cannot be used: {problem}; matchExpressions have the operators In and NotIn with values, Exists and DoesNotExist"
    )]
    BadSelector {
        /// What is wrong.
        problem: String,
    },
    /// The object does not exist.
    #[error("{what} does not exist; create it or correct spec.resourceRef")]
    NotFound {
        /// For example `Ingress web/shop`.
        what: String,
    },
    /// A selector that does not select exactly one object.
    #[error(
        "exactly 1 {kind} resource expected but {} were found in namespace {namespace}{}; correct the selector of spec.resourceRef or the labels",
        found.len(),
        listed(found)
    )]
    NotOne {
        /// The kind referred to.
        kind: &'static str,
        /// Where it was looked for.
        namespace: String,
        /// The names that were found.
        found: Vec<String>,
    },
    /// The object names no host.
    #[error("can't find hosts in {what}; add {wanted}")]
    NoHosts {
        /// The object.
        what: String,
        /// What it lacks.
        wanted: &'static str,
    },
    /// The host of a kind that names none is missing.
    #[error(
        "{what} requires k8gb.io/hostname annotation, because it names no host; set it on the Gslb to the one host"
    )]
    NoHostname {
        /// The object.
        what: String,
    },
    /// It is there, and empty.
    #[error("the Gslb of {what} has empty k8gb.io/hostname annotation; set it to the one host")]
    EmptyHostname {
        /// The object.
        what: String,
    },
    /// The namespace that is referred to does not list that of the Gslb.
    #[error(
        "Namespace {namespace} does not permit Gslbs of namespace {from} to refer to its objects, such as kind {kind}: {limit}; refer to an object of namespace {from}, or have it permitted there"
    )]
    NotPermitted {
        /// The kind referred to.
        kind: &'static str,
        /// The namespace referred to.
        namespace: String,
        /// That of the Gslb.
        from: String,
        /// What the Namespace permits, as part of the sentence.
        limit: String,
    },
    /// What it permits is not known.
    #[error("spec.resourceRef is not followed before it is known what Namespace {namespace} permits: {why}")]
    NotJudged {
        /// The namespace referred to.
        namespace: String,
        /// Why, as a sentence.
        why: String,
    },
    /// It is there, and no host that can be served.
    #[error("the k8gb.io/hostname annotation of the Gslb of {what} cannot be used: {problem}")]
    BadHostname {
        /// The object.
        what: String,
        /// What is wrong, and what to do.
        problem: Box<HostProblem>,
    },
    /// The object does not parse.
    #[error("{what} cannot be read: {problem}; correct it")]
    Unreadable {
        /// The object.
        what: String,
        /// What is wrong.
        problem: String,
    },
    /// Its kind is not known.
    #[error(transparent)]
    Unread(#[from] KindUnread),
    /// The embedded Ingress would overwrite one of somebody else.
    #[error(
        "Ingress {key} exists and does not belong to this Gslb, so spec.ingress is not written over it; rename the Gslb, delete that Ingress, or refer to it in spec.resourceRef"
    )]
    ForeignIngress {
        /// `namespace/name`.
        key: String,
    },
    /// The API server does not take the embedded Ingress.
    #[error("the API server refuses Ingress {key} as spec.ingress wants it: {answer}; correct spec.ingress")]
    RefusedIngress {
        /// `namespace/name`.
        key: String,
        /// What it said.
        answer: String,
    },
    /// The write of the embedded Ingress failed; that says nothing about the Ingress.
    #[error("Ingress {key} could not be written as spec.ingress wants it, which is tried again: {answer}")]
    UnwrittenIngress {
        /// `namespace/name`.
        key: String,
        /// What was heard.
        answer: String,
    },
    /// Somebody else writes the embedded Ingress too.
    #[error(
        "somebody else keeps changing Ingress {key} back, so it is written less often; find the other writer and stop it, or refer to that Ingress in spec.resourceRef"
    )]
    ContestedIngress {
        /// `namespace/name`.
        key: String,
    },
    /// We may not write the embedded Ingress.
    #[error(
        "gslb-bridge may not write Ingress {key}; give its ServiceAccount the verbs get, create and patch on ingresses.networking.k8s.io"
    )]
    ForbiddenIngress {
        /// `namespace/name`.
        key: String,
    },
}

fn listed(found: &[String]) -> String {
    if found.is_empty() { String::new() } else { format!(" ({})", found.join(", ")) }
}

impl ReferenceProblem {
    /// Stable reason for conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "NoReference",
            Self::Unsupported { .. } => "ReferenceUnsupported",
            Self::Unnamed { .. } => "ReferenceUnnamed",
            Self::BadSelector { .. } => "SelectorInvalid",
            Self::NotFound { .. } => "ReferenceNotFound",
            Self::NotOne { found, .. } if found.is_empty() => "ReferenceNotFound",
            Self::NotOne { .. } => "ReferenceAmbiguous",
            Self::NoHosts { .. } => "NoHosts",
            Self::NoHostname { .. } | Self::EmptyHostname { .. } => "NoHostname",
            Self::NotPermitted { .. } => "ReferenceNotPermitted",
            Self::NotJudged { .. } => crate::tenancy::NOT_READ,
            Self::BadHostname { .. } => "HostnameInvalid",
            Self::Unreadable { .. } => "ReferenceUnreadable",
            Self::Unread(unread) => unread.reason(),
            Self::ForeignIngress { .. } => "IngressForeign",
            Self::RefusedIngress { .. } => "IngressRefused",
            Self::UnwrittenIngress { .. } => "IngressNotWritten",
            Self::ContestedIngress { .. } => "OtherWriter",
            Self::ForbiddenIngress { .. } => "IngressForbidden",
        }
    }

    /// Whether it is certain that nothing is referred to. All else is an invalid edit, or was not read.
    fn is_definite(&self) -> bool {
        match self {
            // What is not permitted any more is withdrawn at once, as if the object were gone.
            Self::NotFound { .. } | Self::NoHosts { .. } | Self::NotPermitted { .. } => true,
            Self::NotOne { found, .. } => found.is_empty(),
            Self::Missing
            | Self::Unsupported { .. }
            | Self::Unnamed { .. }
            | Self::BadSelector { .. }
            | Self::NoHostname { .. }
            | Self::EmptyHostname { .. }
            | Self::NotJudged { .. }
            | Self::BadHostname { .. }
            | Self::Unreadable { .. }
            | Self::Unread(_)
            | Self::ForeignIngress { .. }
            | Self::RefusedIngress { .. }
            | Self::UnwrittenIngress { .. }
            | Self::ContestedIngress { .. }
            | Self::ForbiddenIngress { .. } => false,
        }
    }
}

impl From<ReferenceProblem> for Resolution {
    fn from(problem: ReferenceProblem) -> Self {
        let (reason, message) = (problem.reason(), problem.to_string());
        if problem.is_definite() {
            Self::Failed { reason, message }
        } else {
            Self::Invalid { reason, message }
        }
    }
}
