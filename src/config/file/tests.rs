//! What users write into the file, and what becomes of it.

use std::time::Duration;

use proptest::prelude::*;

use crate::config::catalog::{Form, VARIABLES};
use crate::config::{
    DnsService, LogLevel, NamespacePolicy, ProviderChoice, RawConfig, Readers, SecretSource, Settings,
};
use crate::dns::settings::DnsSettings;

const HEADER: &str = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\n";
const MINIMAL: &str = "clusterGeoTag: eu\nedgeDnsServers: [192.0.2.53]\n";

fn environment(pairs: &[(&str, &str)]) -> RawConfig {
    RawConfig::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()))
}
/// The file's keys behind header and minimum.
fn with(pairs: &[(&str, &str)], keys: &str) -> RawConfig {
    environment(pairs).and_text("gslb.yaml", &format!("{HEADER}{MINIMAL}{keys}"))
}
fn settings(keys: &str) -> Settings {
    Settings::resolve(&with(&[], keys)).unwrap_or_else(|problems| panic!("{keys}: {problems}"))
}
fn told(raw: &RawConfig) -> Vec<String> {
    Settings::resolve(raw).unwrap_err().0.iter().map(ToString::to_string).collect()
}
fn refused(keys: &str) -> Vec<String> {
    told(&with(&[], keys))
}
/// The sentences about a file as it is.
fn of_text(text: &str) -> Vec<String> {
    told(&environment(&[]).and_text("gslb.yaml", text))
}

/// Every key that goes with Infoblox.
const FULL: &str = "
peerGeoTags: [eu, us]
zones:
- {zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30}
- zone: apps.example.com
  parentZone: example.com
  negativeTtlSeconds: 60
nameServerPrefix: ns-
nameServerTtlSeconds: 60
podNamespace: gslb
podName: gslb-0
clusterExposedIPs: [192.0.2.10]
dnsSourceAddress: 192.0.2.11
namespacePolicy: enforce
metricsAddress: 127.0.0.1:9090
glue: {dnsService: gslb/gslb-bridge-dns}
periods: {gslbSeconds: 20, zoneDelegationSeconds: 0, peerSweepSeconds: 0.5, lastResortSeconds: 0}
infoblox:
  gridHost: gm.example.com
  wapiPort: 8443
  wapiVersion: 2.10
  dnsView: external
  usernameFile: /secrets/username
  passwordFile: /secrets/password
  caFile: /secrets/ca.pem
  requestTimeoutSeconds: 5
changeLog: {file: /var/log/changes.jsonl, hmacKeyFile: /secrets/key}
log: {level: debug, format: json, noColor: true}
dnsServer: {listen: [192.0.2.53], snapshotFile: /var/lib/zones, stopSeconds: 0}
";

