//! The optional admission policies: in step with the file, and of one mind with the daemon's parsers.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

mod policy;

use std::fs;
use std::path::Path;

use gslb_core::annotated::RawAnnotations;
use gslb_core::exposure::RawExposure;
use gslb_core::name::DomainName;
use gslb_crds::admission;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::policy::Policy;

/// Set to rewrite the file instead of comparing it.
const REWRITE: &str = "GSLB_CRDS_REWRITE";

const ADDRESSES: &str = "k8gb-exposed-ip-annotation";
const HOST_NAMES: &str = "k8gb-exposed-hostnames-annotation";
const HOST_NAME: &str = "gslb-bridge-hostname-annotation";
const INGRESS: &str = "gslb-bridge-ingress-annotations";

#[test]
fn the_file_beside_the_definitions_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("admission/policies.yaml");
    let text = admission::yaml();
    if std::env::var_os(REWRITE).is_some() {
        fs::write(&path, &text).unwrap();
    }
    let file = fs::read_to_string(&path).unwrap_or_default();
    assert!(file == text, "{} is out of date: run the test with {REWRITE}=1", path.display());
}

fn object(annotations: &Value) -> Value {
    json!({
        "metadata": { "name": "shop", "namespace": "web", "annotations": annotations },
        "spec": { "resourceRef": { "kind": "Service", "name": "shop" } },
    })
}

fn listed(list: &str) -> Value {
    json!({ "k8gb.io/exposed-ip-addresses": list })
}

fn named(list: &str) -> Value {
    json!({ "k8gb.io/exposed-hostnames": list })
}

/// Whether the daemon takes the list.
fn accepted(host_names: Option<&str>, addresses: Option<&str>) -> bool {
    RawExposure { host_names, addresses, configured: None }.accept().is_ok()
}

const LISTS: [&str; 58] = [
    "192.0.2.1",
    "192.0.2.1,192.0.2.2",
    " 192.0.2.1 ,\t192.0.2.2",
    "192.0.2.1,",
    ",192.0.2.1",
    "192.0.2.1,192.0.2.1",
    "127.0.0.1",
    "10.0.0.0",
    "240.0.0.1",
    "255.255.255.254",
    "0.0.0.1",
    "223.255.255.255",
    "2001:db8::1,192.0.2.1",
    "192.0.2.1,::",
    "::ffff:192.0.2.1",
    "::FFFF:c000:201",
    "0:0:0:0:0:ffff:192.0.2.1",
    "0:0::ffff:192.0.2.1",
    "::0:ffff:192.0.2.1",
    "0::0:0:0:ffff:192.0.2.1",
    "0:0:0:0::ffff:c000:201",
    "0:0:0:0:0:ffff:c000::",
    "0:0:0:0:0:ffff::1",
    "1:2:3:4:5:6:7:8,192.0.2.1",
    "1:2:3:4:5:6:192.0.2.9,192.0.2.1",
    "1:2:3:4:5:6:7::,192.0.2.1",
    "::2:3:4:5:6:7:8,192.0.2.1",
    "1::192.0.2.9,192.0.2.1",
    // From here on, none is taken.
    "",
    " ",
    ",",
    " , ",
    "2001:db8::1",
    "::",
    "0.0.0.0",
    "224.0.0.1",
    "239.1.2.3",
    "255.255.255.255",
    "::ffff:0.0.0.0",
    "::ffff:e000:1",
    "::ffff:255.255.255.255",
    "0:0:0:0:0:ffff::",
    "0:0:0:0:0:ffff:e100::",
    "256.0.0.1",
    "192.0.2",
    "192.0.2.01",
    "192.0.2.1.",
    "192.0.2.1 192.0.2.2",
    "192.0.2.1;192.0.2.2",
    "192.0.2.0/24",
    "name.example.com",
    "192.0.2.1,0.0.0.0",
    ":::,192.0.2.1",
    "1:2:3:4:5:6:7:8::,192.0.2.1",
    "1:2:3:4:5:6:7:8:9,192.0.2.1",
    "1::2::3,192.0.2.1",
    "12345::,192.0.2.1",
    "fe80::1%eth0,192.0.2.1",
];

