//! Providers that do one thing in a way of their own, and all else as the reference provider does.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gslb_core::delegation::Presence;
use gslb_core::limits::ApprovedChange;
use gslb_core::name::DomainName;
use gslb_core::records::{ApprovedRecordChange, ObservedHost, ZoneRecords};
use gslb_provider_contract::{
    Approval, Capabilities, Held, Observe, Provider, ProviderError, ProviderId, Receipt, Scope, Service,
};
use gslb_provider_memory::MemoryProvider;
use serde_json::Value;

/// What a provider does in a way of its own. Whatever is left out, its store does.
#[async_trait]
pub(crate) trait Manners: Send + Sync {
    fn store(&self) -> &MemoryProvider;

    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        self.store().observe(scope).await
    }
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        self.store().apply(change).await
    }
    async fn apply_record(
        &self,
        change: &ApprovedRecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        self.store().apply_record(change).await
    }
    async fn amend(&self, zone: &DomainName, lost: &Value) -> Result<String, ProviderError> {
        self.store().amend(zone, lost).await
    }
    async fn restart(&self) -> Result<(), ProviderError> {
        self.store().restart().await
    }
    async fn held(&self, zone: &DomainName) -> Result<Option<Held>, ProviderError> {
        self.store().held(zone).await
    }
    async fn approval(&self, zone: &DomainName, reference: &str) -> Result<Approval, ProviderError> {
        self.store().approval(zone, reference).await
    }
    fn longest_aftermath(&self) -> Duration {
        self.store().longest_aftermath()
    }
}

/// A provider with these manners.
pub(crate) struct StandIn<T>(T);

impl<T: Manners + 'static> StandIn<T> {
    pub(crate) fn new(manners: T) -> Arc<Self> {
        Arc::new(Self(manners))
    }

    /// As a cluster runs with it.
    pub(crate) fn run(self: &Arc<Self>) -> Option<Arc<dyn Provider>> {
        Some(Arc::clone(self) as Arc<dyn Provider>)
    }
}

impl<T> Deref for StandIn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

#[async_trait]
impl<T: Manners> Observe for StandIn<T> {
    fn id(&self) -> &ProviderId {
        self.0.store().id()
    }
    fn capabilities(&self) -> &Capabilities {
        self.0.store().capabilities()
    }
    async fn observe(&self, scope: &Scope) -> Result<Presence, ProviderError> {
        self.0.observe(scope).await
    }
    async fn records(&self, scope: &Scope) -> Result<ZoneRecords, ProviderError> {
        self.0.store().records(scope).await
    }
    async fn service(&self) -> Result<Service, ProviderError> {
        self.0.store().service().await
    }
}

#[async_trait]
impl<T: Manners> Provider for StandIn<T> {
    async fn apply(&self, change: &ApprovedChange) -> Result<Receipt, ProviderError> {
        self.0.apply(change).await
    }
    async fn apply_record(
        &self,
        change: &ApprovedRecordChange,
    ) -> Result<Receipt<ObservedHost>, ProviderError> {
        self.0.apply_record(change).await
    }
    async fn amend(&self, zone: &DomainName, lost: &Value) -> Result<String, ProviderError> {
        self.0.amend(zone, lost).await
    }
    async fn restart(&self) -> Result<(), ProviderError> {
        self.0.restart().await
    }
    async fn held(&self, zone: &DomainName) -> Result<Option<Held>, ProviderError> {
        self.0.held(zone).await
    }
    async fn approval(&self, zone: &DomainName, reference: &str) -> Result<Approval, ProviderError> {
        self.0.approval(zone, reference).await
    }
    fn longest_aftermath(&self) -> Duration {
        self.0.longest_aftermath()
    }
}
