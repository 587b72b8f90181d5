use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::given::{name, targets};

fn grants(annotations: &[(&str, &str)]) -> Grants {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    Grants::read(|key| annotations.get(key).copied())
}
fn web(annotations: &[(&str, &str)]) -> Tenancy {
    Tenancy::Granted { namespace: "web".into(), grants: grants(annotations) }
}
fn unread(hosts: &[&str]) -> Tenancy {
    let hosts = hosts.iter().map(|host| name(host)).collect();
    Tenancy::Unread { namespace: "web".into(), why: "it could not be read".into(), hosts }
}

/// F-74.
#[test]
fn a_list_of_hosts_covers_whole_labels_in_any_case() {
    for (list, host, permitted) in [
        ("app.example.com", "app.example.com", true),
        (" APP.example.com. ,", "app.example.com", true),
        ("app.example.com", "x.app.example.com", false),
        ("*.example.com", "app.example.com", true),
        ("*.Example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "app.notexample.com", false),
        ("*.b.example.com,app.example.com", "app.example.com", true),
        ("*", "app.example.com", true),
        ("", "app.example.com", false),
        ("a.*.example.com,*.*.example.com,ap*.example.com", "a.b.example.com", false),
    ] {
        assert_eq!(web(&[(HOSTS, list)]).host(&name(host)).is_ok(), permitted, "{list:?} {host}");
    }
    assert!(web(&[]).host(&name("app.example.com")).is_err());
    assert_eq!(Tenancy::Unlimited.host(&name("app.example.com")), Ok(()));
}

/// F-74.
#[test]
fn a_refusal_names_object_value_limit_and_fix() {
    let told = |annotations: &[(&str, &str)]| {
        let problem = web(annotations).host(&name("app.example.com")).unwrap_err();
        (problem.reason(), problem.to_string())
    };
    assert_eq!(
        told(&[(HOSTS, "shop.example.com, *.web.example.com, a..b")]),
        (
            "HostNotPermitted",
            "host app.example.com is not served: Namespace web does not permit it: its annotation gslb-bridge.io/permitted-hosts lists shop.example.com, *.web.example.com, \"a..b\", which is none; choose another host, or have it permitted there".into()
        )
    );
    assert!(told(&[]).1.contains("it has no annotation gslb-bridge.io/permitted-hosts; "));
    assert!(told(&[(HOSTS, " ,")]).1.contains("its annotation gslb-bridge.io/permitted-hosts is empty; "));
    let many: Vec<String> = (10..30).map(|number| format!("a{number}.example.com")).collect();
    assert!(told(&[(HOSTS, &many.join(","))]).1.contains("a19.example.com, 10 more; "));
    let (reason, sentence) = web(&[(ADDRESSES, "192.0.2.0/26")])
        .addresses("a/b", &targets(&["192.0.2.64"]), &[].into())
        .unwrap_err();
    assert_eq!(
        (reason, sentence.as_str()),
        (
            "AddressNotPermitted",
            "Namespace web does not permit annotation a/b to expose 192.0.2.64: its annotation gslb-bridge.io/exposed-addresses lists 192.0.2.0/26; take it out, or have it permitted there"
        )
    );
    let problem = web(&[(REFERENCES_FROM, "blue")]).referrer("green", "Ingress").unwrap_err();
    assert_eq!(
        (problem.reason(), problem.to_string().as_str()),
        (
            "ReferenceNotPermitted",
            "Namespace web does not permit Gslbs of namespace green to refer to its objects, such as kind Ingress: its annotation gslb-bridge.io/references-from lists blue; refer to an object of namespace green, or have it permitted there"
        )
    );
}

/// F-74.
#[test]
fn addresses_are_permitted_one_by_one_and_by_range() {
    for (list, address, permitted) in [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.0/24", "192.0.2.255", true),
        ("192.0.2.77/24", "192.0.2.1", true),
        ("192.0.2.0/31", "192.0.2.2", false),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("::/0,2001:db8::1", "192.0.2.1", false),
        ("192.0.2.0/33,192.0.2.0/,192.0.2", "192.0.2.0", false),
    ] {
        let tenancy = web(&[(ADDRESSES, list)]);
        let judged = tenancy.addresses("a/b", &targets(&[address]), &[].into());
        assert_eq!(judged.is_ok(), permitted, "{list} {address}");
    }
    assert!(web(&[]).addresses("a/b", &targets(&["192.0.2.1"]), &[].into()).is_err());
}

/// F-74.
#[test]
fn what_is_shown_by_the_object_needs_no_permission_to_stay() {
    let [all, shown] = [targets(&["192.0.2.1", "192.0.2.2", "192.0.2.3"]), targets(&["192.0.2.2"])];
    let stays = web(&[(ADDRESSES, "192.0.2.1")]).may_stay(&all, &shown, &all);
    assert_eq!(stays, targets(&["192.0.2.1", "192.0.2.2"]));
    assert_eq!(Tenancy::Unlimited.may_stay(&all, &[].into(), &[].into()), all);
}

/// F-74.
#[test]
fn references_are_permitted_by_the_namespace_that_is_referred_to() {
    for (list, permitted) in
        [("green", true), ("blue, green", true), ("*", true), ("gree", false), ("", false), ("green*", false)]
    {
        assert_eq!(web(&[(REFERENCES_FROM, list)]).referrer("green", "Ingress").is_ok(), permitted, "{list}");
    }
    assert!(web(&[]).referrer("green", "Ingress").is_err());
}

/// F-74.
#[test]
fn while_nothing_is_known_what_was_decided_stays_and_nothing_is_added() {
    let tenancy = unread(&["app.example.com"]);
    assert_eq!(tenancy.host(&name("app.example.com")), Ok(()));
    assert_eq!(tenancy.host(&name("new.example.com")).unwrap_err().reason(), "PermissionsNotRead");
    assert_eq!(tenancy.referrer("green", "Ingress").unwrap_err().reason(), "PermissionsNotRead");
    let last = targets(&["192.0.2.1", "192.0.2.2"]);
    assert_eq!(tenancy.addresses("a/b", &targets(&["192.0.2.1"]), &last), Ok(()));
    let (reason, _) = tenancy.addresses("a/b", &targets(&["192.0.2.9"]), &last).unwrap_err();
    assert_eq!(reason, "PermissionsNotRead");
    assert_eq!(
        tenancy.may_stay(&targets(&["192.0.2.1", "192.0.2.9"]), &[].into(), &last),
        targets(&["192.0.2.1"])
    );
    assert!(tenancy.warning().unwrap().contains("it could not be read"));
}

const ELEMENT: &str = "([*][.])?([a-b]{1,2}[.]){0,2}[a-b]|[*]|[a-b.*!-]{0,5}";
const HOST: &str = "([a-b]{1,2}[.]){0,3}[a-b]";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// What a list permits is what its elements permit, each alone: order and bad neighbours change nothing.
    #[test]
    fn a_list_permits_what_its_elements_permit(list in prop::collection::vec(ELEMENT, 0..4), host in HOST) {
        let host = name(&host);
        let permits = |list: &str| web(&[(HOSTS, list)]).host(&host).is_ok();
        let whole = permits(&list.join(","));
        prop_assert_eq!(whole, list.iter().any(|element| permits(element)));
        let reversed: Vec<String> = list.iter().rev().map(|element| format!(" {} ", element.to_uppercase())).collect();
        prop_assert_eq!(whole, permits(&reversed.join(",")));
    }

    #[test]
    fn a_range_covers_the_addresses_with_its_first_bits(network: u32, address: u32, prefix in 0_u8..=32, near: bool) {
        let address = if near { network ^ (address >> 20) } else { address };
        let list = format!("{}/{prefix}", Ipv4Addr::from(network));
        let judged = web(&[(ADDRESSES, &list)]).addresses("a/b", &[Ipv4Addr::from(address)].into(), &[].into());
        let first = |bits: u32| u64::from(bits) >> (32 - u32::from(prefix));
        prop_assert_eq!(judged.is_ok(), first(network) == first(address));
    }

    /// Losing sight of a Namespace takes nothing away and gives nothing.
    #[test]
    fn what_is_not_known_changes_nothing(served in prop::collection::btree_set(HOST, 0..3), host in HOST) {
        let hosts: Vec<&str> = served.iter().map(String::as_str).collect();
        prop_assert_eq!(unread(&hosts).host(&name(&host)).is_ok(), served.contains(&host));
    }
}
