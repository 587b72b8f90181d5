//! Records mode in one cluster: what is written at the provider, what is told, and what is refused.

use std::sync::Arc;

use async_trait::async_trait;
use gslb_bridge::config::View;
use gslb_bridge::providers::Providers;
use gslb_core::edit::Edit;
use gslb_core::name::DomainName;
use gslb_core::records::{ApprovedRecordChange, HostObstacle, HostRecord, ObservedHost};
use gslb_provider_contract::{Approval, Disposition, ProviderError, Receipt};
use gslb_provider_memory::{MemoryProvider, Operation};
use serde_json::{Value, json};

use crate::bad_input::loose_definitions;
use crate::dns::{Says, name};
use crate::objects::{HOST, OWN, application, gslb, round_robin};
use crate::stand_in::{Manners, StandIn};
use crate::world::{Cluster, US, ZA, eventually, pass};

/// A cluster `eu` whose peers have no target, with an application.
fn eu(provider: &Arc<MemoryProvider>, strategy: Value) -> Cluster {
    in_records_mode(Cluster::alone(), provider, strategy)
}

fn in_records_mode(cluster: Cluster, provider: &Arc<MemoryProvider>, strategy: Value) -> Cluster {
    with_application(cluster.with_peers().in_records_mode(provider), strategy)
}

fn with_application(cluster: Cluster, strategy: Value) -> Cluster {
    for server in [US, ZA] {
        cluster.dns.say(server, "localtargets-app.cloud.example.com", Says::No);
    }
    application(&cluster.api, "app", &[HOST]);
    cluster.api.apply_object(gslb("app", strategy)).unwrap();
    cluster
}

fn provider() -> Arc<MemoryProvider> {
    Arc::new(MemoryProvider::new())
}

fn host(provider: &MemoryProvider) -> ObservedHost {
    provider.host(&name(HOST))
}

fn addresses(provider: &MemoryProvider) -> Vec<String> {
    host(provider).records.keys().map(ToString::to_string).collect()
}

fn foreign(address: &str) -> HostRecord {
    let address = address.parse().unwrap();
    HostRecord { host: name(HOST), address, ttl: None, claim: None, challenge: None, disabled: false }
}

fn put(provider: &MemoryProvider, records: &[HostRecord], obstacles: &[HostObstacle]) {
    let records = records.iter().map(|record| (record.address, record.clone())).collect();
    let obstacles = obstacles.iter().cloned().collect();
    provider.put_host(&name(HOST), ObservedHost { records, obstacles });
}

fn log(cluster: &Cluster) -> Vec<Value> {
    cluster.api.list("gslb-bridge.io/v1alpha1", "ProviderChange", "")
}

