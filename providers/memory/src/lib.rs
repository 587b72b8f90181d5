//! The reference provider: delegations, and records of hosts, held in memory.
//!
//! It shows what an adapter must do in the fewest lines, and stands in for a backend in tests: failures are
//! injected with [`MemoryProvider::fail_next`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::beneath::Beneath;
use gslb_core::change::Change;
use gslb_core::delegation::Presence;
use gslb_core::edit::Traced;
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_core::records::{ApprovedRecordChange, ObservedHost, RecordChange, ZoneRecords};
use gslb_provider_contract::{
    Capabilities, Disposition, Observe, Provider, ProviderError, ProviderId, Receipt, Scope, Service,
};

/// Delegations by zone, with a script of failures.
#[derive(Debug)]
pub struct MemoryProvider {
    id: ProviderId,
    capabilities: Capabilities,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    delegations: BTreeMap<DomainName, Presence>,
    hidden: BTreeSet<DomainName>,
    beneath: BTreeMap<DomainName, Beneath>,
    failures: VecDeque<(Operation, ProviderError)>,
    writes: Vec<Change>,
    service: Option<Service>,
    restarts: usize,
    hosts: ZoneRecords,
    record_writes: Vec<RecordChange>,
}

/// What a failure hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A read fails.
    Observe,
    /// A look at what a delegation would hide fails.
    Beneath,
    /// A write fails and changes nothing.
    Apply,
    /// A write is made and its reply is lost.
    ReplyOfApply,
}

impl Default for MemoryProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProvider {
    /// Without any delegation.
    pub fn new() -> Self {
        Self {
            id: ProviderId::new("memory"),
            capabilities: Capabilities {
                own_object: false,
                restarts: false,
                unverified: false,
                records: true,
            },
            state: Mutex::default(),
        }
    }

    /// The same, under a name of its own.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { id: ProviderId::named("memory", name), ..self }
    }

    /// The same, allowed to restart services.
    #[must_use]
    pub fn restarting(mut self) -> Self {
        self.capabilities.restarts = true;
        self
    }

    /// The same, of a backend that has delegations and nothing else.
    #[must_use]
    pub fn without_records(mut self) -> Self {
        self.capabilities.records = false;
        self
    }

    /// The same, believing whoever answers in its place.
    #[must_use]
    pub fn unverified(mut self) -> Self {
        self.capabilities.unverified = true;
        self
    }

    /// The backend says this of its services, until a restart.
    pub fn tell_service(&self, service: Service) {
        self.state().service = Some(service);
    }

    /// How often the services were restarted.
    pub fn restarts(&self) -> usize {
        self.state().restarts
    }

    /// Another writer makes a delegation look like this.
    pub fn put(&self, zone: &DomainName, presence: Presence) {
        self.state().delegations.insert(zone.clone(), presence);
    }

    /// Other writers make a host look like this.
    pub fn put_host(&self, host: &DomainName, observed: ObservedHost) {
        self.state().hosts.insert(host.clone(), observed);
    }

    /// What stands at a host.
    pub fn host(&self, host: &DomainName) -> ObservedHost {
        self.state().hosts.get(host).cloned().unwrap_or_default()
    }

    /// Every write of a record that changed something, in order.
    pub fn record_writes(&self) -> Vec<RecordChange> {
        self.state().record_writes.clone()
    }

    /// A parent zone and all below it are out of sight from now on.
    pub fn hide(&self, parent: &DomainName) {
        self.state().hidden.insert(parent.clone());
    }

    /// The parent zone holds this at or beneath the zone's name.
    pub fn put_beneath(&self, zone: &DomainName, beneath: Beneath) {
        self.state().beneath.insert(zone.clone(), beneath);
    }

    /// The next such operation fails once. Failures of one kind happen in the order in which they were given.
    pub fn fail_next(&self, operation: Operation, error: ProviderError) {
        self.state().failures.push_back((operation, error));
    }

    /// Every write that changed something, in order.
    pub fn writes(&self) -> Vec<Change> {
        self.state().writes.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fails(&mut self, operation: Operation) -> Result<(), ProviderError> {
        match self.failures.iter().position(|(hit, _)| *hit == operation) {
            Some(index) => self.failures.remove(index).map_or(Ok(()), |(_, error)| Err(error)),
            None => Ok(()),
        }
    }

    /// What is out of sight is neither there nor absent.
    fn sees(&self, zone: &DomainName) -> Result<(), ProviderError> {
        match self.hidden.iter().find(|parent| zone.is_within(parent)) {
            Some(parent) => {
                let text = format!("the parent zone {parent} of {zone} was not found in the memory");
                Err(ProviderError::Misconfigured { text })
            }
            None => Ok(()),
        }
    }

    fn read(&self, zone: &DomainName) -> Presence {
        self.delegations.get(zone).cloned().unwrap_or(Presence::Absent)
    }

    fn write_record(&mut self, change: &RecordChange) -> Result<ObservedHost, ProviderError> {
        let found = self.hosts.get(change.host()).cloned().unwrap_or_default();
        if change.shows_in(&found) {
            return Ok(found);
        }
        let after = change.apply_to(&found).map_err(|stale| ProviderError::Stale { zone: stale.host })?;
        self.hosts.insert(change.host().clone(), after.clone());
        self.record_writes.push(change.clone());
        Ok(after)
    }

    fn write(&mut self, change: &Change) -> Result<(), ProviderError> {
        let found = self.read(change.zone());
        if change.shows_in(&found) {
            return Ok(());
        }
        let after = change.apply_to(&found).map_err(|stale| ProviderError::Stale { zone: stale.zone })?;
        self.delegations.insert(change.zone().clone(), after);
        self.writes.push(change.clone());
        Ok(())
    }
}

