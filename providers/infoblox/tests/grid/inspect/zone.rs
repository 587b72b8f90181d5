//! Parent zones, other views, DNSSEC, and the delegation.

use gslb_core::beneath::Adoption;
use gslb_core::claim::Claimant;
use gslb_core::name::{DomainName, GeoTag};
use gslb_core::ttl::Ttl;
use gslb_core::zone::{NsPrefix, Zone};
use gslb_mocks::wapi::Fault;
use gslb_provider_contract::Delegated;
use serde_json::{Value, json};

use super::{Report, builder, delegated, edit, guest, healthy, looked, looked_at, stage, stage_with};
use crate::stage::{EU, OnGrid, US, Wanted, eu};

fn create(on: &OnGrid, kind: &str, fields: Value) {
    on.grid.edit(|admin| admin.create(kind, fields)).unwrap();
    on.grid.restart_services();
}

fn claimant(zone: &str, parent: &str) -> Claimant {
    let name = |text| DomainName::parse(text).unwrap();
    let zone = Zone::new(name(zone), name(parent), Ttl::DEFAULT).unwrap();
    Claimant::new(zone, NsPrefix::default(), GeoTag::parse("eu").unwrap()).unwrap()
}

/// The parent is replaced by something else, and the delegation cannot be made.
async fn with_parent(kind: &str, more: Value) -> Report {
    let on = stage();
    let mut zone = json!({"fqdn": "b.example.com", "view": "default"});
    zone.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    create(&on, kind, zone);
    looked_at(&on, &[delegated(claimant("cloud.b.example.com", "b.example.com"))]).await
}

#[tokio::test]
async fn a_parent_that_is_no_authoritative_zone_takes_no_delegation() {
    let servers = json!([{"name": "ns1.isp.example", "address": "203.0.113.53"}]);
    for (kind, field, words) in [
        ("zone_forward", "forward_to", "a forward zone"),
        ("zone_stub", "stub_from", "a stub zone"),
        ("zone_delegated", "delegate_to", "a delegated zone"),
    ] {
        let report = with_parent(kind, json!({field: servers})).await;
        let line = format!(
            "error cloud.b.example.com parent-zone: the closest zone, b.example.com, is {words} in DNS view default, and nothing can be delegated in one -> choose a zone that lies directly in an authoritative one, or have b.example.com removed at Data Management > DNS > Zones"
        );
        let expected = Report::lines(&[
            &line,
            "ok cloud.b.example.com other-views: no other view that the account sees holds b.example.com",
            "ok cloud.b.example.com delegation: there is none in DNS view default yet; gslb-bridge run makes it",
            "ok cloud.b.example.com hidden-records: nothing stands at or beneath the name that a delegation would hide",
            "ok cloud.b.example.com write-permission: the account may write the delegation",
        ]);
        assert_eq!(report, healthy().of_the_grid().and(&expected), "{kind}");
    }
}

#[tokio::test]
async fn a_parent_that_is_disabled_locked_or_served_by_nobody_is_told_with_the_field_to_change() {
    let cases = [
        (
            json!({"disable": true}),
            "error cloud.example.com parent-zone: example.com is disabled in DNS view default, so neither it nor a delegation in it is served -> clear Disable at Data Management > DNS > Zones > example.com > Edit",
        ),
        (
            json!({"locked": true}),
            "warning cloud.example.com parent-zone: example.com is locked by dns-team in DNS view default, which may keep a delegation from being made or changed in it -> have whoever locked it, or a superuser, clear Locked at Data Management > DNS > Zones > example.com > Edit",
        ),
        (
            json!({"grid_primary": []}),
            "error cloud.example.com parent-zone: example.com has neither a Grid primary nor a name server group in DNS view default, so it takes no delegation -> add a Grid primary at Data Management > DNS > Zones > example.com > Edit > Name Servers",
        ),
    ];
    let all = json!({"disable": true, "locked": true, "grid_primary": []});
    let [disabled, locked, without_primary] = cases.each_ref().map(|(_, line)| *line);
    let one = cases.iter().map(|(fields, line)| (fields.clone(), vec![*line]));
    for (fields, lines) in one.chain([(all, vec![disabled, without_primary, locked])]) {
        let on = stage();
        edit(&on, "zone_auth", "fqdn", "example.com", fields);
        on.grid.restart_services();
        assert_eq!(looked(&on).await, healthy().but("parent-zone", &lines));
    }
}

