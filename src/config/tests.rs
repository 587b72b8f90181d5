//! What users write, and what becomes of it.

use std::collections::BTreeSet;
use std::time::Duration;

use gslb_core::name::GeoTag;
use secrecy::ExposeSecret;

use super::*;

const MINIMAL: &[(&str, &str)] = &[("CLUSTER_GEO_TAG", "eu"), ("EDGE_DNS_SERVERS", "192.0.2.53")];
const INFOBLOX: &[(&str, &str)] = &[
    ("INFOBLOX_GRID_HOST", "gm.example.com"),
    ("INFOBLOX_WAPI_USERNAME", "gslb"),
    ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
];

fn raw(layers: &[&[(&str, &str)]]) -> RawConfig {
    RawConfig::read(|name| {
        let pairs = layers.iter().rev().copied().flatten();
        pairs.clone().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}
fn settings(more: &[(&str, &str)]) -> Settings {
    Settings::resolve(&raw(&[MINIMAL, more])).unwrap()
}
fn infoblox(more: &[(&str, &str)]) -> InfobloxSettings {
    match Settings::resolve(&raw(&[MINIMAL, INFOBLOX, more])).unwrap().provider {
        ProviderChoice::Infoblox(infoblox) => infoblox,
        other => panic!("Infoblox was not selected, but {other:?}"),
    }
}
/// The sentences of everything that is wrong.
fn refused(more: &[(&str, &str)]) -> Vec<String> {
    let problems = Settings::resolve(&raw(&[MINIMAL, more])).unwrap_err();
    problems.0.iter().map(ToString::to_string).collect()
}
/// The one sentence about the one thing that is wrong.
fn sentence(variable: &str, value: &str) -> String {
    let sentences = refused(&[(variable, value)]);
    assert_eq!(sentences.len(), 1, "{variable}={value:?}: {sentences:?}");
    assert!(sentences[0].starts_with(variable), "{sentences:?}");
    sentences[0].clone()
}
fn tags(list: &[&str]) -> BTreeSet<GeoTag> {
    list.iter().map(|tag| GeoTag::parse(tag).unwrap()).collect()
}
fn servers(list: &str) -> Vec<String> {
    settings(&[("EDGE_DNS_SERVERS", list)]).edge_dns_servers.iter().map(ToString::to_string).collect()
}
fn seconds(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(count))
}

/// Conformance 69, 72.
#[test]
fn two_variables_are_enough_and_the_rest_has_k8gbs_defaults() {
    let minimal = settings(&[]);
    assert_eq!(minimal.geo_tag.as_str(), "eu");
    assert_eq!(minimal.namespace, "k8gb");
    assert_eq!(servers("192.0.2.53"), ["192.0.2.53:53"]);
    assert_eq!(minimal.dns_service, DnsService::LabelledIngress);
    assert_eq!(minimal.log, LogSettings { level: LogLevel::Info, format: LogFormat::Simple, color: true });
    assert_eq!(minimal.metrics_address.to_string(), "0.0.0.0:8080");
    assert_eq!(minimal.listed_tags, tags(&[]));
    assert_eq!(minimal.zones, []);
    assert_eq!(minimal.ns_ttl.as_secs(), 30);
    assert_eq!(minimal.provider.name(), "none");
    assert_eq!(minimal.warnings, []);
    assert_eq!(
        minimal.periods,
        Periods {
            gslb: seconds(30),
            zone_delegation: seconds(300),
            peer_sweep: Duration::from_secs(5),
            peer_hold: Duration::from_secs(300),
            last_resort: Duration::from_secs(3600),
        }
    );
    assert_eq!(minimal.change_log, ChangeLogSettings { file: None, hmac_key_file: None });
    assert_eq!(minimal.pod_name, "gslb-bridge");
}

/// Conformance 72.
#[test]
fn reading_again_sees_the_changed_variable() {
    let read = |tag| Settings::resolve(&raw(&[MINIMAL, &[("CLUSTER_GEO_TAG", tag)]])).unwrap().geo_tag;
    assert_eq!((read("eu").as_str(), read("eu").as_str(), read("us").as_str()), ("eu", "eu", "us"));
}

/// Conformance 73.
#[test]
fn tags_have_letters_digits_and_dashes_and_are_unique() {
    let listed = |list| settings(&[("EXT_GSLB_CLUSTERS_GEO_TAGS", list)]).listed_tags;
    assert_eq!(listed("us-west-1, za"), tags(&["us-west-1", "za"]));
    assert_eq!(listed(""), tags(&[]));
    assert_eq!(listed("eu"), tags(&["eu"]));
    for bad in ["us,e u", "us,-za", "us,zä", "us,,za", "us,z.a"] {
        assert!(sentence("EXT_GSLB_CLUSTERS_GEO_TAGS", bad).contains("letters, digits and inner dashes"));
    }
    assert_eq!(
        sentence("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,za,us"),
        "EXT_GSLB_CLUSTERS_GEO_TAGS is \"us\": it is listed twice; list tags such as eu,us"
    );
    assert!(sentence("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,US").contains("listed twice"));
}

/// Conformance 68, 73.
#[test]
fn the_own_tag_may_be_listed_or_not() {
    for list in ["us", "eu,us", "us,eu"] {
        assert_eq!(settings(&[("EXT_GSLB_CLUSTERS_GEO_TAGS", list)]).static_peers(), tags(&["eu", "us"]));
    }
    assert_eq!(settings(&[("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu")]).static_peers(), tags(&["eu"]));
    assert_eq!(settings(&[]).static_peers(), tags(&["eu"]));
}

/// Conformance 68.
#[test]
fn the_peers_are_found_with_infoblox_and_without_listed_tags_only() {
    let finds = |layers: &[_]| {
        let settings = Settings::resolve(&raw(layers)).unwrap();
        assert_eq!(settings.warnings, []);
        settings.finds_peers()
    };
    let listed: &[_] = &[("EXT_GSLB_CLUSTERS_GEO_TAGS", "us")];
    let own: &[_] = &[("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu")];
    let external_dns: &[_] = &[("EXTDNS_ENABLED", "true")];
    assert!(finds(&[MINIMAL, INFOBLOX]));
    assert!(!finds(&[MINIMAL, INFOBLOX, listed]) && !finds(&[MINIMAL, INFOBLOX, own]));
    assert!(!finds(&[MINIMAL]) && !finds(&[MINIMAL, external_dns]));
}

/// F-53.
#[test]
fn several_clusters_that_publish_one_ns_set_through_external_dns_are_told_to_share_the_owner_of_that_alone() {
    let external_dns: &[_] = &[("EXTDNS_ENABLED", "true"), ("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us")];
    let warnings = Settings::resolve(&raw(&[MINIMAL, external_dns])).unwrap().warnings;
    let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "EXTDNS_ENABLED is true in a fleet of several clusters: they share one set of NS records but not their glue, so run external-dns twice in each: for NS records with one --txt-owner-id for the fleet, for A records with one of each cluster's own; see docs/external-dns.md"
        ]
    );
}

