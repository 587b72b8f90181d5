//! The contract battery against an API server in memory, and what is peculiar to objects in it.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use async_trait::async_trait;
use gslb_core::change::Change;
use gslb_core::claim::Claimant;
use gslb_core::delegation::{Delegation, Presence, object_name};
use gslb_core::limits::{ApprovedPlan, Limits};
use gslb_core::name::GeoTag;
use gslb_core::plan::Plan;
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_mocks::kube::{ApiServer, Matcher};
use gslb_provider_contract::battery::{Stage, scope};
use gslb_provider_contract::{Observe, Provider, ProviderError, contract_tests};
use gslb_provider_external_dns::ExternalDns;
use kube::Client;
use serde_json::{Value, json};

const API_VERSION: &str = "externaldns.k8s.io/v1alpha1";
const KIND: &str = "DNSEndpoint";
const NAMESPACE: &str = "gslb";

struct Cluster {
    api: ApiServer,
    provider: ExternalDns,
}

impl Cluster {
    fn new() -> Self {
        let api = ApiServer::builder().crd_yaml(&gslb_crds::yaml()).build();
        api.apply_object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
            .unwrap();
        let provider = ExternalDns::new(Client::new(api.router(), "default"), NAMESPACE, "gslb-bridge");
        Self { api, provider }
    }

    fn object(&self) -> Value {
        self.api.get(API_VERSION, KIND, NAMESPACE, &object_name(&scope().zone)).unwrap_or_default()
    }

    fn put(&self, labels: Value, endpoints: Value) {
        let metadata = json!({"name": object_name(&scope().zone), "namespace": NAMESPACE, "labels": labels});
        let object = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {"endpoints": endpoints}});
        self.api.put_object(object).unwrap();
    }

    fn fail(&self, verb: &str, code: u16) {
        self.api.faults().fail(Matcher::new(verb, "externaldns.k8s.io", "dnsendpoints"), code, u32::MAX);
    }
}

#[async_trait]
impl Stage for Cluster {
    fn provider(&self) -> &dyn Provider {
        &self.provider
    }

    async fn another_writer(&self, presence: Presence) {
        let Some(delegation) = presence.delegation() else {
            self.api.delete(API_VERSION, KIND, NAMESPACE, &object_name(&scope().zone)).unwrap();
            return;
        };
        let names: Vec<_> = delegation.servers.keys().map(ToString::to_string).collect();
        let mut endpoints =
            vec![json!({"dnsName": delegation.zone, "recordType": "NS", "recordTTL": 30, "targets": names})];
        for (name, addresses) in &delegation.servers {
            endpoints
                .push(json!({"dnsName": name, "recordType": "A", "recordTTL": 30, "targets": addresses}));
        }
        self.put(json!({"k8gb.io/dnstype": "extdns"}), json!(endpoints));
    }

    async fn break_reads(&self) {
        self.fail("get", 503);
    }

    async fn heal(&self) {
        self.api.faults().clear();
    }

    /// The kind is not installed.
    async fn hide_parent(&self) {
        self.fail("get", 404);
    }

    async fn finish(&self) {}
}

contract_tests!(external_dns, |_case| Cluster::new());

/// F-24.
#[tokio::test]
async fn an_object_without_our_label_is_somebody_elses() {
    let cluster = Cluster::new();
    cluster.put(json!({"team": "ddi"}), json!([]));
    let refused = cluster.provider.observe(&scope()).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Refused { .. }), "{refused:?}");
    assert!(refused.to_string().contains("gslb/k8gb-ns-extdns-cloud-example-com"), "{refused}");
}

#[tokio::test]
async fn a_kind_that_is_not_installed_is_no_absence() {
    let api = ApiServer::builder().build();
    let provider = ExternalDns::new(Client::new(api.router(), "default"), NAMESPACE, "gslb-bridge");
    let failed = provider.observe(&scope()).await;
    assert!(matches!(failed, Err(ProviderError::Misconfigured { .. })), "{failed:?}");
}