#[tokio::test]
async fn a_delegation_that_falls_into_another_zone_than_the_configured_parent_is_told() {
    let on = stage();
    let moved = |zone: &Report, line: &str| zone.but("parent-zone", &[line]);
    let deep = claimant("cloud.eu.example.com", "eu.example.com");
    let report = looked_at(&on, &[delegated(deep)]).await;
    let expected = healthy().renamed("cloud.example.com", "cloud.eu.example.com");
    assert_eq!(
        report,
        moved(
            &expected,
            "warning cloud.eu.example.com parent-zone: the delegation belongs into example.com, the closest zone in DNS view default, and not into eu.example.com, which is configured as its parent -> if that is not meant, correct the parent in DNS_ZONES or spec.parentZone of the ZoneDelegation, or create eu.example.com"
        )
    );
}

#[tokio::test]
async fn a_parent_that_is_only_in_another_view_or_nowhere_is_an_error() {
    let on =
        stage_with(builder(guest()).view("internal").zone_auth("example.org", "internal"), Wanted::default());
    let report = looked_at(
        &on,
        &[("cloud.example.org", "example.org"), ("cloud.example.net", "example.net")]
            .map(|(zone, parent)| delegated(claimant(zone, parent))),
    )
    .await;
    let fix = "create the parent zone there, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it";
    let beneath = |zone: &str, parent: &str| {
        format!(
            "unknown {zone} hidden-records: what a delegation would hide could not be read: the parent zone {parent} of {zone} was not found in view default of Infoblox at 127.0.0.1, or is not visible to the account; create it, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it -> correct that, and check again"
        )
    };
    let absent = |zone: &str| {
        format!("ok {zone} delegation: there is none in DNS view default yet; gslb-bridge run makes it")
    };
    let may = |zone: &str| format!("ok {zone} write-permission: the account may write the delegation");
    let (org, net) = ("cloud.example.org", "cloud.example.net");
    let expected = Report::lines(&[
        &format!(
            "error {org} parent-zone: DNS view default has no zone example.org, or the account may not see it; there is example.org in view internal -> {fix}"
        ),
        &absent(org),
        &beneath(org, "example.org"),
        &may(org),
        &format!(
            "error {net} parent-zone: DNS view default has no zone example.net, or the account may not see it -> {fix}"
        ),
        &absent(net),
        &beneath(net, "example.net"),
        &may(net),
    ]);
    let both = "ok view: DNS view default is there; the account also sees internal";
    assert_eq!(report, healthy().of_the_grid().but("view", &[both]).and(&expected));
}

#[tokio::test]
async fn a_second_view_that_holds_the_parent_without_the_delegation_is_told() {
    let on =
        stage_with(builder(guest()).view("internal").zone_auth("example.com", "internal"), Wanted::default());
    let both = "ok view: DNS view default is there; the account also sees internal";
    let without = "warning cloud.example.com other-views: example.com is also in DNS view internal, without this delegation: clients of that view find no host of cloud.example.com -> if they should, add the same delegated zone there at Data Management > DNS > Zones > internal";
    let expected = healthy().but("view", &[both]);
    assert_eq!(looked(&on).await, expected.but("other-views", &[without]));
    let servers = json!([{"name": EU, "address": "192.0.2.53"}]);
    create(
        &on,
        "zone_delegated",
        json!({"fqdn": "cloud.example.com", "view": "internal", "delegate_to": servers}),
    );
    let with = "ok cloud.example.com other-views: every other view that holds example.com delegates cloud.example.com too";
    assert_eq!(looked(&on).await, expected.but("other-views", &[with]));
}

