//! Listed providers, and the places at which zones are published.

use gslb_core::name::DomainName;

use super::*;
use crate::config::{ProviderChoice, RawConfig, Readers, SecretSource, Settings};

const HEAD: &str = "apiVersion: gslb-bridge.io/v1alpha1\nkind: Configuration\nclusterGeoTag: eu\nedgeDnsServers: [192.0.2.53]\n";
const GRIDS: &str = "providers:
- {name: core, type: infoblox, gridHost: gm.core.example, usernameFile: /core/user, passwordFile: /core/password}
- {name: dmz, type: infoblox, gridHost: gm.dmz.example, dnsView: outside, usernameFile: /dmz/user, passwordFile: /dmz/password, restartPolicy: if-needed}
";

fn raw(pairs: &[(&str, &str)], keys: &str) -> RawConfig {
    let found =
        |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    RawConfig::read(found).and_text("gslb.yaml", &format!("{HEAD}{keys}"))
}

fn settings(keys: &str) -> Settings {
    Settings::resolve(&raw(&[], keys)).unwrap_or_else(|problems| panic!("{keys}: {problems}"))
}

/// The sentences, without the name of the file.
fn told(pairs: &[(&str, &str)], keys: &str) -> Vec<String> {
    let problems = Settings::resolve(&raw(pairs, keys)).unwrap_err().0;
    problems.iter().map(|problem| problem.to_string().replacen("gslb.yaml:", "", 1)).collect()
}

/// One zone with these places.
fn zone(places: &str) -> String {
    format!(
        "zones:\n- {{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, publish: {places}}}\n"
    )
}

fn places(settings: &Settings, zone: &str) -> Vec<String> {
    let publications = settings.publications.of(&DomainName::parse(zone).unwrap());
    let shown = |publication: &Publication| {
        let view = publication.view.as_ref();
        let view = view.map_or("plain".to_owned(), |view| format!("{}/{}", view.provider, view.view));
        let addresses: Vec<_> = publication.ns_addresses.iter().map(ToString::to_string).collect();
        let sight = match &publication.sight {
            Sight::Cluster => "cluster".to_owned(),
            Sight::Nobody => "nobody".to_owned(),
            Sight::Through(resolvers) => {
                resolvers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
            }
        };
        format!("{view} [{}] {sight}", addresses.join(","))
    };
    publications.iter().map(shown).collect()
}

#[test]
fn a_zone_names_its_places_and_each_may_have_addresses_and_resolvers_of_its_own() {
    let zone = zone(
        "[{provider: core, view: internal}, {provider: dmz, nsAddresses: [198.51.100.53], edgeDnsServers: []}, {provider: core, view: external, edgeDnsServers: [203.0.113.53, \"dns.example.net:1053\"]}]",
    );
    let settings = settings(&format!("{GRIDS}{zone}"));
    assert_eq!(
        places(&settings, "cloud.example.com"),
        [
            "core/internal [] cluster",
            "dmz/outside [198.51.100.53] nobody",
            "core/external [] 203.0.113.53:53,dns.example.net:1053"
        ]
    );
    assert_eq!(settings.publications.views().len(), 3);
    assert!(settings.finds_peers() && settings.warnings.is_empty(), "{:?}", settings.warnings);
    assert_eq!(places(&settings, "other.example.com"), [""; 0], "of several, none is meant");
}

fn records_zone(more: &str) -> String {
    format!(
        "peerGeoTags: [eu, us]\nzones:\n- {{zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30, mode: records{more}}}\n"
    )
}

#[test]
fn records_are_kept_at_the_one_provider_that_is_listed_in_its_own_view() {
    let one = GRIDS.lines().filter(|line| !line.contains("core")).collect::<Vec<_>>().join("\n");
    let settings = settings(&format!("{one}\n{}", records_zone("")));
    assert_eq!(settings.records_zones.len(), 1);
    assert_eq!(places(&settings, "cloud.example.com"), ["dmz/outside [] cluster"]);
}