#[test]
fn the_own_tag_is_required_and_checked() {
    let nothing = Settings::resolve(&raw(&[&MINIMAL[1..]])).unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "1 setting to correct:\n  CLUSTER_GEO_TAG is not set: every cluster needs its own tag; set it to for example eu"
    );
    for bad in ["", "e u", "eu.west", "éu", "-eu"] {
        assert!(sentence("CLUSTER_GEO_TAG", bad).contains("a geo tag has 1 to 63 letters"));
    }
}

/// F-04.
#[test]
fn a_tag_with_capitals_is_used_in_lower_case_and_said_so() {
    let settings = settings(&[("CLUSTER_GEO_TAG", "EU")]);
    assert_eq!(settings.geo_tag.as_str(), "eu");
    assert_eq!(
        settings.warnings[0].to_string(),
        "CLUSTER_GEO_TAG has capitals, but names in DNS are lower-case: eu is used"
    );
}

/// Conformance 34, 74; F-27.
#[test]
fn resolvers_are_names_or_addresses_with_or_without_port() {
    assert_eq!(
        servers("192.0.2.53, dns.example.com ,192.0.2.54:1053,dns.example.com:1053"),
        ["192.0.2.53:53", "dns.example.com:53", "192.0.2.54:1053", "dns.example.com:1053"]
    );
    let cases = [
        ("192.0.2.53:65536", "port \"65536\" is not a number"),
        ("192.0.2.53:0", "port 0 is not between"),
        ("192.0.2.53:dns", "port \"dns\" is not a number"),
        ("192.0.2.53:", "port \"\" is not a number"),
        (":53", "the host is empty"),
        (",192.0.2.53", "the host is empty"),
        ("2001:db8::53", "IPv6"),
        ("[2001:db8::53]:53", "IPv6"),
        ("192.0.2.533", "neither an IPv4 address nor a host name"),
        ("dns_.example.com,dns.-example.com", "letters, digits"),
        ("192.0.2.53,192.0.2.53:53", "listed twice"),
    ];
    for (value, expected) in cases {
        assert!(sentence("EDGE_DNS_SERVERS", value).contains(expected), "{value}");
    }
}

