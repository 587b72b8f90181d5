//! What a look at the grid tells people, from grids in every state. Whole reports are compared.

mod account;
mod door;
mod grid;
mod records;
mod report;
mod zone;

use gslb_core::claim::Claimant;
use gslb_mocks::wapi::{Account, Entry, Grid, GridBuilder};
use gslb_provider_contract::{Delegated, Inspected, Observe, Provider};
use serde_json::{Value, json};

use self::report::{Report, healthy};
use crate::stage::{OnGrid, PASSWORD, USER, Wanted, eu};

/// The group of the account.
pub(crate) const GROUP: &str = "svc-dns-group";

/// An account that is no superuser, and may read what it is.
fn guest() -> Account {
    Account::new(USER, PASSWORD).reading_admins()
}

fn builder(account: Account) -> GridBuilder {
    let grid = Grid::builder().username("admin").password("infoblox").account(account);
    grid.zone_auth("example.com", "default").attribute("GslbBridgeRevision")
}

/// A grid as it should be: the account may write the zones of the view `default`, and nothing else.
fn stage() -> OnGrid {
    stage_with(builder(guest()), Wanted::default())
}

/// As [`stage`], with more in the grid, or with other settings.
fn stage_with(grid: GridBuilder, wanted: Wanted) -> OnGrid {
    let on = OnGrid::with(grid, wanted);
    let view = reference(&on, "view", "name", "default");
    permit(&on, json!({"permission": "WRITE", "resource_type": "ZONE", "object": view}));
    on
}

/// A permission of the account's group.
fn permit(on: &OnGrid, permission: Value) {
    let mut permission = permission;
    permission["group"] = GROUP.into();
    on.grid.edit(|admin| admin.create("permission", permission)).unwrap();
}

fn reference(on: &OnGrid, kind: &str, field: &str, value: &str) -> String {
    let found = on.grid.edit(|admin| admin.find(kind, &[(field, value)])).unwrap();
    found[0]["_ref"].as_str().unwrap().to_owned()
}

/// An administrator changes the first object that the search finds.
fn edit(on: &OnGrid, kind: &str, field: &str, value: &str, fields: Value) {
    let reference = reference(on, kind, field, value);
    on.grid.edit(|admin| admin.update(&reference, fields)).unwrap();
}

fn delete(on: &OnGrid, kind: &str, field: &str, value: &str) {
    let reference = reference(on, kind, field, value);
    on.grid.edit(|admin| admin.delete(&reference)).unwrap();
}

async fn looked(on: &OnGrid) -> Report {
    looked_at(on, &[delegated(eu())]).await
}

fn delegated(claimant: Claimant) -> Delegated {
    Delegated { claimant, adopts: None }
}

async fn looked_at(on: &OnGrid, zones: &[Delegated]) -> Report {
    let what = Inspected { delegations: zones.to_vec(), ..Inspected::default() };
    Report::of(&on.provider.inspect(&what).await)
}

/// This delegation and no other.
fn only(claimant: Claimant) -> Inspected {
    Inspected { delegations: vec![delegated(claimant)], ..Inspected::default() }
}

#[tokio::test]
async fn a_grid_as_it_should_be_has_no_finding_and_hears_reads_only_in_one_session() {
    let on = stage();
    assert_eq!(looked(&on).await, healthy());
    assert_eq!(on.grid.journal().count(Entry::is_write), 0);
    assert_eq!(on.grid.journal().effective_writes(), []);
    assert_eq!(on.grid.open_sessions(), 1);
    on.provider.close().await.unwrap();
    assert_eq!((on.grid.open_sessions(), on.grid.bad_logins()), (0, 0));
}

#[tokio::test]
async fn a_look_says_the_same_twice_and_of_every_zone_by_itself() {
    let on = stage();
    let first = looked(&on).await;
    assert_eq!(looked(&on).await, first);
    assert_eq!(looked_at(&on, &[]).await, healthy().of_the_grid());
}
