//! Views, attributes and restarts.

use gslb_mocks::wapi::{Fault, RestartMode};
use serde_json::json;

use super::{builder, delete, edit, guest, healthy, looked, stage, stage_with};
use crate::stage::{EU, Wanted};

#[tokio::test]
async fn the_view_must_be_there_and_enabled_and_the_others_are_named() {
    let on = stage_with(builder(guest()).view("internal"), Wanted::default());
    let both = "ok view: DNS view default is there; the account also sees internal";
    assert_eq!(looked(&on).await, healthy().but("view", &[both]));
    edit(&on, "view", "name", "default", json!({"disable": true}));
    let disabled = "error view: DNS view default is disabled, so nothing in it is served -> clear Disable at Data Management > DNS > Zones > default > Edit, or set INFOBLOX_DNS_VIEW to another view";
    assert_eq!(looked(&on).await, healthy().but("view", &[disabled]));
}

#[tokio::test]
async fn a_view_that_is_not_there_is_an_error_and_what_is_in_it_unknown() {
    let on = stage();
    let wanted = Wanted { view: "Default", ..Wanted::default() };
    let provider = on.another(wanted);
    let report = super::Report::of(
        &gslb_provider_contract::Observe::inspect(&provider, &super::only(crate::stage::eu())).await,
    );
    let says = "Infoblox at 127.0.0.1 says: View Default not found; set INFOBLOX_DNS_VIEW to the name of a DNS view that the account may see";
    let expected = healthy()
        .but("view", &["error view: there is no DNS view Default, or the account may not see it; it sees default -> set INFOBLOX_DNS_VIEW to the exact name of a view, or let the account read this one"])
        .but("permissions", &["unknown permissions: the account has permissions for single views or zones, and which ones these are cannot be told, as not all views and zones could be read -> look at Administration > Administrators > Permissions for more than Read/Write on All Zones of DNS view Default"])
        .but("parent-zone", &["error cloud.example.com parent-zone: DNS view Default has no zone example.com, or the account may not see it; there is example.com in view default -> create the parent zone there, set INFOBLOX_DNS_VIEW to the view that has it, or let the account read it"])
        .but("other-views", &[])
        .but("dnssec", &[&format!("unknown cloud.example.com dnssec: whether there is a DS record for it could not be read: {says} -> correct that, and check again")])
        .but("delegation", &[&format!("unknown cloud.example.com delegation: the delegation could not be read: {says} -> correct that, and check again")])
        .but("hidden-records", &[])
        .but("write-permission", &["unknown cloud.example.com write-permission: the account has permissions for single views or zones, and which ones these are cannot be told, as not all views and zones could be read -> correct what kept them from being read; it takes Read/Write on All Zones of DNS view Default"]);
    assert_eq!(report, expected);
}

#[tokio::test]
async fn the_attribute_that_keeps_writers_apart_must_be_a_text_for_all_objects() {
    let on = stage();
    let change = |fields| edit(&on, "extensibleattributedef", "name", "GslbBridgeRevision", fields);
    change(json!({"type": "INTEGER"}));
    let number = "error revision-attribute: GslbBridgeRevision is of type INTEGER, which refuses the values that every write would set -> have a superuser delete it and add it anew with type String at Administration > Extensible Attributes";
    assert_eq!(looked(&on).await, healthy().but("revision-attribute", &[number]));
    change(json!({"type": "STRING", "allowed_object_types": ["Network"]}));
    let restricted = "unknown revision-attribute: GslbBridgeRevision is restricted to objects of type Network; whether delegated zones are among them cannot be told -> lift the restriction of GslbBridgeRevision at Administration > Extensible Attributes > GslbBridgeRevision > Edit";
    assert_eq!(looked(&on).await, healthy().but("revision-attribute", &[restricted]));
    on.grid
        .edit(|admin| admin.create("extensibleattributedef", json!({"name": "Site", "type": "STRING"})))
        .unwrap();
    delete(&on, "extensibleattributedef", "name", "GslbBridgeRevision");
    let undefined = "warning revision-attribute: GslbBridgeRevision is not defined: of two clusters that write at once, one writes over the other and puts back what was lost -> have a superuser add GslbBridgeRevision of type String at Administration > Extensible Attributes, neither required nor restricted to object types";
    assert_eq!(looked(&on).await, healthy().but("revision-attribute", &[undefined]));
    delete(&on, "extensibleattributedef", "name", "Site");
    let unseen = "unknown revision-attribute: the grid shows the account no definition of an extensible attribute, so whether GslbBridgeRevision is defined, or an attribute is mandatory, is not known -> have a superuser look at Administration > Extensible Attributes";
    let expected = healthy().but("revision-attribute", &[unseen]);
    assert_eq!(looked(&on).await, expected.but("mandatory-attributes", &[]));
}

/// [inferred]: which object types of a definition mean zones.
#[tokio::test]
async fn inferred_attributes_that_must_be_set_on_zones_are_named() {
    let on = stage();
    for (name, types) in
        [("Owner", json!([])), ("Rack", json!(["Network"])), ("Zone owner", json!(["AuthZone"]))]
    {
        let definition =
            json!({"name": name, "type": "STRING", "flags": "LM", "allowed_object_types": types});
        on.grid.edit(|admin| admin.create("extensibleattributedef", definition)).unwrap();
    }
    let line = "warning mandatory-attributes: Owner, Zone owner must be set on zones, and gslb-bridge does not set it; NIOS 9.0 asks for that in Grid Manager only, older releases may refuse what is new -> if they do, clear Required at Administration > Extensible Attributes, or restrict the attribute to other object types";
    assert_eq!(looked(&on).await, healthy().but("mandatory-attributes", &[line]));
}

/// [inferred]: `needed` is YES or NO.
#[tokio::test]
async fn inferred_a_restart_that_waits_is_told_with_the_member() {
    let on = stage();
    on.grid.set_restart_mode(RestartMode::Manual);
    on.add_zone(&[(EU, "192.0.2.53")], json!({}));
    let waits = "warning restart: the DNS service of gm.example.com waits for a restart, so what was changed is not served yet; gslb-bridge never does it (INFOBLOX_RESTART_POLICY=never), so a new delegation is served after the next restart by others -> restart it with the Restart banner of Grid Manager or at Grid > Grid Manager > Restart Services";
    let there =
        format!("ok cloud.example.com delegation: it has name servers {EU}; this cluster is among them");
    let expected = healthy().but("delegation", &[&there]).but("hidden-records", &[]);
    assert_eq!(looked(&on).await, expected.but("restart", &[waits]));
    on.grid
        .faults()
        .inject(Fault::Refuse("Unknown object type (x)").on_path("/grid:servicerestart:request?"));
    let untold = "unknown restart: the grid does not tell the account whether a restart of the DNS service is waiting; gslb-bridge never does it (INFOBLOX_RESTART_POLICY=never), so a new delegation is served after the next restart by others -> let the account read the members, or look at the Restart banner of Grid Manager";
    assert_eq!(looked(&on).await, expected.but("restart", &[untold]));
}