/// Conformance 75.
#[test]
fn the_deprecated_resolver_is_a_fallback_with_a_warning() {
    let resolve = |pairs: &[_]| Settings::resolve(&raw(&[&MINIMAL[..1], pairs]));
    let both = resolve(&[("EDGE_DNS_SERVER", "192.0.2.53"), ("EDGE_DNS_SERVER_PORT", "1053")]).unwrap();
    assert_eq!(both.edge_dns_servers[0].to_string(), "192.0.2.53:1053");
    assert_eq!(both.warnings.len(), 2);
    let one = resolve(&[("EDGE_DNS_SERVER", "dns.example.com"), ("EDGE_DNS_SERVERS", "")]).unwrap();
    assert_eq!(one.edge_dns_servers[0].to_string(), "dns.example.com:53");
    assert_eq!(one.warnings.len(), 1);
    let port = resolve(&[("EDGE_DNS_SERVER", "192.0.2.53"), ("EDGE_DNS_SERVER_PORT", "0")]).unwrap_err();
    assert_eq!(port.0[0].variable(), Some("EDGE_DNS_SERVER_PORT"));
}

/// Conformance 75.
#[test]
fn the_deprecated_resolver_is_ignored_beside_the_list() {
    let ignored = settings(&[("EDGE_DNS_SERVER", "192.0.2.99"), ("EDGE_DNS_SERVER_PORT", "0")]);
    assert_eq!(ignored.edge_dns_servers.len(), 1);
    assert_eq!(ignored.edge_dns_servers[0].to_string(), "192.0.2.53:53");
}

#[test]
fn variables_of_older_versions_and_of_no_grid_are_told_to_have_no_effect() {
    let told = |pairs: &[(&str, &str)]| -> Vec<String> {
        settings(pairs).warnings.iter().map(ToString::to_string).collect()
    };
    let write = "is a variable of older versions and is not read; set DNS_ZONES=<EDGE_DNS_ZONE>:<DNS_ZONE>:30, and remove it";
    assert_eq!(
        told(&[
            ("DNS_ZONE", "cloud.example.com"),
            ("EDGE_DNS_ZONE", "example.com"),
            ("INFOBLOX_DNS_VIEW", "inside")
        ]),
        [
            format!("DNS_ZONE {write}"),
            format!("EDGE_DNS_ZONE {write}"),
            "INFOBLOX_DNS_VIEW has no effect, as INFOBLOX_GRID_HOST names no grid".to_owned(),
        ]
    );
    assert_eq!(told(&[]), [""; 0]);
    assert_eq!(told(INFOBLOX), [""; 0]);
}

