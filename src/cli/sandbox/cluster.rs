//! One simulated cluster: its API server, and what the sandbox reads and changes there.

use std::collections::BTreeMap;

use anyhow::Context;
use gslb_core::delegation::object_name;
use gslb_crds::Gslb;
use gslb_mocks::Trap;
use gslb_mocks::kube::{ApiServer, Matcher, Refused, Running};
use kube::Resource;
use serde_json::Value;
use tokio::net::TcpListener;

use super::objects::{self, APPLICATION, Strategy};
use super::topology::{NAMESPACE, OWN_NAMESPACE, PARENT, Site, ZONE, name};

const DNS_ENDPOINT: &str = "externaldns.k8s.io/v1alpha1";

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

    /// The API, for whoever else works in the cluster.
    pub(super) fn api(&self) -> ApiServer {
        self.api.clone()
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

/// With external-dns: the DNSEndpoint that holds the zone's delegation.
impl Cluster {
    fn delegation(&self) -> Value {
        let name = object_name(&name(ZONE));
        self.api.get(DNS_ENDPOINT, "DNSEndpoint", OWN_NAMESPACE, &name).unwrap_or_default()
    }

    /// Takes this cluster's name server out, as somebody would by hand. Gives the object's generation since.
    ///
    /// # Errors
    /// It is not there, or the API refuses.
    pub(super) fn remove_from_delegation(&self) -> anyhow::Result<u64> {
        anyhow::ensure!(self.is_in_delegation(), "the DNSEndpoint of {} does not name its server", self.site);
        let server = self.site.name_server().to_string();
        let mut object = self.delegation();
        if let Some(endpoints) = object["spec"]["endpoints"].as_array_mut() {
            endpoints.retain(|endpoint| endpoint["dnsName"] != server);
            for targets in endpoints.iter_mut().filter_map(|endpoint| endpoint["targets"].as_array_mut()) {
                targets.retain(|target| *target != server);
            }
        }
        let edited = self.api.put_object(object)?;
        edited["metadata"]["generation"].as_u64().context("the DNSEndpoint has no generation")
    }

    /// Whether this cluster's name server is named with an address.
    pub(super) fn is_in_delegation(&self) -> bool {
        let server = self.site.name_server().to_string();
        let object = self.delegation();
        let endpoints = object["spec"]["endpoints"].as_array().into_iter().flatten();
        let mut targets = endpoints.clone().filter_map(|endpoint| endpoint["targets"].as_array()).flatten();
        targets.any(|target| *target == server)
            && endpoints.clone().any(|endpoint| endpoint["dnsName"] == server)
    }

    /// Counts the edits of the DNSEndpoint.
    pub(super) fn delegation_generation(&self) -> u64 {
        self.delegation()["metadata"]["generation"].as_u64().unwrap_or_default()
    }

    /// Catches the next write of the DNSEndpoint.
    pub(super) fn trap_delegation(&self) -> Trap {
        let matcher = Matcher::new("patch", "externaldns.k8s.io", "dnsendpoints");
        self.api.faults().trap(Matcher { namespace: Some(OWN_NAMESPACE.to_owned()), ..matcher })
    }

    /// All requests to the API so far.
    pub(super) fn requests(&self) -> u64 {
        self.api.journal().total()
    }

    /// Whether somebody read the DNSEndpoint since so many requests.
    pub(super) fn read_delegation_since(&self, requests: u64) -> bool {
        let fresh = self.requests().saturating_sub(requests);
        let name = object_name(&name(ZONE));
        let entries = self.api.journal().entries();
        let fresh = entries.iter().rev().take(usize::try_from(fresh).unwrap_or(usize::MAX));
        fresh.into_iter().any(|entry| entry.verb == "get" && entry.name == name)
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
