//! What the webhook counts. Labels come from closed sets, never from what clients send.

use std::fmt::Write;
use std::time::Duration;

use gslb_core::changelog::ChangeResult;
use gslb_core::records::RecordClaim;
use gslb_core::sets::{ObservedSets, SetRefusal};
use gslb_provider_contract::ProviderId;
use gslb_provider_infoblox::{CallObserver, Operation};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::controller::ledger::CountChanges;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    call: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Holder {
    holder: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Change {
    provider: String,
    action: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    provider: String,
    success: &'static str,
}

/// Name as exported, labels, meaning.
const REFERENCE: [(&str, &str, &str); 5] = [
    (
        "gslb_bridge_webhook_requests_total",
        "`call`, `status`",
        "Requests of external-dns by what was answered",
    ),
    ("gslb_bridge_webhook_refusals_total", "`reason`", "Sets that were left as they are, by why"),
    ("gslb_bridge_webhook_sets", "`holder`", "Sets in the last listing: ours, and foreign ones"),
    (
        "gslb_bridge_provider_changes_total",
        "`provider`, `action`, `result`",
        "Changes at the grid by what came of them",
    ),
    (
        "gslb_bridge_provider_calls_total",
        "`provider`, `success`",
        "Requests to the grid, by whether they succeeded",
    ),
];

/// The metrics as a table for the reference page.
pub fn reference() -> String {
    let mut table = String::from("| Metric | Labels | Meaning |\n|---|---|---|\n");
    for (name, labels, help) in REFERENCE {
        writeln!(table, "| `{name}` | {labels} | {help}. |").expect("a String takes all");
    }
    table
}

/// Handle to all metrics; clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Metrics {
    requests: Family<Request, Counter>,
    refusals: Family<Refused, Counter>,
    sets: Family<Holder, Gauge>,
    changes: Family<Change, Counter>,
    calls: Family<Call, Counter>,
}

impl Metrics {
    /// Registers everything.
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let [requests, refusals, sets, changes, calls] = REFERENCE;
        let name = |full: &'static str| full.strip_suffix("_total").unwrap_or(full);
        registry.register(name(requests.0), requests.2, metrics.requests.clone());
        registry.register(name(refusals.0), refusals.2, metrics.refusals.clone());
        registry.register(name(sets.0), sets.2, metrics.sets.clone());
        registry.register(name(changes.0), changes.2, metrics.changes.clone());
        registry.register(name(calls.0), calls.2, metrics.calls.clone());
        metrics
    }

    pub(super) fn answered(&self, call: &'static str, status: u16) {
        self.requests.get_or_create(&Request { call, status }).inc();
    }

    pub(super) fn refused(&self, refusals: &[SetRefusal]) {
        for refusal in refusals {
            self.refusals.get_or_create(&Refused { reason: refusal.reason() }).inc();
        }
    }

    /// A listing; gives how many sets are ours.
    pub(super) fn listed(&self, found: &ObservedSets, claim: &RecordClaim) -> usize {
        let (mut ours, mut foreign) = (0, 0);
        for set in found.values().flat_map(|name| name.values()) {
            match set.is_claimed_by(claim) {
                true => ours += 1,
                false => foreign += 1,
            }
        }
        for (holder, count) in [("ours", ours), ("foreign", foreign)] {
            self.sets.get_or_create(&Holder { holder }).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        ours
    }
}

impl CountChanges for Metrics {
    fn change_made(
        &self,
        provider: &ProviderId,
        _zone_delegation: Option<&str>,
        action: &'static str,
        result: ChangeResult,
    ) {
        let labels = Change { provider: provider.to_string(), action, result: result.as_str() };
        self.changes.get_or_create(&labels).inc();
    }
}

/// Counts the requests to the grid.
#[derive(Debug)]
pub(super) struct GridCalls {
    pub(super) metrics: Metrics,
    pub(super) provider: String,
}

impl CallObserver for GridCalls {
    fn on_call(&self, _operation: Operation, success: bool, _duration: Duration) {
        let success = if success { "true" } else { "false" };
        self.metrics.calls.get_or_create(&Call { provider: self.provider.clone(), success }).inc();
    }
}