/// F-66: one grammar.
#[test]
fn the_policy_for_addresses_is_of_one_mind_with_the_daemon() {
    let policy = Policy::named(ADDRESSES);
    for (index, list) in LISTS.into_iter().enumerate() {
        assert_eq!(accepted(None, Some(list)), index < 28, "{list:?}");
        assert_eq!(policy.takes(&listed(list)), index < 28, "{list:?}");
    }
}

/// F-66: one grammar.
#[test]
fn the_policy_for_host_names_is_of_one_mind_with_the_daemon() {
    let policy = Policy::named(HOST_NAMES);
    let (label, name) = ("a".repeat(63), format!("{}com", "a.".repeat(125)));
    let good = [
        "lb.example.net",
        "LB.example.net.",
        " a.example.net , b.example.net,",
        "a_b.example.net",
        "localhost",
        "*.example.net",
        "192.0.2.1.",
        "1.2.3",
        "a--b",
        label.as_str(),
        name.as_str(),
        &format!("{name}."),
    ];
    let bad = [
        "",
        ",",
        ".",
        "192.0.2.1",
        "a b",
        "a..b",
        ".a",
        "-a.example.net",
        "a-.example.net",
        "a.*.example.net",
        "**",
        "ü.example.net",
        "2001:db8::1",
        "a/b",
        "a.example.net,192.0.2.1",
        &format!("a{label}"),
        &format!("a{name}"),
    ];
    for list in good {
        assert!(accepted(Some(list), None) && policy.takes(&named(list)), "{list:?}");
    }
    for list in bad {
        assert!(!accepted(Some(list), None) && !policy.takes(&named(list)), "{list:?}");
    }
}

/// F-66.
#[test]
fn what_is_refused_is_quoted_with_what_to_do() {
    let told = |policy: &str, annotations: Value| Policy::named(policy).refuses(&object(&annotations), None);
    for (policy, annotations, sentence) in [
        (
            ADDRESSES,
            listed("192.0.2.1, 300.1.1.1"),
            "annotation k8gb.io/exposed-ip-addresses has \"300.1.1.1\": this is no IP address that clients can be sent to; list IPv4 addresses, separated by commas",
        ),
        (
            ADDRESSES,
            listed(","),
            "annotation k8gb.io/exposed-ip-addresses is empty; list IPv4 addresses in it, or remove it",
        ),
        (
            ADDRESSES,
            listed("2001:db8::1"),
            "annotation k8gb.io/exposed-ip-addresses lists no IPv4 address, and others are not answered; add one",
        ),
        (
            HOST_NAMES,
            named("a b"),
            "annotation k8gb.io/exposed-hostnames has \"a b\": this is no host name; list host names, separated by commas, and addresses in k8gb.io/exposed-ip-addresses",
        ),
        (
            HOST_NAME,
            json!({ "k8gb.io/hostname": "app..example.com" }),
            "annotation k8gb.io/hostname \"app..example.com\" is no host name; write one, for example app.cloud.example.com",
        ),
        (
            INGRESS,
            json!({ "k8gb.io/strategy": "round-robin" }),
            "k8gb.io/strategy \"round-robin\" is unknown; write roundRobin, failover or geoip",
        ),
        (
            INGRESS,
            json!({ "k8gb.io/strategy": "failover" }),
            "k8gb.io/strategy failover needs a primary; name it in k8gb.io/primary-geotag",
        ),
        (
            INGRESS,
            json!({ "k8gb.io/strategy": "geoip", "k8gb.io/dns-ttl-seconds": "5s" }),
            "k8gb.io/dns-ttl-seconds \"5s\" is no time to live; write a number from 0 to 2147483647 (0 means 30)",
        ),
    ] {
        assert_eq!(told(policy, annotations).as_deref(), Some(sentence));
    }
}