#[async_trait]
impl Observe for MemoryProvider {
    fn id(&self) -> &ProviderId {
        &self.id
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        let mut state = self.state();
        state.fails(Operation::Observe)?;
        state.sees(&scope.zone)?;
        Ok(state.read(&scope.zone))
    }

    async fn records(&self, scope: &Scope) -> Result<ZoneRecords, ProviderError> {
        let mut state = self.state();
        state.fails(Operation::Observe)?;
        state.sees(&scope.zone)?;
        let within = state
            .hosts
            .iter()
            .filter(|(host, found)| host.is_within(&scope.zone) && **found != ObservedHost::default());
        Ok(within.map(|(host, found)| (host.clone(), found.clone())).collect())
    }

    async fn service(&self) -> Result<Service, ProviderError> {
        Ok(self.state().service.clone().unwrap_or(Service::Untold))
    }

    async fn beneath(&self, scope: &Scope) -> Result<Beneath, ProviderError> {
        let mut state = self.state();
        state.fails(Operation::Beneath)?;
        Ok(state.beneath.get(&scope.zone).cloned().unwrap_or_default())
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        let change = change.change();
        let mut state = self.state();
        state.fails(Operation::Apply)?;
        state.sees(change.zone())?;
        state.write(change)?;
        state.fails(Operation::ReplyOfApply)?;
        Ok(Receipt {
            reference: format!("memory/{}", change.zone()),
            disposition: Disposition::Applied,
            read_back: Some(state.read(change.zone())),
            amends: vec![],
        })
    }

    async fn apply_record(
        &self,
        change: &ApprovedRecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        let change = change.change();
        let mut state = self.state();
        state.fails(Operation::Apply)?;
        state.sees(change.host())?;
        let after = state.write_record(change)?;
        state.fails(Operation::ReplyOfApply)?;
        Ok(Receipt {
            reference: format!("memory/{}/{}", change.host(), change.record().address),
            disposition: Disposition::Applied,
            read_back: Some(after),
            amends: vec![],
        })
    }

    async fn restart(&self) -> Result<(), ProviderError> {
        let mut state = self.state();
        state.restarts += 1;
        state.service = Some(Service::Current);
        Ok(())
    }

    fn longest_aftermath(&self) -> Duration {
        Duration::ZERO
    }
}
