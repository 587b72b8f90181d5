//! Whether the grid serves what it holds, and the restart that makes it.

use gslb_mocks::wapi::{Fault, RestartMode};
use gslb_provider_contract::{Observe, Provider, Service};
use serde_json::json;

use crate::stage::{OnGrid, Wanted, builder, wants};

fn on(restarts: bool) -> OnGrid {
    OnGrid::with(builder().restart(RestartMode::Manual), Wanted { restarts, ..Wanted::default() })
}

/// [inferred]: `needed` is YES or NO, and the grid brings the list up to date by itself.
#[tokio::test]
async fn inferred_a_grid_that_waits_for_a_restart_says_so_and_one_that_does_not_says_that() {
    let on = on(false);
    assert_eq!(on.provider.service().await.unwrap(), Service::Current);
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    let text = "Infoblox at 127.0.0.1 says that the DNS service of gm.example.com has to be restarted to serve it; have it restarted, or set INFOBLOX_RESTART_POLICY to if-needed".to_owned();
    assert_eq!(on.provider.service().await.unwrap(), Service::NeedsRestart { text });
    assert!(!on.provider.capabilities().restarts && on.grid.needs_restart());
    assert_eq!(on.writes(), ["POST"], "asking is no write");
}

#[tokio::test]
async fn a_restart_is_of_dns_where_it_is_needed_and_of_nothing_else() {
    let on = on(true);
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    on.provider.restart().await.unwrap();
    assert!(on.provider.capabilities().restarts && !on.grid.needs_restart());
    let entry = on.grid.journal().entries().pop().unwrap();
    assert!(entry.uri.ends_with(":Infoblox?_function=restartservices"), "{}", entry.uri);
    assert_eq!(
        on.body("POST"),
        json!({"member_order": "SIMULTANEOUSLY", "restart_option": "RESTART_IF_NEEDED", "service_option": "DNS"})
    );
    assert_eq!(on.provider.service().await.unwrap(), Service::Current);
}

#[tokio::test]
async fn a_grid_whose_version_has_no_list_of_restarts_says_nothing() {
    let on = on(false);
    let unknown = "Unknown object type (grid:servicerestart:request)";
    on.grid.faults().inject(Fault::Refuse(unknown).on_path("/grid:servicerestart:request?"));
    assert_eq!(on.provider.service().await.unwrap(), Service::Untold);
}

#[tokio::test]
async fn a_restart_without_a_reply_is_not_called_failed() {
    let on = on(true);
    on.pass(&wants(&["192.0.2.53"])).await.unwrap();
    on.grid.faults().inject(Fault::ResetAfterCommit.on_path("restartservices"));
    assert_eq!(on.provider.restart().await.unwrap_err().reason(), "OutcomeUnknown");
    assert!(!on.grid.needs_restart());
}
