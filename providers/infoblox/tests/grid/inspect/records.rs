//! Zones in records mode.

use gslb_core::name::DomainName;
use gslb_core::ttl::Ttl;
use gslb_core::zone::Zone;
use gslb_mocks::wapi::{Fault, GridBuilder};
use gslb_provider_contract::{Inspected, Observe, RecordsZone};
use serde_json::{Value, json};

use super::{Report, builder, edit, guest, permit, reference, stage_with};
use crate::stage::{OnGrid, Wanted};

fn name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

fn grid() -> GridBuilder {
    builder(guest()).attribute("GslbBridgeClaim").attribute("GslbBridgeChallenge")
}

fn stage() -> OnGrid {
    stage_with(grid(), Wanted::default())
}

/// Where the account has no permission but this, for this object.
fn allowed(grants: &[(&str, &str, &str)]) -> OnGrid {
    let on = OnGrid::with(grid(), Wanted::default());
    for (permission, kind, fqdn) in grants {
        let object = reference(&on, "zone_auth", "fqdn", fqdn);
        permit(&on, json!({"permission": permission, "resource_type": kind, "object": object}));
    }
    on
}

fn create(on: &OnGrid, kind: &str, fields: Value) {
    on.grid.edit(|admin| admin.create(kind, fields)).unwrap();
}

async fn looked(on: &OnGrid) -> Report {
    let zone = Zone::new(name("cloud.example.com"), name("example.com"), Ttl::DEFAULT).unwrap();
    let hosts = ["app.cloud.example.com", "shop.cloud.example.com"].map(name).into();
    let what = Inspected { records: vec![RecordsZone { zone, hosts }], ..Inspected::default() };
    Report::of(&on.provider.inspect(&what).await)
}

fn healthy() -> Report {
    let grid = super::healthy().of_the_grid();
    let grid = grid.but(
        "revision-attribute",
        &["ok claim-attributes: GslbBridgeClaim and GslbBridgeChallenge are defined, so no comment says whose a record is"],
    );
    let grid = grid.but(
        "mandatory-attributes",
        &["ok mandatory-attributes: no attribute has to be set on zones or records"],
    );
    grid.and(&Report::lines(&[
        "ok cloud.example.com records-zone: example.com is an authoritative zone in DNS view default, served and unlocked",
        "ok cloud.example.com other-views: no other view that the account sees holds example.com",
        "ok cloud.example.com host-records: nothing stands in the way of the records of 2 hosts",
        "ok cloud.example.com write-permission: the account may make, change and delete records of type A and AAAA",
    ]))
}

#[tokio::test]
async fn a_zone_in_records_mode_as_it_should_be_has_no_finding_and_nothing_is_written() {
    let on = stage();
    assert_eq!(looked(&on).await, healthy());
    assert_eq!(on.grid.journal().count(gslb_mocks::wapi::Entry::is_write), 0);
    create(
        &on,
        "record:a",
        json!({"name": "app.cloud.example.com", "ipv4addr": "192.0.2.80", "view": "default",
            "extattrs": {"GslbBridgeClaim": {"value": "cloud.example.com/us"}}}),
    );
    assert_eq!(looked(&on).await, healthy(), "a record of the fleet is none of others");
}

#[tokio::test]
async fn a_zone_that_is_missing_delegated_locked_or_disabled_is_told_with_what_to_change() {
    let on = stage();
    edit(&on, "zone_auth", "fqdn", "example.com", json!({"locked": true}));
    let locked = "warning cloud.example.com records-zone: example.com is locked by dns-team in DNS view default, which may keep a record from being made or changed in it -> have whoever locked it, or a superuser, clear Locked at Data Management > DNS > Zones > example.com > Edit";
    assert_eq!(looked(&on).await.of_zones(), healthy().of_zones().but("records-zone", &[locked]));
    edit(&on, "zone_auth", "fqdn", "example.com", json!({"locked": false}));
    edit(&on, "zone_auth", "fqdn", "example.com", json!({"disable": true}));
    let disabled = "error cloud.example.com records-zone: example.com is disabled in DNS view default, so neither it nor a record in it is served -> clear Disable at Data Management > DNS > Zones > example.com > Edit";
    assert_eq!(looked(&on).await.of_zones(), healthy().of_zones().but("records-zone", &[disabled]));

    let on = stage();
    create(
        &on,
        "zone_delegated",
        json!({"fqdn": "cloud.example.com", "view": "default", "delegate_to": [{"name": "ns.example.net", "address": "192.0.2.1"}]}),
    );
    let delegated = "error cloud.example.com records-zone: cloud.example.com is delegated in DNS view default, so the grid does not serve its hosts -> have the delegation withdrawn or removed at Data Management > DNS > Zones, or set the mode of cloud.example.com to delegation";
    let rest = healthy().of_zones().but("other-views", &[]).but("host-records", &[]);
    assert_eq!(looked(&on).await.of_zones(), rest.but("records-zone", &[delegated]));

    let on = stage();
    super::delete(&on, "zone_auth", "fqdn", "example.com");
    let missing = "error cloud.example.com records-zone: no zone in DNS view default holds cloud.example.com, or the account may not see it -> create an authoritative zone there, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it";
    assert_eq!(looked(&on).await.of_zones(), rest.but("records-zone", &[missing]));
}