#[test]
fn a_file_alone_is_enough() {
    let settings = settings(FULL);
    assert_eq!(settings.warnings, []);
    assert_eq!(
        settings.zones.iter().map(|zone| zone.name().as_str()).collect::<Vec<_>>(),
        ["cloud.example.com", "apps.example.com"]
    );
    assert_eq!(settings.zones[1].negative_ttl().as_secs(), 60);
    assert_eq!((settings.geo_tag.as_str(), settings.listed_tags.len()), ("eu", 2));
    assert_eq!((settings.namespace.as_str(), settings.pod_name.as_str()), ("gslb", "gslb-0"));
    assert_eq!(settings.exposed_addresses, ["192.0.2.10".parse::<std::net::Ipv4Addr>().unwrap()]);
    assert_eq!(settings.periods.gslb, Some(Duration::from_secs(20)));
    assert_eq!((settings.periods.zone_delegation, settings.periods.last_resort), (None, Duration::ZERO));
    assert_eq!(settings.periods.peer_sweep, Duration::from_millis(500));
    assert_eq!(settings.namespace_policy, NamespacePolicy::Enforce);
    assert_eq!(settings.ns_ttl.as_secs(), 60);
    assert_eq!((settings.log.level, settings.log.color), (LogLevel::Debug, false));
    assert_eq!(
        settings.dns_service,
        DnsService::Named { namespace: "gslb".into(), name: "gslb-bridge-dns".into() }
    );
    assert_eq!(settings.change_log.hmac_key_file, Some("/secrets/key".into()));
    let ProviderChoice::Infoblox(infoblox) = settings.provider else { panic!("Infoblox was not selected") };
    assert_eq!(
        (infoblox.port, infoblox.version.as_str(), infoblox.view.as_str()),
        (8443, "2.10", "external")
    );
    assert!(matches!(infoblox.password, SecretSource::File(path) if path.ends_with("password")));
    assert_eq!(infoblox.request_timeout, Duration::from_secs(5));

    let (dns, _) = DnsSettings::resolve(&with(&[], FULL)).unwrap();
    assert_eq!(dns.listen, ["192.0.2.53:5353".parse().unwrap()]);
    assert_eq!((dns.drain, dns.snapshot_file), (Duration::ZERO, Some("/var/lib/zones".into())));
    assert_eq!(dns.zones, settings.zones);
}

/// What Infoblox needs at least.
const GRID: &str =
    "infoblox: {gridHost: gm.example.com, usernameFile: /secrets/u, passwordFile: /secrets/p}\n";

fn zone_with(mode: &str) -> String {
    format!(
        "zones: [{{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, mode: {mode}}}]\n"
    )
}

#[test]
fn a_zone_is_delegated_unless_its_mode_is_records() {
    let modes = |mode: &str| {
        let settings = settings(&format!("{GRID}peerGeoTags: [eu, us]\n{}", zone_with(mode)));
        (settings.records_zones.len(), settings.delegated_zones().count())
    };
    assert_eq!([modes("delegation"), modes("records")], [(0, 1), (1, 0)]);
    assert_eq!(settings(FULL).delegated_zones().count(), 2);
}

#[test]
fn a_mode_is_printed_and_a_key_like_it_is_found() {
    let keys = format!("{GRID}peerGeoTags: [eu, us]\n{}", zone_with("records"));
    let page = with(&[], &keys).print(Readers::Run);
    assert!(page.contains("negativeTtlSeconds: 30, mode: \"records\"}"), "{page}");
    let told =
        refused(&format!("{GRID}peerGeoTags: [eu, us]\n{}", zone_with("records").replace("mode", "mod")));
    assert!(told[0].ends_with("zones[0].mod is not a known key; did you mean mode?"), "{told:?}");
}

#[test]
fn a_mode_that_cannot_work_is_refused_with_what_it_needs() {
    let peers = "peerGeoTags: [eu, us]\n";
    let cases = [
        (
            format!("{GRID}{peers}{}", zone_with("record")),
            "is \"record\": the mode of a zone is delegation or records; write mode: delegation or mode: records",
        ),
        (
            format!("{peers}{}", zone_with("records")),
            "is \"records\": only Infoblox holds the records of hosts; select Infoblox, or write mode: delegation",
        ),
        (
            format!("{GRID}{}", zone_with("records")),
            "is \"records\": there is no delegation in which the other clusters could be found, and EXT_GSLB_CLUSTERS_GEO_TAGS is empty; list the tags of all clusters in EXT_GSLB_CLUSTERS_GEO_TAGS, the own one too",
        ),
    ];
    for (keys, sentence) in cases {
        let told = refused(&keys);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].ends_with(&format!("zones[0] {sentence}")), "{}", told[0]);
    }
}

fn adopting(more: &str) -> String {
    format!(
        "zones: [{{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, adoptHiddenRecords: {more}}}]\n"
    )
}

