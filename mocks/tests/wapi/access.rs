//! Log-ins, sessions, blocks, versions.

use crate::harness::{Bench, PASSWORD, USER, bench, builder, read, refusal};
use gslb_mocks::wapi::{Account, Lockout};
use serde_json::json;
use std::time::Duration;

/// The cookie as a client sends it back.
fn cookie(set_cookie: &str) -> String {
    set_cookie.split(';').next().unwrap().to_owned()
}

async fn log_in(bench: &Bench) -> String {
    cookie(&bench.get("?_schema=1").await.set_cookie.unwrap())
}

async fn with_cookie(bench: &Bench, cookie: &str) -> u16 {
    let request = bench.client.get(format!("{}/grid", bench.base)).header("cookie", cookie);
    request.send().await.unwrap().status().as_u16()
}

/// §10.1 3 [code].
#[tokio::test]
async fn a_bad_password_is_answered_401_in_html() {
    let bench = bench();
    let request = bench.client.get(format!("{}/grid", bench.base)).basic_auth(USER, Some("wrong"));
    let reply = read(request.send().await.unwrap()).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.content_type, "text/html; charset=iso-8859-1");
    assert_eq!(reply.text.len(), 401, "the length of the captured page");
    assert_eq!(bench.grid.bad_logins(), 1);
}

/// §10.1 10 [doc].
#[tokio::test]
async fn the_first_authenticated_reply_sets_a_session_cookie_that_replaces_basic() {
    let bench = bench();
    let cookie = log_in(&bench).await;
    assert!(cookie.starts_with("ibapauth=\"ip=127.0.0.1,client=API,"), "{cookie}");
    assert_eq!(with_cookie(&bench, &cookie).await, 200);
}

/// §10.1 10 [doc].
#[tokio::test]
async fn log_out_ends_the_session() {
    let bench = bench();
    let cookie = log_in(&bench).await;
    let logout = bench.client.post(format!("{}/logout", bench.base)).header("cookie", &cookie);
    assert_eq!(logout.send().await.unwrap().status(), 200);
    assert_eq!(with_cookie(&bench, &cookie).await, 401);
    assert_eq!(bench.grid.open_sessions(), 0);
}

/// §10.1 10 [inferred].
#[tokio::test]
async fn an_expired_session_is_401_unless_basic_is_sent_as_well_inferred() {
    let bench = Bench::of(builder().session_timeout(Duration::ZERO).build().unwrap());
    let cookie = log_in(&bench).await;
    assert_eq!(with_cookie(&bench, &cookie).await, 401);
    assert_eq!(bench.grid.bad_logins(), 0);
    let both = bench.client.get(format!("{}/grid", bench.base)).header("cookie", &cookie);
    assert_eq!(both.basic_auth(USER, Some(PASSWORD)).send().await.unwrap().status(), 200);
}

/// §10.1 10 [code].
#[tokio::test]
async fn a_valid_cookie_wins_over_the_basic_header_of_another_user() {
    let bench = Bench::of(builder().account(Account::new("other", "pw")).build().unwrap());
    let cookie = log_in(&bench).await;
    let request = bench.client.get(format!("{}/grid", bench.base)).header("cookie", &cookie);
    assert_eq!(request.basic_auth("other", Some("pw")).send().await.unwrap().status(), 200);
    assert_eq!(bench.grid.journal().entries().pop().unwrap().user.as_deref(), Some(USER));
}

/// §10.1 3 [code].
#[tokio::test]
async fn after_five_bad_logins_even_good_credentials_are_403() {
    let bench = bench();
    for _ in 0..5 {
        let request = bench.client.get(format!("{}/grid", bench.base)).basic_auth(USER, Some("wrong"));
        assert_eq!(request.send().await.unwrap().status(), 401);
    }
    let reply = bench.get("record:a").await;
    assert_eq!(reply.status, 403);
    assert_eq!(reply.content_type, "text/html; charset=iso-8859-1");
    assert!(
        reply.text.contains("permission to access /wapi/v2.12.3/record:a\non this server."),
        "{}",
        reply.text
    );

    bench.grid.set_lockout(Some(Lockout::default()));
    assert_eq!(bench.get("grid").await.status, 200);
}

