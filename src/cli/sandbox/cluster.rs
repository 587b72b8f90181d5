//! One simulated cluster: its API server, and what the sandbox reads and changes there.

use std::collections::BTreeMap;

use anyhow::Context;
use gslb_crds::Gslb;
use gslb_mocks::Trap;
use gslb_mocks::kube::{ApiServer, Matcher, Refused, Running};
use kube::Resource;
use serde_json::Value;
use tokio::net::TcpListener;

use super::objects::{self, APPLICATION, Strategy};
use super::topology::{NAMESPACE, PARENT, Site};

/// A cluster's API, served until this is dropped.
#[derive(Debug)]
pub(super) struct Cluster {
    site: Site,
    api: ApiServer,
    running: Running,
}

/// A condition as `True Ready`, `False NoTargets`, …, by its type.
pub(super) type Conditions = BTreeMap<String, String>;

impl Cluster {
    /// Starts the API with our kinds and the sample objects in it.
    ///
    /// # Errors
    /// No port is free, or the API refuses an object.
    pub(super) async fn start(site: Site, strategy: Strategy) -> anyhow::Result<Self> {
        // Both groups have a kind Gslb, and `kubectl get gslb` is to mean that of today.
        let api =
            ApiServer::builder().crd_yaml(&gslb_crds::yaml()).first_group(Gslb::group(&()).as_ref()).build();
        for object in objects::all(site, strategy) {
            api.apply_object(object).with_context(|| format!("the API of {site} refuses a sample object"))?;
        }
        let listener = TcpListener::bind((PARENT, 0)).await.context("no port is free for an API server")?;
        let running = api.serve(listener).context("an API server cannot listen")?;
        Ok(Self { site, api, running })
    }

    pub(super) fn url(&self) -> String {
        self.running.url()
    }

    /// Changes whenever anything in the cluster does.
    pub(super) fn revision(&self) -> u64 {
        self.api.revision()
    }

    /// Makes the application's only endpoint ready, or not.
    pub(super) fn set_ready(&self, ready: bool) -> Result<(), Refused> {
        self.api.apply_object(objects::endpoint_slice(self.site, ready)).map(drop)
    }

    /// Whether the application's only endpoint is ready.
    pub(super) fn is_ready(&self) -> bool {
        let slice = self.api.get("discovery.k8s.io/v1", "EndpointSlice", NAMESPACE, objects::SLICE);
        slice.is_some_and(|slice| slice["endpoints"][0]["conditions"]["ready"] == true)
    }

    pub(super) fn set_strategy(&self, strategy: Strategy) -> Result<(), Refused> {
        self.api.apply_object(objects::gslb(strategy)).map(drop)
    }

    fn gslb(&self) -> Value {
        self.api.get("k8gb.io/v1beta1", "Gslb", NAMESPACE, APPLICATION).unwrap_or_default()
    }

    /// Conditions of the sample's Gslb.
    pub(super) fn gslb_conditions(&self) -> Conditions {
        conditions(&self.gslb())
    }

    /// States of the peers, as the Gslb's status tells them.
    pub(super) fn peers(&self) -> BTreeMap<String, String> {
        let gslb = self.gslb();
        let peers = gslb["status"]["peers"].as_array().into_iter().flatten();
        peers.map(|peer| (text(&peer["geoTag"]), text(&peer["state"]))).collect()
    }

    /// Conditions of the zone's delegation.
    pub(super) fn delegation_conditions(&self) -> Conditions {
        let zones = self.api.list("k8gb.io/v1beta1", "ZoneDelegation", "");
        zones.first().map(conditions).unwrap_or_default()
    }

    /// The changes at the provider so far: what, and what came of it; empty while nobody knows.
    pub(super) fn changes(&self) -> BTreeMap<String, Change> {
        let all = self.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "");
        let change = |object: &Value| Change {
            action: text(&object["spec"]["action"]),
            zone: text(&object["spec"]["zone"]),
            result: text(&object["status"]["result"]),
        };
        all.iter().map(|object| (text(&object["metadata"]["name"]), change(object))).collect()
    }

    /// Catches the next intent that the change log stores.
    pub(super) fn trap_intent(&self) -> Trap {
        self.api.faults().trap(Matcher::new("create", "gslb-bridge.io", "providerchanges"))
    }
}

/// A change at the provider, as the change log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) action: String,
    pub(super) zone: String,
    pub(super) result: String,
}

fn conditions(object: &Value) -> Conditions {
    let all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.map(|condition| {
        let state = format!("{} {}", text(&condition["status"]), text(&condition["reason"]));
        (text(&condition["type"]), state.trim_end().to_owned())
    })
    .collect()
}

/// Whether a condition is there and true.
pub(super) fn is_true(conditions: &Conditions, kind: &str) -> bool {
    conditions.get(kind).is_some_and(|state| state.split(' ').next() == Some("True"))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(String::new, str::to_owned)
}
