use super::*;
use crate::name::DomainName;
use crate::publication::Resolution;
use crate::ttl::Ttl;

fn raw<'a>(kind: &'a str, api_version: &'a str) -> RawReference<'a> {
    RawReference {
        kind: Some(kind),
        api_version: Some(api_version),
        name: Some("shop"),
        ..RawReference::default()
    }
}

fn zone() -> Zone {
    let name = |text| DomainName::parse(text).unwrap();
    Zone::new(name("example.org"), name("org"), Ttl::DEFAULT).unwrap()
}

/// Contract §2.4. Conformance 22.
#[test]
fn every_kind_of_the_contract_is_accepted_in_its_versions() {
    let accepted = [
        ("Ingress", "networking.k8s.io/v1", "v1"),
        ("Service", "v1", "v1"),
        ("VirtualService", "networking.istio.io/v1", "v1"),
        ("VirtualService", "networking.istio.io/v1beta1", "v1"),
        ("HTTPRoute", "gateway.networking.k8s.io/v1", "v1"),
        ("GRPCRoute", "gateway.networking.k8s.io/v1", "v1"),
        ("TCPRoute", "gateway.networking.k8s.io/v1", "v1"),
        ("TCPRoute", "gateway.networking.k8s.io/v1alpha2", "v1alpha2"),
        ("UDPRoute", "gateway.networking.k8s.io/v1", "v1"),
        ("UDPRoute", "gateway.networking.k8s.io/v1alpha2", "v1alpha2"),
        ("TLSRoute", "gateway.networking.k8s.io/v1", "v1"),
        ("TLSRoute", "gateway.networking.k8s.io/v1alpha2", "v1alpha2"),
        ("TLSRoute", "gateway.networking.k8s.io/v1alpha3", "v1alpha3"),
    ];
    for (kind, api_version, read_at) in accepted {
        let reference = raw(kind, api_version).accept("web").unwrap();
        assert_eq!((reference.kind.kind(), reference.kind.version()), (kind, read_at), "{api_version}");
    }
}

#[test]
fn any_other_kind_or_version_is_named_with_what_is_supported() {
    let problem = raw("Ingress", "extensions/v1beta1").accept("web").unwrap_err();
    assert_eq!(problem.reason(), "ReferenceUnsupported");
    assert_eq!(
        problem.to_string(),
        "spec.resourceRef has APIVersion:extensions/v1beta1, Kind:Ingress not supported; use Ingress of networking.k8s.io/v1"
    );
    let problem = raw("ingress", "networking.k8s.io/v1").accept("web").unwrap_err().to_string();
    assert!(problem.contains("Kind:ingress not supported") && problem.contains("HTTPRoute of"), "{problem}");
    // A Gateway is read, but never referred to.
    assert!(raw("Gateway", "gateway.networking.k8s.io/v1").accept("web").is_err());
}

/// F-93.
#[test]
fn the_namespace_of_a_reference_counts_for_names_and_selectors() {
    let ingress = raw("Ingress", "networking.k8s.io/v1");
    assert_eq!(ingress.accept("web").unwrap().namespace, "web");
    let elsewhere = RawReference { namespace: Some("shop"), name: None, selects: true, ..ingress };
    let reference = elsewhere.accept("web").unwrap();
    assert_eq!((reference.namespace.as_str(), reference.selection), ("shop", Selection::Matching));
}

#[test]
fn a_name_wins_over_a_selector_and_one_of_them_is_needed() {
    let both = RawReference { selects: true, ..raw("Service", "v1") };
    assert_eq!(both.accept("web").unwrap().selection, Selection::Named("shop".into()));
    let neither = RawReference { name: None, ..raw("Service", "v1") };
    let problem = neither.accept("web").unwrap_err();
    assert_eq!(problem, ReferenceProblem::Unnamed { kind: "Service" });
    assert!(problem.to_string().starts_with("neither name nor label selector specified in ResourceRef"));
}

