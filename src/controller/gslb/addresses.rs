//! The addresses of the application in this cluster: from annotations, configuration, or the referenced object.

use std::collections::{BTreeMap, BTreeSet};

use gslb_core::exposure::{Exposure, RawExposure};
use gslb_core::name::DomainName;
use gslb_core::publication::{Exposed, Looked, Resolution};
use gslb_core::reference::{AddressProblem, IstioGateway, Last, ObjectKind, only_gateway};
use gslb_core::target::{LastAddresses, Shown, Targets, hold_addresses};
use gslb_core::tenancy::Tenancy;
use gslb_crds::{Gslb, marks};
use jiff::Timestamp;

use super::group::Id;
use super::reference::{Reader, Referenced};
use crate::controller::cache::Key;
use crate::controller::facts::referent::{AddressSource, Optional};
use crate::controller::registry::Dependency;

/// The addresses, and until when they are held although nothing shows them.
pub(crate) type Found = (Exposed, Option<Timestamp>);

type Stop = super::reference::Stop<AddressProblem>;

impl From<AddressProblem> for Stop {
    fn from(problem: AddressProblem) -> Self {
        Self::Problem(problem)
    }
}

impl Reader<'_> {
    /// The addresses of a Gslb. Parts of the referenced object that cannot be used are added to its list.
    ///
    /// # Errors
    /// Something is being read for the first time; then the time until which that is worth waiting for.
    pub(crate) fn addresses(
        &mut self,
        gslb: &Gslb,
        tenancy: &Tenancy,
        referenced: &mut Referenced,
    ) -> Result<Found, Timestamp> {
        if let Resolution::Failed { .. } = referenced.resolution {
            self.remember(None);
            return Ok((Exposed::default(), None));
        }
        let annotation = |key| marks::annotation(gslb, key);
        let exposure = RawExposure {
            host_names: annotation(marks::EXPOSED_HOSTNAMES),
            addresses: annotation(marks::EXPOSED_IP_ADDRESSES),
            configured: self.context.configured_addresses(),
        };
        match exposure.accept() {
            Err(problem) => {
                let (annotation, nothing) = (problem.annotation(), Targets::new());
                self.permitted(gslb, tenancy, referenced, annotation, &nothing, |reader| {
                    let last = reader.last_targets(gslb);
                    Ok((Exposed::instead(last, "ExposedAddressesInvalid", &problem.to_string()), None))
                })
            }
            Ok(Exposure::Configured(targets)) => Ok((Exposed::configured(targets), None)),
            Ok(Exposure::Listed(shown)) => {
                let (key, listed) = (marks::EXPOSED_IP_ADDRESSES, shown.targets.clone());
                self.permitted(gslb, tenancy, referenced, key, &listed, |reader| {
                    reader.shown(gslb, &format!("annotation {key}"), shown)
                })
            }
            Ok(Exposure::Names(names)) => {
                let host_names = names.iter().map(ToString::to_string).collect();
                let (key, shown) = (marks::EXPOSED_HOSTNAMES, Shown { host_names, ..Shown::default() });
                // Which addresses they are is known once they have been looked up.
                self.permitted(gslb, tenancy, referenced, key, &Targets::new(), |reader| {
                    reader.shown(gslb, &format!("annotation {key}"), shown)
                })
            }
            Ok(Exposure::Referent) => self.of_referent(gslb, referenced),
        }
    }

    fn of_referent(&mut self, gslb: &Gslb, referenced: &mut Referenced) -> Result<Found, Timestamp> {
        let Some(source) = referenced.source.clone() else {
            // Nothing shows addresses, and nothing says that the last ones are gone.
            return Ok((Exposed::configured(self.last_targets(gslb)), None));
        };
        match self.look_at(source, referenced) {
            Ok(shown) => self.shown(gslb, &referenced.what, shown),
            Err(Stop::Later(until)) => Err(until),
            Err(Stop::Problem(problem)) => Ok(match problem.last() {
                Last::Kept => (Exposed::without(&problem, self.last_targets(gslb)), None),
                Last::Gone => {
                    self.remember(None);
                    (Exposed::without(&problem, Targets::new()), None)
                }
                Last::Held => {
                    let (targets, until) = self.hold(gslb, Targets::new());
                    (Exposed::without(&problem, targets), until)
                }
            }),
        }
    }

    /// What an object shows, its host names looked up; held for a while when it shows nothing.
    fn shown(&mut self, gslb: &Gslb, what: &str, shown: Shown) -> Result<Found, Timestamp> {
        let names: Vec<DomainName> =
            shown.host_names.iter().filter_map(|name| DomainName::parse(name).ok()).collect();
        // All of them are asked for before any is waited for, so that many cost one wait.
        let mut awaited = None;
        for name in names {
            self.depend(Dependency::Name(name.clone()));
            let (known, until) = self.context.names.read(&name, self.now);
            if known.is_awaited() && self.now < until {
                awaited = awaited.max(Some(until));
            }
        }
        if let Some(until) = awaited {
            return Err(until);
        }
        let looked = Looked::new(shown, |name| self.context.names.read(name, self.now).0);
        if !looked.is_complete() {
            let targets = looked.targets.iter().copied().chain(self.last_targets(gslb)).collect();
            return Ok((Exposed::of(what, &looked, targets), None));
        }
        let (targets, held_until) = self.hold(gslb, looked.targets.clone());
        Ok((Exposed::of(what, &looked, targets), held_until))
    }

    pub(super) fn look_at(
        &mut self,
        source: AddressSource,
        referenced: &mut Referenced,
    ) -> Result<Shown, Stop> {
        let what = referenced.what.clone();
        match source {
            AddressSource::Gateways(gateways) => {
                let gateway = only_gateway(gateways, "spec.parentRefs", &what)?;
                match self.optional(ObjectKind::Gateway, &gateway, &what)? {
                    Optional::Gateway(facts) => {
                        let of = |sentence: String| format!("Gateway {gateway}: {sentence}");
                        referenced.ignored.extend(facts.ignored.into_iter().map(of));
                        Ok(facts.shown)
                    }
                    Optional::Referent(_) | Optional::IstioGateway(_) | Optional::Namespace(_) => {
                        Ok(Shown::default())
                    }
                }
            }
            AddressSource::IstioGateways(gateways) => {
                let gateway = only_gateway(gateways, "spec.gateways", &what)?;
                match self.optional(ObjectKind::IstioGateway, &gateway, &what)? {
                    Optional::IstioGateway(facts) => self.load_balancer(&gateway, &facts.selector),
                    Optional::Referent(_) | Optional::Gateway(_) | Optional::Namespace(_) => {
                        Ok(Shown::default())
                    }
                }
            }
            own => Ok(own_addresses(own, what)?),
        }
    }

    fn optional(&mut self, kind: ObjectKind, key: &Key, what: &str) -> Result<Optional, Stop> {
        self.depend(Dependency::Object(kind, key.clone()));
        let gateway = format!("{} {key}", kind.kind());
        let Some(facts) = self.kind(kind)?.facts.get(key) else {
            return Err(AddressProblem::NoGateway { gateway, what: what.to_owned() }.into());
        };
        facts.read.map_err(|problem| AddressProblem::UnreadableGateway { gateway, problem }.into())
    }

    /// What the load balancer of an Istio Gateway shows.
    fn load_balancer(&mut self, key: &Key, selector: &BTreeMap<String, String>) -> Result<Shown, Stop> {
        let gateway = IstioGateway { namespace: &key.namespace, name: &key.name, selector };
        gateway.check()?;
        self.depend(Dependency::Any(ObjectKind::Service, String::new()));
        let selected = self.context.services.select(|_, facts| gateway.selects(&facts.labels));
        let (key, facts) = gateway.load_balancer(selected, |(key, _)| &key.namespace)?;
        Ok(own_addresses(facts.referent(&key).source, format!("Service {key}"))?)
    }

    /// Holds the last addresses for a while when nothing is shown.
    fn hold(&self, gslb: &Gslb, shown: Targets) -> (Targets, Option<Timestamp>) {
        let standing = hold_addresses(shown, self.last(gslb), self.now);
        self.remember(standing.last);
        (standing.targets, standing.held_until)
    }

    /// The addresses that the Gslb had last. The status speaks for the time before this process only: it lags
    /// behind what a pass decided.
    fn last(&self, gslb: &Gslb) -> Option<LastAddresses> {
        let remembered = self.context.addresses.lock().expect("no panic while the addresses are locked");
        let of = |id: &Id| remembered.get(id).cloned();
        // A Gslb that took over from its twin goes on with what that one had.
        of(self.gslb).or_else(|| told(gslb).map(Some)).or_else(|| of(&self.gslb.twin())).flatten()
    }

    pub(super) fn last_targets(&self, gslb: &Gslb) -> Targets {
        self.last(gslb).map(|last| last.targets).unwrap_or_default()
    }

    pub(super) fn remember(&self, last: Option<LastAddresses>) {
        let mut remembered = self.context.addresses.lock().expect("no panic while the addresses are locked");
        remembered.insert(self.gslb.clone(), last);
    }
}

/// What an object shows by itself.
fn own_addresses(source: AddressSource, what: String) -> Result<Shown, AddressProblem> {
    match source {
        AddressSource::Own(shown) => Ok(shown),
        AddressSource::NotLoadBalancer(kind) => {
            let name = what.rsplit('/').next().unwrap_or_default().to_owned();
            Err(AddressProblem::NotLoadBalancer { what, name, kind })
        }
        AddressSource::Gateways(_) | AddressSource::IstioGateways(_) => Ok(Shown::default()),
    }
}

/// What the status still tells of the addresses, after a restart.
fn told(gslb: &Gslb) -> Option<LastAddresses> {
    let exposed = &gslb.status.as_ref()?.load_balancer.as_ref()?.exposed_ips;
    let targets: BTreeSet<_> = exposed.iter().filter_map(|address| address.parse().ok()).collect();
    (!targets.is_empty()).then_some(LastAddresses { targets, missing_since: None })
}
