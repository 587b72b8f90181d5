//! A careful guest: what others set at the object survives.

use gslb_core::delegation::Presence;
use gslb_provider_contract::{Disposition, Provider, ProviderError};
use gslb_provider_infoblox::Operation;
use serde_json::json;

use crate::stage::{EU, OnGrid, PASSWORD, US, Wanted, ZONE, builder, credentials, wants, withdraws};

const REVISION: &str = "GslbBridgeRevision";

/// Conformance 71.
#[tokio::test]
async fn a_new_delegation_has_our_entry_a_ttl_a_comment_and_no_attributes() {
    let on = OnGrid::new();
    let receipt = on.pass(&wants(&["192.0.2.54", "192.0.2.53"])).await.unwrap();
    assert!(receipt.reference.starts_with("zone_delegated/"), "{receipt:?}");
    assert_eq!(receipt.disposition, Disposition::Applied);
    assert_eq!(receipt.read_back, Some(on.observe().await.unwrap()));
    assert_eq!(
        on.body("POST"),
        json!({"fqdn": ZONE, "view": "default", "zone_format": "FORWARD", "comment": "created by gslb-bridge",
            "delegate_to": [{"name": EU, "address": "192.0.2.53"}, {"name": EU, "address": "192.0.2.54"}],
            "delegated_ttl": 30, "use_delegated_ttl": true})
    );
    assert_eq!(on.writes(), ["POST"]);
}

/// Conformance 71, 107; F-61.
#[tokio::test]
async fn an_update_sends_the_server_list_only_and_every_other_setting_survives() {
    let on = OnGrid::with(builder().attribute("Owner"), Wanted::default());
    let theirs = json!({"comment": "ticket 4711", "extattrs": {"Owner": {"value": "dns team"}},
        "delegated_ttl": 60, "disable": true});
    on.add_zone(&[(US, "198.51.100.53"), ("ns1.isp.example", "203.0.113.53")], theirs);
    let before = on.zone().unwrap();
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    let fields: Vec<_> = on.body("PUT").as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["delegate_to"]);
    let after = on.zone().unwrap();
    assert_eq!(after.delegate_to.len(), 3);
    assert_eq!((after.comment, after.extattrs), (before.comment, before.extattrs));
    assert_eq!((after.delegated_ttl, after.disable), (Some(60), true));
}

#[tokio::test]
async fn what_others_put_into_their_entries_survives() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    on.edit_zone(json!({"delegate_to": [{"name": US, "address": "198.51.100.53", "stealth": true}]}));
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    let entries = &on.body("PUT")["delegate_to"];
    assert_eq!((&entries[0]["stealth"], &entries[1]["name"]), (&json!(true), &json!(EU)));
}

/// Conformance 71; F-62.
#[tokio::test]
async fn order_case_and_foreign_members_cause_no_write() {
    let on = OnGrid::new();
    let shuffled = [
        ("ns6.example.net", "2001:db8::1"),
        (EU, "192.0.2.54"),
        ("zz.example.net", "192.0.2.53"),
        ("aa.example.net", "192.0.2.53"),
        (EU, "192.0.2.53"),
    ];
    on.add_zone(&shuffled, json!({}));
    assert_eq!(on.planned(&wants(&["192.0.2.53", "192.0.2.54"])).await.changes, []);
    assert_eq!(on.writes(), Vec::<String>::new());
}

/// Conformance 71, 107; F-56.
#[tokio::test]
async fn a_zone_of_the_same_name_in_another_view_is_not_ours() {
    let builder = builder().view("Medium/High Trust").zone_auth("example.com", "Medium/High Trust");
    let on = OnGrid::with(builder, Wanted { view: "Medium/High Trust", ..Wanted::default() });
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    assert_eq!(on.observe().await.unwrap(), Presence::Absent);
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    assert_eq!(on.grid.delegation(ZONE, "Medium/High Trust").unwrap().delegate_to.len(), 1);
    on.pass(&wants(&["192.0.2.54"])).await.unwrap();
    on.pass(&withdraws()).await.unwrap();
    assert_eq!(on.grid.delegation(ZONE, "Medium/High Trust"), None);
    assert_eq!(on.servers(), [(US.to_owned(), "198.51.100.53".to_owned())]);
}

