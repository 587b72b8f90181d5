//! Follows the reference of a Gslb to hosts, Services and the place of their addresses.

use std::collections::BTreeSet;

use gslb_core::publication::Resolution;
use gslb_core::reference::{KindUnread, ObjectKind, RawReference, Reference, ReferenceProblem, Selection};
use gslb_core::zone::Zone;
use gslb_crds::Gslb;
use gslb_crds::gslb::ResourceRef;
use gslb_crds::marks;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};

use super::embedded;
use super::group::{Id, Served};
use crate::controller::cache::Key;
use crate::controller::context::Context;
use crate::controller::facts::embedded::servers;
use crate::controller::facts::referent::{AddressSource, Optional, Referent};
use crate::controller::kinds::{Reading, Watched};
use crate::controller::registry::Dependency;

/// The referenced object as far as this product reads it.
#[derive(Debug, Clone)]
pub(crate) struct Referenced {
    pub(crate) resolution: Resolution,
    /// Where its addresses are; `None`: nothing was found.
    pub(crate) source: Option<AddressSource>,
    /// For sentences: `Ingress web/shop`.
    pub(crate) what: String,
    /// Parts of it that nothing comes of, as sentences.
    pub(crate) ignored: Vec<String>,
}

/// Why a pass stops before anything is decided.
#[derive(Debug)]
pub(crate) enum Stop<P = ReferenceProblem> {
    /// What stands against it.
    Problem(P),
    /// What it depends on is being read for the first time: worth waiting for, until then.
    Later(Timestamp),
}

impl From<ReferenceProblem> for Stop {
    fn from(problem: ReferenceProblem) -> Self {
        Self::Problem(problem)
    }
}

impl<P: From<KindUnread>> From<Unknown> for Stop<P> {
    fn from(unknown: Unknown) -> Self {
        match unknown {
            Unknown::Unread(unread) => Self::Problem(unread.into()),
            Unknown::Later(until) => Self::Later(until),
        }
    }
}

