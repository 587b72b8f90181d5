//! What a write of ours took from others is put back, and told.

use gslb_core::changelog::Amends;
use gslb_core::delegation::DesiredDelegation;
use gslb_core::history::History;
use gslb_mocks::wapi::{Fault, Rules};
use gslb_provider_contract::battery::Stage;
use gslb_provider_contract::{Observe, Provider, ProviderError, Receipt};
use serde_json::{Value, json};

use crate::stage::{EU, OnGrid, US, USER, Wanted, ZONE, builder, scope, wants, withdraws};

const REVISION: &str = "GslbBridgeRevision";

/// Somebody edits the zone between our look-ups and our write.
async fn edited_under_way(
    on: &OnGrid,
    desired: &DesiredDelegation,
    fields: Value,
) -> Result<Receipt, ProviderError> {
    let change = on.change(desired).await;
    on.grid.turns().begin(0, &[USER, "nobody"]);
    let edit = async {
        on.grid.turns().let_in(USER, 2).await;
        on.edit_zone(fields);
        on.grid.turns().leave("nobody");
    };
    let (receipt, ()) = tokio::join!(on.provider.apply(&change), edit);
    on.grid.turns().leave(USER);
    receipt
}

fn joined() -> Value {
    json!({"delegate_to": [{"name": EU, "address": "192.0.2.53"}, {"name": US, "address": "198.51.100.53"}]})
}

fn stored(on: &OnGrid) -> Value {
    let fields = [("fqdn", ZONE), ("_return_fields", "delegate_to")];
    on.grid.edit(|admin| admin.find("zone_delegated", &fields)).unwrap()[0]["delegate_to"].clone()
}

#[tokio::test]
async fn a_deletion_that_somebody_joined_meanwhile_is_made_good_with_all_that_stood_there() {
    let on = OnGrid::with(builder().attribute("Owner"), Wanted::default());
    let theirs = json!({"comment": "ticket 1", "extattrs": {"Owner": {"value": "dns"}}});
    on.add_zone(&[(EU, "192.0.2.53")], theirs);
    let receipt = edited_under_way(&on, &withdraws(), joined()).await.unwrap();
    assert_eq!(on.servers(), [(US.to_owned(), "198.51.100.53".to_owned())]);
    let zone = on.zone().unwrap();
    assert_eq!((zone.comment.as_str(), &zone.extattrs["Owner"]), ("ticket 1", &json!("dns")));
    let [Amends { lost, error: None }] = &receipt.amends[..] else { panic!("{:?}", receipt.amends) };
    assert_eq!(lost["delegate_to"], json!([{"name": US, "address": "198.51.100.53"}]));
}