/// Conformance 31, 34.
#[test]
fn one_resolver_is_needed() {
    for pairs in [&[][..], &[("EDGE_DNS_SERVERS", "")], &[("EDGE_DNS_SERVER", "")]] {
        let problems = Settings::resolve(&raw(&[&MINIMAL[..1], pairs])).unwrap_err();
        assert_eq!(problems.0[0].variable(), Some("EDGE_DNS_SERVERS"));
    }
}

/// Conformance 69, 76.
#[test]
fn two_providers_are_refused_with_both_names() {
    let problems = Settings::resolve(&raw(&[MINIMAL, INFOBLOX, &[("EXTDNS_ENABLED", "true")]])).unwrap_err();
    assert_eq!(
        problems.0[0].to_string(),
        "EXTDNS_ENABLED is \"true\": only one provider can be selected, and INFOBLOX_GRID_HOST selects Infoblox already; set EXTDNS_ENABLED to false or remove INFOBLOX_GRID_HOST"
    );
}

/// Conformance 76.
#[test]
fn the_metrics_address_is_a_host_with_or_without_port() {
    let address = |value| settings(&[("METRICS_ADDRESS", value)]).metrics_address.to_string();
    assert_eq!(address("127.0.0.1"), "127.0.0.1:8080");
    assert_eq!(address("127.0.0.1:9090"), "127.0.0.1:9090");
    assert_eq!(address("localhost"), "localhost:8080");
    assert_eq!(address("127.0.0.1:0"), "127.0.0.1:0");
    for bad in ["", ":8080", "0.0.0.0:", "0.0.0.0:65536", "0.0.0.0:http", "[::]:8080", "::", "0.0.0.0.0:80"] {
        sentence("METRICS_ADDRESS", bad);
    }
}

/// Conformance 69, 77.
#[test]
fn infoblox_has_defaults_that_work() {
    let defaults = infoblox(&[]);
    assert_eq!(defaults.host.to_string(), "gm.example.com");
    assert_eq!((defaults.port, defaults.version.as_str(), defaults.view.as_str()), (443, "2.12", "default"));
    assert_eq!(defaults.request_timeout, Duration::from_secs(20));
    assert_eq!(defaults.ca_file, None);
    assert_eq!(defaults.username.read().unwrap().expose_secret(), "gslb");
    assert_eq!(defaults.password.read().unwrap().expose_secret(), "hunter2");
}

/// Conformance 77.
#[test]
fn infoblox_takes_the_full_set() {
    let full = infoblox(&[
        ("INFOBLOX_GRID_HOST", "192.0.2.1"),
        ("INFOBLOX_WAPI_PORT", "8443"),
        ("INFOBLOX_WAPI_VERSION", "v2.3.1"),
        ("INFOBLOX_HTTP_REQUEST_TIMEOUT", "3"),
        ("INFOBLOX_HTTP_POOL_CONNECTIONS", "0"),
        ("INFOBLOX_DNS_VIEW", "external"),
        ("INFOBLOX_CA_FILE", "/etc/grid/ca.pem"),
        ("SSL_CERT_FILE", "/etc/ssl/all.pem"),
    ]);
    assert_eq!((full.host.to_string(), full.port), ("192.0.2.1".to_owned(), 8443));
    assert_eq!((full.version.as_str(), full.view.as_str()), ("2.3.1", "external"));
    assert_eq!(full.request_timeout, Duration::from_secs(3));
    assert_eq!(full.ca_file, Some("/etc/grid/ca.pem".into()));
}

#[test]
fn what_has_no_effect_is_said_so_when_it_is_set() {
    let idle: &[_] =
        &[("INFOBLOX_HTTP_POOL_CONNECTIONS", "10"), ("ZONE_DELEGATION_RECOVERY_SECONDS", "3600")];
    let listed: &[_] = &[("EXT_GSLB_CLUSTERS_GEO_TAGS", "eu,us")];
    let warned = Settings::resolve(&raw(&[MINIMAL, INFOBLOX, listed, idle])).unwrap().warnings;
    let told: Vec<_> = warned.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "INFOBLOX_HTTP_POOL_CONNECTIONS has no effect: at most 4 idle connections are kept",
            "ZONE_DELEGATION_RECOVERY_SECONDS has no effect, as in k8gb",
        ]
    );
}