/// C075.
#[test]
fn an_annotation_is_judged_under_its_old_prefix_too_and_the_new_one_wins() {
    let policy = Policy::named(ADDRESSES);
    let [new, old] = ["k8gb.io/exposed-ip-addresses", "k8gb.absa.oss/exposed-ip-addresses"];
    assert!(!policy.takes(&json!({ old: "name" })));
    assert!(policy.takes(&json!({ old: "name", new: "192.0.2.1" })));
    assert!(!policy.takes(&json!({ old: "192.0.2.1", new: "name" })));
}

/// Conformance 31.
#[test]
fn addresses_are_not_judged_while_host_names_win_over_them() {
    let policy = Policy::named(ADDRESSES);
    let both =
        json!({ "k8gb.io/exposed-ip-addresses": "name", "k8gb.io/exposed-hostnames": "lb.example.net" });
    assert!(accepted(Some("lb.example.net"), Some("name")) && policy.takes(&both));
    let alone = object(&listed("name"));
    assert!(policy.refuses(&alone, Some(&object(&both))).is_some());
}

#[test]
fn objects_without_our_annotations_are_nobodys_business() {
    for name in [ADDRESSES, HOST_NAMES, HOST_NAME, INGRESS] {
        let policy = Policy::named(name);
        assert_eq!(policy.refuses(&json!({ "metadata": { "name": "shop" } }), None), None, "{name}");
        assert!(policy.takes(&json!({ "owner": "web" })), "{name}");
    }
    assert!(Policy::named(INGRESS).takes(&json!({ "k8gb.io/dns-ttl-seconds": "never" })));
}

#[test]
fn what_was_wrong_before_may_be_edited_elsewhere_and_not_made_wrong_in_another_way() {
    for (name, bad, worse) in [
        (ADDRESSES, listed("name"), listed("names")),
        (HOST_NAMES, named("a b"), named("a c")),
        (HOST_NAME, json!({ "k8gb.io/hostname": "a b" }), json!({ "k8gb.io/hostname": "a c" })),
        (INGRESS, json!({ "k8gb.io/strategy": "a" }), json!({ "k8gb.io/strategy": "b" })),
    ] {
        let policy = Policy::named(name);
        let old = object(&bad);
        let mut edited = old.clone();
        edited["metadata"]["finalizers"] = json!([]);
        edited["metadata"]["annotations"]["owner"] = json!("web");
        assert_eq!(policy.refuses(&edited, Some(&old)), None, "{name}");
        assert!(policy.refuses(&object(&worse), Some(&old)).is_some(), "{name}");
        assert!(policy.refuses(&old, Some(&json!({ "metadata": { "name": "shop" } }))).is_some(), "{name}");
    }
}

#[test]
fn the_host_name_counts_for_kinds_that_name_none() {
    let policy = Policy::named(HOST_NAME);
    let mut gslb = object(&json!({ "k8gb.io/hostname": "a b" }));
    for (kind, refused) in
        [("Service", true), ("TCPRoute", true), ("UDPRoute", true), ("Ingress", false), ("HTTPRoute", false)]
    {
        gslb["spec"]["resourceRef"]["kind"] = json!(kind);
        assert_eq!(policy.refuses(&gslb, None).is_some(), refused, "{kind}");
    }
    gslb["spec"] = json!({ "ingress": {} });
    assert_eq!(policy.refuses(&gslb, None), None);
}

#[test]
fn an_ingress_that_a_gslb_made_is_not_judged() {
    let policy = Policy::named(INGRESS);
    let mut ingress = object(&json!({ "k8gb.io/strategy": "round-robin" }));
    ingress["metadata"]["ownerReferences"] = json!([{ "kind": "Gslb", "name": "shop" }]);
    assert_eq!(policy.refuses(&ingress, None), None);
}

/// What the daemon would take from an Ingress, for the Gslb as well as in it.
fn ingress_accepted(strategy: &str, primary: Option<&str>, ttl: Option<&str>, exposed: Option<&str>) -> bool {
    let annotations = RawAnnotations {
        strategy: Some(strategy.to_owned()),
        primary_geo_tag: primary.map(str::to_owned),
        dns_ttl_seconds: ttl.map(str::to_owned),
        exposed_ip_addresses: None,
    };
    annotations.accept().is_ok() && accepted(None, exposed)
}