#[tokio::test]
async fn a_missing_permission_names_the_verb_and_the_object() {
    let cluster = Cluster::new();
    cluster.fail("get", 403);
    let refused = cluster.provider.observe(&scope()).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Forbidden { .. }), "{refused:?}");
    assert!(refused.to_string().contains("to read DNSEndpoint gslb/"), "{refused}");
}

/// F-24, F-51.
#[tokio::test]
async fn annotations_labels_and_endpoints_of_others_survive_every_write() {
    use gslb_provider_contract::battery::{neighbours_survive, the_last_entry_takes_the_delegation_with_it};
    let cluster = Cluster::new();
    neighbours_survive(&cluster).await;
    let mut object = cluster.object();
    object["metadata"]["annotations"] = json!({"team": "ddi"});
    object["metadata"]["labels"]["argocd"] = json!("fleet");
    let other =
        json!({"dnsName": "www.example.com", "recordType": "CNAME", "targets": ["app.cloud.example.com"]});
    object["spec"]["endpoints"].as_array_mut().unwrap().push(other.clone());
    cluster.api.put_object(object).unwrap();
    let with_other = Foreign { cluster: &cluster, endpoint: other.clone() };
    the_last_entry_takes_the_delegation_with_it(&with_other).await;
    let object = cluster.object();
    assert_eq!(object["spec"]["endpoints"], json!([other]));
    assert_eq!(object["metadata"]["annotations"], json!({"team": "ddi"}));
    assert_eq!(object["metadata"]["labels"]["argocd"], "fleet");
}

/// Another writer who keeps an endpoint of its own in the object.
struct Foreign<'a> {
    cluster: &'a Cluster,
    endpoint: Value,
}

#[async_trait]
impl Stage for Foreign<'_> {
    fn provider(&self) -> &dyn Provider {
        &self.cluster.provider
    }

    async fn another_writer(&self, presence: Presence) {
        let before = self.cluster.object();
        self.cluster.another_writer(presence).await;
        let mut object = self.cluster.object();
        object["metadata"]["annotations"] = before["metadata"]["annotations"].clone();
        object["metadata"]["labels"] = before["metadata"]["labels"].clone();
        object["spec"]["endpoints"].as_array_mut().unwrap().push(self.endpoint.clone());
        self.cluster.api.put_object(object).unwrap();
    }

    async fn break_reads(&self) {}

    async fn heal(&self) {}

    async fn hide_parent(&self) {}

    async fn finish(&self) {}
}

/// This cluster's own entry, in a delegation that does not exist yet.
fn publication() -> ApprovedPlan {
    let zone = Zone::new(scope().zone, scope().parent, Ttl::DEFAULT).unwrap();
    let claimant = Claimant::new(zone, NsPrefix::default(), GeoTag::parse("eu").unwrap()).unwrap();
    let servers = [(claimant.ns_name().clone(), ["192.0.2.53".parse().unwrap()].into())].into();
    let after = Delegation { zone: scope().zone, ttl: Some(Ttl::DEFAULT), servers };
    let changes = vec![Change::Create { after }];
    let plan = Plan { zone: scope().zone, changes, skipped: vec![], findings: vec![], claims: vec![] };
    plan.approve(&Limits::for_zones(vec![claimant])).unwrap()
}

/// What a write that the API server answers with this code ends with.
async fn written_with(code: u16) -> ProviderError {
    let cluster = Cluster::new();
    cluster.fail("create", code);
    cluster.provider.apply(&publication().changes()[0]).await.unwrap_err()
}

#[tokio::test]
async fn a_write_that_was_turned_away_is_surely_not_made_and_one_that_failed_may_be() {
    let busy = written_with(429).await;
    assert!(matches!(busy, ProviderError::Unavailable { .. }), "{busy:?}");
    let failed = written_with(500).await;
    assert!(matches!(failed, ProviderError::Uncertain { .. }), "{failed:?}");
}

/// `--request-timeout` of an API server is a minute by default.
#[tokio::test]
async fn a_write_that_was_given_up_is_open_for_as_long_as_an_api_server_works_on_it() {
    assert_eq!(Cluster::new().provider.longest_aftermath().as_secs(), 60);
}
