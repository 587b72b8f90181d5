//! The contract batteries on the reference provider.

use async_trait::async_trait;
use gslb_core::delegation::Presence;
use gslb_core::records::ObservedHost;
use gslb_provider_contract::battery::{Stage, scope};
use gslb_provider_contract::record_battery::{RecordStage, host};
use gslb_provider_contract::{Provider, ProviderError, contract_tests, record_contract_tests};
use gslb_provider_memory::{MemoryProvider, Operation};

#[derive(Default)]
struct InMemory(MemoryProvider);

#[async_trait]
impl Stage for InMemory {
    fn provider(&self) -> &dyn Provider {
        &self.0
    }

    async fn another_writer(&self, presence: Presence) {
        self.0.put(&scope().zone, presence);
    }

    async fn break_reads(&self) {
        let text = "the memory is unavailable".to_owned();
        let error = ProviderError::Unavailable { text, retry_after: None, source: None };
        self.0.fail_next(Operation::Observe, error);
    }

    async fn heal(&self) {}

    async fn hide_parent(&self) {
        self.0.hide(&scope().parent);
    }

    async fn finish(&self) {}
}

contract_tests!(memory, |_case| InMemory::default());

#[async_trait]
impl RecordStage for InMemory {
    fn provider(&self) -> &dyn Provider {
        &self.0
    }

    async fn other_writers(&self, wanted: ObservedHost) {
        self.0.put_host(&host(), wanted);
    }

    async fn break_reads(&self) {
        Stage::break_reads(self).await;
    }

    async fn heal(&self) {}

    async fn hide_zone(&self) {
        Stage::hide_parent(self).await;
    }

    async fn finish(&self) {}
}

record_contract_tests!(memory_records, InMemory::default());