#[test]
fn a_zone_may_ask_to_be_delegated_whatever_that_hides() {
    let names = |more: &str| {
        let settings = settings(&format!("{GRID}{}", adopting(more)));
        settings.adopting_zones.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        [names("true"), names("false"), names("true, mode: delegation")],
        [vec!["cloud.example.com".to_owned()], vec![], vec!["cloud.example.com".to_owned()]]
    );
    let page = with(&[], &format!("{GRID}{}", adopting("true"))).print(Readers::Run);
    assert!(page.contains("negativeTtlSeconds: 30, adoptHiddenRecords: true}"), "{page}");
}

#[test]
fn adoption_where_nothing_is_hidden_and_in_no_boolean_is_refused() {
    let cases = [
        (
            format!("{GRID}{}", adopting("\"true\"")),
            "must be true or false, this is the text \"true\"; write true or false, without quotes",
        ),
        (
            adopting("true"),
            "has no effect without Infoblox or a webhook: nobody else is asked what a delegation would hide; remove it, or select one of them",
        ),
        (
            format!("{GRID}peerGeoTags: [eu, us]\n{}", adopting("true, mode: records")),
            "has no effect in records mode, where nothing is delegated; remove it, or remove mode",
        ),
    ];
    for (keys, sentence) in cases {
        let told = refused(&keys);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].ends_with(&format!("zones[0].adoptHiddenRecords {sentence}")), "{}", told[0]);
    }
}

#[test]
fn external_dns_is_chosen_and_no_section_must_have_anything() {
    assert_eq!(settings("externalDns: {enabled: true}").provider.name(), "external-dns");
    assert_eq!(settings("externalDns:\ninfoblox: {}\nlog:\n  # level: debug").provider.name(), "none");
}

