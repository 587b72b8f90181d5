//! Several views of one grid, and several grids: what happens in one leaves the others as they are.

use gslb_core::delegation::{DesiredDelegation, Presence};
use gslb_core::history::History;
use gslb_core::limits::ApprovedChange;
use gslb_core::plan::plan;
use gslb_mocks::wapi::{Delegation, GridBuilder};
use gslb_provider_contract::{Disposition, Observe, Provider, ProviderError, Receipt};
use gslb_provider_infoblox::Infoblox;
use jiff::Timestamp;
use serde_json::json;

use crate::stage::{EU, OnGrid, US, Wanted, ZONE, approve, builder, credentials, scope, wants, withdraws};

const INSIDE: &str = "192.0.2.53";
const OUTSIDE: &str = "203.0.113.53";

/// Two views that hold the parent zone.
fn two_views() -> GridBuilder {
    builder().view("external").zone_auth("example.com", "external")
}

async fn planned(provider: &Infoblox, desired: &DesiredDelegation) -> Vec<ApprovedChange> {
    let observed = provider.observe(&scope()).await.unwrap();
    approve(plan(desired, &observed, &History::default(), Timestamp::UNIX_EPOCH)).changes().to_vec()
}

/// Observe, plan, approve, apply all.
async fn pass(provider: &Infoblox, desired: &DesiredDelegation) -> Vec<Result<Receipt, ProviderError>> {
    let mut receipts = Vec::new();
    for change in planned(provider, desired).await {
        receipts.push(provider.apply(&change).await);
    }
    receipts
}

fn entries(zone: Option<Delegation>) -> Vec<String> {
    let servers = zone.into_iter().flat_map(|zone| zone.delegate_to);
    servers.map(|server| format!("{} {}", server.name, server.address)).collect()
}

#[tokio::test]
async fn two_views_hold_one_zone_with_addresses_of_their_own_in_one_session() {
    let on = OnGrid::with(two_views(), Wanted::default());
    let outer = on.provider.in_view("external");
    on.pass(&wants(&[INSIDE])).await.unwrap();
    assert_eq!(outer.observe(&scope()).await.unwrap(), Presence::Absent);
    pass(&outer, &wants(&[OUTSIDE])).await.remove(0).unwrap();
    assert_eq!(entries(on.zone()), [format!("{EU} {INSIDE}")]);
    assert_eq!(entries(on.grid.delegation(ZONE, "external")), [format!("{EU} {OUTSIDE}")]);
    assert_eq!((on.grid.open_sessions(), on.grid.bad_logins()), (1, 0));
    pass(&outer, &withdraws()).await.remove(0).unwrap();
    assert_eq!(on.grid.delegation(ZONE, "external"), None);
    assert_eq!(entries(on.zone()), [format!("{EU} {INSIDE}")]);
    // Whichever of them ends the session, it was one.
    outer.close().await.unwrap();
    on.provider.close().await.unwrap();
    assert_eq!(on.grid.open_sessions(), 0);
}

#[tokio::test]
async fn a_lock_in_one_view_holds_up_that_view_alone() {
    let on = OnGrid::with(two_views(), Wanted::default());
    let outer = on.provider.in_view("external");
    on.add_zone(&[(US, "198.51.100.53")], json!({"locked": true}));
    assert_eq!(planned(&on.provider, &wants(&[INSIDE])).await, []);
    pass(&outer, &wants(&[OUTSIDE])).await.remove(0).unwrap();
    assert_eq!(entries(on.zone()), [format!("{US} 198.51.100.53")]);
    assert_eq!(entries(on.grid.delegation(ZONE, "external")), [format!("{EU} {OUTSIDE}")]);
}