#[test]
fn a_zone_in_records_mode_lists_no_places_and_is_refused_where_it_is_not_clear_who_keeps_it() {
    assert_eq!(
        told(&[], &format!("{GRIDS}{}", records_zone(", publish: [{provider: core}]"))),
        [
            "10:3: zones[0] is \"records\": records are kept at one provider, in the view that it is set up with, so such a zone has no publish; remove publish, or write mode: delegation"
        ]
    );
    assert_eq!(
        told(&[], &format!("{GRIDS}{}", records_zone(""))),
        [
            "10:3: zones[0] is \"records\": records are kept at one provider, and there are several (core, dmz); list one provider, or write mode: delegation and name the places of the zone below publish"
        ]
    );
}

#[test]
fn without_a_list_everything_is_as_it_always_was() {
    for keys in ["", "externalDns: {enabled: true}\n"] {
        assert_eq!(places(&settings(keys), "cloud.example.com"), ["plain [] cluster"]);
    }
    let grid =
        "infoblox: {gridHost: gm.example.com, dnsView: internal, usernameFile: /u, passwordFile: /p}\n";
    assert_eq!(places(&settings(grid), "cloud.example.com"), ["plain [] cluster"]);
    // The one grid is called by its kind, and needs no naming.
    let zone = zone(
        "[{}, {view: external, edgeDnsServers: []}, {provider: infoblox, view: dmz, edgeDnsServers: []}]",
    );
    let settings = settings(&format!("{grid}{zone}"));
    let listed = ["infoblox/internal [] cluster", "infoblox/external [] nobody", "infoblox/dmz [] nobody"];
    assert_eq!(places(&settings, "cloud.example.com"), listed);
    assert_eq!(places(&settings, "other.example.com"), ["plain [] cluster"]);
}

#[test]
fn the_only_listed_provider_needs_no_naming() {
    let one = "providers: [{name: core, type: infoblox, gridHost: gm, dnsView: inner, usernameFile: /u, passwordFile: /p}]\n";
    assert_eq!(places(&settings(one), "cloud.example.com"), ["core/inner [] cluster"]);
}

#[test]
fn each_listed_provider_has_settings_of_its_own() {
    let settings =
        settings(&format!("{GRIDS}{}", zone("[{provider: core}, {provider: dmz, edgeDnsServers: []}]")));
    let ProviderChoice::Listed(grids) = &settings.provider else { panic!("{:?}", settings.provider) };
    let path = |source: &SecretSource| match source {
        SecretSource::File(path) => path.display().to_string(),
        SecretSource::Value(_) => panic!("no value can stand in a file"),
    };
    let shown = |(name, grid): (&String, &crate::config::InfobloxSettings)| {
        format!("{name} {} {} {} {:?}", grid.host, grid.view, path(&grid.password), grid.restart_policy)
    };
    assert_eq!(
        grids.iter().map(shown).collect::<Vec<_>>(),
        [
            "core gm.core.example default /core/password Never",
            "dmz gm.dmz.example outside /dmz/password IfNeeded"
        ]
    );
    assert_eq!(settings.provider.name(), "infoblox");
}

#[test]
fn a_listed_provider_takes_nothing_from_the_variables_of_the_plain_one() {
    let pairs = [
        ("INFOBLOX_WAPI_USERNAME", "gslb"),
        ("INFOBLOX_WAPI_PASSWORD", "hunter2"),
        ("INFOBLOX_DNS_VIEW", "x"),
    ];
    let one = "providers: [{name: core, type: infoblox, gridHost: gm}]\n";
    assert_eq!(
        told(&pairs, one),
        [
            "5:13: providers[0].usernameFile is not set: a provider of type infoblox needs an account, whose name and password are in mounted files; name the file",
            "5:13: providers[0].passwordFile is not set: a provider of type infoblox needs an account, whose name and password are in mounted files; name the file",
        ]
    );
}