#[tokio::test]
async fn a_second_view_with_the_zone_is_named() {
    let on = stage_with(grid().view("internal").zone_auth("example.com", "internal"), Wanted::default());
    let views = "ok view: DNS view default is there; the account also sees internal";
    let line = "warning cloud.example.com other-views: example.com is also in DNS view internal, where gslb-bridge makes no records: clients of that view find no host of cloud.example.com -> if they should, delegate cloud.example.com instead, in each of the views";
    assert_eq!(looked(&on).await, healthy().but("view", &[views]).but("other-views", &[line]));
}

#[tokio::test]
async fn what_excludes_or_joins_the_records_of_a_host_is_told_and_other_names_are_none_of_ours() {
    let on = stage();
    let within = |name: &str| json!({"name": format!("{name}.cloud.example.com"), "view": "default"});
    let alias = |name: &str| {
        let mut fields = within(name);
        fields["canonical"] = "web.example.net".into();
        fields
    };
    create(&on, "record:cname", alias("app"));
    create(&on, "record:cname", alias("other"));
    let mut stranger = within("shop");
    stranger["ipv4addr"] = "192.0.2.9".into();
    create(&on, "record:a", stranger);
    let menu = "Data Management > DNS > Zones > example.com > Records";
    let lines = [
        format!(
            "error cloud.example.com host-records: app.cloud.example.com is an alias of web.example.net, so it cannot have address records -> remove the CNAME record app.cloud.example.com at {menu}, or give the application another host name"
        ),
        format!(
            "warning cloud.example.com host-records: shop.cloud.example.com has 192.0.2.9, which no cluster of the fleet made; they are left alone, and answered beside ours -> if they do not serve shop.cloud.example.com, remove them at {menu}"
        ),
    ];
    assert_eq!(looked(&on).await, healthy().but("host-records", &lines.each_ref().map(String::as_str)));
}

#[tokio::test]
async fn the_most_special_permission_for_each_kind_of_record_decides() {
    let wanted = "give it Read/Write on A and AAAA records, and Read-only on CNAME and host records, of the zone that holds cloud.example.com at Administration > Administrators > Permissions";
    let zone = "example.com";
    let enough = [("WRITE", "A", zone), ("WRITE", "AAAA", zone), ("READ", "ZONE", zone)];
    assert_eq!(looked(&allowed(&enough)).await, healthy());

    let on = allowed(&[("WRITE", "ZONE", zone), ("READ", "AAAA", zone), ("DENY", "CNAME", zone)]);
    let lines = [format!(
        "error cloud.example.com write-permission: the account may not make, change or delete AAAA records: a permission for the zone that holds them only lets the account read them -> {wanted}"
    )];
    let denied = format!(
        "warning cloud.example.com read-permission: the account may not read CNAME records: a permission for the zone that holds them denies them to the account; one that excludes address records is noticed only when the grid refuses ours -> {wanted}"
    );
    let report = healthy().but("write-permission", &[&lines[0]]).and(&Report::lines(&[&denied]));
    assert_eq!(looked(&on).await, report);
}

#[tokio::test]
async fn attributes_that_are_missing_or_of_another_type_are_told() {
    let without = builder(guest()).attribute("GslbBridgeClaim");
    let on = stage_with(without, Wanted::default());
    let line = "warning claim-attributes: GslbBridgeChallenge is not defined: whose a record is stands in its comment, which anybody may edit -> have a superuser add GslbBridgeChallenge of type String at Administration > Extensible Attributes, neither required nor restricted to object types";
    assert_eq!(looked(&on).await, healthy().but("claim-attributes", &[line]));
}

#[tokio::test]
async fn records_that_cannot_be_read_are_not_called_fine() {
    let on = stage();
    on.grid.faults().inject(Fault::Refuse("No").on_path("request"));
    on.grid.faults().inject(Fault::Refuse("No").on_path("record:a?"));
    let line = "unknown cloud.example.com host-records: the records of its hosts could not be read: Infoblox at 127.0.0.1 says: No -> correct that, and check again";
    assert_eq!(looked(&on).await.of_zones(), healthy().of_zones().but("host-records", &[line]));
}