fn ingress(strategy: &str, primary: Option<&str>, ttl: Option<&str>, exposed: Option<&str>) -> Value {
    let mut annotations = json!({ "k8gb.io/strategy": strategy });
    let optional = [
        ("k8gb.io/primary-geotag", primary),
        ("k8gb.io/dns-ttl-seconds", ttl),
        ("k8gb.io/exposed-ip-addresses", exposed),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            annotations[key] = json!(value);
        }
    }
    annotations
}

/// Conformance 11, 12, 14.
#[test]
fn the_policy_for_ingresses_is_of_one_mind_with_the_daemon() {
    let policy = Policy::named(INGRESS);
    let long = "a".repeat(64);
    for strategy in ["roundRobin", "failover", "geoip", "Failover", ""] {
        for primary in
            [None, Some(""), Some("eu"), Some("e u"), Some("-eu"), Some(&long[1..]), Some(long.as_str())]
        {
            let taken = policy.takes(&ingress(strategy, primary, None, None));
            assert_eq!(taken, ingress_accepted(strategy, primary, None, None), "{strategy:?} {primary:?}");
        }
    }
    for ttl in [
        "0",
        "5",
        "+5",
        "-0",
        "007",
        "2147483647",
        "2147483648",
        "9999999999",
        "99999999999",
        "-1",
        "",
        "5s",
        " 5",
        "+",
        "00000000000000000005",
    ] {
        let taken = policy.takes(&ingress("geoip", None, Some(ttl), None));
        assert_eq!(taken, ingress_accepted("geoip", None, Some(ttl), None), "{ttl:?}");
    }
    for list in LISTS {
        let taken = policy.takes(&ingress("geoip", None, None, Some(list)));
        assert_eq!(taken, ingress_accepted("geoip", None, None, Some(list)), "{list:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// F-66: one grammar.
    #[test]
    fn no_list_of_addresses_divides_the_policy_and_the_daemon(
        list in "([ ,]?((25[0-6]|2[23][0-9]|0|[0-9]{1,3})[.]){3}(255|0|[0-9]{1,3})[ ,]?|[0-9a-fA-F:., ]{0,12}|((0|::|ffff|e0|[0-9a-f]{0,4}):){0,7}(e123|ffff|0|[0-9a-f]{0,4}|192.0.2.1|224.0.0.1|255.255.255.255)?(,192.0.2.7)?)",
    ) {
        thread_local! { static POLICY: Policy = Policy::named(ADDRESSES); }
        prop_assert_eq!(POLICY.with(|policy| policy.takes(&listed(&list))), accepted(None, Some(&list)));
    }

    /// As above, for the many ways to write an IPv4 address in the form of IPv6.
    #[test]
    fn no_mapped_address_divides_them_either(
        list in "((0|00|0000):){0,5}(:|::)?((0|000):){0,4}(ffff|FFFF|fff)::?(192.0.2.1|0.0.0.0|239.0.0.1|([0-9a-f]{1,4}|0|ffff|e[0-9a-f]{2,3})?::?([0-9a-f]{1,4}|0|ffff)?)",
    ) {
        thread_local! { static POLICY: Policy = Policy::named(ADDRESSES); }
        prop_assert_eq!(POLICY.with(|policy| policy.takes(&listed(&list))), accepted(None, Some(&list)));
    }

    /// F-66: one grammar.
    #[test]
    fn no_host_name_divides_the_policies_and_the_daemon(list in "([a-zA-Z0-9_*ü. -]{0,6}[,.]?){0,4}|([a-c-]{60,66}[.]?){0,5}") {
        thread_local! { static POLICIES: [Policy; 2] = [HOST_NAMES, HOST_NAME].map(Policy::named); }
        let [lists, one] = POLICIES.with(|[lists, one]| {
            [lists.takes(&named(&list)), one.takes(&json!({ "k8gb.io/hostname": list }))]
        });
        prop_assert_eq!(lists, accepted(Some(&list), None));
        prop_assert_eq!(one, DomainName::parse(list.trim()).is_ok());
    }
}