#[test]
fn the_general_certificate_bundle_stands_in_for_the_grids() {
    let fallback = infoblox(&[("INFOBLOX_CA_FILE", ""), ("SSL_CERT_FILE", "/etc/ssl/all.pem")]);
    assert_eq!(fallback.ca_file, Some("/etc/ssl/all.pem".into()));
}

/// Conformance 69, 77.
#[test]
fn an_empty_grid_host_selects_no_provider() {
    let settings = settings(&[("INFOBLOX_GRID_HOST", ""), ("INFOBLOX_WAPI_PORT", "0")]);
    assert!(matches!(settings.provider, ProviderChoice::None));
}

/// Conformance 77.
#[test]
fn what_infoblox_lacks_is_said_at_once() {
    let problems = refused(&[
        ("INFOBLOX_GRID_HOST", "gm.example.com."),
        ("INFOBLOX_WAPI_PORT", "70000"),
        ("INFOBLOX_WAPI_PASSWORD", ""),
        ("INFOBLOX_WAPI_VERSION", "v2"),
        ("INFOBLOX_HTTP_REQUEST_TIMEOUT", "0"),
        ("INFOBLOX_HTTP_POOL_CONNECTIONS", "-1"),
    ]);
    assert_eq!(
        problems,
        [
            "INFOBLOX_GRID_HOST is \"gm.example.com.\": a host name has no dot at its end; write a host name or an address",
            "INFOBLOX_WAPI_PORT is \"70000\": it must be a whole number from 1 to 65535; write for example 443",
            "INFOBLOX_WAPI_USERNAME is not set: Infoblox is selected by INFOBLOX_GRID_HOST and needs an account; set it, or better INFOBLOX_WAPI_USERNAME_FILE to a mounted file",
            "INFOBLOX_WAPI_PASSWORD is not set: Infoblox is selected by INFOBLOX_GRID_HOST and needs an account; set it, or better INFOBLOX_WAPI_PASSWORD_FILE to a mounted file",
            "INFOBLOX_WAPI_VERSION is \"v2\": a WAPI version is two or three numbers separated by dots; write for example 2.12",
            "INFOBLOX_HTTP_REQUEST_TIMEOUT is \"0\": it must be a whole number from 1 to 31536000; write for example 20",
            "INFOBLOX_HTTP_POOL_CONNECTIONS is \"-1\": it must be a whole number from 0 to 1000; write for example 10",
        ]
    );
}

#[test]
fn a_mounted_credential_wins_over_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("password");
    std::fs::write(&path, "from-file\n").unwrap();
    let infoblox = infoblox(&[("INFOBLOX_WAPI_PASSWORD_FILE", path.to_str().unwrap())]);
    assert_eq!(infoblox.password.read().unwrap().expose_secret(), "from-file");
    assert_eq!(infoblox.username.read().unwrap().expose_secret(), "gslb");
}

