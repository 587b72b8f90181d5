//! Our provider as a client of our server: a delegation in the grid, through the webhook protocol.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use gslb_core::claim::Claimant;
use gslb_core::delegation::DesiredDelegation;
use gslb_core::history::History;
use gslb_core::limits::Limits;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::plan::{Plan, plan};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_provider_contract::{Delegated, Inspected, Observe, Provider, ProviderError, Scope, Severity};
use gslb_provider_webhook::settings::TxtPrefix;
use gslb_provider_webhook::{Settings, Webhook, WebhookUrl};
use jiff::Timestamp;

use crate::world::{Stage, builder};

const ZONE: &str = "cloud.example.com";

/// A provider of a cluster, at a server that is reached over HTTP.
async fn provider(stage: &Stage) -> Webhook {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = stage.router.clone();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let settings = Settings {
        url: WebhookUrl::parse(&url).unwrap(),
        owner: "fleet".to_owned(),
        adopted_owners: BTreeSet::new(),
        txt_prefix: TxtPrefix::parse("x-").unwrap(),
        ns_prefix: NsPrefix::default(),
        request_timeout: Duration::from_secs(15),
        clock: Arc::new(Timestamp::now),
    };
    Webhook::new(settings, Arc::new(())).unwrap()
}

fn claimant(tag: &str) -> Claimant {
    let name = |text: &str| DomainName::parse(text).unwrap();
    let zone = Zone::new(name(ZONE), name("example.com"), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse(tag).unwrap()).unwrap()
}

fn published(tag: &str, address: &str) -> DesiredDelegation {
    DesiredDelegation::published(claimant(tag), [address.parse().unwrap()].into(), Ttl::DEFAULT).unwrap()
}

async fn planned(provider: &Webhook, desired: &DesiredDelegation) -> Plan {
    let scope = Scope::from(desired.claimant().zone());
    let observed = provider.observe(&scope).await.unwrap();
    plan(desired, &observed, &History::default(), Timestamp::UNIX_EPOCH)
}

async fn pass(provider: &Webhook, desired: &DesiredDelegation) -> Result<(), ProviderError> {
    let plan = planned(provider, desired).await;
    let approved = plan.approve(&Limits::for_zones(vec![desired.claimant().clone()])).unwrap();
    for change in approved.changes() {
        provider.apply(change).await?;
    }
    Ok(())
}

fn entries(stage: &Stage) -> Vec<String> {
    let servers = stage.grid.delegation(ZONE, "default").into_iter().flat_map(|zone| zone.delegate_to);
    let mut entries: Vec<_> = servers.map(|server| format!("{} {}", server.name, server.address)).collect();
    entries.sort();
    entries
}

#[tokio::test]
async fn clusters_keep_their_entries_of_a_delegation_in_the_grid_through_our_own_server() {
    let stage = Stage::new();
    let (eu, us) = (provider(&stage).await, provider(&stage).await);
    let (of_eu, of_us) = (published("eu", "192.0.2.53"), published("us", "198.51.100.53"));
    pass(&eu, &of_eu).await.unwrap();
    assert_eq!(entries(&stage), ["gslb-ns-eu-cloud.example.com 192.0.2.53"]);
    assert_eq!(planned(&eu, &of_eu).await.changes, [], "second plan");
    let writes = stage.writes();
    pass(&us, &of_us).await.unwrap();
    let both = ["gslb-ns-eu-cloud.example.com 192.0.2.53", "gslb-ns-us-cloud.example.com 198.51.100.53"];
    assert_eq!(entries(&stage), both);
    assert!(stage.writes() > writes);
    assert_eq!(planned(&eu, &of_eu).await.changes, [], "another cluster is no difference");

    // The address of the cluster's DNS changes.
    pass(&eu, &published("eu", "192.0.2.54")).await.unwrap();
    assert_eq!(entries(&stage)[0], "gslb-ns-eu-cloud.example.com 192.0.2.54");
    let what = Inspected {
        delegations: vec![Delegated { claimant: claimant("eu"), adopts: None }],
        records: vec![],
    };
    let bad = eu.inspect(&what).await.into_iter().filter(|finding| finding.severity != Severity::Ok);
    assert_eq!(bad.collect::<Vec<_>>(), []);

    pass(&eu, &DesiredDelegation::withdrawn(claimant("eu"))).await.unwrap();
    assert_eq!(entries(&stage), both[1..]);
    pass(&us, &DesiredDelegation::withdrawn(claimant("us"))).await.unwrap();
    assert_eq!((entries(&stage), stage.shown().await), (vec![], vec![]), "nothing of ours is left");
}

#[tokio::test]
async fn a_delegation_that_the_server_has_no_claim_of_is_told_in_its_words_and_left_alone() {
    let stage = Stage::with(builder(), &[("WEBHOOK_OWNER", "other")]);
    pass(&provider(&stage).await, &published("us", "198.51.100.53")).await.unwrap();
    let before = entries(&stage);
    let stage = stage.owned_by("eu");
    let refused = pass(&provider(&stage).await, &published("eu", "192.0.2.53")).await.unwrap_err();
    assert!(refused.to_string().contains("HTTP 500"), "{refused}");
    assert_eq!(entries(&stage), before);
}

#[tokio::test]
async fn a_zone_outside_the_domains_of_the_server_is_told_with_them() {
    let stage = Stage::with(builder(), &[("WEBHOOK_DOMAINS", "apps.example.com")]);
    let scope = Scope::from(claimant("eu").zone());
    let error = provider(&stage).await.observe(&scope).await.unwrap_err();
    assert!(matches!(error, ProviderError::Misconfigured { .. }), "{error:?}");
    assert!(error.to_string().contains(r#"{"include":["apps.example.com"]}"#), "{error}");
}
