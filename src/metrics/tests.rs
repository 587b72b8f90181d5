use std::collections::BTreeMap;

use gslb_core::publication::{ByHealth, StrategyFigures};
use prometheus_client::encoding::text::encode;

use super::*;

fn metrics() -> (Registry, Metrics) {
    let mut registry = Registry::default();
    let metrics = Metrics::new(&mut registry, "k8gb", &GeoTag::parse("eu").unwrap());
    (registry, metrics)
}
/// The samples of a scrape, in the order of the page.
fn samples(registry: &Registry) -> Vec<String> {
    let mut page = String::new();
    encode(&mut page, registry).unwrap();
    page.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}
fn of_shop(registry: &Registry) -> Vec<String> {
    samples(registry).into_iter().filter(|line| line.contains(r#"name="shop""#)).collect()
}
fn by_health(healthy: usize, unhealthy: usize, not_found: usize) -> ByHealth {
    ByHealth { healthy, unhealthy, not_found }
}
fn figures() -> Figures {
    let strategy = StrategyFigures { label: "failover", primary: Some(false), targets: by_health(2, 1, 0) };
    Figures {
        healthy_records: 3,
        healthy_local_records: 1,
        hosts: by_health(1, 1, 0),
        strategy: Some(strategy),
        records: BTreeMap::from([(DomainName::parse("app.cloud.example.com").unwrap(), 2)]),
    }
}

/// Conformance 93.
#[test]
fn every_metric_is_in_the_catalog_with_its_labels() {
    let (registry, metrics) = metrics();
    metrics.of_grid("infoblox").on_call(Operation::ZoneRead, true, Duration::from_millis(5));
    metrics.watch_failed("Service");
    metrics.view_entered("us", "Answered");
    let zone = DomainName::parse("cloud.example.com").unwrap();
    metrics.records_seen(&zone, &GeoTag::parse("eu").unwrap(), &ZoneRecords::new());
    metrics.change_made(&ProviderId::new("infoblox"), Some("cloud"), "create", ChangeResult::Applied);
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for sample in samples(&registry) {
        let (name, rest) = sample.split_once('{').unwrap();
        let labels = rest.rsplit_once('}').unwrap().0.split("\",");
        let mut labels: Vec<String> = labels
            .map(|label| label.split_once('=').unwrap().0.to_owned())
            .filter(|label| label != "le")
            .collect();
        labels.sort();
        let name = ["_bucket", "_sum", "_count", "_total"]
            .iter()
            .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
        found.insert(name.to_owned(), labels);
    }
    let labels = |metric: &Metric| {
        let mut labels: Vec<String> = metric.labels.iter().map(|label| (*label).to_owned()).collect();
        labels.sort();
        labels
    };
    let name = |name: &'static str| name.strip_suffix("_total").unwrap_or(name).to_owned();
    let catalog: BTreeMap<_, _> = METRICS.iter().map(|metric| (name(metric.name), labels(metric))).collect();
    assert_eq!(found, catalog);
}

/// Conformance 94.
#[test]
fn at_start_every_series_that_k8gb_shows_is_there_and_zero() {
    let (registry, _metrics) = metrics();
    let zero: Vec<String> =
        samples(&registry).into_iter().filter(|line| line.contains(r#"name="init""#)).collect();
    let status = |name: &str| {
        ["Healthy", "Unhealthy", "NotFound"]
            .map(|status| format!(r#"{name}{{namespace="k8gb",name="init",status="{status}"}} 0"#))
    };
    let plain = |name: &str| format!(r#"{name}{{namespace="k8gb",name="init"}} 0"#);
    let mut wanted = vec![plain("k8gb_gslb_reconciliation_loops_total"), plain("k8gb_gslb_errors_total")];
    wanted.extend(
        ["zone_updates", "zone_update_errors", "heartbeats", "heartbeat_errors"]
            .map(|name| plain(&format!("k8gb_infoblox_{name}_total"))),
    );
    wanted.push(plain("k8gb_gslb_healthy_records"));
    wanted.push(r#"k8gb_gslb_healthy_local_records{namespace="k8gb",name="init",geotag="eu"} 0"#.to_owned());
    wanted.extend(status("k8gb_gslb_service_status_num"));
    for strategy in ["failover", "roundrobin", "geoip"] {
        wanted.extend(status(&format!("k8gb_gslb_status_count_for_{strategy}")));
    }
    wanted.push(
        r#"k8gb_endpoint_status_num{namespace="k8gb",name="init",dns_name="init.example.com"} 0"#.to_owned(),
    );
    assert_eq!(zero, wanted);
}

/// Conformance 94.
#[test]
fn the_numbers_of_a_gslb_are_those_of_its_latest_pass() {
    let (registry, metrics) = metrics();
    let gslb = Key::new("web", "shop");
    metrics.counted(gslb.clone(), Figures { strategy: None, ..figures() });
    metrics.counted(gslb, figures());
    let wanted = [
        r#"k8gb_gslb_healthy_records{namespace="web",name="shop"} 3"#,
        r#"k8gb_gslb_healthy_local_records{namespace="web",name="shop",geotag="eu"} 1"#,
        r#"k8gb_gslb_service_status_num{namespace="web",name="shop",status="Healthy"} 1"#,
        r#"k8gb_gslb_service_status_num{namespace="web",name="shop",status="Unhealthy"} 1"#,
        r#"k8gb_gslb_service_status_num{namespace="web",name="shop",status="NotFound"} 0"#,
        r#"k8gb_gslb_status_count_for_failover{namespace="web",name="shop",status="Healthy_secondary"} 2"#,
        r#"k8gb_gslb_status_count_for_failover{namespace="web",name="shop",status="Unhealthy_secondary"} 1"#,
        r#"k8gb_gslb_status_count_for_failover{namespace="web",name="shop",status="NotFound_secondary"} 0"#,
        r#"k8gb_endpoint_status_num{namespace="web",name="shop",dns_name="app.cloud.example.com"} 2"#,
    ];
    assert_eq!(of_shop(&registry), wanted);
}

/// F-30.
#[test]
fn the_series_of_a_deleted_gslb_go_with_it() {
    let (registry, metrics) = metrics();
    metrics.pass_finished("web", "shop");
    metrics.pass_failed("web", "shop");
    metrics.counted(Key::new("web", "shop"), figures());
    assert_eq!(of_shop(&registry).len(), 11);
    metrics.forget("web", "shop");
    assert_eq!(of_shop(&registry), Vec::<String>::new());
}

/// F-65.
#[test]
fn changes_at_a_grid_count_for_their_zone_delegation_and_go_with_it() {
    let (registry, metrics) = metrics();
    let grid = ProviderId::new("infoblox");
    metrics.change_made(&grid, Some("shop"), "create", ChangeResult::Applied);
    metrics.change_made(&grid, Some("shop"), "replace", ChangeResult::Failed);
    metrics.change_made(&grid, Some("shop"), "replace", ChangeResult::Unknown);
    metrics.change_made(&ProviderId::new("memory"), Some("shop"), "replace", ChangeResult::Applied);
    let wanted = [
        r#"k8gb_infoblox_zone_updates_total{namespace="k8gb",name="shop"} 1"#,
        r#"k8gb_infoblox_zone_update_errors_total{namespace="k8gb",name="shop"} 1"#,
    ];
    assert_eq!(of_shop(&registry), wanted);
    metrics.forget_zone_delegation("shop");
    assert_eq!(of_shop(&registry), Vec::<String>::new());
}

#[test]
fn requests_are_counted_for_each_grid_by_its_name() {
    let (registry, metrics) = metrics();
    for (provider, success) in [("core", true), ("dmz", false), ("core", true)] {
        metrics.of_grid(provider).on_call(Operation::ZoneRead, success, Duration::from_millis(500));
    }
    let calls: Vec<String> = samples(&registry)
        .into_iter()
        .filter(|line| line.starts_with("gslb_bridge_provider_calls"))
        .collect();
    let wanted = [
        r#"gslb_bridge_provider_calls_total{provider="core",success="true"} 2"#,
        r#"gslb_bridge_provider_calls_total{provider="dmz",success="false"} 1"#,
    ];
    assert_eq!(
        calls.into_iter().collect::<std::collections::BTreeSet<_>>(),
        wanted.map(str::to_owned).into()
    );
}

#[test]
fn requests_are_counted_in_k8gbs_buckets() {
    let (registry, metrics) = metrics();
    metrics.of_grid("infoblox").on_call(Operation::ZoneRead, true, Duration::from_millis(500));
    let line = r#"k8gb_infoblox_request_duration_bucket{le="0.8",request="ZoneRead",success="true"} 1"#;
    assert!(samples(&registry).contains(&line.to_owned()), "{:?}", samples(&registry));
}