#[tokio::test]
async fn a_lock_set_after_the_plan_is_respected() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.edit_zone(json!({"locked": true}));
    let refused = on.provider.apply(&change).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Stale { .. }), "{refused:?}");
    let plan = on.planned(&wants(&["192.0.2.53"])).await;
    assert_eq!((plan.changes, plan.skipped[0].reason()), (vec![], "Locked"));
    assert_eq!(on.writes(), Vec::<String>::new());
}

/// F-59.
#[tokio::test]
async fn a_session_is_one_log_in_and_a_look_up_is_one_call() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    for _ in 0..5 {
        on.observe().await.unwrap();
    }
    assert_eq!((on.grid.open_sessions(), on.grid.journal().entries().len()), (1, 5));
    assert_eq!(on.grid.journal().connections(), 1);
    assert!(on.grid.journal().entries().iter().all(|entry| {
        entry.uri.contains("fqdn=cloud.example.com&view=default&_return_fields=")
            && entry.uri.contains("_max_results=")
    }));
    assert_eq!(*on.calls.0.lock().unwrap(), [(Operation::ZoneRead, true); 5]);
    on.provider.close().await.unwrap();
    assert_eq!(on.grid.open_sessions(), 0);
}

#[tokio::test]
async fn an_absence_is_confirmed_at_its_parent_once_in_ten_minutes_and_after_each_presence() {
    let on = OnGrid::new();
    let reads = |kind: &str| {
        let entries = on.grid.journal().entries();
        entries.iter().filter(|entry| entry.uri.contains(&format!("/{kind}?fqdn="))).count()
    };
    for _ in 0..5 {
        assert_eq!(on.observe().await.unwrap(), Presence::Absent);
    }
    assert_eq!((reads("zone_delegated"), reads("zone_auth")), (5, 1));
    on.advance(600);
    on.observe().await.unwrap();
    assert_eq!(reads("zone_auth"), 2);
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    on.observe().await.unwrap();
    on.delete_zone();
    on.observe().await.unwrap();
    assert_eq!((reads("zone_delegated"), reads("zone_auth")), (8, 3));
}

#[tokio::test]
async fn at_most_four_calls_are_in_flight() {
    let on = OnGrid::with(builder(), Wanted { credentials: credentials(PASSWORD), ..Wanted::default() });
    on.observe().await.unwrap();
    let scope = crate::stage::scope();
    let all = (0..20).map(|_| gslb_provider_contract::Observe::observe(&on.provider, &scope));
    for found in futures::future::join_all(all).await {
        assert_eq!(found.unwrap(), Presence::Absent);
    }
    assert!(on.grid.journal().connections() <= 4, "{} connections", on.grid.journal().connections());
}

/// F-61.
#[tokio::test]
async fn an_inherited_ttl_of_the_fleets_own_zone_is_set_once_and_nothing_else_is_sent() {
    let on = OnGrid::with(builder().attribute(REVISION), Wanted::default());
    on.add_zone(&[(EU, "192.0.2.53"), (US, "198.51.100.53")], json!({"use_delegated_ttl": false}));
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    let revision = on.zone().unwrap().extattrs[REVISION].clone();
    let body =
        json!({"delegated_ttl": 30, "use_delegated_ttl": true, "extattrs+": {REVISION: {"value": revision}}});
    assert_eq!(on.body("PUT"), body);
    assert_eq!(on.zone().unwrap().delegated_ttl, Some(30));
    assert_eq!(on.planned(&wants(&["192.0.2.53"])).await.changes, []);
    assert_eq!(on.writes(), ["PUT"]);
}

#[tokio::test]
async fn a_ttl_that_somebody_set_after_the_plan_is_not_overwritten() {
    let on = OnGrid::with(builder().attribute(REVISION), Wanted::default());
    on.add_zone(&[(EU, "192.0.2.53")], json!({"use_delegated_ttl": false}));
    let change = on.change(&wants(&["192.0.2.53"])).await;
    on.edit_zone(json!({"delegated_ttl": 60, "use_delegated_ttl": true}));
    let refused = on.provider.apply(&change).await.unwrap_err();
    assert!(matches!(refused, ProviderError::Stale { .. }), "{refused:?}");
    assert_eq!((on.zone().unwrap().delegated_ttl, on.writes()), (Some(60), vec![]));
}