#[test]
fn a_selector_that_finds_nothing_is_definite_and_one_that_finds_two_is_an_invalid_edit() {
    let reference =
        Reference { kind: ObjectKind::HttpRoute, namespace: "web".into(), selection: Selection::Matching };
    assert_eq!(reference.only(vec![("a".into(), 1)]), Ok(("a".into(), 1)));
    let none = reference.only(Vec::<(String, ())>::new()).unwrap_err();
    assert!(none.to_string().starts_with("exactly 1 HTTPRoute resource expected but 0 were found"));
    assert!(matches!(Resolution::from(none), Resolution::Failed { reason: "ReferenceNotFound", .. }));
    let two = reference.only(vec![("a".into(), ()), ("b".into(), ())]).unwrap_err();
    let sentence = "exactly 1 HTTPRoute resource expected but 2 were found in namespace web (a, b)";
    assert!(two.to_string().starts_with(sentence), "{two}");
    assert!(matches!(Resolution::from(two), Resolution::Invalid { reason: "ReferenceAmbiguous", .. }));
}

/// Conformance 26.
#[test]
fn a_kind_without_hosts_takes_the_one_of_the_annotation() {
    let service = ServiceName { namespace: "web".into(), name: "shop".into() };
    let backends = || Backends::Unnamed(vec![service.clone()]);
    let zones = [zone()];
    let servers =
        |hostname| backends().servers(ObjectKind::TcpRouteV1, "TCPRoute web/shop", hostname, &zones);
    let server = Server { host: "Shop.example.org".into(), services: vec![service.clone()] };
    assert_eq!(servers(Some(" Shop.example.org ")), Ok(vec![server]));
    let missing = servers(None).unwrap_err().to_string();
    assert!(missing.starts_with("TCPRoute web/shop requires k8gb.io/hostname annotation"), "{missing}");
    let empty = servers(Some(" ")).unwrap_err().to_string();
    assert!(empty.contains("has empty k8gb.io/hostname annotation"), "{empty}");
}

/// What is wrong in an annotation of the Gslb takes no record away, as little as one that is missing.
#[test]
fn a_host_of_the_annotation_that_cannot_be_served_is_an_invalid_edit() {
    let zones = [zone()];
    for (hostname, problem) in [
        (None, "requires k8gb.io/hostname annotation"),
        (Some(""), "has empty k8gb.io/hostname annotation"),
        (Some("shop..org"), "host \"shop..org\" is not served: "),
        (Some("shop.example.net"), "it lies in none of the zones example.org"),
        (Some("example.org"), "it is the apex of its zone"),
    ] {
        let found =
            Backends::Unnamed(vec![]).servers(ObjectKind::Service, "Service web/shop", hostname, &zones);
        let Resolution::Invalid { message, .. } = Resolution::from(found.unwrap_err()) else {
            panic!("{hostname:?} withdraws what was known");
        };
        assert!(message.contains(problem), "{message}");
    }
}

#[test]
fn an_object_without_hosts_is_told_where_they_belong() {
    for (kind, wanted) in
        [(ObjectKind::Ingress, "a rule with a host"), (ObjectKind::GrpcRoute, "spec.hostnames")]
    {
        let problem =
            Backends::ByHost(vec![]).servers(kind, "it", Some("ignored.example.org"), &[]).unwrap_err();
        assert!(problem.to_string().ends_with(wanted), "{problem}");
    }
}

#[test]
fn what_was_not_read_is_never_definite() {
    for why in [Unread::NotInstalled, Unread::Forbidden, Unread::NotRead] {
        let unread = KindUnread { kind: ObjectKind::TlsRouteV1Alpha3, why };
        assert_eq!(AddressProblem::from(unread.clone()).last(), Last::Kept);
        assert!(matches!(Resolution::from(ReferenceProblem::from(unread)), Resolution::Invalid { .. }));
    }
    let forbidden = KindUnread { kind: ObjectKind::Gateway, why: Unread::Forbidden }.to_string();
    assert!(forbidden.contains("gateways.gateway.networking.k8s.io") && forbidden.contains("list and watch"));
}