/// What one pass over a Gslb reads. Everything is depended on before it is read, so no change is missed.
pub(crate) struct Reader<'a> {
    pub(crate) context: &'a Context,
    pub(crate) gslb: &'a Id,
    pub(crate) zones: &'a [Zone],
    pub(crate) dependencies: &'a mut BTreeSet<Dependency>,
    pub(crate) now: Timestamp,
    /// Kinds that were read before and cannot be read any more.
    pub(crate) refused: Vec<KindUnread>,
    /// When that may have changed without a word.
    pub(crate) look_again: Option<Timestamp>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        context: &'a Context,
        gslb: &'a Id,
        zones: &'a [Zone],
        dependencies: &'a mut BTreeSet<Dependency>,
        now: Timestamp,
    ) -> Self {
        Self { context, gslb, zones, dependencies, now, refused: Vec::new(), look_again: None }
    }

    pub(crate) fn depend(&mut self, dependency: Dependency) {
        self.context.registry.depend(self.gslb, [dependency.clone()]);
        self.dependencies.insert(dependency);
    }

    /// The objects of a kind that not every cluster has, once they are known.
    pub(crate) fn kind(&mut self, kind: ObjectKind) -> Result<std::sync::Arc<Watched>, Unknown> {
        self.depend(Dependency::Kind(kind));
        let watched = self.context.kinds.of(kind, self.now);
        if let Some((refused, until)) =
            watched.refused(self.now).filter(|(new, _)| !self.refused.contains(new))
        {
            self.refused.push(refused);
            self.look_again = self.look_again.into_iter().chain([until]).min();
        }
        match watched.reading(self.now) {
            Reading::Done => Ok(watched),
            Reading::UnderWay(until) => Err(Unknown::Later(until)),
            Reading::Failed(unread) => Err(Unknown::Unread(unread)),
        }
    }

    /// Follows the reference. `ingress`: whether the embedded Ingress is as wanted.
    ///
    /// # Errors
    /// A kind is being read for the first time; then the time until which that is worth waiting for.
    pub(crate) fn resolve(
        &mut self,
        gslb: Served<'_>,
        ingress: embedded::Applied,
    ) -> Result<Referenced, Timestamp> {
        let found = match &gslb.spec.resource_ref {
            Some(reference) => self.referred(reference, &gslb),
            None => self.embedded(gslb, ingress),
        };
        match found {
            Ok(found) => Ok(found),
            Err(Stop::Later(until)) => Err(until),
            Err(Stop::Problem(problem)) => Ok(Referenced {
                resolution: problem.into(),
                source: None,
                what: String::new(),
                ignored: Vec::new(),
            }),
        }
    }

    fn referred(&mut self, written: &ResourceRef, gslb: &Gslb) -> Result<Referenced, Stop> {
        let reference = raw(written).accept(&self.gslb.key.namespace)?;
        self.permit(&reference)?;
        let (name, referent) = match &reference.selection {
            Selection::Named(name) => (name.clone(), self.named(&reference, name)?),
            Selection::Matching => {
                let name = self.matching(&reference, written)?;
                let referent = self.named(&reference, &name)?;
                (name, referent)
            }
        };
        let what = reference.what(&name);
        let hostname = marks::annotation(gslb, marks::HOSTNAME);
        let servers = referent.backends.servers(reference.kind, &what, hostname, self.zones)?;
        let resolution = Resolution::Found(servers);
        Ok(Referenced { resolution, source: Some(referent.source), what, ignored: referent.ignored })
    }

    /// The hosts are those of the spec: the Ingress is only on its way there.
    fn embedded(&mut self, gslb: Served<'_>, ingress: embedded::Applied) -> Result<Referenced, Stop> {
        let spec = embedded::wanted(&gslb).ok_or(ReferenceProblem::Missing)?;
        self.depend(Dependency::Object(ObjectKind::Ingress, self.gslb.key.clone()));
        ingress?;
        let what = format!("Ingress {}", self.gslb.key);
        let servers = servers(gslb, &spec);
        if servers.iter().all(|server| server.host.is_empty()) {
            return Err(
                ReferenceProblem::NoHosts { what, wanted: "a rule with a host to spec.ingress" }.into()
            );
        }
        let facts = self.context.ingresses.get(&self.gslb.key);
        let shown = facts.map(|facts| facts.shown).unwrap_or_default();
        Ok(Referenced {
            resolution: Resolution::Found(servers),
            source: Some(AddressSource::Own(shown)),
            what,
            ignored: Vec::new(),
        })
    }

    fn named(&mut self, reference: &Reference, name: &str) -> Result<Referent, Stop> {
        let key = Key::new(reference.namespace.clone(), name);
        self.depend(Dependency::Object(reference.kind, key.clone()));
        let what = reference.what(name);
        let missing = || ReferenceProblem::NotFound { what: what.clone() };
        Ok(match reference.kind {
            ObjectKind::Ingress => self.context.ingresses.get(&key).ok_or_else(missing)?.referent(),
            ObjectKind::Service => self.context.services.get(&key).ok_or_else(missing)?.referent(&key),
            kind => match self.kind(kind)?.facts.get(&key).ok_or_else(missing)?.read {
                Ok(Optional::Referent(referent)) => referent,
                // None of these is a kind that a reference may name.
                Ok(Optional::Gateway(_) | Optional::IstioGateway(_) | Optional::Namespace(_)) => {
                    return Err(missing().into());
                }
                Err(problem) => return Err(ReferenceProblem::Unreadable { what, problem }.into()),
            },
        })
    }

    /// The name of the one object with the labels of the selector.
    fn matching(&mut self, reference: &Reference, written: &ResourceRef) -> Result<String, Stop> {
        let selector = selector(written)?;
        let namespace = &reference.namespace;
        self.depend(Dependency::Any(reference.kind, namespace.clone()));
        let found: Vec<String> = match reference.kind {
            ObjectKind::Ingress => names(
                self.context
                    .ingresses
                    .select(|key, facts| key.namespace == *namespace && selector.matches(&facts.labels)),
            ),
            ObjectKind::Service => names(
                self.context
                    .services
                    .select(|key, facts| key.namespace == *namespace && selector.matches(&facts.labels)),
            ),
            kind => names(
                self.kind(kind)?
                    .facts
                    .select(|key, facts| key.namespace == *namespace && selector.matches(&facts.labels)),
            ),
        };
        let (name, ()) = reference.only(found.into_iter().map(|name| (name, ())).collect())?;
        Ok(name)
    }
}

/// Why the objects of a kind are not known.
#[derive(Debug)]
pub(crate) enum Unknown {
    Unread(KindUnread),
    Later(Timestamp),
}

fn names<T>(found: Vec<(Key, T)>) -> Vec<String> {
    found.into_iter().map(|(key, _)| key.name).collect()
}

pub(crate) fn raw(written: &ResourceRef) -> RawReference<'_> {
    RawReference {
        api_version: written.api_version.as_deref(),
        kind: written.kind.as_deref(),
        name: written.name.as_deref(),
        namespace: written.namespace.as_deref(),
        selects: !written.match_labels.is_empty() || !written.match_expressions.is_empty(),
    }
}

fn selector(written: &ResourceRef) -> Result<Selector, ReferenceProblem> {
    let selector = LabelSelector {
        match_labels: Some(written.match_labels.clone()),
        match_expressions: Some(written.match_expressions.clone()),
    };
    selector.try_into().map_err(|problem: kube::core::ParseExpressionError| ReferenceProblem::BadSelector {
        problem: problem.to_string(),
    })
}