/// What is no key must not be taken for one, however near it is.
#[test]
fn an_unknown_key_is_refused_with_its_place_and_the_nearest_known_one() {
    let cases = [
        (
            "infoblox: {gridhost: gm.example.com}",
            "5:12: infoblox.gridhost is not a known key; did you mean gridHost?",
        ),
        ("log: {levle: debug}", "5:7: log.levle is not a known key; did you mean level?"),
        ("infobox: {}", "5:1: infobox is not a known key; did you mean infoblox?"),
        ("infoblox: {view: x}", "5:12: infoblox.view is not a known key; did you mean dnsView?"),
        (
            "infoblox: {timeout: 5}",
            "5:12: infoblox.timeout is not a known key; did you mean requestTimeoutSeconds?",
        ),
        (
            "gridHost: gm.example.com",
            "5:1: gridHost is not a known key; did you mean gridHost, below infoblox?",
        ),
        (
            "infoblox.gridHost: gm",
            "5:1: infoblox.gridHost is not a known key; did you mean gridHost, below infoblox?",
        ),
        (
            "log: {clusterGeoTag: eu}",
            "5:7: log.clusterGeoTag is not a known key; did you mean clusterGeoTag, at the left margin?",
        ),
        (
            "namespace: gslb",
            "5:1: namespace is not a known key; did you mean podNamespace or namespacePolicy?",
        ),
        (
            "GLUEA_PREFIX: a",
            "5:1: GLUEA_PREFIX is not a known key; did you mean nameServerPrefix, at the left margin?",
        ),
        (
            "INFOBLOX_CA_FILE: a",
            "5:1: INFOBLOX_CA_FILE is not a known key; did you mean caFile, below infoblox?",
        ),
        ("DNS_ZONES: a", "5:1: DNS_ZONES is not a known key; did you mean zones, at the left margin?"),
        (
            "infoblox: {password: hunter2}",
            "5:12: infoblox.password is not a known key; did you mean passwordFile?",
        ),
        ("log: {x: 1}", "5:7: log.x is not a known key; known here: level, format, noColor"),
        (
            "changeLog: {\"a\\nb\": 1}",
            "5:13: changeLog.a\\nb is not a known key; known here: file, hmacKeyFile",
        ),
        (
            "zones: [{zone: a.example.com, parent: example.com, negativeTtlSeconds: 30, parentZone: example.com}]",
            "5:31: zones[0].parent is not a known key; did you mean parentZone?",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(refused(keys), [format!("gslb.yaml:{expected}")], "{keys}");
    }
}

#[test]
fn no_key_is_known_that_has_no_effect_or_holds_a_secret() {
    let keyless: Vec<_> =
        VARIABLES.iter().filter(|known| known.key.is_none()).map(|known| known.name).collect();
    assert_eq!(
        keyless,
        [
            "EDGE_DNS_SERVER",
            "EDGE_DNS_SERVER_PORT",
            "ZONE_DELEGATION_RECOVERY_SECONDS",
            "COREDNS_EXPOSED",
            "TRACING_ENABLED",
            "TRACING_SAMPLING_RATIO",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "INFOBLOX_WAPI_USERNAME",
            "INFOBLOX_WAPI_PASSWORD",
            "INFOBLOX_HTTP_POOL_CONNECTIONS",
            "PEER_HOLD_SECONDS",
            "HTTPS_PROXY",
            "NO_PROXY",
            "SSL_CERT_FILE",
            "HOSTNAME",
            "CONFIG_FILE",
        ]
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_what_to_write() {
    let cases = [
        ("podName: 5", "5:10: podName must be a text, this is the number 5; write it in quotes: \"5\""),
        ("podName: true", "5:10: podName must be a text, this is true; write it in quotes: \"true\""),
        ("podName: [a]", "5:10: podName must be a text, this is a list; write one value"),
        (
            "infoblox: {gridHost: gm, usernameFile: /u, passwordFile: /p, wapiPort: \"443\"}",
            "5:72: infoblox.wapiPort must be a number, this is the text \"443\"; write a number, without quotes",
        ),
        (
            "log: {noColor: yes}",
            "5:16: log.noColor must be true or false, this is the text \"yes\"; write true or false, without quotes",
        ),
        (
            "peerGeoTags: eu,us",
            "5:14: peerGeoTags must be a list, this is the text \"eu,us\"; write [] for none, or each element behind a dash",
        ),
        (
            "peerGeoTags: [eu, 5]",
            "5:19: peerGeoTags[1] must be a text, this is the number 5; write it in quotes: \"5\"",
        ),
        (
            "zones: example.com:cloud.example.com:30",
            "5:8: zones must be a list, this is the text \"example.com:cloud.example.com:30\"; write [] for none, or each zone behind a dash",
        ),
        (
            "zones: [cloud.example.com]",
            "5:9: zones[0] must be a mapping, this is the text \"cloud.example.com\"; write for example {zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30}",
        ),
        ("log: debug", "5:6: log must be a mapping; write below it one of level, format, noColor"),
        // It may be the key itself.
        (
            "changeLog: {hmacKeyFile: 12345}",
            "5:26: changeLog.hmacKeyFile must be the path of a file, this is something else; write a path, in quotes if need be",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(refused(keys), [format!("gslb.yaml:{expected}")], "{keys}");
    }
    let nothing = refused("podName:\nlog: {level: ~}");
    assert_eq!(nothing.len(), 2);
    assert!(nothing[1].ends_with("log.level has no value; write one, or remove the key"), "{nothing:?}");
}

#[test]
fn a_value_that_breaks_a_rule_is_refused_as_in_a_variable_with_its_place() {
    let cases = [
        (
            "log: {level: loud}",
            "5:14: log.level is \"loud\": it must be error, warn, info, debug or trace; write for example info",
        ),
        (
            "periods: {gslbSeconds: 1.5}",
            "5:24: periods.gslbSeconds is \"1.5\": it must be a whole number from 0 to 31536000; write for example 30",
        ),
        (
            "periods: {peerSweepSeconds: .nan}",
            "5:29: periods.peerSweepSeconds is \".nan\": it must be a number from 0.1 to 3600; write for example 5",
        ),
        (
            "nameServerTtlSeconds: 0x10",
            "5:23: nameServerTtlSeconds is \"0x10\": it must be a whole number from 1 to 2147483647; write for example 30",
        ),
        (
            "peerGeoTags:\n- us\n- e u",
            "7:3: peerGeoTags[1] is \"e u\": a geo tag has 1 to 63 letters, digits and inner dashes; list tags such as eu,us",
        ),
        (
            "peerGeoTags: [us, US]",
            "5:19: peerGeoTags[1] is \"US\": it is listed twice; list tags such as eu,us",
        ),
        (
            "zones: [{zone: cloud.example.net, parentZone: example.com, negativeTtlSeconds: -1}]",
            "5:9: zones[0] is \"zone: cloud.example.net, parentZone: example.com, negativeTtlSeconds: -1\": zone cloud.example.net must lie below its parent example.com, for example cloud.example.com, and a TTL has 0 to 2147483647 seconds, not -1; write for example zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30",
        ),
        (
            "zones: [{zone: a.example.com, parentZone: example.com}]",
            "5:9: zones[0] has no negativeTtlSeconds; write for example negativeTtlSeconds: 30",
        ),
        (
            "externalDns: {enabled: true}\ninfoblox: {gridHost: gm, usernameFile: /u, passwordFile: /p}",
            "5:24: externalDns.enabled is \"true\": only one provider can be selected, and infoblox.gridHost selects Infoblox already; set externalDns.enabled to false or remove infoblox.gridHost",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(refused(keys), [format!("gslb.yaml:{expected}")], "{keys}");
    }
}

#[test]
fn settings_for_a_grid_without_a_grid_are_refused() {
    assert_eq!(
        refused("infoblox: {wapiPort: 443}"),
        [
            "INFOBLOX_GRID_HOST (infoblox.gridHost in the file) is not set: the file has settings below infoblox, which have no effect without a grid; set it, or remove infoblox"
        ]
    );
    let section = "infoblox: {usernameFile: /u, passwordFile: /p}";
    let by_variable = |host| Settings::resolve(&with(&[("INFOBLOX_GRID_HOST", host)], section)).unwrap();
    assert_eq!(by_variable("gm.example.com").provider.name(), "infoblox");
    // Whoever empties the variable switches the grid off.
    assert_eq!(by_variable("").provider.name(), "none");
}

#[test]
fn a_key_that_is_written_twice_is_refused_at_its_second_place() {
    assert_eq!(
        refused("log: {level: info, level: debug}\nclusterGeoTag: us\nkind: Configuration"),
        [
            "gslb.yaml:5:20: log.level is written twice, first in line 5; remove one of the two",
            "gslb.yaml:6:1: clusterGeoTag is written twice, first in line 3; remove one of the two",
            "gslb.yaml:7:1: kind is written twice, first in line 2; remove one of the two",
        ]
    );
}

#[test]
fn everything_wrong_in_file_and_environment_is_told_at_once() {
    let raw = environment(&[("LOG_FORMAT", "xml"), ("EXTDNS_ENABLED", "maybe")]).and_text(
        "gslb.yaml",
        &format!("{HEADER}log: {{level: loud, color: true}}\nclusterGeoTag: 5\npeerGeoTags: [us, 7, e u]\ninfoblox: {{gridHost: gm, wapiVersion: [2]}}"),
    );
    assert_eq!(
        told(&raw),
        [
            "gslb.yaml:3:20: log.color is not a known key; did you mean noColor?",
            "gslb.yaml:4:16: clusterGeoTag must be a text, this is the number 5; write it in quotes: \"5\"",
            "gslb.yaml:5:19: peerGeoTags[1] must be a text, this is the number 7; write it in quotes: \"7\"",
            "gslb.yaml:6:39: infoblox.wapiVersion must be a version, this is a list; write for example \"2.12\"",
            "gslb.yaml:5:22: peerGeoTags[2] is \"e u\": a geo tag has 1 to 63 letters, digits and inner dashes; list tags such as eu,us",
            "EDGE_DNS_SERVERS (edgeDnsServers in the file) is not set: at least one resolver is needed to find the peers; list resolvers as host, host:port or an IPv4 address, for example 192.0.2.53,dns.example.com:1053",
            "EXTDNS_ENABLED is \"maybe\": it is neither true nor false; write true or false",
            "INFOBLOX_WAPI_USERNAME is not set: Infoblox is selected by infoblox.gridHost and needs an account; set it, or better INFOBLOX_WAPI_USERNAME_FILE (infoblox.usernameFile in the file) to a mounted file",
            "INFOBLOX_WAPI_PASSWORD is not set: Infoblox is selected by infoblox.gridHost and needs an account; set it, or better INFOBLOX_WAPI_PASSWORD_FILE (infoblox.passwordFile in the file) to a mounted file",
            "gslb.yaml:3:14: log.level is \"loud\": it must be error, warn, info, debug or trace; write for example info",
            "LOG_FORMAT is \"xml\": it must be simple or json; write for example simple",
        ]
    );
}

#[test]
fn a_file_that_is_none_of_ours_is_told_once() {
    let only = "this version reads gslb-bridge.io/v1alpha1 only, and checked nothing else of the file; write apiVersion: gslb-bridge.io/v1alpha1";
    let cases = [
        ("apiVersion: gslb-bridge.io/v2\nkind: Configuration\nshiny: true".to_owned(), format!(":1:13: apiVersion is \"gslb-bridge.io/v2\": {only}")),
        ("apiVersion: 1\nkind: Configuration".to_owned(), format!(":1:13: apiVersion is \"1\": {only}")),
        (
            "apiVersion: gslb-bridge.io/v1alpha1\nkind: ZoneDelegation\nspec: {}".to_owned(),
            ":2:7: kind is \"ZoneDelegation\": this version reads Configuration only, and checked nothing else of the file; write kind: Configuration".to_owned(),
        ),
        ("- a".to_owned(), ":1:1 holds no keys with values; begin it with apiVersion: gslb-bridge.io/v1alpha1 and kind: Configuration".to_owned()),
        ("hello".to_owned(), ":1:1 holds no keys with values; begin it with apiVersion: gslb-bridge.io/v1alpha1 and kind: Configuration".to_owned()),
        (format!("{HEADER}a: [1"), ":3:4 is no YAML that is taken: unclosed bracket '['; correct it; nothing else of the file was checked".to_owned()),
        (format!("{HEADER}a: &x [1]\nb: *x"), ":3:7 is no YAML that is taken: anchors and aliases are not taken; correct it; nothing else of the file was checked".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(of_text(&text), [format!("gslb.yaml{expected}")], "{text}");
    }
}

#[test]
fn a_file_without_header_is_read_all_the_same_so_that_everything_is_told() {
    assert_eq!(
        of_text("clusterGeoTag: eu\nedgeDnsServers: []\ncolour: red"),
        [
            "gslb.yaml: apiVersion is not set: it says how the file is to be read; write apiVersion: gslb-bridge.io/v1alpha1",
            "gslb.yaml: kind is not set: it says how the file is to be read; write kind: Configuration",
            "gslb.yaml:3:1: colour is not a known key; known here: apiVersion, kind, clusterGeoTag, peerGeoTags, zones, edgeDnsServers, periods, nameServerTtlSeconds, podNamespace, glue, clusterExposedIPs, externalDns, metricsAddress, nameServerPrefix, infoblox, log, dnsSourceAddress, namespacePolicy, dnsServer, webhookProvider, webhook, changeLog, podName, providers",
            "gslb.yaml:2:17: edgeDnsServers is not set: at least one resolver is needed to find the peers; list resolvers as host, host:port or an IPv4 address, for example 192.0.2.53,dns.example.com:1053",
        ]
    );
    let nothing = of_text("");
    assert!(
        nothing[0].contains("apiVersion is not set") && nothing[1].contains("kind is not set"),
        "{nothing:?}"
    );
}

#[test]
fn a_variable_wins_over_the_file_and_one_that_differs_is_told_once() {
    let keys = "log: {level: debug}\npeerGeoTags: [eu, us]\nperiods: {gslbSeconds: 20}";
    let raw = with(
        &[
            ("LOG_LEVEL", "warn"),
            ("EXT_GSLB_CLUSTERS_GEO_TAGS", " eu,us"),
            ("RECONCILE_REQUEUE_SECONDS", "+20"),
        ],
        keys,
    );
    let settings = Settings::resolve(&raw).unwrap();
    assert_eq!(settings.log.level, LogLevel::Warn);
    let warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["LOG_LEVEL is used, which says something else than gslb.yaml:5:14: log.level"]);
    assert_eq!(raw.warnings(Readers::Dns).len(), 1, "the DNS server logs, too");
    // A wrong variable is not saved by the file, nor the other way round.
    assert!(told(&with(&[("LOG_LEVEL", "loud")], keys))[0].starts_with("LOG_LEVEL is \"loud\""));
    assert!(
        told(&with(&[("LOG_LEVEL", "warn")], "log: {level: 5}"))[0]
            .starts_with("gslb.yaml:5:14: log.level must")
    );
}

#[test]
fn a_mounted_file_wins_over_a_value_wherever_each_is_written() {
    let raw = with(
        &[("INFOBLOX_WAPI_PASSWORD", "hunter2")],
        "infoblox: {gridHost: gm, usernameFile: /u, passwordFile: /p}",
    );
    let settings = Settings::resolve(&raw).unwrap();
    let warnings: Vec<_> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "INFOBLOX_WAPI_PASSWORD is not used: gslb.yaml:5:58: infoblox.passwordFile names a mounted file, which wins over a value"
        ]
    );
}

#[test]
fn a_file_with_more_problems_than_anybody_reads_is_cut_short() {
    let keys: String = (0..5000).map(|index| format!("key{index}: 1\n")).collect();
    let problems = refused(&keys);
    assert_eq!(problems.len(), 101);
    assert!(problems.iter().any(|problem| problem == "gslb.yaml has more problems than are listed here; correct these first"), "{problems:?}");
}

#[test]
fn every_key_is_taken_in_its_own_section_once() {
    let mut keys: Vec<_> = VARIABLES.iter().filter_map(|known| known.key).collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count);
    for key in &keys {
        assert!(key.matches('.').count() <= 1, "{key}: sections are not nested");
        assert!(
            !keys.contains(&key.split('.').next().unwrap()) || !key.contains('.'),
            "{key} lies in a value"
        );
    }
    assert!(VARIABLES.iter().all(|known| known.key.is_some() || known.form == Form::Text));
}

proptest! {
    /// Pieces of the grammar in any order, so that most texts come further than the parser.
    #[test]
    fn any_text_is_taken_or_told_each_problem_on_a_line_of_its_own(
        pieces in prop::collection::vec("[\\PC\n]{0,3}|infoblox|log|zones|zone|level|: |\n|\n  |\n- |[{}\\[\\],&*!#|>'\"%@?~-]|5|true", 0..60),
        headed in any::<bool>(),
    ) {
        let text = format!("{}{}", if headed { HEADER } else { "" }, pieces.concat());
        let raw = environment(&[]).and_text("gslb.yaml", &text);
        let problems = Settings::resolve(&raw).unwrap_err();
        prop_assert_eq!(problems.to_string().lines().count(), problems.0.len() + 1, "{}", problems);
        prop_assert!(DnsSettings::resolve(&raw).is_ok() || problems.0.iter().any(|p| p.to_string().starts_with("gslb.yaml")));
    }
}