#[test]
fn everything_that_is_wrong_with_providers_is_told_at_once() {
    let keys = "providers:
- {name: Core, type: infoblox, gridHost: gm, usernameFile: /u, passwordFile: /p, wapiPort: 0}
- {name: dmz, type: bind, gridhost: gm, usernameFile: /u, passwordFile: /p}
- {name: dmz, type: infoblox, gridHost: gm, usernameFile: /u, passwordFile: /p, clientKeyFile: /k}
- gm.example.com
- {type: infoblox, gridHost: gm, usernameFile: /u, passwordFile: /p}
";
    assert_eq!(
        told(&[], keys),
        [
            "6:10: providers[0].name is \"Core\": a name has 1 to 63 small letters, digits and dashes, no dash at its ends; write for example dmz",
            "7:21: providers[1].type is \"bind\", which is no type of a listed provider; write infoblox",
            "7:27: providers[1].gridhost is not a known key; did you mean gridHost?",
            "8:10: providers[2].name is \"dmz\": another provider has this name already; give each its own, zones and the change log tell them apart by it",
            "9:3: providers[3] must be a mapping; write for example {name: dmz, type: infoblox, gridHost: gm.example.com}",
            "10:3: providers[4] has no name; write for example name: dmz",
            "7:3: providers[1].gridHost is not set: a provider of type infoblox is a grid; write the Grid Master's name or address",
            "6:92: providers[0].wapiPort is \"0\": it must be a whole number from 1 to 65535; write for example 443",
            "8:3: providers[2].clientCertificateFile is not set: a client certificate and its key are only of use together; set both or neither",
        ]
    );
}

#[test]
fn the_ways_to_select_a_provider_exclude_each_other() {
    let one = "providers: [{name: core, type: infoblox, gridHost: gm, usernameFile: /u, passwordFile: /p}]\n";
    let cases = [
        (
            vec![("INFOBLOX_GRID_HOST", "gm")],
            "",
            "INFOBLOX_GRID_HOST is set beside providers, which lists the grids already; make it an element of providers, or remove it",
        ),
        (
            vec![],
            "infoblox: {dnsView: x}\n",
            "6:21: infoblox is set beside providers, which lists the grids already; make it an element of providers, or remove it",
        ),
        (
            vec![("EXTDNS_ENABLED", "true")],
            "",
            "EXTDNS_ENABLED is \"true\": providers lists the providers already; set EXTDNS_ENABLED to false, or remove providers",
        ),
    ];
    for (pairs, keys, expected) in cases {
        assert_eq!(told(&pairs, &format!("{one}{keys}")), [expected]);
    }
    for (keys, expected) in [
        ("providers: []\n", "5:12: providers lists none; list one, or remove the key"),
        (
            "providers: {name: core}\n",
            "5:12: providers must be a list; write each provider behind a dash, or remove the key",
        ),
    ] {
        assert_eq!(told(&[], keys), [expected]);
    }
}

#[test]
fn a_view_of_one_grid_is_no_second_place_under_another_name() {
    let grids = |dmz: &str| GRIDS.replace("gm.dmz.example", dmz);
    let zone = zone("[{provider: core, view: a}, {provider: dmz, view: a, edgeDnsServers: []}]");
    for same in ["gm.core.example", "\"gm2.core.example, GM.core.example\""] {
        assert_eq!(
            told(&[], &format!("{}{zone}", grids(same))),
            [
                "9:137: zones[0].publish[1].view is view a of core once more, as dmz has a host of the same grid; list each view of a grid once"
            ]
        );
    }
    settings(&format!("{}{zone}", grids("gm2.core.example")));
    settings(&format!("{}{}", grids("gm.core.example"), zone.replace("dmz, view: a", "dmz, view: b")));
}

#[test]
fn everything_that_is_wrong_with_places_is_told_at_once() {
    let zone = zone(
        "[{provider: cor, view: a}, {view: b}, {provider: dmz, veiw: x}, {provider: core, view: \"\"}, {provider: core, view: c, nsAddresses: [2001:db8::1, 192.0.2.1, 192.0.2.1]}, {provider: core, nsAddresses: []}, {provider: core, view: d, edgeDnsServers: [\"\"]}, {provider: core}, {provider: core, view: default, edgeDnsServers: []}, {provider: core, view: e}]",
    );
    let unseen = "has no edgeDnsServers, and the resolvers of this cluster can see only one place of a zone, which is an earlier one; name resolvers that see this view, or write edgeDnsServers: [] if there are none";
    assert_eq!(
        told(&[], &format!("{GRIDS}{zone}")),
        [
            "9:99: zones[0].publish[0].provider is \"cor\": no provider has this name; did you mean core?",
            "9:114: zones[0].publish[1] names no provider, and there are several; add provider: one of core, dmz",
            "9:141: zones[0].publish[2].veiw is not a known key; did you mean view?",
            "9:174: zones[0].publish[3].view is \"\": a view has a name; write its name, or remove the key for the provider's dnsView",
            "9:219: zones[0].publish[4].nsAddresses[0] is \"2001:db8::1\": it is no IPv4 address; correct nsAddresses",
            "9:243: zones[0].publish[4].nsAddresses[2] is \"192.0.2.1\": it is listed twice; correct nsAddresses",
            "9:256: zones[0].publish[5] has no address in nsAddresses; list some, or remove the key for those of the cluster",
            "9:334: zones[0].publish[6].edgeDnsServers[0] is \"\": the host is empty; correct edgeDnsServers",
            &format!("9:340: zones[0].publish[7] {unseen}"),
            "9:381: zones[0].publish[8].view is view default of core once more; list each view of a provider once",
            &format!("9:411: zones[0].publish[9] {unseen}"),
        ]
    );
}

