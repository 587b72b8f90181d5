//! Sets of records that others ask for: what is sent, and what survives.

use std::collections::BTreeSet;

use gslb_core::edit::Traced;
use gslb_core::name::DomainName;
use gslb_core::sets::{ObservedSets, RecordSet, SetPlan, SetPolicy, SetRefusal, SetRequest, names_of, plan};
use gslb_mocks::wapi::Fault;
use gslb_provider_contract::{Disposition, Provider, ProviderError, RecordSets};
use serde_json::{Value, json};

use crate::stage::{OnGrid, USER, Wanted, builder};

const CLAIM: &str = "GslbBridgeClaim";

fn with_attributes() -> OnGrid {
    OnGrid::with(builder().attribute(CLAIM).attribute("GslbBridgeChallenge"), Wanted::default())
}

fn set(name: &str, rtype: &str, ttl: i64, data: &[&str]) -> RecordSet {
    let data: Vec<_> = data.iter().map(|datum| (*datum).to_owned()).collect();
    RecordSet::parse(&format!("{name}.example.com"), rtype, ttl, &data).unwrap()
}

fn domain() -> DomainName {
    DomainName::parse("example.com").unwrap()
}

fn create(sets: &[RecordSet]) -> SetRequest {
    SetRequest { creates: sets.to_vec(), ..SetRequest::default() }
}

fn update(before: RecordSet, after: RecordSet) -> SetRequest {
    SetRequest { updates: vec![(before, after)], ..SetRequest::default() }
}

fn delete(sets: &[RecordSet]) -> SetRequest {
    SetRequest { deletes: sets.to_vec(), ..SetRequest::default() }
}

fn policy() -> SetPolicy {
    SetPolicy {
        domains: vec![domain()],
        claim: "webhook/eu".parse().unwrap(),
        adopted: BTreeSet::new(),
        own_sets: 0,
        max_deleted_percent: 100,
    }
}

async fn planned(on: &OnGrid, request: SetRequest, policy: &SetPolicy) -> SetPlan {
    let (wishes, refused) = request.into_wishes();
    let observed = on.provider.read_sets(&names_of(&wishes)).await.unwrap();
    plan(wishes, refused, &observed, policy)
}

/// Reads, plans, makes. Everything that is asked for is done.
async fn make(on: &OnGrid, request: SetRequest) {
    let plan = planned(on, request, &policy()).await;
    assert_eq!(plan.refusals, []);
    for (_, change) in &plan.changes {
        on.provider.apply_set(change).await.unwrap();
    }
}

async fn listed(on: &OnGrid) -> ObservedSets {
    on.provider.list_sets(&domain()).await.unwrap()
}

/// Every set in words.
async fn shown(on: &OnGrid) -> Vec<String> {
    let sets = listed(on).await;
    let sets = sets.iter().flat_map(|(name, sets)| sets.iter().map(move |(rtype, set)| (name, rtype, set)));
    sets.map(|(name, rtype, set)| {
        let data: Vec<_> = set.records.keys().map(ToString::to_string).collect();
        let ttl = set.ttl().map(|ttl| format!(" {}", ttl.as_secs())).unwrap_or_default();
        let ours = if set.is_claimed_by(&policy().claim) { " ours" } else { "" };
        format!("{rtype} {name}{ttl} {}{ours}", data.join(" "))
    })
    .collect()
}

