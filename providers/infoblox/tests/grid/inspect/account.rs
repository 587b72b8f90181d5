//! What the account may do.
//!
//! Permissions are objects of the grid; how they add up is as the vendor's guide says. That somebody who is no superuser
//! sees no administrator is inferred.

use gslb_mocks::wapi::{Account, Fault};
use serde_json::json;

use super::{GROUP, builder, delete, edit, guest, healthy, looked, permit, reference, stage, stage_with};
use crate::stage::{EU, OnGrid, PASSWORD, USER, Wanted};

const WANTED: &str = "Read/Write on All Zones of DNS view default";
const ASK: &str = "have a superuser look at Administration > Administrators: the account's group should be no superuser group, and have API as its only interface and Read/Write on All Zones of DNS view default";

/// A stage whose account has no permission yet.
fn bare() -> OnGrid {
    OnGrid::with(builder(guest()), Wanted::default())
}

#[tokio::test]
async fn inferred_what_an_account_that_sees_no_administrators_may_do_is_unknown_and_never_fine() {
    let on = OnGrid::with(builder(Account::new(USER, PASSWORD)), Wanted::default());
    let unseen = format!(
        "unknown account: the grid does not show the account its own administrator object, so whether it is a superuser, and whether its group may write delegations and nothing else, cannot be told without a write -> {ASK}"
    );
    let unknown = healthy().but("permissions", &[]).but("write-permission", &[]);
    assert_eq!(looked(&on).await, unknown.but("account", &[&unseen]));

    on.grid.faults().inject(Fault::Forbidden.on_path("/adminuser?"));
    let refused = format!(
        "unknown account: the administrators of the grid could not be read (Infoblox at 127.0.0.1 refuses this account or this client's address (HTTP 403); allow the account's group to use the API, or wait until the grid's block after bad log-ins ends), so whether it is a superuser, and whether its group may write delegations and nothing else, cannot be told without a write -> {ASK}"
    );
    assert_eq!(looked(&on).await, unknown.but("account", &[&refused]));
}

#[tokio::test]
async fn a_superuser_may_do_too_much() {
    let on = OnGrid::with(builder(guest().superuser()), Wanted::default());
    let warning = format!(
        "warning account: the account is a superuser (group admin-group), which may do everything in the grid -> give it a group of its own at Administration > Administrators > Groups, with API as its only interface and {WANTED}"
    );
    let may = "ok cloud.example.com write-permission: a superuser may write the delegation";
    let expected = healthy().but("account", &[&warning]).but("permissions", &[]);
    let expected = expected.but("write-permission", &[may]);
    assert_eq!(looked(&on).await, expected);
    delete(&on, "extensibleattributedef", "name", "GslbBridgeRevision");
    let undefined = "warning revision-attribute: GslbBridgeRevision is not defined: of two clusters that write at once, one writes over the other and puts back what was lost -> have a superuser add GslbBridgeRevision of type String at Administration > Extensible Attributes, neither required nor restricted to object types";
    assert_eq!(
        looked(&on).await,
        expected.but("revision-attribute", &[undefined]),
        "it sees every definition"
    );
}

#[tokio::test]
async fn writes_beyond_the_own_zones_are_surplus() {
    let on = stage();
    let other = "zone_auth/ZG5zLnpvbmUkLjUub3JnLmV4YW1wbGU:example.org/internal";
    permit(&on, json!({"permission": "WRITE", "resource_type": "NETWORK"}));
    permit(&on, json!({"permission": "READ", "resource_type": "MEMBER"}));
    permit(&on, json!({"permission": "WRITE", "resource_type": "ZONE", "object": other}));
    permit(&on, json!({"permission": "WRITE", "resource_type": "ZONE"}));
    let warning = format!(
        "warning permissions: the account may write what gslb-bridge never writes: ZONE of other objects, all of NETWORK, zones of every DNS view -> reduce them at Administration > Administrators > Permissions to {WANTED}"
    );
    assert_eq!(looked(&on).await, healthy().but("permissions", &[&warning]));
}

#[tokio::test]
async fn permissions_of_roles_count_as_those_of_the_group() {
    let on = bare();
    let view = reference(&on, "view", "name", "default");
    on.grid.edit(|admin| {
        admin.create("adminrole", json!({"name": "delegations"})).unwrap();
        let permission =
            json!({"role": "delegations", "permission": "WRITE", "resource_type": "VIEW", "object": view});
        admin.create("permission", permission).unwrap();
    });
    edit(&on, "admingroup", "name", GROUP, json!({"roles": ["delegations"]}));
    assert_eq!(looked(&on).await, healthy());
}