#[test]
fn places_need_a_grid_and_with_several_each_zone_needs_places() {
    let idle = "has no effect";
    let fix = "remove it, or select a grid with infoblox or providers";
    assert_eq!(
        told(&[], &zone("[{view: x}]")),
        [format!("6:3: zones[0].publish {idle}, because no provider is selected; {fix}")]
    );
    assert_eq!(
        told(&[], &format!("externalDns: {{enabled: true}}\n{}", zone("[{view: x}]"))),
        [format!(
            "7:3: zones[0].publish {idle} with external-dns, which has one object for each zone and knows no views; {fix}"
        )]
    );
    assert_eq!(
        told(&[("WEBHOOK_PROVIDER_URL", "http://localhost:8888")], &zone("[{view: x}]")),
        [format!("6:3: zones[0].publish {idle} with a webhook, which knows no views; {fix}")]
    );
    assert_eq!(
        told(&[], &format!("{GRIDS}{}", zone("[]"))),
        ["9:87: zones[0].publish lists no place; list at least one place, or remove the key"]
    );
    let nowhere = "it is published nowhere, because there are several providers (core, dmz)";
    let bare = "zones:\n- {zone: cloud.example.com, parentZone: example.com, negativeTtlSeconds: 30}\n";
    assert_eq!(
        told(&[], &format!("{GRIDS}{bare}")),
        [format!("9:3: zones[0] is \"cloud.example.com\": {nowhere}; name its places below publish")]
    );
    assert_eq!(
        told(&[("DNS_ZONES", "example.com:cloud.example.com:30")], GRIDS),
        [format!(
            "DNS_ZONES is \"cloud.example.com\": {nowhere}; list the zone in the file instead, with its places below publish"
        )]
    );
}

#[test]
fn a_provider_that_no_zone_names_is_told() {
    let settings = settings(&format!("{GRIDS}{}", zone("[{provider: core}]")));
    let told: Vec<String> = settings.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["gslb.yaml:7:3: providers[1] is not used: no zone names dmz as its provider"]);
}

#[test]
fn a_printed_page_says_the_same_of_providers_and_places() {
    let zone = zone(
        "[{provider: core, view: internal, nsAddresses: [192.0.2.1]}, {provider: dmz, edgeDnsServers: []}, {provider: core, edgeDnsServers: [192.0.2.9]}]",
    );
    let first = raw(&[("SSL_CERT_FILE", "/all.pem")], &format!("{GRIDS}{zone}"));
    let page = first.print(Readers::Run);
    assert!(page.contains("  - name: \"dmz\" # file, line 7\n    type: \"infoblox\"\n"), "{page}");
    assert!(page.contains("    dnsView: \"outside\" # file, line 7\n"), "{page}");
    assert!(page.contains("    caFile: \"/all.pem\" # SSL_CERT_FILE\n"), "{page}");
    let again = RawConfig::default().and_text("printed", &page);
    let bare = |raw: &RawConfig| {
        let settings = Settings::resolve(raw).unwrap_or_else(|problems| panic!("{problems}\n{page}"));
        format!("{:?}", Settings { warnings: Vec::new(), ..settings })
    };
    assert_eq!(bare(&again), bare(&first));
    assert!(!first.print(Readers::Dns).contains("providers"));
}