/// Conformance 78.
#[test]
fn exposed_addresses_are_ipv4_and_unique() {
    let exposed = |list| {
        let addresses = settings(&[("CLUSTER_EXPOSED_IPS", list)]).exposed_addresses;
        addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(exposed("192.0.2.11, 192.0.2.10 "), ["192.0.2.11", "192.0.2.10"]);
    assert_eq!(exposed(""), Vec::<String>::new());
    assert_eq!(
        sentence("CLUSTER_EXPOSED_IPS", "192.0.2.53,192.0.2.53"),
        "CLUSTER_EXPOSED_IPS is \"192.0.2.53\": it is listed twice; list IPv4 addresses such as 192.0.2.10,192.0.2.11"
    );
    for bad in ["2001:db8::1", "no-address", "192.0.2.256"] {
        assert!(sentence("CLUSTER_EXPOSED_IPS", bad).contains(bad));
    }
}

/// Conformance 66.
#[test]
fn zones_are_parsed_with_blanks_and_trailing_semicolons() {
    let zones = settings(&[(
        "DNS_ZONES",
        " example.com : cloud.example.com : 30 ;cloud.example.com:k8gb-test.gslb.cloud.example.com:300; ",
    )])
    .zones;
    let shown: Vec<_> = zones
        .iter()
        .map(|zone| format!("{} {} {}", zone.parent(), zone.name(), zone.negative_ttl().as_secs()))
        .collect();
    assert_eq!(
        shown,
        ["example.com cloud.example.com 30", "cloud.example.com k8gb-test.gslb.cloud.example.com 300"]
    );
    assert_eq!(settings(&[("DNS_ZONES", "")]).zones, []);
    assert_eq!(
        settings(&[("DNS_ZONES", "example.com:a.example.com:1;example.com:b.example.com:1")]).zones.len(),
        2
    );
}

/// Conformance 66.
#[test]
fn a_zone_that_cannot_be_served_is_refused_with_the_reason() {
    let long = format!("example.com:{}.example.com:30", "a".repeat(64));
    let cases = [
        ("example.com:cloud.example.com", "has three parts separated by colons, this has 2"),
        ("example.com:cloud.example.com:30:1", "this has 4"),
        ("example.com:cloud.example.com:soon", "the negative TTL \"soon\" is not a whole number"),
        ("example.com:cloud.example.com:", "the negative TTL \"\""),
        ("example.com:cloud.example.com:-1", "not -1"),
        ("example.com:example.com:30", "must lie below its parent"),
        ("example.com:cloud.example.net:30", "must lie below its parent"),
        ("example.com:xexample.com:30", "must lie below its parent"),
        ("example.com:*.example.com:30", "not a wildcard"),
        (":cloud.example.com:30", "the name is empty"),
        (&long, "a label has at most 63"),
    ];
    for (value, expected) in cases {
        assert!(sentence("DNS_ZONES", value).contains(expected), "{value}");
    }
}

/// Conformance 108; F-03.
#[test]
fn zones_that_would_share_their_object_name_are_refused() {
    assert_eq!(
        sentence("DNS_ZONES", "example.org:a-b.example.org:30;example.org:a.b.example.org:30"),
        "DNS_ZONES is \"a.b.example.org\": it would share the object name a-b-example-org with a-b.example.org; rename one of the two"
    );
    let twice = "example.org:a.example.org:30;example.org:A.example.org:60";
    assert!(sentence("DNS_ZONES", twice).contains("listed once"));
}

/// Conformance 62, 66.
#[test]
fn name_server_names_of_all_tags_must_fit() {
    let own =
        refused(&[("DNS_ZONES", "example.com:cloud.example.com:30"), ("CLUSTER_GEO_TAG", &"e".repeat(50))]);
    assert!(own[0].contains("a label has at most 63"), "{own:?}");
    let peer = refused(&[
        ("DNS_ZONES", "example.com:cloud.example.com:30"),
        ("EXT_GSLB_CLUSTERS_GEO_TAGS", &"u".repeat(50)),
    ]);
    assert!(peer[0].contains(&"u".repeat(50)), "{peer:?}");
    let fits =
        settings(&[("DNS_ZONES", "example.com:cloud.example.com:30"), ("CLUSTER_GEO_TAG", &"e".repeat(49))]);
    assert_eq!(fits.zones.len(), 1);
}

/// Conformance 66.
#[test]
fn a_prefix_may_be_empty_but_not_illegal() {
    let name = |prefix| {
        let settings =
            settings(&[("GLUEA_PREFIX", prefix), ("DNS_ZONES", "example.com:cloud.example.com:30")]);
        settings.zones[0].ns_name(&settings.ns_prefix, &settings.geo_tag).unwrap().to_string()
    };
    assert_eq!(name(""), "eu-cloud.example.com");
    assert_eq!(name("my-"), "my-eu-cloud.example.com");
    assert!(sentence("GLUEA_PREFIX", "my gslb-").contains("letters, digits and dashes"));
    sentence("GLUEA_PREFIX", "-");
}

/// Conformance 69.
#[test]
fn booleans_and_numbers_follow_k8gbs_rules() {
    for (value, external_dns) in [("true", true), ("YES", true), ("1", true), ("False", false), ("no", false)]
    {
        let chosen = settings(&[("EXTDNS_ENABLED", value)]).provider.name() == "external-dns";
        assert_eq!(chosen, external_dns, "{value}");
    }
    for bad in ["", "on", "t"] {
        sentence("EXTDNS_ENABLED", bad);
    }
    for bad in ["", "-1", "1.5", "ten", "31536001"] {
        sentence("RECONCILE_REQUEUE_SECONDS", bad);
    }
    sentence("NS_RECORD_TTL", "0");
    sentence("NS_RECORD_TTL", "2147483648");
}

/// F-40.
#[test]
fn a_period_of_zero_means_on_events_only() {
    let periods = settings(&[
        ("RECONCILE_REQUEUE_SECONDS", "0"),
        ("ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS", "0"),
        ("PEER_SWEEP_SECONDS", "60"),
    ])
    .periods;
    assert_eq!((periods.gslb, periods.zone_delegation), (None, None));
    assert_eq!(periods.peer_sweep, Duration::from_secs(60));
}

/// F-40.
#[test]
fn peers_are_asked_at_least_once_per_period() {
    let long = settings(&[("RECONCILE_REQUEUE_SECONDS", "10"), ("PEER_SWEEP_SECONDS", "60")]);
    assert_eq!(long.periods.peer_sweep, Duration::from_secs(10));
    assert_eq!(
        long.warnings[0].to_string(),
        "PEER_SWEEP_SECONDS is longer than RECONCILE_REQUEUE_SECONDS, so peers are asked every 10 s"
    );
    let default = settings(&[("RECONCILE_REQUEUE_SECONDS", "2")]);
    assert_eq!((default.periods.peer_sweep, default.warnings), (Duration::from_secs(2), vec![]));
    let fraction = settings(&[("PEER_SWEEP_SECONDS", "0.5")]);
    assert_eq!(fraction.periods.peer_sweep, Duration::from_millis(500));
    for bad in ["0", "0.05", "-1", "NaN", "inf", "", "3601"] {
        sentence("PEER_SWEEP_SECONDS", bad);
    }
}

#[test]
fn the_dns_service_wins_over_k8gbs_rule() {
    let service = |pairs: &[_]| settings(pairs).dns_service;
    let load_balancer = ("COREDNS_SERVICE_TYPE", "LoadBalancer");
    assert_eq!(service(&[load_balancer]), DnsService::CoreDnsLoadBalancer);
    assert_eq!(service(&[("COREDNS_SERVICE_TYPE", "NodePort")]), DnsService::LabelledIngress);
    assert_eq!(
        service(&[load_balancer, ("DNS_SERVICE", "gslb/gslb-bridge-dns")]),
        DnsService::Named { namespace: "gslb".into(), name: "gslb-bridge-dns".into() }
    );
    sentence("COREDNS_SERVICE_TYPE", "loadbalancer");
    sentence("COREDNS_SERVICE_TYPE", "");
    for bad in ["gslb-bridge-dns", "gslb/", "/dns", "gslb/DNS", "a/b/c"] {
        sentence("DNS_SERVICE", bad);
    }
}

#[test]
fn questions_come_from_the_address_that_is_set() {
    assert_eq!(settings(&[]).dns_source_address, None);
    let source = settings(&[("DNS_SOURCE_ADDRESS", "192.0.2.10")]).dns_source_address;
    assert_eq!(source, Some("192.0.2.10".parse().unwrap()));
    for bad in ["eth0", "192.0.2.10:53", "192.0.2"] {
        sentence("DNS_SOURCE_ADDRESS", bad);
    }
}

/// F-33.
#[test]
fn peers_are_asked_on_the_resolvers_port_first_and_on_53_always() {
    let ports = |list| settings(&[("EDGE_DNS_SERVERS", list)]).peer_ports();
    assert_eq!(ports("192.0.2.53"), [53]);
    assert_eq!(ports("192.0.2.53:1053"), [1053, 53]);
    assert_eq!(ports("192.0.2.53,192.0.2.54:1053,192.0.2.55:1053"), [53, 1053]);
    assert_eq!(ports("192.0.2.53:1053,192.0.2.54,192.0.2.55:2053"), [1053, 2053, 53]);
}

#[test]
fn log_settings_are_k8gbs() {
    let log = settings(&[("LOG_LEVEL", "trace"), ("LOG_FORMAT", "json"), ("NO_COLOR", "true")]).log;
    assert_eq!(log, LogSettings { level: LogLevel::Trace, format: LogFormat::Json, color: false });
    sentence("LOG_LEVEL", "fatal");
    sentence("LOG_FORMAT", "xml");
}

/// F-74.
#[test]
fn the_policy_for_namespaces_is_off_unless_it_is_asked_for() {
    assert_eq!(settings(&[]).namespace_policy, NamespacePolicy::Off);
    assert_eq!(settings(&[("NAMESPACE_POLICY", "enforce")]).namespace_policy, NamespacePolicy::Enforce);
    for unknown in ["", "on", "Enforce"] {
        assert!(sentence("NAMESPACE_POLICY", unknown).contains("off or enforce"));
    }
}

#[test]
fn traces_are_checked_only_when_switched_on() {
    assert_eq!(settings(&[("TRACING_SAMPLING_RATIO", "9")]).tracing, None);
    let on = settings(&[("TRACING_ENABLED", "true"), ("TRACING_SAMPLING_RATIO", "0.25")]);
    let tracing = on.tracing.unwrap();
    assert_eq!((tracing.ratio, tracing.endpoint.to_string().as_str()), (0.25, "localhost:4318"));
    assert_eq!(on.warnings.len(), 1);
    let problems = refused(&[("TRACING_ENABLED", "true"), ("TRACING_SAMPLING_RATIO", "2")]);
    assert_eq!(problems.len(), 1);
}

#[test]
fn the_pod_has_a_name() {
    let name = |pairs: &[_]| settings(pairs).pod_name;
    assert_eq!(name(&[("POD_NAME", "gslb-0"), ("HOSTNAME", "node")]), "gslb-0");
    assert_eq!(name(&[("HOSTNAME", "node")]), "node");
}

/// Conformance 76.
#[test]
fn everything_wrong_is_said_at_once_in_the_order_of_the_reference() {
    let problems = Settings::resolve(&raw(&[&[
        ("EXT_GSLB_CLUSTERS_GEO_TAGS", "us,us"),
        ("DNS_ZONES", "example.com:example.com:30"),
        ("LOG_LEVEL", "panic"),
        ("METRICS_ADDRESS", ""),
        ("POD_NAMESPACE", ""),
        ("INFOBLOX_GRID_HOST", "192.0.2.1"),
        ("EXTDNS_ENABLED", "maybe"),
    ]]))
    .unwrap_err();
    let variables: Vec<_> = problems.0.iter().map(|problem| problem.variable().unwrap()).collect();
    assert_eq!(
        variables,
        [
            "CLUSTER_GEO_TAG",
            "EXT_GSLB_CLUSTERS_GEO_TAGS",
            "DNS_ZONES",
            "EDGE_DNS_SERVERS",
            "POD_NAMESPACE",
            "EXTDNS_ENABLED",
            "METRICS_ADDRESS",
            "INFOBLOX_WAPI_USERNAME",
            "INFOBLOX_WAPI_PASSWORD",
            "LOG_LEVEL",
        ]
    );
    assert!(problems.to_string().starts_with("10 settings to correct:\n  CLUSTER_GEO_TAG is not set"));
}