fn all() -> Vec<RecordSet> {
    vec![
        set("www", "A", 30, &["192.0.2.1", "192.0.2.2"]),
        set("www", "AAAA", 0, &["2001:db8::1"]),
        set("alias", "CNAME", 300, &["lb.example.net"]),
        set("a-www", "TXT", 0, &["\"heritage=external-dns,external-dns/owner=eu\""]),
        set("spf", "TXT", 0, &["v=spf1 -all", "x y"]),
        set("ns-eu", "A", 0, &["192.0.2.53"]),
        set("glb", "NS", 30, &["ns-eu.example.com"]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_written_with_a_claim_and_read_back_as_it_was_asked_for() {
    for on in [with_attributes(), OnGrid::new()] {
        make(&on, create(&all())).await;
        let expected = [
            r#"TXT a-www.example.com "heritage=external-dns,external-dns/owner=eu" ours"#,
            "CNAME alias.example.com 300 lb.example.net ours",
            "NS glb.example.com 30 ns-eu.example.com ours",
            "A ns-eu.example.com 192.0.2.53 ours",
            r#"TXT spf.example.com "v=spf1 -all" "x y" ours"#,
            "A www.example.com 30 192.0.2.1 192.0.2.2 ours",
            "AAAA www.example.com 2001:db8::1 ours",
        ];
        assert_eq!(shown(&on).await, expected);
        let writes = on.writes().len();
        make(&on, create(&all())).await;
        assert_eq!(on.writes().len(), writes, "what is as wanted is not written");
        make(&on, delete(&all())).await;
        assert_eq!(shown(&on).await, [""; 0]);
        on.provider.close().await.unwrap();
        assert_eq!((on.grid.open_sessions(), on.grid.bad_logins()), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_set_is_one_transaction_in_which_nothing_goes_before_something_comes() {
    let on = with_attributes();
    let before = set("www", "A", 30, &["192.0.2.1", "192.0.2.2"]);
    make(&on, create(std::slice::from_ref(&before))).await;
    let mark = on.grid.journal().mark();
    make(&on, update(before, set("www", "A", 60, &["192.0.2.2", "192.0.2.3"]))).await;
    let writes: Vec<_> = on.grid.journal().since(mark).into_iter().filter(|entry| entry.is_write()).collect();
    let [write] = writes.as_slice() else { panic!("{writes:?}") };
    let operations: Vec<Value> = serde_json::from_str(write.body.as_deref().unwrap()).unwrap();
    let methods: Vec<_> = operations.iter().map(|operation| operation["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["POST", "GET", "PUT", "GET", "DELETE", "GET"]);
    assert_eq!(operations[2]["data"], json!({"ttl": 60, "use_ttl": true}));
    assert_eq!(operations[3]["data"][format!("*{CLAIM}")], "webhook/eu");
    assert_eq!(operations[5]["args"]["_max_results"], -2);
    assert_eq!(shown(&on).await, ["A www.example.com 60 192.0.2.2 192.0.2.3 ours"]);
}

/// C030.
#[tokio::test(flavor = "multi_thread")]
async fn a_ttl_is_taken_back_to_what_the_zone_passes_down_and_then_there_is_silence() {
    let on = OnGrid::new();
    let before = set("www", "A", 30, &["192.0.2.1"]);
    make(&on, create(std::slice::from_ref(&before))).await;
    let after = set("www", "A", 0, &["192.0.2.1"]);
    make(&on, update(before.clone(), after.clone())).await;
    assert_eq!(on.body("PUT"), json!({"use_ttl": false}));
    assert_eq!(shown(&on).await, ["A www.example.com 192.0.2.1 ours"]);
    let writes = on.writes().len();
    make(&on, update(before, after)).await;
    assert_eq!(on.writes().len(), writes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_that_leads_elsewhere_keeps_its_object_and_what_others_wrote_there() {
    let on = OnGrid::with(
        builder().attribute(CLAIM).attribute("GslbBridgeChallenge").attribute("Site"),
        Wanted::default(),
    );
    let before = set("alias", "CNAME", 0, &["one.example.net"]);
    make(&on, create(std::slice::from_ref(&before))).await;
    let alias = |on: &OnGrid| {
        let found = on
            .grid
            .edit(|admin| admin.find("record:cname", &[("_return_fields", "canonical,extattrs,comment")]));
        found.unwrap().remove(0)
    };
    let reference = alias(&on)["_ref"].as_str().unwrap().to_owned();
    let theirs = json!({"extattrs+": {"Site": {"value": "Berlin"}}, "comment": "ticket 7"});
    on.grid.edit(|admin| admin.update(&reference, theirs)).unwrap();
    make(&on, update(before, set("alias", "CNAME", 0, &["two.example.net"]))).await;
    let now = alias(&on);
    assert_eq!(
        (&now["canonical"], &now["comment"], &now["extattrs"]["Site"]["value"]),
        (&json!("two.example.net"), &json!("ticket 7"), &json!("Berlin"))
    );
}

/// C052.
#[tokio::test(flavor = "multi_thread")]
async fn what_stands_beside_and_what_a_host_object_holds_is_never_touched() {
    let on = OnGrid::new();
    let manual =
        json!({"name": "www.example.com", "view": "default", "ipv4addr": "192.0.2.10", "comment": "manual"});
    on.grid.edit(|admin| admin.create("record:a", manual)).unwrap();
    let host =
        json!({"name": "app.example.com", "view": "default", "ipv4addrs": [{"ipv4addr": "192.0.2.20"}]});
    on.grid.edit(|admin| admin.create("record:host", host)).unwrap();
    let before = shown(&on).await;
    let requests = [
        create(&[set("www", "A", 0, &["198.51.100.10"])]),
        update(set("www", "A", 0, &["192.0.2.10"]), set("www", "A", 0, &["198.51.100.10"])),
        delete(&[set("www", "A", 0, &["192.0.2.10"])]),
        delete(&[set("app", "A", 0, &["192.0.2.20"])]),
        create(&[set("app", "A", 0, &["198.51.100.10"])]),
    ];
    for request in requests {
        let plan = planned(&on, request, &policy()).await;
        assert_eq!((plan.changes.len(), plan.refusals.len()), (0, 1), "{plan:?}");
    }
    assert_eq!(shown(&on).await, before);
    // Ours beside it comes and goes alone.
    let ours = json!({"name": "www.example.com", "view": "default", "ipv4addr": "192.0.2.11", "comment": "gslb-bridge: webhook/eu"});
    on.grid.edit(|admin| admin.create("record:a", ours)).unwrap();
    let both = set("www", "A", 0, &["192.0.2.10", "192.0.2.11"]);
    make(&on, update(both, set("www", "A", 0, &["192.0.2.10"]))).await;
    assert_eq!(shown(&on).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moved_between_plan_and_write_is_stale_and_nothing_is_written() {
    let on = with_attributes();
    let before = set("www", "A", 0, &["192.0.2.1"]);
    make(&on, create(std::slice::from_ref(&before))).await;
    let plan = planned(&on, delete(&[before]), &policy()).await;
    let ours = json!({"name": "www.example.com", "view": "default", "ipv4addr": "192.0.2.2",
        "extattrs": {CLAIM: {"value": "webhook/us"}}});
    on.grid.edit(|admin| admin.create("record:a", ours)).unwrap();
    let writes = on.writes().len();
    let error = on.provider.apply_set(&plan.changes[0].1).await.unwrap_err();
    assert!(matches!(error, ProviderError::Stale { .. }), "{error}");
    assert_eq!(on.writes().len(), writes);
}

/// C046, C047.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_settled_by_reading_and_a_write_is_never_sent_twice() {
    let posts = |on: &OnGrid| on.writes().iter().filter(|method| *method == "POST").count();
    let make_one = async |on: &OnGrid| {
        let plan = planned(on, create(&[set("www", "A", 0, &["192.0.2.1"])]), &policy()).await;
        // The definitions are known before the fault.
        on.provider.apply_set(&plan.changes[0].1).await
    };
    let on = OnGrid::new();
    make(&on, create(&[set("first", "A", 0, &["192.0.2.9"])])).await;
    on.grid.faults().inject(Fault::ResetAfterCommit.on_path("/request").after(2).times(1));
    assert_eq!(make_one(&on).await.unwrap().disposition, Disposition::Applied);
    assert_eq!(posts(&on), 2);

    let on = OnGrid::new();
    make(&on, create(&[set("first", "A", 0, &["192.0.2.9"])])).await;
    on.grid.faults().inject(Fault::ResetBeforeCommit.on_path("/request").after(2).times(1));
    let error = make_one(&on).await.unwrap_err();
    assert!(matches!(error, ProviderError::Uncertain { .. }), "{error}");
    assert_eq!(
        error.to_string().split(" (").next(),
        Some("it is not known whether the last change of A www.example.com was made")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_needs_approval_is_told_as_such() {
    let on = with_attributes();
    make(&on, create(&[set("first", "A", 0, &["192.0.2.9"])])).await;
    on.grid.set_needs_approval(USER, true);
    let plan = planned(&on, create(&[set("www", "A", 0, &["192.0.2.1"])]), &policy()).await;
    let receipt = on.provider.apply_set(&plan.changes[0].1).await.unwrap();
    assert!(matches!(receipt.disposition, Disposition::AwaitingApproval { .. }), "{receipt:?}");
    assert_eq!(shown(&on).await, ["A first.example.com 192.0.2.9 ours"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_delegated_that_would_hide_something() {
    let on = OnGrid::new();
    make(&on, create(&[set("ns1", "A", 0, &["192.0.2.53"]), set("app.glb", "A", 0, &["192.0.2.1"])])).await;
    let plan = planned(&on, create(&[set("glb", "NS", 0, &["ns1.example.com"])]), &policy()).await;
    let error = on.provider.apply_set(&plan.changes[0].1).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "glb.example.com is not delegated: its parent zone holds 1 object (record:a app.glb.example.com) at or beneath that name, which would disappear from DNS; move or delete them first"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_name_servers_of_a_delegation_come_and_go_and_a_foreign_one_is_left() {
    let on = with_attributes();
    let servers = [set("ns1", "A", 0, &["192.0.2.53"]), set("ns2", "A", 0, &["192.0.2.54"])];
    let one = set("glb", "NS", 30, &["ns1.example.com"]);
    make(&on, create(&[servers.as_slice(), std::slice::from_ref(&one)].concat())).await;
    let both = set("glb", "NS", 30, &["ns1.example.com", "ns2.example.com"]);
    make(&on, update(one, both.clone())).await;
    let zone = on.grid.delegation("glb.example.com", "default").unwrap();
    let entries: Vec<_> = zone.delegate_to.into_iter().map(|server| (server.name, server.address)).collect();
    let entry = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    assert_eq!(entries, [entry("ns1.example.com", "192.0.2.53"), entry("ns2.example.com", "192.0.2.54")]);
    make(&on, delete(&[both])).await;
    assert!(on.grid.delegations().is_empty());

    on.add_zone(&[("ns1.isp.example", "203.0.113.53")], json!({}));
    let plan = planned(&on, delete(&[set("cloud", "NS", 0, &["ns1.isp.example"])]), &policy()).await;
    assert!(matches!(plan.refusals.as_slice(), [SetRefusal::Foreign { .. }]), "{plan:?}");
}

/// C048; C066.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_is_complete_or_an_error() {
    let on = OnGrid::new();
    on.grid.edit(|admin| {
        for number in 0..1_017 {
            let record =
                json!({"name": format!("h{number}.example.com"), "view": "default", "ipv4addr": "192.0.2.1"});
            admin.create("record:a", record).unwrap();
        }
    });
    assert_eq!(listed(&on).await.len(), 1_017);
    on.grid.faults().inject(Fault::Unavailable.on_path("_page_id"));
    on.provider.list_sets(&domain()).await.unwrap_err();
    on.grid.faults().clear();

    let on = OnGrid::new();
    assert!(listed(&on).await.is_empty());
    on.grid.edit(|admin| {
        let zone = admin.zone_reference("example.com", "default").unwrap();
        admin.delete(&zone).unwrap();
    });
    let error = on.provider.list_sets(&domain()).await.unwrap_err();
    assert!(error.to_string().contains("no authoritative zone"), "{error}");
    let fresh = on.another(Wanted::default());
    fresh.read_sets(&[domain()].into()).await.unwrap_err();
}

/// A reply is read up to a bound.
#[tokio::test]
async fn names_that_hold_too_much_to_be_read_together_are_read_one_by_one() {
    let on = OnGrid::new();
    let name = |number: usize| DomainName::parse(&format!("h{number}.example.com")).unwrap();
    on.grid.edit(|admin| {
        for (host, address) in (0..4).flat_map(|host| (1..=200).map(move |address| (host, address))) {
            let record = json!({"name": name(host), "view": "default", "ipv4addr": format!("192.0.2.{address}"),
                "ttl": 30, "use_ttl": true, "comment": "ä".repeat(256)});
            admin.create("record:a", record).unwrap();
        }
    });
    let found = on.provider.read_sets(&(0..4).map(name).collect()).await.unwrap();
    let records = found.values().flat_map(|sets| sets.values()).map(|set| set.records.len());
    assert_eq!(records.collect::<Vec<_>>(), [200; 4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_over_gets_our_claim_when_it_changes() {
    let on = with_attributes();
    let record = json!({"name": "www.example.com", "view": "default", "ipv4addr": "192.0.2.1"});
    on.grid.edit(|admin| admin.create("record:a", record)).unwrap();
    let before = set("www", "A", 0, &["192.0.2.1"]);
    let adopting = SetPolicy { adopted: [before.key.clone()].into(), ..policy() };
    let plan = planned(&on, update(before, set("www", "A", 30, &["192.0.2.1"])), &adopting).await;
    let [(_, change)] = plan.changes.as_slice() else { panic!("{plan:?}") };
    on.provider.apply_set(change).await.unwrap();
    assert_eq!(shown(&on).await, ["A www.example.com 30 192.0.2.1 ours"]);
    assert!(change.change().shows_in(&listed(&on).await.into_values().next().unwrap()));
}

/// Where a text is cut is no difference to a reader, and the grid keeps both.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_text_that_says_the_same_as_ours_survives_whatever_is_asked_of_ours() {
    for theirs_first in [true, false] {
        let on = with_attributes();
        let (before, after) = (set("note", "TXT", 0, &["y"]), set("note", "TXT", 30, &["y"]));
        let theirs = json!({"name": "note.example.com", "view": "default", "text": r#""" "y""#});
        if theirs_first {
            on.grid.edit(|admin| admin.create("record:txt", theirs.clone())).unwrap();
            let ours = json!({"name": "note.example.com", "view": "default", "text": "y",
                "extattrs": {CLAIM: {"value": "webhook/eu"}}});
            on.grid.edit(|admin| admin.create("record:txt", ours)).unwrap();
        } else {
            make(&on, create(std::slice::from_ref(&before))).await;
            on.grid.edit(|admin| admin.create("record:txt", theirs)).unwrap();
        }
        let writes = on.writes().len();
        for request in [delete(std::slice::from_ref(&before)), update(before, after)] {
            let plan = planned(&on, request, &policy()).await;
            assert_eq!(plan.changes, []);
            assert_eq!(
                plan.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(),
                [
                    r#"TXT note.example.com is refused: it has "y" twice, and not with the same claim and TTL; delete one of them by hand"#
                ]
            );
        }
        assert_eq!(on.writes().len(), writes);
        let texts = on.grid.edit(|admin| admin.find("record:txt", &[])).unwrap();
        assert_eq!(texts.len(), 2);
    }
}

/// The other one writes between our look and our write, where nothing but the grid sees both.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_owners_that_make_one_set_at_once_one_is_told_and_leaves_nothing() {
    let on = with_attributes();
    make(&on, create(&[set("first", "A", 0, &["192.0.2.9"])])).await;
    let race = |address: &str| set("race", "A", 0, &[address]);
    let theirs = SetPolicy { claim: "webhook/us".parse().unwrap(), ..policy() };
    let mut told = vec![];
    for _ in 0..5 {
        let (one, other) = (
            planned(&on, create(&[race("192.0.2.1")]), &policy()).await,
            planned(&on, create(&[race("192.0.2.2")]), &theirs).await,
        );
        on.grid.faults().inject(Fault::Slow(std::time::Duration::from_millis(20)));
        let second = on.another(Wanted::default());
        let (one, other) =
            tokio::join!(on.provider.apply_set(&one.changes[0].1), second.apply_set(&other.changes[0].1));
        on.grid.faults().clear();
        let errors: Vec<ProviderError> = [one, other].into_iter().filter_map(Result::err).collect();
        let [error] = errors.as_slice() else { panic!("{errors:?}") };
        told.push(matches!(error, ProviderError::Stale { .. }));
        let records = on.grid.edit(|admin| admin.find("record:a", &[("name", "race.example.com")])).unwrap();
        assert_eq!(records.len(), 1);
        on.grid.edit(|admin| admin.delete(records[0]["_ref"].as_str().unwrap())).unwrap();
    }
    assert_eq!(told, [true; 5]);
}