#[tokio::test]
async fn a_deletion_that_cannot_be_made_good_at_once_is_tried_again() {
    for fault in [Fault::ResetBeforeCommit, Fault::ResetAfterCommit, Fault::Unavailable] {
        let on = OnGrid::new();
        on.add_zone(&[(EU, "192.0.2.53")], json!({}));
        on.grid.faults().inject(fault.on_method("POST").on_path("/zone_delegated").times(2));
        let receipt = edited_under_way(&on, &withdraws(), joined()).await.unwrap();
        assert_eq!(on.servers(), [(US.to_owned(), "198.51.100.53".to_owned())], "{fault:?}");
        assert_eq!(receipt.amends[0].error, None, "{fault:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_put_back_is_told_and_can_be_put_back_later() {
    let on = OnGrid::new();
    on.add_zone(&[(EU, "192.0.2.53")], json!({}));
    on.grid.faults().inject(Fault::Unavailable.on_method("POST").on_path("/zone_delegated"));
    let receipt = edited_under_way(&on, &withdraws(), joined()).await.unwrap();
    let [Amends { lost, error: Some(error) }] = &receipt.amends[..] else { panic!("{:?}", receipt.amends) };
    assert!(error.contains("HTTP 503"), "{error}");
    assert_eq!(on.zone(), None);
    on.heal().await;
    on.advance(600);
    for _ in 0..2 {
        on.provider.amend(&scope().zone, lost).await.unwrap();
        assert_eq!(on.servers(), [(US.to_owned(), "198.51.100.53".to_owned())]);
    }
}

#[tokio::test]
async fn a_name_server_group_and_a_lock_that_came_before_a_deletion_are_made_again() {
    let on = OnGrid::new();
    on.add_zone(&[(EU, "192.0.2.53")], json!({}));
    let group = json!({"ns_group": "dmz", "delegate_to": [], "comment": "ticket 2"});
    let receipt = edited_under_way(&on, &withdraws(), group).await.unwrap();
    let zone = on.zone().unwrap();
    assert_eq!((zone.ns_group.as_deref(), zone.comment.as_str()), (Some("dmz"), "ticket 2"));
    assert_eq!(receipt.amends.len(), 1);
}

/// F-61: every byte that is not ours.
#[tokio::test]
async fn members_and_order_of_foreign_entries_that_changed_under_way_are_as_their_writer_left_them() {
    let on = OnGrid::new();
    let entry = |name: &str, address: &str| json!({"name": name, "address": address});
    on.add_zone(&[("ns1.isp.example", "203.0.113.53"), (US, "198.51.100.53")], json!({}));
    let mut stealth = entry("ns1.isp.example", "203.0.113.53");
    stealth["stealth"] = true.into();
    let edit = json!({"delegate_to": [entry(US, "198.51.100.53"), stealth]});
    let receipt = edited_under_way(&on, &wants(&["192.0.2.53"]), edit).await.unwrap();
    assert_eq!(stored(&on), json!([entry(US, "198.51.100.53"), stealth, entry(EU, "192.0.2.53")]));
    assert_eq!(receipt.amends, [Amends { lost: json!({"delegate_to": [stealth]}), error: None }]);
    assert_eq!(on.writes(), ["PUT", "PUT"]);
}

#[tokio::test]
async fn what_a_writer_took_away_under_way_stays_away() {
    let on = OnGrid::new();
    on.add_zone(&[("ns1.isp.example", "203.0.113.53"), (US, "198.51.100.53")], json!({}));
    let edit = json!({"delegate_to": [{"name": US, "address": "198.51.100.53"}]});
    let receipt = edited_under_way(&on, &wants(&["192.0.2.53"]), edit).await.unwrap();
    assert_eq!(on.servers().len(), 2, "{:?}", on.servers());
    let lost = json!({"removed": [{"name": "ns1.isp.example", "address": "203.0.113.53"}]});
    assert_eq!(receipt.amends, [Amends { lost, error: None }]);
}

#[tokio::test]
async fn a_change_that_the_grid_acknowledges_and_does_not_keep_is_an_error_and_is_sent_once() {
    let on = OnGrid::new();
    on.add_zone(&[(US, "198.51.100.53")], json!({}));
    on.grid.set_rules(Rules { forgets_updates: true, ..Rules::default() });
    let failed = on.pass(&wants(&["192.0.2.53"])).await.unwrap_err();
    assert_eq!(failed.reason(), "UnexpectedAnswer");
    assert!(failed.to_string().contains("does not hold it"), "{failed}");
    assert_eq!(on.writes(), ["PUT"]);
}

#[tokio::test]
async fn an_attribute_that_the_grid_refuses_stops_no_write() {
    let definition = |on: &OnGrid| {
        let found =
            on.grid.edit(|admin| admin.find("extensibleattributedef", &[("name", REVISION)])).unwrap();
        found[0]["_ref"].as_str().unwrap().to_owned()
    };
    let spoil: [fn(&OnGrid, &str); 2] = [
        |on, definition| {
            drop(on.grid.edit(|admin| admin.update(definition, json!({"type": "INTEGER"}))).unwrap())
        },
        |on, definition| on.grid.edit(|admin| admin.delete(definition)).unwrap(),
    ];
    for spoil in spoil {
        let on = OnGrid::with(builder().attribute(REVISION), Wanted::default());
        on.add_zone(&[(US, "198.51.100.53")], json!({}));
        on.pass(&wants(&["192.0.2.53"])).await.unwrap();
        // What an operator does when the type was wrong: the values go with the definition.
        on.edit_zone(json!({"extattrs": {}}));
        spoil(&on, &definition(&on));
        on.pass(&wants(&["192.0.2.54"])).await.unwrap();
        assert!(on.servers().contains(&(EU.to_owned(), "192.0.2.54".to_owned())));
        on.pass(&wants(&["192.0.2.55"])).await.unwrap();
        assert_eq!(on.writes(), ["PUT", "PUT", "PUT", "PUT"], "the refused one is tried once");
        on.delete_zone();
        on.advance(600);
        spoilt_again(&on).await;
    }
}

/// A zone is made without the attribute, too.
async fn spoilt_again(on: &OnGrid) {
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    assert_eq!(on.servers(), [(EU.to_owned(), "192.0.2.53".to_owned())]);
    assert!(on.provider.observe(&scope()).await.is_ok());
}

/// The issue of the first TTL: whoever takes it away again is heeded by every cluster, and after a restart; where no
/// attribute marks a write, by the run that gave it.
#[tokio::test]
async fn a_first_ttl_is_given_once_by_all_clusters_together_and_without_the_attribute_once_by_each_run() {
    for (grid, by_another_run) in [(builder().attribute(REVISION), 0), (builder(), 1)] {
        let on = OnGrid::with(grid, Wanted::default());
        on.add_zone(&[(EU, "192.0.2.53")], json!({"use_delegated_ttl": false}));
        let wanted = wants(&["192.0.2.53"]);
        let given = on.change(&wanted).await;
        on.provider.apply(&given).await.unwrap();
        assert_eq!(on.zone().unwrap().delegated_ttl, Some(30));
        on.edit_zone(json!({"use_delegated_ttl": false}));
        let now = jiff::Timestamp::UNIX_EPOCH;
        let observed = on.another(Wanted::default()).observe(&scope()).await.unwrap();
        let changes =
            |history: History| gslb_core::plan::plan(&wanted, &observed, &history, now).changes.len();
        let own_run = History::default().wrote(wanted.claimant(), given.change(), now);
        assert_eq!([changes(own_run), changes(History::default())], [0, by_another_run]);
    }
}