/// [inferred]: a view that the account may not read is missing from searches, with its zones.
#[tokio::test]
async fn inferred_a_view_that_the_account_does_not_see_is_not_called_fine() {
    let grid =
        builder(guest().without_view("internal")).view("internal").zone_auth("example.com", "internal");
    let on = stage_with(grid, Wanted::default());
    assert_eq!(looked(&on).await, healthy(), "every sentence speaks of what the account sees");
}

#[tokio::test]
async fn a_ds_record_breaks_an_unsigned_zone_below_a_signed_parent() {
    let on = stage();
    on.add_zone(&[(EU, "192.0.2.53")], json!({}));
    on.grid.edit(|admin| admin.import_ds("cloud.example.com", "default", 12_345)).unwrap();
    on.grid.restart_services();
    let there =
        format!("ok cloud.example.com delegation: it has name servers {EU}; this cluster is among them");
    let expected = healthy().but("delegation", &[&there]).but("hidden-records", &[]);
    let fix = "delete the DS record of cloud.example.com at Data Management > DNS > Zones > example.com";
    let unsigned = format!(
        "warning cloud.example.com dnssec: example.com holds a DS record for cloud.example.com (key tag 12345); gslb-bridge does not sign zones, so once example.com is signed, validating resolvers will answer SERVFAIL -> {fix}"
    );
    assert_eq!(looked(&on).await, expected.but("dnssec", &[&unsigned]));
    on.grid.edit(|admin| admin.sign_zone("example.com", "default")).unwrap();
    on.grid.restart_services();
    let signed = format!(
        "error cloud.example.com dnssec: example.com holds a DS record for cloud.example.com (key tag 12345); gslb-bridge does not sign zones, so validating resolvers answer SERVFAIL for every host -> {fix}"
    );
    assert_eq!(looked(&on).await, expected.but("dnssec", &[&signed]));
    super::delete(&on, "record:ds", "name", "cloud.example.com");
    let right = "ok cloud.example.com dnssec: example.com is signed and holds no DS record for cloud.example.com: an unsigned delegation, as it has to be";
    assert_eq!(looked(&on).await, expected.but("dnssec", &[right]));
    on.grid
        .faults()
        .inject(Fault::Refuse("Unknown argument/field: 'is_dnssec_signed'").on_path("is_dnssec_signed"));
    let unknown = "unknown cloud.example.com dnssec: whether example.com is signed could not be read: Infoblox at 127.0.0.1 says: Unknown argument/field: 'is_dnssec_signed' -> correct that, and check again";
    assert_eq!(looked(&on).await, expected.but("dnssec", &[unknown]));
}

#[tokio::test]
async fn a_delegation_that_stands_is_told_with_everything_that_bars_or_shares_it() {
    let menu = "Data Management > DNS > Zones > cloud.example.com > Edit";
    let group =
        json!({"name": "dmz", "delegate_to": [{"name": "ns1.isp.example", "address": "203.0.113.53"}]});
    let cases = [
        (
            json!({}),
            vec![(US, "198.51.100.53")],
            vec![format!(
                "ok cloud.example.com delegation: it has name servers {US}; this cluster is not among them yet, gslb-bridge run joins it"
            )],
        ),
        (
            json!({}),
            vec![(EU, "192.0.2.53"), ("ns1.isp.example", "203.0.113.53")],
            vec![format!(
                "warning cloud.example.com delegation: ns1.isp.example is among its name servers, which no cluster of the fleet is called; it gets a share of the questions, and is left alone -> if it does not serve cloud.example.com, remove it at {menu} > Name Servers"
            )],
        ),
        (
            json!({"locked": true, "disable": true}),
            vec![(EU, "192.0.2.53")],
            vec![
                format!(
                    "error cloud.example.com delegation: it is locked by dns-team, so nothing of it is written -> have whoever locked it, or a superuser, clear Locked at {menu}"
                ),
                format!(
                    "error cloud.example.com delegation: it is disabled, so it is not served -> clear Disable at {menu}"
                ),
            ],
        ),
        (
            json!({"ns_group": "dmz", "delegate_to": []}),
            vec![],
            vec![format!(
                "error cloud.example.com delegation: its name servers come from the group dmz, so nothing of it is written -> list name servers instead of the group at {menu} > Name Servers"
            )],
        ),
    ];
    for (fields, servers, lines) in cases {
        let on = stage();
        create(&on, "nsgroup:delegation", group.clone());
        on.add_zone(&servers, fields);
        on.grid.restart_services();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(looked(&on).await, healthy().but("delegation", &lines).but("hidden-records", &[]));
    }
}