#[tokio::test(start_paused = true)]
async fn a_host_gets_a_record_with_the_ttl_of_the_gslb_and_no_zone_is_delegated() {
    let provider = provider();
    let cluster = eu(&provider, json!({"type": "roundRobin", "dnsTtlSeconds": 5}));
    let running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    cluster.tells("app", "Ready", "True", "Ready").await;
    let record = host(&provider).records.into_values().next().unwrap();
    assert_eq!((record.address.to_string().as_str(), record.ttl.unwrap().as_secs()), (OWN, 5));
    assert_eq!(record.claim.unwrap().to_string(), "cloud.example.com/eu");
    // The cluster's own DNS server answers as ever: the other clusters ask it.
    cluster.publishes("app", &[("localtargets-app.cloud.example.com", &[OWN]), (HOST, &[OWN])]).await;
    pass(60).await;
    assert_eq!((cluster.zone(), provider.writes().len()), (Value::Null, 0));
    let metrics = running.metrics();
    let own = "gslb_bridge_host_records{zone=\"cloud.example.com\",holder=\"own\"} 1";
    assert!(metrics.contains(own), "{metrics}");
    assert!(metrics.contains(
        "gslb_bridge_provider_changes_total{provider=\"memory\",action=\"Create\",result=\"Applied\"} 1"
    ));
    let mut edited = cluster.gslb("app");
    edited["spec"]["strategy"]["dnsTtlSeconds"] = json!(60);
    cluster.api.put_object(edited).unwrap();
    eventually("the TTL follows", || {
        host(&provider).records.values().next()?.ttl.filter(|ttl| ttl.as_secs() == 60)
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_whose_certificate_is_not_checked_is_told_as_for_a_delegation() {
    let provider = Arc::new(MemoryProvider::new().unverified());
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    let told = cluster.tells("app", "InSync", "True", "CertificateNotVerified").await;
    assert!(told.contains("the certificate of the provider is not checked"), "{told}");
    cluster.tells("app", "Ready", "True", "Ready").await;
}

#[tokio::test(start_paused = true)]
async fn records_are_kept_in_the_view_of_the_one_listed_provider_and_the_log_names_it() {
    let provider = Arc::new(MemoryProvider::new().named("core"));
    let fleet = Cluster::alone().with_peers().setting("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us,za");
    let fleet = fleet.with_file(
        "providers: [{name: core, type: infoblox, gridHost: gm.core.example, dnsView: internal, usernameFile: /u, passwordFile: /p}]
zones: [{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, mode: records}]
",
    );
    let cluster = with_application(fleet, round_robin());
    let internal = || "internal".to_owned();
    let view = View { provider: "core".to_owned(), view: internal(), usual_view: internal() };
    // Nobody sees how the write ended: reading the same view settles it.
    provider.fail_next(
        Operation::ReplyOfApply,
        ProviderError::Uncertain { text: "no reply".to_owned(), source: None },
    );
    let _running = cluster.run_at(Providers::plain(None).with_view(view, Arc::clone(&provider) as _));
    cluster.tells("app", "InSync", "True", "InSync").await;
    assert_eq!(addresses(&provider), [OWN]);
    let entries = log(&cluster);
    let told = |entry: &Value| {
        [&entry["spec"]["provider"], &entry["spec"]["view"], &entry["status"]["result"]].map(Value::clone)
    };
    assert_eq!(
        entries.iter().map(told).collect::<Vec<_>>(),
        [["core", "internal", "Applied"].map(Value::from)]
    );
}

#[tokio::test(start_paused = true)]
async fn every_change_is_logged_before_and_after_with_what_led_to_it() {
    let provider = provider();
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    let entries = log(&cluster);
    assert_eq!(entries.len(), 1);
    let spec = &entries[0]["spec"];
    assert_eq!(
        (&spec["object"]["kind"], &spec["object"]["namespace"], &spec["object"]["name"], &spec["zone"]),
        (&json!("Gslb"), &json!("web"), &json!("app"), &json!("cloud.example.com"))
    );
    assert_eq!(
        spec["after"],
        json!({"host": HOST, "address": OWN, "ttl": 30, "claim": "cloud.example.com/eu"})
    );
    assert_eq!(
        (&spec["before"], &spec["why"]),
        (&Value::Null, &json!("cluster eu answers app.cloud.example.com"))
    );
    assert_eq!(entries[0]["status"]["result"], "Applied");
}

#[tokio::test(start_paused = true)]
async fn a_restart_tells_nothing_new_and_writes_nothing() {
    let provider = provider();
    let cluster = eu(&provider, round_robin());
    let running = cluster.run();
    cluster.tells("app", "Ready", "True", "Ready").await;
    cluster.settle().await;
    let (status, writes) = (cluster.gslb("app")["status"].clone(), provider.record_writes().len());
    running.stop().await;
    let _running = cluster.run();
    pass(120).await;
    assert_eq!(cluster.gslb("app")["status"], status);
    assert_eq!(provider.record_writes().len(), writes);
    assert!(cluster.events("Gslb", "app").iter().all(|(reason, _)| reason != "NotAsked"));
}

#[tokio::test(start_paused = true)]
async fn a_gslb_that_goes_takes_its_record_with_it() {
    let provider = provider();
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    eventually("the record is gone", || addresses(&provider).is_empty().then_some(())).await;
    let last = log(&cluster).pop().unwrap();
    assert_eq!((&last["spec"]["action"], &last["spec"]["object"]["name"]), (&json!("Delete"), &json!("app")));
}

#[tokio::test(start_paused = true)]
async fn a_gslb_that_went_while_nobody_looked_is_missed_at_the_next_start() {
    let provider = provider();
    let cluster = eu(&provider, round_robin());
    let running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    running.stop().await;
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    let peers =
        HostRecord { claim: Some("cloud.example.com/us".parse().unwrap()), ..foreign("198.51.100.10") };
    let mut found = host(&provider);
    found.records.insert(peers.address, peers);
    provider.put_host(&name(HOST), found);
    let _running = cluster.run();
    eventually("the record is gone", || (addresses(&provider) == ["198.51.100.10"]).then_some(())).await;
    let last = log(&cluster).pop().unwrap();
    assert_eq!(last["spec"]["why"], "no Gslb of cluster eu serves app.cloud.example.com any more");
}

#[tokio::test(start_paused = true)]
async fn while_a_gslb_cannot_be_read_no_record_is_taken_for_abandoned() {
    let provider = provider();
    let cluster = in_records_mode(Cluster::with_crds(&loose_definitions()), &provider, round_robin());
    let running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    running.stop().await;
    cluster.api.delete("k8gb.io/v1beta1", "Gslb", "web", "app").unwrap();
    cluster.api.apply_object(gslb("app", json!(["round", "robin"]))).unwrap();
    let _running = cluster.run();
    pass(300).await;
    assert_eq!(addresses(&provider), [OWN]);
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_the_way_is_left_as_it_is_and_told() {
    let cname = HostObstacle::Cname { target: "cdn.example.net".into() };
    type Case<'a> = (&'a [HostRecord], &'a [HostObstacle], &'a str, &'a [&'a str]);
    let cases: [Case<'_>; 4] = [
        (&[], &[cname], "CnameConflict", &[]),
        (&[], &[HostObstacle::HostRecord], "HostRecordConflict", &[]),
        (&[foreign("203.0.113.99")], &[], "ForeignRecords", &[OWN, "203.0.113.99"]),
        (&[foreign(OWN)], &[], "AddressNotOurs", &[OWN]),
    ];
    for (records, obstacles, reason, stands) in cases {
        let provider = provider();
        put(&provider, records, obstacles);
        let cluster = eu(&provider, round_robin());
        let _running = cluster.run();
        let message = cluster.tells("app", "InSync", "False", reason).await;
        assert!(message.contains(HOST), "{message}");
        cluster.tells("app", "Ready", "False", reason).await;
        pass(120).await;
        assert_eq!(addresses(&provider), stands, "{reason}");
        let changed = provider.record_writes();
        assert!(
            changed.iter().all(|change| matches!(change.edit, Edit::Create { .. })),
            "{reason}: {changed:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_strategy_that_records_cannot_carry_out_is_refused_and_changes_nothing() {
    let weights = json!({"type": "roundRobin", "weight": {"eu": 1, "us": 2}});
    for (strategy, reason) in
        [(json!({"type": "geoip"}), "GeoIpUnsupported"), (weights, "WeightsUnsupported")]
    {
        let provider = provider();
        let cluster = eu(&provider, strategy);
        let _running = cluster.run();
        let message = cluster.tells("app", "InSync", "False", reason).await;
        assert!(message.contains("mode delegation") || message.contains("remove the weights"), "{message}");
        assert_eq!(provider.record_writes(), []);
        cluster.publishes("app", &[("localtargets-app.cloud.example.com", &[OWN]), (HOST, &[OWN])]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_is_told_and_heals_by_itself() {
    let provider = provider();
    for _ in 0..3 {
        let text = "the grid does not answer".to_owned();
        let error = ProviderError::Unavailable { text, retry_after: None, source: None };
        provider.fail_next(Operation::Observe, error);
    }
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    let message = cluster.tells("app", "InSync", "False", "ProviderUnavailable").await;
    assert_eq!(message, "the grid does not answer");
    cluster.tells("app", "InSync", "True", "InSync").await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_without_records_is_refused_with_what_to_do() {
    let provider = Arc::new(MemoryProvider::new().without_records());
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    let message = cluster.tells("app", "InSync", "False", "RecordsUnsupported").await;
    assert_eq!(
        message,
        "memory cannot hold records of several clusters; set the mode of zone cloud.example.com to delegation"
    );
    assert_eq!(provider.record_writes(), []);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_settled_by_reading_and_nothing_is_made_twice() {
    let provider = provider();
    let error = ProviderError::Uncertain { text: "the reply was lost".to_owned(), source: None };
    provider.fail_next(Operation::ReplyOfApply, error);
    let cluster = eu(&provider, round_robin());
    let _running = cluster.run();
    cluster.tells("app", "InSync", "True", "InSync").await;
    assert_eq!(provider.record_writes().len(), 1);
    let entries = log(&cluster);
    let status = &entries[0]["status"];
    assert_eq!((entries.len(), &status["result"]), (1, &json!("Applied")));
    assert_eq!(status["settledByReading"], true);
}

#[tokio::test(start_paused = true)]
async fn a_zonedelegation_of_a_zone_in_records_mode_is_refused_with_what_to_do() {
    let provider = provider();
    let cluster = eu(&provider, round_robin());
    cluster
        .api
        .apply_object(json!({
            "apiVersion": "k8gb.io/v1beta1", "kind": "ZoneDelegation",
            "metadata": {"name": "cloud-example-com"},
            "spec": {"loadBalancedZone": "cloud.example.com", "parentZone": "example.com", "dnsZoneNegTTL": 30},
        }))
        .unwrap();
    let _running = cluster.run();
    let message = cluster.zone_tells("Accepted", "False", "RecordsMode").await;
    assert!(message.contains("delete this ZoneDelegation"), "{message}");
    pass(60).await;
    assert_eq!(provider.writes(), []);
}

/// A provider in whose workflow somebody has to agree.
struct Approving(Arc<MemoryProvider>);

#[async_trait]
impl Manners for Approving {
    fn store(&self) -> &MemoryProvider {
        &self.0
    }
    async fn apply_record(&self, _: &ApprovedRecordChange) -> Result<Receipt<ObservedHost>, ProviderError> {
        let disposition = Disposition::AwaitingApproval { task: "12".to_owned() };
        Ok(Receipt { reference: "task/12".to_owned(), disposition, read_back: None, amends: vec![] })
    }
    async fn approval(&self, _: &DomainName, reference: &str) -> Result<Approval, ProviderError> {
        assert_eq!(reference, "task/12");
        Ok(Approval::Pending { task: "12".to_owned() })
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_holds_changes_back_for_approval_is_refused_and_asked_once_over_restarts_too() {
    let memory = provider();
    let cluster = eu(&memory, round_robin());
    let approving = || StandIn::new(Approving(Arc::clone(&memory))).run();
    let running = cluster.run_with(approving());
    let message = cluster.tells("app", "InSync", "False", "ApprovalUnsupported").await;
    assert!(message.contains("take the account out of the approval workflow"), "{message}");
    pass(300).await;
    assert_eq!(log(&cluster).len(), 1);
    running.stop().await;
    let _running = cluster.run_with(approving());
    pass(300).await;
    let entries = log(&cluster);
    assert_eq!((entries.len(), &entries[0]["status"]["result"]), (1, &json!("AwaitingApproval")));
}
