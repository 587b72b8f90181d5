//! The definition of DNSEndpoint: that of external-dns' chart, one with other versions, none.

use std::sync::Arc;

use gslb_mocks::kube::ApiServer;
use gslb_provider_external_dns::ExternalDns;
use kube::Client;
use serde_json::{Value, json};

use crate::kinds::definition;
use crate::objects::{HOST, OWN, application, gslb, round_robin};
use crate::world::{Cluster, Running, eventually};

const GROUP: &str = "externaldns.k8s.io";
const LOCAL: &str = "localtargets-app.cloud.example.com";
const MISSING: &str = "the Kubernetes API has no kind DNSEndpoint of externaldns.k8s.io/v1alpha1, so no record can be published; install its definition (gslb-bridge crds prints it), or, where the one that is installed has other versions only, one that serves this version";
const OBJECT: (&str, &str, &str) =
    ("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "k8gb-ns-extdns-cloud-example-com");

/// All definitions but that of DNSEndpoint.
fn without_the_kind() -> Cluster {
    let documents = gslb_crds::yaml();
    let kept = documents.split("\n---\n").filter(|document| !document.contains("kind: DNSEndpoint\n"));
    Cluster::with_crds(&kept.collect::<Vec<_>>().join("\n---\n"))
}

fn with_application(cluster: &Cluster) {
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", round_robin())).unwrap();
}

fn with_external_dns(cluster: &Cluster) -> Running {
    let client = Client::new(cluster.api.router(), "default");
    cluster.run_with(Some(Arc::new(ExternalDns::new(client, "gslb", "gslb-bridge"))))
}

/// As external-dns' chart has it: another owner's labels, columns that ours lacks, fields without descriptions.
fn of_the_chart() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let setting = json!({"type": "object", "properties": {"name": text, "value": text}});
    let endpoint = json!({"type": "object", "properties": {
        "dnsName": text, "recordType": text, "setIdentifier": text, "labels": texts,
        "recordTTL": {"type": "integer", "format": "int64"},
        "targets": {"type": "array", "items": text},
        "providerSpecific": {"type": "array", "items": setting},
    }});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"endpoints": {"type": "array", "items": endpoint}}},
        "status": {"type": "object", "properties": {"observedGeneration": {"type": "integer", "format": "int64"}}},
    }});
    let mut definition = definition(GROUP, "dnsendpoints", "DNSEndpoint", &["v1alpha1"]);
    definition["metadata"]["labels"] =
        json!({"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "external-dns"});
    let version = &mut definition["spec"]["versions"][0];
    version["schema"] = json!({"openAPIV3Schema": schema});
    version["additionalPrinterColumns"] =
        json!([{"name": "Observed", "type": "integer", "jsonPath": ".status.observedGeneration"}]);
    definition
}

fn delegation(api: &ApiServer) -> Value {
    api.get(OBJECT.0, OBJECT.1, "gslb", OBJECT.2).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn without_the_kind_a_gslb_says_so_and_is_served_once_it_is_installed() {
    let cluster = without_the_kind().with_provider();
    with_application(&cluster);
    let _running = cluster.run();
    for kind in ["Ready", "Serving"] {
        assert_eq!(cluster.tells("app", kind, "False", "DNSEndpointMissing").await, MISSING);
    }
    cluster.zone_tells("InSync", "True", "InSync").await;

    cluster.api.apply_object(of_the_chart()).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    let told = cluster.events("Gslb", "app").into_iter().filter(|(reason, _)| reason == "DNSEndpointMissing");
    assert_eq!(told.count(), 1, "once, however often it is looked for");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_removed_while_gslbs_are_served_is_told_and_they_are_published_anew_once_it_is_back() {
    let cluster = without_the_kind();
    cluster.api.apply_object(of_the_chart()).unwrap();
    with_application(&cluster);
    let _running = cluster.run();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    // A definition goes with all its objects.
    cluster.api.delete(OBJECT.0, OBJECT.1, "web", "app").unwrap();
    let (version, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    cluster.api.delete(version, kind, "", "dnsendpoints.externaldns.k8s.io").unwrap();
    assert_eq!(cluster.tells("app", "Ready", "False", "DNSEndpointMissing").await, MISSING);

    cluster.api.apply_object(of_the_chart()).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.tells("app", "Ready", "True", "Ready").await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_with_other_versions_only_is_none_and_a_delegation_through_external_dns_says_so_too() {
    let cluster = without_the_kind();
    let other = definition(GROUP, "dnsendpoints", "DNSEndpoint", &["v1beta1"]);
    cluster.api.apply_object(other).unwrap();
    with_application(&cluster);
    let _running = with_external_dns(&cluster);
    assert_eq!(cluster.tells("app", "Ready", "False", "DNSEndpointMissing").await, MISSING);
    let said = cluster.zone_tells("InSync", "False", "Misconfigured").await;
    assert!(
        said.contains("no kind DNSEndpoint of externaldns.k8s.io/v1alpha1; install its definition"),
        "{said}"
    );
    assert_eq!(cluster.api.list("externaldns.k8s.io/v1beta1", "DNSEndpoint", ""), Vec::<Value>::new());

    let both = definition(GROUP, "dnsendpoints", "DNSEndpoint", &["v1beta1", "v1alpha1"]);
    cluster.api.apply_object(both).unwrap();
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.zone_tells("InSync", "True", "InSync").await;
}

#[tokio::test(start_paused = true)]
async fn the_definition_of_external_dns_chart_is_as_good_as_ours_and_what_external_dns_writes_is_no_news() {
    let cluster = without_the_kind();
    cluster.api.apply_object(of_the_chart()).unwrap();
    with_application(&cluster);
    let _running = with_external_dns(&cluster);
    cluster.publishes("app", &[(LOCAL, &[OWN]), (HOST, &[OWN])]).await;
    cluster.zone_tells("InSync", "True", "InSync").await;
    cluster.settle().await;

    let mut object = delegation(&cluster.api);
    object["status"] = json!({"observedGeneration": object["metadata"]["generation"]});
    cluster.api.put_status(object).unwrap();
    eventually("it is stored", || delegation(&cluster.api)["status"]["observedGeneration"].as_u64()).await;
    cluster.settle().await;
    assert_eq!(cluster.writes(), []);
}