#[tokio::test]
async fn an_account_that_may_only_read_or_is_denied_the_zone_is_told_by_which_permission() {
    let lacking = |why: &str| {
        let line = format!(
            "error cloud.example.com write-permission: the account may not write the delegation: {why} -> give it {WANTED} at Administration > Administrators > Permissions"
        );
        healthy().but("write-permission", &[&line])
    };
    let on = bare();
    permit(&on, json!({"permission": "READ", "resource_type": "ZONE"}));
    assert_eq!(looked(&on).await, lacking("a permission for the whole grid only lets the account read it"));
    let on = stage();
    let parent = on.grid.edit(|admin| admin.zone_reference("example.com", "default")).unwrap();
    permit(&on, json!({"permission": "DENY", "resource_type": "ZONE", "object": parent}));
    assert_eq!(looked(&on).await, lacking("a permission for its parent zone denies the account it"));
    let on = bare();
    permit(&on, json!({"permission": "READ", "resource_type": "MEMBER"}));
    assert_eq!(looked(&on).await, lacking("no permission of the account speaks of it"));
}

#[tokio::test]
async fn a_permission_for_the_parent_alone_is_enough_to_change_a_delegation_and_perhaps_not_to_make_one() {
    let on = bare();
    let parent = on.grid.edit(|admin| admin.zone_reference("example.com", "default")).unwrap();
    permit(&on, json!({"permission": "WRITE", "resource_type": "ZONE", "object": parent}));
    let line = format!(
        "unknown cloud.example.com write-permission: the account may write the parent zone; whether that is enough to make a delegation in it, the vendor's guide does not say -> wait for the first write, or give {WANTED} at Administration > Administrators > Permissions"
    );
    assert_eq!(looked(&on).await, healthy().but("write-permission", &[&line]));
    on.add_zone(&[(EU, "192.0.2.53")], json!({}));
    on.grid.restart_services();
    let there =
        format!("ok cloud.example.com delegation: it has name servers {EU}; this cluster is among them");
    assert_eq!(looked(&on).await, healthy().but("delegation", &[&there]).but("hidden-records", &[]));
}

#[tokio::test]
async fn permissions_that_contradict_each_other_tell_nothing() {
    let on = stage();
    let view = reference(&on, "view", "name", "default");
    permit(&on, json!({"permission": "READ", "resource_type": "ZONE", "object": view}));
    let line = "unknown cloud.example.com write-permission: the permissions for DNS view default contradict each other; which of them counts depends on the order of roles -> leave one of them at Administration > Administrators > Permissions";
    assert_eq!(looked(&on).await, healthy().but("write-permission", &[line]));
}

#[tokio::test]
async fn inferred_permissions_that_the_account_may_not_see_are_unknown() {
    let on = stage();
    delete(&on, "permission", "group", GROUP);
    let line = "unknown permissions: the grid shows the account no permission of its group or roles, although it may log in -> look at Administration > Administrators > Permissions as a superuser";
    let expected = healthy().but("permissions", &[line]).but("write-permission", &[]);
    assert_eq!(looked(&on).await, expected);
}

#[tokio::test]
async fn a_restart_of_services_takes_permissions_of_its_own() {
    let on = stage_with(builder(guest()), Wanted { restarts: true, ..Wanted::default() });
    let restart = "ok restart: no restart of the DNS service is waiting; gslb-bridge restarts it where that is needed (INFOBLOX_RESTART_POLICY=if-needed)";
    let allowed = "ok permissions: the account may write nothing beyond the zones that it works in";
    let lacking = "error restart-permission: INFOBLOX_RESTART_POLICY is if-needed, and the account may not restart the DNS service: that takes Read-only on the members and Read/Write on the DNS view -> give both at Administration > Administrators > Permissions, or set INFOBLOX_RESTART_POLICY to never";
    let expected = healthy().but("restart", &[restart]);
    assert_eq!(looked(&on).await, expected.but("permissions", &[allowed, lacking]));
    permit(&on, json!({"permission": "READ", "resource_type": "MEMBER"}));
    let view = reference(&on, "view", "name", "default");
    permit(&on, json!({"permission": "WRITE", "resource_type": "VIEW", "object": view}));
    let may = "ok restart-permission: the account may restart the DNS service";
    assert_eq!(looked(&on).await, expected.but("permissions", &[allowed, may]));
}
