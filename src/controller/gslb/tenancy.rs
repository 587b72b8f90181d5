//! Reads what the Gslbs of a namespace may do, where the cluster's operator asks for that.

use std::collections::BTreeSet;

use gslb_core::name::DomainName;
use gslb_core::publication::{Exposed, Server};
use gslb_core::reference::{ObjectKind, Reference};
use gslb_core::target::{LastAddresses, Targets};
use gslb_core::tenancy::Tenancy;
use gslb_crds::Gslb;
use jiff::Timestamp;

use super::addresses::Found;
use super::live::EndpointFacts;
use super::reference::{Reader, Referenced, Stop, Unknown};
use crate::config::NamespacePolicy;
use crate::controller::cache::Key;
use crate::controller::facts::referent::Optional;
use crate::controller::registry::Dependency;

impl Reader<'_> {
    /// What the Gslb's own namespace may do. `known`: the servers of the last pass, whose hosts were accepted.
    ///
    /// # Errors
    /// The Namespaces are being read for the first time; then the time until which that is worth waiting for.
    pub(crate) fn tenancy(&mut self, known: &[Server]) -> Result<Tenancy, Timestamp> {
        self.tenancy_of(&self.gslb.key.namespace.clone(), known)
    }

    /// As [`Self::tenancy`], for a start: nobody is waited for.
    pub(crate) fn tenancy_so_far(&mut self, known: &[Server]) -> Tenancy {
        let namespace = self.gslb.key.namespace.clone();
        self.tenancy(known).unwrap_or_else(|_| self.unread(&namespace, "it is being read".to_owned(), known))
    }

    fn tenancy_of(&mut self, namespace: &str, known: &[Server]) -> Result<Tenancy, Timestamp> {
        match self.context.settings.namespace_policy {
            NamespacePolicy::Off => return Ok(Tenancy::Unlimited),
            NamespacePolicy::Enforce => {}
        }
        let key = Key::new("", namespace);
        self.depend(Dependency::Object(ObjectKind::Namespace, key.clone()));
        let why = match self.kind(ObjectKind::Namespace) {
            Ok(watched) => match watched.facts.get(&key).map(|facts| facts.read) {
                Some(Ok(Optional::Namespace(grants))) => {
                    return Ok(Tenancy::Granted { namespace: namespace.to_owned(), grants });
                }
                // A Gslb has no life without its Namespace: the watch is behind.
                _ => "it has not been seen yet".to_owned(),
            },
            Err(Unknown::Unread(unread)) => unread.to_string(),
            Err(Unknown::Later(until)) => return Err(until),
        };
        Ok(self.unread(namespace, why, known))
    }

    /// What was decided before: the hosts of the last pass, and those of the records that are published under the name,
    /// which a Gslb of the other group may have made.
    fn unread(&self, namespace: &str, why: String, known: &[Server]) -> Tenancy {
        let mut hosts: BTreeSet<DomainName> =
            known.iter().filter_map(|server| DomainName::parse(&server.host).ok()).collect();
        let published = self.context.endpoints.get(&self.gslb.key);
        let ours = published.filter(EndpointFacts::is_of_a_gslb);
        hosts.extend(ours.into_iter().flat_map(|facts| facts.standing.into_iter().map(|(host, _)| host)));
        Tenancy::Unread { namespace: namespace.to_owned(), why, hosts }
    }

    /// Checks a reference to another namespace: that one has to permit it.
    pub(crate) fn permit(&mut self, reference: &Reference) -> Result<(), Stop> {
        let own = &self.gslb.key.namespace;
        if reference.namespace == *own {
            return Ok(());
        }
        let tenancy = self.tenancy_of(&reference.namespace, &[]).map_err(Stop::Later)?;
        Ok(tenancy.referrer(own, reference.kind.kind())?)
    }

    /// The addresses under an annotation: what `find` gives, as far as the namespace may expose it. `listed` are those that
    /// the annotation names itself; if one of them is not permitted, the annotation is no edit that counts.
    pub(crate) fn permitted(
        &mut self,
        gslb: &Gslb,
        tenancy: &Tenancy,
        referenced: &Referenced,
        annotation: &str,
        listed: &Targets,
        find: impl FnOnce(&mut Self) -> Result<Found, Timestamp>,
    ) -> Result<Found, Timestamp> {
        if *tenancy == Tenancy::Unlimited {
            return find(self);
        }
        let shown = self.shown_by_object(referenced);
        let last = self.last_targets(gslb);
        if let Err((reason, sentence)) = tenancy.addresses(annotation, listed, &last) {
            let stays = tenancy.may_stay(&last, &shown, &last);
            self.remember_only(&stays);
            return Ok((Exposed::instead(stays, reason, &sentence), None));
        }
        let (found, until) = find(self)?;
        let stays = tenancy.may_stay(&found.targets, &shown, &last);
        let lost: Targets = &found.targets - &stays;
        let Err((reason, sentence)) = tenancy.addresses(annotation, &lost, &last) else {
            return Ok((found, until));
        };
        self.remember_only(&stays);
        Ok((Exposed::in_part(stays, reason, &sentence), until))
    }

    /// The addresses that the referenced object shows at this moment, whatever annotations say.
    fn shown_by_object(&mut self, referenced: &Referenced) -> Targets {
        let mut scratch = referenced.clone();
        let shown = referenced.source.clone().and_then(|source| self.look_at(source, &mut scratch).ok());
        let Some(shown) = shown else { return Targets::new() };
        let mut targets = shown.targets;
        for name in shown.host_names.iter().filter_map(|name| DomainName::parse(name).ok()) {
            self.depend(Dependency::Name(name.clone()));
            targets.extend(self.context.names.read(&name, self.now).0.addresses);
        }
        targets
    }

    /// What may not be answered must not come back as the last word of an object that shows nothing.
    fn remember_only(&self, targets: &Targets) {
        let last = LastAddresses { targets: targets.clone(), missing_since: None };
        self.remember((!targets.is_empty()).then_some(last));
    }
}