#[tokio::test]
async fn a_name_that_is_a_zone_of_another_kind_cannot_be_delegated() {
    let on = stage();
    let primary = json!([{"name": "gm.example.com", "stealth": false}]);
    create(
        &on,
        "zone_auth",
        json!({"fqdn": "cloud.example.com", "view": "default", "grid_primary": primary}),
    );
    let line = "error cloud.example.com delegation: cloud.example.com is an authoritative zone of its own in DNS view default, so it cannot be delegated -> choose another zone, or have cloud.example.com removed at Data Management > DNS > Zones";
    assert_eq!(looked(&on).await, healthy().but("delegation", &[line]).but("hidden-records", &[]));
}

#[tokio::test]
async fn records_that_a_delegation_would_hide_are_named() {
    let on = stage();
    create(
        &on,
        "record:a",
        json!({"name": "www.cloud.example.com", "ipv4addr": "192.0.2.1", "view": "default"}),
    );
    let line = "error cloud.example.com hidden-records: a delegation would take 1 object (record:a www.cloud.example.com) out of DNS, so it is not made -> move or delete them, or set the annotation gslb-bridge.io/adopt-hidden-records=true on the ZoneDelegation if they may disappear";
    assert_eq!(looked(&on).await, healthy().but("hidden-records", &[line]));
    let line = "warning cloud.example.com hidden-records: a delegation takes 1 object (record:a www.cloud.example.com) out of DNS, as adoptHiddenRecords of the zone in the configuration file asks for -> if they may not disappear, move them, or withdraw that before gslb-bridge run makes the delegation";
    let adopting = Delegated { claimant: eu(), adopts: Some(Adoption::Setting) };
    assert_eq!(looked_at(&on, &[adopting]).await, healthy().but("hidden-records", &[line]));
}

#[tokio::test]
async fn a_zone_that_cannot_be_read_hides_no_other() {
    let on = stage();
    on.grid.faults().inject(Fault::Refuse("No").on_path("fqdn=apps.example.com"));
    on.grid.faults().inject(Fault::Refuse("No").on_path("apps%5C.example"));
    on.grid.faults().inject(Fault::Refuse("No").on_path("name=apps.example.com"));
    let report =
        looked_at(&on, &[delegated(claimant("apps.example.com", "example.com")), delegated(eu())]).await;
    let says = "could not be read: Infoblox at 127.0.0.1 says: No -> correct that, and check again";
    let apps = Report::lines(&[
        &format!(
            "unknown apps.example.com parent-zone: the zones around it, in this and other views, {says}"
        ),
        &format!("unknown apps.example.com dnssec: whether there is a DS record for it {says}"),
        &format!("unknown apps.example.com delegation: the delegation {says}"),
        "ok apps.example.com write-permission: the account may write the delegation",
    ]);
    assert_eq!(report, healthy().of_the_grid().and(&apps).and(&healthy().of_zones()));
}
