//! Administrators and their permissions, and what a grid holds of DNSSEC.

use crate::harness::{Bench, bench, builder, refusal};
use gslb_mocks::wapi::{Account, Admin};
use serde_json::{Value, json};

fn names(found: &[Value]) -> Vec<&str> {
    found.iter().map(|object| object["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_account_is_an_administrator_in_a_group_and_shows_no_password() {
    let bench = Bench::of(builder().account(Account::new("guest", "secret")).build().unwrap());
    let users = bench.get("adminuser?_return_fields=name,admin_groups").await.json();
    assert_eq!(names(users.as_array().unwrap()), ["svc-dns", "guest"]);
    assert_eq!(users[1]["admin_groups"], json!(["guest-group"]));
    let groups = bench.get("admingroup?superuser=true&_return_fields=name,superuser").await.json();
    assert_eq!(names(groups.as_array().unwrap()), ["admin-group"]);
    let reply = bench.get("adminuser?_return_fields=password").await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "Unknown argument/field: 'password'"));
}

#[tokio::test]
async fn permissions_are_found_by_group_role_and_object() {
    let bench = bench();
    let view = bench.get("view?name=internal").await.json()[0]["_ref"].clone();
    let given =
        json!({"group": "admin-group", "permission": "WRITE", "resource_type": "ZONE", "object": view});
    bench.created("permission", given.clone()).await;
    bench
        .created("permission", json!({"role": "reader", "permission": "READ", "resource_type": "VIEW"}))
        .await;
    let fields = "_return_fields=group,permission,resource_type,object";
    let mut found = bench.get(&format!("permission?group=admin-group&{fields}")).await.json();
    found[0].as_object_mut().unwrap().remove("_ref").unwrap();
    assert_eq!(found, json!([given]));
    assert_eq!(bench.get("permission?role=reader").await.json().as_array().unwrap().len(), 1);
    let reply = bench.post("permission", json!({"permission": "ALL", "resource_type": "ZONE"})).await;
    assert_eq!(reply.status, 400);
}

/// [inferred]: nothing public tells what others get; objects that may not be read are missing from searches.
#[tokio::test]
async fn inferred_administrators_are_shown_to_superusers_and_to_those_who_may_read_them() {
    let accounts = [Account::new("blind", "x"), Account::new("seeing", "x").reading_admins()];
    let grid = accounts.into_iter().fold(builder(), gslb_mocks::wapi::GridBuilder::account).build().unwrap();
    let bench = Bench::of(grid);
    let mut seen = Vec::new();
    for user in ["blind", "seeing"] {
        let request = bench.client.get(format!("{}/adminuser?name={user}", bench.base));
        let found: Vec<Value> = serde_json::from_slice(
            &request.basic_auth(user, Some("x")).send().await.unwrap().bytes().await.unwrap(),
        )
        .unwrap();
        seen.push(found.len());
    }
    assert_eq!(seen, [0, 1]);
}

#[tokio::test]
async fn a_ds_record_comes_with_a_key_set_and_can_be_deleted_but_not_created() {
    let bench = bench();
    bench.delegated().await;
    let reply = bench.post("record:ds", json!({"name": "gslb.example.com", "view": "default"})).await;
    assert_eq!(reply.refusal(), refusal(400, "Proto", "Operation create not allowed for record:ds"));
    bench.grid.edit(|admin: &mut Admin<'_>| admin.import_ds("gslb.example.com", "default", 4_711)).unwrap();
    let found = bench.get("record:ds?name=gslb.example.com&view=default&_return_fields=key_tag").await.json();
    assert_eq!(found[0]["key_tag"], 4_711);
    assert_eq!(bench.delete(found[0]["_ref"].as_str().unwrap()).await.status, 200);
    assert_eq!(bench.get("record:ds").await.json(), json!([]));
}

#[tokio::test]
async fn a_zone_tells_whether_it_is_signed() {
    let bench = bench();
    let path = "zone_auth?fqdn=example.com&view=default&_return_fields=is_dnssec_signed";
    assert_eq!(bench.get(path).await.json()[0]["is_dnssec_signed"], false);
    bench.grid.edit(|admin| admin.sign_zone("example.com", "default")).unwrap();
    assert_eq!(bench.get(path).await.json()[0]["is_dnssec_signed"], true);
}