/// §10.1 3 [code].
#[tokio::test]
async fn a_password_can_be_changed_while_the_grid_runs() {
    let bench = bench();
    bench.grid.set_password(USER, "rotated");
    assert_eq!(bench.get("grid").await.status, 401);
    let request = bench.client.get(format!("{}/grid", bench.base)).basic_auth(USER, Some("rotated"));
    assert_eq!(request.send().await.unwrap().status(), 200);
}

/// §10.1 3 [doc].
#[tokio::test]
async fn an_account_without_api_access_is_403() {
    let bench =
        Bench::of(builder().account(Account::new("viewer", "pw").without_api_access()).build().unwrap());
    let request = bench.client.get(format!("{}/grid", bench.base)).basic_auth("viewer", Some("pw"));
    assert_eq!(request.send().await.unwrap().status(), 403);
}

/// §10.1 3 [issue].
#[tokio::test]
async fn a_missing_permission_is_a_400_conflict() {
    let bench = Bench::of(builder().account(Account::new("viewer", "pw").read_only()).build().unwrap());
    let request = bench.client.post(format!("{}/record:a", bench.base)).basic_auth("viewer", Some("pw"));
    let body = json!({"name": "www.example.com", "ipv4addr": "192.0.2.10"});
    let reply = read(request.json(&body).send().await.unwrap()).await;
    let text = "Write permission for the resource record type 'A' in the zone 'example.com' is required for this operation.";
    assert_eq!(reply.refusal(), refusal(400, "Data.Conflict", text));
}

/// §10.1 15 [issue].
#[tokio::test]
async fn an_unsupported_version_is_answered_in_plain_text() {
    let bench = bench();
    let url = bench.base.replace("v2.12.3", "v9.9");
    let request = bench.client.get(format!("{url}/zone_delegated")).basic_auth(USER, Some(PASSWORD));
    let reply = read(request.send().await.unwrap()).await;
    assert_eq!((reply.status.as_u16(), reply.text.as_str()), (400, "Version 9.9 not supported"));
}

/// §10.1 15 [code].
#[tokio::test]
async fn the_root_schema_lists_objects_and_versions() {
    let schema = bench().get("?_schema").await.json();
    assert_eq!(schema["requested_version"], "2.12.3");
    let lists = |list: &str, entry: &str| schema[list].as_array().unwrap().contains(&json!(entry));
    assert!(lists("supported_objects", "zone_delegated") && lists("supported_objects", "request"));
    assert!(lists("supported_versions", "2.3.1") && !lists("supported_versions", "2.13"));
}

/// §10.1 10 [doc].
#[tokio::test]
async fn the_journal_tells_who_asked_what_on_which_connection_and_keeps_no_secret() {
    let bench = bench();
    bench.get("grid?_return_fields=name").await;
    bench.delegated().await;
    let entries = bench.grid.journal().entries();
    assert_eq!(entries[0].uri, "/wapi/v2.12.3/grid?_return_fields=name");
    assert_eq!(entries[0].user_agent.as_deref(), Some("wapi-test/1"));
    assert_eq!((entries[0].user.as_deref(), entries[0].status), (Some(USER), Some(200)));
    assert_eq!((entries[0].effective, entries[1].effective), (false, true));
    assert_eq!(entries[0].connection, entries[1].connection);
    assert_eq!(bench.grid.journal().connections(), 1);
    let printed = format!("{entries:?}");
    assert!(!printed.contains(PASSWORD) && !printed.contains("Basic") && !printed.contains("ibapauth"));
}

/// §10.1 3 [inferred].
#[tokio::test]
async fn a_read_only_account_cannot_delete_either_inferred() {
    let bench = Bench::of(builder().account(Account::new("viewer", "pw").read_only()).build().unwrap());
    let reference = bench.delegated().await;
    let request = bench.client.delete(format!("{}/{reference}", bench.base)).basic_auth("viewer", Some("pw"));
    let reply = read(request.send().await.unwrap()).await;
    let text = "Write permission for the zone 'gslb.example.com' is required for this operation.";
    assert_eq!(reply.refusal(), refusal(400, "Data.Conflict", text));
}

#[test]
fn debug_output_of_a_grid_holds_no_password() {
    let builder = builder();
    let printed = format!("{builder:?} {:?} {:?}", builder.clone().build(), Account::new(USER, PASSWORD));
    assert!(!printed.contains(PASSWORD), "{printed}");
}