#[tokio::test]
async fn a_task_that_waits_in_one_view_is_none_of_another() {
    let on = OnGrid::with(two_views(), Wanted::default());
    let outer = on.provider.in_view("external");
    on.grid.set_needs_approval("svc-dns", true);
    let waiting = on.pass(&wants(&[INSIDE])).await.unwrap();
    assert_eq!(waiting.disposition, Disposition::AwaitingApproval { task: "1".into() });
    on.grid.set_needs_approval("svc-dns", false);
    assert_eq!(outer.held(&scope().zone).await.unwrap(), None);
    // A task does not name the view, so another run waits for what it does not know.
    let held = on.another(Wanted::default()).in_view("external").held(&scope().zone).await.unwrap();
    assert_eq!(held.map(|held| (held.task, held.ours)), Some(("1".to_owned(), true)));
    let made = pass(&outer, &wants(&[OUTSIDE])).await.remove(0).unwrap();
    assert_eq!(made.disposition, Disposition::Applied);
    assert_eq!(on.zone(), None, "the task still waits");
    on.grid.edit(|admin| admin.approve(1)).unwrap();
    assert_eq!(entries(on.zone()), [format!("{EU} {INSIDE}")]);
}

#[tokio::test]
async fn a_view_without_the_parent_zone_is_told_by_name_and_stops_no_other() {
    let on = OnGrid::with(builder().view("external"), Wanted::default());
    let outer = on.provider.in_view("external");
    let told = outer.observe(&scope()).await.unwrap_err();
    assert_eq!(told.reason(), "Misconfigured");
    assert!(told.to_string().contains("was not found in view external of Infoblox"), "{told}");
    on.pass(&wants(&[INSIDE])).await.unwrap();
}

#[tokio::test]
async fn a_grid_that_rejects_the_password_is_asked_no_more_and_another_one_goes_on() {
    let wrong = Wanted { credentials: credentials("wrong"), ..Wanted::default() };
    let (bad, good) = (OnGrid::with(builder(), wrong), OnGrid::new());
    let other_view = bad.provider.in_view("default");
    assert_eq!(bad.observe().await.unwrap_err().reason(), "Unauthenticated");
    assert_eq!(other_view.observe(&scope()).await.unwrap_err().reason(), "LoginHeld");
    good.pass(&wants(&[INSIDE])).await.unwrap();
    assert_eq!(entries(good.zone()), [format!("{EU} {INSIDE}")]);
    assert_eq!((bad.grid.bad_logins(), good.grid.bad_logins()), (1, 0));
}

#[tokio::test]
async fn an_instance_is_called_by_its_name_and_its_views_are_too() {
    let on = OnGrid::new();
    let named = on.another(Wanted::default()).named("dmz");
    let view = named.in_view("external");
    let ids = [on.provider.id(), named.id(), view.id()];
    assert_eq!(
        ids.map(|id| (id.kind(), id.as_str())),
        [("infoblox", "infoblox"), ("infoblox", "dmz"), ("infoblox", "dmz")]
    );
}

/// A step that the seed draws: what one place wants next, or what somebody does there.
async fn step(on: &OnGrid, provider: &Infoblox, view: &str, draw: u64) {
    let edit = |fields| {
        on.grid.edit(|admin| {
            if let Ok(reference) = admin.zone_reference(ZONE, view) {
                admin.update(&reference, fields).unwrap();
            }
        });
    };
    match draw % 6 {
        0 => drop(pass(provider, &wants(&[INSIDE])).await),
        1 => drop(pass(provider, &wants(&[OUTSIDE, "203.0.113.54"])).await),
        2 => drop(pass(provider, &withdraws()).await),
        3 => edit(json!({"delegate_to": [{"name": US, "address": "198.51.100.53"}], "comment": "ticket"})),
        4 => edit(json!({"locked": draw.is_multiple_of(4)})),
        _ => drop(pass(provider, &wants(&["192.0.2.99"])).await),
    }
}

/// After any sequence of what one place does, every byte of the other is what it was.
#[tokio::test]
async fn no_write_at_one_place_touches_a_byte_of_another() {
    for seed in 1..=12_u64 {
        let builder = two_views().attribute("Owner").attribute("GslbBridgeRevision").seed(seed);
        let on = OnGrid::with(builder, Wanted::default());
        let outer = on.provider.in_view("external");
        for (provider, view, other) in
            [(&on.provider, "default", "external"), (&outer, "external", "default")]
        {
            let mut draw = seed;
            for _ in 0..12 {
                // Numerical Recipes' generator; any would do.
                draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) % (1 << 32);
                let before = on.grid.delegation(ZONE, other);
                step(&on, provider, view, draw >> 8).await;
                assert_eq!(on.grid.delegation(ZONE, other), before, "seed {seed}, view {other}");
            }
        }
    }
}
